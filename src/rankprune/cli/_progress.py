"""Progress of a command on standard error: what the library logs as events, not its log lines."""

from __future__ import annotations

import logging
import os
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from rankprune.cli._output import say
from rankprune.exceptions import RankPruneWarning

# Seconds between two lines; shorter work shows none.
_PATIENCE = 2.0


@contextmanager
def progress(quiet: bool, verbose: bool) -> Iterator[None]:
    """Show progress as a bar on a terminal and as lines elsewhere; if verbose, every log line."""
    logger = logging.getLogger("rankprune")
    handler: logging.Handler = (
        logging.NullHandler()
        if quiet
        else _LogLines()
        if verbose
        else _Bar()
        if _on_terminal()
        else _Lines()
    )
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        with warnings.catch_warnings():
            # They are part of the result and are shown with it.
            warnings.simplefilter("ignore", RankPruneWarning)
            yield
    finally:
        handler.close()
        logger.removeHandler(handler)
        logger.setLevel(level)


def _on_terminal() -> bool:
    return (
        sys.stderr is not None
        and sys.stderr.isatty()
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM") != "dumb"
    )


class _LogLines(logging.Handler):
    """Every log line."""

    def emit(self, record: logging.LogRecord) -> None:
        say(record.getMessage())


class _Lines(logging.Handler):
    """A line every few seconds."""

    def __init__(self) -> None:
        super().__init__()
        self._last = time.monotonic()

    def emit(self, record: logging.LogRecord) -> None:
        event = getattr(record, "progress", None)
        now = time.monotonic()
        if event is None or now - self._last < _PATIENCE:
            return
        self._last = now
        stage, done, total = event
        say(stage if total is None else f"{stage}: {done} of {total}")


class _Bar(logging.Handler):
    """A single line that moves, and disappears when the work is done."""

    def __init__(self) -> None:
        super().__init__()
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._progress.add_task("starting", total=None)
        self._progress.start()

    def emit(self, record: logging.LogRecord) -> None:
        event = getattr(record, "progress", None)
        if event is not None:
            stage, done, total = event
            self._progress.update(
                self._task, description=stage[:60], completed=done or 0, total=total
            )

    def close(self) -> None:
        self._progress.stop()
        super().close()
