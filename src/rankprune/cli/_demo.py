"""``rankprune demo``."""

import json
from pathlib import Path

import click

from rankprune.cli._options import FOLDER, form_option, shown
from rankprune.cli._output import next_command, say
from rankprune.cli._progress import progress


@click.command(short_help="Flip labels of a data set, and find them again.")
@click.option("--seed", default=0, show_default=True, help="Random seed for the flipped labels.")
@click.option(
    "-o",
    "--output",
    type=FOLDER,
    default=Path("rankprune-demo"),
    show_default=True,
    help="Folder for the tables and the report.",
)
@click.option("--force", is_flag=True, help="Replace a demo that someone has reviewed.")
@form_option("text", "json")
@shown
def demo(seed: int, output: Path, force: bool, form: str, **asked: bool) -> None:
    """Flip labels of scikit-learn's digits on purpose, and find them again."""
    from rankprune.demo import refuse_other_folder, run_demo
    from rankprune.storage._json_records import to_plain

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
        f"Next:   {next_command('train', result.run, '-o', output / 'model.skops')}\n"
        f"        {next_command('check', 'YOUR_TABLE.csv', '--label', 'COLUMN')}",
        quiet,
    )
