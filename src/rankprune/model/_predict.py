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

PREFIX = "rankprune_"


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

    Of more than two labels, return one column for each, in the order of ``model.classes``.

    Parameters
    ----------
    model : TableModel
    table, embeddings, encoding, delimiter
        As in `check_table`.
    output : Path, default=None
        File to write the table to, with two more columns: the probability and the label. Of more
        than two labels, with the label and the probability of each.
    spreadsheet_safe : bool, default=False
        Put an apostrophe before cells of the output that a spreadsheet would read as formulas.
    """
    with open_table(table, encoding=encoding, delimiter=delimiter) as opened:
        names = {f"predicted_{i}": PREFIX + name for i, name in enumerate(predicted_names(model))}
        if output is not None:
            refuse_same_file(output, opened.path)
            opened.refuse_taken(list(names.values()))
        found = model.predict_proba(opened, embeddings)
        if output is not None:
            write_table(
                opened,
                output,
                beside=dict(zip(names, predicted_columns(model, found), strict=True)),
                headers=names,
                safe=spreadsheet_safe,
                n_expected=opened.n_rows,
            )
    return found


def predicted_names(model: TableModel) -> list[str]:
    """Return the names of the columns of a prediction.

    Probabilities of more than two labels have a name that ``probabilities="p_*"`` of `check_table`
    reads.
    """
    if not model.are_many:
        return ["probability", "label"]
    return ["label", *(f"p_{name}" for name in model.classes)]


def predicted_columns(model: TableModel, found: NDArray[np.float64]) -> list[NDArray[Any]]:
    """Return the columns of a prediction, given the probabilities of the labels."""
    labels = model.predicted(found)
    return [labels, *found.T.copy()] if model.are_many else [found, labels]
