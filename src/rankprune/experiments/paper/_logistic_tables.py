"""Tables 3 and C1, C2, C5 to C7: logistic regression, every method at every cell, side by side."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune.core import NoiseRates
from rankprune.experiments._cache import cached
from rankprune.experiments._logistic import (
    LogisticModels,
    Matrix,
    RoundRows,
    fit_logistic_models,
)
from rankprune.experiments._mnist import folds
from rankprune.experiments.paper._measure import (
    METRICS,
    SCORE_METRICS,
    record,
    score_figures,
    test_figures,
)
from rankprune.experiments.paper._one_vs_rest import (
    DATA_SETS,
    Cell,
    NoisyClass,
    load_images,
    noisy_class,
)
from rankprune.experiments.paper._recipes import (
    RECIPES,
    TRUE,
    estimated_rates,
    pruned_weights,
)
from rankprune.experiments.paper._records import Key, Record, Unit

_log = logging.getLogger("rankprune")

# Fitted until nothing changes any more, so that it does not matter what is fitted beside it.
TOLERANCE = 1e-6

Labels = NDArray[np.bool_]


@dataclass
class Stopwatch:
    """Seconds spent in the fits, to tell them from all that is done around them."""

    seconds: float = field(default=0.0)

    def fit(self, *args: Any, **kwargs: Any) -> LogisticModels:
        """Fit, and count the time."""
        start = time.perf_counter()
        models = fit_logistic_models(*args, tol=TOLERANCE, **kwargs)
        self.seconds += time.perf_counter() - start
        return models


@cache
def round_rows(dataset: str) -> RoundRows:
    """Return the training pixels ready for any number of fits."""
    return RoundRows.of(load_images(dataset, "train").pixels)


@dataclass
class LogisticRun:
    """One class of one data set at some cells; every step fits all of its columns at once."""

    dataset: str
    image: str
    cells: tuple[Cell, ...]
    seed: int = 0
    stopwatch: Stopwatch = field(default_factory=Stopwatch)

    def __post_init__(self) -> None:
        self.noisy: NoisyClass = noisy_class(self.dataset, self.image, self.cells, self.seed)
        self.name = f"{self.dataset}-logreg-{self.image}" + (
            f"-seed{self.seed}" if self.seed else ""
        )

    def kept_out_of_fold(self) -> Matrix:
        """Return the out-of-fold probabilities of all cells of the tables; cached."""
        return cached(f"{self.name}-folds", lambda: {"scores": self.out_of_fold()})["scores"]

    def out_of_fold(self, weights: Matrix | None = None) -> Matrix:
        """Return probabilities of the given labels by models of other folds, a column a cell."""
        train = load_images(self.dataset, "train")
        labels = self.noisy.labels
        scores = np.empty(labels.shape, np.float32)
        for fitted, held_out in folds(train.digits):
            models = self.stopwatch.fit(
                round_rows(self.dataset).take(fitted),
                labels[fitted],
                weights=None if weights is None else weights[fitted],
            )
            scores[held_out] = models.probabilities(train.pixels[held_out])
        return scores

    def test_scores(self, methods: list[str], out_of_fold: Matrix) -> NDArray[np.float32]:
        """Return probabilities on the test images: rows x cells x methods."""
        noisy = [method for method in methods if method != TRUE]
        # Right labels are the same at every cell: one column for all, and the first.
        labels = np.hstack([self.noisy.is_class[:, None], *[self.noisy.labels] * len(noisy)])
        right = np.ones((len(labels), 1), np.float32)
        weights = np.hstack([right, *(self._weights(method, out_of_fold) for method in noisy)])
        models = self.stopwatch.fit(round_rows(self.dataset), labels, weights=weights)
        scores = models.probabilities(load_images(self.dataset, "test").pixels)
        shape = (len(scores), len(noisy), len(self.cells))
        by_method = dict(zip(noisy, scores[:, 1:].reshape(shape).swapaxes(0, 1), strict=True))
        by_method[TRUE] = np.repeat(scores[:, :1], len(self.cells), axis=1)
        return np.stack([by_method[method] for method in methods], axis=2)

    def _weights(self, method: str, scores: Matrix) -> Matrix:
        recipe = RECIPES[method]
        if recipe.rounds == 1:
            return self._each_cell(recipe.weigh, scores)
        # Later rounds rank by models of the rows that were kept, but prune by the first rates.
        rates = [
            estimated_rates("curve", self.noisy.column(place), _floats(scores, place))
            for place in range(len(self.cells))
        ]
        weights = self._pruned(scores, rates)
        for _ in range(recipe.rounds - 1):
            weights = self._pruned(self.out_of_fold(weights), rates)
        return weights

    def _pruned(self, scores: Matrix, rates: list[NoiseRates]) -> Matrix:
        columns = [
            pruned_weights(self.noisy.column(place), _floats(scores, place), rates[place])
            for place in range(len(self.cells))
        ]
        return np.column_stack(columns).astype(np.float32)

    def _each_cell(self, weigh: Callable[..., Any], scores: Matrix) -> Matrix:
        columns = [
            weigh(self.noisy.column(place), _floats(scores, place), self.noisy.true_rates(place))
            for place in range(len(self.cells))
        ]
        return np.column_stack(columns).astype(np.float32)


def _floats(scores: Matrix, place: int) -> NDArray[np.float64]:
    return scores[:, place].astype(np.float64)


def logistic_units(
    dataset: str, images: list[str], cells: list[Cell], methods: list[str], seed: int
) -> list[Unit]:
    """Return one unit for each image."""
    return [
        Unit(
            f"{dataset} {image}, logistic regression",
            _keys(dataset, image, cells, methods, seed),
            partial(_measure, dataset, image, cells, methods, seed),
        )
        for image in images
    ]


def _keys(dataset: str, image: str, cells: list[Cell], methods: list[str], seed: int) -> list[Key]:
    wanted = [(method, metric) for method in methods for metric in METRICS]
    if "rp_estimated" in methods:
        wanted += [("rp_estimated", metric) for metric in SCORE_METRICS]
    return [
        Key(dataset, "logreg", metric, image, *cell, method, seed)
        for cell in cells
        for method, metric in wanted
    ]


def _measure(
    dataset: str, image: str, cells: list[Cell], methods: list[str], seed: int
) -> list[Record]:
    """Return the figures of one image.

    All cells of the data set are scored and fitted together whatever was asked for, which costs
    little more and makes the figures the same in every selection.
    """
    run = LogisticRun(dataset, image, DATA_SETS[dataset].logreg_cells, seed)
    out_of_fold = run.kept_out_of_fold()
    truth = load_images(dataset, "test").digits == DATA_SETS[dataset].images.index(image)
    found = []
    for group in _groups(methods):
        compute = partial(_group_scores, run, group, out_of_fold)
        scores = cached(f"{run.name}-{'-'.join(group)[:60]}", compute)["scores"]
        for cell in cells:
            place = run.cells.index(cell)
            rates = run.noisy.true_rates(place)
            for column, method in enumerate(group):
                if method not in methods:
                    continue
                final = scores[:, place, column]
                if method != TRUE:
                    final = RECIPES[method].finish(final, rates)
                figures = test_figures(truth, final)
                if method == "rp_estimated":
                    given = out_of_fold[:, place].astype(np.float64)
                    estimated = estimated_rates("confident-counts", run.noisy.column(place), given)
                    figures |= score_figures(run.noisy.is_class, given, rates, estimated)
                found += [
                    record(
                        Key(dataset, "logreg", metric, image, *cell, method, seed),
                        value,
                        len(run.noisy.is_class),
                    )
                    for metric, value in figures.items()
                ]
    return found


def _groups(methods: list[str]) -> list[list[str]]:
    """Return which methods are fitted together: cleanlab, which may be missing, on its own."""
    own = [TRUE, *(name for name, recipe in RECIPES.items() if not recipe.needs_cleanlab)]
    groups = [own, [name for name in RECIPES if name not in own]]
    return [group for group in groups if set(group) & set(methods)]


def _group_scores(
    run: LogisticRun, methods: list[str], out_of_fold: Matrix
) -> dict[str, NDArray[np.float32]]:
    with warnings.catch_warnings():
        # Methods are measured outside of what they assume, too.
        warnings.simplefilter("ignore")
        return {"scores": run.test_scores(methods, out_of_fold)}
