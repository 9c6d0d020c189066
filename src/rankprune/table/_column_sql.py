"""SQL to inspect the contents of table columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rankprune.storage._sql import sql_text
from rankprune.table._table import Table

# Cells that mean "missing" in a column of numbers or dates; in a category, each is a value.
_MISSING = ("", "na", "n/a", "#n/a", "nan", "inf", "-inf", "null", "none", "nil", "?", "-", ".")
NUMBERS = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL.*")
DATES = re.compile(r"DATE|TIMESTAMP.*")
# Each of the most frequent levels of a category becomes a feature, up to this many.
MAX_LEVELS = 50
# Formats of dates that do not begin with the year, each with or without the time of day.
DATE_FORMS = ("%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d-%m-%Y", "%d %b %Y", "%b %d, %Y")
_TIMES = ("", " %H:%M", " %H:%M:%S")
# Columns per query. Query planning time grows faster than the number of columns, but reading a
# large table once more takes even longer.
_PORTION, _PORTION_OF_LARGE, _LARGE = 30, 100, 100_000


def portions(table: Table, names: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield groups of columns, one group per query."""
    size = _PORTION if table.n_rows < _LARGE else _PORTION_OF_LARGE
    for start in range(0, len(names), size):
        yield names[start : start + size]


def numbers_sql(table: Table, name: str) -> list[str]:
    return [f"{finite_sql(table, name)} AS n{table.position(name)}"]


def texts_sql(table: Table, name: str) -> list[str]:
    """Return the expressions that `closer_sql` uses repeatedly."""
    position = table.position(name)
    cell = f"c{position}"
    date = date_sql(cell, table.types[position]) or "CAST(NULL AS TIMESTAMP)"
    text = f"CAST({cell} AS VARCHAR)"
    return [
        *numbers_sql(table, name),
        f"{text} AS t{position}",
        f"trim({text}) AS s{position}",
        f"{date} AS d{position}",
    ]


def asked(
    table: Table,
    names: Sequence[str],
    answer: Any,
    sql: Callable[[Table, str], list[str]],
    given: Callable[[Table, str], list[str]] = numbers_sql,
) -> list[Any]:
    """Return one ``answer`` per column; each query covers many columns."""
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


def finite_sql(table: Table, name: str) -> str:
    position = table.position(name)
    number = number_sql(f"c{position}", table.types[position])
    return f"CASE WHEN isfinite({number}) THEN {number} END"


def look_sql(table: Table, name: str) -> list[str]:
    """Return the aggregates of the first pass, in the order of the fields of ``_Look``."""
    position = table.position(name)
    cell, number = f"c{position}", f"n{position}"
    # A zero and another digit; the character after 9 is a colon.
    zero = f"count(CASE WHEN {cell} >= '00' AND {cell} < '0:' THEN 1 END)"
    return [
        f"count({cell})",
        f"count({number})",
        f"count(CASE WHEN floor({number}) = {number} THEN 1 END)",
        f"approx_count_distinct({cell})",
        zero if table.types[position] == "VARCHAR" else "0",
        # The number of distinct values is an estimate, which may be 1 for two values.
        f"min({cell}) = max({cell})",
        f"min({number})",
        f"max({number})",
    ]


def beside_sql(table: Table, name: str, label: str) -> list[str]:
    """Return the aggregates by label, in the order of the fields of ``_BesideLabel``."""
    text = f"CAST(c{table.position(name)} AS VARCHAR)"
    labeled = f"FILTER (WHERE {label} IS NOT NULL AND {text} IS NOT NULL)"
    return [f"count(DISTINCT {values}) {labeled}" for values in (label, text, f"({label}, {text})")]


def closer_sql(table: Table, name: str) -> list[str]:
    """Return the aggregates of the second pass, in the order of the fields of ``_CloserLook``."""
    position = table.position(name)
    cell, number, text, trimmed, date = (f"{letter}{position}" for letter in "cntsd")
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


def formed_sql(table: Table, name: str) -> list[str]:
    """Return the counts of dates by format, in the order of the fields of ``_FormedDates``."""
    moments = [date_sql(f"c{table.position(name)}", "VARCHAR", form) for form in DATE_FORMS]
    counts = [f"count({moment})" for moment in moments]
    hours = [f"count({moment}) FILTER (WHERE hour({moment}) > 0)" for moment in moments]
    return [f"[{', '.join(counts)}]", f"[{', '.join(hours)}]"]


def number_sql(cell: str, kind: str, comma: str | None = None) -> str:
    """Return SQL for a cell as a number or NULL.

    ``comma="decimal"`` turns commas into points; ``comma="thousands"`` removes them.
    """
    if kind == "VARCHAR":
        # trim() also keeps DuckDB from casting the column inside its CSV reader, which would fail
        # at the first cell that is not a number.
        instead = {"decimal": "'.'", "thousands": "''"}
        text = cell if comma is None else f"replace({cell}, ',', {instead[comma]})"
        return f"try_cast(trim({text}) AS DOUBLE)"
    if NUMBERS.fullmatch(kind) or kind == "BOOLEAN":
        return f"CAST({cell} AS DOUBLE)"
    return "CAST(NULL AS DOUBLE)"


def date_sql(cell: str, kind: str, form: str = "") -> str | None:
    """Return SQL for a cell as a timestamp or NULL; None if the column type cannot hold dates."""
    if kind == "VARCHAR" and form:
        forms = ", ".join(sql_text(form + time) for time in _TIMES)
        return f"try_strptime(trim({cell}), [{forms}])"
    if kind == "VARCHAR":
        # DuckDB reads some short numbers as dates.
        return f"CASE WHEN length({cell}) >= 8 THEN try_cast(trim({cell}) AS TIMESTAMP) END"
    return f"CAST({cell} AS TIMESTAMP)" if DATES.fullmatch(kind) else None
