"""Two tables become answers about rows: one answer per line, and one row with features per line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune.annotators import Answers
from rankprune.annotators._answers import Duplicates
from rankprune.annotators._codes import distinct
from rankprune.exceptions import TableError
from rankprune.table import Table
from rankprune.table._column_sql import number_sql
from rankprune.table._labels import find_labels, means_none

# How many ids an error shows of each table.
_SHOWN = 3


@dataclass(frozen=True)
class LongTable:
    """The columns of a table of answers.

    Attributes
    ----------
    name : str
        Name used in messages.
    sha256 : str or None
    rows, annotators, labels : ndarray of str
        One value per answer; None where a label is missing.
    seconds : ndarray of float or None
    negative, positive : str
        The two labels.
    notes : tuple of str
    """

    name: str
    sha256: str | None
    rows: NDArray[Any]
    annotators: NDArray[Any]
    labels: NDArray[Any]
    seconds: NDArray[np.float64] | None
    negative: str
    positive: str
    notes: tuple[str, ...]


def read_long_table(
    table: Table,
    label: str,
    *,
    row: str,
    annotator: str,
    seconds: str | None,
    pos_label: str | None,
    neg_label: str | None,
    hide_annotators: bool,
) -> LongTable:
    """Return the columns of an open table of answers."""
    named = find_labels(table, label, pos_label=pos_label, neg_label=neg_label, drop_unlabeled=True)
    rows = _names(table, row, "row", "answer")
    people = _names(table, annotator, "annotator", "answer")
    (cells,) = table.fetch([f"CAST(c{table.column(label, 'label')} AS VARCHAR)"])
    labels: NDArray[Any] = np.ma.filled(np.ma.asarray(cells, dtype=object), None)
    both = (named.negative, named.positive)
    labels[[one is not None and means_none(one, *both) for one in labels]] = None
    if hide_annotators:
        _, codes = distinct(people, "annotator")
        people = np.array([f"annotator {code + 1}" for code in codes], dtype=object)
    return LongTable(
        table.name,
        table.sha256,
        rows,
        people,
        labels,
        None if seconds is None else _read_seconds(table, seconds),
        *both,
        # Not that answers without a label were left out: they are none.
        tuple(note for note in named.notes if "left out" not in note),
    )


def _names(table: Table, column: str, argument: str, what: str) -> NDArray[Any]:
    """Return the cells of a column as text; empty cells raise an error."""
    (cells,) = table.fetch([f"CAST(c{table.column(column, argument)} AS VARCHAR)"])
    values: NDArray[Any] = np.ma.filled(np.ma.asarray(cells, dtype=object), "")
    empty = np.flatnonzero([not value.strip() for value in values])
    if empty.size:
        raise TableError(
            f"{argument} must be filled in for every {what}; {what} {empty[0] + 1} of {table.name} "
            f"has no {column!r}. Fill it in, or leave the {what} out."
        )
    return values


def _read_seconds(table: Table, column: str) -> NDArray[np.float64]:
    """Return times, with NaN for empty cells."""
    cell = f"c{table.column(column, 'seconds')}"
    kind = table.types[table.position(column)]
    is_empty = f"CAST(trim(coalesce(CAST({cell} AS VARCHAR), '')) = '' AS TINYINT)"
    times, empty = table.fetch([number_sql(cell, kind), is_empty])
    seconds = np.ma.filled(np.ma.asarray(times, dtype=np.float64), np.nan)
    bad = np.flatnonzero((np.asarray(empty) == 0) & ~(np.isfinite(seconds) & (seconds >= 0)))
    if bad.size:
        (text,) = table.cells(bad[:1], [table.position(column)])[0]
        raise TableError(
            f"seconds must be times of 0 or more; answer {bad[0] + 1} of {column!r} has {text!r}. "
            "Correct it, or leave the cell empty if the time is unknown."
        )
    return seconds


@dataclass(frozen=True)
class Matched:
    """Answers about the rows of a table of features, in its order, then about other rows.

    Attributes
    ----------
    answers : Answers
    n_items : int
        Number of rows in the table of features.
    """

    answers: Answers
    n_items: int

    @property
    def is_answered(self) -> NDArray[np.bool_]:
        """Return which rows of the table of features have an answer."""
        return self.answers.per_row[: self.n_items] > 0

    @property
    def n_unanswered(self) -> int:
        """Return how many rows of the table of features have no answer."""
        return int((~self.is_answered).sum())

    @property
    def n_without_features(self) -> int:
        """Return how many rows with answers are missing in the table of features."""
        return int((self.answers.per_row[self.n_items :] > 0).sum())


def match(given: LongTable, table: Table, row: str, duplicates: Duplicates) -> Matched:
    """Return answers about the rows of an open table of features."""
    ids = _names(table, row, "row", "row")
    places = _places(ids, table.name)
    others = list(dict.fromkeys(one for one in given.rows.tolist() if one not in places))
    if len(others) == len(set(given.rows.tolist())):
        raise TableError(
            f"row must name the same rows in both tables, but no {row!r} of {given.name} is in "
            f"{table.name}: {_listed(others)} there, {_listed(ids.tolist())} here. They are "
            "compared as text."
        )
    answers = Answers.from_long(
        given.rows,
        given.annotators,
        given.labels,
        duplicates=duplicates,
        seconds=given.seconds,
        all_rows=np.array([*ids.tolist(), *others], dtype=object),
        classes=[given.negative, given.positive],
    )
    return Matched(answers, len(ids))


def _places(ids: NDArray[Any], name: str) -> Mapping[str, int]:
    places: dict[str, int] = {}
    for place, one in enumerate(ids.tolist()):
        if one in places:
            raise TableError(
                f"row must name each row of {name} once; {one!r} is in rows {places[one] + 1} and "
                f"{place + 1}. Leave one of them out."
            )
        places[one] = place
    return places


def _listed(ids: list[str]) -> str:
    return ", ".join(repr(one) for one in ids[:_SHOWN])
