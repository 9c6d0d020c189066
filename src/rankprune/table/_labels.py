"""What is taken from a table to learn from: labels, features, groups, probabilities."""

from __future__ import annotations

import hashlib
import logging
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune._column_plan import Plan, number_sql, plan_columns
from rankprune._features import Encoder, fit_encoder
from rankprune._sql import sql_text
from rankprune.exceptions import TableError
from rankprune.tables import Table

_log = logging.getLogger("rankprune")

# Pairs of which the second is positive by common use.
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
# Columns that are no features, by the option that names them.
SPECIAL = ("id", "group", "probabilities", "trusted")
# Values of a label that are looked at.
_MAX_VALUES = 20
# Cells that mean "no label", unless one of them is named as the positive one.
_NO_LABEL = ("", "na", "n/a", "nan", "null", "none", "?")


@dataclass(frozen=True)
class Labels:
    """The labels of a table.

    Attributes
    ----------
    positive, negative : str
        The two values, as text.
    rows : ndarray of int
        Positions of the rows that have a label.
    is_positive : ndarray of bool
        Of those rows.
    sql : str
        The same over the table's columns: 1, 0, and NULL where there is no label.
    notes : tuple of str
        What was decided about them.
    """

    positive: str
    negative: str
    rows: NDArray[np.intp]
    is_positive: NDArray[np.bool_]
    sql: str
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Features:
    """The features of the rows that have a label, and how they came about."""

    X: Any
    encoder: Encoder
    plan: Plan


@dataclass(frozen=True)
class LabelNames:
    """The two values of a label column.

    Attributes
    ----------
    positive, negative : str
    sql : str
        1 or 0 by a row's label, NULL where it has none.
    n_missing : int
        Rows without one.
    notes : tuple of str
    """

    positive: str
    negative: str
    sql: str
    n_missing: int
    notes: tuple[str, ...]


def read_labels(
    table: Table,
    column: str,
    positive: str | None,
    drop_unlabeled: bool,
    *,
    negative: str | None = None,
) -> Labels:
    """Return the labels in a column, after refusing what cannot be learned from."""
    found = find_labels(table, column, positive, drop_unlabeled, negative=negative)
    (values,) = table.fetch([f"CAST(coalesce({found.sql}, -1) AS TINYINT)"])
    code = np.asarray(values)
    rows = np.flatnonzero(code >= 0)
    return Labels(found.positive, found.negative, rows, code[rows] == 1, found.sql, found.notes)


def find_labels(
    table: Table,
    column: str,
    positive: str | None,
    drop_unlabeled: bool,
    *,
    negative: str | None = None,
) -> LabelNames:
    """Return which values are the labels in a column, without reading all of them."""
    cell = f"CAST(c{table.column(column, '--label')} AS VARCHAR)"
    counted = table.query(
        f"{cell} AS v, count(*) AS n", f"GROUP BY v ORDER BY n DESC, v LIMIT {_MAX_VALUES}"
    )
    counts = dict(counted)
    named = (positive, negative)
    missing = [value for value in counts if value is None or means_none(value, *named)]
    values = [value for value in counts if value not in missing]
    _refuse_other_than_two(column, values, missing, counts)
    n_missing = sum(counts[value] for value in missing)
    notes = []
    if n_missing and not drop_unlabeled:
        raise TableError(
            f"--label must be filled in for every row; {n_missing} of {table.n_rows} rows have no "
            f"{column!r}. Fill them in, or leave those rows out with --drop-unlabeled."
        )
    if n_missing:
        notes.append(f"{n_missing} rows without a label were left out.")
    chosen, note = _positive(values, positive, negative, column)
    if note is not None:
        notes.append(note)
    (other,) = (value for value in values if value != chosen)
    sql = f"CASE {cell} WHEN {sql_text(chosen)} THEN 1 WHEN {sql_text(other)} THEN 0 END"
    return LabelNames(chosen, other, f"({sql})", n_missing, tuple(notes))


