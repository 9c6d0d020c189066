"""Columns whose cells DuckDB would change when it reads or writes them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from rankprune.exceptions import TableError
from rankprune.table._table import Table

# Types of DuckDB that Parquet cannot hold unchanged, and what they are.
_NOT_IN_PARQUET = {
    r"\bU?HUGEINT\b": "integers of 128 bits",
    r"\bINTERVAL\b": "durations",
    r"\bTIME WITH TIME ZONE\b": "times with a time zone",
}
# Types of polars that its Parquet files hold as other ones.
_OF_POLARS = {"Int128": "integers of 128 bits", "UInt128": "integers of 128 bits"}
_OF_POLARS["Duration"] = "durations"


def parquet_loss(
    parts: Sequence[tuple[str | None, str | None, int | None]], kind: str, *, is_spark: bool
) -> str | None:
    """Return what a column of a Parquet file holds if DuckDB would round it, otherwise None.

    Parameters
    ----------
    parts : sequence of tuple
        Physical type, logical type and precision of the column and of all columns within it.
    kind : str
        Type of the column in DuckDB.
    is_spark : bool
        Whether Spark wrote the file, whose INT96 timestamps are whole microseconds.
    """
    if any((precision or 0) > 38 for _, _, precision in parts):
        return "decimals of more than 38 digits"
    if any("NANOS=Nano" in (logical or "") for _, logical, _ in parts) and "_NS" not in kind:
        return "times in nanoseconds"
    if any(physical == "INT96" for physical, _, _ in parts) and not is_spark:
        return "INT96 timestamps, which may be in nanoseconds"
    return None


def frame_losses(frame: Any, table: Table) -> dict[str, str]:
    """Return the columns of a data frame that DuckDB would round, and what they hold."""
    if hasattr(frame, "write_parquet"):
        kinds = [str(kind).partition("(")[0] for kind in frame.dtypes]
        named = zip(table.names, kinds, strict=True)
        return {name: _OF_POLARS[kind] for name, kind in named if kind in _OF_POLARS}
    losses = {}
    for position, (name, dtype) in enumerate(zip(table.names, frame.dtypes, strict=True)):
        kind = table.types[position]
        if kind == "INTERVAL" and str(dtype) == "timedelta64[ns]":
            if (frame.iloc[:, position].dt.nanoseconds > 0).any():
                losses[name] = "durations in nanoseconds"
        elif dtype.kind == "O" and re.match("DOUBLE|DECIMAL", kind):
            cells = [row[0] for row in table.query(f"c{position}")]
            given = frame.iloc[:, position].tolist()
            if any(map(_differ, given, cells)):
                losses[name] = "numbers that a common type would round"
    return losses


def _differ(given: Any, cell: Any) -> bool:
    is_missing = cell is None or cell != cell
    return not is_missing and bool(given != cell)


def refuse_losses(table: Table, kind: str) -> None:
    """Raise an error if a column cannot be written without changing its cells."""
    for name, what in table.losses.items():
        raise TableError(
            f"Column {name!r} of {table.name} holds {what}, which would be rounded. Convert it to "
            "text first."
        )
    if kind != "parquet":
        return
    for name, held in zip(table.names, table.types, strict=True):
        for pattern, what in _NOT_IN_PARQUET.items():
            if re.search(pattern, held):
                raise TableError(
                    f"Column {name!r} of {table.name} holds {what}, which a Parquet file would "
                    "change. Write a .csv file, or convert the column to text first."
                )
    if "" in table.names:
        raise TableError(
            f"Columns of a Parquet file need names; column {table.names.index('') + 1} of "
            f"{table.name} has none. Name it, or write a .csv file."
        )
