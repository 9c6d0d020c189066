"""Values, names and paths quoted for SQL; a path means itself and is never a pattern."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from rankprune.storage._names import refuse_undecodable


def sql_text(value: Any) -> str:
    """Return a value as an SQL string literal."""
    return "'" + str(value).replace("'", "''") + "'"


def sql_name(name: str) -> str:
    """Return a name as a quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def sql_path(path: Path) -> str:
    """Return the path of a file to read as an SQL literal, with wildcards and ``~`` disarmed."""
    refuse_undecodable(path)
    return sql_text(re.sub(r"([*?\[])", r"[\1]", os.path.abspath(path)))


def sql_source(path: Path) -> str:
    """Return the first arguments of a DuckDB reader that reads this file and no other.

    Folders named ``key=value`` would become columns.
    """
    return f"{sql_path(path)}, hive_partitioning=false"


def sql_target(path: Path) -> str:
    """Return the path of a file to write as an SQL literal; DuckDB would expand ``~``."""
    refuse_undecodable(path)
    return sql_text(os.path.abspath(path))
