"""A page on which people judge rows, for reviews of suspects and for blind audits."""

from rankprune.review._audits import (
    audit_record,
    draw_rows,
    next_batch,
    settle_run,
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
    "read_guideline",
    "settle_run",
]
