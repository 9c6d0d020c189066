"""CSV text as it stands, record by record and cell by cell, to find places in it.

Values are read by DuckDB; this only tells where records and cells begin and end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def csv_records(
    lines: Iterable[str], delimiter: str, n_columns: int
) -> Iterator[tuple[int | None, str]]:
    """Yield the header, then each record with its row's position; None for lines that are blank."""
    record, row, is_open = "", -1, False
    for line in lines:
        record += line
        if '"' in line:
            is_open = goes_on(record, delimiter)
        if is_open:
            continue
        if row >= 0 and n_columns > 1 and not record.strip("\r\n"):
            yield None, record
        else:
            yield row, record
            row += 1
        record = ""
    if record:
        yield row, record


def goes_on(record: str, delimiter: str) -> bool:
    """Return whether a record ends inside a quoted cell, which goes on in the next line."""
    start = 0
    while start < len(record) and record[start] not in "\r\n":
        end = cell_end(record, delimiter, start)
        if end is None:
            return True
        start = end + (record[end : end + 1] == delimiter)
    return False


def cell_end(record: str, delimiter: str, start: int) -> int | None:
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


def count_cells(record: str, delimiter: str) -> int:
    """Return the number of cells of a record."""
    start, count = 0, 1
    while (end := cell_end(record, delimiter, start)) is not None:
        if record[end : end + 1] != delimiter:
            break
        start, count = end + 1, count + 1
    return count
