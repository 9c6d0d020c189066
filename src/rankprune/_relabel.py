"""A text file with some labels changed, and every other byte (of JSON, line) as it was."""

from __future__ import annotations

import codecs
import gzip
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

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
    """Copy a CSV file, with other cells in some rows of one column.

    Parameters
    ----------
    source, target : Path
        The source may be packed by gzip; the target is not.
    encoding : str or None
        UTF-8 by default, or UTF-16 where the file begins with that mark.
    delimiter : str
    column, n_columns : int
        The position of the column, and how many there are.
    labels : mapping of int to str
        The new cells by the position of their row.
    """
    with (
        _opened(source, encoding) as (lines, used),
        target.open("w", encoding=used, newline="") as copy,
    ):
        records = _records(lines, delimiter, n_columns)
        copy.write(next(records)[1])
        for row, record in records:
            if row is not None and row in labels:
                record = _changed(record, delimiter, column, labels[row])
            copy.write(record)


@contextmanager
def _opened(source: Path, encoding: str | None) -> Iterator[tuple[TextIO, str]]:
    """Open a file as text in which nothing is translated; a mark stays its first sign."""
    with source.open("rb") as raw:
        is_packed = raw.read(2) == b"\x1f\x8b"
    opener = gzip.open if is_packed else open
    with opener(source, "rb") as raw:
        mark = raw.read(2)
    used = encoding or _UTF16.get(mark, "utf-8")
    if codecs.lookup(used).name in ("utf-16", "utf-8-sig"):
        used = _UTF16.get(mark, "utf-8")
    with opener(source, "rt", encoding=used, newline="") as lines:
        yield lines, used


def _records(lines: TextIO, delimiter: str, n_columns: int) -> Iterator[tuple[int | None, str]]:
    """Yield the header, then each record with its row's position; None for lines that are blank."""
    record, row = "", -1
    for line in lines:
        record += line
        if '"' in record and _goes_on(record, delimiter):
            continue
        if row >= 0 and n_columns > 1 and not record.strip("\r\n"):
            yield None, record
        else:
            yield row, record
            row += 1
        record = ""
    if record:
        yield row, record


def _goes_on(record: str, delimiter: str) -> bool:
    """Return whether a record ends inside a quoted cell, which goes on in the next line."""
    start = 0
    while start < len(record) and record[start] not in "\r\n":
        end = _end(record, delimiter, start)
        if end is None:
            return True
        start = end + (record[end : end + 1] == delimiter)
    return False


def _changed(record: str, delimiter: str, column: int, text: str) -> str:
    start, end = 0, _end(record, delimiter, 0)
    for _ in range(column):
        start = len(record) if end is None else end + 1
        end = _end(record, delimiter, start)
    must_quote = record[start : start + 1] == '"' or any(
        sign in text for sign in (delimiter, '"', "\r", "\n")
    )
    cell = '"' + text.replace('"', '""') + '"' if must_quote else text
    return record[:start] + cell + record[end:]


def _end(record: str, delimiter: str, start: int) -> int | None:
    """Return where the cell ends that begins at a place; None where its quote is not closed.

    A quote is one only at the beginning of a cell; inside it is a sign like others.
    """
    if record[start : start + 1] == '"':
        place = record.find('"', start + 1)
        while place >= 0 and record[place + 1 : place + 2] == '"':
            place = record.find('"', place + 2)
        if place < 0:
            return None
        start = place + 1
    stops = [record.find(sign, start) for sign in (delimiter, "\r", "\n")]
    return min((stop for stop in stops if stop >= 0), default=len(record))


def relabel_json(source: Path, target: Path, key: str, labels: Mapping[int, str]) -> None:
    """Copy a file of JSON lines, with other values of one key in some of them.

    Parameters
    ----------
    source, target : Path
        The source may be packed by gzip; the target is not.
    key : str
    labels : mapping of int to str
        The new values by the position of their line, as text; they become what the old ones are.
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
    content = json.loads(line.lstrip("\ufeff"))
    content[key] = text if isinstance(content[key], str) else json.loads(text)
    end = line[len(line.rstrip("\r\n")) :]
    return json.dumps(content, ensure_ascii=False) + end
