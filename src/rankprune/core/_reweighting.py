"""From noise rates to the weights of methods that keep every row, right or wrong.

Each method changes the loss so that a model learns from noisy labels what it would learn from
correct ones; all of them need only a weighted sum.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankprune.core._inputs import validate_inputs, validate_labels, validate_probabilities
from rankprune.core._noise_rates import NoiseRates, validate_noise_rates
from rankprune.core._parameters import validate_label_frequency


def label_dependent_weights(
    labels: ArrayLike, noise_rates: NoiseRates, *, pos_label: Any = None
) -> NDArray[np.float64]:
    """Return weights by label, with which 1/2 is the right threshold again.

    Parameters
    ----------
    labels : array-like of shape (n_rows,)
        Given labels, of any two values.
    noise_rates : NoiseRates
        Rates with ``reliable=False`` give both labels the same weight.
    pos_label : default=None
        As in `estimate_noise_rates`.

    Returns
    -------
    ndarray of float
        ``1 - alpha`` on positive labels and ``alpha`` on negative ones, where
        ``alpha = (1 - positive_noise_rate + negative_noise_rate) / 2``.

    Notes
    -----
    Natarajan et al. 2013, second method: the clean classifier tests whether P(y=1|x) exceeds 1/2,
    which is equivalent to P(s=1|x) exceeding alpha.

    Examples
    --------
    >>> from rankprune import NoiseRates
    >>> from rankprune.core import label_dependent_weights
    >>> rates = NoiseRates.from_noise_rates(0.5, 0.1, observed_prevalence=0.3)
    >>> label_dependent_weights([1, 0], rates).tolist()
    [0.7, 0.3]
    """
    positive, negative = _usable_rates(noise_rates)
    is_positive = validate_labels(labels, pos_label=pos_label).is_positive
    alpha = (1 - positive + negative) / 2
    return np.where(is_positive, 1 - alpha, alpha)


def unbiased_loss_weights(
    labels: ArrayLike, noise_rates: NoiseRates, *, pos_label: Any = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the weights of each row with its given label and with the other one.

    Parameters
    ----------
    labels, noise_rates, pos_label
        As in `label_dependent_weights`. Rates with ``reliable=False`` leave every row unchanged.

    Returns
    -------
    tuple of two ndarrays of float
        Weights of the given label, at least 1, and of the other one, at most 0. They sum to 1.

    Notes
    -----
    Natarajan et al. 2013, first method: the expectation over the noise of the loss with these
    weights is the clean loss.

    Examples
    --------
    >>> from rankprune import NoiseRates
    >>> from rankprune.core import unbiased_loss_weights
    >>> rates = NoiseRates.from_noise_rates(0.25, 0.25, observed_prevalence=0.5)
    >>> given, other = unbiased_loss_weights([1, 0], rates)
    >>> given.tolist(), other.tolist()
    ([1.5, 1.5], [-0.5, -0.5])
    """
    positive, negative = _usable_rates(noise_rates)
    is_positive = validate_labels(labels, pos_label=pos_label).is_positive
    rest = 1 - positive - negative
    given = np.where(is_positive, 1 - negative, 1 - positive) / rest
    other = -np.where(is_positive, positive, negative) / rest
    return given, other


def importance_weights(
    labels: ArrayLike,
    probabilities: ArrayLike,
    noise_rates: NoiseRates,
    *,
    pos_label: Any = None,
) -> NDArray[np.float64]:
    """Return how much more often each labeled row would occur if labels were correct.

    Parameters
    ----------
    labels, noise_rates, pos_label
        As in `label_dependent_weights`. Rates with ``reliable=False`` leave every row unchanged.
    probabilities : array-like of shape (n_rows,)
        Out-of-fold probability of the positive label.

    Returns
    -------
    ndarray of float
        ``(p - r) / ((1 - positive_noise_rate - negative_noise_rate) * p)``, at least 0, where
        ``p`` is the probability of the given label and ``r`` the noise rate of the other class.

    Notes
    -----
    Liu and Tao 2016: beta = P(y=s|x) / P(s|x). A label that is no more likely than noise alone
    would make it has weight 0.

    Examples
    --------
    >>> from rankprune import NoiseRates
    >>> from rankprune.core import importance_weights
    >>> rates = NoiseRates.from_noise_rates(0.25, 0.25, observed_prevalence=0.5)
    >>> importance_weights([1, 1, 0], [0.75, 0.25, 0.5], rates).round(3).tolist()
    [1.333, 0.0, 1.0]
    """
    positive, negative = _usable_rates(noise_rates)
    inputs = validate_inputs(labels, probabilities, pos_label=pos_label)
    is_positive, score = inputs.is_positive, np.asarray(inputs.probabilities, dtype=np.float64)
    likely = np.where(is_positive, score, 1 - score)
    noise = np.where(is_positive, negative, positive)
    # If noise cannot cause this label, every such label is right, however unlikely: the limit of
    # the share is 1, where the formula gives 0 / 0.
    share = np.where(noise > 0, 0.0, 1.0)
    with np.errstate(over="ignore"):  # minus infinity, which becomes 0
        np.divide(likely - noise, likely, out=share, where=likely > 0)
    return np.maximum(share, 0.0) / (1 - positive - negative)


def unlabeled_weights(probabilities: ArrayLike, label_frequency: float) -> NDArray[np.float64]:
    """Return the probability that each row is positive, given that it was not labeled.

    Parameters
    ----------
    probabilities : array-like of shape (n_rows,)
        Out-of-fold probability that a row is labeled.
    label_frequency : float
        Share of the positives that are labeled, in (0, 1].

    Returns
    -------
    ndarray of float
        ``(1 - c) / c * p / (1 - p)``, at most 1.

    Notes
    -----
    Elkan and Noto 2008, Section 3: w(x) = P(y=1 | x, s=0).

    Examples
    --------
    >>> from rankprune.core import unlabeled_weights
    >>> unlabeled_weights([0.0, 0.25, 0.5], 0.5).round(3).tolist()
    [0.0, 0.333, 1.0]
    """
    score = np.asarray(validate_probabilities(probabilities, None), dtype=np.float64)
    frequency = validate_label_frequency(label_frequency)
    # From p = c on, the ratio is at least 1 and is capped, so there is no division by 0.
    below = score < frequency
    weights = np.full(len(score), 1.0 if frequency < 1 else 0.0)
    part = score[below]
    weights[below] = np.minimum((1 - frequency) * (part / frequency) / (1 - part), 1.0)
    return weights


def _usable_rates(noise_rates: Any) -> tuple[float, float]:
    """Return the two noise rates, or 0 for both if they are not reliable."""
    validate_noise_rates(noise_rates)
    if not noise_rates.reliable:
        return 0.0, 0.0
    return noise_rates.positive_noise_rate, noise_rates.negative_noise_rate
