"""``rankprune review``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rankprune.cli._options import RUN, shown, table_of_run
from rankprune.cli._output import next_command, say
from rankprune.cli._reviewed import say_reviewers
from rankprune.cli._serving import opened_queue, serve, serving_options


@click.command(short_help="Let people review the most suspicious rows on a web page.")
@click.argument("run", type=RUN)
@serving_options
@click.option(
    "--top",
    type=click.IntRange(min=1),
    default=10_000,
    show_default=True,
    help="Maximum number of rows to review, most suspicious first.",
)
@table_of_run
@shown
def review(run: Path, **asked: Any) -> None:
    """Let people review the most suspicious rows of RUN on a web page, one row at a time.

    Prints a link for each person; each link works once. Every answer is saved to
    RUN/review.sqlite before the next row appears. Press Ctrl-C to stop; with several reviewers, the
    summary then says how far they agree.
    """
    from rankprune.run import load_check
    from rankprune.run._directory import LOG_FILE
    from rankprune.run._sentences import review_summary

    then = next_command("export", run, "--reviewed", "-o", "corrected.csv")
    with opened_queue(run, "review", asked, top=asked["top"]) as queue:
        if not queue.order:
            say("There are no rows to review, but you can find rows by their name or number.")
        serve(queue, asked, then)
        done = queue.summary()
    say(review_summary(done), asked["quiet"])
    if (run / LOG_FILE).is_file():
        say_reviewers(load_check(run), run, asked["table"], asked["quiet"])
    say(f"Next: {then}", asked["quiet"])
