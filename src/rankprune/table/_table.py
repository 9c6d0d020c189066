"""An open table: its columns, cells and hashes."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune.exceptions import TableError
from rankprune.storage._sql import sql_target
from rankprune.table._errors import listed, readable

# Columns are fetched together, up to this many bytes.
_FETCH_BYTES = 1 << 27
# Number of columns hashed per query.
_HASHED = 100
# Text files with more columns than this are stored by column while they are open.
MANY_COLUMNS = 300


@dataclass(frozen=True)
class Table:
    """An open table.

    Attributes
    ----------
    name : str
        Name used in messages: the file name, ``stdin`` or ``data frame``.
    path : Path or None
        The file it was read from; None for standard input, a pipe or a data frame.
    format : {"csv", "jsonl", "parquet", "frame"}
    sha256 : str or None
        SHA-256 hash of the bytes of the input, or of the names and cells of a data frame.
    names : tuple of str
        Column names, unchanged and in order.
    types : tuple of str
        DuckDB type of each column; ``VARCHAR`` for all columns of a text file.
    n_rows : int
        Number of rows.
    delimiter : str
        Delimiter of a CSV file.
    losses : mapping of str to str
        Columns that DuckDB does not read exactly, and what they hold; they are never written.
    """

    name: str
    path: Path | None
    format: str
    sha256: str | None
    names: tuple[str, ...]
    types: tuple[str, ...]
    n_rows: int
    _source: str
    _connection: Any
    delimiter: str = ","
    losses: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: position for position, name in enumerate(self.names)}

    def position(self, name: str) -> int:
        """Return the position of a column that is known to exist."""
        return self._positions[name]

    def column(self, name: str, argument: str) -> int:
        """Return the position of a column; an unknown name raises an error with suggestions."""
        name = str(name)
        if name in self._positions:
            return self.position(name)
        folded = {known.casefold().strip(): known for known in self.names}
        near = difflib.get_close_matches(name.casefold().strip(), list(folded), n=3, cutoff=0.6)
        shown = " or ".join(repr(folded[match]) for match in near)
        advice = f"Did you mean {shown}?" if near else f"It has {listed(self.names)}."
        raise TableError(
            f"{argument} must be a column of the table; {self.name} has no column {name!r}. "
            f"{advice}"
        )

    def refuse_taken(self, names: Sequence[str]) -> None:
        """Raise an error if the table already has a column with one of these names."""
        taken = [name for name in names if name in self.names]
        if taken:
            raise TableError(f"{self.name} already has a column {taken[0]!r}. Rename it.")

    def fetch(self, expressions: Sequence[str]) -> Iterator[NDArray[Any]]:
        """Yield a masked array for each SQL expression over the columns c0, c1, ...

        Only a few are computed at a time, to save memory.
        """
        at_once = max(1, _FETCH_BYTES // (8 * self.n_rows))
        for start in range(0, len(expressions), at_once):
            part = expressions[start : start + at_once]
            named = ", ".join(f"{text} AS v{i}" for i, text in enumerate(part))
            found = self.run(f"SELECT {named} FROM {self._source}").fetchnumpy()
            yield from (found.pop(f"v{i}") for i in range(len(part)))

    def query(self, select: str, tail: str = "", given: Sequence[str] = ()) -> list[Any]:
        """Return the rows of a query over the columns c0, c1, ..., as tuples.

        ``given`` holds named expressions, each computed once however often its name is used.
        """
        source = f"(SELECT *, {', '.join(given)} FROM {self._source})" if given else self._source
        rows: list[Any] = self.run(f"SELECT {select} FROM {source} {tail}").fetchall()
        return rows

    def spool(self, path: Path, expressions: Mapping[str, str], where: str) -> None:
        """Write SQL expressions over the columns, with row numbers, to a Parquet file.

        Rows that do not satisfy ``where`` are left out. The result is never held in memory.
        """
        named = ", ".join(f"{text} AS {name}" for name, text in expressions.items())
        self.run("SET memory_limit = '1GiB'")
        self.run(
            f"COPY (SELECT * FROM (SELECT row_number() OVER () AS row, {named} "
            f"FROM {self._source}) WHERE {where}) TO {sql_target(path)} (FORMAT parquet)"
        )

    def row_hashes(self, columns: Sequence[str]) -> NDArray[np.uint64]:
        """Return a hash for each row; rows with equal cells in these columns have equal hashes."""
        total = np.zeros(self.n_rows, dtype=np.uint64)
        for start in range(0, len(columns), _HASHED):
            part = columns[start : start + _HASHED]
            cells = ", ".join(f"c{self.position(name)}" for name in part)
            (found,) = self.fetch([f"hash({start}, {cells})"])
            total ^= np.asarray(found, dtype=np.uint64)
        return total

    def cells(self, rows: NDArray[np.intp], columns: Sequence[int]) -> list[list[str | None]]:
        """Return the cells of some rows and columns, both given by position, as text."""
        if not len(rows) or not columns:
            return [[None] * len(columns) for _ in rows]
        picked = ", ".join(f"CAST(c{column} AS VARCHAR)" for column in columns)
        wanted = ", ".join(str(row) for row in sorted(rows.tolist()))
        found = self.run(
            f"SELECT number, {picked} FROM (SELECT *, row_number() OVER () - 1 AS number "
            f"FROM {self._source}) WHERE number IN ({wanted})"
        ).fetchall()
        by_row = {row[0]: list(row[1:]) for row in found}
        return [by_row[row] for row in rows.tolist()]

    def count_by(
        self, column: str, counted: NDArray[np.bool_], marked: NDArray[np.bool_], limit: int
    ) -> list[tuple[str | None, int, int]]:
        """Return (value, counted rows, marked rows) for the most frequent values of a column."""
        cell = f"CAST(t.c{self.column(column, 'column')} AS VARCHAR)"
        self._connection.register("marks", {"counted": counted, "marked": marked})
        found: list[tuple[str | None, int, int]] = self.run(
            f"SELECT {cell} AS value, count(*) FILTER (WHERE counted) AS n, "
            f"count(*) FILTER (WHERE marked) FROM (SELECT * FROM {self._source}) t "
            "POSITIONAL JOIN marks GROUP BY value HAVING n > 0 ORDER BY n DESC, value "
            f"LIMIT {limit}"
        ).fetchall()
        return found

    def run(self, sql: str) -> Any:
        """Run SQL; errors from DuckDB become one-line errors about the table."""
        import duckdb

        try:
            return self._connection.execute(sql)
        except duckdb.Error as error:
            raise readable(error, self.name, self.format) from error


def column_name(name: Any) -> str | None:
    """Return a column name as a string, or None; names in a data frame may be numbers."""
    return None if name is None else str(name)


def column_names(columns: str | Sequence[str]) -> tuple[str, ...]:
    """Return column names as a tuple of strings; a single string is one name."""
    return (columns,) if isinstance(columns, str) else tuple(str(name) for name in columns)
