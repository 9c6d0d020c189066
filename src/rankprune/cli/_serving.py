"""Serving the page of ``rankprune review`` and ``rankprune audit``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click

from rankprune.cli._options import FILE, SHARE, add_options
from rankprune.cli._output import say
from rankprune.cli._progress import progress

serving_options = add_options(
    click.option(
        "--reviewer",
        "reviewers",
        multiple=True,
        metavar="NAME",
        help="Who judges; may be repeated, and each gets a link. You by default.",
    ),
    click.option(
        "--overlap",
        type=SHARE,
        default="0%",
        show_default=True,
        help="Rows that two people judge, each without seeing the other's answer.",
    ),
    click.option("--guideline", type=FILE, help="A text file that is shown to those who judge."),
    click.option(
        "--image-root",
        type=click.Path(path_type=Path, file_okay=False),
        help="Show the images that cells name by a path below this folder.",
    ),
    click.option("--host", default="127.0.0.1", show_default=True, help="Where to serve."),
    click.option(
        "--port", type=click.IntRange(0, 65535), default=0, help="Any that is free by default."
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


def serve(queue: Any, asked: dict[str, Any]) -> None:
    """Print the links and serve until interrupted."""
    from rankprune.review import Server, checked_reviewers, is_loopback

    guideline = asked["guideline"]
    server = Server(
        queue,
        checked_reviewers(asked["reviewers"]),
        host=asked["host"],
        port=asked["port"],
        guideline="" if guideline is None else _text(guideline),
    )
    if not is_loopback(asked["host"]):
        say(
            f"warning: anybody who can reach {asked['host']} can try to connect, and what is sent "
            "is not encrypted. Pass a link on only to the person it is for."
        )
    for link in server.links:
        name = f"{link.reviewer}: " if len(server.links) > 1 else ""
        click.echo(f"{name}{link.url}")
    if asked["open_"]:
        click.launch(server.links[0].url)
    say("Ctrl-C ends it; every answer is saved.", asked["quiet"])
    server.run()


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"--guideline must be UTF-8 text; byte {error.start} of {path} is none. Save it so."
        ) from error


def counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in counts.items() if number) or "nothing"
