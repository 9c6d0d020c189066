"""Predict the labels of a new table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune.model._file import TableModel
from rankprune.storage._atomic import refuse_same_file
from rankprune.table import open_table
from rankprune.table._write import write_table

PREDICTED = ("rankprune_probability", "rankprune_label")


def predict_table(
    model: TableModel,
    table: Any,
    output: Path | None = None,
    *,
    embeddings: Any = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    spreadsheet_safe: bool = False,
) -> NDArray[np.float64]:
    """Return the probability of the positive label for each row, and optionally write a table.

    Parameters
    ----------
    model : TableModel
    table, embeddings, encoding, delimiter
        As in `check_table`.
    output : Path, default=None
        File to write the table to, with two more columns: the probability and the label.
    spreadsheet_safe : bool, default=False
        Put an apostrophe before cells of the output that a spreadsheet would read as formulas.
    """
    with open_table(table, encoding=encoding, delimiter=delimiter) as opened:
        if output is not None:
            refuse_same_file(output, opened.path)
            opened.refuse_taken(PREDICTED)
        found = model.predict_proba(opened, embeddings)
        if output is not None:
            labels = np.asarray([model.negative, model.positive], dtype=object)
            beside = dict(zip(PREDICTED, (found, labels[(found > 0.5).astype(int)]), strict=True))
            write_table(
                opened, output, beside=beside, safe=spreadsheet_safe, n_expected=opened.n_rows
            )
    return found
