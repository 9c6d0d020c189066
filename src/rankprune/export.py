"""The table given back: every column as it was, without suspects or with a mark beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rankprune._files import refuse_same_file
from rankprune._label_check import LabelCheck
from rankprune.exceptions import TableError
from rankprune.table_model import refuse_changed
from rankprune.tables import Table, open_table, output_format

MARKS = ("rankprune_suspect", "rankprune_probability", "rankprune_rank")


def export_table(
    run: LabelCheck,
    path: Any,
    table: Any = None,
    *,
    drop_suspects: bool = False,
    spreadsheet_safe: bool = False,
) -> tuple[int, int]:
    """Write the checked table to a new file, and return the rows kept and removed.

    Parameters
    ----------
    run : LabelCheck
    path : path
        CSV, TSV or Parquet by its ending.
    table : path or data frame, default=None
        The table that was checked; by default where it lay. A changed one is refused.
    drop_suspects : bool, default=False
        Leave suspects out; by default three columns are added that mark them.
    spreadsheet_safe : bool, default=False
        Keep spreadsheets from taking cells for formulas, by an apostrophe before them.
    """
    place = Path(path)
    output_format(place)
    if table is None and run.source.path is None:
        raise TableError(
            f"The run must know the table it checked; it was read from {run.source.name}. Pass it "
            "with --table."
        )
    source = table if table is not None else run.source.path
    asked, scores = run.settings, run.scores
    with open_table(
        source, encoding=asked.get("encoding"), delimiter=asked.get("delimiter")
    ) as opened:
        refuse_changed(run, opened)
        refuse_same_file(place, opened.path)
        suspect = np.zeros(opened.n_rows, dtype=bool)
        suspect[scores.rows] = scores.suspect
        if drop_suspects:
            removed = int(suspect.sum())
            beside: dict[str, Any] = {"rankprune_kept": ~suspect}
            shown, where = [], "rankprune_kept"
        else:
            removed, where, shown = 0, "true", list(MARKS)
            beside = _marks(run, opened)
            beside["rankprune_suspect"] = suspect
        kept = opened.write(
            place,
            beside=beside,
            shown=shown,
            where=where,
            safe=spreadsheet_safe,
            n_expected=opened.n_rows - removed,
        )
    return kept, removed


def _marks(run: LabelCheck, table: Table) -> dict[str, Any]:
    """Return what is said of each row in columns of their own."""
    table.refuse_taken(MARKS)
    probability = np.full(table.n_rows, np.nan)
    rank = np.zeros(table.n_rows, dtype=np.int64)
    probability[run.scores.rows], rank[run.scores.rows] = run.scores.probability, run.scores.rank
    return {
        "rankprune_probability": probability,
        "rankprune_rank": np.ma.masked_equal(rank, 0),
    }
