"""Angelova et al.: prune the rows whose labels most classifiers of other rows contradict."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import Interval
from sklearn.utils.parallel import Parallel, delayed

from rankprune.core._inputs import BoolArray, count_true
from rankprune.exceptions import ClassAlmostEmptiedWarning, warn_caller
from rankprune.learners._base import DelegatingClassifier, FitRows
from rankprune.learners._cloning import RandomState, draw_seed, fresh_clone, private_random_state
from rankprune.methods._resampling import draw_rows


class ConsistencyPruningClassifier(DelegatingClassifier):
    """Learn from noisy labels after pruning by votes (after Angelova et al. 2005).

    Parameters
    ----------
    estimator : classifier, default=None
        The classifier that votes, and that is fitted to the rows that are kept; cloned. Logistic
        regression by default.
    n_estimators : int, default=20
        Number of classifiers that vote, each fitted to a bootstrap sample of the rows.
    threshold : float, default=0.5
        A row is pruned if more than this share of the classifiers that did not see it predict the
        other label. With a threshold close to 1, only rows that nearly all classifiers contradict
        are pruned.
    pos_label, n_jobs, random_state, verbose
        As in `RankPruningClassifier`; ``n_jobs`` classifiers are fitted at the same time, and
        ``random_state`` draws the samples.

    Attributes
    ----------
    disagreement_ : ndarray of shape (n_rows,)
        Of the classifiers that did not see a row, the share that contradicts its label; 0 if all
        of them saw it.
    prune_mask_ : ndarray of bool of shape (n_rows,)
        True means dropped.
    estimator_, classes_, n_features_in_, feature_names_in_
        As in `RankPruningClassifier`.

    Notes
    -----
    It uses neither noise rates nor probabilities, so nothing compensates for correct rows that are
    pruned: as the paper notes, there is no theory about the rows that remain.

    Use it with estimators that give no probabilities, and with little noise that affects both
    classes alike. It fails with uneven noise: if most rows of one true class have the other label,
    the majority is wrong and the correct labels are pruned.

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
        **DelegatingClassifier._parameter_constraints,
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "threshold": [Interval(Real, 0, 1, closed="left")],
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
        """Prune the rows that the classifiers contradict, and fit the estimator to the rest.

        Parameters
        ----------
        X, y
            As in `RankPruningClassifier.fit`.
        sample_weight : array-like of shape (n_rows,), default=None
            Rows are drawn in proportion to their weights, which are also used in the final fit.

        Returns
        -------
        ConsistencyPruningClassifier
            The object itself.
        """
        rows = self._read(X, y, sample_weight)
        generator = private_random_state(self.random_state)
        self.disagreement_ = self._vote(rows, generator)
        counted = rows.status.counted
        mask = counted & (self.disagreement_ > self.threshold)
        self.prune_mask_ = _keep_both_classes(rows, mask, self.disagreement_)
        self._log("pruned %d of %d rows", count_true(self.prune_mask_), rows.n_rows)
        kept = np.flatnonzero(counted & ~self.prune_mask_)
        self._fit_estimator(
            rows,
            kept,
            rows.labels.is_positive[kept],
            None if rows.weight is None else rows.weight[kept],
            generator,
            "the weights have no effect on the final fit",
        )
        return self

    def _vote(self, rows: FitRows, generator: np.random.RandomState) -> NDArray[np.float64]:
        """Return the share of votes against each label, by classifiers that did not see the row."""
        counted = np.flatnonzero(rows.status.counted)
        bags = [_draw_bag(rows, counted, generator) for _ in range(self.n_estimators)]
        seeds = [draw_seed(generator) for _ in bags]
        votes = Parallel(n_jobs=self.n_jobs)(
            delayed(_contradict)(fresh_clone(self._base(), seed), rows, bag)
            for seed, bag in zip(seeds, bags, strict=True)
        )
        cast = np.sum([part for part, _ in votes], axis=0)
        against = np.sum([wrong for _, wrong in votes], axis=0)
        return np.asarray(against / np.maximum(cast, 1))


def _draw_bag(
    rows: FitRows, counted: NDArray[np.intp], generator: np.random.RandomState
) -> NDArray[np.intp]:
    """Return a bootstrap sample with at least one row of each class."""
    is_positive = rows.labels.is_positive
    bag = draw_rows(counted, len(counted), rows.weight, generator)
    for value in (True, False):
        if not (is_positive[bag] == value).any():
            bag[0] = generator.choice(counted[is_positive[counted] == value])
    return bag


def _contradict(
    estimator: Any, rows: FitRows, bag: NDArray[np.intp]
) -> tuple[BoolArray, BoolArray]:
    """Return which rows an estimator did not see, and which of their labels it contradicts."""
    is_positive = rows.labels.is_positive
    # The bag repeats rows in proportion to their weights, so the estimator need not take weights.
    estimator.fit(_safe_indexing(rows.X, bag), rows.y[bag])
    unseen = np.ones(rows.n_rows, dtype=bool)
    unseen[bag] = False
    wrong = np.zeros(rows.n_rows, dtype=bool)
    judged = np.flatnonzero(unseen)
    if judged.size:
        predicted = np.asarray(estimator.predict(_safe_indexing(rows.X, judged)) == rows.positive)
        wrong[judged] = predicted != is_positive[judged]
    return unseen, wrong


def _keep_both_classes(
    rows: FitRows, mask: BoolArray, disagreement: NDArray[np.float64]
) -> BoolArray:
    """Return the mask; if it prunes a whole class, keep the most credible row of that class."""
    kept = mask.copy()
    for value in (True, False):
        members = np.flatnonzero(rows.status.counted & (rows.labels.is_positive == value))
        if kept[members].all():
            kept[members[disagreement[members].argmin()]] = False
            warn_caller(
                "The votes contradict every row of a class; only its most credible row was kept. "
                "Use a higher threshold, or RankPruningClassifier.",
                ClassAlmostEmptiedWarning,
            )
    return kept
