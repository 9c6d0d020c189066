"""Tables in files, on a pipe or in memory, read through DuckDB without changing a cell."""

from rankprune.table._open import open_table
from rankprune.table._table import Table

__all__ = ["Table", "open_table"]
