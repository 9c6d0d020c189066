"""Find where the records and cells of a CSV file begin and end; DuckDB reads their values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def csv_records(
    lines: Iterable[str], delimiter: str, n_columns: int
) -> Iterator[tuple[int | None, str]]:
    """Yield the header (position -1), then each record with its row position, None if blank."""
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
    """Return whether a record ends inside a quoted cell and continues on the next line."""
    start = 0
    while start < len(record) and record[start] not in "\r\n":
        end = cell_end(record, delimiter, start)
        if end is None:
            return True
        start = end + (record[end : end + 1] == delimiter)
    return False


def cell_end(record: str, delimiter: str, start: int) -> int | None:
    """Return the end of the cell that begins at ``start``, or None if its quote is not closed.

    A quote is special only at the beginning of a cell; elsewhere it is an ordinary character.
    """
    if record[start : start + 1] == '"':
        quote = record.find('"', start + 1)
        while quote >= 0 and record[quote + 1 : quote + 2] == '"':
            quote = record.find('"', quote + 2)
        if quote < 0:
            return None
        start = quote + 1
    stops = [record.find(stop, start) for stop in (delimiter, "\r", "\n")]
    return min((stop for stop in stops if stop >= 0), default=len(record))


def count_cells(record: str, delimiter: str) -> int:
    """Return the number of cells in a record."""
    start, count = 0, 1
    while (end := cell_end(record, delimiter, start)) is not None:
        if record[end : end + 1] != delimiter:
            break
        start, count = end + 1, count + 1
    return count
