"""How each database writes names and values; what callers pass is quoted here and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from rankprune.storage._sql import sql_name, sql_text


@dataclass(frozen=True)
class Dialect:
    """How a database writes names, texts and types."""

    name: str
    quoted_name: Callable[[str], str]
    quoted_text: Callable[[str], str]
    # The type of 64-bit floats, and a type of whole numbers whose sum cannot overflow.
    double: str
    summed: str
    # What ends a subquery that must not be merged into the query around it.
    fence: str = ""

    def number(self, value: float) -> str:
        """Return a float as an SQL expression that gives it back to the bit."""
        return f"CAST('{value!r}' AS {self.double})"


def _postgresql_text(text: str) -> str:
    # Whether a plain literal may hold backslashes is a setting of the server; E'' never depends.
    quoted = sql_text(text)
    return "E" + quoted.replace("\\", "\\\\") if "\\" in text else quoted


def _spark_name(name: str) -> str:
    if "${" in name:
        raise ValueError(
            f"names must not hold '${{' on Spark, which would replace it by a setting, got "
            f"{name!r}. Create a view with other names."
        )
    return "`" + name.replace("`", "``") + "`"


def _spark_text(text: str) -> str:
    # Quotes are escaped, because doubled ones vanish in Spark 3; Spark would replace ${...}.
    return "'" + re.sub(r"[\\']", r"\\\g<0>", text).replace("$", r"\u0024") + "'"


DIALECTS = {
    dialect.name: dialect
    for dialect in (
        Dialect("duckdb", sql_name, sql_text, "DOUBLE", "BIGINT"),
        Dialect("postgresql", sql_name, _postgresql_text, "DOUBLE PRECISION", "BIGINT", "OFFSET 0"),
        # Spark's sums of BIGINT are BIGINT again, which ten billion rows would overflow.
        Dialect("spark", _spark_name, _spark_text, "DOUBLE", "DECIMAL(20, 0)"),
    )
}
