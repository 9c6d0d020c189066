"""Export the table with its suspects marked or left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rankprune.run import LabelCheck
from rankprune.run._checked_table import open_checked
from rankprune.run._judged_labels import judged_wrong
from rankprune.run._pruned import pruned_rows, trusted_rows
from rankprune.storage._atomic import refuse_same_file
from rankprune.table import Table
from rankprune.table._write import output_format, write_table

MARKS = ("rankprune_suspect", "rankprune_probability", "rankprune_rank")
KEPT_NAMES, _NEW = "rankprune_kept", "rankprune_new_label"


def export_table(
    run: LabelCheck,
    path: Any,
    table: Any = None,
    *,
    drop_suspects: bool = False,
    prune: bool = False,
    spreadsheet_safe: bool = False,
) -> tuple[int, int]:
    """Write the checked table to a new file, and return the numbers of rows kept and removed.

    Parameters
    ----------
    run : LabelCheck
    path : path
        Output file; its extension selects CSV, TSV or Parquet.
    table : path or data frame, default=None
        Current path of the table (default: its original path). A changed table raises an error.
    drop_suspects : bool, default=False
        Leave out the suspects, and rows whose label people judged to be wrong. By default they are
        kept, and the suspects are marked by three added columns. There are suspects only if the
        check found noise.
    prune : bool, default=False
        With ``drop_suspects``, leave out the least believable rows even if the check did not find
        noise.
    spreadsheet_safe : bool, default=False
        Put an apostrophe before cells that a spreadsheet would read as formulas.
    """
    place = Path(path)
    output_format(place)
    scores = run.scores
    with open_checked(run, table) as opened:
        refuse_same_file(place, opened.path)
        suspect = np.zeros(opened.n_rows, dtype=bool)
        suspect[scores.rows] = scores.suspect
        if drop_suspects:
            trusted = trusted_rows(run, opened)
            suspect[scores.rows] = pruned_rows(run, prune=prune, trusted=trusted)[0]
            suspect[judged_wrong(run)] = True
            removed = int(suspect.sum())
            beside: dict[str, Any] = {KEPT_NAMES: ~suspect}
            shown, where = [], KEPT_NAMES
        else:
            removed, where, shown = 0, "true", list(MARKS)
            beside = marks(run, opened)
            beside["rankprune_suspect"] = suspect
        kept = write_table(
            opened,
            place,
            beside=beside,
            shown=shown,
            where=where,
            safe=spreadsheet_safe,
            n_expected=opened.n_rows - removed,
        )
    return kept, removed


def marks(run: LabelCheck, table: Table) -> dict[str, Any]:
    """Return the added columns with probabilities and ranks."""
    table.refuse_taken(MARKS)
    probability = np.full(table.n_rows, np.nan)
    rank = np.zeros(table.n_rows, dtype=np.int64)
    probability[run.scores.rows], rank[run.scores.rows] = run.scores.probability, run.scores.rank
    return {
        "rankprune_probability": probability,
        "rankprune_rank": np.ma.masked_equal(rank, 0),
    }
