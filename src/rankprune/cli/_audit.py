"""The commands by which people judge rows: a review of the suspects, and a blind audit."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from shlex import quote
from typing import Any

import click

from rankprune._cli_show import progress, say
from rankprune._cli_tables import FILE, RUN, SHARE, add_options, look_here, shown, table_of_run

_served = add_options(
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


@click.command()
@click.argument("run", type=RUN)
@_served
@click.option(
    "--top",
    type=click.IntRange(min=1),
    default=10_000,
    show_default=True,
    help="Suspects to judge, the most suspicious ones.",
)
@table_of_run
@shown
def review(run: Path, **asked: Any) -> None:
    """Judge the suspects of RUN on a page, one row at a time.

    A link is printed for each person; it works once. Every answer is on disk before the next row
    shows, and all of them stay in RUN/review.sqlite. Ctrl-C ends it.
    """
    with _opened(run, "review", asked, top=asked["top"]) as desk:
        if not desk.queue:
            say("There are no suspects; rows can be found by their name all the same.")
        _serve(desk, asked)
        done = desk.summary()
    rows, judged = done.pop("rows"), done.pop("judged")
    say(f"{judged} of {rows} rows judged: {_counted(done)}.", asked["quiet"])
    say(f"Next: rankprune export {quote(str(run))} --reviewed -o TABLE", asked["quiet"])


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
@_served
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
    from rankprune._label_check import LabelCheck
    from rankprune.review import FILE as LOG
    from rankprune.review import Store, draw_sample
    from rankprune.table_model import open_checked

    # Drawn only where it can be judged.
    with open_checked(LabelCheck.load(run), asked["table"]), Store(run / LOG) as store:
        store.refuse_unwritable()
        drawn = draw_sample(run, store, asked["size"], seed=asked["seed"], again=asked["force"])
    say(f"{len(drawn.rows)} rows were drawn at random on {drawn.time[:10]}.", asked["quiet"])
    with _opened(run, "audit", asked, hide=asked["hide"]) as desk:
        hidden = ", ".join(repr(name) for name in desk.rows.hidden)
        say(f"Hidden from those who judge: {hidden}.", asked["quiet"])
        _serve(desk, asked)
        done = desk.summary()
    say(f"{done['judged']} of {done['rows']} rows judged.", asked["quiet"])
    say(f"Next: rankprune audit {quote(str(run))} --estimate", asked["quiet"])


@contextmanager
def _opened(run: Path, mode: Any, asked: dict[str, Any], **options: Any) -> Iterator[Any]:
    """Open a desk, with progress for as long as that takes."""
    from rankprune.review import open_desk

    with ExitStack() as stack:
        with progress(asked["quiet"] or asked["no_progress"], asked["verbose"]):
            desk = stack.enter_context(
                open_desk(
                    run,
                    mode,
                    table=asked["table"],
                    image_root=asked["image_root"],
                    overlap=asked["overlap"],
                    **options,
                )
            )
        yield desk


def _serve(desk: Any, asked: dict[str, Any]) -> None:
    """Print the links and serve until interrupted."""
    from rankprune.review import Server, checked_reviewers, is_loopback

    guideline = asked["guideline"]
    server = Server(
        desk,
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


def _plan(run: Path, form: str) -> None:
    from rankprune._label_check import LabelCheck
    from rankprune.audit import PLANNED, plan

    found = LabelCheck.load(run)
    scores = found.scores
    n_rows = len(scores.rows)
    planned = plan(
        scores.is_positive,
        scores.probability,
        found.estimated_rates,
        scores.suspect,
        sizes=[n for n in PLANNED if n <= n_rows] or [n_rows],
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
    from rankprune._audit_record import audit_lines
    from rankprune._label_check import LabelCheck
    from rankprune._plain import to_plain
    from rankprune.report import write_report
    from rankprune.review import audit_record

    look_here(asked["model"])
    found = LabelCheck.load(run)
    with progress(asked["quiet"] or asked["no_progress"], asked["verbose"]):
        record = audit_record(run, asked["table"], model=asked["model"], n_jobs=asked["jobs"])
    record.save(run)
    page = write_report(run)
    if asked["form"] == "json":
        click.echo(json.dumps(to_plain(record), ensure_ascii=False))
    else:
        click.echo("\n".join(audit_lines(found, record)))
    say(f"\nReport: {page}", asked["quiet"])


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in counts.items() if number) or "nothing"
