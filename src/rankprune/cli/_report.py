"""``rankprune report``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from rankprune.cli._limit import apply_limit, refuse_no_limit
from rankprune.cli._options import FILE, RUN, form_option, limit_options, shown
from rankprune.cli._output import say
from rankprune.cli._progress import progress


@click.command()
@click.argument("run", type=RUN)
@click.option(
    "--top",
    type=click.IntRange(0, 500),
    default=100,
    show_default=True,
    help="Number of rows to show, most suspicious first.",
)
@click.option(
    "--redact", multiple=True, metavar="COL", help="Column whose cells to hide; may be repeated."
)
@click.option("-o", "--output", type=FILE, help="File to write (default: RUN/report.html).")
@limit_options
@form_option("text", "json")
@click.option("--force", is_flag=True, help="Replace the file given with -o.")
@shown
def report(
    run: Path, top: int, redact: tuple[str, ...], output: Path | None, force: bool, **asked: Any
) -> None:
    """Write the report of RUN again, without fitting any models."""
    from rankprune.report import write_report
    from rankprune.run import load_check
    from rankprune.run._directory import REPORT, open_run, refuse_output
    from rankprune.run._loading import check_of

    refuse_no_limit(asked)
    if output is not None:
        source = check_of(open_run(run, repairs=(REPORT,))).source.path
        refuse_output(output, force, None if source is None else Path(source))
    with progress(asked["quiet"] or asked["no_progress"], asked["verbose"]):
        place = write_report(run, output, top=top, redact=redact)
    click.echo(json.dumps({"report": str(place)}) if asked["form"] == "json" else place)
    say("Open it in a browser. It needs no network connection.", asked["quiet"])
    if asked["fail_over"] is not None:
        apply_limit(load_check(run), asked)
