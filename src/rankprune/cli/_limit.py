"""``--fail-over`` and ``--fail-on``: an exit code that says whether too many labels are wrong."""

from __future__ import annotations

from typing import Any

import click

from rankprune.cli._output import say


def refuse_no_limit(asked: dict[str, Any]) -> None:
    """Raise an error if there is no limit that --fail-on could compare with."""
    if asked["fail_on"] is not None and asked["fail_over"] is None:
        raise click.UsageError("--fail-on only works with --fail-over, such as --fail-over 5%.")


def apply_limit(found: Any, asked: dict[str, Any]) -> None:
    """Exit with 1 if more labels of a check are wrong than allowed."""
    from rankprune.run._sentences import compared_share, exceeds_words, not_judged_words

    allowed = asked["fail_over"]
    compared: Any = asked["fail_on"] or "point"
    if allowed is None:
        return
    why_not = not_judged_words(found, allowed) if compared == "point" else ""
    if why_not:
        say(f"--fail-over was not applied: {why_not} --fail-on lower or upper applies it anyway.")
    elif compared_share(found, compared) > allowed:
        say(exceeds_words(found, allowed, compared))
        raise click.exceptions.Exit(1)
