"""What the columns of a file are called, and what is wrong with a file that cannot be read."""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rankprune._csv_records import goes_on
from rankprune._sql import sql_text
from rankprune.exceptions import TableError

_DELIMITERS = {",": ",", ";": ";", "\t": "tab", "|": "|"}
# A record longer than this is not read; the buffer must hold at least one.
MAX_RECORD, _BUFFER = 1 << 25, 1 << 26
# Of one cell in an error message.
_SHOWN = 60


def csv_header(place: Path, name: str, delimiter: str | None) -> tuple[list[str], str, str]:
    """Return the names in the first record, the delimiter, and how DuckDB is to read the rest."""
    if delimiter is not None and (len(delimiter.encode()) != 1 or delimiter in '"\r\n'):
        raise TableError(f"delimiter must be one sign, such as ; or a tab, got {delimiter!r}.")
    with place.open(encoding="utf-8-sig", newline="") as lines:
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
        # DuckDB would take a header of several lines, and the first row with it.
        place = _without_header(place, record)
        header = "false"
    else:
        header = "true"
    source = (
        f"{sql_text(place)}, header={header}, auto_detect=false, delim={sql_text(delimiter)}, "
        f"""quote='"', escape='"', max_line_size={MAX_RECORD}, buffer_size={_BUFFER}"""
    )
    return names, delimiter, source


def _likely_delimiter(record: str) -> str:
    """Return the sign that occurs most often outside of quotes."""
    unquoted = re.sub(r'(?:(?<=^)|(?<=[,;\t|]))"(?:[^"]|"")*("|$)', "", record)
    return max(_DELIMITERS, key=unquoted.count)


def _without_header(place: Path, record: str) -> Path:
    rest = place.with_name("rows.csv")
    with place.open("rb") as whole, rest.open("wb") as rows:
        mark = len(codecs.BOM_UTF8) if whole.read(3) == codecs.BOM_UTF8 else 0
        whole.seek(mark + len(record.encode()))
        shutil.copyfileobj(whole, rows)
    return rest


def json_names(place: Path, name: str, connection: Any) -> list[str]:
    import duckdb

    reader = f"{sql_text(place)}, format='newline_delimited', maximum_object_size={MAX_RECORD}"
    # Many keys that few lines have are columns too, not one column of pairs.
    inferred = f"{reader}, sample_size=-1, maximum_depth=1, map_inference_threshold=-1"
    try:
        described = connection.execute(f"DESCRIBE SELECT * FROM read_json({inferred})").fetchall()
        keys = connection.execute(
            f"SELECT DISTINCT unnest(json_keys(json)) FROM read_json_objects({reader})"
        ).fetchall()
    except duckdb.Error as error:
        raise _bad_json(place, name) or readable(error, name, "jsonl") from error
    names = [row[0] for row in described]
    known = {key for (key,) in keys}
    if set(names) != known:
        raise _bad_json(place, name) or TableError(
            f"{name} must hold objects whose keys differ by more than upper and lower case; it has "
            f"{listed(sorted(known))}. Rename one of each pair."
        )
    return names


def _bad_json(place: Path, name: str) -> TableError | None:
    """Return an error that tells the first line that is no object, None where all are."""
    with place.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                is_object = not line.strip() or isinstance(json.loads(line), dict)
            except ValueError:
                is_object = False
            if not is_object:
                return TableError(
                    f"{name} must hold one JSON object a line; line {number} is none: "
                    f"{line.strip()[:_SHOWN]!r}. Mend that line."
                )
    return None


def parquet_columns(place: str, name: str, connection: Any) -> tuple[list[str], list[str]]:
    import duckdb

    try:
        schema = connection.execute(
            f"SELECT name, coalesce(num_children, 0) FROM parquet_schema({place})"
        ).fetchall()
        described = connection.execute(f"DESCRIBE SELECT * FROM read_parquet({place})").fetchall()
    except duckdb.Error as error:
        raise readable(error, name, "parquet") from error
    names, position = [], 1
    while position < len(schema):
        names.append(schema[position][0])
        left = schema[position][1]
        while left:  # what lies inside a nested column has no name of its own
            position += 1
            left += schema[position][1] - 1
        position += 1
    return names, [row[1] for row in described]


def refuse_repeated(names: Sequence[str], table: str) -> None:
    repeated = (
        sorted({name for name in names if names.count(name) > 1})
        if len(set(names)) < len(names)
        else []
    )
    if repeated:
        raise TableError(
            f"Column names must differ; {table} has {listed(repeated)} more than once. Rename "
            "one of them."
        )


class Unreadable(TableError):
    """What DuckDB found wrong with a file: too many or too few cells, or lines that end unlike."""

    is_ragged = False
    is_uneven = False


def readable(error: Exception, name: str, kind: str) -> Unreadable:
    """Return what DuckDB found wrong, in one line."""
    text = str(error)
    line = re.search(r"CSV Error on Line: (\d+)", text)
    if line is None:
        first = text.splitlines()[0].split(": ", 1)[-1]
        advice = {
            "parquet": "Check that the file is whole, and write it again.",
        }.get(kind, "Check the file.")
        unreadable = Unreadable(f"{name} cannot be read: {first[:300].rstrip(' .')}. {advice}")
        unreadable.is_uneven = "invalid state" in text
        return unreadable
    counted = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", text)
    if counted is not None:
        ragged = Unreadable(ragged_text(name, int(counted[1]), int(line[1]), int(counted[2])))
        ragged.is_ragged = True
        return ragged
    if "unterminated quote" in text:
        cause = "a quote is opened and never closed, or followed by more text"
    elif "Maximum line size" in text:
        cause = f"it is longer than {MAX_RECORD >> 20} MiB"
    else:
        cause = text.splitlines()[2][:_SHOWN] if len(text.splitlines()) > 2 else text[:_SHOWN]
    return Unreadable(f"{name} cannot be read at line {line[1]}: {cause}. Mend that line.")


def ragged_text(name: str, expected: int, line: int, found: int) -> str:
    return (
        f"{name} must have {expected} cells in every row, as in its header; line {line} has "
        f"{found}. Mend that line, or pass --delimiter where it was misread."
    )


def listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name[:_SHOWN]) for name in names[:8])
    return shown if len(names) <= 8 else f"{shown} and {len(names) - 8} more"
