"""``rankprune train``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from shlex import quote
from typing import Any

import click

from rankprune.cli._options import FILE, RUN, force_option, look_here, shown, table_of_run
from rankprune.cli._output import say
from rankprune.cli._progress import progress
from rankprune.cli._reviewed import run_inputs, say_settled

_Command = Callable[..., Any]


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
@force_option
@shown
def train(run: Path, output: Path, force: bool, **asked: Any) -> None:
    """Fit the robust classifier to the rows that RUN keeps, and save it with skops."""
    from rankprune.model import train_model, train_reviewed
    from rankprune.run import LabelCheck
    from rankprune.run._directory import refuse_output
    from rankprune.run._settled import read_settled

    look_here(asked["model"])
    found = LabelCheck.load(run)
    vectors = asked["embeddings"] or found.settings.embeddings
    refuse_output(
        output, force, *run_inputs(found, asked["table"]), Path(vectors) if vectors else None
    )
    with progress(asked["quiet"] or asked["no_progress"], asked["verbose"]):
        named = {"embeddings": asked["embeddings"], "estimator": asked["model"]}
        if asked["reviewed"]:
            settled = read_settled(run, found, asked["table"])
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
            model = train_model(found, asked["table"], **named)
            n_left_out = model.n_pruned
    model.save(output)
    if asked["reviewed"]:
        say_settled(settled, asked["quiet"])
    kept = found.n_rows - n_left_out
    say(f"Fitted to {kept} of {found.n_rows} rows.", asked["quiet"])
    click.echo(output)
    say(f"Next: rankprune predict {quote(str(output))} TABLE", asked["quiet"])
