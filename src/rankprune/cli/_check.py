"""The commands that work on a table and on the run directory of a check."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from shlex import quote
from typing import Any

import click

from rankprune._cli_show import print_rows, progress, rows_text, say


class _Share(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # generic of late
    """A share, as ``10%`` or ``0.1``."""

    name = "share"

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        try:
            text = str(value).strip()
            share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            share = -1.0
        if not 0 <= share <= 1:
            self.fail(f"must be a share such as 10% or 0.1, got {value!r}.", param, ctx)
        return share


SHARE = _Share()
RUN = click.Path(path_type=Path, file_okay=False)
FILE = click.Path(path_type=Path, dir_okay=False)
_Command = Callable[..., Any]


def look_here(model: str | None) -> None:
    """Let Python find the user's own model in the folder where the command is run."""
    if model is not None and ":" in model:
        sys.path.insert(0, os.getcwd())


def add_options(*options: Any) -> Callable[[_Command], _Command]:
    """Return a decorator that adds options to a command, in this order."""

    def add(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


shown = add_options(
    click.option("-q", "--quiet", is_flag=True, help="Nothing on standard error but errors."),
    click.option("-v", "--verbose", is_flag=True, help="Every step, and tracebacks of errors."),
    click.option("--no-progress", is_flag=True, help="No progress on standard error."),
)
_read = add_options(
    click.option("--encoding", help="Of a text file; UTF-8 by default."),
    click.option("--delimiter", help="Of a CSV file; the most frequent in its header by default."),
)
_learned = add_options(
    click.option("--label", required=True, metavar="COL", help="The labels, of two values."),
    click.option("--positive", metavar="VALUE", help="The positive label."),
    click.option(
        "--negative", metavar="VALUE", help="The other one, where it looks like a missing one."
    ),
    click.option("--drop", multiple=True, metavar="COL", help="Not a feature; may be repeated."),
    click.option("--keep", multiple=True, metavar="COL", help="A feature whatever it looks like."),
    click.option("--text", multiple=True, metavar="COL", help="Free text, used by its words."),
    click.option("--group", metavar="COL", help="Rows that share it stay in one fold."),
    click.option(
        "--embeddings",
        type=click.Path(exists=True, dir_okay=False),
        metavar="NPY",
        help="Numbers to use beside the columns, one row for each row of the table.",
    ),
    click.option(
        "--model",
        default="logistic",
        show_default=True,
        metavar="NAME",
        help="logistic, boosting, or MODULE:OBJECT for your own classifier.",
    ),
    click.option(
        "--folds", type=click.IntRange(min=2), default=3, show_default=True, help="Of the scores."
    ),
    click.option(
        "--jobs",
        type=int,
        default=None,
        metavar="N",
        help="Folds fitted at the same time; changes no result.",
    ),
    click.option("--seed", default=0, show_default=True, help="Decides folds and models."),
    click.option(
        "--drop-unlabeled", is_flag=True, help="Leave rows without a label out; else an error."
    ),
)
_force = click.option("--force", is_flag=True, help="Replace what is there.")
table_of_run = click.option(
    "--table", type=FILE, help="Where the checked table lies now; where it lay by default."
)


def _shared(asked: dict[str, Any]) -> dict[str, Any]:
    """Return how a table is read and learned from, from the options of that."""
    return {
        "n_jobs": asked["jobs"],
        "random_state": asked["seed"],
        **{name: asked[name] for name in _SHARED},
    }


_SHARED = (
    "positive",
    "negative",
    "drop",
    "keep",
    "text",
    "group",
    "embeddings",
    "model",
    "folds",
    "drop_unlabeled",
    "encoding",
    "delimiter",
)


def _form(*choices: str) -> Callable[[_Command], _Command]:
    return click.option(
        "--format",
        "form",
        type=click.Choice(choices),
        default=choices[0],
        show_default=True,
        help="Of what is printed.",
    )


@click.command()
@click.argument("table")
@_learned
@_read
@add_options(
    click.option("--id", "id_", metavar="COL", help="What the rows are called."),
    click.option(
        "--probabilities",
        metavar="COL",
        help="Out-of-fold probabilities of the positive label; then nothing is fitted.",
    ),
    click.option("--trusted", metavar="COL", help="1 or true where a person settled the label."),
    click.option(
        "--scorer",
        type=click.Choice(["committee", "model"]),
        default="committee",
        show_default=True,
        help="Who scores the rows: the model with a forest and boosting beside it, which costs "
        "three times the fits and mistakes overlap for noise far less, or the model alone.",
    ),
    click.option(
        "--noise-estimator", default="curve", show_default=True, help="How rates are estimated."
    ),
    click.option(
        "--rounds",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        help="How often rows are scored again without the suspects so far.",
    ),
    click.option(
        "--fail-over",
        type=SHARE,
        metavar="SHARE",
        help="Exit with 1 where more labels than this are wrong.",
    ),
    click.option(
        "-o",
        "--output",
        type=RUN,
        help="The run directory; TABLE.rankprune by default, none for standard input.",
    ),
    click.option("--top", type=click.IntRange(0, 500), default=100, help="Suspects to report."),
    click.option("--redact", multiple=True, metavar="COL", help="Cells to keep nowhere."),
)
@_form("text", "json", "jsonl", "csv")
@_force
@shown
def check(table: str, **asked: Any) -> None:
    """Find out how many labels of TABLE are wrong, and which.

    TABLE is CSV, TSV, JSON lines or Parquet, also compressed by gzip; - is standard input. The
    answer is printed; a report, the scores of all rows and the result go to the run directory.
    """
    from rankprune._label_check import REPORT, check_place
    from rankprune.check import check_table
    from rankprune.report import render_report

    look_here(asked["model"])
    output = asked["output"]
    place = output if output or table == "-" else Path(f"{table}.rankprune")
    if place is not None:
        embeddings = asked["embeddings"]
        read = None if table == "-" else Path(table)
        check_place(place, asked["force"], read, None if embeddings is None else Path(embeddings))
    with progress(asked["quiet"] or asked["no_progress"], asked["verbose"]):
        found = check_table(
            table,
            asked["label"],
            id=asked["id_"],
            scorer="committee" if asked["scorer"] == "committee" else None,
            **_shared(asked),
            **{
                name: asked[name]
                for name in ("probabilities", "trusted", "noise_estimator", "rounds", "redact")
            },
        )
        if place is not None:
            # Rendered first: what goes wrong then has written nothing.
            page = render_report(found, top=asked["top"])
            found.save(place, force=True, report=page)
    _say_notes(found, asked["quiet"])
    _print_check(found, asked["form"])
    if place is not None:
        say(f"\nReport: {place / REPORT}", asked["quiet"])
        say(f"Next:   rankprune train {quote(str(place))} -o model.skops", asked["quiet"])
    if asked["fail_over"] is not None:
        _fail_over(found, asked["fail_over"])


def _fail_over(found: Any, allowed: float) -> None:
    """Leave with 1 where too many labels are wrong, by an estimate that can be trusted."""
    if found.verdict.level == "cannot tell":
        say("--fail-over was not applied: it cannot be told whether labels are wrong.")
    elif found.verdict.level == "clean" and found.estimated_rates.wrong_share > allowed:
        say(
            "--fail-over was not applied: the labels look clean, and the estimate of "
            f"{found.estimated_rates.wrong_share:.1%} wrong ones is too small to be told from "
            "overlap. A blind audit would tell: rankprune audit"
        )
    elif found.wrong_share > allowed:
        say(
            f"{found.wrong_share:.1%} of the labels are wrong, more than the {allowed:.1%} allowed "
            "by --fail-over."
        )
        raise click.exceptions.Exit(1)


def _say_notes(found: Any, quiet: bool) -> None:
    for warning in found.warnings[:20]:
        say(f"warning: {warning}", quiet)
    for note in found.notes[:20]:
        say(f"note: {note}", quiet)
    if len(found.notes) > 20:
        say(f"note: {len(found.notes) - 20} more are in the report.", quiet)


def _print_check(found: Any, form: str) -> None:
    if form == "text":
        click.echo(str(found))
    elif form == "json":
        click.echo(json.dumps(found.to_dict(), ensure_ascii=False))
    else:
        names = ("rank", "row", "id", "label", "probability", "reason")
        print_rows(names, found.ranked(), form)


@click.command()
@click.argument("run", type=RUN)
@click.option(
    "--top", type=click.IntRange(0, 500), default=100, show_default=True, help="Suspects to show."
)
@click.option("--redact", multiple=True, metavar="COL", help="Cells to hide; may be repeated.")
@click.option("-o", "--output", type=FILE, help="RUN/report.html by default.")
@_form("text", "json")
@_force
@shown
def report(
    run: Path, top: int, redact: tuple[str, ...], output: Path | None, force: bool, **asked: Any
) -> None:
    """Draw the report of RUN again, without fitting anything."""
    from rankprune._label_check import LabelCheck, refuse_output
    from rankprune.report import write_report

    if output is not None:
        source = LabelCheck.load(run).source.path
        refuse_output(output, force, None if source is None else Path(source))
    with progress(asked["quiet"] or asked["no_progress"], asked["verbose"]):
        place = write_report(run, output, top=top, redact=redact)
    click.echo(json.dumps({"report": str(place)}) if asked["form"] == "json" else place)
    say("Open it in a browser; it needs no network.", asked["quiet"])


@click.command()
@click.argument("run", type=RUN)
@click.option("-o", "--output", type=FILE, required=True, help="Where the model goes.")
@click.option("--model", metavar="NAME", help="Another than that of the check.")
@click.option(
    "--embeddings", type=click.Path(exists=True, dir_okay=False), metavar="NPY", help="As checked."
)
@click.option(
    "--reviewed",
    is_flag=True,
    help="With the labels that people settled: never pruned, and not weighted; all rows are scored "
    "again, and the noise rates are those of the rest.",
)
@click.option(
    "--jobs", type=int, default=None, metavar="N", help="Folds fitted at once by --reviewed."
)
@table_of_run
@_force
@shown
def train(run: Path, output: Path, force: bool, **asked: Any) -> None:
    """Fit the robust classifier to the rows that RUN keeps, and save it with skops."""
    from rankprune._label_check import LabelCheck, refuse_output
    from rankprune.table_model import train_model, train_reviewed

    look_here(asked["model"])
    found = LabelCheck.load(run)
    vectors = asked["embeddings"] or found.settings.get("embeddings")
    refuse_output(output, force, *_inputs(found, asked["table"]), vectors and Path(vectors))
    with progress(asked["quiet"] or asked["no_progress"], asked["verbose"]):
        named = {"embeddings": asked["embeddings"], "model": asked["model"]}
        if asked["reviewed"]:
            settled = _settled(run, found, asked["table"])
            trained = train_reviewed(
                found,
                settled.rows,
                settled.is_positive,
                asked["table"],
                n_jobs=asked["jobs"],
                **named,
            )
            model, n_left_out = trained.model, trained.n_pruned
        else:
            model, n_left_out = train_model(found, asked["table"], **named), found.n_suspects
    model.save(output)
    if asked["reviewed"]:
        _say_settled(settled, asked["quiet"])
    kept = found.n_rows - n_left_out
    say(f"Fitted to {kept} of {found.n_rows} rows.", asked["quiet"])
    click.echo(output)
    say(f"Next: rankprune predict {quote(str(output))} TABLE", asked["quiet"])


def _inputs(found: Any, table: Path | None) -> list[Path]:
    """Return the table of a run, where it lies now and where it lay."""
    return [Path(place) for place in (table, found.source.path) if place is not None]


def _settled(run: Path, found: Any, table: Any) -> Any:
    """Return what people settled of a run."""
    from rankprune.review import FILE as LOG
    from rankprune.review import Store, settled_labels
    from rankprune.table_model import open_checked

    with Store(run / LOG, must_exist=True) as store, open_checked(found, table) as opened:
        return settled_labels(found, store, opened)


def _say_settled(settled: Any, quiet: bool) -> None:
    say(f"{len(settled.rows)} labels are settled, {settled.n_changed} of them changed.", quiet)
    for number, what in (
        (settled.n_unsure, "that nobody was sure of"),
        (settled.n_disagreements, "in disagreement"),
        (settled.n_stale, "that have changed since they were judged"),
    ):
        if number:
            say(f"{number} rows {what} stay as they are.", quiet)


@click.command()
@click.argument("model", type=FILE)
@click.argument("table")
@click.option(
    "--embeddings", type=click.Path(exists=True, dir_okay=False), metavar="NPY", help="Of TABLE."
)
@click.option("--trust", multiple=True, metavar="TYPE", help="A type of your own in the model.")
@click.option(
    "-o", "--output", type=FILE, help="TABLE with two more columns, as CSV, TSV or Parquet."
)
@_read
@_form("csv", "jsonl", "json", "text")
@_force
@shown
def predict(model: Path, table: str, output: Path | None, **asked: Any) -> None:
    """Score the rows of TABLE by a MODEL that was trained before."""
    from rankprune._label_check import refuse_output
    from rankprune.table_model import load_model, predict_table

    if output is not None:
        vectors = asked["embeddings"]
        refuse_output(output, asked["force"], model, vectors and Path(vectors))
    loaded = load_model(model, trusted=asked["trust"])
    with progress(asked["quiet"] or asked["no_progress"], asked["verbose"]):
        found = predict_table(
            loaded,
            table,
            output,
            embeddings=asked["embeddings"],
            encoding=asked["encoding"],
            delimiter=asked["delimiter"],
        )
    if output is not None:
        click.echo(output)
        return
    labels = (loaded.negative, loaded.positive)
    rows = ((i + 1, p, labels[p > 0.5]) for i, p in enumerate(found.tolist()))
    print_rows(("row", "probability", "label"), rows, asked["form"])


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
@_force
@shown
def export(run: Path, output: Path, flag: bool | None, force: bool, **asked: Any) -> None:
    """Write the checked table again, with suspects marked or left out, or with settled labels.

    Columns and rows keep their order, and every cell stays as it was. With --reviewed nothing but
    labels changes, and OUTPUT.trail.jsonl says who changed what, and why.
    """
    from rankprune._label_check import LabelCheck, refuse_output
    from rankprune.export import export_table

    found = LabelCheck.load(run)
    refuse_output(output, force, *_inputs(found, asked["table"]))
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
    from rankprune._files import refuse_existing_file, write_whole
    from rankprune.export import export_reviewed
    from rankprune.review import FILE as LOG

    trail = output.with_name(f"{output.name}.trail.jsonl")
    refuse_existing_file(trail, force)
    for place in asked["merge"]:
        _merge(run, found, place / LOG if place.is_dir() else place, asked)
    settled = _settled(run, found, asked["table"])
    written = export_reviewed(
        found, output, settled.rows, settled.is_positive, asked["table"], **how
    )
    lines = (json.dumps(entry, ensure_ascii=False) + "\n" for entry in settled.trail(found))
    write_whole(trail, "".join(lines).encode())
    _say_settled(settled, asked["quiet"])
    say(f"Who changed what, and why: {trail}", asked["quiet"])
    if not written.same_bytes:
        say(
            "The file was written anew, as UTF-8: every other cell is the same, but quotes and "
            "line ends may differ.",
            asked["quiet"],
        )
    return written.kept, written.removed


def _merge(run: Path, found: Any, log: Path, asked: dict[str, Any]) -> None:
    """Add what was said in another log about the same rows."""
    from rankprune.review import FILE as LOG
    from rankprune.review import Store, current_rows
    from rankprune.table_model import open_checked

    with Store(log, must_exist=True) as other:
        theirs = other.decisions("review")
    with open_checked(found, asked["table"]) as opened:
        is_current = current_rows(found, opened, theirs)
    with Store(run / LOG) as store:
        merged = store.merge(theirs, is_current)
    say(f"{merged.n_new} decisions of {log} are new, {merged.n_known} were known.", asked["quiet"])
    if merged.n_foreign:
        say(
            f"{merged.n_foreign} decisions of {log} were left out: they are about rows that are "
            "other ones here.",
            asked["quiet"],
        )


@click.command()
@click.argument("table")
@_learned
@_read
@click.option("--truth", metavar="COL", help="True labels to judge by, 1 or true for positive.")
@click.option("--method", "methods", multiple=True, metavar="NAME", help="May be repeated.")
@click.option("-o", "--output", type=FILE, help="A file for what is printed otherwise.")
@_form("text", "csv", "jsonl", "json")
@_force
@shown
def compare(
    table: str, methods: tuple[str, ...], output: Path | None, force: bool, **asked: Any
) -> None:
    """Compare the methods on TABLE, side by side.

    Without true labels (--truth) all of it is an estimate, and says so.
    """
    from dataclasses import astuple, fields

    from rankprune._files import write_whole
    from rankprune._label_check import refuse_output
    from rankprune.comparison import compare_table
    from rankprune.comparison._result import ComparedMethod

    look_here(asked["model"])
    if output is not None:
        refuse_output(output, force, None if table == "-" else Path(table))
    with progress(asked["quiet"] or asked["no_progress"], asked["verbose"]):
        found = compare_table(
            table,
            asked["label"],
            methods=methods or None,
            truth=asked["truth"],
            **_shared(asked),
        )
    if asked["form"] == "text":
        text = f"{found}\n"
    else:
        names = [field.name for field in fields(ComparedMethod)]
        text = "".join(rows_text(names, (astuple(row) for row in found.rows), asked["form"]))
    if output is None:
        click.echo(text, nl=False)
    else:
        write_whole(output, text.encode())
        click.echo(output)
    if asked["form"] != "text":
        say(found.note, asked["quiet"])
    if asked["truth"] is None:
        say("With true labels in a column, name it with --truth to measure.", asked["quiet"])
