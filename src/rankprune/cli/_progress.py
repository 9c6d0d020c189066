"""What the commands show beside their results: progress, notes and hints, on standard error."""

from __future__ import annotations

import logging
import os
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rankprune.cli._output import say
from rankprune.exceptions import RankPruneWarning

# Nothing is said about work that is done sooner.
_PATIENCE = 2.0


@contextmanager
def progress(quiet: bool, verbose: bool) -> Iterator[None]:
    """Show what the library logs: a bar on a terminal, lines elsewhere, nothing where quiet."""
    logger = logging.getLogger("rankprune")
    handler: logging.Handler = (
        logging.NullHandler() if quiet else _Bar() if _on_terminal() else _Lines(verbose)
    )
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        with warnings.catch_warnings():
            # They are part of the result, and shown with it.
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


class _Lines(logging.Handler):
    """A line now and then, for what takes longer than a moment."""

    def __init__(self, verbose: bool) -> None:
        super().__init__()
        self._wait = 0.0 if verbose else _PATIENCE
        self._last = time.monotonic()

    def emit(self, record: logging.LogRecord) -> None:
        now = time.monotonic()
        if now - self._last >= self._wait:
            self._last = now
            say(record.getMessage())


class _Bar(logging.Handler):
    """One line that moves, gone when the work is done."""

    def __init__(self) -> None:
        super().__init__()
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._progress.add_task("reading", total=None)
        self._progress.start()

    def emit(self, record: logging.LogRecord) -> None:
        done: Any = record.args if isinstance(record.args, tuple) else ()
        if record.msg.startswith("scored") and len(done) == 2:
            self._progress.update(
                self._task, description="scoring rows", completed=done[0], total=done[1]
            )
        else:
            self._progress.update(self._task, description=record.getMessage()[:60])

    def close(self) -> None:
        self._progress.stop()
        super().close()
