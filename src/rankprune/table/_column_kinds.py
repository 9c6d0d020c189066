"""Decide how to use each column of a table: as number, date, category or text, or not at all.

Labels are used only to detect columns that are copies of the label.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from rankprune.exceptions import TableError
from rankprune.table._column_sql import (
    DATE_FORMS,
    DATES,
    MAX_LEVELS,
    NUMBERS,
    asked,
    beside_sql,
    closer_sql,
    formed_sql,
    look_sql,
    texts_sql,
)
from rankprune.table._free_text import is_free_text
from rankprune.table._table import Table, column_names

_CATEGORIES = re.compile(r"VARCHAR|BOOLEAN|ENUM.*|UUID|TIME.*", re.S)
# Values are long if they have this many characters or this many spaces on average. In a column of
# free text, at least this share of the values is distinct (an estimate).
_LONG, _SPACES, _DISTINCT = 40, 4, 0.5
_DATE_LIKE = re.compile(
    r"\s*([0-9]{1,2}([./-])[0-9]{1,2}\2[0-9]{4}|[0-9]{1,2} [a-z]{3} [0-9]{4}|"
    r"[a-z]{3} [0-9]{1,2}, [0-9]{4})\b.*",
    re.I,
)
# A column with up to this share of other cells is still numeric. If more than this share of its
# cells has leading zeros, its numbers are codes.
_ODD, _CODES = 0.02, 0.01
# With fewer rows than this, unique values do not suggest an identifier.
_MANY = 20
# Only columns with up to about this many values are compared with the label.
_FEW = 4
_ID_NAME = re.compile(r"(^|[_\W])(id|uuid|guid|key|index|nr|no|row|number)$|^unnamed", re.I)


@dataclass(frozen=True)
class Plan:
    """How each column is used.

    Attributes
    ----------
    numbers, dates, categories, texts : tuple of str
        Columns used as each kind of feature.
    decimal_comma, thousands_comma : tuple of str
        Columns of numbers with a decimal comma, or with commas between thousands.
    gaps : tuple of str
        Columns of numbers or dates with missing values.
    with_hours : tuple of str
        Columns of dates with a time of day.
    date_forms : dict of str to str
        By column, the format of dates that do not begin with the year.
    notes : tuple of str
        Columns that were left out or read in a special way, and how to change that.
    """

    numbers: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    decimal_comma: tuple[str, ...] = ()
    thousands_comma: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()
    with_hours: tuple[str, ...] = ()
    date_forms: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns that are used."""
        return (*self.numbers, *self.dates, *self.categories, *self.texts)


@dataclass(frozen=True)
class _Look:
    """Statistics of a column from the first pass over the rows."""

    n_present: int
    n_numbers: int
    n_whole: int
    n_distinct: int
    n_leading_zero: int
    is_constant: bool | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class _CloserLook:
    """Statistics from the second pass, for columns with cells that are not plain numbers."""

    n_values: int
    n_commas: int
    n_thousands: int
    n_dates: int
    n_hours: int
    length: float
    spaces: float
    odd: str | None

    @property
    def is_long(self) -> bool:
        return self.length >= _LONG or self.spaces >= _SPACES


@dataclass(frozen=True)
class _BesideLabel:
    """Numbers of labels, of values of a column, and of pairs of both, where neither is missing."""

    n_labels: int
    n_values: int
    n_pairs: int

    @property
    def copies_label(self) -> bool:
        """Return whether all rows of a label share one value, and each label has its own."""
        return 1 < self.n_labels == self.n_values == self.n_pairs


@dataclass(frozen=True)
class _FormedDates:
    """Numbers of cells that are dates, and of those with a time of day, for each format."""

    n_dates: list[int]
    n_hours: list[int]


