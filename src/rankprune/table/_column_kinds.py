"""What becomes of each column of a table: a number, a date, a category, or left out, and why.

The labels are looked at only to find copies of them.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from rankprune._sql import sql_text
from rankprune.exceptions import TableError
from rankprune.tables import Table

# Cells that mean "not known" in a column of numbers or dates; as a category they stay themselves.
_MISSING = ("", "na", "n/a", "#n/a", "nan", "inf", "-inf", "null", "none", "nil", "?", "-", ".")
_NUMBERS = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL.*")
_DATES = re.compile(r"DATE|TIMESTAMP.*")
_CATEGORIES = re.compile(r"VARCHAR|BOOLEAN|ENUM.*|UUID|TIME.*", re.S)
# Levels of a category that get a feature of their own: the most frequent.
MAX_LEVELS = 50
# Free text, where most cells differ: this long on average, or with this many words.
_LONG, _WORDS = 40, 4
# Dates that are not written year first, each with the time of day or without.
DATE_FORMS = ("%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d-%m-%Y", "%d %b %Y", "%b %d, %Y")
_TIMES = ("", " %H:%M", " %H:%M:%S")
_DATE_LIKE = re.compile(
    r"\s*([0-9]{1,2}([./-])[0-9]{1,2}\2[0-9]{4}|[0-9]{1,2} [a-z]{3} [0-9]{4}|"
    r"[a-z]{3} [0-9]{1,2}, [0-9]{4})\b.*",
    re.I,
)
# So few cells that are no numbers do not make a category of a column of numbers; so many leading
# zeros make codes of them.
_ODD, _CODES = 0.02, 0.01
# With fewer rows, different values in all of them are no sign of an identifier.
_MANY = 20
# Columns of about so few values are looked at for copies of the label.
_FEW = 4
# Columns looked at in one query. Planning a query takes more than in proportion to them, reading
# a large table again takes longer still.
_PORTION, _PORTION_OF_LARGE, _LARGE = 30, 100, 100_000
_ID_NAME = re.compile(r"(^|[_\W])(id|uuid|guid|key|index|nr|no|row|number)$|^unnamed", re.I)


@dataclass(frozen=True)
class Plan:
    """What becomes of each column.

    Attributes
    ----------
    numbers, dates, categories, texts : tuple of str
        Columns by what they are used as.
    decimal_comma, thousands_comma : tuple of str
        Those of the numbers that are written with commas, before decimals or between thousands.
    gaps : tuple of str
        Numbers and dates of which some are missing.
    with_hours : tuple of str
        Dates that tell the time of day.
    date_forms : dict of str to str
        How those are written that are not written year first.
    notes : tuple of str
        What was left out or read in a special way, and how to have it otherwise.
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
    """What a first pass over the rows tells about a column."""

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
    """What a second pass tells about a column that is not numbers throughout."""

    n_values: int
    n_commas: int
    n_thousands: int
    n_dates: int
    n_hours: int
    length: float
    spaces: float
    odd: str | None


@dataclass(frozen=True)
class _BesideLabel:
    """The values of a column of few, in positive and in negative rows."""

    positive_low: str | None
    positive_high: str | None
    negative_low: str | None
    negative_high: str | None

    @property
    def copies_label(self) -> bool:
        """Return whether every positive row has one value, and every negative row another."""
        return (
            self.positive_low is not None
            and self.negative_low is not None
            and self.positive_low == self.positive_high
            and self.negative_low == self.negative_high
            and self.positive_low != self.negative_low
        )


@dataclass(frozen=True)
class _FormedDates:
    """How many cells of a column are dates, and tell the time of day, in each form."""

    n_dates: list[int]
    n_hours: list[int]


