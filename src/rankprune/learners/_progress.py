"""Progress as log records that carry what a progress bar shows, so that it need not read texts."""

from __future__ import annotations

import logging

_log = logging.getLogger("rankprune")


def log_stage(stage: str, level: int = logging.DEBUG) -> None:
    """Log that a stage begins; ``progress`` of the record is (stage, None, None)."""
    _log.log(level, "%s", stage, extra={"progress": (stage, None, None)})


def log_progress(
    message: str, stage: str, done: int, total: int, level: int = logging.DEBUG
) -> None:
    """Log how much of a stage is done; ``progress`` of the record is (stage, done, total)."""
    _log.log(level, message, done, total, extra={"progress": (stage, done, total)})
