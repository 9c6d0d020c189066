"""``rankprune audit``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import Any

import click

from rankprune.cli._flags import in_flags
from rankprune.cli._options import RUN, look_here, shown, table_of_run
from rankprune.cli._output import say
from rankprune.cli._progress import progress
from rankprune.cli._serving import opened_queue, serve, serving_options


@click.command()
@click.argument("run", type=RUN)
@click.option(
    "--n",
    "size",
    type=click.IntRange(min=1),
    help="Rows to draw, 200 by default; fixed before anything is judged.",
)
@click.option("--hide", multiple=True, metavar="COL", help="Hidden, too; may be repeated.")
@click.option("--plan", is_flag=True, help="Only say what samples of several sizes would tell.")
@click.option("--estimate", is_flag=True, help="Only print the result, and put it in the report.")
@serving_options
@click.option("--model", metavar="NAME", help="Of the check, where it was one of your own.")
@click.option("--seed", type=int, default=None, help="Decides which rows are drawn.")
@click.option(
    "--jobs", type=int, default=None, metavar="N", help="Folds fitted at once by --estimate."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Of what --plan and --estimate print.",
)
@click.option("--force", is_flag=True, help="Draw a new sample in place of an earlier one.")
@table_of_run
@shown
def audit(run: Path, **asked: Any) -> None:
    """Have people judge a random sample of RUN blindly, and say how many labels are wrong.

    The page shows neither labels nor scores. What follows from the answers holds whatever the model
    believes, within intervals: rankprune audit RUN --estimate
    """
    if asked["plan"] and asked["estimate"]:
        raise click.UsageError("--plan and --estimate exclude each other.")
    if asked["plan"]:
        _plan(run, asked["form"])
    elif asked["estimate"]:
        _estimate(run, asked)
    else:
        _judge(run, asked)


def _judge(run: Path, asked: dict[str, Any]) -> None:
    from rankprune.review import draw_sample
    from rankprune.run import LabelCheck
    from rankprune.run._checked_table import open_checked
    from rankprune.run._decision_log import LOG_FILE, DecisionLog

    # Drawn only where it can be judged.
    with open_checked(LabelCheck.load(run), asked["table"]), DecisionLog(run / LOG_FILE) as log:
        log.refuse_unwritable()
        drawn = draw_sample(run, log, asked["size"], seed=asked["seed"], again=asked["force"])
    say(f"{len(drawn.rows)} rows were drawn at random on {drawn.time[:10]}.", asked["quiet"])
    with opened_queue(run, "audit", asked, hide=asked["hide"]) as queue:
        hidden = ", ".join(repr(name) for name in queue.rows.hidden)
        say(f"Hidden from those who judge: {hidden}.", asked["quiet"])
        serve(queue, asked)
        done = queue.summary()
    say(f"{done['judged']} of {done['rows']} rows judged.", asked["quiet"])
    say(f"Next: rankprune audit {quote(str(run))} --estimate", asked["quiet"])


def _plan(run: Path, form: str) -> None:
    from rankprune.audit import plan
    from rankprune.audit._plan import PLANNED_SIZES
    from rankprune.run import LabelCheck

    found = LabelCheck.load(run)
    scores = found.scores
    n_rows = len(scores.rows)
    planned = plan(
        scores.is_positive,
        scores.probability,
        found.estimated_rates,
        scores.suspect,
        sizes=[n for n in PLANNED_SIZES if n <= n_rows] or [n_rows],
        pos_label=True,
    )
    widths = {
        n: {name: interval.high - interval.low for name, interval in one.items()}
        for n, one in planned.items()
    }
    if form == "json":
        click.echo(json.dumps({str(n): row for n, row in widths.items()}))
        return
    click.echo("How wide 95 % intervals would be, if the model is right about the labels:\n")
    names = list(next(iter(widths.values())))
    click.echo(_columns(["rows judged", *map(str, widths)]))
    for name in names:
        click.echo(
            _columns([name.replace("_", " "), *(f"{row[name]:.1%}" for row in widths.values())])
        )


def _columns(cells: Sequence[str]) -> str:
    return f"  {cells[0]:<28}" + "".join(f"{cell:>10}" for cell in cells[1:])


def _estimate(run: Path, asked: dict[str, Any]) -> None:
    from rankprune.report import write_report
    from rankprune.review import audit_record
    from rankprune.run import LabelCheck
    from rankprune.run._words import audit_lines
    from rankprune.storage._json_records import to_plain

    look_here(asked["model"])
    found = LabelCheck.load(run)
    with progress(asked["quiet"] or asked["no_progress"], asked["verbose"]):
        record = audit_record(run, asked["table"], model=asked["model"], n_jobs=asked["jobs"])
    record.save(run)
    page = write_report(run)
    if asked["form"] == "json":
        click.echo(json.dumps(to_plain(record), ensure_ascii=False))
    else:
        click.echo(in_flags("\n".join(audit_lines(found, record))))
    say(f"\nReport: {page}", asked["quiet"])
