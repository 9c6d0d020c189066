"""Mordelet and Vert: many classifiers, each with its own sample of unlabeled rows as negatives."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import MetaEstimatorMixin
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import Interval
from sklearn.utils.parallel import Parallel, delayed

from rankprune.learners._base import FitRows
from rankprune.learners._class_order import classes_to_fit
from rankprune.learners._cloning import (
    RandomState,
    copy_input_tags,
    default_estimator,
    draw_seed,
    fresh_clone,
    private_random_state,
)
from rankprune.learners._probabilities import positive_probability
from rankprune.learners._sample_weights import fit_weighted, warn_if_weights_are_lost
from rankprune.methods._pu import PUClassifier, labeled_and_unlabeled
from rankprune.methods._resampling import draw_rows


class BaggingPUClassifier(MetaEstimatorMixin, PUClassifier):  # type: ignore[misc]  # scikit-learn has no types
    """Learn from positive and unlabeled rows by bagging (Mordelet and Vert 2014).

    Parameters
    ----------
    estimator : classifier, default=None
        The classifier fitted to each bag; cloned. Logistic regression by default. If it has no
        ``predict_proba``, its predicted labels are used as votes.
    n_estimators : int, default=50
        Number of bags.
    max_samples : int, default=None
        Number of unlabeled rows that each bag draws, with replacement, and treats as negatives. By
        default as many as there are labeled rows, but no more than there are unlabeled ones.
    pos_label, n_jobs, random_state, verbose
        As in `RankPruningClassifier`; the positive label marks the labeled rows, ``n_jobs`` bags
        are fitted at the same time, and ``random_state`` draws them.

    Attributes
    ----------
    estimators_ : list of classifiers
        The fitted classifiers, one for each bag.
    out_of_bag_probabilities_ : ndarray of shape (n_rows,)
        Mean probability of each unlabeled row over the bags that did not draw it; NaN for labeled
        rows, for rows that every bag drew, and for rows of weight 0.
    classes_, n_features_in_, feature_names_in_
        As in `RankPruningClassifier`.

    Notes
    -----
    Each bag fits all labeled rows against a sample of the unlabeled ones. Some samples hold few
    hidden positives, which improves the mean probability over all bags. The source fits support
    vector machines and averages their distances to the boundary; here an estimator without
    ``predict_proba`` votes, so calibrate it for a finer ranking.

    Use it to rank unlabeled rows by their out-of-bag probabilities, especially if few rows are
    labeled. It does not estimate the number of positives, since balanced bags give balanced
    probabilities, and it assumes that the labeled rows are positive.

    References
    ----------
    F. Mordelet and J.-P. Vert: A Bagging SVM to Learn from Positive and Unlabeled Examples.
    Pattern Recognition Letters 37, 2014.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from rankprune import flip_labels
    >>> from rankprune.methods import BaggingPUClassifier
    >>> X, truth = make_classification(2000, class_sep=3, random_state=0)
    >>> y = flip_labels(truth, positive_noise_rate=0.9, negative_noise_rate=0, random_state=0)
    >>> model = BaggingPUClassifier(random_state=0).fit(X, y)
    >>> bool(model.score(X, truth) > 0.9)
    True
    """

    _model_attribute = "estimators_"
    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's convention)
        **PUClassifier._parameter_constraints,
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "max_samples": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 50,
        max_samples: int | None = None,
        pos_label: Any = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.pos_label = pos_label
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> BaggingPUClassifier:
        """Fit the estimator to each bag.

        Parameters
        ----------
        X, y
            As in `RankPruningClassifier.fit`; the positive label means labeled.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of the labeled rows in every fit; unlabeled rows are drawn in proportion to
            their weights.

        Returns
        -------
        BaggingPUClassifier
            The object itself.
        """
        rows = self._read(X, y, sample_weight)
        generator = private_random_state(self.random_state)
        labeled, unlabeled = labeled_and_unlabeled(rows)
        size = self.max_samples or min(len(labeled), len(unlabeled))
        bags = [
            draw_rows(unlabeled, size, rows.weight, generator) for _ in range(self.n_estimators)
        ]
        weight = None if rows.weight is None else rows.weight[labeled]
        warn_if_weights_are_lost(self._base(), weight, "all labeled rows count the same")
        self._log("fitting %d bags of %d unlabeled rows", len(bags), size)
        seeds = [draw_seed(generator) for _ in bags]
        fitted = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit_bag)(fresh_clone(self._base(), seed), rows, labeled, bag, unlabeled)
            for seed, bag in zip(seeds, bags, strict=True)
        )
        self._keep_features(fitted[0][0])
        scores = np.array([part for _, part in fitted])
        seen = ~np.isnan(scores)
        with np.errstate(invalid="ignore"):  # a row that every bag drew has no mean
            means = np.where(seen, scores, 0).sum(axis=0) / seen.sum(axis=0)
        self.out_of_bag_probabilities_ = np.full(rows.n_rows, np.nan)
        self.out_of_bag_probabilities_[unlabeled] = means
        self.estimators_ = [estimator for estimator, _ in fitted]
        return self

    def _base(self) -> Any:
        return default_estimator() if self.estimator is None else self.estimator

    def _positive_probability(self, X: Any) -> NDArray[np.float64]:
        scores = [
            _probability(estimator, X, self.classes_, self._positive_column_)
            for estimator in self.estimators_
        ]
        return np.asarray(np.mean(scores, axis=0))

    def __sklearn_tags__(self) -> Any:
        return copy_input_tags(super().__sklearn_tags__(), self._base())


def _fit_bag(
    estimator: Any,
    rows: FitRows,
    labeled: NDArray[np.intp],
    bag: NDArray[np.intp],
    unlabeled: NDArray[np.intp],
) -> tuple[Any, NDArray[np.float64]]:
    """Return the estimator of a bag, and its scores for the unlabeled rows that it did not draw."""
    chosen = np.concatenate([labeled, bag])
    weights = None
    if rows.weight is not None:
        # Rows are drawn in proportion to their weights, so each of them gets the mean weight.
        own = rows.weight[labeled]
        weights = np.concatenate([own, np.full(len(bag), own.mean())])
    fit_weighted(estimator, _safe_indexing(rows.X, chosen), rows.y[chosen], weights)
    scores = np.full(len(unlabeled), np.nan)
    left_out = ~np.isin(unlabeled, bag)
    if left_out.any():
        held_out = _safe_indexing(rows.X, unlabeled[left_out])
        scores[left_out] = _probability(
            estimator, held_out, rows.labels.classes, rows.labels.positive_column
        )
    return estimator, scores


def _probability(estimator: Any, X: Any, classes: NDArray[Any], column: int) -> NDArray[np.float64]:
    """Return P(labeled) from one estimator, or its vote."""
    if hasattr(estimator, "predict_proba"):
        return positive_probability(estimator, X, classes, column)
    return np.asarray(estimator.predict(X) == classes_to_fit(classes)[column], dtype=np.float64)
