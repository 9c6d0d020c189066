"""Columns with a special role: identifiers, groups, probabilities, trusted rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune.core._inputs import NEAR_ONE
from rankprune.exceptions import TableError
from rankprune.table._column_sql import number_sql
from rankprune.table._table import Table, column_names


def named_columns(
    table: Table,
    *,
    id: str | None = None,
    groups: str | None = None,
    probabilities: str | None = None,
    trusted: str | None = None,
    drop: str | Sequence[str] = (),
    keep: str | Sequence[str] = (),
    text: str | Sequence[str] = (),
    redact: str | Sequence[str] = (),
) -> dict[str, str]:
    """Return the columns with a special role, by argument.

    A name that is not a column of the table raises an error. Columns with a special role are not
    features.
    """
    roles = {"id": id, "groups": groups, "probabilities": probabilities, "trusted": trusted}
    named = {argument: column for argument, column in roles.items() if column is not None}
    lists = {"drop": drop, "keep": keep, "text": text, "redact": redact}
    for argument, columns in {**named, **lists}.items():
        for column in column_names(columns):
            table.column(column, argument)
    return named


def read_texts(table: Table, column: str, argument: str, rows: NDArray[np.intp]) -> NDArray[Any]:
    """Return the cells of a column, such as ids or groups, as text; empty cells raise an error."""
    position = table.column(column, argument)
    (found,) = table.fetch([f"CAST(c{position} AS VARCHAR)"])
    values = np.ma.asarray(found)[rows]
    mask = np.ma.getmaskarray(values)
    if mask.any():
        refuse_unnamed_row(column, argument, int(rows[mask.argmax()]))
    return np.asarray(np.ma.getdata(values), dtype=object)


def refuse_unnamed_row(column: str, argument: str, row: int) -> None:
    """Raise an error about an empty cell, given the position of its row."""
    raise TableError(
        f"{argument} must be filled in for every row; row {row + 1} has no {column!r}. Fill it in, "
        "or choose another column."
    )


def read_probabilities(table: Table, column: str, rows: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the probabilities in a column; cells outside [0, 1] raise an error."""
    position = table.column(column, "probabilities")
    (found,) = table.fetch([number_sql(f"c{position}", table.types[position])])
    values = np.ma.filled(np.ma.asarray(found, dtype=np.float64)[rows], np.nan)
    wrong = ~((values >= 0) & (values <= 1))
    if wrong.any():
        refuse_improbable_row(table, column, int(rows[wrong.argmax()]))
    return np.asarray(values)


def class_columns(pattern: str, names: Sequence[str]) -> list[str]:
    """Return the columns of probabilities of many labels; the star in a pattern is the label."""
    if pattern.count("*") != 1:
        raise TableError(
            "probabilities must name one column per label for more than two labels, with a star "
            f"for the label, such as 'p_*'; got {pattern!r}."
        )
    before, after = pattern.split("*")
    return [f"{before}{name}{after}" for name in names]


def read_class_probabilities(
    table: Table, columns: Sequence[str], rows: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return the probabilities in columns, one for each of many labels; they must sum to 1."""
    found = np.column_stack([read_probabilities(table, column, rows) for column in columns])
    sums = found.sum(axis=1)
    wrong = np.abs(sums - 1) > NEAR_ONE
    if wrong.any():
        row = int(wrong.argmax())
        raise TableError(
            f"probabilities must sum to 1 in every row; those of row {rows[row] + 1} sum to "
            f"{sums[row]:.6g}. Pass the out-of-fold probabilities of all labels."
        )
    return np.asarray(found)


def refuse_improbable_row(table: Table, column: str, row: int) -> None:
    """Raise an error about a cell that is not a probability, given the position of its row."""
    (cell,) = table.cells(np.asarray([row]), [table.position(column)])[0]
    raise TableError(
        f"probabilities must lie in [0, 1] in every row; row {row + 1} of {column!r} holds "
        f"{cell!r}. Pass out-of-fold probabilities, such as predict_proba gives."
    )


def read_flags(
    table: Table, column: str, argument: str, rows: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Return a column of yes/no values as booleans; an empty cell means no."""
    position = table.column(column, argument)
    text = f"lower(trim(CAST(c{position} AS VARCHAR)))"
    yes, no = "('1', '1.0', 'true', 't', 'yes', 'y')", "('0', '0.0', 'false', 'f', 'no', 'n', '')"
    (found,) = table.fetch(
        [
            f"CAST(CASE WHEN {text} IN {yes} THEN 1 WHEN {text} IN {no} THEN 0 "
            f"WHEN c{position} IS NULL THEN 0 ELSE 2 END AS TINYINT)"
        ]
    )
    values = np.asarray(found)[rows]
    if (values == 2).any():
        row = int(rows[(values == 2).argmax()])
        (cell,) = table.cells(np.asarray([row]), [position])[0]
        raise TableError(
            f"{argument} must hold yes or no (1 or 0, true or false); row {row + 1} of {column!r} "
            f"holds {cell!r}."
        )
    return np.asarray(values == 1)
