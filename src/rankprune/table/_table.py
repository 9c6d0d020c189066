"""Tables in files, on a pipe or in memory, read through DuckDB with every cell as it stands.

Text files are read as text: a cell ``007`` stays ``007``, and what a number is, is decided where
features are made. Columns go by their position, so no name can be wrong, repeated or dangerous.
"""

from __future__ import annotations

import difflib
import hashlib
import logging
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune._csv_records import count_cells, csv_records
from rankprune._files import unfinished, whole_file
from rankprune._spooling import FORMATS, Spooled, existing, refuse_unknown_encoding, spool
from rankprune._sql import sql_name, sql_text
from rankprune._table_headers import (
    MAX_RECORD,
    Unreadable,
    csv_header,
    json_names,
    listed,
    parquet_columns,
    ragged_text,
    readable,
    refuse_repeated,
)
from rankprune.exceptions import TableError

_log = logging.getLogger("rankprune")

# Columns are fetched together up to this many bytes of numbers.
_FETCH_BYTES = 1 << 27
# Columns hashed in one query.
_HASHED = 100
# Text of more columns is kept by column while it is open.
_WIDE = 300


@dataclass(frozen=True)
class Table:
    """An open table.

    Attributes
    ----------
    name : str
        What to call it in messages: the file's name, ``stdin`` or ``data frame``.
    path : Path or None
        The file it was read from.
    format : {"csv", "jsonl", "parquet", "frame"}
    sha256 : str or None
        Of the input's bytes; of a frame, of its cells.
    names : tuple of str
        The columns in their order, exactly as they are called.
    types : tuple of str
        What each holds, in DuckDB's words; ``VARCHAR`` throughout in text files.
    n_rows : int
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

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: position for position, name in enumerate(self.names)}

    def position(self, name: str) -> int:
        """Return the position of a column that is known to be there."""
        return self._positions[name]

    def column(self, name: str, argument: str) -> int:
        """Return the position of a column, or an error that suggests near names."""
        name = str(name)
        if name in self._positions:
            return self.position(name)
        folded = {known.casefold().strip(): known for known in self.names}
        near = difflib.get_close_matches(name.casefold().strip(), list(folded), n=3, cutoff=0.6)
        shown = " or ".join(repr(folded[match]) for match in near)
        advice = f"Did you mean {shown}?" if near else f"It has {listed(self.names)}."
        raise TableError(f"{argument} must be a column of {self.name}; {name!r} is none. {advice}")

    def refuse_taken(self, names: Sequence[str]) -> None:
        """Raise an error where columns to be added have names that the table has already."""
        taken = [name for name in names if name in self.names]
        if taken:
            raise TableError(f"{self.name} has a column {taken[0]!r} already. Rename it.")

    def fetch(self, expressions: Sequence[str]) -> Iterator[NDArray[Any]]:
        """Yield the values of SQL expressions over the columns c0, c1, ..., a masked array each.

        They are computed in portions, so that no more than some are held at once.
        """
        at_once = max(1, _FETCH_BYTES // (8 * self.n_rows))
        for start in range(0, len(expressions), at_once):
            part = expressions[start : start + at_once]
            named = ", ".join(f"{text} AS v{i}" for i, text in enumerate(part))
            found = self.run(f"SELECT {named} FROM {self._source}").fetchnumpy()
            yield from (found.pop(f"v{i}") for i in range(len(part)))

    def query(self, select: str, tail: str = "", given: Sequence[str] = ()) -> list[Any]:
        """Return the rows of a query over the columns c0, c1, ..., as tuples.

        ``given`` are expressions with a name, computed once for all that use it.
        """
        source = f"(SELECT *, {', '.join(given)} FROM {self._source})" if given else self._source
        rows: list[Any] = self.run(f"SELECT {select} FROM {source} {tail}").fetchall()
        return rows

    def spool(self, path: Path, expressions: Mapping[str, str], where: str) -> None:
        """Write SQL expressions over the columns to a Parquet file, and each row's number as row.

        Nothing of it is held in memory.
        """
        named = ", ".join(f"{text} AS {name}" for name, text in expressions.items())
        self.run("SET memory_limit = '1GiB'")
        self.run(
            f"COPY (SELECT * FROM (SELECT row_number() OVER () AS row, {named} "
            f"FROM {self._source}) WHERE {where}) TO {sql_text(path)} (FORMAT parquet)"
        )

    def row_hashes(self, columns: Sequence[str]) -> NDArray[np.uint64]:
        """Return a number for each row that is the same where all these cells are the same."""
        total = np.zeros(self.n_rows, dtype=np.uint64)
        for start in range(0, len(columns), _HASHED):
            part = columns[start : start + _HASHED]
            cells = ", ".join(f"c{self.position(name)}" for name in part)
            (found,) = self.fetch([f"hash({start}, {cells})"])
            total ^= np.asarray(found, dtype=np.uint64)
        return total

    def cells(self, rows: NDArray[np.intp], columns: Sequence[int]) -> list[list[str | None]]:
        """Return cells as text, of rows by their position and of some columns."""
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
        """Return the rows that count and those that are marked, for each value of a column."""
        cell = f"CAST(t.c{self.column(column, 'column')} AS VARCHAR)"
        self._connection.register("marks", {"counted": counted, "marked": marked})
        found: list[tuple[str | None, int, int]] = self.run(
            f"SELECT {cell} AS value, count(*) FILTER (WHERE counted) AS n, "
            f"count(*) FILTER (WHERE marked) FROM (SELECT * FROM {self._source}) t "
            "POSITIONAL JOIN marks GROUP BY value HAVING n > 0 ORDER BY n DESC, value "
            f"LIMIT {limit}"
        ).fetchall()
        return found

    def write(
        self,
        path: Path,
        *,
        beside: Mapping[str, NDArray[Any]] | None = None,
        shown: Sequence[str] | None = None,
        where: str = "true",
        replaced: Mapping[int, str] | None = None,
        safe: bool = False,
        n_expected: int | None = None,
    ) -> int:
        """Write the table to a new file, and return the number of rows written.

        Parameters
        ----------
        path : Path
            CSV, TSV or Parquet by its ending.
        beside : mapping of str to array, default=None
            Columns to add, one value per row of the table.
        shown : sequence of str, default=None
            Those of them that are written; all by default.
        where : str, default="true"
            SQL condition over c0, c1, ... and the added columns by their names.
        replaced : mapping of int to str, default=None
            Columns, by position, whose cells are those of an added column of texts where it has
            one.
        safe : bool, default=False
            Keep spreadsheets from taking cells for formulas, by an apostrophe before them.
        n_expected : int, default=None
            Rows that must come out; the file is not written where others would.
        """
        added = dict(beside or {})
        kind = output_format(path)
        shown = list(added) if shown is None else list(shown)
        names = [*self.names, *shown]
        columns = [f"t.c{i}" for i in range(len(self.names))]
        for position, name in (replaced or {}).items():
            new = f"CAST(b.{sql_name(name)} AS {self.types[position]})"
            columns[position] = f"coalesce({new}, {columns[position]})"
        if safe:
            columns = [
                _spreadsheet_safe(column) if _is_text(self.types[i]) else column
                for i, column in enumerate(columns)
            ]
        columns += [f"b.{sql_name(name)}" for name in shown]
        source = f"(SELECT * FROM {self._source}) t"
        if added:
            self._connection.register("beside", added)
            source += " POSITIONAL JOIN beside b"
        with whole_file(path) as part:
            if kind == "parquet":
                _refuse_names_alike(names)
                named = ", ".join(
                    f"{column} AS {sql_name(name)}"
                    for column, name in zip(columns, names, strict=True)
                )
                copy = f"COPY (SELECT {named} FROM {source} WHERE {where}) TO {sql_text(part)}"
                count = self._copy(f"{copy} (FORMAT parquet)", path)
            else:
                count = self._write_csv(part, path, names, columns, f"{source} WHERE {where}", safe)
            if n_expected is not None and count != n_expected:
                raise RuntimeError(f"{count} rows were to be written, not {n_expected}")
        return count

    def _write_csv(
        self,
        part: Path,
        path: Path,
        names: Sequence[str],
        columns: Sequence[str],
        source: str,
        safe: bool,
    ) -> int:
        """Write header and rows; the header is ours, since DuckDB would change names alike."""
        delimiter = self.output_delimiter(path)
        body = part.with_suffix(".body")
        try:
            count = self._copy(
                f"COPY (SELECT {', '.join(columns)} FROM {source}) TO {sql_text(body)} "
                f"(FORMAT csv, HEADER false, DELIMITER {sql_text(delimiter)})",
                path,
            )
            with part.open("wb") as whole, body.open("rb") as rows:
                whole.write(_header(names, delimiter, safe))
                shutil.copyfileobj(rows, whole)
        finally:
            body.unlink(missing_ok=True)
        return count

    def output_delimiter(self, path: Path) -> str:
        """Return what stands between the cells of a text file that is written by this name."""
        if path.suffix.lower() in (".tsv", ".tab"):
            return "\t"
        return self.delimiter if self.delimiter != "\t" else ","

    def _copy(self, sql: str, path: Path) -> int:
        with write_errors(path):
            return int(self._connection.execute(sql).fetchone()[0])

    def run(self, sql: str) -> Any:
        """Run SQL; what is wrong with the table becomes one line that says so."""
        import duckdb

        try:
            return self._connection.execute(sql)
        except duckdb.Error as error:
            raise readable(error, self.name, self.format) from error


@contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Turn what DuckDB says of a failed write into one line."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        reason = str(error).splitlines()[0]
        raise OSError(f"{path} cannot be written: {reason}") from error


@contextmanager
def open_table(
    table: Any, *, encoding: str | None = None, delimiter: str | None = None, watch: bool = True
) -> Iterator[Table]:
    """Open a file, standard input (``-``) or a data frame as a table.

    Parameters
    ----------
    table : path, "-" or data frame
        CSV, TSV, JSON lines or Parquet, also compressed by gzip; by its name's ending, or by what
        is in it. A data frame of pandas or polars.
    encoding : str, default=None
        Of a text file; UTF-8 by default, or UTF-16 where it begins with that mark.
    delimiter : str, default=None
        Between the cells of a CSV file; by default the one that is most frequent in the header.
    watch : bool, default=True
        Raise an error at the end where the file was written to meanwhile.
    """
    try:
        import duckdb
    except ImportError as error:
        raise ImportError(
            "Tables need DuckDB, which is not installed. Install rankprune[cli]."
        ) from error
    if encoding is not None:
        refuse_unknown_encoding(encoding)
    _log.debug("reading %s", "a data frame" if hasattr(table, "columns") else table)
    with (
        tempfile.TemporaryDirectory(prefix="rankprune-") as folder,
        unfinished(Path(folder)),
        duckdb.connect(config={"temp_directory": folder}) as connection,
    ):
        connection.execute("SET preserve_insertion_order = true")
        connection.execute("SET enable_progress_bar = false")
        # Where a moment lies in the day must not depend on where the machine stands.
        connection.execute("SET TimeZone = 'UTC'")
        if not isinstance(table, str | os.PathLike):
            yield _frame_table(table, connection, Path(folder))
            return
        is_stdin = str(table) == "-"
        name = "stdin" if is_stdin else Path(table).name
        path = None if is_stdin else existing(Path(table))
        before = _state(path)
        spooled = spool(path, name, encoding, Path(folder))
        # What was a pipe by another name cannot be read again later.
        kept = path if path is not None and path.is_file() else None
        yield _file_table(spooled, name, kept, delimiter, connection)
        if watch and _state(path) != before:
            raise TableError(f"{name} changed while it was read. Do it again.")


def _state(path: Path | None) -> tuple[int, int] | None:
    """Return what tells that a file was written to."""
    if path is None or not path.is_file():
        return None
    found = path.stat()
    return found.st_size, found.st_mtime_ns


def output_format(path: Path) -> str:
    """Return the format of a file to write, by its name."""
    kind = FORMATS.get(path.suffix.lower())
    if kind not in ("csv", "parquet"):
        raise TableError(
            f"The output must end in .csv, .tsv or .parquet, got {path.name!r}. Choose one of them."
        )
    return kind


def _file_table(
    spooled: Spooled, name: str, path: Path | None, delimiter: str | None, connection: Any
) -> Table:
    place = sql_text(spooled.place)
    if spooled.format == "csv":
        names, delimiter, reading = csv_header(spooled.place, name, delimiter)
        columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(names)))
        source = f"read_csv({reading}, columns={{{columns}}})"
        types = ["VARCHAR"] * len(names)
    elif spooled.format == "jsonl":
        names = json_names(spooled.place, name, connection)
        keys = ", ".join(f"{sql_text(key)}: 'VARCHAR'" for key in names)
        picked = ", ".join(f"{sql_name(key)} AS c{i}" for i, key in enumerate(names))
        reader = f"read_json({place}, format='newline_delimited', columns={{{keys}}}"
        source = f"(SELECT {picked} FROM {reader}, maximum_object_size={MAX_RECORD}))"
        types = ["VARCHAR"] * len(names)
    else:
        names, types = parquet_columns(place, name, connection)
        positions = ", ".join(f"c{i}" for i in range(len(names)))
        source = f"read_parquet({place}) AS t({positions})"
    refuse_repeated(names, name)
    table = Table(
        name,
        path,
        spooled.format,
        spooled.sha256,
        tuple(names),
        tuple(types),
        n_rows=0,
        delimiter=delimiter or ",",
        _source=source,
        _connection=connection,
    )
    table = _counted_csv(table, spooled.place) if spooled.format == "csv" else _counted(table)
    return _by_column(table, spooled.place) if len(names) > _WIDE else table


def _counted_csv(table: Table, place: Path) -> Table:
    """Return the table with its number of rows; its lines may end in several ways."""
    try:
        return _counted(table)
    except Unreadable as error:
        if not error.is_uneven:
            raise (error.is_ragged and _first_ragged(place, table)) or error from error
    even = place.with_name("even.csv")
    with (
        place.open(encoding="utf-8-sig", newline="") as lines,
        even.open("w", encoding="utf-8", newline="") as copy,
    ):
        # DuckDB wants all lines to end alike; cells of several lines stay as they are.
        for _, record in csv_records(lines, table.delimiter, len(table.names)):
            copy.write(record.rstrip("\r\n") + "\n")
    _, _, reading = csv_header(even, table.name, table.delimiter)
    columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(table.names)))
    try:
        return _counted(replace(table, _source=f"read_csv({reading}, columns={{{columns}}})"))
    except Unreadable as error:
        raise (error.is_ragged and _first_ragged(place, table)) or error from error


def _first_ragged(place: Path, table: Table) -> TableError | None:
    """Return an error that tells the first line with too many or too few cells, by its number."""
    expected, number = len(table.names), 1
    with place.open(encoding="utf-8-sig", newline="") as lines:
        for row, record in csv_records(lines, table.delimiter, expected):
            found = count_cells(record, table.delimiter)
            if row is not None and found != expected:
                return TableError(ragged_text(table.name, expected, number, found))
            number += record.count("\n") or record.count("\r")
    return None


def _by_column(table: Table, place: Path) -> Table:
    """Return a table whose columns can be read one by one: text is parsed whole for each of them.

    Tables of few columns are not worth it: they are read but a few times.
    """
    if table.format == "parquet":
        return table
    columns = place.with_name("columns.parquet")
    table.run(f"COPY (SELECT * FROM {table._source}) TO {sql_text(columns)} (FORMAT parquet)")
    return replace(table, _source=f"read_parquet({sql_text(columns)})")


def _frame_table(frame: Any, connection: Any, folder: Path) -> Table:
    """Return a data frame as a table; pandas' is read in place, polars' through a file."""
    import duckdb

    names = [str(name) for name in getattr(frame, "columns", [])]
    if not names or not hasattr(frame, "shape"):
        raise TypeError(
            f"table must be a path, '-' or a data frame, got {type(frame).__name__}. For an array "
            "of features call check_labels."
        )
    refuse_repeated(names, "data frame")
    positions = [f"c{i}" for i in range(len(names))]
    if hasattr(frame, "write_parquet"):
        frame.rename(dict(zip(frame.columns, positions, strict=True))).write_parquet(
            folder / "table.parquet"
        )
        source = f"read_parquet({sql_text(folder / 'table.parquet')})"
    else:
        renamed = frame.set_axis(positions, axis=1).reset_index(drop=True)
        try:
            connection.register("frame", renamed)
        except duckdb.Error:  # a view of another frame that runs backwards
            connection.register("frame", renamed.copy())
        source = "frame"
    types = [row[1] for row in connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()]
    table = _counted(
        Table("data frame", None, "frame", None, tuple(names), tuple(types), 0, source, connection)
    )
    content = hashlib.sha256("\0".join(names).encode())
    content.update(table.row_hashes(names).tobytes())
    return replace(table, sha256=content.hexdigest())


def _counted(table: Table) -> Table:
    n_rows = int(table.query("count(*)")[0][0])
    if n_rows == 0:
        raise TableError(f"{table.name} has a header but no rows. Pass a table with rows.")
    return replace(table, n_rows=n_rows)


def _refuse_names_alike(names: Sequence[str]) -> None:
    folded = [name.casefold() for name in names]
    alike = sorted(name for name in names if folded.count(name.casefold()) > 1)
    if alike:
        raise TableError(
            f"Column names of a Parquet file must differ by more than case, got {listed(alike)}. "
            "Write a .csv file."
        )


def _header(names: Sequence[str], delimiter: str, safe: bool) -> bytes:
    if safe:
        names = [f"'{name}" if name[:1] in _FORMULA else name for name in names]
    special = {delimiter, '"', "\r", "\n"}
    quoted = [sql_name(name) if special & set(name) or not name else name for name in names]
    return (delimiter.join(quoted) + "\n").encode()


# What spreadsheets take for the beginning of a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def _is_text(kind: str) -> bool:
    return kind.startswith(("VARCHAR", "ENUM"))


def _spreadsheet_safe(column: str) -> str:
    column = f"CAST({column} AS VARCHAR)"
    # A number may begin with a sign; anything else that does is kept from being computed.
    return (
        f"CASE WHEN regexp_matches({column}, '^[=+\\-@\\t\\r]') AND try_cast({column} AS DOUBLE) "
        f"IS NULL THEN '''' || {column} ELSE {column} END"
    )
