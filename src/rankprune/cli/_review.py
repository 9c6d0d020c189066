"""``rankprune review``."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Any

import click

from rankprune.cli._options import RUN, shown, table_of_run
from rankprune.cli._output import say
from rankprune.cli._serving import counted, opened_queue, serve, serving_options


@click.command()
@click.argument("run", type=RUN)
@serving_options
@click.option(
    "--top",
    type=click.IntRange(min=1),
    default=10_000,
    show_default=True,
    help="Suspects to judge, the most suspicious ones.",
)
@table_of_run
@shown
def review(run: Path, **asked: Any) -> None:
    """Judge the suspects of RUN on a page, one row at a time.

    A link is printed for each person; it works once. Every answer is on disk before the next row
    shows, and all of them stay in RUN/review.sqlite. Ctrl-C ends it.
    """
    with opened_queue(run, "review", asked, top=asked["top"]) as queue:
        if not queue.order:
            say("There are no suspects; rows can be found by their name all the same.")
        serve(queue, asked)
        done = queue.summary()
    rows, judged = done.pop("rows"), done.pop("judged")
    say(f"{judged} of {rows} rows judged: {counted(done)}.", asked["quiet"])
    say(f"Next: rankprune export {quote(str(run))} --reviewed -o TABLE", asked["quiet"])
