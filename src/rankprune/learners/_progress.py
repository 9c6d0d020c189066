"""Progress as log records that carry numbers, so that a bar need not read their text."""

from __future__ import annotations

import logging

_log = logging.getLogger("rankprune")


def log_progress(
    message: str, stage: str, done: int, total: int, level: int = logging.DEBUG
) -> None:
    """Log how much of a stage is done; ``progress`` of the record is (stage, done, total)."""
    _log.log(level, message, done, total, extra={"progress": (stage, done, total)})
