"""People settle what the model suspects: a page to judge rows, and the log of what they said."""

from rankprune.review._audits import audit_record, draw_sample
from rankprune.review._serve import Server, checked_reviewers, is_loopback, open_desk
from rankprune.review._settled import Settled, current_rows, settled_labels
from rankprune.review._store import FILE, Store

__all__ = [
    "FILE",
    "Server",
    "Settled",
    "Store",
    "audit_record",
    "checked_reviewers",
    "current_rows",
    "draw_sample",
    "is_loopback",
    "open_desk",
    "settled_labels",
]
