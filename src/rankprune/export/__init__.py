"""Export the table with suspects marked or left out, or with settled labels."""

from rankprune.export._marked import export_table
from rankprune.export._reviewed import Exported, export_reviewed, trail_lines, trail_path

__all__ = ["Exported", "export_reviewed", "export_table", "trail_lines", "trail_path"]
