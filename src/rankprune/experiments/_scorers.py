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
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import average_precision_score
from sklearn.neighbors import NearestNeighbors

from rankprune.classifier import RankPruningClassifier
from rankprune.comparison._measure import trusted_figures
from rankprune.core import NoiseRates, Verdict, estimate_noise_rates, prune_labels
from rankprune.core._answer import answered_rates
from rankprune.core._inputs import Inputs, validate_labels
from rankprune.core._verdict import judge
from rankprune.experiments._bank import MODELS, N_FOLDS, Problem, Split, flipped
from rankprune.experiments._cache import cached, file_name
from rankprune.experiments._estimates import VERDICTS, four_rates, true_rates
from rankprune.learners._committee import LEAVES, ROUNDS, Boosting
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
    "committee of 0.1": Way({"own": 1, "forest": 1, "long boosting": 1}),
    "extra trees": Way({"trees": 1}),
    "with-trees, all once": Way({"own": 1, "trees": 1}),
    "with-trees": Way({"own": 1, "trees": 2}),
    "extra trees and long boosting": Way({"long boosting": 1, "trees": 1}),
    "committee, all once": Way({"own": 1, "long boosting": 1, "trees": 1}),
    "committee, long boosting": Way({"own": 1, "long boosting": 1, "trees": 2}),
    "committee, 50 rounds": Way({"own": 1, "boosting, 50 rounds": 1, "trees": 2}),
    "committee": Way({"own": 1, "boosting": 1, "trees": 2}),
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
        name: cached(f"scorer-part-{_slug(problem, noise, name)}", partial(compute, score))
        for name, score in PARTS.items()
    }
    return Scored(
        labels,
        {name: arrays["scores"] for name, arrays in found.items()},
        {name: float(arrays["seconds"]) for name, arrays in found.items()},
    )


def _slug(problem: Problem, noise: str, what: str) -> str:
    return file_name(f"{what}-{problem.name}-{noise}")


def _folds(make: Callable[[], Any], *, seed: int = 0) -> Callable[..., Scores]:
    def score(split: Split, labels: NDArray[np.bool_]) -> Scores:
        return out_of_fold_probabilities(make(), split.X, labels, cv=N_FOLDS, random_state=seed)

    return score


def _repeated(split: Split, labels: NDArray[np.bool_]) -> Scores:
    runs = [_folds(MODELS[OWN], seed=seed)(split, labels) for seed in range(N_REPEATS)]
    return np.asarray(np.mean(runs, axis=0))


def _trees(split: Split, labels: NDArray[np.bool_]) -> Scores:
    given = validate_labels(labels)
    return OutOfBag(as_features(split.X)).score(given, None, None, seed=0, n_jobs=1)


PARTS: dict[str, Callable[..., Scores]] = {
    "own": _folds(MODELS[OWN]),
    "own, repeated": _repeated,
    "forest": _folds(RandomForestClassifier),
    "long boosting": _folds(Boosting),
    "boosting, 50 rounds": _folds(partial(Boosting, max_iter=50)),
    "boosting": _folds(partial(Boosting, max_iter=ROUNDS, max_leaf_nodes=LEAVES)),
    "trees": _trees,
}


# How rows may be ordered: by the probability of the other label (cleanlab's self-confidence, and
# for two labels the order of its margin); by that minus its mean over the rows with the same given
# label; and by the margin to the cut-off of the given label, as `rank_suspects` does.
ORDERS = ("probability", "probability minus class mean", "margin to cut-off")


class Figures(NamedTuple):
    """What a way of scoring says about one problem.

    Attributes
    ----------
    all_rows, suspects : ndarray of shape (3,)
        Average precision of the wrong labels among all rows, and among the suspects alone, by each
        of `ORDERS`. NaN if none is wrong.
    rate_error : float
        Mean absolute error of the four rates.
    verdict : int
        Index into `VERDICTS`.
    """

    all_rows: Scores
    suspects: Scores
    rate_error: float
    verdict: int


