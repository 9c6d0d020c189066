"""The commands that run the paper's experiments again."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

# Each with what can be selected of it.
_COMMANDS = {
    "fig1": ("Figure 1: the algorithm, step by step, on two Gaussians.", ()),
    "fig2": ("Figure 2: Rank Pruning on Gaussians, five noise levels; 200 trials.", ("cells",)),
    "fig3": ("Figure 3: theory against estimate; the same trials as fig2.", ("cells",)),
    "fig4": ("Figure 4: all methods on Gaussians at pi1 = rho1 = 0.5.", ()),
    "fig5": ("Figure 5: estimated noise rates on MNIST, whole range.", ("images", "cells")),
    "figb": ("Figure B1: average images of what is kept and what is pruned.", ()),
    "table3": (
        "Tables 3, C1, C2: MNIST and CIFAR-10, logistic regression.",
        ("images", "cells", "methods"),
    ),
    "table4": (
        "Tables 4, C3, C4, C8, C9: convolutional networks; needs the extra torch; hours.",
        ("images", "cells", "methods", "epochs"),
    ),
    "tablec5": (
        "Tables C5 to C7: CIFAR-10, logistic regression, by class.",
        ("images", "cells", "methods"),
    ),
    "settings": ("What the solver of the time and pixels as they are would change.", ()),
    "speed": ("What the algorithm and a setting of Table 3 cost, in fits.", ()),
}


@click.group()
def paper() -> None:
    """Run the paper's experiments again, each figure beside the published one.

    Figures are added to files under --results as they are measured, so that an interrupted run
    goes on; pages and pictures are drawn from these files alone. MNIST and CIFAR-10 are looked for
    under $RANKPRUNE_DATA (by default ~/.cache/rankprune); --small needs neither.
    """


def _parse_cells(_: click.Context, __: click.Parameter, value: str) -> list[tuple[float, float]]:
    """Return "0.5/0.25,0/0.5" as pairs of pi1 and rho1."""
    try:
        pairs = [[float(part) for part in pair.split("/")] for pair in value.split(",") if pair]
        return [(pi1, rho1) for pi1, rho1 in pairs]
    except ValueError:
        raise click.BadParameter(
            f"{value!r} must be pairs of pi1/rho1 with commas between them, as 0.5/0.5,0/0.5."
        ) from None


def _parse_names(_: click.Context, __: click.Parameter, value: str) -> list[str]:
    return [name.strip() for name in value.split(",") if name.strip()]


_SELECTION = {
    "images": click.option(
        "--images", default="", callback=_parse_names, help="Such as 1,9 or cat,dog."
    ),
    "cells": click.option(
        "--cells", default="", callback=_parse_cells, help="pi1/rho1, as 0.5/0.5,0/0.5."
    ),
    "methods": click.option(
        "--methods", default="", callback=_parse_names, help="Such as true,rp_estimated."
    ),
    "epochs": click.option(
        "--epochs",
        type=click.IntRange(min=1),
        help="Of the networks; the paper allowed 50 on MNIST and 150 on CIFAR-10.",
    ),
}
_JOBS = click.option(
    "--jobs",
    "n_jobs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Units measured at the same time.",
)
_FOLDERS = (
    click.option(
        "--results",
        type=click.Path(file_okay=False, path_type=Path),
        help="Where measured figures lie.  [default: results; results-small]",
    ),
    click.option(
        "--docs",
        type=click.Path(file_okay=False, path_type=Path),
        help="Where pages go.  [default: docs/reproduction; results-small/reproduction]",
    ),
    click.option("--small", is_flag=True, help="Digits that ship with scikit-learn, few trials."),
    click.option("--seed", default=0, show_default=True, help="Decides noise, folds and fits."),
    click.option("-q", "--quiet", is_flag=True, help="No progress on the standard error stream."),
)


def _add(*options: Callable[..., Any]) -> Callable[..., Any]:
    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def _results(given: dict[str, Any]) -> Path:
    return given["results"] or Path("results-small" if given["small"] else "results")


def _render(given: dict[str, Any]) -> None:
    """Write the pages and say where they are."""
    from rankprune.experiments.paper import render

    results, small = _results(given), given["small"]
    docs = given["docs"] or (results / "reproduction" if small else Path("docs/reproduction"))
    written = render(results, docs, small=small, seed=given["seed"])
    click.echo(f"Figures lie in {results}; {len(written)} pages and pictures were drawn in {docs}.")


def _choice(given: dict[str, Any]) -> Any:
    from rankprune.experiments.paper import Choice

    names = ("images", "cells", "methods", "small", "seed", "epochs", "n_jobs")
    return Choice(_results(given), **{name: given[name] for name in names if name in given})


def _told(work: Callable[[], None]) -> None:
    """Turn what is missing or wrong into a message."""
    try:
        work()
    except (FileNotFoundError, ModuleNotFoundError, ValueError) as error:
        raise click.ClickException(str(error)) from error


def _experiment(name: str, summary: str, selected: tuple[str, ...]) -> None:
    @paper.command(name, help=summary)
    @_add(*(_SELECTION[option] for option in selected), _JOBS, *_FOLDERS)
    def command(**given: Any) -> None:
        from rankprune.experiments.paper import run_experiment

        def work() -> None:
            _show(run_experiment(name, _choice(given)), name, quiet=given["quiet"])
            _render(given)

        _told(work)


for _name, (_summary, _selected) in _COMMANDS.items():
    _experiment(_name, _summary, _selected)


@paper.command("all")
@_add(_JOBS, *_FOLDERS)
def run_all(**given: Any) -> None:
    """Whatever is missing of all these.

    What cannot be run here is said, and the rest is run; then it ends with 1.
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
@_add(*_FOLDERS)
def render_pages(**given: Any) -> None:
    """Draw all pages and pictures again from the measured figures alone."""
    _told(lambda: _render(given))


@paper.command()
@click.argument("name", type=click.Choice(["table3", "table4", "fig5"]))
@_add(*_SELECTION.values(), *_FOLDERS)
def verify(name: str, **given: Any) -> None:
    """Measure chosen figures from scratch and compare them with those in --results.

    Nothing that was kept of earlier runs is used. Ends with 1 where a figure differs by more than
    0.000001.
    """
    from rankprune.experiments.paper import verify_experiment

    def work() -> None:
        found = verify_experiment(name, _choice(given))
        click.echo(
            f"{found.n_compared} figures measured again; the largest difference is "
            f"{found.largest:.2g} ({found.where})."
        )
        if not found.agrees:
            raise click.exceptions.Exit(1)

    _told(work)


def _show(steps: Iterator[Any], name: str, *, quiet: bool) -> None:
    """Show how far a run is: a bar on a terminal, lines elsewhere."""
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
        click.echo(f"{name}: {start.total} to do", err=True)
        for step in steps:
            click.echo(f"{name}: {_line(step)}", err=True)


def _line(step: Any) -> str:
    left = f", {_duration(step.seconds_left)} left" if step.done < step.total else ""
    return f"{step.done} of {step.total} done{left} ({step.name})"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
