"""``rankprune compare``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from rankprune.cli._flags import in_flags
from rankprune.cli._options import (
    FILE,
    force_option,
    form_option,
    learned_options,
    look_here,
    read_options,
    shared_arguments,
    shown,
)
from rankprune.cli._output import rows_text, say
from rankprune.cli._progress import progress

_Command = Callable[..., Any]


@click.command()
@click.argument("table")
@learned_options
@read_options
@click.option("--truth", metavar="COL", help="True labels to judge by, 1 or true for positive.")
@click.option("--method", "methods", multiple=True, metavar="NAME", help="May be repeated.")
@click.option("-o", "--output", type=FILE, help="A file for what is printed otherwise.")
@form_option("text", "csv", "jsonl", "json")
@force_option
@shown
def compare(
    table: str, methods: tuple[str, ...], output: Path | None, force: bool, **asked: Any
) -> None:
    """Compare the methods on TABLE, side by side.

    Without true labels (--truth) all of it is an estimate, and says so.
    """
    from dataclasses import astuple, fields

    from rankprune.comparison import compare_table
    from rankprune.comparison._result import ComparedMethod
    from rankprune.run._directory import refuse_output
    from rankprune.storage._atomic import write_whole

    look_here(asked["model"])
    if output is not None:
        refuse_output(output, force, None if table == "-" else Path(table))
    with progress(asked["quiet"] or asked["no_progress"], asked["verbose"]):
        found = compare_table(
            table,
            asked["label"],
            methods=methods or None,
            truth=asked["truth"],
            **shared_arguments(asked),
        )
    if asked["form"] == "text":
        text = f"{in_flags(str(found))}\n"
    else:
        names = [field.name for field in fields(ComparedMethod)]
        text = "".join(rows_text(names, (astuple(row) for row in found.rows), asked["form"]))
    if output is None:
        click.echo(text, nl=False)
    else:
        write_whole(output, text.encode())
        click.echo(output)
    if asked["form"] != "text":
        say(in_flags(found.note), asked["quiet"])
    if asked["truth"] is None:
        say("With true labels in a column, name it with --truth to measure.", asked["quiet"])
