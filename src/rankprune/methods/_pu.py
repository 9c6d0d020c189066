"""Code shared by the methods for positive and unlabeled rows: their assumption and criterion.

The positive label means labeled, the negative label means unlabeled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar
from scipy.special import expit
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, validate_data

from rankprune.core._inputs import BoolArray, FloatArray, Inputs, validate_weighted_labels
from rankprune.core.counting._sketch import sketch_of
from rankprune.core.estimators._registry import raw_rates, uninformative_reason
from rankprune.exceptions import AssumptionWarning, warn_caller
from rankprune.learners._base import FitRows, ProbabilityClassifier, Weights
from rankprune.learners._probabilities import Split

# Smaller estimates of the share of wrong labels may come from overlap alone.
_LOOKS_WRONG = 0.2
# Bound on the absolute logarithm of the slope of probabilities along standardised scores.
_MAX_LOG_SLOPE = 5.0
# LIBSVM's own limit, which scikit-learn lifts: with extreme weights it would never end.
MAX_ITERATIONS = 10_000_000


class PUClassifier(ProbabilityClassifier):
    """A classifier that learns from labeled positives and unlabeled rows."""

    def _read(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        groups: ArrayLike | None = None,
        trusted: ArrayLike | None = None,
    ) -> FitRows:
        rows = read_pu(self, super()._read, X, y, sample_weight, groups, trusted)
        self._keep_classes(rows.labels)
        return rows


class NumericPUClassifier(PUClassifier):
    """A classifier of numeric features; its models fit classes 0 (unlabeled) and 1 (labeled)."""

    def _read_numbers(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        groups: ArrayLike | None = None,
    ) -> FitRows:
        rows = self._read(X, y, sample_weight, groups)
        return replace(rows, X=validate_data(self, X, accept_sparse="csr"))

    def _numbers(self, X: Any) -> Any:
        return validate_data(self, X, accept_sparse="csr", reset=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class MarginPUClassifier(NumericPUClassifier):
    """A classifier whose probabilities are a sigmoid of the distance to a boundary."""

    estimator_: Any
    slope_: float

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the score of each row, above 0 for ``classes_[1]``."""
        check_is_fitted(self)
        sign = 1 if self._positive_column_ == 1 else -1
        return sign * self._distance(X)

    def _distance(self, X: Any) -> NDArray[np.float64]:
        return np.asarray(self.estimator_.decision_function(self._numbers(X)))

    def _positive_probability(self, X: Any) -> NDArray[np.float64]:
        return probability_of(self._distance(X), self.slope_)


