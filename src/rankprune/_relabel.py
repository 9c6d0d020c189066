"""A text file with some labels changed, and every other byte as it was."""

from __future__ import annotations

import codecs
import gzip
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
        records = _records(lines, n_columns)
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


def _records(lines: TextIO, n_columns: int) -> Iterator[tuple[int | None, str]]:
    """Yield the header, then each record with its row's position; None for lines that are blank."""
    record, row = "", -1
    for line in lines:
        record += line
        if record.count('"') % 2:
            continue  # a cell goes on in the next line
        if row >= 0 and n_columns > 1 and not record.strip("\r\n"):
            yield None, record
        else:
            yield row, record
            row += 1
        record = ""
    if record:
        yield row, record


def _changed(record: str, delimiter: str, column: int, text: str) -> str:
    start = 0
    for _ in range(column):
        start = _end(record, delimiter, start) + 1
    end = _end(record, delimiter, start)
    must_quote = record[start : start + 1] == '"' or any(
        sign in text for sign in (delimiter, '"', "\r", "\n")
    )
    cell = '"' + text.replace('"', '""') + '"' if must_quote else text
    return record[:start] + cell + record[end:]


def _end(record: str, delimiter: str, start: int) -> int:
    """Return where the cell ends that begins at a place."""
    if record[start : start + 1] == '"':
        place = record.find('"', start + 1)
        while place >= 0 and record[place + 1 : place + 2] == '"':
            place = record.find('"', place + 2)
        return len(record) if place < 0 else place + 1
    stops = [record.find(sign, start) for sign in (delimiter, "\r", "\n")]
    return min((stop for stop in stops if stop >= 0), default=len(record))
