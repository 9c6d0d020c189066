"""The blind audit: a random sample judged without seeing the labels, and what it shows."""

from rankprune.audit._class_estimate import ClassAuditEstimate
from rankprune.audit._compare import compare_errors
from rankprune.audit._draw import draw
from rankprune.audit._estimate import AuditEstimate, estimate
from rankprune.audit._plan import plan
from rankprune.audit._sample import AuditSample
from rankprune.audit._strata import Strata, strata_of

__all__ = [
    "AuditEstimate",
    "AuditSample",
    "ClassAuditEstimate",
    "Strata",
    "compare_errors",
    "draw",
    "estimate",
    "plan",
    "strata_of",
]
