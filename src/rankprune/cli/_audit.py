"""``rankprune audit``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from rankprune.cli._flags import in_flags
from rankprune.cli._options import RUN, form_option, jobs_option, look_here, shown, table_of_run
from rankprune.cli._output import harmless, next_command, say
from rankprune.cli._progress import progress
from rankprune.cli._serving import opened_queue, serve, serving_options


@click.command(short_help="Let people judge a random sample blindly.")
@click.argument("run", type=RUN)
@click.option(
    "--n",
    "size",
    type=click.IntRange(min=1),
    help="Number of rows to draw (default: 200). Fixed once the sample is drawn.",
)
@click.option(
    "--hide", multiple=True, metavar="COL", help="Another column to hide; may be repeated."
)
@click.option(
    "--plan", is_flag=True, help="Only print how wide the intervals of several sizes would be."
)
@click.option("--estimate", is_flag=True, help="Only print the result and add it to the report.")
@serving_options
@click.option(
    "--model", metavar="NAME", help="With --estimate: the model of the check, if it was your own."
)
@click.option("--seed", type=int, default=None, help="Random seed for the sample.")
@jobs_option("With --estimate: number of folds to fit at the same time.")
@form_option("text", "json", help="Output format of --plan and --estimate.")
@click.option(
    "--force", is_flag=True, help="Draw a new sample; answers about the old one no longer count."
)
@table_of_run
@shown
def audit(run: Path, **asked: Any) -> None:
    """Let people judge a random sample of RUN blindly, and report how many labels are wrong.

    The page shows neither labels nor scores, so the result does not depend on the model. When all
    rows are judged, print it with: rankprune audit RUN --estimate
    """
    if asked["plan"] and asked["estimate"]:
        raise click.UsageError("--plan and --estimate cannot be combined.")
    if asked["plan"]:
        _plan(run, asked["form"])
    elif asked["estimate"]:
        _estimate(run, asked)
    else:
        _judge(run, asked)


def _judge(run: Path, asked: dict[str, Any]) -> None:
    from rankprune.review import start_audit
    from rankprune.run._sentences import audit_progress

    drawn = start_audit(
        run, asked["size"], table=asked["table"], seed=asked["seed"], force=asked["force"]
    )
    say(f"{len(drawn.rows)} rows were drawn at random on {drawn.time[:10]}.", asked["quiet"])
    then = next_command("audit", run, "--estimate")
    with opened_queue(run, "audit", asked, hide=asked["hide"]) as queue:
        hidden = ", ".join(repr(name) for name in queue.rows.hidden)
        say(f"Hidden from reviewers: {hidden}.", asked["quiet"])
        serve(queue, asked, then)
        done = queue.summary()
    say(audit_progress(done), asked["quiet"])
    say(f"Next: {then}", asked["quiet"])


def _plan(run: Path, form: str) -> None:
    from rankprune.review import planned_widths

    widths = planned_widths(run)
    if form == "json":
        click.echo(json.dumps({str(n): row for n, row in widths.items()}))
        return
    click.echo("Width of the 95% intervals, if the model is right about the labels:\n")
    click.echo(_columns(["rows judged", *map(str, widths)]))
    for name in next(iter(widths.values())):
        click.echo(
            _columns([name.replace("_", " "), *(f"{row[name]:.1%}" for row in widths.values())])
        )


def _columns(cells: Sequence[str]) -> str:
    return f"  {cells[0]:<28}" + "".join(f"{cell:>10}" for cell in cells[1:])


def _estimate(run: Path, asked: dict[str, Any]) -> None:
    from rankprune.report._page import report_audit
    from rankprune.review import audit_record
    from rankprune.run import LabelCheck
    from rankprune.run._directory import AUDIT, REPORT, open_run
    from rankprune.run._sentences import audit_lines
    from rankprune.storage._json_records import to_plain

    look_here(asked["model"])
    found = LabelCheck.of(open_run(run, repairs=(AUDIT, REPORT)))
    with progress(asked["quiet"] or asked["no_progress"], asked["verbose"]):
        record = audit_record(run, asked["table"], estimator=asked["model"], n_jobs=asked["jobs"])
    page = report_audit(run, record)
    if asked["form"] == "json":
        click.echo(json.dumps(to_plain(record), ensure_ascii=False))
    else:
        click.echo(harmless(in_flags("\n".join(audit_lines(found, record)))))
    say(f"\nReport: {page}", asked["quiet"])
