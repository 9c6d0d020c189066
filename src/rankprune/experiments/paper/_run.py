"""The paper's figures and tables as units of work, and the run of those that are missing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path

from sklearn.utils.parallel import Parallel, delayed

from rankprune.experiments._mnist import FOUR_CELLS
from rankprune.experiments.paper import _synthetic
from rankprune.experiments.paper._average_images import average_units
from rankprune.experiments.paper._illustration import illustration_units
from rankprune.experiments.paper._logistic_tables import logistic_units
from rankprune.experiments.paper._network_methods import NETWORK_METHODS
from rankprune.experiments.paper._network_noise import CHOOSING, IMAGES, noise_units
from rankprune.experiments.paper._network_tables import network_units
from rankprune.experiments.paper._one_vs_rest import DATA_SETS, Cell
from rankprune.experiments.paper._rate_grid import grid_cells, grid_units
from rankprune.experiments.paper._recipes import RECIPES, TRUE
from rankprune.experiments.paper._records import (
    Record,
    Results,
    Unit,
    note_run,
    refuse_other_size,
)
from rankprune.experiments.paper._settings import settings_units
from rankprune.experiments.paper._timing import timing_units

# The methods that Table 4 shows: the paper's, and a plain fit.
_NEED_CLEANLAB = [name for name, one in RECIPES.items() if one.needs_cleanlab]
_TABLE_4 = [TRUE, "noisy", *(name for name, one in RECIPES.items() if one.is_published)]


@dataclass(frozen=True)
class Choice:
    """What to run, and the folder for its figures; an empty selection means all."""

    results: Path
    images: Sequence[str] = ()
    cells: Sequence[Cell] = ()
    methods: Sequence[str] = ()
    small: bool = False
    seed: int = 0
    epochs: int | None = None
    n_jobs: int = 1

    def check(self) -> None:
        """Raise an error if a selected image, method or cell does not exist."""
        images = {one for dataset in DATA_SETS.values() for one in dataset.images}
        cells = {*DATA_SETS["mnist"].logreg_cells, *_synthetic.CELLS, *grid_cells(small=False)}
        for argument, chosen, known in (
            ("images", self.images, sorted(images)),
            ("methods", self.methods, [TRUE, *RECIPES, *NETWORK_METHODS]),
            ("cells", self.cells, sorted(cells)),
        ):
            for one in chosen:
                if one not in known:
                    shown = ", ".join(map(_shown, known))
                    raise ValueError(f"{argument} must be among {shown}; got {_shown(one)}.")

    def command(self, name: str) -> str:
        """Return the command that measures the same figures, without the results folder."""
        options = {
            "--images": ",".join(self.images),
            "--cells": ",".join(map(_shown, self.cells)),
            "--methods": ",".join(self.methods),
            "--epochs": str(self.epochs or ""),
            "--seed": str(self.seed or ""),
        }
        chosen = [f"{option} {value}" for option, value in options.items() if value]
        return " ".join(["rankprune paper", name, *chosen, *["--small"] * self.small])

    def data_sets(self, *names: str) -> list[str]:
        """Return the data sets of a table, or only the small one in a small run."""
        return ["digits"] if self.small else list(names)

    def of_images(self, dataset: str) -> list[str]:
        """Return the selected images of a data set."""
        return [one for one in DATA_SETS[dataset].images if not self.images or one in self.images]

    def of_cells(self, cells: Sequence[Cell]) -> list[Cell]:
        """Return those of the cells that are selected."""
        return [cell for cell in cells if not self.cells or cell in self.cells]

    def of_methods(self, methods: Sequence[str]) -> list[str]:
        """Return those of the methods that are selected and whose package is installed."""
        chosen = [one for one in methods if not self.methods or one in self.methods]
        if find_spec("cleanlab") is None:
            chosen = [one for one in chosen if one not in _NEED_CLEANLAB]
        return chosen


def _shown(one: str | Cell) -> str:
    return one if isinstance(one, str) else f"{one[0]:g}/{one[1]:g}"


Plan = dict[str, list[Unit]]


def _logistic(choice: Choice, *names: str) -> Plan:
    return {
        f"{dataset}_logreg.csv": logistic_units(
            dataset,
            choice.of_images(dataset),
            choice.of_cells(DATA_SETS[dataset].logreg_cells),
            choice.of_methods([TRUE, *RECIPES]),
            choice.seed,
        )
        for dataset in choice.data_sets(*names)
    }


def _networks(choice: Choice) -> Plan:
    if choice.small:
        # Enough to run every step.
        images = choice.images or ("1", "9")
        cells = choice.cells or ((0.0, 0.5), (0.5, 0.5))
        choice = replace(choice, images=images, cells=cells)
    return {
        f"{dataset}_cnn.csv": network_units(
            dataset,
            choice.of_images(dataset),
            # The cell of the headline comes first.
            choice.of_cells(FOUR_CELLS)[::-1],
            choice.of_methods([TRUE, *RECIPES] if choice.methods else _TABLE_4),
            choice.seed,
            choice.epochs,
        )
        for dataset in choice.data_sets("mnist", "cifar")
    }


def _networks_that_expect_noise(choice: Choice) -> Plan:
    dataset = choice.data_sets("mnist")[0]
    if not choice.images:
        choice = replace(choice, images=IMAGES)
    methods = choice.of_methods([*CHOOSING, *NETWORK_METHODS])
    cells = choice.of_cells(FOUR_CELLS)
    images = choice.of_images(dataset)
    return {"networks.csv": noise_units(dataset, images, cells, methods, choice.seed)}


def _gaussians(choice: Choice, cells: Sequence[Cell] = _synthetic.CELLS) -> Plan:
    panels = _synthetic.PANELS
    n_trials = _synthetic.N_TRIALS
    if choice.small:
        panels, n_trials = {panel: values[::3] for panel, values in panels.items()}, 3
    units = _synthetic.synthetic_units(panels, choice.of_cells(cells), n_trials, choice.seed)
    return {"gaussians.csv": units}


def _grid(choice: Choice) -> Plan:
    dataset = choice.data_sets("mnist")[0]
    cells = choice.of_cells(grid_cells(small=choice.small))
    units = grid_units(dataset, choice.of_images(dataset), cells, choice.seed)
    return {f"{dataset}_grid.csv": units}


EXPERIMENTS: dict[str, Callable[[Choice], Plan]] = {
    "fig1": lambda choice: {"fig1.csv": illustration_units(choice.results, choice.seed)},
    "fig2": _gaussians,
    "fig3": _gaussians,
    "fig4": lambda choice: _gaussians(choice, (_synthetic.COMPARED_AT,)),
    "fig5": _grid,
    "figb": lambda choice: {
        "figb.csv": average_units(choice.data_sets("mnist")[0], choice.results, choice.seed)
    },
    "table3": lambda choice: _logistic(choice, "mnist", "cifar"),
    "tablec5": lambda choice: _logistic(choice, "cifar"),
    "table4": _networks,
    "networks": _networks_that_expect_noise,
    "settings": lambda choice: {
        "settings.csv": settings_units(choice.data_sets("mnist")[0], choice.seed)
    },
    "speed": lambda choice: {"speed.csv": timing_units(choice.data_sets("mnist")[0], choice.seed)},
}


@dataclass
class Progress:
    """The progress of a run, updated after every unit."""

    total: int
    done: int = 0
    name: str = ""
    started: float = field(default_factory=time.monotonic)

    @property
    def seconds_left(self) -> float:
        """Return the expected remaining time in seconds, at the pace so far."""
        return (time.monotonic() - self.started) / max(self.done, 1) * (self.total - self.done)


def run_experiment(name: str, choice: Choice) -> Iterator[Progress]:
    """Measure the missing figures of an experiment; yield after each unit has been written."""
    choice.check()
    plan = EXPERIMENTS[name](choice)
    if not any(unit.keys for units in plan.values() for unit in units):
        raise ValueError(
            f"images, cells and methods must select at least one figure of {name}, got none."
        )
    refuse_other_size(choice.results, small=choice.small)
    results = {file: Results(choice.results / file) for file in plan}
    missing = {file: results[file].missing(units) for file, units in plan.items()}
    progress = Progress(sum(map(len, missing.values())))
    if progress.total:
        files = [file for file, units in missing.items() if units]
        note_run(choice.results, files, command=choice.command(name), small=choice.small)
    yield progress
    for file, units in missing.items():
        parts = Parallel(n_jobs=choice.n_jobs, return_as="generator_unordered")(
            delayed(_compute)(number, unit) for number, unit in enumerate(units)
        )
        for number, records in parts:
            results[file].append(records)
            progress.done += 1
            progress.name = units[number].name
            yield progress


def _compute(number: int, unit: Unit) -> tuple[int, list[Record]]:
    return number, unit.measure()