@dataclass(frozen=True)
class Judged:
    """The rates and the verdict that follow from a way of scoring."""

    scores: Scores
    rates: NoiseRates
    verdict: Verdict


def figures(problem: Problem, split: Split, noise: str, way: str) -> Figures:
    """Return the figures of one way of scoring, cached."""

    def compute() -> dict[str, NDArray[Any]]:
        found = scored(problem, split, noise)
        measured = _figures(split, found.labels, _judged(found, WAYS[way]))
        return {name: np.asarray(value) for name, value in measured._asdict().items()}

    arrays: dict[str, Any] = cached(f"scorer-ranking-{_slug(problem, noise, way)}", compute)
    return Figures(**arrays)


def outcomes(problem: Problem, split: Split, noise: str, way: str | None) -> Scores:
    """Return F1, error and average precision of the final models on true labels, cached.

    Models are fitted to all given labels if no way of scoring is named, or if the verdict is that
    the labels are clean.
    """

    def compute() -> dict[str, NDArray[Any]]:
        found = scored(problem, split, noise)
        judged = None if way is None else _judged(found, WAYS[way])
        with warnings.catch_warnings():
            # Weak models on noisy labels are intended here.
            warnings.simplefilter("ignore")
            fitted = [_fit(split, found.labels, judged, model) for model in FINAL_MODELS]
        return {"outcomes": np.array([_outcome(model, split) for model in fitted])}

    return cached(f"scorer-outcomes-{_slug(problem, noise, way or 'none')}", compute)["outcomes"]


def _judged(found: Scored, way: Way) -> Judged:
    labels, scores = found.labels, way.scores(found.parts)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rates = estimate_noise_rates(labels, scores)
        verdict = judge(Inputs(labels, scores, None), n_opinions=len(way.parts), estimated=rates)
    return Judged(scores, rates, verdict)


def _fit(split: Split, labels: NDArray[np.bool_], judged: Judged | None, model: str) -> Any:
    final = MODELS[model]()
    if judged is None:
        return final.fit(split.X, labels)
    used = answered_rates(judged.verdict, judged.rates)
    learner = RankPruningClassifier(final, noise_estimator=lambda *_, **__: used)
    return learner.fit(split.X, labels, probabilities=judged.scores)


def _figures(split: Split, labels: NDArray[np.bool_], judged: Judged) -> Figures:
    wrong = labels != split.true_labels
    mask = prune_labels(labels, judged.scores, judged.rates).mask
    by = orders(labels, judged.scores, mask)
    truth = true_rates(split.true_labels, labels)
    return Figures(
        np.array([_average_precision(wrong, order) for order in by]),
        np.array([_average_precision(wrong[mask], order[mask]) for order in by]),
        float(np.abs(four_rates(judged.rates) - truth).mean()),
        VERDICTS.index(judged.verdict.level),
    )


def orders(
    labels: NDArray[np.bool_], scores: Scores, mask: NDArray[np.bool_]
) -> tuple[Scores, ...]:
    """Return the suspicion of every row by each of `ORDERS`.

    The cut-off of a label without suspects is that of its most suspicious row.
    """
    suspicion = np.where(labels, 1 - scores, scores)
    by_class, by_margin = suspicion.copy(), suspicion.copy()
    for label in (False, True):
        rows = labels == label
        by_class[rows] -= suspicion[rows].mean()
        pruned = suspicion[rows & mask]
        by_margin[rows] -= pruned.min() if len(pruned) else suspicion[rows].max()
    return suspicion, by_class, by_margin


def _average_precision(wrong: NDArray[np.bool_], order: Scores) -> float:
    if not wrong.any():
        return float("nan")
    return float(average_precision_score(wrong, order))


def _outcome(fitted: Any, split: Split) -> list[float]:
    predicted = np.asarray(fitted.predict(split.X_test)).astype(bool)
    probabilities = np.asarray(fitted.predict_proba(split.X_test)[:, 1])
    f1, error, _, precision, _ = trusted_figures(split.true_test_labels, predicted, probabilities)
    return [float(f1 or 0.0), float(error or 0.0), float(precision or 0.0)]
