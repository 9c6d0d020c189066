"""Read the labels of a table: their values, which of two is positive, and which are missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune.exceptions import TableError
from rankprune.storage._sql import sql_text
from rankprune.table._table import Table

# Pairs of labels (negative, positive) that follow a common convention.
_OBVIOUS = {
    ("0", "1"),
    ("-1", "1"),
    ("0.0", "1.0"),
    ("false", "true"),
    ("f", "t"),
    ("no", "yes"),
    ("n", "y"),
    ("neg", "pos"),
    ("negative", "positive"),
    ("-", "+"),
    ("off", "on"),
    ("ham", "spam"),
    ("bad", "good"),
    ("control", "case"),
    ("benign", "malignant"),
    ("legit", "fraud"),
    ("unlabeled", "labeled"),
}
# Maximum number of labels, and of distinct values to read where there must be two.
MAX_CLASSES, _MAX_VALUES = 1_000, 20
# Cells that mean "no label", unless pos_label or neg_label names them.
_NO_LABEL = ("", "na", "n/a", "nan", "null", "none", "?")


@dataclass(frozen=True)
class LabelNames:
    """The values of a label column.

    Attributes
    ----------
    names : tuple of str
        The values as text, in the order of their numbers: the negative label and the positive one,
        or more than two in sorted order.
    sql : str
        SQL for the number of the label over the columns of the table, or NULL if it is missing.
    n_missing : int
        Number of rows without a label.
    notes : tuple of str
        Decisions about the labels that the user should know.
    """

    names: tuple[str, ...]
    sql: str
    n_missing: int
    notes: tuple[str, ...]

    @property
    def negative(self) -> str:
        """Return the negative label of two."""
        return self.names[0]

    @property
    def positive(self) -> str:
        """Return the positive label of two."""
        return self.names[1]

    @property
    def are_many(self) -> bool:
        """Return whether there are more than two labels."""
        return len(self.names) > 2


@dataclass(frozen=True)
class Labels(LabelNames):
    """The labels of a table.

    Attributes
    ----------
    rows : ndarray of int
        Positions of the labeled rows.
    codes : ndarray of int
        The number of the label of each of these rows.
    names, sql, n_missing, notes
        As in `LabelNames`.
    """

    rows: NDArray[np.intp]
    codes: NDArray[np.intp]

    @property
    def is_positive(self) -> NDArray[np.bool_]:
        """Return whether each of these rows has the positive label of two."""
        return np.asarray(self.codes == 1)


def read_labels(
    table: Table,
    label: str,
    *,
    pos_label: str | None = None,
    neg_label: str | None = None,
    drop_unlabeled: bool = False,
) -> Labels:
    """Return the labels of a table.

    Parameters
    ----------
    table : Table
    label : str
        The column of labels, which must have at least two values.
    pos_label, neg_label : str, default=None
        The positive and the negative value of two; see `check_table`.
    drop_unlabeled : bool, default=False
        Leave out rows without a label; otherwise they raise an error.
    """
    found = find_labels(
        table,
        label,
        pos_label=pos_label,
        neg_label=neg_label,
        drop_unlabeled=drop_unlabeled,
        most=MAX_CLASSES,
    )
    (values,) = table.fetch([f"CAST(coalesce({found.sql}, -1) AS SMALLINT)"])
    code = np.asarray(values)
    rows = np.flatnonzero(code >= 0)
    return Labels(
        found.names, found.sql, found.n_missing, found.notes, rows, code[rows].astype(np.intp)
    )


def find_labels(
    table: Table,
    label: str,
    *,
    pos_label: str | None = None,
    neg_label: str | None = None,
    drop_unlabeled: bool = False,
    most: int = 2,
) -> LabelNames:
    """Return the values of the label column without reading every row; see `read_labels`.

    ``most`` is the largest number of labels that are allowed.
    """
    cell = f"CAST(c{table.column(label, 'label')} AS VARCHAR)"
    limit = max(_MAX_VALUES, most + len(_NO_LABEL) + 1)
    counted = table.query(
        f"{cell} AS v, count(*) AS n", f"GROUP BY v ORDER BY n DESC, v LIMIT {limit}"
    )
    counts = dict(counted)
    named = (pos_label, neg_label)
    missing = [value for value in counts if value is None or means_none(value, *named)]
    values = [value for value in counts if value not in missing]
    _refuse_other_numbers(label, values, missing, counts, most, len(counts) == limit)
    n_missing = sum(counts[value] for value in missing)
    notes = []
    if n_missing and not drop_unlabeled:
        raise TableError(
            f"label must be filled in for every row; {n_missing} of {table.n_rows} rows have no "
            f"{label!r}. Fill it in, or pass drop_unlabeled=True to leave those rows out."
        )
    if n_missing:
        were = "was" if n_missing == 1 else "were"
        notes.append(f"{_rows(n_missing)} without a label {were} left out.")
    if len(values) > 2:
        _refuse_names_of_two(label, values, pos_label, neg_label)
        names = _in_order(values)
    else:
        chosen, note = _positive(values, pos_label, neg_label, label)
        if note is not None:
            notes.append(note)
        (other,) = (value for value in values if value != chosen)
        names = (other, chosen)
    cases = " ".join(f"WHEN {sql_text(name)} THEN {code}" for code, name in enumerate(names))
    return LabelNames(names, f"(CASE {cell} {cases} END)", n_missing, tuple(notes))


def has_many_labels(table: Table, label: str) -> bool:
    """Return whether a column has more than two labels, without any other check."""
    cell = f"CAST(c{table.column(label, 'label')} AS VARCHAR)"
    values = table.query(f"{cell} AS v", f"GROUP BY v LIMIT {_MAX_VALUES}")
    return sum(value is not None and not means_none(value) for (value,) in values) > 2


def _in_order(values: list[str]) -> tuple[str, ...]:
    """Return labels in sorted order: as numbers if all of them are."""
    try:
        return tuple(sorted(values, key=lambda value: (float(value), value)))
    except ValueError:
        return tuple(sorted(values))


def _refuse_names_of_two(
    column: str, values: list[str], pos_label: str | None, neg_label: str | None
) -> None:
    for argument, asked in (("pos_label", pos_label), ("neg_label", neg_label)):
        if asked is not None:
            raise TableError(
                f"{argument} must be None for more than two labels; {column!r} has "
                f"{len(values)}, got {asked!r}. Leave it out."
            )


def means_none(value: str, *named: str | None) -> bool:
    """Return whether a cell means a missing label; a value in ``named`` never does."""
    return value not in named and value.strip().lower() in _NO_LABEL


def _refuse_other_numbers(
    column: str,
    values: list[str],
    missing: list[str | None],
    counts: dict[Any, int],
    most: int,
    is_cut: bool,
) -> None:
    """Raise an error unless there are at least two labels, and not too many."""
    if 2 <= len(values) <= most:
        return
    wanted = "two values" if most == 2 else "at least two values"
    shown = ", ".join(f"{value[:40]!r} ({_rows(counts[value])})" for value in values[:5])
    if not values:
        raise TableError(f"label must have {wanted}; {column!r} is empty in every row.")
    if len(values) == 1:
        raise TableError(
            f"label must have {wanted}; {column!r} has one: {shown}. A check needs rows of "
            f"both.{_hint(missing, counts)}"
        )
    more = "" if len(values) <= 5 else " and more"
    number = f"{len(values)} or more" if is_cut else str(len(values))
    if most > 2:
        raise TableError(
            f"label must have at most {most:,} values; {column!r} has more: {shown}{more}. If it "
            "holds numbers to predict, or names that occur once, it is not a column of labels."
        )
    raise TableError(
        f"label must have two values; {column!r} has {number}: {shown}{more}. To check one value "
        "against the rest, add a column that marks the rows with that value."
    )


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"


def _hint(missing: list[str | None], counts: dict[Any, int]) -> str:
    """Return how to use a value as a label if it was read as missing, or an empty string."""
    spelled = [value for value in missing if value is not None and value.strip()]
    if not spelled:
        return ""
    (value, *_) = spelled
    return (
        f" {value!r} ({_rows(counts[value])}) was read as a missing label; if it is a label, pass "
        f"neg_label={value!r}."
    )


def _positive(
    values: list[str], pos_label: str | None, neg_label: str | None, column: str
) -> tuple[str, str | None]:
    """Return the positive label, and a note if it was not obvious."""
    other = None if neg_label is None else _named(values, neg_label, "neg_label", column)
    if pos_label is not None:
        chosen = _named(values, pos_label, "pos_label", column)
        if chosen == other:
            raise TableError(
                f"pos_label and neg_label must differ, got {chosen!r} for both. Leave one of them "
                "out."
            )
        return chosen, None
    if other is not None:
        (chosen,) = (value for value in values if value != other)
        return chosen, None
    by_fold = {value.strip().lower(): value for value in values}
    for pair in _OBVIOUS:
        if set(by_fold) == set(pair):
            return by_fold[pair[1]], None
    chosen = max(values)
    (other,) = (value for value in values if value != chosen)
    return chosen, (
        f"{chosen!r} is used as the positive label (last in sorted order). To use the other, pass "
        f"pos_label={other!r}."
    )


def _named(values: list[str], asked: str, argument: str, column: str) -> str:
    """Return the value that matches ``asked``: as text, or else as a number or truth value."""
    same = [value for value in values if value == asked]
    same = same or [value for value in values if _is_same(value, asked)]
    if len(same) != 1:
        raise TableError(
            f"{argument} must be {values[0]!r} or {values[1]!r}, the values of column {column!r}; "
            f"got {asked!r}."
        )
    return same[0]


def _is_same(value: str, asked: str) -> bool:
    """Return whether two strings are equal as text, numbers or truth values."""
    if value == asked or (value.lower() == asked.lower() and value.lower() in ("true", "false")):
        return True
    try:
        return float(value) == float(asked)
    except ValueError:
        return False
