"""Write a table to a new CSV, TSV or Parquet file."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from rankprune.exceptions import TableError
from rankprune.storage._atomic import whole_file, write_error
from rankprune.storage._claims import new_part
from rankprune.storage._spreadsheets import FORMULA_RE2, spreadsheet_safe
from rankprune.storage._sql import sql_name, sql_target, sql_text
from rankprune.table._errors import listed
from rankprune.table._losses import refuse_losses
from rankprune.table._source import FORMATS
from rankprune.table._table import Table


def write_table(
    table: Table,
    path: Path,
    *,
    beside: Mapping[str, NDArray[Any]] | None = None,
    shown: Sequence[str] | None = None,
    headers: Mapping[str, str] | None = None,
    where: str = "true",
    replaced: Mapping[int, str] | None = None,
    safe: bool = False,
    n_expected: int | None = None,
) -> int:
    """Write a table to a new file, and return the number of rows written.

    Parameters
    ----------
    table : Table
    path : Path
        Output file; its extension selects CSV, TSV or Parquet.
    beside : mapping of str to array, default=None
        Columns to add, one value per row of the table.
    shown : sequence of str, default=None
        Added columns to write; all by default.
    headers : mapping of str to str, default=None
        Headers of added columns; by default their names, which must differ by more than case.
    where : str, default="true"
        SQL condition that selects rows, over c0, c1, ... and the names of added columns.
    replaced : mapping of int to str, default=None
        Added columns whose values replace the cells of a column of the table, by the position of
        the replaced column. Missing values leave the cell as it is.
    safe : bool, default=False
        Put an apostrophe before cells that a spreadsheet would read as formulas.
    n_expected : int, default=None
        Expected number of rows. If it differs, an error is raised and no file is left.
    """
    added = dict(beside or {})
    kind = output_format(path)
    refuse_losses(table, kind)
    shown = list(added) if shown is None else list(shown)
    names = [*table.names, *((headers or {}).get(name, name) for name in shown)]
    # Text files know no missing values: an empty cell is an empty text.
    is_text = table.format == "csv" and kind == "parquet"
    columns = [f"coalesce(t.c{i}, '')" if is_text else f"t.c{i}" for i in range(len(table.names))]
    for position, name in (replaced or {}).items():
        new = f"CAST(b.{sql_name(name)} AS {table.types[position]})"
        columns[position] = f"coalesce({new}, {columns[position]})"
    columns += [f"b.{sql_name(name)}" for name in shown]
    if safe:
        kinds = [*table.types, *("VARCHAR" if _is_text(added[name]) else "" for name in shown)]
        formulas = ("VARCHAR", "ENUM") if kind == "parquet" else ("VARCHAR", "ENUM", "BLOB")
        columns = [
            _spreadsheet_safe(column) if of.startswith(formulas) else column
            for of, column in zip(kinds, columns, strict=True)
        ]
    source = f"(SELECT * FROM {table._source}) t"
    if added:
        table._connection.register("beside", added)
        source += " POSITIONAL JOIN beside b"
    source += f" WHERE {where}"
    with whole_file(path) as part, write_errors(path):
        if kind == "parquet":
            count = _write_parquet(table, part, names, columns, source)
        else:
            delimiter = output_delimiter(table, path)
            header = _header(names, delimiter, safe)
            count = _write_csv(table, part, header, columns, source, delimiter)
        if n_expected is not None and count != n_expected:
            raise RuntimeError(f"expected to write {n_expected} rows, but got {count}")
    return count


@contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Turn a DuckDB error about a failed write into a one-line error."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise write_error(path, error) from error


def output_format(path: Path) -> str:
    """Return the format of an output file, by its extension."""
    kind = FORMATS.get(path.suffix.lower())
    if kind not in ("csv", "parquet"):
        raise TableError(
            f"The output must end in .csv, .tsv or .parquet, got {path.name!r}. Choose one of them."
        )
    return kind


def output_delimiter(table: Table, path: Path) -> str:
    """Return the delimiter of an output file: a tab for ``.tsv``, otherwise that of the table."""
    if path.suffix.lower() in (".tsv", ".tab"):
        return "\t"
    return table.delimiter if table.delimiter != "\t" else ","


def _write_parquet(
    table: Table, path: Path, names: Sequence[str], columns: Sequence[str], source: str
) -> int:
    _refuse_names_alike(names)
    named = ", ".join(
        f"{column} AS {sql_name(name)}" for column, name in zip(columns, names, strict=True)
    )
    return _copy(table, f"SELECT {named} FROM {source}", path, "FORMAT parquet")


def _write_csv(
    table: Table, path: Path, header: bytes, columns: Sequence[str], source: str, delimiter: str
) -> int:
    """Write the header, then the rows; DuckDB would rename columns that differ only by case."""
    options = f"FORMAT csv, HEADER false, DELIMITER {sql_text(delimiter)}"
    with new_part(path.parent) as body:
        count = _copy(table, f"SELECT {', '.join(columns)} FROM {source}", body, options)
        with path.open("wb") as whole, body.open("rb") as rows:
            whole.write(header)
            shutil.copyfileobj(rows, whole)
    return count


def _copy(table: Table, query: str, path: Path, options: str) -> int:
    # The path is claimed; by default DuckDB would replace the file by another that nobody claims.
    options = f"{options}, USE_TMP_FILE false"
    done = table._connection.execute(f"COPY ({query}) TO {sql_target(path)} ({options})")
    return int(done.fetchone()[0])


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
        names = [spreadsheet_safe(name) for name in names]
    special = {delimiter, '"', "\r", "\n"}
    quoted = [sql_name(name) if special & set(name) or not name else name for name in names]
    return (delimiter.join(quoted) + "\n").encode()


def _is_text(values: NDArray[Any]) -> bool:
    return values.dtype.kind in "OUT"


def _spreadsheet_safe(column: str) -> str:
    """Return SQL for the cells of a column, with an apostrophe before formulas.

    Numbers that begin with a plus or minus are left alone.
    """
    column, apostrophe = f"CAST({column} AS VARCHAR)", sql_text("'")
    return (
        f"CASE WHEN regexp_matches({column}, {sql_text(FORMULA_RE2)}) "
        f"AND try_cast({column} AS DOUBLE) IS NULL THEN {apostrophe} || {column} "
        f"ELSE {column} END"
    )
