"""Copy a text file with some labels changed, and every other byte (in JSON, line) unchanged."""

from __future__ import annotations

import codecs
import gzip
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from rankprune.table._csv_records import cell_end, csv_records
from rankprune.table._json_lines import json_members

_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def relabel_text(
    source: Path,
    target: Path,
    *,
    encoding: str | None,
    delimiter: str,
    column: int,
    n_columns: int,
    labels: Mapping[int, str],
) -> None:
    """Copy a CSV file, replacing cells of one column in some rows.

    Parameters
    ----------
    source, target : Path
        The source may be compressed with gzip; the target is not.
    encoding : str or None
        By default UTF-8, or UTF-16 if the file begins with a UTF-16 byte order mark.
    delimiter : str
    column, n_columns : int
        The position of the column, and the number of columns.
    labels : mapping of int to str
        New cells, by row position.
    """
    with (
        _opened(source, encoding) as (lines, used),
        target.open("w", encoding=used, newline="") as copy,
    ):
        records = csv_records(lines, delimiter, n_columns)
        copy.write(next(records)[1])
        for row, record in records:
            if row is not None and row in labels:
                record = _changed(record, delimiter, column, labels[row])
            copy.write(record)


@contextmanager
def _opened(source: Path, encoding: str | None) -> Iterator[tuple[TextIO, str]]:
    """Open a file as text, keeping line endings and a byte order mark."""
    with source.open("rb") as raw:
        is_gzip = raw.read(2) == b"\x1f\x8b"
    opener = gzip.open if is_gzip else open
    with opener(source, "rb") as raw:
        mark = raw.read(2)
    used = encoding or _UTF16.get(mark, "utf-8")
    if codecs.lookup(used).name in ("utf-16", "utf-8-sig"):
        used = _UTF16.get(mark, "utf-8")
    with opener(source, "rt", encoding=used, newline="") as lines:
        yield lines, used


def _changed(record: str, delimiter: str, column: int, text: str) -> str:
    start, end = 0, cell_end(record, delimiter, 0)
    for _ in range(column):
        start = len(record) if end is None else end + 1
        end = cell_end(record, delimiter, start)
    must_quote = record[start : start + 1] == '"' or any(
        character in text for character in (delimiter, '"', "\r", "\n")
    )
    cell = '"' + text.replace('"', '""') + '"' if must_quote else text
    return record[:start] + cell + record[end:]


def relabel_json(source: Path, target: Path, key: str, labels: Mapping[int, str]) -> None:
    """Copy a file of JSON lines, replacing the value of one key in some lines.

    Parameters
    ----------
    source, target : Path
        The source may be compressed with gzip; the target is not.
    key : str
    labels : mapping of int to str
        New values as text, by row position; each takes the type of the value it replaces.
    """
    with (
        _opened(source, None) as (lines, used),
        target.open("w", encoding=used, newline="") as copy,
    ):
        row = 0
        for line in lines:
            if line.strip():
                if row in labels:
                    line = _changed_json(line, key, labels[row])
                row += 1
            copy.write(line)


def _changed_json(line: str, key: str, text: str) -> str:
    content = line.lstrip("\ufeff")
    start, end = next(
        (start, end) for name, start, end in json_members(content) if json.loads(name) == key
    )
    is_text = content[start] == '"'
    value = json.dumps(text, ensure_ascii=False) if is_text else text
    return line[: len(line) - len(content)] + content[:start] + value + content[end:]
