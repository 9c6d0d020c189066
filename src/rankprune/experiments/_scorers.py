"""Ways to score the rows, measured on every problem of the bank under four kinds of noise."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import average_precision_score
from sklearn.neighbors import NearestNeighbors

from rankprune.classifier import RankPruningClassifier
from rankprune.comparison._measure import trusted_figures
from rankprune.core import estimate_noise_rates, prune_labels
from rankprune.core._answer import answered_rates
from rankprune.core._inputs import Inputs
from rankprune.core._pruning import order_pruned
from rankprune.core._verdict import judge
from rankprune.experiments._bank import MODELS, N_FOLDS, Problem, Split, flipped
from rankprune.experiments._cache import cached, file_name
from rankprune.experiments._estimates import VERDICTS, four_rates, true_rates
from rankprune.learners._committee import Boosting
from rankprune.learners._out_of_bag import OutOfBag, as_features
from rankprune.learners._probabilities import out_of_fold_probabilities

Scores = NDArray[np.float64]

# Class-conditional noise by (rho1, pi1), and noise that follows difficulty by the share of each
# class that is flipped.
NOISES: dict[str, tuple[float, float] | float] = {
    "clean": (0.0, 0.0),
    "20 % and 20 %": (0.2, 0.2),
    "half the positives": (0.5, 0.0),
    "hard rows": 0.25,
}
# Neighbors whose labels say how hard a row is; no scorer uses neighbors.
_N_NEIGHBORS = 15
_EASIEST = 0.05
# The classifiers fitted in the end; the first is also the estimator that a committee starts from.
FINAL_MODELS = ("logistic", "neighbours")
OWN = "logistic"
N_REPEATS = 5


@dataclass(frozen=True)
class Way:
    """A way to score rows: how often each part counts in the mean."""

    parts: Mapping[str, int]

    def scores(self, parts: Mapping[str, Scores]) -> Scores:
        """Return the mean of the parts."""
        times = list(self.parts.values())
        columns = np.column_stack([parts[name] for name in self.parts])
        return np.asarray(np.average(columns, axis=1, weights=times))


WAYS: dict[str, Way] = {
    "estimator": Way({"own": 1}),
    "estimator, folds repeated": Way({"own, repeated": 1}),
    "committee of 0.1": Way({"own": 1, "forest": 1, "boosting": 1}),
    "extra trees": Way({"trees": 1}),
    "with-trees": Way({"own": 1, "trees": 1}),
    "with-trees, trees twice": Way({"own": 1, "trees": 2}),
    "committee": Way({"own": 1, "boosting": 1, "trees": 2}),
    "committee, 50 rounds": Way({"own": 1, "boosting, 50 rounds": 1, "trees": 2}),
    "committee, 50 rounds of 15 leaves": Way(
        {"own": 1, "boosting, 50 rounds of 15 leaves": 1, "trees": 2}
    ),
    "committee, all once": Way({"own": 1, "boosting": 1, "trees": 1}),
    "extra trees and boosting": Way({"boosting": 1, "trees": 1}),
}


def noisy_labels(split: Split, noise: str) -> NDArray[np.bool_]:
    """Return the split's labels with one kind of noise."""
    level = NOISES[noise]
    if isinstance(level, tuple):
        return flipped(split, level)
    return _flip_hard_rows(split, level)


def _flip_hard_rows(split: Split, share: float) -> NDArray[np.bool_]:
    """Flip a share of each class, rows with more neighbors of the other class more often."""
    truth = split.true_labels
    n_neighbors = min(_N_NEIGHBORS, len(truth) - 1)
    near = NearestNeighbors(n_neighbors=n_neighbors).fit(split.X).kneighbors(return_distance=False)
    hardness = (truth[near] != truth[:, None]).mean(axis=1) + _EASIEST
    generator = np.random.default_rng(0)
    labels = truth.copy()
    for label in (True, False):
        members = np.flatnonzero(truth == label)
        odds = hardness[members] / hardness[members].sum()
        n_flipped = round(share * len(members))
        labels[generator.choice(members, n_flipped, replace=False, p=odds)] = not label
    return labels


class Scored(NamedTuple):
    """The scores of each part, and the CPU seconds that they took."""

    labels: NDArray[np.bool_]
    parts: dict[str, Scores]
    seconds: dict[str, float]


def scored(problem: Problem, split: Split, noise: str) -> Scored:
    """Return noisy labels and the scores of all parts, cached."""
    labels = noisy_labels(split, noise)

    def compute(score: Callable[..., Scores]) -> dict[str, NDArray[Any]]:
        began = time.process_time()
        scores = score(split, labels)
        return {"scores": scores, "seconds": np.array(time.process_time() - began)}

    found = {
        name: cached(
            f"scorer-part-{file_name(name)}-{_slug(problem, noise)}", partial(compute, score)
        )
        for name, score in PARTS.items()
    }
    return Scored(
        labels,
        {name: arrays["scores"] for name, arrays in found.items()},
        {name: float(arrays["seconds"]) for name, arrays in found.items()},
    )


def _slug(problem: Problem, noise: str) -> str:
    return file_name(f"{problem.name}-{noise}")


def _folds(make: Callable[[], Any], *, seed: int = 0) -> Callable[..., Scores]:
    def score(split: Split, labels: NDArray[np.bool_]) -> Scores:
        return out_of_fold_probabilities(make(), split.X, labels, cv=N_FOLDS, random_state=seed)

    return score


def _repeated(split: Split, labels: NDArray[np.bool_]) -> Scores:
    runs = [_folds(MODELS[OWN], seed=seed)(split, labels) for seed in range(N_REPEATS)]
    return np.asarray(np.mean(runs, axis=0))