def plan_columns(
    table: Table,
    label: str,
    *,
    apart: Sequence[str] = (),
    drop: Sequence[str] = (),
    keep: Sequence[str] = (),
    text: Sequence[str] = (),
) -> Plan:
    """Return what to make of each column, with a note on each that is left out.

    Parameters
    ----------
    table : Table
    label : str
        SQL that is 1 for positive labels, 0 for negative ones, and else NULL.
    apart : sequence of str
        Columns that are no features: the label, the identifier, the group.
    drop, keep : sequence of str
        Columns to leave out, and columns to use whatever they look like.
    text : sequence of str
        Columns of free text, to be used by their words.
    """
    for argument, names in (("--drop", drop), ("--keep", keep), ("--text", text)):
        for name in names:
            table.column(name, argument)
            if argument != "--drop" and name in {*apart, *drop}:
                raise TableError(
                    f"{argument} must name a feature; {name!r} is the label, was dropped, or has "
                    "another use. Leave it out of one of the two."
                )
    left = [name for name in table.names if name not in {*apart, *drop, *text}]
    columns = _looked_at(table, left, label)
    kinds: dict[str, list[str]] = {"number": [], "date": [], "category": []}
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
        texts=tuple(text),
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
    """A column with all that is known of it."""

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
        """Return what commas are in a column of numbers; None where they are not needed."""
        if self.closer is None or self.closer.n_values <= self.look.n_numbers:
            return None
        # Groups of three digits after every comma are no accident.
        if self.closer.n_thousands == self.closer.n_values:
            return "thousands"
        return "decimal" if self.closer.n_commas == self.closer.n_values else None

    @property
    def n_numbers(self) -> int:
        return self.look.n_numbers if self.comma is None else self.n_values

    @property
    def is_code(self) -> bool:
        """Return whether so many cells begin with a zero that they are codes, as of places."""
        return self.look.n_leading_zero > _CODES * self.look.n_present

    @property
    def is_almost_numbers(self) -> bool:
        """Return whether a few cells are no numbers, of very many different ones."""
        n_odd = self.n_values - self.n_numbers
        return self.look.n_distinct > MAX_LEVELS and n_odd <= _ODD * self.n_values

    @property
    def form(self) -> str | None:
        """Return how dates are written, where not year first and all of them alike."""
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
    looks = dict(zip(usable, _asked(table, usable, _Look, _look_sql), strict=True))
    unclear = [
        name
        for name, look in looks.items()
        if look.n_numbers < look.n_present or look.n_leading_zero
    ]
    few = [name for name, look in looks.items() if look.n_distinct <= _FEW]

    def beside_sql(table: Table, name: str) -> list[str]:
        return _beside_sql(table, name, label)

    beside = zip(few, _asked(table, few, _BesideLabel, beside_sql), strict=True)
    copies = {name for name, values in beside if values.copies_label}
    closer = dict(
        zip(unclear, _asked(table, unclear, _CloserLook, _closer_sql, _texts_sql), strict=True)
    )
    dates = [
        name
        for name, look in closer.items()
        if types[name] == "VARCHAR"
        and look.n_dates < look.n_values
        and _DATE_LIKE.fullmatch(look.odd or "")
    ]
    formed = dict(zip(dates, _asked(table, dates, _FormedDates, _formed_sql), strict=True))
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


