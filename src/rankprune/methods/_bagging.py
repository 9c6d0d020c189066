"""Mordelet and Vert: many classifiers, each of which takes other unlabeled rows for negatives."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import MetaEstimatorMixin
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import Interval
from sklearn.utils.parallel import Parallel, delayed

from rankprune._fitting import (
    RandomState,
    copy_input_tags,
    default_estimator,
    draw_seed,
    fit_weighted,
    fresh_clone,
    private_random_state,
    warn_if_weights_are_lost,
)
from rankprune._learners import Table
from rankprune.methods._pu import PUClassifier, labeled_and_unlabeled
from rankprune.methods._resampling import draw_rows


class BaggingPUClassifier(MetaEstimatorMixin, PUClassifier):  # type: ignore[misc]  # scikit-learn has no types
    """Learn from positive and unlabeled rows by bagging (Mordelet and Vert 2014).

    Parameters
    ----------
    estimator : classifier, default=None
        What each bag fits; cloned. Logistic regression by default. One without ``predict_proba``
        votes.
    n_estimators : int, default=50
        Bags.
    max_samples : int, default=None
        Unlabeled rows that each bag draws, with replacement, and takes for negatives. By default
        as many as there are labeled rows, and no more than there are unlabeled ones.
    pos_label : default=None
        The label of the labeled rows; the larger of the two values by default.
    n_jobs : int, default=None
        Bags fitted at the same time. Does not change the result.
    random_state : int, RandomState or None, default=None
        Draws the bags, and seeds estimators whose own ``random_state`` is None.
    verbose : int, default=0
        As in `RankPruningClassifier`.

    Attributes
    ----------
    estimators_ : list of classifiers
        One per bag.
    out_of_bag_probabilities_ : ndarray of shape (n_rows,)
        Of each unlabeled row, from the bags that did not draw it; NaN for labeled rows and for
        those that every bag drew or that weigh nothing.
    classes_, n_features_in_, feature_names_in_
        As in `RankPruningClassifier`.

    Notes
    -----
    Each bag fits all labeled rows against a sample of the unlabeled ones. Some samples hold few
    hidden positives, and the mean over bags of the probabilities profits from those. The source
    fits support vector machines and takes the mean of their distances; one without
    ``predict_proba`` votes here, so calibrate it to rank finely.

    Use it to rank unlabeled rows, above all when few are labeled: the out-of-bag probabilities are
    made for that. It fails at saying how many positives there are: bags are balanced, so its
    probabilities are too, and it takes labeled rows to be right.

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
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "max_samples": [Interval(Integral, 1, None, closed="left"), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
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
        """Fit the bags.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or list of shape (n_rows, ...)
            Anything the estimator takes and whose rows can be selected.
        y : array-like of shape (n_rows,)
            The positive label where a row is labeled, the other one where it is not.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of the labeled rows in every fit; unlabeled rows are drawn as often as their
            weights say.

        Returns
        -------
        BaggingPUClassifier
            The object itself.
        """
        table = self._read(X, y, sample_weight)
        generator = private_random_state(self.random_state)
        labeled, unlabeled = labeled_and_unlabeled(table)
        size = self.max_samples or min(len(labeled), len(unlabeled))
        bags = [
            draw_rows(unlabeled, size, table.weight, generator) for _ in range(self.n_estimators)
        ]
        weight = None if table.weight is None else table.weight[labeled]
        warn_if_weights_are_lost(self._base(), weight, "labeled rows count alike")
        self._log("fitting %d bags of %d unlabeled rows", len(bags), size)
        seeds = [draw_seed(generator) for _ in bags]
        fitted = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit_bag)(fresh_clone(self._base(), seed), table, labeled, bag, unlabeled)
            for seed, bag in zip(seeds, bags, strict=True)
        )
        self._keep_features(fitted[0][0])
        scores = np.array([part for _, part in fitted])
        seen = ~np.isnan(scores)
        with np.errstate(invalid="ignore"):  # a row that every bag drew has no mean
            means = np.where(seen, scores, 0).sum(axis=0) / seen.sum(axis=0)
        self.out_of_bag_probabilities_ = np.full(table.n_rows, np.nan)
        self.out_of_bag_probabilities_[unlabeled] = means
        self.estimators_ = [estimator for estimator, _ in fitted]
        return self

    def _base(self) -> Any:
        return default_estimator() if self.estimator is None else self.estimator

    def _positive_probability(self, X: Any) -> NDArray[np.float64]:
        scores = [
            _probability(estimator, X, self._positive_column_) for estimator in self.estimators_
        ]
        return np.asarray(np.mean(scores, axis=0))

    def __sklearn_tags__(self) -> Any:
        return copy_input_tags(super().__sklearn_tags__(), self._base())


def _fit_bag(
    estimator: Any,
    table: Table,
    labeled: NDArray[np.intp],
    bag: NDArray[np.intp],
    unlabeled: NDArray[np.intp],
) -> tuple[Any, NDArray[np.float64]]:
    """Return the estimator of a bag, and its scores of the unlabeled rows that it did not draw."""
    rows = np.concatenate([labeled, bag])
    weights = None
    if table.weight is not None:
        # Drawn rows have spent their weights on being drawn; all that is left is the scale.
        own = table.weight[labeled]
        weights = np.concatenate([own, np.full(len(bag), own.mean())])
    fit_weighted(estimator, _safe_indexing(table.X, rows), table.y[rows], weights)
    column = int(estimator.classes_[1] == table.positive)
    scores = np.full(len(unlabeled), np.nan)
    left_out = ~np.isin(unlabeled, bag)
    if left_out.any():
        held_out = _safe_indexing(table.X, unlabeled[left_out])
        scores[left_out] = _probability(estimator, held_out, column)
    return estimator, scores


def _probability(estimator: Any, X: Any, column: int) -> NDArray[np.float64]:
    """Return P(labeled) by one estimator, or its vote."""
    if hasattr(estimator, "predict_proba"):
        return np.asarray(estimator.predict_proba(X)[:, column], dtype=np.float64)
    return np.asarray(estimator.predict(X) == estimator.classes_[column], dtype=np.float64)
