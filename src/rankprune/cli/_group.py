"""The ``rankprune`` command and the list of its commands."""

import sys

import click

import rankprune
from rankprune.cli._audit import audit
from rankprune.cli._check import check
from rankprune.cli._compare import compare
from rankprune.cli._demo import demo
from rankprune.cli._evaluate import evaluate
from rankprune.cli._export import export
from rankprune.cli._flags import COMMAND
from rankprune.cli._paper import paper
from rankprune.cli._predict import predict
from rankprune.cli._report import report
from rankprune.cli._review import review
from rankprune.cli._train import train


@click.group(context_settings={"help_option_names": ["-h", "--help"]}, invoke_without_command=True)
@click.version_option(rankprune.__version__, prog_name="rankprune")
@click.pass_context
def cli(context: click.Context) -> None:
    """Find mislabeled rows, estimate how many there are, and train as if the labels were correct.

    Start with: rankprune check TABLE --label COLUMN

    It writes a run directory, TABLE.rankprune, which the other commands take as RUN.
    """
    COMMAND.set(context.invoked_subcommand)
    if context.invoked_subcommand is not None:
        return
    if sys.stdin.isatty() and sys.stdout.isatty():
        context.invoke(demo)
    else:
        click.echo(context.get_help())


for command in (
    demo,
    check,
    report,
    review,
    audit,
    train,
    predict,
    export,
    compare,
    evaluate,
    paper,
):
    cli.add_command(command)
