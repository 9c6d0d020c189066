"""Base classes that check the rows, fit the estimators and predict the labels."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, is_regressor
from sklearn.utils import column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from rankprune.core._inputs import (
    BinaryLabels,
    BoolArray,
    FloatArray,
    Inputs,
    as_array,
    count_true,
    validate_trusted,
    validate_weighted_labels,
)
from rankprune.core.classes._class_labels import Labels
from rankprune.learners._class_order import (
    both_columns,
    fitted_labels,
    in_class_order,
    labels_to_fit,
)
from rankprune.learners._cloning import (
    copy_input_tags,
    default_estimator,
    draw_seed,
    forget_results,
    fresh_clone,
)
from rankprune.learners._probabilities import check_rows
from rankprune.learners._sample_weights import fit_rows, warn_if_weights_are_lost

_log = logging.getLogger("rankprune")

Weights = NDArray[np.float64] | None


def estimator_has(method: str) -> Callable[[Any], bool]:
    """Return a check for `available_if`: the estimator has this method."""

    def check(self: DelegatingClassifier) -> bool:
        getattr(self.estimator_ if hasattr(self, "estimator_") else self._base(), method)
        return True

    return check


@dataclass(frozen=True)
class Status:
    """The status of each row: whether it has weight, and whether its label is in doubt.

    Attributes
    ----------
    weight : ndarray of shape (n_rows,) or None
        Sample weights.
    counted : ndarray of bool of shape (n_rows,)
        Whether the weight is above 0.
    doubted : ndarray of bool of shape (n_rows,)
        Whether the row counts and its label is not trusted.
    """

    weight: Weights
    counted: BoolArray
    doubted: BoolArray

    @property
    def left_alone(self) -> BoolArray | None:
        """Return which rows no fold is fitted to although they count; None if there are none."""
        return None

    @property
    def mass(self) -> NDArray[np.float64]:
        """Return the weight of each row, 1 if none were given."""
        return np.ones(len(self.counted)) if self.weight is None else self.weight

    @property
    def doubted_weight(self) -> Weights:
        """Return the weights of the doubted rows."""
        return None if self.weight is None else self.weight[self.doubted]

    def weigh(self, factors: NDArray[np.float64], settled: float = 1.0) -> NDArray[np.float64]:
        """Return all weights, those of doubted rows times ``factors``, others times ``settled``."""
        weights = self.mass * settled
        weights[self.doubted] = self.mass[self.doubted] * factors
        return weights


@dataclass(frozen=True)
class RowStatus(Status):
    """The status of each row of two labels.

    Attributes
    ----------
    is_positive : ndarray of bool of shape (n_rows,)
        Whether the given label is the positive one.
    """

    is_positive: BoolArray

    def inputs(self, scores: FloatArray) -> Inputs:
        """Return the labels, scores and weights that noise rates are estimated from."""
        return Inputs(self.is_positive[self.doubted], scores[self.doubted], self.doubted_weight)

    def masses(self) -> tuple[float, float]:
        """Return the total weight of the doubted rows of each label, positive first."""
        if self.weight is None:
            n_positive = count_true(self.doubted & self.is_positive)
            return float(n_positive), float(count_true(self.doubted) - n_positive)
        return (
            float(self.mass[self.doubted & self.is_positive].sum()),
            float(self.mass[self.doubted & ~self.is_positive].sum()),
        )


@dataclass(frozen=True)
class Rows:
    """The rows that were passed to ``fit``, of any number of classes, after all checks."""

    X: Any
    groups: Any
    labels: Labels
    status: Status

    @property
    def weight(self) -> Weights:
        """Return the sample weights."""
        return self.status.weight

    @property
    def y(self) -> NDArray[Any]:
        """Return the labels in the form that estimators accept."""
        return labels_to_fit(self.labels)

    @property
    def n_rows(self) -> int:
        """Return the number of rows, including those of weight 0."""
        return len(self.labels)


@dataclass(frozen=True)
class FitRows(Rows):
    """The rows that were passed to ``fit``, with two labels."""

    labels: BinaryLabels
    status: RowStatus

    @property
    def positive(self) -> Any:
        """Return the positive label in the form that estimators accept."""
        return self.y[self.labels.is_positive.argmax()]


class BinaryClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A classifier of two labels, any of which may be wrong."""

    # Constraints on parameters that most classifiers here have; unused ones do no harm.
    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's convention)
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    verbose: int = 0
    pos_label: Any = None
    # Set last by ``fit``: a failed fit may leave other attributes behind, but never this one.
    _model_attribute = "estimator_"

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, self._model_attribute)

    def _read(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        groups: ArrayLike | None = None,
        trusted: ArrayLike | None = None,
    ) -> FitRows:
        """Return the checked rows of a new fit, after deleting the results of an earlier one."""
        forget_results(self)
        return self._checked_rows(X, y, sample_weight, groups, trusted)

    def _checked_rows(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        groups: ArrayLike | None = None,
        trusted: ArrayLike | None = None,
    ) -> FitRows:
        """Return the rows, labels and weights, after checking them and the parameters."""
        X, y, groups = self._checked_features(X, y, groups)
        labels, weight = validate_weighted_labels(
            y, sample_weight, pos_label=self.pos_label, name="y"
        )
        return two_label_rows(X, groups, labels, weight, trusted)

    def _checked_features(
        self, X: Any, y: ArrayLike, groups: ArrayLike | None
    ) -> tuple[Any, ArrayLike, Any]:
        """Return features, labels and groups, after checking the parameters and all lengths."""
        self._validate_params()
        base = self._base()
        if base is not None and not hasattr(base, "fit"):
            raise ValueError(
                f"estimator must have fit, got {base!r}. Pass a classifier, e.g. "
                "LogisticRegression()."
            )
        if base is not None and is_regressor(base):
            raise ValueError(
                f"estimator must be a classifier, got {base!r}. Pass one that predicts labels, "
                "e.g. LogisticRegression()."
            )
        if as_array(y, "y").shape[1:] == (1,):
            y = column_or_1d(y, warn=True)
        X, groups = check_rows(X, y, groups)
        return X, y, groups

    def _base(self) -> Any:
        """Return the estimator to clone, or None if the classifier takes none."""
        return None

    def _log(self, message: str, *values: Any) -> None:
        _log.log(self._log_level(), message, *values)

    def _log_level(self) -> int:
        return logging.INFO if self.verbose else logging.DEBUG

    def _keep_features(self, fitted: Any) -> None:
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(fitted, name):
                setattr(self, name, getattr(fitted, name))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class ProbabilityClassifier(BinaryClassifier):
    """A classifier that estimates probabilities and predicts the more probable class."""

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the more probable label of each row."""
        check_is_fitted(self)
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class, in the order of ``classes_``."""
        check_is_fitted(self)
        return both_columns(self._positive_probability(X), self._positive_column_)

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the logarithm of the probability of each class."""
        with np.errstate(divide="ignore"):  # the logarithm of 0 is minus infinity
            return np.log(self.predict_proba(X))

    def _positive_probability(self, X: Any) -> NDArray[np.float64]:
        raise NotImplementedError  # defined by each classifier

    def _keep_classes(self, labels: BinaryLabels) -> None:
        self.classes_ = labels.classes
        self._positive_column_ = labels.positive_column


class DelegatingClassifier(MetaEstimatorMixin, BinaryClassifier):  # type: ignore[misc]  # as above
    """A classifier that fits an estimator to selected, weighted rows and predicts with it."""

    estimator: Any

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted label of each row."""
        check_is_fitted(self)
        return fitted_labels(np.asarray(self.estimator_.predict(X)), self.classes_)

    @available_if(estimator_has("predict_proba"))  # type: ignore[untyped-decorator]  # as above
    def predict_proba(self, X: Any) -> NDArray[np.floating[Any]]:
        """Return the probability of each class, in the order of ``classes_``."""
        check_is_fitted(self)
        return self._in_order(self.estimator_.predict_proba(X))

    @available_if(estimator_has("predict_log_proba"))  # type: ignore[untyped-decorator]  # as above
    def predict_log_proba(self, X: Any) -> NDArray[np.floating[Any]]:
        """Return the logarithm of the probability of each class."""
        check_is_fitted(self)
        return self._in_order(self.estimator_.predict_log_proba(X))

    @available_if(estimator_has("decision_function"))  # type: ignore[untyped-decorator]  # as above
    def decision_function(self, X: Any) -> NDArray[np.floating[Any]]:
        """Return the score of each row, above 0 for ``classes_[1]``."""
        check_is_fitted(self)
        return self._in_order(self.estimator_.decision_function(X))

    def _in_order(self, values: Any) -> NDArray[np.floating[Any]]:
        """Return the estimator's columns or scores in the order of ``classes_``."""
        return in_class_order(values, self.estimator_, self.classes_)

    def __sklearn_tags__(self) -> Any:
        return copy_input_tags(super().__sklearn_tags__(), self._base())

    def _base(self) -> Any:
        return default_estimator() if self.estimator is None else self.estimator

    def _check_estimator(self) -> None:
        """Raise ValueError if the method cannot use the estimator; most methods accept any."""

    def _fit_estimator(
        self,
        rows: FitRows,
        chosen: NDArray[np.intp],
        is_positive: BoolArray,
        weights: Weights,
        generator: np.random.RandomState,
        lost: str,
    ) -> None:
        """Fit the estimator to these rows, labels and weights, and store it."""
        y = labels_to_fit(replace(rows.labels, is_positive=is_positive))
        self._fit_labels(rows, chosen, y, weights, generator, lost)

    def _fit_labels(
        self,
        rows: Rows,
        chosen: NDArray[np.intp],
        y: NDArray[Any],
        weights: Weights,
        generator: np.random.RandomState,
        lost: str,
    ) -> None:
        """Fit the estimator to these rows and weights, with labels as it accepts them."""
        estimator = fresh_clone(self._base(), draw_seed(generator))
        warn_if_weights_are_lost(estimator, weights, lost)
        fit_rows(estimator, rows.X, rows.y, chosen, y, weights)
        self.classes_ = rows.labels.classes
        self._keep_features(estimator)
        self.estimator_ = estimator


