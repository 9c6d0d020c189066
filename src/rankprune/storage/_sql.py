"""Values and names quoted for SQL."""

from __future__ import annotations

from typing import Any


def sql_text(value: Any) -> str:
    """Return a value as an SQL string literal."""
    return "'" + str(value).replace("'", "''") + "'"


def sql_name(name: str) -> str:
    """Return a name as a quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'
