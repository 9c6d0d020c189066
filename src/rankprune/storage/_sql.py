"""Values and names as they stand in SQL."""

from __future__ import annotations

from typing import Any


def sql_text(value: Any) -> str:
    """Return a value as an SQL literal."""
    return "'" + str(value).replace("'", "''") + "'"


def sql_name(name: str) -> str:
    """Return a name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'