def portions(table: Table, names: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the columns that are looked at in one query."""
    size = _PORTION if table.n_rows < _LARGE else _PORTION_OF_LARGE
    for start in range(0, len(names), size):
        yield names[start : start + size]


def _numbers_sql(table: Table, name: str) -> list[str]:
    return [f"{_finite_sql(table, name)} AS n{table.position(name)}"]


def _texts_sql(table: Table, name: str) -> list[str]:
    """Return what the closer look uses many times over."""
    position = table.position(name)
    cell = f"c{position}"
    date = date_sql(cell, table.types[position]) or "CAST(NULL AS TIMESTAMP)"
    text = f"CAST({cell} AS VARCHAR)"
    return [
        *_numbers_sql(table, name),
        f"{text} AS t{position}",
        f"trim({text}) AS s{position}",
        f"{date} AS d{position}",
    ]


def _asked(
    table: Table,
    names: Sequence[str],
    answer: Any,
    sql: Callable[[Table, str], list[str]],
    given: Callable[[Table, str], list[str]] = _numbers_sql,
) -> list[Any]:
    """Return an answer for each column, by one query over many of them."""
    size = len(answer.__dataclass_fields__)
    found: list[Any] = []
    for part in portions(table, names):
        asked = [sql(table, name) for name in part]
        values = table.query(
            ", ".join(text for texts in asked for text in texts),
            given=[text for name in part for text in given(table, name)],
        )[0]
        found += [answer(*values[i * size : (i + 1) * size]) for i in range(len(asked))]
    return found


def _finite_sql(table: Table, name: str) -> str:
    position = table.position(name)
    number = number_sql(f"c{position}", table.types[position])
    return f"CASE WHEN isfinite({number}) THEN {number} END"


def _look_sql(table: Table, name: str) -> list[str]:
    """Return the aggregates of the first look, in the order of its fields."""
    position = table.position(name)
    cell, number = f"c{position}", f"n{position}"
    # A zero and another digit; the sign after 9 is a colon.
    zero = f"count(CASE WHEN {cell} >= '00' AND {cell} < '0:' THEN 1 END)"
    return [
        f"count({cell})",
        f"count({number})",
        f"count(CASE WHEN floor({number}) = {number} THEN 1 END)",
        f"approx_count_distinct({cell})",
        zero if table.types[position] == "VARCHAR" else "0",
        # The number of distinct values is an estimate, which takes some pairs for one value.
        f"min({cell}) = max({cell})",
        f"min({number})",
        f"max({number})",
    ]


def _beside_sql(table: Table, name: str, label: str) -> list[str]:
    """Return the aggregates of the look at the label, in the order of its fields."""
    text = f"CAST(c{table.position(name)} AS VARCHAR)"
    return [
        f"{end}({text}) FILTER (WHERE {label} = {value})"
        for value in (1, 0)
        for end in ("min", "max")
    ]


def _closer_sql(table: Table, name: str) -> list[str]:
    """Return the aggregates of the closer look, in the order of its fields."""
    position = table.position(name)
    cell, number, text, trimmed, date = (f"{sign}{position}" for sign in "cntsd")
    missing = ", ".join(sql_text(word) for word in _MISSING)
    comma = "[+-]?[0-9]+(,[0-9]+)?"
    thousands = r"[+-]?[0-9]{1,3}(,[0-9]{3})+(\.[0-9]*)?|[+-]?[0-9]+(\.[0-9]*)?"
    return [
        f"count({cell}) FILTER (WHERE lower({trimmed}) NOT IN ({missing}))",
        f"count({cell}) FILTER (WHERE regexp_full_match({trimmed}, '{comma}'))",
        f"count({cell}) FILTER (WHERE regexp_full_match({trimmed}, '{thousands}'))",
        f"count({date})",
        f"count({date}) FILTER (WHERE hour({date}) > 0)",
        f"coalesce(avg(length({text})), 0)",
        f"coalesce(avg(length({text}) - length(replace({text}, ' ', ''))), 0)",
        f"min({text}) FILTER (WHERE {number} IS NULL AND lower({trimmed}) NOT IN ({missing}))",
    ]


def _formed_sql(table: Table, name: str) -> list[str]:
    """Return the aggregates of the look at dates, in the order of its fields."""
    moments = [date_sql(f"c{table.position(name)}", "VARCHAR", form) for form in DATE_FORMS]
    counts = [f"count({moment})" for moment in moments]
    hours = [f"count({moment}) FILTER (WHERE hour({moment}) > 0)" for moment in moments]
    return [f"[{', '.join(counts)}]", f"[{', '.join(hours)}]"]


def number_sql(cell: str, kind: str, comma: str | None = None) -> str:
    """Return SQL for a cell as a number, NULL where it is none; commas become points or nothing."""
    if kind == "VARCHAR":
        # Trimmed also because DuckDB would let its CSV reader do the cast of a bare column, which
        # fails at the first cell that is no number.
        instead = {"decimal": "'.'", "thousands": "''"}
        text = cell if comma is None else f"replace({cell}, ',', {instead[comma]})"
        return f"try_cast(trim({text}) AS DOUBLE)"
    if _NUMBERS.fullmatch(kind) or kind == "BOOLEAN":
        return f"CAST({cell} AS DOUBLE)"
    return "CAST(NULL AS DOUBLE)"


def date_sql(cell: str, kind: str, form: str = "") -> str | None:
    """Return SQL for a cell as a moment, NULL where it is none; None where it never is."""
    if kind == "VARCHAR" and form:
        forms = ", ".join(sql_text(form + time) for time in _TIMES)
        return f"try_strptime(trim({cell}), [{forms}])"
    if kind == "VARCHAR":
        # A short number may be read as a date; it is a number.
        return f"CASE WHEN length({cell}) >= 8 THEN try_cast(trim({cell}) AS TIMESTAMP) END"
    return f"CAST({cell} AS TIMESTAMP)" if _DATES.fullmatch(kind) else None


def _is_usable(kind: str) -> bool:
    return any(known.fullmatch(kind) for known in (_NUMBERS, _DATES, _CATEGORIES))


def _kind(table: Table, column: _Column, keep: bool) -> tuple[str | None, str | None]:
    """Return what a column is used as, None for not at all, and what to say about it."""
    name, look, closer = column.name, column.look, column.closer
    left_out = f"Column {name!r} was left out:"
    otherwise = f"To use it all the same: --keep {_argument(name)}"
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
            f"{left_out} it tells the label exactly, so it is a copy of it, or was filled in from "
            f"it. {otherwise}"
        )
    kind = _as_kind(column)
    if kind == "number" and column.comma is not None:
        return kind, f"Column {name!r} was read as numbers with {column.comma} commas."
    if kind == "number" and closer is not None and column.n_numbers < column.n_values:
        n_odd = column.n_values - column.n_numbers
        cells = "1 cell that is none" if n_odd == 1 else f"{n_odd} cells that are none"
        return kind, (
            f"Column {name!r} was read as numbers; {cells}, such as {str(closer.odd)[:40]!r}, "
            f"count{'s' if n_odd == 1 else ''} as missing."
        )
    if kind == "date" and column.form is not None:
        return kind, f"Column {name!r} was read as dates written {column.form}."
    if _is_identifier(table, column, kind):
        return None, f"{left_out} no value occurs twice, as in an identifier. {otherwise}"
    if kind == "category" and closer is not None and look.n_distinct > MAX_LEVELS:
        if closer.length >= _LONG or closer.spaces >= _WORDS:
            return None, (
                f"{left_out} it looks like free text. To use its words: --text {_argument(name)}"
            )
        return kind, (
            f"Column {name!r} has about {look.n_distinct} different values; the {MAX_LEVELS} most "
            "frequent are used."
        )
    return kind, None


def _as_kind(column: _Column) -> str:
    if _NUMBERS.fullmatch(column.type):
        return "number"
    if _DATES.fullmatch(column.type):
        return "date"
    if column.type == "VARCHAR":
        is_numbers = column.n_numbers == column.n_values or column.is_almost_numbers
        if is_numbers and not column.is_code:
            return "number"
        if column.n_dates == column.n_values:
            return "date"
    return "category"


def _is_identifier(table: Table, column: _Column, kind: str) -> bool:
    """Return whether no value occurs twice, where that is more than chance."""
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
    elif closer is not None and (closer.length >= _LONG or closer.spaces >= _WORDS):
        return False
    cell = f"c{table.position(column.name)}"
    return bool(table.query(f"count(DISTINCT {cell}) = count({cell})")[0][0])


def _argument(name: str) -> str:
    """Return a name as it is typed after an option."""
    return shlex.quote(name)
