"""The rows of a table as SQL: its quoted name and columns, and the conditions of each label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankprune.core._label_values import is_missing
from rankprune.sql._dialects import DIALECTS, Dialect

# Columns are written with this name of the table, so that no name of ours can hide one of theirs.
_ALIAS = "given_rows"
# Whole numbers that every database can write as such.
_LARGEST_LABEL = 2**63 - 1


@dataclass(frozen=True)
class Rows:
    """A table with labels and probabilities, as parts of a query."""

    dialect: Dialect
    table: str
    positive: str
    negative: str
    score: str

    @property
    def source(self) -> str:
        """Return what follows FROM."""
        return f"{self.table} AS {_ALIAS}"

    def label_is(self, positive: bool) -> str:
        """Return the condition of rows with the positive or the negative label."""
        return self.positive if positive else self.negative

    def columns(self, names: Sequence[str]) -> list[str]:
        """Return names as columns of the table."""
        return [f"{_ALIAS}.{self.dialect.quoted_name(name)}" for name in names]


def rows_of(
    table: Any, label: Any, probability: Any, dialect: Any, *, pos_label: Any, neg_label: Any
) -> Rows:
    """Return the rows of a table, after checking all names and values."""
    if not isinstance(dialect, str) or dialect not in DIALECTS:
        raise ValueError(
            f"dialect must be one of {', '.join(DIALECTS)}, got {dialect!r}. For another database, "
            "try 'postgresql', which is closest to standard SQL, and compare a small table."
        )
    written = DIALECTS[dialect]
    positive, negative = _values(written, pos_label, neg_label)
    parts = [written.quoted_name(part) for part in _table_parts(table)]
    quoted_label, quoted_score = (
        f"{_ALIAS}.{written.quoted_name(validate_name(name, argument))}"
        for name, argument in ((label, "label"), (probability, "probability"))
    )
    return Rows(
        written,
        ".".join(parts),
        f"{quoted_label} = {positive}",
        f"{quoted_label} = {negative}",
        # In double precision, where every float32 is exact.
        f"CAST({quoted_score} AS {written.double})",
    )


def validate_name(name: Any, argument: str) -> str:
    """Return the name of a column, checked to be one that SQL can hold."""
    if not isinstance(name, str) or not name:
        raise ValueError(
            f"{argument} must be the name of a column, got {name!r}. Pass it as the database "
            "writes it, without quotes."
        )
    return _storable(name, argument)


def validate_names(names: Any, argument: str) -> list[str]:
    """Return one or several names of different columns as a list."""
    given = list(names) if isinstance(names, list | tuple) else [names]
    if not given:
        raise ValueError(
            f"{argument} must name the columns that identify a row, got none of them. Pass a name, "
            "or a list of names."
        )
    checked = [validate_name(name, argument) for name in given]
    if len(set(checked)) < len(checked):
        raise ValueError(
            f"{argument} must name different columns, got {checked!r}. Pass each name once."
        )
    return checked


def _table_parts(table: Any) -> list[str]:
    parts = table.split(".") if isinstance(table, str) else table
    is_named = isinstance(parts, list | tuple) and bool(parts)
    if not is_named or not all(isinstance(part, str) and part for part in parts):
        raise ValueError(
            "table must be a name such as 'scores' or 'schema.scores', or a tuple of its parts, "
            f"got {table!r}. For the result of a query, create a view and pass its name."
        )
    return [_storable(part, "table") for part in parts]


def _storable(text: str, argument: str) -> str:
    """Return a text, after checking that a statement can hold it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        is_storable = False
    else:
        is_storable = "\0" not in text
    if not is_storable:
        raise ValueError(
            f"{argument} must be text without null characters and surrogates, which no database "
            f"stores, got {text!r}. Check how it was read."
        )
    return text


def _values(dialect: Dialect, pos_label: Any, neg_label: Any) -> tuple[str, str]:
    """Return the two label values as SQL literals."""
    (pos_kind, positive), (neg_kind, negative) = (
        _value(dialect, label, argument)
        for label, argument in ((pos_label, "pos_label"), (neg_label, "neg_label"))
    )
    if pos_kind != neg_kind:
        raise ValueError(
            f"pos_label and neg_label must be of one type, got {pos_label!r} and {neg_label!r}. "
            "Pass both as the column holds them."
        )
    if positive == negative:
        raise ValueError(
            f"pos_label and neg_label must be different, got {pos_label!r} for both. Pass the two "
            "values of the label column."
        )
    return positive, negative


def _value(dialect: Dialect, label: Any, argument: str) -> tuple[str, str]:
    """Return the kind of a label value, and the value as an SQL literal."""
    value = label.item() if isinstance(label, np.generic) else label
    if isinstance(value, bool):
        return "boolean", "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return "text", dialect.quoted_text(_storable(value, argument))
    is_number = isinstance(value, int | float) and not is_missing(value)
    if not is_number or not abs(value) <= _LARGEST_LABEL:
        raise ValueError(
            f"{argument} must be a text, a boolean or a number of at most 64 bits, got {label!r}. "
            "Pass the value as the column holds it; rows without a label must be left out."
        )
    if value == int(value):
        return "number", str(int(value))
    return "number", dialect.number(value)
