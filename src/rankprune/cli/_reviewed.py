"""What ``train --reviewed`` and ``export --reviewed`` say about decisions of reviewers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rankprune.cli._output import say

_Command = Callable[..., Any]


def run_inputs(found: Any, table: Path | None) -> list[Path]:
    """Return the table of a run, where it lies now and where it lay."""
    return [Path(place) for place in (table, found.source.path) if place is not None]


def say_settled(settled: Any, quiet: bool) -> None:
    say(f"{len(settled.rows)} labels are settled, {settled.n_changed} of them changed.", quiet)
    for number, what in (
        (settled.n_unsure, "that nobody was sure of"),
        (settled.n_disagreements, "in disagreement"),
        (settled.n_stale, "that have changed since they were judged"),
    ):
        if number:
            say(f"{number} rows {what} stay as they are.", quiet)
