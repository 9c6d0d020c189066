"""Several answers a row: annotators, their consensus, and whom to ask next."""

from rankprune.annotators._answers import Answers
from rankprune.annotators._consensus import Consensus, consensus
from rankprune.annotators._label_errors import LabelErrors
from rankprune.annotators._next_rows import next_rows
from rankprune.annotators._report import Remark, annotator_report
from rankprune.annotators._table import Annotator

__all__ = [
    "Annotator",
    "Answers",
    "Consensus",
    "LabelErrors",
    "Remark",
    "annotator_report",
    "consensus",
    "next_rows",
]
