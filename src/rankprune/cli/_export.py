"""``rankprune export``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from rankprune.cli._options import FILE, RUN, force_option, shown, table_of_run
from rankprune.cli._output import say
from rankprune.cli._reviewed import run_inputs, say_settled

_Command = Callable[..., Any]


@click.command()
@click.argument("run", type=RUN)
@click.option(
    "-o", "--output", type=FILE, required=True, help="The new table: CSV, TSV or Parquet."
)
@click.option(
    "--flag/--drop-suspects",
    default=None,
    help="Mark suspects in three more columns (the default, unless --reviewed), or leave them out; "
    "with --reviewed, leave out those that nobody has settled.",
)
@click.option(
    "--reviewed", is_flag=True, help="With the labels that people settled, and a trail of who did."
)
@click.option(
    "--merge",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="LOG",
    help="Add the reviews of another run directory, or of its review.sqlite, to those of RUN; may "
    "be repeated.",
)
@click.option(
    "--spreadsheet-safe", is_flag=True, help="An apostrophe before cells that look like formulas."
)
@table_of_run
@force_option
@shown
def export(run: Path, output: Path, flag: bool | None, force: bool, **asked: Any) -> None:
    """Write the checked table again, with suspects marked or left out, or with settled labels.

    Columns and rows keep their order, and every cell stays as it was. With --reviewed nothing but
    labels changes, and OUTPUT.trail.jsonl says who changed what, and why.
    """
    from rankprune.export import export_table
    from rankprune.run import LabelCheck
    from rankprune.run._directory import refuse_output

    found = LabelCheck.load(run)
    refuse_output(output, force, *run_inputs(found, asked["table"]))
    how = {"drop_suspects": flag is False, "spreadsheet_safe": asked["spreadsheet_safe"]}
    if asked["reviewed"] or asked["merge"]:
        if flag:
            raise click.UsageError("--flag and --reviewed exclude each other.")
        kept, removed = _export_reviewed(run, found, output, force, asked, how)
    else:
        kept, removed = export_table(found, output, asked["table"], **how)
    click.echo(output)
    say(f"{kept} rows kept, {removed} removed, {kept + removed} in all.", asked["quiet"])


def _export_reviewed(
    run: Path, found: Any, output: Path, force: bool, asked: dict[str, Any], how: dict[str, Any]
) -> tuple[int, int]:
    from rankprune.export import export_reviewed
    from rankprune.run._settled import read_settled
    from rankprune.storage._atomic import refuse_existing_file, write_whole

    trail = output.with_name(f"{output.name}.trail.jsonl")
    refuse_existing_file(trail, force)
    for place in asked["merge"]:
        _merge(run, found, place, asked)
    settled = read_settled(run, found, asked["table"])
    written = export_reviewed(
        found, output, settled.rows, settled.is_positive, asked["table"], **how
    )
    lines = (json.dumps(entry, ensure_ascii=False) + "\n" for entry in settled.trail(found))
    write_whole(trail, "".join(lines).encode())
    say_settled(settled, asked["quiet"])
    say(f"Who changed what, and why: {trail}", asked["quiet"])
    if not written.same_bytes:
        say(
            "The file was written anew, as UTF-8: every other cell is the same, but quotes and "
            "line ends may differ.",
            asked["quiet"],
        )
    return written.kept, written.removed


def _merge(run: Path, found: Any, log: Path, asked: dict[str, Any]) -> None:
    """Add the decisions of another log about the same rows."""
    from rankprune.run._settled import merge_decisions

    merged = merge_decisions(run, found, log, asked["table"])
    counts = f"{merged.n_new} new, {merged.n_known} already known"
    if merged.n_foreign:
        counts += f", {merged.n_foreign} left out: their rows differ in this table"
    say(f"Decisions of {log}: {counts}.", asked["quiet"])
