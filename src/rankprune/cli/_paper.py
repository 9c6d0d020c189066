"""``rankprune paper``: run the experiments of the paper again."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from rankprune.cli._options import add_options

# Help, and the options that select a part of the experiment.
_COMMANDS = {
    "fig1": ("Figure 1: the algorithm, step by step, on two Gaussians.", ()),
    "fig2": ("Figure 2: Rank Pruning on Gaussians, five noise levels; 200 trials.", ("cells",)),
    "fig3": ("Figure 3: theory against estimate; the same trials as fig2.", ("cells",)),
    "fig4": ("Figure 4: all methods on Gaussians at pi1 = rho1 = 0.5.", ()),
    "fig5": ("Figure 5: estimated noise rates on MNIST, at all noise levels.", ("images", "cells")),
    "figb": ("Figure B1: average images of kept and pruned rows.", ()),
    "table3": (
        "Tables 3, C1, C2: MNIST and CIFAR-10, logistic regression.",
        ("images", "cells", "methods"),
    ),
    "table4": (
        "Tables 4, C3, C4, C8, C9: convolutional networks. Needs the extra torch; takes hours.",
        ("images", "cells", "methods", "epochs"),
    ),
    "networks": (
        "Networks that expect noise, on MNIST. Needs the extra torch; takes hours.",
        ("images", "cells", "methods"),
    ),
    "tablec5": (
        "Tables C5 to C7: CIFAR-10, logistic regression, by class.",
        ("images", "cells", "methods"),
    ),
    "settings": ("Effect of the original solver, and of unscaled pixels.", ()),
    "speed": ("Cost of the algorithm, and of a setting of Table 3, in numbers of fits.", ()),
}


@click.group(short_help="Rerun the experiments of the paper.")
def paper() -> None:
    """Run the experiments of the paper again, beside the published figures.

    Results are saved under --results as they are measured, so an interrupted run continues where
    it stopped. Pages and pictures are drawn from these files alone. MNIST and CIFAR-10 are read
    from $RANKPRUNE_DATA (default: ~/.cache/rankprune); --small needs neither.
    """


def _parse_cells(_: click.Context, __: click.Parameter, value: str) -> list[tuple[float, float]]:
    """Return "0.5/0.25,0/0.5" as pairs of pi1 and rho1."""
    try:
        pairs = [[float(part) for part in pair.split("/")] for pair in value.split(",") if pair]
        return [(pi1, rho1) for pi1, rho1 in pairs]
    except ValueError:
        raise click.BadParameter(
            f"{value!r} must be pairs pi1/rho1 separated by commas, such as 0.5/0.5,0/0.5."
        ) from None


def _parse_names(_: click.Context, __: click.Parameter, value: str) -> list[str]:
    return [name.strip() for name in value.split(",") if name.strip()]


_SELECTION = {
    "images": click.option(
        "--images",
        default="",
        callback=_parse_names,
        help="Classes to measure, such as 1,9 or cat,dog (default: all).",
    ),
    "cells": click.option(
        "--cells",
        default="",
        callback=_parse_cells,
        help="Noise levels pi1/rho1, such as 0.5/0.5,0/0.5 (default: all).",
    ),
    "methods": click.option(
        "--methods",
        default="",
        callback=_parse_names,
        help="Methods to measure, such as true,rp_estimated (default: all).",
    ),
    "epochs": click.option(
        "--epochs",
        type=click.IntRange(min=1),
        help="Epochs for the networks; the paper allowed 50 on MNIST and 150 on CIFAR-10.",
    ),
}
_JOBS = click.option(
    "--jobs",
    "n_jobs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Number of measurements to run at the same time.",
)
_FOLDERS = (
    click.option(
        "--results",
        type=click.Path(file_okay=False, path_type=Path),
        help="Folder of results (default: results, or results-small).",
    ),
    click.option(
        "--docs",
        type=click.Path(file_okay=False, path_type=Path),
        help="Folder for the pages (default: docs/reproduction, or results-small/reproduction).",
    ),
    click.option(
        "--small", is_flag=True, help="Use the digits that come with scikit-learn, and few trials."
    ),
    click.option(
        "--seed", default=0, show_default=True, help="Random seed for noise, folds and fits."
    ),
    click.option("-q", "--quiet", is_flag=True, help="Do not show progress."),
)


def _results(given: dict[str, Any]) -> Path:
    return given["results"] or Path("results-small" if given["small"] else "results")


def _render(given: dict[str, Any]) -> None:
    """Write the pages and print where they are."""
    from rankprune.experiments.paper import render

    results, small = _results(given), given["small"]
    docs = given["docs"] or (results / "reproduction" if small else Path("docs/reproduction"))
    written = render(results, docs, small=small, seed=given["seed"])
    click.echo(
        f"Results are in {results}; {len(written)} pages and pictures were written to {docs}."
    )


def _choice(given: dict[str, Any]) -> Any:
    from rankprune.experiments.paper import Choice

    names = ("images", "cells", "methods", "small", "seed", "epochs", "n_jobs")
    return Choice(_results(given), **{name: given[name] for name in names if name in given})


def _told(work: Callable[[], None]) -> None:
    """Turn an error about missing data or wrong names into a message."""
    try:
        work()
    except (FileNotFoundError, ModuleNotFoundError, ValueError) as error:
        raise click.ClickException(str(error)) from error


def _experiment(name: str, summary: str, selected: tuple[str, ...]) -> None:
    @paper.command(name, help=summary)
    @add_options(*(_SELECTION[option] for option in selected), _JOBS, *_FOLDERS)
    def command(**given: Any) -> None:
        from rankprune.experiments.paper import run_experiment

        def work() -> None:
            _show(run_experiment(name, _choice(given)), name, quiet=given["quiet"])
            _render(given)

        _told(work)


for _name, (_summary, _selected) in _COMMANDS.items():
    _experiment(_name, _summary, _selected)


@paper.command("all")
@add_options(_JOBS, *_FOLDERS)
def run_all(**given: Any) -> None:
    """Run everything that has not been measured yet.

    Experiments that cannot run here are reported and skipped; the exit code is then 1.
    """
    from rankprune.experiments.paper import run_experiment

    def work() -> None:
        is_whole = True
        for name in _COMMANDS:
            try:
                _show(run_experiment(name, _choice(given)), name, quiet=given["quiet"])
            except (FileNotFoundError, ModuleNotFoundError) as error:
                click.echo(f"{name} was not finished. {error}", err=True)
                is_whole = False
        _render(given)
        if not is_whole:
            raise click.exceptions.Exit(1)

    _told(work)


@paper.command("render")
@add_options(*_FOLDERS)
def render_pages(**given: Any) -> None:
    """Draw all pages and pictures again from saved results."""
    _told(lambda: _render(given))


@paper.command()
@click.argument("name", type=click.Choice(["table3", "table4", "networks", "fig5"]))
@add_options(*_SELECTION.values(), *_FOLDERS)
def verify(name: str, **given: Any) -> None:
    """Measure some results from scratch and compare them with those under --results.

    Nothing cached is used. The exit code is 1 if a result differs by more than 0.000001.
    """
    from rankprune.experiments.paper import verify_experiment

    def work() -> None:
        found = verify_experiment(name, _choice(given))
        click.echo(
            f"{found.n_compared} results were measured again; the largest difference is "
            f"{found.largest:.2g} ({found.where})."
        )
        if not found.agrees:
            raise click.exceptions.Exit(1)

    _told(work)


def _show(steps: Iterator[Any], name: str, *, quiet: bool) -> None:
    """Show progress: a bar on a terminal, lines elsewhere."""
    start = next(steps)
    if quiet or not start.total:
        for _ in steps:
            pass
    elif sys.stderr.isatty():
        with click.progressbar(
            length=start.total, label=name, file=sys.stderr, item_show_func=str
        ) as bar:
            for step in steps:
                bar.update(1, step.name)
    else:
        click.echo(f"{name}: {start.total} measurements to do", err=True)
        for step in steps:
            click.echo(f"{name}: {_line(step)}", err=True)


def _line(step: Any) -> str:
    left = f", {_duration(step.seconds_left)} left" if step.done < step.total else ""
    return f"{step.done} of {step.total} done{left} ({step.name})"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