def _trees(split: Split, labels: NDArray[np.bool_]) -> Scores:
    return OutOfBag(as_features(split.X)).score(labels, None, None, seed=0, n_jobs=1)


def _short_boosting(n_leaves: int) -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(
        max_iter=50, max_leaf_nodes=n_leaves, early_stopping=False
    )


PARTS: dict[str, Callable[..., Scores]] = {
    "own": _folds(MODELS[OWN]),
    "own, repeated": _repeated,
    "forest": _folds(RandomForestClassifier),
    "boosting": _folds(Boosting),
    "boosting, 50 rounds": _folds(partial(_short_boosting, 31)),
    "boosting, 50 rounds of 15 leaves": _folds(partial(_short_boosting, 15)),
    "trees": _trees,
}


class Figures(NamedTuple):
    """What a way of scoring achieves on one problem.

    Attributes
    ----------
    by_probability, by_class : float
        Average precision of the wrong labels, among all rows sorted by the probability of the other
        label, and by that minus its mean over the rows with the same given label; NaN if all labels
        are right.
    in_list : tuple of three float
        The same among the suspects alone: by probability, by class, and by the margin to the
        cut-off of the given label. NaN if there are no suspects, or all or none of them are wrong.
    rate_error : float
        Mean absolute error of the four rates.
    verdict : int
        Index into `VERDICTS`.
    outcomes : ndarray of shape (final models, 3)
        F1, error and average precision of the final models on true labels. Nothing is pruned if
        the verdict is that the labels are clean.
    """

    by_probability: float
    by_class: float
    in_list: tuple[float, float, float]
    rate_error: float
    verdict: int
    outcomes: Scores


def figures(problem: Problem, split: Split, noise: str) -> dict[str, Figures]:
    """Return the figures of every way to score, cached."""

    def compute(found: Scored, way: Way) -> dict[str, NDArray[Any]]:
        return _plain_arrays(_figures(split, found, way))

    names = [(way, f"scorer-figures-{file_name(way)}-{_slug(problem, noise)}") for way in WAYS]
    found = scored(problem, split, noise)
    with warnings.catch_warnings():
        # Weak models on noisy labels are intended here.
        warnings.simplefilter("ignore")
        return {
            way: _from_arrays(cached(name, partial(compute, found, WAYS[way])))
            for way, name in names
        }


def plain_fits(problem: Problem, split: Split, noise: str) -> Scores:
    """Return the outcomes of final models fitted to all given labels, cached."""

    def compute() -> dict[str, NDArray[Any]]:
        labels = noisy_labels(split, noise)
        rows = [_outcome(MODELS[model]().fit(split.X, labels), split) for model in FINAL_MODELS]
        return {"outcomes": np.array(rows)}

    return cached(f"scorer-plain-{_slug(problem, noise)}", compute)["outcomes"]


def _figures(split: Split, found: Scored, way: Way) -> Figures:
    labels, scores = found.labels, way.scores(found.parts)
    wrong = labels != split.true_labels
    rates = estimate_noise_rates(labels, scores)
    members = [Inputs(labels, found.parts[name], None) for name in way.parts]
    verdict = judge(Inputs(labels, scores, None), members, estimated=rates)
    suspicion, by_class = orders(labels, scores)
    pruning = prune_labels(labels, scores, rates)
    cutoffs = (pruning.positive_cutoff, pruning.negative_cutoff)
    listed = order_pruned(labels, scores, pruning.mask, cutoffs)
    margins = np.zeros(len(labels))
    margins[listed.rows] = listed.margins
    in_list = [
        _average_precision(wrong[pruning.mask], order[pruning.mask])
        for order in (suspicion, by_class, margins)
    ]
    used = answered_rates(verdict, rates)
    final = [
        RankPruningClassifier(MODELS[model](), noise_estimator=lambda *_, **__: used).fit(
            split.X, labels, probabilities=scores
        )
        for model in FINAL_MODELS
    ]
    truth = true_rates(split.true_labels, labels)
    return Figures(
        _average_precision(wrong, suspicion),
        _average_precision(wrong, by_class),
        (in_list[0], in_list[1], in_list[2]),
        float(np.abs(four_rates(rates) - truth).mean()),
        VERDICTS.index(verdict.level),
        np.array([_outcome(model, split) for model in final]),
    )


def orders(labels: NDArray[np.bool_], scores: Scores) -> tuple[Scores, Scores]:
    """Return the probability of the other label, and that minus the mean of the same label."""
    suspicion = np.where(labels, 1 - scores, scores)
    means = [suspicion[labels == label].mean() for label in (False, True)]
    return suspicion, suspicion - np.where(labels, means[1], means[0])


def _average_precision(wrong: NDArray[np.bool_], order: Scores) -> float:
    if wrong.all() or not wrong.any():
        return float("nan")
    return float(average_precision_score(wrong, order))


def _outcome(fitted: Any, split: Split) -> list[float]:
    predicted = np.asarray(fitted.predict(split.X_test)).astype(bool)
    probabilities = np.asarray(fitted.predict_proba(split.X_test)[:, 1])
    f1, error, _, precision, _ = trusted_figures(split.true_test_labels, predicted, probabilities)
    return [float(f1 or 0.0), float(error or 0.0), float(precision or 0.0)]


def _plain_arrays(figures: Figures) -> dict[str, NDArray[Any]]:
    return {name: np.asarray(value) for name, value in figures._asdict().items()}


def _from_arrays(arrays: Mapping[str, NDArray[Any]]) -> Figures:
    return Figures(**arrays)  # type: ignore[arg-type]  # arrays of no dimension are numbers
