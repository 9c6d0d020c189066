"""Read column names from a CSV header, the keys of JSON lines or a Parquet schema."""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

from rankprune.exceptions import TableError
from rankprune.storage._sql import sql_path, sql_source, sql_text
from rankprune.table._csv_records import goes_on
from rankprune.table._errors import (
    _BUFFER,
    MAX_RECORD,
    MAX_SHOWN_RECORD,
    half_character,
    is_unicode,
    listed,
    readable,
)
from rankprune.table._losses import parquet_loss

_DELIMITERS = {",": ",", ";": ";", "\t": "tab", "|": "|"}


def csv_header(path: Path, name: str, delimiter: str | None) -> tuple[list[str], str, str]:
    """Return the column names, the delimiter, and DuckDB's arguments for reading the rows."""
    if delimiter is not None and (len(delimiter.encode()) != 1 or delimiter in '"\r\n'):
        raise TableError(
            f"delimiter must be a single character, such as ; or a tab, got {delimiter!r}."
        )
    with path.open(encoding="utf-8-sig", newline="") as lines:
        record = ""
        for line in lines:
            record += line
            if not goes_on(record, delimiter or _likely_delimiter(record)):
                break
            if len(record) > MAX_RECORD:
                break
    if not record.strip():
        raise TableError(
            f"{name} must begin with the names of its columns; its first line is blank."
        )
    delimiter = delimiter or _likely_delimiter(record)
    limit = csv.field_size_limit(MAX_RECORD)
    try:
        names = next(csv.reader(io.StringIO(record, newline=""), delimiter=delimiter))
    finally:
        csv.field_size_limit(limit)
    if len(record.splitlines()) > 1:
        # DuckDB would misread a header that spans several lines.
        path = _without_header(path, record)
        header = "false"
    else:
        header = "true"
    source = (
        f"{sql_source(path)}, header={header}, auto_detect=false, delim={sql_text(delimiter)}, "
        f"""quote='"', escape='"', max_line_size={MAX_RECORD}, buffer_size={_BUFFER}"""
    )
    return names, delimiter, source


def _likely_delimiter(record: str) -> str:
    """Return the delimiter that occurs most often outside quotes."""
    unquoted = re.sub(r'(?:(?<=^)|(?<=[,;\t|]))"(?:[^"]|"")*("|$)', "", record)
    return max(_DELIMITERS, key=unquoted.count)


def _without_header(path: Path, record: str) -> Path:
    rest = path.with_name("rows.csv")
    with path.open("rb") as whole, rest.open("wb") as rows:
        mark = len(codecs.BOM_UTF8) if whole.read(3) == codecs.BOM_UTF8 else 0
        whole.seek(mark + len(record.encode()))
        shutil.copyfileobj(whole, rows)
    return rest


def json_names(path: Path, name: str, connection: Any) -> list[str]:
    import duckdb

    reader = f"{sql_source(path)}, format='newline_delimited', maximum_object_size={MAX_RECORD}"
    # Every key becomes a column, even if there are many rare keys, which DuckDB would turn into a
    # single map column.
    inferred = f"{reader}, sample_size=-1, maximum_depth=1, map_inference_threshold=-1"
    try:
        described = connection.execute(f"DESCRIBE SELECT * FROM read_json({inferred})").fetchall()
        keys = connection.execute(
            f"SELECT DISTINCT unnest(json_keys(json)) FROM read_json_objects({reader})"
        ).fetchall()
    except duckdb.Error as error:
        raise _bad_json(path, name) or readable(error, name, "jsonl") from error
    names = [row[0] for row in described]
    known = {key for (key,) in keys}
    if set(names) != known:
        raise _bad_json(path, name) or TableError(
            f"{name} must hold objects whose keys differ by more than upper and lower case; it has "
            f"{listed(sorted(known))}. Rename one of each pair."
        )
    return names


def _bad_json(path: Path, name: str) -> TableError | None:
    """Return an error about the first line that is not a JSON object, or None if all are."""
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            found: Any = None
            with suppress(ValueError):
                found = json.loads(line) if line.strip() else {}
            is_object = isinstance(found, dict)
            for key, value in found.items() if isinstance(found, dict) else ():
                if not is_unicode(key):
                    raise half_character(f"the column name {key[:MAX_SHOWN_RECORD]!r} of {name}")
                if not is_unicode(json.dumps(value, ensure_ascii=False)):
                    raise half_character(f"column {key!r} in line {number} of {name}")
            if not is_object:
                return TableError(
                    f"{name} must hold one JSON object per line; line {number} is not one: "
                    f"{line.strip()[:MAX_SHOWN_RECORD]!r}. Fix that line."
                )
    return None


def parquet_columns(
    path: Path, name: str, connection: Any
) -> tuple[list[str], list[str], dict[str, str]]:
    """Return the names and DuckDB types of the columns, and what would be rounded, by name."""
    import duckdb

    try:
        schema = connection.execute(
            "SELECT name, coalesce(num_children, 0), type, logical_type, precision "
            f"FROM parquet_schema({sql_path(path)})"
        ).fetchall()
        described = connection.execute(
            f"DESCRIBE SELECT * FROM read_parquet({sql_source(path)})"
        ).fetchall()
        keys = connection.execute(f"SELECT key FROM parquet_kv_metadata({sql_path(path)})")
        is_spark = any(bytes(key).startswith(b"org.apache.spark.") for (key,) in keys.fetchall())
    except duckdb.Error as error:
        raise readable(error, name, "parquet") from error
    names: list[str] = []
    losses: dict[str, str] = {}
    types, position = [row[1] for row in described], 1
    while position < len(schema):
        first, left = position, schema[position][1]
        while left:  # take the children of a nested column along
            position += 1
            left += schema[position][1] - 1
        position += 1
        loss = parquet_loss(
            [row[2:] for row in schema[first:position]], types[len(names)], is_spark=is_spark
        )
        names.append(schema[first][0])
        if loss is not None:
            losses[names[-1]] = loss
    return names, types, losses
