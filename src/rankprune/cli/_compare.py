"""``rankprune compare``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rankprune.cli._flags import in_flags
from rankprune.cli._options import (
    FILE,
    TABLE,
    force_option,
    form_option,
    learned_options,
    look_here,
    read_options,
    shared_arguments,
    shown,
)
from rankprune.cli._output import harmless, rows_text, say
from rankprune.cli._progress import progress


@click.command(short_help="Compare methods for noisy labels on a table.")
@click.argument("table", type=TABLE)
@learned_options
@read_options
@click.option(
    "--truth",
    metavar="COL",
    help="Column of correct labels to measure against: 1 or true if the row is positive.",
)
@click.option(
    "--method",
    "methods",
    multiple=True,
    metavar="NAME",
    help="Method to compare; may be repeated (default: all).",
)
@click.option("-o", "--output", type=FILE, help="File to write (default: standard output).")
@form_option("text", "csv", "jsonl", "json")
@force_option
@shown
def compare(
    table: str, methods: tuple[str, ...], output: Path | None, force: bool, **asked: Any
) -> None:
    """Compare methods that learn from noisy labels, on the same folds of TABLE.

    Without correct labels (--truth), all figures are estimates, and the output says so.
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
        click.echo(harmless(text) if asked["form"] == "text" else text, nl=False)
    else:
        write_whole(output, text.encode())
        click.echo(output)
    if asked["form"] != "text":
        say(in_flags(found.note), asked["quiet"])
    if asked["truth"] is None:
        say("If a column holds the correct labels, name it with --truth.", asked["quiet"])