def plan_columns(
    table: Table,
    label: str,
    *,
    special: Sequence[str] = (),
    drop: str | Sequence[str] = (),
    keep: str | Sequence[str] = (),
    text: str | Sequence[str] = (),
) -> Plan:
    """Return how to use each column, with a note on each that is left out.

    Parameters
    ----------
    table : Table
    label : str
        SQL that is the number of the label, and NULL if it is missing.
    special : sequence of str
        Columns that are not features, such as the label, the identifier and the groups.
    drop, keep : str or sequence of str
        Columns to leave out, and columns to use even if they would be left out.
    text : str or sequence of str
        Columns of free text; their words become features.
    """
    drop, keep, text = column_names(drop), column_names(keep), column_names(text)
    for argument, names in (("drop", drop), ("keep", keep), ("text", text)):
        for name in names:
            table.column(name, argument)
            if argument != "drop" and name in {*special, *drop}:
                raise TableError(
                    f"{argument} must name a feature; {name!r} is the label, is dropped, or has "
                    "another role. Remove it from one of the two."
                )
    left = [name for name in table.names if name not in {*special, *drop, *text}]
    columns = _looked_at(table, left, label)
    kinds: dict[str, list[str]] = {"number": [], "date": [], "category": [], "text": []}
    notes = []
    for column in columns:
        kind, note = _kind(table, column, column.name in keep)
        if note is not None:
            notes.append(note)
        if kind is not None:
            kinds[kind].append(column.name)
    numbers, dates = kinds["number"], kinds["date"]
    commas = [column for column in columns if column.comma and column.name in numbers]
    hours = [column for column in columns if column.n_hours]
    return Plan(
        numbers=tuple(numbers),
        dates=tuple(dates),
        categories=tuple(kinds["category"]),
        texts=(*text, *kinds["text"]),
        decimal_comma=tuple(column.name for column in commas if column.comma == "decimal"),
        thousands_comma=tuple(column.name for column in commas if column.comma == "thousands"),
        gaps=tuple(
            column.name
            for column in columns
            if (column.name in numbers and column.n_numbers < table.n_rows)
            or (column.name in dates and column.n_dates < table.n_rows)
        ),
        with_hours=tuple(column.name for column in hours if column.name in dates),
        date_forms={
            column.name: column.form for column in columns if column.form and column.name in dates
        },
        notes=tuple(notes),
    )


@dataclass(frozen=True)
class _Column:
    """A column with its statistics."""

    name: str
    type: str
    look: _Look
    closer: _CloserLook | None
    formed: _FormedDates | None
    copies_label: bool

    @property
    def n_values(self) -> int:
        return self.look.n_present if self.closer is None else self.closer.n_values

    @property
    def comma(self) -> str | None:
        """Return what commas in numbers mean, "decimal" or "thousands"; None if there are none."""
        if self.closer is None or self.closer.n_values <= self.look.n_numbers:
            return None
        # Three digits after every comma are unlikely to be decimals.
        if self.closer.n_thousands == self.closer.n_values:
            return "thousands"
        return "decimal" if self.closer.n_commas == self.closer.n_values else None

    @property
    def n_numbers(self) -> int:
        return self.look.n_numbers if self.comma is None else self.n_values

    @property
    def is_code(self) -> bool:
        """Return whether so many cells begin with a zero that they are codes, such as postcodes."""
        return self.look.n_leading_zero > _CODES * self.look.n_present

    @property
    def is_almost_numbers(self) -> bool:
        """Return whether all but a few cells are numbers, with many distinct values."""
        n_odd = self.n_values - self.n_numbers
        return self.look.n_distinct > MAX_LEVELS and n_odd <= _ODD * self.n_values

    @property
    def form(self) -> str | None:
        """Return the format in ``DATE_FORMS`` that all dates share, or None."""
        if self.formed is None:
            return None
        forms = zip(DATE_FORMS, self.formed.n_dates, strict=True)
        return next((form for form, count in forms if count == self.n_values), None)

    @property
    def n_dates(self) -> int:
        if self.closer is None:
            return 0
        return self.closer.n_dates if self.form is None else self.n_values

    @property
    def n_hours(self) -> int:
        if self.closer is None:
            return 0
        if self.formed is None or self.form is None:
            return self.closer.n_hours
        return self.formed.n_hours[DATE_FORMS.index(self.form)]


def _looked_at(table: Table, names: Sequence[str], label: str) -> list[_Column]:
    types = {name: table.types[table.position(name)] for name in names}
    usable = [name for name in names if _is_usable(types[name])]
    looks = dict(zip(usable, asked(table, usable, _Look, look_sql), strict=True))
    unclear = [
        name
        for name, look in looks.items()
        if look.n_numbers < look.n_present or look.n_leading_zero
    ]
    few = [name for name, look in looks.items() if look.n_distinct <= _FEW]

    def beside_label(table: Table, name: str) -> list[str]:
        return beside_sql(table, name, label)

    beside = zip(few, asked(table, few, _BesideLabel, beside_label), strict=True)
    copies = {name for name, values in beside if values.copies_label}
    closer = dict(
        zip(unclear, asked(table, unclear, _CloserLook, closer_sql, texts_sql), strict=True)
    )
    dates = [
        name
        for name, look in closer.items()
        if types[name] == "VARCHAR"
        and look.n_dates < look.n_values
        and _DATE_LIKE.fullmatch(look.odd or "")
    ]
    formed = dict(zip(dates, asked(table, dates, _FormedDates, formed_sql), strict=True))
    nothing = _Look(0, 0, 0, 0, 0, None, None, None)
    return [
        _Column(
            name,
            types[name],
            looks.get(name, nothing),
            closer.get(name),
            formed.get(name),
            name in copies,
        )
        for name in names
    ]


