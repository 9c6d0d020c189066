"""``rankprune export``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rankprune.cli._options import FILE, RUN, force_option, safe_option, shown, table_of_run
from rankprune.cli._output import say
from rankprune.cli._reviewed import run_inputs, say_reviewers, say_settled


@click.command(short_help="Write a copy of the table, marked or corrected.")
@click.argument("run", type=RUN)
@click.option(
    "-o", "--output", type=FILE, required=True, help="File to write: CSV, TSV or Parquet."
)
@click.option(
    "--flag/--drop-suspects",
    default=None,
    help="Mark suspects in three extra columns (the default; with more than two labels, a fourth "
    "one suggests a label), or leave them out, together with rows whose label an audit found to be "
    "wrong. With --reviewed, --drop-suspects leaves out the suspects that nobody has settled.",
)
@click.option(
    "--prune",
    is_flag=True,
    help="With --drop-suspects: leave out the least believable rows even if the check did not "
    "find noise.",
)
@click.option(
    "--reviewed",
    is_flag=True,
    help="Write the labels that reviewers and audits settled, and a record of who changed what.",
)
@click.option(
    "--merge",
    multiple=True,
    type=RUN,
    metavar="LOG",
    help="Run directory, or its review.sqlite, whose reviews to add to those of RUN; may be "
    "repeated. Implies --reviewed.",
)
@click.option(
    "--consensus",
    is_flag=True,
    help="With --reviewed: settle open disagreements by the consensus of at least three answers a "
    "row, where it is sure.",
)
@safe_option
@table_of_run
@force_option
@shown
def export(run: Path, output: Path, flag: bool | None, force: bool, **asked: Any) -> None:
    """Write the checked table again: suspects marked, suspects left out, or labels corrected.

    Rows and columns keep their order, and every other cell stays the same. With --reviewed, only
    labels change, and OUTPUT.trail.jsonl records who changed what, and why.
    """
    from rankprune.export import export_table
    from rankprune.run import load_check
    from rankprune.run._directory import refuse_output
    from rankprune.run._sentences import export_line

    if asked["prune"] and flag is not False:
        raise click.UsageError("--prune only works with --drop-suspects.")
    if asked["consensus"] and not (asked["reviewed"] or asked["merge"]):
        raise click.UsageError("--consensus only works with --reviewed.")
    found = load_check(run)
    refuse_output(output, force, *run_inputs(found, asked["table"]))
    how = {
        "drop_suspects": flag is False,
        "prune": asked["prune"],
        "spreadsheet_safe": asked["spreadsheet_safe"],
    }
    if asked["reviewed"] or asked["merge"]:
        if flag:
            raise click.UsageError("--flag and --reviewed cannot be combined.")
        kept, removed = _export_reviewed(run, found, output, force, asked, how)
    else:
        kept, removed = export_table(found, output, asked["table"], **how)
    click.echo(output)
    is_reviewed = bool(asked["reviewed"] or asked["merge"])
    marked = flag is not False and not is_reviewed
    say(export_line(found, kept, removed, marked=marked, is_reviewed=is_reviewed), asked["quiet"])


def _export_reviewed(
    run: Path, found: Any, output: Path, force: bool, asked: dict[str, Any], how: dict[str, Any]
) -> tuple[int, int]:
    from rankprune.export import export_reviewed, trail_lines, trail_path
    from rankprune.run._reviewers import compare_reviewers, settle_by_consensus
    from rankprune.run._sentences import merged_line
    from rankprune.run._settled import merge_decisions, read_settled
    from rankprune.storage._atomic import refuse_existing_file, sync, whole_file

    trail = trail_path(output)
    refuse_existing_file(trail, force)
    for log in asked["merge"]:
        merged = merge_decisions(run, found, log, asked["table"])
        say(merged_line(log, merged), asked["quiet"])
    settled = read_settled(run, found, asked["table"])
    if asked["consensus"]:
        reviewers = compare_reviewers(found, run, asked["table"])
        settled = settle_by_consensus(found, settled, reviewers)
    with whole_file(trail) as part:
        # Written before the table and renamed after it, so that an error leaves both as they were.
        part.write_bytes(trail_lines(found, settled))
        sync(part)
        written = export_reviewed(found, output, settled.rows, settled.codes, asked["table"], **how)
    say_settled(settled, asked["quiet"])
    say_reviewers(found, run, asked["table"], asked["quiet"], settled.by_consensus)
    say(f"Who changed what, and why: {trail}", asked["quiet"])
    if not written.same_bytes:
        say(
            "The file was written from scratch, as UTF-8: every other cell is the same, but quotes "
            "and line ends may differ.",
            asked["quiet"],
        )
    return written.kept, written.removed
