"""The cost of the algorithm in multiples of one fit, and of the tables relative to their fits."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from sklearn.linear_model import LogisticRegression

from rankprune.classifier import RankPruningClassifier
from rankprune.core import estimate_noise_rates
from rankprune.experiments.paper._logistic_tables import LogisticRun, Stopwatch, round_folds
from rankprune.experiments.paper._measure import test_figures
from rankprune.experiments.paper._one_vs_rest import DATA_SETS, Cell, load_images, noisy_class
from rankprune.experiments.paper._recipes import RECIPES, TRUE
from rankprune.experiments.paper._records import Key, Record, Unit
from rankprune.learners._probabilities import out_of_fold_probabilities

CELL: Cell = (0.5, 0.5)
IMAGE = "1"
# In units of one fit to all rows; the whole setting in units of the fits it contains.
RATIOS = ("estimate_per_fit", "algorithm_per_fit", "setting_per_fits")


def timing_units(dataset: str, seed: int) -> list[Unit]:
    """Return the only unit, which needs an otherwise idle processor."""
    keys = [_key(dataset, metric, seed) for metric in RATIOS]
    return [Unit(f"{dataset}, times", keys, partial(_measure, dataset, seed))]


def _key(dataset: str, metric: str, seed: int) -> Key:
    return Key(f"{dataset}, time", "logreg", metric, IMAGE, *CELL, "rp_estimated", seed)


def _measure(dataset: str, seed: int) -> list[Record]:
    values = (*_algorithm(dataset, seed), _setting(dataset, seed))
    n_train = len(load_images(dataset, "train").digits)
    return [
        Record(_key(dataset, metric, seed), value, n_train, "speed")
        for metric, value in zip(RATIOS, values, strict=True)
    ]


def _algorithm(dataset: str, seed: int) -> tuple[float, float]:
    """Return the time of the noise estimate and of the whole algorithm, in units of one fit."""
    X = load_images(dataset, "train").pixels
    labels = noisy_class(dataset, IMAGE, (CELL,), seed).column(0)
    model = LogisticRegression(max_iter=1000)

    def estimate() -> None:
        scores = out_of_fold_probabilities(model, X, labels, random_state=seed)
        estimate_noise_rates(labels, scores, method="confident-counts")

    whole = RankPruningClassifier(model, noise_estimator="confident-counts", random_state=seed)
    fit = _seconds(lambda: model.fit(X, labels))
    return _seconds(estimate) / fit, _seconds(lambda: whole.fit(X, labels)) / fit


def _setting(dataset: str, seed: int) -> float:
    """Return the time of one cell, with all images and methods, relative to its fits."""
    test = load_images(dataset, "test")
    stopwatch = Stopwatch()
    start = time.perf_counter()
    stopwatch.time(lambda: round_folds(dataset, seed))
    methods = [TRUE, *(name for name, recipe in RECIPES.items() if not recipe.needs_cleanlab)]
    for number, image in enumerate(DATA_SETS[dataset].images):
        run = LogisticRun(dataset, image, (CELL,), seed, stopwatch)
        out_of_fold = run.out_of_fold()
        for method in methods:
            scores = run.test_scores(method, out_of_fold)[:, 0]
            test_figures(test.digits == number, scores)
    return (time.perf_counter() - start) / stopwatch.seconds


def _seconds(work: Callable[[], object]) -> float:
    """Return the shorter time of two runs; the first one may include a warm-up."""
    times = []
    for _ in range(2):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)
