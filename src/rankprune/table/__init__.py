"""Tables from files, pipes or memory, read through DuckDB without changing any cell."""

from rankprune.table._open import open_table
from rankprune.table._table import Table

__all__ = ["Table", "open_table"]
