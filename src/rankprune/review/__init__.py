"""A page on which people judge rows, for reviews of suspects and for blind audits."""

from rankprune.review._audits import (
    audit_record,
    draw_rows,
    next_batch,
    planned_widths,
    settle_run,
    start_audit,
)
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
    "draw_rows",
    "is_loopback",
    "next_batch",
    "open_queue",
    "planned_widths",
    "read_guideline",
    "settle_run",
    "start_audit",
]