def means_none(value: str, *named: str | None) -> bool:
    """Return whether a cell says that there is no label; not where it was named as one."""
    return value not in named and value.strip().lower() in _NO_LABEL


def _refuse_other_than_two(
    column: str, values: list[str], missing: list[str | None], counts: dict[Any, int]
) -> None:
    if len(values) == 2:
        return
    shown = ", ".join(f"{value[:40]!r} ({counts[value]} rows)" for value in values[:5])
    if not values:
        raise TableError(f"--label must have two values; {column!r} is empty in every row.")
    if len(values) == 1:
        raise TableError(
            f"--label must have two values; {column!r} has one: {shown}. Labels of one kind cannot "
            f"be checked against each other.{_hint(missing, counts)}"
        )
    more = "" if len(values) <= 5 else " and more"
    number = f"{_MAX_VALUES} or more" if len(counts) == _MAX_VALUES else str(len(values))
    raise TableError(
        f"--label must have two values; {column!r} has {number}: {shown}{more}. Check one value "
        "against the rest: make a column that says whether it is that value."
    )


def _hint(missing: list[str | None], counts: dict[Any, int]) -> str:
    """Return how a cell that was taken for no label is named as one."""
    spelled = [value for value in missing if value is not None and value.strip()]
    if not spelled:
        return ""
    (value, *_) = spelled
    return (
        f" {value!r} ({counts[value]} rows) was taken for no label; if it is one, name it: "
        f"--negative {shlex.quote(value)}"
    )


def _positive(
    values: list[str], positive: str | None, negative: str | None, column: str
) -> tuple[str, str | None]:
    """Return the positive value, and a note where it was not obvious."""
    other = None if negative is None else _named(values, negative, "--negative", column)
    if positive is not None:
        chosen = _named(values, positive, "--positive", column)
        if chosen == other:
            raise TableError(
                f"--negative must be another value than --positive, got {chosen!r} for both. "
                "Leave one of them out."
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
        f"{chosen!r} is taken for the positive label, as the larger of the two. For the other: "
        f"--positive {other!r}"
    )


def _named(values: list[str], asked: str, option: str, column: str) -> str:
    """Return which of the two values was named: exactly, else as the same number or truth."""
    same = [value for value in values if value == asked]
    same = same or [value for value in values if _is_same(value, asked)]
    if len(same) != 1:
        raise TableError(
            f"{option} must be a value of {column!r}, that is {values[0]!r} or {values[1]!r}; got "
            f"{asked!r}."
        )
    return same[0]


def _is_same(value: str, asked: str) -> bool:
    """Return whether two texts are one value: the same, or the same number or truth."""
    if value == asked or (value.lower() == asked.lower() and value.lower() in ("true", "false")):
        return True
    try:
        return float(value) == float(asked)
    except ValueError:
        return False


def feature_options(settings: dict[str, Any]) -> dict[str, list[str]]:
    """Return which columns are features, from what was asked for."""
    special = [settings[option] for option in SPECIAL if settings[option] is not None]
    return {
        "apart": [settings["label"], *special],
        "drop": settings["drop"],
        "keep": settings["keep"],
        "text": settings["text"],
    }


def read_features(
    table: Table,
    labels: Labels,
    *,
    apart: Sequence[str],
    drop: Sequence[str],
    keep: Sequence[str],
    text: Sequence[str],
    embeddings: NDArray[np.float64] | None,
) -> Features:
    """Return the features of the rows that have a label."""
    plan = plan_columns(table, labels.sql, apart=apart, drop=drop, keep=keep, text=text)
    if not plan.columns and embeddings is None:
        raise TableError(
            f"{table.name} must have columns to learn from beside the label; none is left. "
            + " ".join(plan.notes)
        )
    _log.debug("making features of %d columns", len(plan.columns))
    encoder, X = fit_encoder(table, plan, embeddings)
    if not X.shape[1]:
        raise TableError(
            f"{table.name} must have columns to learn from beside the label; in those that are "
            "left no value occurs twice. Name free text with --text."
        )
    return Features(X if len(labels.rows) == table.n_rows else X[labels.rows], encoder, plan)


