"""A page on which people judge rows, for reviews of suspects and for blind audits."""

from rankprune.review._audits import audit_record, draw_sample, planned_widths, start_audit
from rankprune.review._serve import (
    Server,
    checked_reviewers,
    is_loopback,
    open_queue,
    read_guideline,
)

__all__ = [
    "Server",
    "audit_record",
    "checked_reviewers",
    "draw_sample",
    "is_loopback",
    "open_queue",
    "planned_widths",
    "read_guideline",
    "start_audit",
]
