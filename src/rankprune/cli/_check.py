"""``rankprune check``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from rankprune.cli._answers import answers_options, labeled_path, refuse_labeled
from rankprune.cli._flags import in_flags
from rankprune.cli._limit import apply_limit, refuse_no_limit
from rankprune.cli._options import (
    RUN,
    TABLE,
    add_options,
    force_option,
    form_option,
    learned_options,
    limit_options,
    look_here,
    read_options,
    shared_arguments,
    shown,
)
from rankprune.cli._output import harmless, next_command, print_rows, say
from rankprune.cli._progress import progress
from rankprune.cli._reviewed import say_settled


@click.command()
@click.argument("table", type=TABLE)
@learned_options
@read_options
@add_options(
    click.option(
        "--id", "id_", metavar="COL", help="Column that identifies the rows; it is not a feature."
    ),
    click.option(
        "--probabilities",
        metavar="COL",
        help="Column of out-of-fold probabilities of the positive label; nothing is fitted then. "
        "With more than two labels, one column for each: p_* stands for p_cat, p_dog and so on.",
    ),
    click.option(
        "--trusted",
        metavar="COL",
        help="Column that is 1 or true if a person has confirmed the label.",
    ),
    click.option(
        "--scorer",
        type=click.Choice(["committee", "with-trees", "model"]),
        default="committee",
        show_default=True,
        help="What scores the rows: the model together with extra trees and boosting, which rarely "
        "mistakes overlap for noise; the model with extra trees; or the model alone.",
    ),
    click.option(
        "--noise-estimator",
        metavar="NAME",
        help="How noise rates are estimated: learned (the default), curve, tight, confident-counts "
        "(as in the paper), scott, scott-2015, min-probability, elkan-noto, elkan-noto-e2 or "
        "elkan-noto-e3; see the guide for those of more than two labels.",
    ),
    click.option(
        "--rounds",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        help="Number of scoring rounds; from the second on, models are fitted without suspects.",
    ),
    click.option(
        "--rare",
        type=click.Choice(["error", "keep"]),
        default="error",
        show_default=True,
        help="What to do with labels that fewer rows have than there are folds: stop, or leave "
        "their rows alone.",
    ),
    click.option(
        "-o",
        "--output",
        type=RUN,
        help="Run directory to write (default: TABLE.rankprune; none for standard input).",
    ),
    click.option(
        "--top",
        type=click.IntRange(0, 500),
        default=100,
        show_default=True,
        help="Number of rows to show in the report, most suspicious first.",
    ),
    click.option(
        "--redact",
        multiple=True,
        metavar="COL",
        help="Column whose cells are never stored; may be repeated.",
    ),
)
@limit_options
@answers_options
@form_option("text", "json", "jsonl", "csv")
@force_option
@shown
def check(table: str, **asked: Any) -> None:
    """Find out how many labels in TABLE are wrong, and which.

    TABLE is a CSV, TSV, JSON lines or Parquet file, also compressed with gzip; - is standard
    input. Prints the answer, and writes a report, the scores of all rows and the result to the run
    directory.

    If several people answered about each row, TABLE may hold one answer per line: name the columns
    with --row and --annotator, and the table of the rows with --features.
    """
    from rankprune.report import render_report
    from rankprune.run._directory import LOG_FILE, REPORT, check_place
    from rankprune.table._missing_column import refuse_missing_column

    refuse_no_limit(asked)
    look_here(asked["model"])
    if table != "-":
        how = {name: asked[name] for name in ("encoding", "delimiter")}
        refuse_missing_column(table, asked["label"], "label", **how)
    labeled = labeled_path(asked)
    output = asked["output"]
    place = output if output or table == "-" else Path(f"{table}.rankprune")
    if place is not None:
        embeddings = asked["embeddings"]
        read = None if table == "-" else Path(table)
        check_place(place, asked["force"], read, None if embeddings is None else Path(embeddings))
    if labeled is not None:
        refuse_labeled(labeled, table, asked)
    with progress(asked["quiet"] or asked["no_progress"], asked["verbose"]):
        found = _checked(table, labeled, asked)
        if place is not None:
            # Rendered first, so that an error here leaves no files behind.
            page = render_report(found, top=asked["top"])
            found.save(place, force=asked["force"], report=page)
    _say_notes(found, asked["quiet"])
    _print_check(found, asked["form"])
    if labeled is not None:
        say(f"\nRows:   {labeled}", asked["quiet"])
    if place is not None:
        say(f"{'' if labeled else chr(10)}Report: {place / REPORT}", asked["quiet"])
        if (place / LOG_FILE).is_file():
            _say_kept_decisions(found, place, asked["quiet"])
        _say_next(found, place, asked["quiet"])
    apply_limit(found, asked)


def _checked(table: str, labeled: Path | None, asked: dict[str, Any]) -> Any:
    """Return the check of a table with labels, or with the answers of several annotators."""
    from rankprune.check import check_answers, check_table

    arguments = {
        "scorer": None if asked["scorer"] == "model" else asked["scorer"],
        **shared_arguments(asked),
        **{
            name: asked[name]
            for name in ("probabilities", "trusted", "noise_estimator", "rounds", "redact", "rare")
        },
    }
    if labeled is None:
        return check_table(table, asked["label"], id=asked["id_"], **arguments)
    # Rows without answers are always left out, and nobody has confirmed a consensus.
    del arguments["drop_unlabeled"], arguments["trusted"], arguments["rare"]
    names = ("row", "annotator", "features", "seconds", "duplicates")
    told = {name: asked[name] for name in names}
    return check_answers(table, asked["label"], labeled=labeled, **told, **arguments)


def _say_next(found: Any, place: Path, quiet: bool) -> None:
    """End with the range and the offer to narrow it; people decide where the check cannot tell."""
    from rankprune.run._offer import offer_of
    from rankprune.run._sentences import offer_line

    if found.verdict.level != "cannot tell":
        say(f"Next:   {next_command('train', place, '-o', 'model.skops')}", quiet)
    if quiet:
        return
    line = offer_line(found, offer_of(found), next_command("audit", place))
    if line:
        say(line)


def _say_kept_decisions(found: Any, place: Path, quiet: bool) -> None:
    """Say how many decisions of reviewers still count, after a run was replaced."""
    from rankprune.run._settled import read_settled

    try:
        settled = read_settled(place, found)
        say("The decisions of reviewers were kept:", quiet)
        say_settled(settled, quiet)
    except (OSError, ValueError) as error:
        say(f"warning: {in_flags(str(error))}", quiet)


def _say_notes(found: Any, quiet: bool) -> None:
    for warning in found.warnings[:20]:
        say(f"warning: {in_flags(warning)}", quiet)
    for note in found.notes[:20]:
        say(f"note: {in_flags(note)}", quiet)
    if len(found.notes) > 20:
        say(f"note: {len(found.notes) - 20} more notes are in the report.", quiet)


def _print_check(found: Any, form: str) -> None:
    if form == "text":
        click.echo(harmless(in_flags(str(found))))
    elif form == "json":
        click.echo(json.dumps(found.to_dict(), ensure_ascii=False))
    else:
        names = ["rank", "row", "id", "label", "probability", "reason", "suspect"]
        of_many = ["suggested_label", "suggested_probability"] if len(found.classes) > 2 else []
        rows = (
            (
                one.rank,
                one.number,
                one.id or str(one.number),
                one.label,
                one.probability,
                one.reason,
                one.is_suspect,
                *([one.suggested, one.suggested_probability] if of_many else []),
            )
            for one in found.ranked()
        )
        print_rows([*names, *of_many], rows, form)
