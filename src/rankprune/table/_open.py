"""Open a table from a file, a pipe or memory through DuckDB, without changing any cell.

Cells of text files stay text: ``007`` stays ``007``. Which columns are numbers is decided when
features are computed. SQL refers to columns by position, so no column name can break it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from rankprune.exceptions import TableError
from rankprune.learners._progress import log_stage
from rankprune.storage._atomic import naming_file
from rankprune.storage._claims import temporary_folder
from rankprune.storage._sql import sql_name, sql_source, sql_target, sql_text
from rankprune.table._csv_records import count_cells, csv_records
from rankprune.table._errors import (
    MAX_RECORD,
    Unreadable,
    ragged_text,
    refuse_half_characters,
    refuse_repeated,
)
from rankprune.table._headers import csv_header, json_names, parquet_columns
from rankprune.table._json_lines import write_as_text
from rankprune.table._losses import frame_losses
from rankprune.table._source import Spooled, existing, refuse_unknown_encoding, spool
from rankprune.table._table import MANY_COLUMNS, Table


@contextmanager
def open_table(
    table: Any, *, encoding: str | None = None, delimiter: str | None = None, watch: bool = True
) -> Iterator[Table]:
    """Open a file, standard input (``-``) or a data frame as a table.

    Parameters
    ----------
    table : path, "-" or data frame
        CSV, TSV, JSON lines or Parquet file, optionally compressed with gzip and recognised by its
        extension or content; or a pandas or polars data frame.
    encoding : str, default=None
        Encoding of a text file. By default UTF-8, or UTF-16 if the file begins with a UTF-16 byte
        order mark.
    delimiter : str, default=None
        Delimiter of a CSV file. By default the most frequent candidate in the header.
    watch : bool, default=True
        Raise an error on exit if the file has changed since it was opened.
    """
    try:
        import duckdb
    except ImportError as error:
        raise ImportError(
            "Tables need DuckDB, which is not installed. Install rankprune[cli]."
        ) from error
    if encoding is not None:
        refuse_unknown_encoding(encoding)
    log_stage(f"reading {'a data frame' if hasattr(table, 'columns') else table}")
    with (
        temporary_folder() as folder,
        duckdb.connect(config={"temp_directory": str(folder)}) as connection,
    ):
        connection.execute("SET preserve_insertion_order = true")
        # In a notebook without ipywidgets, the bar is already off and DuckDB refuses the setting.
        with suppress(duckdb.InvalidInputException):
            connection.execute("SET enable_progress_bar = false")
        # The hour of a timestamp must not depend on the local time zone.
        connection.execute("SET TimeZone = 'UTC'")
        if not isinstance(table, str | os.PathLike):
            yield _frame_table(table, connection, folder)
            return
        is_stdin = str(table) == "-"
        name = "stdin" if is_stdin else Path(table).name
        path = None if is_stdin else existing(Path(table))
        before = _state(path)
        with naming_file(folder):
            spooled = spool(path, name, encoding, folder)
        # A named pipe cannot be read again later.
        kept = path if path is not None and path.is_file() else None
        yield _file_table(spooled, name, kept, delimiter, connection)
        if watch and _state(path) != before:
            raise TableError(f"{name} changed while it was being read. Try again.")


def _state(path: Path | None) -> tuple[int, ...] | None:
    """Return what differs if a file is written to or replaced; None if it is not a regular file.

    Its size and modification time may stay, as when an older copy takes its place.
    """
    if path is None or not path.is_file():
        return None
    found = path.stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _file_table(
    spooled: Spooled, name: str, path: Path | None, delimiter: str | None, connection: Any
) -> Table:
    losses: Mapping[str, str] = {}
    if spooled.format == "csv":
        names, delimiter, reading = csv_header(spooled.path, name, delimiter)
        columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(names)))
        source = f"read_csv({reading}, columns={{{columns}}})"
        types = ["VARCHAR"] * len(names)
    elif spooled.format == "jsonl":
        as_text = spooled.path.with_name("text.jsonl")
        write_as_text(spooled.path, as_text)
        names = json_names(as_text, name, connection)
        keys = ", ".join(f"{sql_text(key)}: 'VARCHAR'" for key in names)
        picked = ", ".join(f"{sql_name(key)} AS c{i}" for i, key in enumerate(names))
        reader = f"read_json({sql_source(as_text)}, format='newline_delimited', columns={{{keys}}}"
        source = f"(SELECT {picked} FROM {reader}, maximum_object_size={MAX_RECORD}))"
        types = ["VARCHAR"] * len(names)
    else:
        names, types, losses = parquet_columns(spooled.path, name, connection)
        positions = ", ".join(f"c{i}" for i in range(len(names)))
        source = f"read_parquet({sql_source(spooled.path)}) AS t({positions})"
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
        losses=losses,
        _source=source,
        _connection=connection,
    )
    table = _counted_csv(table, spooled.path) if spooled.format == "csv" else _counted(table)
    return _by_column(table, spooled.path) if len(names) > MANY_COLUMNS else table


def _counted_csv(table: Table, path: Path) -> Table:
    """Return the table with its number of rows; line endings may be mixed."""
    try:
        return _counted(table)
    except Unreadable as error:
        if not error.is_uneven:
            raise (error.is_ragged and _first_ragged(path, table)) or error from error
    even = path.with_name("even.csv")
    with (
        path.open(encoding="utf-8-sig", newline="") as lines,
        even.open("w", encoding="utf-8", newline="") as copy,
    ):
        # DuckDB needs the same line ending everywhere, except inside cells.
        for _, record in csv_records(lines, table.delimiter, len(table.names)):
            copy.write(record.rstrip("\r\n") + "\n")
    _, _, reading = csv_header(even, table.name, table.delimiter)
    columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(table.names)))
    try:
        return _counted(replace(table, _source=f"read_csv({reading}, columns={{{columns}}})"))
    except Unreadable as error:
        raise (error.is_ragged and _first_ragged(path, table)) or error from error


def _first_ragged(path: Path, table: Table) -> TableError | None:
    """Return an error about the first line with too many or too few cells, or None."""
    expected, number = len(table.names), 1
    with path.open(encoding="utf-8-sig", newline="") as lines:
        for row, record in csv_records(lines, table.delimiter, expected):
            found = count_cells(record, table.delimiter)
            if row is not None and found != expected:
                return TableError(ragged_text(table.name, expected, number, found))
            number += record.count("\n") or record.count("\r")
    return None


def _by_column(table: Table, path: Path) -> Table:
    """Return a wide table stored by column, so that reading one column does not parse all of them.

    For tables with few columns, which are read only a few times, this does not pay off.
    """
    if table.format == "parquet":
        return table
    columns = path.with_name("columns.parquet")
    table.run(f"COPY (SELECT * FROM {table._source}) TO {sql_target(columns)} (FORMAT parquet)")
    return replace(table, _source=f"read_parquet({sql_source(columns)})")


def _frame_table(frame: Any, connection: Any, folder: Path) -> Table:
    """Return a data frame as a table: pandas directly, polars through a temporary file."""
    import duckdb

    names = [str(name) for name in getattr(frame, "columns", [])]
    if not names or not hasattr(frame, "shape"):
        raise TypeError(
            f"table must be a path, '-' or a data frame, got {type(frame).__name__}. For an array "
            "of features, call check_labels."
        )
    refuse_half_characters(names, "the data frame")
    refuse_repeated(names, "data frame")
    positions = [f"c{i}" for i in range(len(names))]
    if hasattr(frame, "write_parquet"):
        frame.rename(dict(zip(frame.columns, positions, strict=True))).write_parquet(
            folder / "table.parquet"
        )
        source = f"read_parquet({sql_source(folder / 'table.parquet')})"
    else:
        renamed = frame.set_axis(positions, axis=1).reset_index(drop=True)
        try:
            connection.register("frame", renamed)
        except duckdb.Error:  # a reversed view of another frame
            connection.register("frame", renamed.copy())
        source = "frame"
    types = [row[1] for row in connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()]
    table = _counted(
        Table("data frame", None, "frame", None, tuple(names), tuple(types), 0, source, connection)
    )
    table = replace(table, losses=frame_losses(frame, table))
    content = hashlib.sha256("\0".join(names).encode())
    content.update(table.row_hashes(names).tobytes())
    return replace(table, sha256=content.hexdigest())


def _counted(table: Table) -> Table:
    n_rows = int(table.query("count(*)")[0][0])
    if n_rows == 0:
        raise TableError(f"{table.name} has a header but no rows. Pass a table with rows.")
    return replace(table, n_rows=n_rows)