def _is_usable(kind: str) -> bool:
    return any(known.fullmatch(kind) for known in (NUMBERS, DATES, _CATEGORIES))


def _kind(table: Table, column: _Column, keep: bool) -> tuple[str | None, str | None]:
    """Return how a column is used (None if it is left out) and a note about it, or None."""
    name, look, closer = column.name, column.look, column.closer
    left_out = f"Column {name!r} was left out:"
    otherwise = f"To use it anyway, pass keep={name!r}."
    if column.type != '"NULL"' and not _is_usable(column.type):
        return None, f"{left_out} it holds {column.type}, not numbers or text."
    if column.n_values == 0:
        return None, f"{left_out} every cell is empty."
    if look.is_constant and look.n_present == table.n_rows:
        return None, f"{left_out} every row has the same value."
    if keep:
        return _as_kind(column), None
    if column.copies_label:
        return None, (
            f"{left_out} it determines the label exactly, so it is a copy of the label or was "
            f"derived from it. {otherwise}"
        )
    kind = _as_kind(column)
    if kind == "number" and column.comma is not None:
        return kind, f"Column {name!r} was read as numbers with {column.comma} commas."
    if kind == "number" and closer is not None and column.n_numbers < column.n_values:
        n_odd = column.n_values - column.n_numbers
        cells = (
            "1 cell that is not a number" if n_odd == 1 else f"{n_odd} cells that are not numbers"
        )
        return kind, (
            f"Column {name!r} was read as numbers; {cells}, such as {str(closer.odd)[:40]!r}, "
            f"count{'s' if n_odd == 1 else ''} as missing."
        )
    if kind == "date" and column.form is not None:
        return kind, f"Column {name!r} was read as dates written {column.form}."
    if kind == "category" and _may_be_text(column) and is_free_text(table, name):
        return "text", f"Column {name!r} holds free text: its words are used as features."
    if _is_identifier(table, column, kind):
        return None, f"{left_out} no value occurs twice, as in an identifier. {otherwise}"
    if kind == "category" and closer is not None and look.n_distinct > MAX_LEVELS:
        if closer.is_long:
            return None, (
                f"{left_out} its values are long and rarely repeat. To use their words, pass "
                f"text={name!r}."
            )
        return kind, (
            f"Column {name!r} has about {look.n_distinct} different values; the {MAX_LEVELS} most "
            "frequent are used."
        )
    return kind, None


def _as_kind(column: _Column) -> str:
    if NUMBERS.fullmatch(column.type):
        return "number"
    if DATES.fullmatch(column.type):
        return "date"
    if column.type == "VARCHAR":
        is_numbers = column.n_numbers == column.n_values or column.is_almost_numbers
        if is_numbers and not column.is_code:
            return "number"
        if column.n_dates == column.n_values:
            return "date"
    return "category"


def _may_be_text(column: _Column) -> bool:
    """Return whether long values rarely repeat, so that the cells are worth sampling."""
    look, closer = column.look, column.closer
    rarely_repeat = look.n_present >= _MANY and look.n_distinct >= _DISTINCT * look.n_present
    return rarely_repeat and closer is not None and closer.is_long


def _is_identifier(table: Table, column: _Column, kind: str) -> bool:
    """Return whether the values are unique, and unlikely to be so by chance."""
    look, closer = column.look, column.closer
    if kind == "date" or look.n_present < _MANY or look.n_distinct < 0.8 * look.n_present:
        return False
    if kind == "number":
        counts_rows = (
            look.low is not None
            and look.high is not None
            and look.high - look.low + 1 == look.n_present
        )
        if look.n_whole < look.n_numbers or not (counts_rows or _ID_NAME.search(column.name)):
            return False
    elif closer is not None and closer.is_long:
        return False
    cell = f"c{table.position(column.name)}"
    return bool(table.query(f"count(DISTINCT {cell}) = count({cell})")[0][0])
