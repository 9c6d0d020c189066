"""A page on which people judge rows, for reviews of suspects and for blind audits."""

from rankprune.review._audits import audit_record, draw_sample
from rankprune.review._serve import Server, checked_reviewers, is_loopback, open_queue

__all__ = [
    "Server",
    "audit_record",
    "checked_reviewers",
    "draw_sample",
    "is_loopback",
    "open_queue",
]