def labeled_and_unlabeled(rows: FitRows) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the numbers of the labeled and of the unlabeled rows of positive weight."""
    counted, is_labeled = rows.status.counted, rows.labels.is_positive
    return np.flatnonzero(counted & is_labeled), np.flatnonzero(counted & ~is_labeled)


def read_pu(method: Any, read: Any, *arguments: Any) -> FitRows:
    """Return the rows of a fit; errors about y get a note that explains the labels."""
    try:
        rows: FitRows = read(*arguments)
    except ValueError as error:
        if str(error).startswith("y "):
            error.add_note(
                f"{type(method).__name__} learns from labeled positives and unlabeled rows: the "
                "positive label (pos_label, by default the last in sorted order) means labeled, "
                "the other one means unlabeled. Both must occur in y."
            )
        raise
    return rows


def warn_if_positives_look_wrong(method: Any, inputs: Inputs) -> None:
    """Warn if labels that a method assumes to be correct score like unlabeled rows."""
    sketch = sketch_of(inputs)
    rates = raw_rates(sketch, None)
    share = rates.positive_label_error_rate
    if share > _LOOKS_WRONG and uninformative_reason(sketch, rates) is None:
        warn_caller(
            f"{type(method).__name__} assumes that every positive label is correct, but about "
            f"{share:.0%} of them score like unlabeled rows. Either the classes overlap, or "
            "positive labels are wrong: then use RankPruningClassifier, which allows for both.",
            AssumptionWarning,
        )


def pu_criterion(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    """Return recall squared over the share of predicted positives, which needs no negatives.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        The positive label for labeled rows, the other one for unlabeled rows.
    y_pred : array-like of shape (n_rows,)
        Predicted labels.
    sample_weight : array-like of shape (n_rows,), default=None
        Weights of the rows.
    pos_label : default=None
        The positive label; by default the last of the two in sorted order.

    Returns
    -------
    float
        At least 0, and 0 if no row is predicted positive. It may exceed 1.

    Notes
    -----
    Lee and Liu 2003: precision times recall is r^2 P(y=1) / P(f=1), where r, the recall, is the
    same among labeled positives as among all, and P(y=1) the same for every model. So it orders
    models as precision times recall does, if labels are drawn at random from the positives.

    Examples
    --------
    Three of the four labeled rows, and five of all ten rows, are predicted positive.

    >>> from rankprune.methods import pu_criterion
    >>> pu_criterion([1, 1, 1, 1, 0, 0, 0, 0, 0, 0], [1, 1, 1, 0, 1, 1, 0, 0, 0, 0])
    1.125
    """
    labels, weight = validate_weighted_labels(
        y_true, sample_weight, pos_label=pos_label, name="y_true"
    )
    predicted = np.asarray(y_pred) == labels.pos_label
    if predicted.shape != labels.is_positive.shape:
        raise ValueError(
            f"y_pred must have one label per row of y_true, got shape {predicted.shape} for "
            f"{len(labels.is_positive)} rows. Pass predict(X)."
        )
    return criterion_of(labels.is_positive, predicted, weight)


def criterion_of(is_labeled: BoolArray, predicted: BoolArray, weight: Weights) -> float:
    """Return the criterion of checked labels and predictions."""
    mass = np.ones(len(is_labeled)) if weight is None else weight
    share = mass[predicted].sum() / mass.sum()
    recall = mass[is_labeled & predicted].sum() / mass[is_labeled].sum()
    return float(recall**2 / share) if share > 0 else 0.0


def best_by_criterion(
    models: Sequence[tuple[Any, NDArray[np.float64]]],
    rows: FitRows,
    splits: list[Split],
    n_jobs: int | None,
) -> tuple[int, NDArray[np.float64]]:
    """Return the position of the model with the best criterion, and its out-of-fold scores."""
    decisions = Parallel(n_jobs=n_jobs)(
        # A clone for each fold, since folds may be fitted in threads of one process.
        delayed(_decide_fold)(clone(model), rows.X, rows.labels.is_positive, weights, split)
        for model, weights in models
        for split in splits
    )
    scores = np.empty((len(models), rows.n_rows))
    for number, part in enumerate(decisions):
        row, fold = divmod(number, len(splits))
        scores[row, splits[fold][1]] = part
    found = [
        criterion_of(rows.labels.is_positive, row > 0, rows.weight) if len(models) > 1 else 0.0
        for row in scores
    ]
    best = int(np.argmax(found))
    return best, scores[best]


def _decide_fold(
    model: Any, X: Any, is_labeled: BoolArray, weights: NDArray[np.float64], split: Split
) -> NDArray[np.float64]:
    train, test = split
    model.fit(
        _safe_indexing(X, train), is_labeled[train].astype(np.intp), sample_weight=weights[train]
    )
    return np.asarray(model.decision_function(_safe_indexing(X, test)))


def fit_slope(scores: FloatArray, is_labeled: BoolArray, weights: NDArray[np.float64]) -> float:
    """Return the slope of the most likely sigmoid of the scores that is one half at score 0.

    Platt's sigmoid also has an offset; without it, the more probable class is the predicted one.
    """
    scale = float(np.sqrt(np.average(scores**2, weights=weights)))
    if scale == 0:
        return 1.0
    margins = np.where(is_labeled, scores, -scores) / scale

    def loss(log_slope: float) -> float:
        return float(np.average(np.logaddexp(0, -np.exp(log_slope) * margins), weights=weights))

    found = minimize_scalar(loss, bounds=(-_MAX_LOG_SLOPE, _MAX_LOG_SLOPE), method="bounded")
    return float(np.exp(found.x) / scale)


def probability_of(scores: FloatArray, slope: float) -> NDArray[np.float64]:
    """Return the sigmoid of the scores times the slope."""
    return np.asarray(expit(slope * np.asarray(scores, dtype=np.float64)))
