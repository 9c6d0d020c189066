"""Export the table with its suspects marked or left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rankprune.run._check_record import CheckRecord
from rankprune.run._checked_table import open_checked
from rankprune.run._class_sentences import is_of_many
from rankprune.run._judged_labels import judged_wrong
from rankprune.run._pruned import pruned_rows, trusted_rows
from rankprune.storage._atomic import refuse_same_file
from rankprune.table import Table
from rankprune.table._write import output_format, write_table

MARKS = ("rankprune_suspect", "rankprune_probability", "rankprune_rank")
# With more than two labels.
SUGGESTED = "rankprune_suggested_label"
KEPT_NAMES, _NEW = "rankprune_kept", "rankprune_new_label"


def export_table(
    run: CheckRecord,
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
    run : LabelCheck or ClassCheck
    path : path
        Output file; its extension selects CSV, TSV or Parquet.
    table : path or data frame, default=None
        Current path of the table (default: its original path). A changed table raises an error.
    drop_suspects : bool, default=False
        Leave out the suspects, and rows whose label people judged to be wrong. By default they are
        kept, and the suspects are marked by three added columns; with more than two labels a
        fourth one suggests a label for the rows on the list to look at. There are suspects only
        if the check found noise.
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
            removed, where = 0, "true"
            beside = {MARKS[0]: suspect, **marks(run, opened)}
            shown = list(beside)
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


def marks(run: CheckRecord, table: Table) -> dict[str, Any]:
    """Return the added columns with probabilities, ranks and, of many labels, suggested ones."""
    scores, of_many = run.scores, is_of_many(run)
    table.refuse_taken([*MARKS, SUGGESTED] if of_many else MARKS)
    probability = np.full(table.n_rows, np.nan)
    rank = np.zeros(table.n_rows, dtype=np.int64)
    probability[scores.rows], rank[scores.rows] = scores.probability, scores.rank
    found = {
        "rankprune_probability": probability,
        "rankprune_rank": np.ma.masked_equal(rank, 0),
    }
    if of_many:
        names = np.full(table.n_rows, None, dtype=object)
        listed = (scores.rank > 0) & (scores.rank <= run.n_candidates)
        suggested = np.asarray(run.classes, dtype=object)[scores.suggested[listed]]
        names[scores.rows[listed]] = suggested
        found[SUGGESTED] = names
    return found
