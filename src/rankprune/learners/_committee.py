"""Scorers by name: the estimator together with extra trees, and with gradient boosting too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.validation import _num_samples

from rankprune.learners._cloning import fresh_clone
from rankprune.learners._out_of_bag import OutOfBag, Trees, as_features
from rankprune.learners._sample_weights import fit_weighted
from rankprune.learners._threads import useful_threads

COMMITTEE, WITH_TREES = "committee", "with-trees"
NAMED_SCORERS = (COMMITTEE, WITH_TREES)

# Boosting takes no sparse tables, and a dense copy of a wide one may not fit in memory.
_N_COMPONENTS = 100
# Chosen on part of the bank of data sets: how often the trees count in the mean, and boosting that
# is half as long as usual, which ranks wrong labels no worse. Many rows need all of it.
_TIMES_TREES = 2
ROUNDS, LEAVES, _FEW_ROWS = 50, 15, 10_000
# Boosting fits a tree for each class in every step.
_MOST_BOOSTED = 30


@dataclass(frozen=True)
class Panel:
    """Models that score the rows together.

    Attributes
    ----------
    estimators : tuple of classifiers
        Those that score in folds, the estimator of the user first.
    out_of_bag : OutOfBag or None
        Scores of trees, if these need no folds; they follow those of the estimators.
    times : tuple of int
        How often the scores of each model count in the mean.
    units : ndarray of int of shape (n_rows,) or None
        Equal numbers for copies of a row, which stay in one fold; None if there are none.
    """

    estimators: tuple[Any, ...]
    out_of_bag: OutOfBag | None = None
    times: tuple[int, ...] = (1,)
    units: NDArray[np.intp] | None = None


def form_panel(
    name: str,
    estimator: Any,
    X: Any,
    units: NDArray[np.intp] | None,
    seed: int,
    *,
    in_folds: bool,
    n_classes: int = 2,
) -> Panel:
    """Return the models behind a named scorer.

    Extra trees and boosting take the place of the last step of a `Pipeline`, even inside a search
    or a calibration, so that texts and columns of mixed types reach them as numbers. A committee
    does without boosting if the estimator is boosting itself, if there are more than 30 classes,
    or if the rows are wide and sparse like those of texts, where boosting costs most; there the
    trees count once.

    Parameters
    ----------
    name : {"committee", "with-trees"}
    estimator : classifier
    X : as in ``fit``
    units : ndarray of int or None
        Copies of rows; see `Panel`.
    seed : int
        Seeds the preprocessing steps.
    in_folds : bool
        Whether the trees must score in folds, because rows depend on each other. They also do if
        the preprocessing needs the labels: out of bag, a row's own label would reach its score.
    n_classes : int, default=2
        Boosting fits as many trees in each step.
    """
    trees = _behind(estimator, Trees())
    features = _features_without_labels(fresh_clone(trees, seed), X)
    is_wide = bool(issparse(features) and features.shape[1] > _N_COMPONENTS)
    others: tuple[Any, ...] = ()
    is_costly = is_wide or n_classes > _MOST_BOOSTED
    if name == COMMITTEE and not is_costly and not _is_boosting(estimator):
        is_small = _num_samples(X) <= _FEW_ROWS
        boosting = Boosting(max_iter=ROUNDS, max_leaf_nodes=LEAVES) if is_small else Boosting()
        others = (_behind(estimator, boosting),)
    times = (1,) * (1 + len(others)) + (1 if is_wide else _TIMES_TREES,)
    if in_folds or features is None:
        return Panel((estimator, *others, trees), None, times, units)
    return Panel((estimator, *others), OutOfBag(features, units), times, units)


def _features_without_labels(model: Any, X: Any) -> Any:
    """Return what the last step of a `Pipeline` is fitted to, or None if this needs the labels.

    None too if it is no table of numbers; the error then comes from the fit.
    """
    try:
        while isinstance(model, Pipeline):
            if len(model.steps) > 1:
                X = model[:-1].fit_transform(X)
            model = model.steps[-1][1]
        return as_features(X)
    except (AttributeError, TypeError, ValueError):
        return None


def _behind(estimator: Any, member: Any) -> Any:
    """Return a member in the place of the model itself, behind the same steps."""
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        # A clone keeps the behavior of a subclass, such as resampling the rows.
        return clone(estimator).set_params(**{name: _behind(last, member)})
    inner = getattr(estimator, "estimator", None)
    return member if inner is None else _behind(inner, member)


def _is_boosting(estimator: Any) -> bool:
    if isinstance(estimator, Pipeline):
        return _is_boosting(estimator.steps[-1][1])
    inner = getattr(estimator, "estimator", None)
    if inner is not None:
        return _is_boosting(inner)
    return isinstance(estimator, Boosting | HistGradientBoostingClassifier)


class Boosting(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Gradient boosting that also accepts sparse tables; wide ones are reduced to components."""

    # Model files of version 0.1 lack these.
    max_iter, max_leaf_nodes = 100, 31

    def __init__(
        self, *, max_iter: int = 100, max_leaf_nodes: int = 31, random_state: Any = None
    ) -> None:
        self.max_iter = max_iter
        self.max_leaf_nodes = max_leaf_nodes
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: NDArray[np.float64] | None = None) -> Boosting:
        """Fit boosting to the table, or to the leading components of a wide sparse one."""
        # Early stopping would start at 10,000 rows, and needs two rows of each class.
        model: Any = HistGradientBoostingClassifier(
            max_iter=self.max_iter,
            max_leaf_nodes=self.max_leaf_nodes,
            early_stopping=False,
            random_state=self.random_state,
        )
        if issparse(X) and X.shape[1] > _N_COMPONENTS:
            components = TruncatedSVD(_N_COMPONENTS, random_state=self.random_state)
            model = make_pipeline(components, model)
        X = _dense_if_narrow(X)
        with useful_threads(_n_cells(X)):
            self.model_ = fit_weighted(model, X, y, sample_weight)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the more probable class of each row."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class."""
        X = _dense_if_narrow(X)
        with useful_threads(_n_cells(X)):
            return np.asarray(self.model_.predict_proba(X))


def _n_cells(X: Any) -> int:
    if issparse(X):
        return int(X.shape[0] * min(X.shape[1], _N_COMPONENTS))
    return int(np.prod(np.shape(X)))


def _dense_if_narrow(X: Any) -> Any:
    return X.toarray() if issparse(X) and X.shape[1] <= _N_COMPONENTS else X
