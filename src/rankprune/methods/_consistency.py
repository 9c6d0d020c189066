"""Angelova et al.: rows that classifiers of other rows keep contradicting are pruned."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import Interval
from sklearn.utils.parallel import Parallel, delayed

from rankprune._fitting import (
    RandomState,
    draw_seed,
    fresh_clone,
    private_random_state,
)
from rankprune._learners import DelegatingClassifier, Table
from rankprune.core._inputs import BoolArray, count_true
from rankprune.exceptions import ClassAlmostEmptiedWarning, warn_caller
from rankprune.methods._resampling import draw_rows


class ConsistencyPruningClassifier(DelegatingClassifier):
    """Learn from noisy labels after pruning by votes (after Angelova et al. 2005).

    Parameters
    ----------
    estimator : classifier, default=None
        What votes, and what is fitted to the rows that are kept; cloned. Logistic regression by
        default.
    n_estimators : int, default=20
        Classifiers that vote, each fitted to a bootstrap sample of the rows.
    threshold : float, default=0.5
        A row is pruned if more than this share of the classifiers that did not see it give it the
        other label. Close to 1 only rows are pruned that nearly all contradict.
    pos_label : default=None
        The positive label; the larger of the two values by default.
    n_jobs : int, default=None
        Classifiers fitted at the same time. Does not change the result.
    random_state : int, RandomState or None, default=None
        Draws the samples, and seeds estimators whose own ``random_state`` is None.
    verbose : int, default=0
        As in `RankPruningClassifier`.

    Attributes
    ----------
    disagreement_ : ndarray of shape (n_rows,)
        Share of the classifiers that contradict each label, 0 for rows that all of them saw.
    prune_mask_ : ndarray of bool of shape (n_rows,)
        True means dropped.
    estimator_, classes_, n_features_in_, feature_names_in_
        As in `RankPruningClassifier`.

    Notes
    -----
    Neither noise rates nor probabilities are used, so nothing makes up for rows that are lost: as
    the paper says, there is no theory of what remains.

    Use it with estimators that have no probabilities, and little, even noise. It fails with uneven
    noise: where most rows of one true class carry the other label, the majority is wrong and the
    right labels are pruned.

    References
    ----------
    A. Angelova, Y. Abu-Mostafa and P. Perona: Pruning Training Sets for Learning of Object
    Categories. CVPR 2005.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from rankprune import flip_labels
    >>> from rankprune.methods import ConsistencyPruningClassifier
    >>> X, truth = make_classification(2000, class_sep=3, random_state=0)
    >>> y = flip_labels(truth, positive_noise_rate=0.2, negative_noise_rate=0.2, random_state=0)
    >>> model = ConsistencyPruningClassifier(random_state=0).fit(X, y)
    >>> bool(model.score(X, truth) > 0.97), bool((model.prune_mask_ == (y != truth)).mean() > 0.97)
    (True, True)
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's convention)
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "threshold": [Interval(Real, 0, 1, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 20,
        threshold: float = 0.5,
        pos_label: Any = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.threshold = threshold
        self.pos_label = pos_label
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> ConsistencyPruningClassifier:
        """Let the classifiers vote, prune, and fit the estimator to what is left.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or list of shape (n_rows, ...)
            Anything the estimator takes and whose rows can be selected.
        y : array-like of shape (n_rows,)
            Given labels, of any two values, some of them wrong.
        sample_weight : array-like of shape (n_rows,), default=None
            Rows are drawn as often as their weights say, and have them in the final fit.

        Returns
        -------
        ConsistencyPruningClassifier
            The object itself.
        """
        table = self._read(X, y, sample_weight)
        generator = private_random_state(self.random_state)
        self.disagreement_ = self._vote(table, generator)
        counted = table.doubt.counted
        mask = counted & (self.disagreement_ > self.threshold)
        self.prune_mask_ = _keep_both_classes(table, mask, self.disagreement_)
        self._log("pruned %d of %d rows", count_true(self.prune_mask_), table.n_rows)
        rows = np.flatnonzero(counted & ~self.prune_mask_)
        self._fit_estimator(
            table,
            rows,
            table.labels.is_positive[rows],
            None if table.weight is None else table.weight[rows],
            generator,
            "they have no effect on the final fit",
        )
        return self

    def _vote(self, table: Table, generator: np.random.RandomState) -> NDArray[np.float64]:
        """Return the share of classifiers that contradict each row they did not see."""
        counted = np.flatnonzero(table.doubt.counted)
        bags = [_draw_bag(table, counted, generator) for _ in range(self.n_estimators)]
        seeds = [draw_seed(generator) for _ in bags]
        votes = Parallel(n_jobs=self.n_jobs)(
            delayed(_contradict)(fresh_clone(self._base(), seed), table, bag)
            for seed, bag in zip(seeds, bags, strict=True)
        )
        cast = np.sum([rows for rows, _ in votes], axis=0)
        against = np.sum([wrong for _, wrong in votes], axis=0)
        return np.asarray(against / np.maximum(cast, 1))


def _draw_bag(
    table: Table, rows: NDArray[np.intp], generator: np.random.RandomState
) -> NDArray[np.intp]:
    """Return a bootstrap sample, with one row of each class at least."""
    is_positive = table.labels.is_positive
    bag = draw_rows(rows, len(rows), table.weight, generator)
    for value in (True, False):
        if not (is_positive[bag] == value).any():
            bag[0] = generator.choice(rows[is_positive[rows] == value])
    return bag


def _contradict(estimator: Any, table: Table, bag: NDArray[np.intp]) -> tuple[BoolArray, BoolArray]:
    """Return which rows an estimator did not see, and whose labels among those it contradicts."""
    is_positive = table.labels.is_positive
    # A sample repeats rows, which says as much as weights do and needs no estimator to take any.
    estimator.fit(_safe_indexing(table.X, bag), table.y[bag])
    unseen = np.ones(table.n_rows, dtype=bool)
    unseen[bag] = False
    wrong = np.zeros(table.n_rows, dtype=bool)
    rows = np.flatnonzero(unseen)
    if rows.size:
        predicted = np.asarray(estimator.predict(_safe_indexing(table.X, rows)) == table.positive)
        wrong[rows] = predicted != is_positive[rows]
    return unseen, wrong


def _keep_both_classes(
    table: Table, mask: BoolArray, disagreement: NDArray[np.float64]
) -> BoolArray:
    """Return the mask with the most believable row of a class put back where it would empty it."""
    kept = mask.copy()
    for value in (True, False):
        members = np.flatnonzero(table.doubt.counted & (table.labels.is_positive == value))
        if kept[members].all():
            kept[members[disagreement[members].argmin()]] = False
            warn_caller(
                "The votes contradict every row of a class; its most believable one was kept. Use "
                "a higher threshold, or RankPruningClassifier.",
                ClassAlmostEmptiedWarning,
            )
    return kept
