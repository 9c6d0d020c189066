"""``rankprune train``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rankprune.cli._flags import in_flags
from rankprune.cli._options import (
    FILE,
    RUN,
    NamedPath,
    force_option,
    jobs_option,
    look_here,
    shown,
    table_of_run,
)
from rankprune.cli._output import next_command, say
from rankprune.cli._progress import progress
from rankprune.cli._reviewed import run_inputs, say_settled


@click.command()
@click.argument("run", type=RUN)
@click.option("-o", "--output", type=FILE, required=True, help="File to write the model to.")
@click.option("--model", metavar="NAME", help="A different model from the one used by the check.")
@click.option(
    "--embeddings",
    type=NamedPath(exists=True, dir_okay=False),
    metavar="NPY",
    help="Current path of the embeddings that were checked (default: their original path).",
)
@click.option(
    "--prune",
    is_flag=True,
    help="Drop the least believable rows even if the check did not find noise.",
)
@click.option(
    "--reviewed",
    is_flag=True,
    help="Use the labels that reviewers settled, too. They are never dropped; all rows are scored "
    "again, and the noise rates describe the other rows.",
)
@jobs_option("With --reviewed: number of folds to fit at the same time.")
@table_of_run
@force_option
@shown
def train(run: Path, output: Path, force: bool, **asked: Any) -> None:
    """Train a model on the rows that RUN keeps, and save it.

    If the check found no noise, or could not tell, the model is trained on all rows. Rows that
    people judged in an audit are always used, with their right label.
    """
    from rankprune.model import train_model, train_reviewed
    from rankprune.run import load_check
    from rankprune.run._directory import refuse_output
    from rankprune.run._sentences import training_sentence
    from rankprune.run._settled import read_settled

    look_here(asked["model"])
    found = load_check(run)
    vectors = asked["embeddings"] or found.settings.embeddings
    refuse_output(
        output, force, *run_inputs(found, asked["table"]), Path(vectors) if vectors else None
    )
    options = {
        "embeddings": asked["embeddings"],
        "estimator": asked["model"],
        "prune": asked["prune"],
    }
    with progress(asked["quiet"] or asked["no_progress"], asked["verbose"]):
        if asked["reviewed"]:
            settled = read_settled(run, found, asked["table"])
            trained = train_reviewed(
                found,
                settled.rows,
                settled.codes,
                asked["table"],
                n_jobs=asked["jobs"],
                **options,
            )
            model, n_pruned = trained.model, trained.n_pruned
        else:
            model = train_model(found, asked["table"], **options)
            n_pruned = model.n_pruned
    model.save(output)
    if asked["reviewed"]:
        say_settled(settled, asked["quiet"])
    say(in_flags(training_sentence(found, n_pruned)), asked["quiet"])
    click.echo(output)
    say(f"To score new rows: {next_command('predict', output, 'TABLE')}", asked["quiet"])