def two_label_rows(
    X: Any, groups: Any, labels: BinaryLabels, weight: Weights, trusted: ArrayLike | None
) -> FitRows:
    """Return checked rows of two labels, with the status of each."""
    counted, doubted = counted_and_doubted(labels, weight, trusted)
    return FitRows(X, groups, labels, RowStatus(weight, counted, doubted, labels.is_positive))


def counted_and_doubted(
    labels: Labels, weight: Weights, trusted: ArrayLike | None, left_alone: BoolArray | None = None
) -> tuple[BoolArray, BoolArray]:
    """Return which rows have weight, and which of them a label that may be wrong."""
    n_rows = len(labels)
    counted = np.ones(n_rows, dtype=bool) if weight is None else weight > 0
    is_trusted = validate_trusted(trusted, n_rows)
    doubted = counted & ~is_trusted
    if left_alone is not None:
        doubted &= ~left_alone
    if is_trusted.any() and len(np.unique(labels.codes[doubted])) < 2:
        classes = "both" if isinstance(labels, BinaryLabels) else "at least two"
        raise ValueError(
            f"trusted must leave untrusted rows of {classes} classes; "
            f"{count_true(doubted)} rows of positive weight are left. If every label is trusted, "
            "there is no noise to estimate: fit the estimator itself."
        )
    return counted, doubted
