"""Methods compared on the same rows, folds and probabilities."""

from rankprune.comparison._compare import METHODS, compare
from rankprune.comparison._result import ComparedMethod, Comparison
from rankprune.comparison._table import compare_table

__all__ = ["METHODS", "ComparedMethod", "Comparison", "compare", "compare_table"]
