"""Check column names against a file's header, to report a typo before reading the rows."""

from __future__ import annotations

import codecs
import gzip
import zlib
from pathlib import Path
from typing import Any

from rankprune.storage._atomic import naming_file
from rankprune.storage._claims import temporary_folder
from rankprune.storage._links import link_or_copy
from rankprune.table._headers import csv_header, parquet_columns
from rankprune.table._source import _format, existing, refuse_unknown_encoding
from rankprune.table._table import Table

# Number of bytes to read; a longer header is checked when the table is opened.
_HEAD = 1 << 20


def refuse_missing_column(
    table: Any,
    column: str,
    argument: str,
    *,
    encoding: str | None = None,
    delimiter: str | None = None,
) -> None:
    """Raise an error if a CSV or Parquet file lacks a column, without reading its rows.

    Parameters
    ----------
    table : path
        A pipe is not checked, because it can be read only once.
    column, argument : str
        Name of the column, and of the argument it was passed as.
    encoding, delimiter : str, default=None
        As in `open_table`.
    """
    path = existing(Path(table))
    if not path.is_file():
        return
    if encoding is not None:
        refuse_unknown_encoding(encoding)
    with temporary_folder() as folder, naming_file(folder):
        names = _names(path, folder, encoding, delimiter)
    if names:
        header = Table(path.name, path, "csv", None, tuple(names), (), 0, "", None)
        header.column(column, argument)


def _names(
    path: Path, folder: Path, encoding: str | None, delimiter: str | None
) -> list[str] | None:
    """Return the column names of a file, or None if its first bytes do not show them."""
    with path.open("rb") as stream:
        head = stream.read(_HEAD)
    if head[:2] == b"\x1f\x8b":
        try:
            with gzip.open(path) as unpacked:
                head = unpacked.read(_HEAD)
        except (EOFError, gzip.BadGzipFile, zlib.error):
            return None
    kind = _format(path.name, head[:4])
    if kind == "parquet" and path.suffix.lower() != ".gz":
        return _parquet_names(path, folder)
    if encoding is None and head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        encoding = "utf-16"
    try:
        text = codecs.getincrementaldecoder(encoding or "utf-8")(errors="replace").decode(head)
    except UnicodeError:  # such as a missing mark of byte order; reading all rows reports it
        return None
    if kind != "csv" or not text.strip() or (len(head) == _HEAD and "\n" not in text):
        return None
    place = folder / "table.csv"
    place.write_text(_first_lines(text), encoding="utf-8", newline="")
    names, _, _ = csv_header(place, path.name, delimiter)
    return names


def _first_lines(text: str) -> str:
    """Return the lines of the header: the first line, and more while a quote is open."""
    lines = text.splitlines(keepends=True)
    n_lines = 1
    while n_lines < len(lines) and "".join(lines[:n_lines]).count('"') % 2:
        n_lines += 1
    return "".join(lines[:n_lines])


def _parquet_names(path: Path, folder: Path) -> list[str]:
    import duckdb

    place = folder / "table.parquet"
    link_or_copy(path, place)
    with duckdb.connect() as connection:
        names, *_ = parquet_columns(place, path.name, connection)
    return names
