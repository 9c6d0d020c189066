"""Out-of-bag probabilities: every row is scored by the trees that were not fitted to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.tree import ExtraTreeClassifier
from sklearn.utils import check_array
from sklearn.utils.parallel import Parallel, delayed

from rankprune.core._inputs import BinaryLabels
from rankprune.core.classes._class_labels import Labels
from rankprune.learners._progress import log_progress

N_TREES, MIN_LEAF = 200, 3
# Most draws for one tree: more rows would only make its leaves finer, not its scores better.
MAX_DRAWS = 50_000
# Share of the rows that a tree scores if it could score more: as many as a bootstrap leaves out.
_SCORED_SHARE = float(np.exp(-1))
# Trees whose scores are added up first, so that the sum does not depend on n_jobs.
_BLOCK = 25


class Trees(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Extra trees with leaves of at least three rows, fitted to draws of limited size."""

    def __init__(self, random_state: Any = None) -> None:
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: NDArray[np.float64] | None = None) -> Trees:
        """Fit each tree to rows drawn with replacement."""
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        self.model_ = ExtraTreesClassifier(
            N_TREES,
            min_samples_leaf=MIN_LEAF,
            bootstrap=True,
            max_samples=min(MAX_DRAWS, n_rows),
            random_state=self.random_state,
        ).fit(X, y, sample_weight)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the more probable class of each row."""
        return np.asarray(self.model_.predict(X))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class."""
        return np.asarray(self.model_.predict_proba(X))


@dataclass(frozen=True)
class OutOfBag:
    """Rows that `Trees` score although all of them are fitted to.

    Attributes
    ----------
    features : ndarray of float32 or CSR matrix
        Prepared without the labels, so that a row's own label cannot reach its score.
    units : ndarray of int of shape (n_rows,) or None
        Numbers below n_rows, equal for copies of a row: these are drawn together, because a tree
        repeats the label of a copy. None if each row is drawn by itself.
    """

    features: Any
    units: NDArray[np.intp] | None = None

    def score(
        self,
        labels: Labels,
        sample_weight: NDArray[np.float64] | None,
        is_trained_on: NDArray[np.bool_] | None,
        seed: int,
        n_jobs: int | None,
    ) -> NDArray[np.float64]:
        """Return P(positive) or P(each class) of every row, the mean over trees not fitted to it.

        A row that all trees were fitted to gets the shares of the classes among the others.
        """
        n_rows, n_classes = len(labels), len(labels.classes)
        weight = np.ones(n_rows) if sample_weight is None else sample_weight
        trained = weight > 0 if is_trained_on is None else is_trained_on & (weight > 0)
        units = np.arange(n_rows) if self.units is None else self.units
        drawn_from = np.flatnonzero(np.bincount(units[trained], minlength=n_rows))
        draws = _Draws(self.features, labels.codes, n_classes, weight, trained, units, drawn_from)
        seeds = np.random.RandomState(seed).randint(np.iinfo(np.int32).max, size=N_TREES)
        total, times = np.zeros((n_rows, n_classes)), np.zeros(n_rows)
        for number, (part, scored) in enumerate(_blocks(draws, seeds, n_jobs), start=1):
            log_progress(
                "fitted %d of %d trees", "scoring rows", min(number * _BLOCK, N_TREES), N_TREES
            )
            total += part
            times += scored
        scores: NDArray[np.float64] = total / np.maximum(times, 1)[:, None]
        unscored = times == 0
        scores[unscored] = draws.shares_of_others()[unscored] if unscored.any() else 0.0
        if isinstance(labels, BinaryLabels):
            return np.ascontiguousarray(scores[:, labels.positive_column])
        return scores


@dataclass(frozen=True)
class _Draws:
    """What the trees are fitted to.

    Attributes
    ----------
    features, codes, weight, trained, units : one entry per row
    n_classes : int
    drawn_from : ndarray of int
        The units with rows to train on.
    """

    features: Any
    codes: NDArray[np.intp]
    n_classes: int
    weight: NDArray[np.float64]
    trained: NDArray[np.bool_]
    units: NDArray[np.intp]
    drawn_from: NDArray[np.intp]

    def block(self, seeds: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the sums of the scores of some trees, and the number of trees behind each."""
        n_rows = len(self.units)
        total, times = np.zeros((n_rows, self.n_classes)), np.zeros(n_rows)
        for seed in seeds.tolist():
            counts, scored = self._draw(np.random.default_rng(seed))
            rows = np.flatnonzero((counts > 0) & self.trained)
            tree = ExtraTreeClassifier(
                min_samples_leaf=MIN_LEAF, max_features="sqrt", random_state=seed
            )
            tree.fit(self.features[rows], self.codes[rows], counts[rows] * self.weight[rows])
            if len(scored):
                columns = tree.predict_proba(self.features[scored])
                # A draw may lack classes.
                total[np.ix_(scored, tree.classes_)] += columns
                times[scored] += 1
        return total, times

    def shares_of_others(self) -> NDArray[np.float64]:
        """Return the share of each class among the rows of other units, equal without such rows."""
        n_rows, k = len(self.units), self.n_classes
        mass = np.where(self.trained, self.weight, 0.0)
        members = np.empty((n_rows, k))
        for column in range(k):
            part = mass * (self.codes == column)
            members[:, column] = part.sum() - np.bincount(self.units, part, n_rows)[self.units]
        members = members.clip(0.0)
        others = members.sum(axis=1, keepdims=True)
        shares = np.full((n_rows, k), 1 / k)
        np.divide(members, others, out=shares, where=others > 0)
        return shares

    def _draw(self, generator: np.random.Generator) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return how often each row is drawn, and the rows to score."""
        n_rows, n_units = len(self.units), len(self.drawn_from)
        n_draws = min(n_units, MAX_DRAWS)
        drawn = self.drawn_from[generator.integers(0, n_units, n_draws)]
        counts = np.bincount(drawn, minlength=n_rows)[self.units]
        left_out = counts == 0
        if n_draws < n_units:
            left_out &= generator.random(n_rows) < _SCORED_SHARE
        return counts, np.flatnonzero(left_out)


def as_features(X: Any) -> Any:
    """Return a table of numbers in the form that trees read without another copy."""
    return check_array(X, accept_sparse="csr", dtype=np.float32, ensure_all_finite="allow-nan")


def _blocks(
    draws: _Draws, seeds: NDArray[np.int64], n_jobs: int | None
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    parts = [seeds[start : start + _BLOCK] for start in range(0, len(seeds), _BLOCK)]
    if effective_n_jobs(n_jobs) == 1:
        return map(draws.block, parts)
    # Trees release the interpreter lock, so threads need no copies of the table.
    calls = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
    return iter(calls(delayed(partial(draws.block, part))() for part in parts))
