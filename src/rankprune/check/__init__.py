"""Check the labels of arrays or of a table."""

from rankprune.check._answers import check_answers
from rankprune.check._arrays import check_labels
from rankprune.check._table import check_table

__all__ = ["check_answers", "check_labels", "check_table"]