def read_embeddings(embeddings: Any, n_rows: int) -> NDArray[np.float64] | None:
    """Return the numbers given beside a table, one row each."""
    if embeddings is None:
        return None
    if isinstance(embeddings, str | Path):
        if not Path(embeddings).is_file():
            raise TableError(f"--embeddings must be an npy file; {embeddings} does not exist.")
        try:
            embeddings = np.load(embeddings, allow_pickle=False)
        except (ValueError, EOFError) as error:
            raise TableError(
                f"--embeddings must be an npy file of numbers; {embeddings} is none. Write it with "
                "numpy.save."
            ) from error
    vectors = np.asarray(embeddings, dtype=np.float64)
    if vectors.ndim != 2 or len(vectors) != n_rows:
        raise TableError(
            f"--embeddings must hold one row of numbers for each of the {n_rows} rows of the "
            f"table, got an array of shape {vectors.shape}. Check that both have the same order."
        )
    if not np.isfinite(vectors).all():
        raise TableError("--embeddings must be finite; some are NaN or infinite. Replace them.")
    return vectors


def array_sha256(values: NDArray[np.float64]) -> str:
    """Return what an array of numbers is known by."""
    return hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()


def named_columns(table: Table, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the columns of special meaning that were named, after a look for all that were."""
    named = {option: settings[option] for option in SPECIAL if settings[option] is not None}
    for option in (*named, "drop", "keep", "text", "redact"):
        asked = settings[option]
        for column in asked if isinstance(asked, list) else [asked]:
            table.column(column, f"--{option}")
    return named


def read_texts(table: Table, column: str, option: str, rows: NDArray[np.intp]) -> NDArray[Any]:
    """Return a column's cells as text, for names of rows and groups; an empty one is an error."""
    position = table.column(column, option)
    (found,) = table.fetch([f"CAST(c{position} AS VARCHAR)"])
    values = np.ma.asarray(found)[rows]
    mask = np.ma.getmaskarray(values)
    if mask.any():
        refuse_unnamed_row(column, option, int(rows[mask.argmax()]))
    return np.asarray(np.ma.getdata(values), dtype=object)


def refuse_unnamed_row(column: str, option: str, row: int) -> None:
    """Raise the error about an empty cell, by the position of its row."""
    raise TableError(
        f"{option} must be filled in for every row; row {row + 1} has no {column!r}. Fill it in, "
        "or leave the option out."
    )


def read_probabilities(table: Table, column: str, rows: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return a column of probabilities."""
    position = table.column(column, "--probabilities")
    (found,) = table.fetch([number_sql(f"c{position}", table.types[position])])
    values = np.ma.filled(np.ma.asarray(found, dtype=np.float64)[rows], np.nan)
    wrong = ~((values >= 0) & (values <= 1))
    if wrong.any():
        refuse_improbable_row(table, column, int(rows[wrong.argmax()]))
    return np.asarray(values)


def refuse_improbable_row(table: Table, column: str, row: int) -> None:
    """Raise the error about a cell that is no probability, by the position of its row."""
    (cell,) = table.cells(np.asarray([row]), [table.position(column)])[0]
    raise TableError(
        f"--probabilities must lie in [0, 1] in every row; row {row + 1} of {column!r} holds "
        f"{cell!r}. Pass the probability of the positive label, out of fold."
    )


def read_flags(table: Table, column: str, option: str, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return a column of yes and no; an empty cell is a no."""
    position = table.column(column, option)
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
            f"{option} must say yes or no (1 or 0, true or false); row {row + 1} of {column!r} "
            f"holds {cell!r}."
        )
    return np.asarray(values == 1)
