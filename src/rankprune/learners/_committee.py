"""The committee: two more models that score every row, with different weaknesses."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import Pipeline, make_pipeline

from rankprune.learners._sample_weights import fit_weighted
from rankprune.learners._threads import useful_threads

# Boosting takes no sparse tables, and a dense copy of a wide one may not fit in memory.
_N_COMPONENTS = 100


def committee_members(estimator: Any) -> tuple[Any, ...]:
    """Return the estimator, a forest and boosting, all with the same preprocessing steps.

    The forest and boosting replace the last step of a `Pipeline`, even inside a search or a
    calibration, so that texts and columns of mixed types reach them as numbers.
    """
    return estimator, _behind(estimator, RandomForestClassifier()), _behind(estimator, Boosting())


def _behind(estimator: Any, member: Any) -> Any:
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        # A clone keeps the behavior of a subclass, such as resampling the rows.
        return clone(estimator).set_params(**{name: _behind(last, member)})
    inner = getattr(estimator, "estimator", None)
    return member if inner is None else _behind(inner, member)


class Boosting(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Gradient boosting that also accepts sparse tables; wide ones are reduced to components."""

    def __init__(self, random_state: Any = None) -> None:
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: NDArray[np.float64] | None = None) -> Boosting:
        """Fit boosting to the table, or to the leading components of a wide sparse one."""
        # Early stopping would start at 10,000 rows, and needs two rows of each class.
        model: Any = HistGradientBoostingClassifier(
            early_stopping=False, random_state=self.random_state
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
