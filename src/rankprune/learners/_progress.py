"""Progress as log records that carry numbers, so that a progress bar need not parse messages."""

from __future__ import annotations

import logging

_log = logging.getLogger("rankprune")


def log_stage(stage: str, level: int = logging.DEBUG) -> None:
    """Log that a stage begins; the record's ``progress`` is (stage, None, None)."""
    _log.log(level, "%s", stage, extra={"progress": (stage, None, None)})


def log_progress(
    message: str, stage: str, done: int, total: int, level: int = logging.DEBUG
) -> None:
    """Log how much of a stage is done; the record's ``progress`` is (stage, done, total)."""
    _log.log(level, message, done, total, extra={"progress": (stage, done, total)})
