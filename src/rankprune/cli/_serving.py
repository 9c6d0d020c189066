"""Serving the page of ``rankprune review`` and ``rankprune audit``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click

from rankprune.cli._exit import go_on, wait_longer
from rankprune.cli._options import FILE, FOLDER, SHARE, add_options
from rankprune.cli._output import say
from rankprune.cli._progress import progress

serving_options = add_options(
    click.option(
        "--reviewer",
        "reviewers",
        multiple=True,
        metavar="NAME",
        help="Name of a reviewer; may be repeated, and each gets a link (default: your user name).",
    ),
    click.option(
        "--overlap",
        type=SHARE,
        default="0%",
        show_default=True,
        help="Share of rows that two people judge without seeing each other's answers.",
    ),
    click.option("--guideline", type=FILE, help="Text file to show to reviewers."),
    click.option(
        "--image-root",
        type=FOLDER,
        help="Folder of images; cells hold their paths below it.",
    ),
    click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on."),
    click.option(
        "--port",
        type=click.IntRange(0, 65535),
        default=0,
        help="Port to listen on (default: any free port).",
    ),
    click.option("--open", "open_", is_flag=True, help="Open the first link in a browser."),
)


@contextmanager
def opened_queue(run: Path, mode: Any, asked: dict[str, Any], **options: Any) -> Iterator[Any]:
    """Open a queue, with progress for as long as that takes."""
    from rankprune.review import open_queue

    with ExitStack() as stack:
        with progress(asked["quiet"] or asked["no_progress"], asked["verbose"]):
            queue = stack.enter_context(
                open_queue(
                    run,
                    mode,
                    table=asked["table"],
                    image_root=asked["image_root"],
                    overlap=asked["overlap"],
                    **options,
                )
            )
        yield queue


def serve(queue: Any, asked: dict[str, Any], next_step: str) -> None:
    """Print the links and serve until interrupted; the page ends with the next step."""
    from rankprune.review import Server, checked_reviewers, is_loopback, read_guideline

    guideline = asked["guideline"]
    server = Server(
        queue,
        checked_reviewers(asked["reviewers"]),
        host=asked["host"],
        port=asked["port"],
        guideline="" if guideline is None else read_guideline(guideline),
        next_step=next_step,
    )
    if not is_loopback(asked["host"]):
        say(
            f"warning: anyone who can reach {asked['host']} can try to connect, and the connection "
            "is not encrypted. Give each link only to the person it is for."
        )
    for link in server.links:
        name = f"{link.reviewer}: " if len(server.links) > 1 else ""
        click.echo(f"{name}{link.url}")
    if asked["open_"]:
        click.launch(server.links[0].url)
    say("Press Ctrl-C to stop. Every answer is saved at once.", asked["quiet"])
    wait_longer()
    server.run()
    go_on()
