"""Tables 3, C1, C2 and C5 to C7: logistic regression, every method at every cell."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rankprune.core import NoiseRates, estimate_noise_rates
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
    cache_name,
    load_images,
    noisy_class,
)
from rankprune.experiments.paper._recipes import (
    RECIPES,
    TRUE,
    papers_rates,
    pruned_weights,
)
from rankprune.experiments.paper._records import Key, Record, Unit

# Small enough that a fit does not depend on the models fitted together with it.
TOLERANCE = 1e-6

Labels = NDArray[np.bool_]
Result = TypeVar("Result")


@dataclass
class Stopwatch:
    """Seconds spent in fits, as opposed to the work around them."""

    seconds: float = field(default=0.0)

    def fit(self, *args: Any, **kwargs: Any) -> LogisticModels:
        """Return fitted models, and add the time of the fits to `seconds`."""
        return self.time(lambda: fit_logistic_models(*args, tol=TOLERANCE, **kwargs))

    def time(self, work: Callable[[], Result]) -> Result:
        """Return the result of a call, and add its time to `seconds`."""
        start = time.perf_counter()
        result = work()
        self.seconds += time.perf_counter() - start
        return result


@cache
def round_rows(dataset: str) -> RoundRows:
    """Return the training pixels, prepared for any number of fits."""
    return RoundRows.of(load_images(dataset, "train").pixels)


@dataclass(frozen=True)
class Fold:
    """Rows to fit, already prepared, and rows to score."""

    rows: RoundRows
    fitted: NDArray[np.intp]
    held_out: NDArray[np.intp]


@cache
def round_folds(dataset: str, seed: int) -> list[Fold]:
    """Return the folds shared by all classes, cells and rounds."""
    rows = round_rows(dataset)
    return [
        Fold(rows.take(fitted), fitted, held_out)
        for fitted, held_out in folds(load_images(dataset, "train").digits, seed)
    ]


@dataclass
class LogisticRun:
    """One class of one data set at some cells; each step fits all cells at once."""

    dataset: str
    image: str
    cells: tuple[Cell, ...]
    seed: int = 0
    stopwatch: Stopwatch = field(default_factory=Stopwatch)

    def __post_init__(self) -> None:
        self.noisy: NoisyClass = noisy_class(self.dataset, self.image, self.cells, self.seed)
        self.name = cache_name(self.dataset, "logreg", self.image, seed=self.seed)

    def kept_out_of_fold(self) -> Matrix:
        """Return the out-of-fold probabilities of all cells of the tables; cached."""
        return cached(f"{self.name}-folds", lambda: {"scores": self.out_of_fold()})["scores"]

    def out_of_fold(self, weights: Matrix | None = None) -> Matrix:
        """Return out-of-fold probabilities of the given labels, one column per cell."""
        train = load_images(self.dataset, "train")
        labels = self.noisy.labels
        scores = np.empty(labels.shape, np.float32)
        for fold in round_folds(self.dataset, self.seed):
            models = self.stopwatch.fit(
                fold.rows,
                labels[fold.fitted],
                weights=None if weights is None else weights[fold.fitted],
            )
            scores[fold.held_out] = models.probabilities(train.pixels[fold.held_out])
        return scores

    def test_scores(self, method: str, out_of_fold: Matrix) -> Matrix:
        """Return one method's probabilities on the test images, one column per cell."""
        labels, weights = self.noisy.labels, None
        if method == TRUE:
            # True labels are the same at every cell.
            labels = self.noisy.is_class[:, None]
        elif method != "noisy":
            weights = self._weights(method, out_of_fold)
        models = self.stopwatch.fit(round_rows(self.dataset), labels, weights=weights)
        scores = models.probabilities(load_images(self.dataset, "test").pixels)
        return np.broadcast_to(scores, (len(scores), len(self.cells)))

    def kept_test_scores(self, method: str) -> Matrix:
        """Return the test scores for all cells of the tables; cached."""
        return cached(
            f"{self.name}-{method}",
            lambda: {"scores": self.test_scores(method, self.kept_out_of_fold())},
        )["scores"]

    def _weights(self, method: str, scores: Matrix) -> Matrix:
        recipe = RECIPES[method]
        indices = range(len(self.cells))
        with warnings.catch_warnings():
            # Methods are also measured on data that violate their assumptions.
            warnings.simplefilter("ignore")
            if recipe.rounds == 1:
                rates = [self.noisy.true_rates(index) for index in indices]
                return self._each_cell(recipe.weigh, scores, rates)
            # Later rounds rank by models of the kept rows, but prune by the first round's rates.
            rates = [
                estimate_noise_rates(
                    self.noisy.column(index), _floats(scores, index), method="curve"
                )
                for index in indices
            ]
            weights = self._each_cell(pruned_weights, scores, rates)
            for _ in range(recipe.rounds - 1):
                weights = self._each_cell(pruned_weights, self.out_of_fold(weights), rates)
        return weights

    def _each_cell(
        self, weigh: Callable[..., Any], scores: Matrix, rates: list[NoiseRates]
    ) -> Matrix:
        columns = [
            weigh(self.noisy.column(index), _floats(scores, index), rates[index])
            for index in range(len(self.cells))
        ]
        return np.column_stack(columns).astype(np.float32)


def _floats(scores: Matrix, index: int) -> NDArray[np.float64]:
    return scores[:, index].astype(np.float64)


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

    All cells of the data set are scored and fitted together, even if few are selected. This costs
    little more and makes the figures independent of the selection.
    """
    run = LogisticRun(dataset, image, DATA_SETS[dataset].logreg_cells, seed)
    truth = load_images(dataset, "test").digits == DATA_SETS[dataset].images.index(image)
    found = []
    for method in methods:
        divides = method != TRUE and RECIPES[method].divides
        # Division by a constant needs no model besides the one fitted to the noisy labels.
        scores = run.kept_test_scores("noisy" if divides else method)
        for cell in cells:
            index = run.cells.index(cell)
            figures = _figures(run, index, method, truth, scores[:, index])
            found += [
                record(
                    Key(dataset, "logreg", metric, image, *cell, method, seed),
                    value,
                    len(run.noisy.is_class),
                )
                for metric, value in figures.items()
            ]
    return found


def _figures(
    run: LogisticRun, index: int, method: str, truth: Labels, scores: Matrix
) -> dict[str, float]:
    rates = run.noisy.true_rates(index)
    final = scores if method == TRUE else RECIPES[method].finish(scores, rates)
    figures = test_figures(truth, final)
    if method == "rp_estimated":
        given = _floats(run.kept_out_of_fold(), index)
        estimated = papers_rates(run.noisy.column(index), given)
        figures |= score_figures(run.noisy.is_class, given, rates, estimated)
    return figures
