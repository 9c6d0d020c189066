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


@click.command(short_help="Let people judge rows blindly, to narrow the range of wrong labels.")
@click.argument("run", type=RUN)
@click.option(
    "--n",
    "size",
    type=click.IntRange(min=1),
    help="Number of rows to draw (default: 25, or 200 with --method design).",
)
@click.option(
    "--about",
    metavar="LABEL",
    help="Narrow the share of wrong labels among those of this value, not among all.",
)
@click.option(
    "--method",
    type=click.Choice(["model", "design"]),
    default="model",
    show_default=True,
    help="model: batch after batch, and answers and model together give the result. design: one "
    "sample of a fixed size, and its answers alone do, whatever the model believes.",
)
@click.option(
    "--hide", multiple=True, metavar="COL", help="Another column to hide; may be repeated."
)
@click.option(
    "--plan", is_flag=True, help="Only print how wide the range would be after more rows."
)
@click.option(
    "--estimate",
    is_flag=True,
    help="Only put the answers so far into the result and the report, and print what they change.",
)
@serving_options
@click.option(
    "--model", metavar="NAME", help="With --estimate: the model of the check, if it was your own."
)
@click.option("--seed", type=int, default=None, help="Random seed for the rows that are drawn.")
@jobs_option("Number of folds to fit at the same time, to compare models before and after.")
@form_option("text", "json", help="Output format of --plan and --estimate.")
@click.option(
    "--force", is_flag=True, help="Begin a new audit; answers of the old one no longer count."
)
@table_of_run
@shown
def audit(run: Path, **asked: Any) -> None:
    """Let people judge 25 rows of RUN blindly, and narrow the range of wrong labels.

    The page shows neither labels nor scores. At the end, the range before and after is printed, and
    report, train, export and --fail-over use the new one. Run it again for the next 25 rows, as
    often as you like.
    """
    if asked["plan"] and asked["estimate"]:
        raise click.UsageError("--plan and --estimate cannot be combined.")
    if asked["plan"]:
        _plan(run, asked)
        return
    look_here(asked["model"])
    if asked["estimate"]:
        _settle(run, asked)
    else:
        _judge(run, asked)


def _judge(run: Path, asked: dict[str, Any]) -> None:
    from rankprune.report import render_report
    from rankprune.review import next_batch
    from rankprune.run._sentences import audit_progress, drawn_line

    with progress(asked["quiet"] or asked["no_progress"], asked["verbose"]):
        drawn = next_batch(
            run,
            asked["size"],
            about=asked["about"],
            method=asked["method"],
            table=asked["table"],
            seed=asked["seed"],
            force=asked["force"],
        )
    say(drawn_line(drawn), asked["quiet"])
    again = next_command("audit", run, *_method_words(asked))
    with opened_queue(run, "audit", asked, hide=asked["hide"], report=render_report) as queue:
        hidden = ", ".join(repr(name) for name in queue.rows.hidden)
        say(f"Hidden from reviewers: {hidden}.", asked["quiet"])
        serve(queue, asked, again)
        done = queue.summary()
    say(audit_progress(done), asked["quiet"])
    if done["judged"] and (done["judged"] == done["rows"] or asked["method"] == "model"):
        _settle(run, asked)
    else:
        say(f"Next: {again}", asked["quiet"])


def _method_words(asked: dict[str, Any]) -> list[str]:
    about = [] if asked["about"] is None else ["--about", asked["about"]]
    return [*about, *(["--method", "design"] if asked["method"] == "design" else [])]


def _settle(run: Path, asked: dict[str, Any]) -> None:
    """Put all answers into the result, and print the range before and after, and the offer."""
    from rankprune.report import render_report
    from rankprune.review import settle_run
    from rankprune.run._audit_record import AuditRecord
    from rankprune.run._directory import REPORT
    from rankprune.run._offer import offer_of
    from rankprune.run._sentences import audit_lines, offer_line
    from rankprune.storage._json_records import to_plain

    with progress(asked["quiet"] or asked["no_progress"], asked["verbose"]):
        found = settle_run(
            run,
            asked["table"],
            report=render_report,
            estimator=asked["model"],
            n_jobs=asked["jobs"],
        )
    record = AuditRecord.load(run)
    assert record is not None  # settle_run has just saved it
    if asked["form"] == "json":
        shares = {name: found.to_dict()[name] for name in _SHARES}
        click.echo(json.dumps({**to_plain(record), **shares}, ensure_ascii=False))
    else:
        click.echo(harmless(in_flags("\n".join(audit_lines(found, record)))))
    say(f"\nReport: {run / REPORT}", asked["quiet"])
    again = next_command("audit", run, *_method_words(asked))
    line = offer_line(found, offer_of(found), again)
    if not record.is_finished:
        say(f"Next: {again}", asked["quiet"])
    elif line and record.method == "model":
        say(line, asked["quiet"])


# What the JSON of a result shares with that of a check.
_SHARES = (
    "verdict_level",
    "wrong_share",
    "wrong_share_low",
    "wrong_share_high",
    "n_rows",
    "n_suspects",
    "judged",
)


def _plan(run: Path, asked: dict[str, Any]) -> None:
    from rankprune.run import load_check
    from rankprune.run._offer import sizes_to_plan
    from rankprune.run._sentences import plan_title

    found = load_check(run)
    widths = found.planned_audit(sizes_to_plan(found, asked["size"]), about=asked["about"])
    if asked["form"] == "json":
        click.echo(json.dumps({str(n): row for n, row in widths.items()}))
        return
    click.echo(harmless(plan_title(found, asked["about"])) + "\n")
    click.echo(_columns(["rows to judge", *map(str, widths)]))
    for name, method in (("with model and answers", "model"), ("with answers alone", "design")):
        click.echo(_columns([name, *(f"{row[method]:.1%}" for row in widths.values())]))


def _columns(cells: Sequence[str]) -> str:
    return f"  {cells[0]:<28}" + "".join(f"{cell:>10}" for cell in cells[1:])
