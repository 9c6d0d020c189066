"""What ``train --reviewed`` and ``export --reviewed`` share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rankprune.cli._flags import in_flags
from rankprune.cli._output import say


def run_inputs(found: Any, table: Path | None) -> list[Path]:
    """Return the current and the original path of a run's table, as far as they are known."""
    return [Path(place) for place in (table, found.source.path) if place is not None]


def say_settled(settled: Any, quiet: bool) -> None:
    """Report how many labels reviewers settled, and what happens to the other rows they saw."""
    from rankprune.run._sentences import settled_lines

    for line in settled_lines(settled):
        say(line, quiet)


def say_reviewers(
    found: Any,
    run: Path,
    table: Path | None,
    quiet: bool,
    by_consensus: frozenset[int] = frozenset(),
) -> None:
    """Report how far several reviewers agree, and what their answers together say."""
    from rankprune.run._answers_sentences import reviewers_lines
    from rankprune.run._directory import LOG_FILE
    from rankprune.run._reviewers import compare_reviewers

    # Rows that were judged in Python leave no log.
    if quiet or not (run / LOG_FILE).is_file():
        return
    try:
        lines = reviewers_lines(compare_reviewers(found, run, table), by_consensus)
    except (OSError, ValueError) as error:
        # What was reviewed is saved, whatever can be said about it.
        lines = [f"warning: {in_flags(str(error))}"]
    for line in lines:
        say(line)
