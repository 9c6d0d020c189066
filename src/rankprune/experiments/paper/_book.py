"""All measured figures, and the paper's beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rankprune.experiments._published import published
from rankprune.experiments.paper._one_vs_rest import DATA_SETS, Cell
from rankprune.experiments.paper._recipes import RECIPES, TRUE
from rankprune.experiments.paper._records import Key, Record, Results

NOT_RUN = "not run"
AVERAGE = "avg"
DATA_NAMES = {"mnist": "MNIST", "cifar": "CIFAR-10", "digits": "scikit-learn's digits"}
# The paper's methods in the order of its tables, and the methods we add.
PUBLISHED = [TRUE, *(name for name, recipe in RECIPES.items() if recipe.is_published)]
ADDED = [name for name, recipe in RECIPES.items() if not recipe.is_published]


@dataclass(frozen=True)
class Book:
    """All figures of one seed, by key."""

    records: dict[Key, Record]
    seed: int = 0

    @classmethod
    def read(cls, folder: Path, seed: int = 0) -> Book:
        """Return the figures of all files in a directory."""
        records: dict[Key, Record] = {}
        for path in sorted(folder.glob("*.csv")):
            if not path.stem.endswith(("_points", "_images")):
                records |= Results(path).records
        return cls({key: record for key, record in records.items() if key.seed == seed}, seed)

    def has(self, dataset: str, classifier: str = "logreg") -> bool:
        """Return whether any figure of a data set and classifier was measured."""
        return any(key[:2] == (dataset, classifier) for key in self.records)

    def networks(self, dataset: str) -> list[str]:
        """Return the network and its variants that were run; "cnn-50" is trained for 50 epochs."""
        found = {key.classifier for key in self.records if key.dataset == dataset}
        return ["cnn", *sorted(name for name in found if name.startswith("cnn-"))]

    def figure(
        self, dataset: str, classifier: str, metric: str, image: str, cell: Cell, method: str
    ) -> float | None:
        """Return a figure, or the mean of all images; None if any of them is missing."""
        if image == AVERAGE:
            every = [
                self.figure(dataset, classifier, metric, one, cell, method)
                for one in DATA_SETS[dataset.split(",")[0]].images
            ]
            return mean_of(every)
        key = Key(dataset, classifier, metric, image, *cell, method, self.seed)
        record = self.records.get(key)
        return None if record is None else record.value

    def beside(
        self, dataset: str, classifier: str, metric: str, image: str, cell: Cell, method: str
    ) -> tuple[float | None, float | None]:
        """Return our figure and the paper's, each None if missing."""
        key = (dataset, classifier, metric, image, cell, method)
        return self.figure(*key), paper_figure(*key)

    def n_images(self, dataset: str, classifier: str, cell: Cell, method: str) -> int:
        """Return the number of images for which a method was measured."""
        return sum(
            self.figure(dataset, classifier, "f1", image, cell, method) is not None
            for image in DATA_SETS[dataset].images
        )


def method_name(method: str) -> str:
    """Return the name of a method as shown in the tables."""
    named = {TRUE: "Right labels", "rp_given_shares": "Rank Pruning, true π given"}
    return named[method] if method in named else RECIPES[method].title


def cell_name(cell: Cell) -> str:
    """Return the heading of a noise cell in the tables."""
    return f"{cell[0]:g} / {cell[1]:g}"


def mean_of(values: Sequence[float | None]) -> float | None:
    """Return the mean, or None if any value is missing."""
    there = [value for value in values if value is not None]
    return float(np.mean(there)) if there and len(there) == len(values) else None


def paper_figure(
    dataset: str, classifier: str, metric: str, image: str, cell: Cell, method: str
) -> float | None:
    """Return the paper's figure, or None if it prints none.

    If the paper prints figures of single images, it also prints their average.
    """
    kind = classifier.split("-")[0]
    return published().get((dataset, kind, metric, image, *cell, method))


def side_by_side(ours: float | None, paper: float | None, digits: int = 3) -> str:
    """Return a figure, followed by the paper's figure and the difference."""
    if ours is None:
        return NOT_RUN if paper is None else f"{NOT_RUN} ({_short(paper, digits)})"
    if paper is None:
        return _short(ours, digits)
    # The difference of the rounded figures, so that readers can check it.
    difference = round(ours, digits) - round(paper, digits)
    sign = "-" if difference < -(10**-digits) / 2 else "+"
    beside = f"{_short(paper, digits)}, {sign}{_short(abs(difference), digits)}"
    return f"{_short(ours, digits)} ({beside})"


def _short(value: float, digits: int) -> str:
    return f"{value:.{digits}f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.{digits}f}"
