"""Metrics on clean test labels, estimated from noisy ones and the noise rates.

A model evaluated on labels that are partly wrong looks worse than it is. Class-conditional noise
mixes the counts behind every metric in a known way, so they can be unmixed: the estimates need the
noise rates, but no clean labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm
from sklearn.metrics import make_scorer

from rankprune.core import NoiseMatrix, NoiseRates
from rankprune.core._auc import kish_rows, outranked_shares
from rankprune.core._inputs import (
    BinaryLabels,
    BoolArray,
    FloatArray,
    validate_predictions,
    validate_scores,
    validate_weighted_labels,
    values_of_labels,
)
from rankprune.core._label_values import rows_equal_to
from rankprune.core._noise_rates import validate_noise_rates
from rankprune.core._parameters import validate_level
from rankprune.core._rate_algebra import possible_noise_rates
from rankprune.core.classes._class_inputs import (
    codes_of_labels,
    refuse_for_two_labels,
    validate_class_inputs,
)
from rankprune.core.classes._unmixed_metrics import (
    Ratio,
    corrected,
    corrected_log_loss,
    ratios_of,
    unmixed,
)
from rankprune.exceptions import (
    NoiseRatesClippedWarning,
    UninformativeProbabilitiesWarning,
    warn_caller,
)

__all__ = ["CleanMetric", "clean_metrics", "clean_scorer"]


@dataclass(frozen=True)
class CleanMetric:
    """The estimate of one metric on clean labels.

    Attributes
    ----------
    value : float
        The estimate. With few rows or inaccurate rates it may lie outside [0, 1]: clipping would
        make it biased.
    low, high : float
        Confidence interval, within [0, 1] unless the estimate is not; it always holds the estimate.
        It covers the random choice of test rows, but treats the noise rates as known: inaccurate
        rates shift it, and no test set shows by how much.
    noisy : float
        The metric computed on the noisy labels.

    Examples
    --------
    >>> from rankprune import NoiseRates
    >>> from rankprune.metrics import clean_metrics
    >>> rates = NoiseRates.from_noise_rates(0.2, 0.0, observed_prevalence=0.4)
    >>> recall = clean_metrics([1, 0] * 50, [1, 0] * 50, rates)["recall"]
    >>> recall.noisy, recall.value, recall.low < recall.value
    (1.0, 1.0, True)
    """

    value: float
    low: float
    high: float
    noisy: float


def clean_metrics(
    labels: ArrayLike,
    predictions: ArrayLike,
    noise_rates: NoiseRates | NoiseMatrix,
    *,
    scores: ArrayLike | None = None,
    level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> dict[str, Any]:
    """Return estimates of a model's metrics on clean test labels, from noisy ones.

    Parameters
    ----------
    labels : array-like of shape (n_rows,)
        Noisy test labels, of two values, or of the classes of a matrix.
    predictions : array-like of shape (n_rows,)
        Predicted labels, of the same values. The model must not have been fitted on these rows.
    noise_rates : NoiseRates or NoiseMatrix
        Rates of the noise in the labels. Only the two noise rates are used; the label error rates
        follow from the share of positive labels among the test rows. Of a matrix, only the
        transition is used.
    scores : array-like of shape (n_rows,) or (n_rows, n_classes), default=None
        Scores or probabilities of the positive class, for the AUC. With a matrix, the
        probabilities of all its classes, for the log-loss.
    level : float, default=0.95
        Confidence level of the intervals.
    sample_weight : array-like of shape (n_rows,), default=None
        Weights of the test rows. The intervals depend on their ratios, not on their scale.
    pos_label : default=None
        The positive label; by default the last of the two in sorted order.

    Returns
    -------
    dict of str to CleanMetric
        ``accuracy``, ``error``, ``recall``, ``false_positive_rate``, ``precision``, ``f1``,
        ``balanced_accuracy``, and ``roc_auc`` if scores are given. With a matrix: ``accuracy``,
        ``error`` and ``macro_f1``; ``recall``, ``precision`` and ``f1``, each a dictionary by
        class; and ``log_loss`` if scores are given.

    Notes
    -----
    If f is the prediction, P(f=1, s=1) = (1 - rho_1) P(f=1, y=1) + rho_0 P(f=1, y=0), and likewise
    for s=0: two equations for the two clean counts. The clean AUC is 1/2 + (AUC_noisy - 1/2) /
    (1 - pi_1 - pi_0). Both assume that s is independent of x given y, which is not true if labels
    of hard rows are wrong more often. Intervals are those of Agresti and Coull, propagated by the
    delta method; the variance of the AUC is DeLong's, with one tied row added to each class.

    Examples
    --------
    >>> import numpy as np
    >>> from rankprune import NoiseRates
    >>> from rankprune.metrics import clean_metrics
    >>> labels = np.repeat([1, 1, 0, 0], [40, 10, 20, 130])       # one in five positives lost
    >>> predictions = np.repeat([1, 0, 1, 0], [40, 10, 20, 130])
    >>> rates = NoiseRates.from_noise_rates(0.2, 0.0, observed_prevalence=0.25)
    >>> found = clean_metrics(labels, predictions, rates)
    >>> round(found["precision"].noisy, 3), round(found["precision"].value, 3)
    (0.667, 0.833)
    """
    if isinstance(noise_rates, NoiseMatrix):
        refuse_for_two_labels(sample_weight=sample_weight, pos_label=pos_label)
        return _metrics_by_class(labels, predictions, noise_rates, scores, validate_level(level))
    checked, given_weight = validate_weighted_labels(labels, sample_weight, pos_label=pos_label)
    is_positive = checked.is_positive
    weight = np.ones(len(is_positive)) if given_weight is None else given_weight
    test_rates = _rates_among(is_positive, weight, noise_rates)
    z = float(norm.isf((1 - validate_level(level)) / 2))
    cells = _cells(is_positive, _validate_predictions(predictions, checked, weight), weight)
    unmix = _unmixing(test_rates)
    found = {
        name: _corrected(terms, cells, unmix, z, kish_rows(weight))
        for name, terms in _METRICS.items()
    }
    if scores is not None:
        checked_scores = validate_scores(scores, len(is_positive))
        found["roc_auc"] = _corrected_auc(is_positive, checked_scores, weight, test_rates, z)
    return found


def _metrics_by_class(
    labels: ArrayLike,
    predictions: ArrayLike,
    matrix: NoiseMatrix,
    scores: ArrayLike | None,
    level: float,
) -> dict[str, Any]:
    if not matrix.reliable:
        _warn_not_reliable()
    codes, known = codes_of_labels(values_of_labels(labels, "labels"), matrix.classes)
    predicted, _ = codes_of_labels(
        validate_predictions(predictions, len(codes), "predictions"), matrix.classes, "predictions"
    )
    k, n_rows = len(known), len(codes)
    counts = np.bincount(codes.astype(np.intp) * k + predicted, minlength=k * k)
    cells, inverse = counts.reshape(k, k) / n_rows, unmixed(matrix.transition)
    z = float(norm.isf((1 - level) / 2))
    found: dict[str, Any] = {}
    for name, ratios in ratios_of(k).items():
        if isinstance(ratios, Ratio):
            found[name] = CleanMetric(*corrected(ratios, cells, inverse, n_rows, z))
        else:
            by_class = (corrected(ratio, cells, inverse, n_rows, z) for ratio in ratios)
            found[name] = {
                label: CleanMetric(*numbers)
                for label, numbers in zip(known.tolist(), by_class, strict=True)
            }
    if scores is not None:
        inputs = validate_class_inputs(labels, scores, matrix.classes)
        found["log_loss"] = CleanMetric(*corrected_log_loss(inputs, inverse, z))
    return found


def clean_scorer(metric: str, noise_rates: NoiseRates, *, pos_label: Any = None) -> Any:
    """Return a scorer, for example for `GridSearchCV`, that estimates a metric on clean labels.

    Parameters
    ----------
    metric : str
        A key of the dictionary that `clean_metrics` returns; ``error`` and
        ``false_positive_rate`` are negated, so that greater is better.
    noise_rates : NoiseRates
        As in `clean_metrics`.
    pos_label : default=None
        As in `clean_metrics`.

    Returns
    -------
    callable
        Takes ``(estimator, X, y, sample_weight=None)``, as scikit-learn's scorers do.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> from rankprune import NoiseRates, flip_labels
    >>> from rankprune.metrics import clean_scorer
    >>> X, truth = make_classification(2000, class_sep=2, random_state=0)
    >>> y = flip_labels(truth, positive_noise_rate=0.3, negative_noise_rate=0.1, random_state=0)
    >>> scorer = clean_scorer("roc_auc", NoiseRates.from_noise_rates(0.3, 0.1, y.mean()))
    >>> scores = cross_val_score(LogisticRegression(), X, y, scoring=scorer)
    >>> bool(scores.mean() > cross_val_score(LogisticRegression(), X, y, scoring="roc_auc").mean())
    True
    """
    validate_noise_rates(noise_rates)
    if not isinstance(metric, str) or metric not in (*_METRICS, "roc_auc"):
        raise ValueError(
            f"metric must be one of {sorted([*_METRICS, 'roc_auc'])}, got {metric!r}. Pass a name."
        )
    if metric == "roc_auc":
        return make_scorer(
            _auc_score,
            response_method=("decision_function", "predict_proba"),
            noise_rates=noise_rates,
            pos_label=pos_label,
        )
    return make_scorer(
        _metric_score,
        greater_is_better=metric not in ("error", "false_positive_rate"),
        metric=metric,
        noise_rates=noise_rates,
        pos_label=pos_label,
    )


# Each metric as a sum of factor * (numerator . cells) / (denominator . cells); the cells are the
# shares of true positives, false negatives, false positives and true negatives.
_Term = tuple[float, tuple[int, int, int, int], tuple[int, int, int, int]]
_METRICS: dict[str, tuple[_Term, ...]] = {
    "accuracy": ((1.0, (1, 0, 0, 1), (1, 1, 1, 1)),),
    "error": ((1.0, (0, 1, 1, 0), (1, 1, 1, 1)),),
    "recall": ((1.0, (1, 0, 0, 0), (1, 1, 0, 0)),),
    "false_positive_rate": ((1.0, (0, 0, 1, 0), (0, 0, 1, 1)),),
    "precision": ((1.0, (1, 0, 0, 0), (1, 0, 1, 0)),),
    "f1": ((1.0, (2, 0, 0, 0), (2, 1, 1, 0)),),
    "balanced_accuracy": (
        (0.5, (1, 0, 0, 0), (1, 1, 0, 0)),
        (0.5, (0, 0, 0, 1), (0, 0, 1, 1)),
    ),
}


def _metric_score(
    y_true: Any,
    y_pred: Any,
    *,
    metric: str,
    noise_rates: NoiseRates,
    pos_label: Any = None,
    sample_weight: Any = None,
) -> float:
    found = clean_metrics(
        y_true, y_pred, noise_rates, sample_weight=sample_weight, pos_label=pos_label
    )
    return float(found[metric].value)


def _auc_score(
    y_true: Any,
    y_score: Any,
    *,
    noise_rates: NoiseRates,
    pos_label: Any = None,
    sample_weight: Any = None,
) -> float:
    found = clean_metrics(
        y_true,
        y_true,
        noise_rates,
        scores=y_score,
        sample_weight=sample_weight,
        pos_label=pos_label,
    )
    return float(found["roc_auc"].value)


def _rates_among(
    is_positive: BoolArray, weight: NDArray[np.float64], noise_rates: NoiseRates
) -> NoiseRates:
    """Return the rates of the test rows, which have their own share of positive labels."""
    validate_noise_rates(noise_rates)
    observed = float(weight[is_positive].sum() / weight.sum())
    positive, negative, clipped = possible_noise_rates(
        noise_rates.positive_noise_rate, noise_rates.negative_noise_rate, observed
    )
    if clipped:
        warn_caller(
            "The noise rates contradict the share of positive labels among the test rows "
            f"({observed:.3g}); the nearest possible ones are used: {positive:.3g} of the "
            f"positives and {negative:.3g} of the negatives. Use more test rows, or rates of the "
            "same labels.",
            NoiseRatesClippedWarning,
        )
    if not noise_rates.reliable:
        _warn_not_reliable()
    return NoiseRates.from_noise_rates(positive, negative, observed)


def _warn_not_reliable() -> None:
    warn_caller(
        "The noise rates are flagged as not reliable, so the metrics are not reliable either. "
        "Use rates from a stronger classifier, or known ones.",
        UninformativeProbabilitiesWarning,
    )


def _validate_predictions(
    predictions: ArrayLike, labels: BinaryLabels, weight: NDArray[np.float64]
) -> BoolArray:
    values = validate_predictions(predictions, len(labels.is_positive), "predictions")
    is_first, is_second = (rows_equal_to(values, value) for value in labels.classes.tolist())
    known = is_first | is_second | (weight == 0)
    if not known.all():
        row = int(np.flatnonzero(~known)[0])
        raise ValueError(
            f"predictions must hold the label values {labels.classes.tolist()}; row {row} holds "
            f"{values[row : row + 1].tolist()[0]!r}. Pass what predict(X) returns, not scores."
        )
    return is_second if labels.positive_column else is_first


def _cells(
    is_positive: BoolArray, is_predicted: BoolArray, weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    parts = (
        is_positive & is_predicted,
        is_positive & ~is_predicted,
        ~is_positive & is_predicted,
        ~is_positive & ~is_predicted,
    )
    shares: NDArray[np.float64] = np.array([weight[part].sum() for part in parts])
    return shares / float(weight.sum())


def _unmixing(rates: NoiseRates) -> NDArray[np.float64]:
    """Return the matrix that turns shares by given label into shares by true class."""
    rho1, rho0 = rates.positive_noise_rate, rates.negative_noise_rate
    by_class = np.array([[1 - rho0, -rho0], [-rho1, 1 - rho1]]) / (1 - rho1 - rho0)
    return np.asarray(np.kron(by_class, np.eye(2)), dtype=np.float64)


def _corrected(
    terms: tuple[_Term, ...],
    cells: NDArray[np.float64],
    unmix: NDArray[np.float64],
    z: float,
    n_rows: float,
) -> CleanMetric:
    value, _ = _value_and_gradient(terms, unmix @ cells)
    noisy, _ = _value_and_gradient(terms, cells)
    # Agresti and Coull: z**2 / 2 imagined rows for and against, so that few rows or a perfect
    # score do not imply certainty.
    imagined = sum(_imagined(term, z) for term in terms)
    n_smoothed = n_rows + float(np.sum(imagined))
    smoothed = (n_rows * cells + imagined) / n_smoothed
    middle, gradient = _value_and_gradient(terms, unmix @ smoothed)
    if gradient is None:
        return CleanMetric(value, min(value, 0.0), max(value, 1.0), noisy)
    slope = gradient @ unmix
    variance = float(smoothed @ slope**2 - (smoothed @ slope) ** 2) / n_smoothed
    return _with_interval(value, middle, variance, z, noisy)


def _imagined(term: _Term, z: float) -> NDArray[np.float64]:
    _, numerator, denominator = term
    is_for = np.array(numerator) > 0
    is_against = (np.array(denominator) > 0) & ~is_for
    imagined = is_for / is_for.sum() + is_against / is_against.sum()
    return np.asarray(z**2 / 2 * imagined)


def _value_and_gradient(
    terms: tuple[_Term, ...], cells: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64] | None]:
    """Return a metric and its gradient, or 0 and None if a denominator is not above 0."""
    value, gradient = 0.0, np.zeros(4)
    for factor, numerator, denominator in terms:
        whole = float(np.dot(denominator, cells))
        if whole <= 0:
            return 0.0, None
        ratio = float(np.dot(numerator, cells)) / whole
        value += factor * ratio
        gradient += factor * (np.array(numerator) - ratio * np.array(denominator)) / whole
    return value, gradient


def _corrected_auc(
    is_positive: BoolArray,
    scores: FloatArray,
    weight: NDArray[np.float64],
    rates: NoiseRates,
    z: float,
) -> CleanMetric:
    positives, negatives = scores[is_positive], scores[~is_positive]
    positive_weight, negative_weight = weight[is_positive], weight[~is_positive]
    # DeLong: the share of the other class that each row outranks (or is outranked by).
    won = outranked_shares(positives, negatives, negative_weight)
    lost = 1 - outranked_shares(negatives, positives, positive_weight)
    noisy = float(np.average(won, weights=positive_weight))
    signal = 1 - rates.positive_label_error_rate - rates.negative_label_error_rate
    if not 0 < rates.estimated_prevalence < 1 or signal <= 0:
        return CleanMetric(0.5, 0.0, 1.0, noisy)  # one class is estimated to be empty
    variance = _variance_of_mean(won, positive_weight) + _variance_of_mean(lost, negative_weight)
    # The share of positive labels is a sample too, and the signal depends on it.
    p, prevalence = rates.observed_prevalence, rates.estimated_prevalence
    between = 1 - rates.positive_noise_rate - rates.negative_noise_rate
    slope = (1 / prevalence - 1 / (1 - prevalence)) / between - (1 / p - 1 / (1 - p))
    variance += ((noisy - 0.5) * slope) ** 2 * p * (1 - p) / kish_rows(weight)
    value = 0.5 + (noisy - 0.5) / signal
    return _with_interval(value, value, variance / signal**2, z, noisy)


def _variance_of_mean(values: NDArray[np.float64], weight: NDArray[np.float64]) -> float:
    """Return the variance of a weighted mean, with an extra value of 1/2 that keeps it above 0."""
    n_rows = kish_rows(weight)
    values = np.append(values, 0.5)
    weight = np.append(weight * (n_rows / weight.sum()), 1.0)
    spread = np.average((values - np.average(values, weights=weight)) ** 2, weights=weight)
    return float(spread) / n_rows


def _with_interval(
    value: float, middle: float, variance: float, z: float, noisy: float
) -> CleanMetric:
    half = z * max(variance, 0.0) ** 0.5
    low, high = min(max(middle - half, 0.0), 1.0), min(max(middle + half, 0.0), 1.0)
    # The estimate is not clipped, which would bias it; the interval always holds it.
    return CleanMetric(value, min(low, value), max(high, value), noisy)
