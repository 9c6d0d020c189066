"""The estimates that theory predicts when the truth is known: Eq. 4 and 5, Lemma 3, Theorem 4.

For simulated data, whose true labels, true noise rates and perfect probabilities are known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankprune.core._inputs import count_true, validate_labels, validate_probabilities
from rankprune.core._noise_rates import NoiseRates, validate_noise_rates
from rankprune.core._parameters import validate_thresholds
from rankprune.core._rate_algebra import part_of


@dataclass(frozen=True)
class ExpectedNoiseRates:
    """The confident-counts estimate that theory expects, with the rows that bias it upwards.

    Attributes
    ----------
    positive_noise_rate, negative_noise_rate : float
        The estimates of rho_1 and rho_0 that Lemma 3 gives; never below the true rates.
    positives_below_positive_threshold, negatives_above_positive_threshold : int
        The sizes of Delta P_1 and Delta N_1.
    positives_below_negative_threshold, negatives_above_negative_threshold : int
        The sizes of Delta P_0 and Delta N_0.

    Examples
    --------
    >>> from rankprune import NoiseRates
    >>> from rankprune.core import expected_noise_rates
    >>> rates = NoiseRates.from_noise_rates(0.5, 0.0, observed_prevalence=0.25)
    >>> found = expected_noise_rates([1, 1, 0, 0], [0.5, 0.5, 0.5, 0.0], rates, (0.5, 0.2))
    >>> found.negatives_above_positive_threshold, round(found.positive_noise_rate, 3)
    (1, 0.667)
    """

    positive_noise_rate: float
    negative_noise_rate: float
    positives_below_positive_threshold: int
    negatives_above_positive_threshold: int
    positives_below_negative_threshold: int
    negatives_above_negative_threshold: int


def ideal_thresholds(rates: NoiseRates) -> tuple[float, float]:
    """Return the thresholds of an ideal classifier: LB* and UB* of Eq. 4 and 5.

    Parameters
    ----------
    rates : NoiseRates
        The true rates.

    Examples
    --------
    >>> from rankprune import NoiseRates
    >>> from rankprune.core import ideal_thresholds
    >>> ideal_thresholds(NoiseRates.from_noise_rates(0.5, 0.0, observed_prevalence=0.25))
    (0.5, 0.16666666666666666)
    """
    validate_noise_rates(rates, "rates")
    correct, wrong = 1 - rates.positive_noise_rate, rates.negative_noise_rate
    pi1, pi0 = rates.positive_label_error_rate, rates.negative_label_error_rate
    return correct * (1 - pi1) + wrong * pi1, correct * pi0 + wrong * (1 - pi0)


def perfect_probabilities(posterior: ArrayLike, rates: NoiseRates) -> NDArray[np.float64]:
    """Return g*(x) = P(s=1 | x) from P(y=1 | x) and the true noise rates (Lemma A1).

    Parameters
    ----------
    posterior : array-like of shape (n_rows,)
        P(y=1 | x).
    rates : NoiseRates
        The true rates.

    Examples
    --------
    >>> from rankprune import NoiseRates
    >>> from rankprune.core import perfect_probabilities
    >>> rates = NoiseRates.from_noise_rates(0.5, 0.25, observed_prevalence=0.375)
    >>> perfect_probabilities([0.0, 0.5, 1.0], rates).tolist()
    [0.25, 0.375, 0.5]
    """
    validate_noise_rates(rates, "rates")
    truth = np.asarray(validate_probabilities(posterior, None, name="posterior"), dtype=np.float64)
    return (1 - rates.positive_noise_rate) * truth + rates.negative_noise_rate * (1 - truth)


def expected_thresholds(
    labels: ArrayLike, probabilities: ArrayLike, posterior: ArrayLike, rates: NoiseRates
) -> tuple[float, float]:
    """Return the thresholds of an imperfect classifier with overlap: LB and UB of Lemma 3.

    Parameters
    ----------
    labels : array-like of shape (n_rows,)
        Given labels s.
    probabilities : array-like of shape (n_rows,)
        The classifier's g(x).
    posterior : array-like of shape (n_rows,)
        P(y=1 | x), the truth behind the rows.
    rates : NoiseRates
        The true rates.

    Returns
    -------
    tuple of float
        LB_{y=1} and UB_{y=0}.

    Notes
    -----
    The overlap Delta p_o is the mean of P(y=1|x) P(y=0|x), which is P(y-hat=1, y=0) of the
    appendix. The ratio of set sizes printed in Section 3.2 agrees with it only if x with both
    labels have P(y=1|x) P(y=0|x) = 1.

    Examples
    --------
    >>> from rankprune import NoiseRates
    >>> from rankprune.core import expected_thresholds
    >>> rates = NoiseRates.from_noise_rates(0.5, 0.0, observed_prevalence=0.25)
    >>> lower, upper = expected_thresholds([1, 0, 0, 0], [0.5, 0.5, 0.0, 0.0], [1, 1, 0, 0], rates)
    >>> round(lower, 3), round(upper, 3)  # the means of either label
    (0.5, 0.167)
    """
    is_positive = validate_labels(labels).is_positive
    g = validate_probabilities(probabilities, len(is_positive))
    truth = validate_probabilities(posterior, len(is_positive), name="posterior")
    error = g - perfect_probabilities(truth, rates)
    overlap = float(np.mean(truth * (1 - truth)))
    lost = (1 - rates.positive_noise_rate - rates.negative_noise_rate) ** 2 * overlap
    positive_threshold, negative_threshold = ideal_thresholds(rates)
    return (
        positive_threshold + float(error[is_positive].mean()) - lost / rates.observed_prevalence,
        negative_threshold
        + float(error[~is_positive].mean())
        + lost / (1 - rates.observed_prevalence),
    )


def expected_noise_rates(
    true_labels: ArrayLike,
    probabilities: ArrayLike,
    rates: NoiseRates,
    thresholds: tuple[float, float],
) -> ExpectedNoiseRates:
    """Return the estimates that Lemma 3 expects of confident counts at given thresholds.

    Parameters
    ----------
    true_labels : array-like of shape (n_rows,)
        Hidden truth y.
    probabilities : array-like of shape (n_rows,)
        The classifier's g(x).
    rates : NoiseRates
        The true rates.
    thresholds : tuple of float
        LB_{y=1} and UB_{y=0}, as estimated or as returned by `expected_thresholds`.

    Examples
    --------
    >>> from rankprune import NoiseRates
    >>> from rankprune.core import expected_noise_rates
    >>> rates = NoiseRates.from_noise_rates(0.5, 0.0, observed_prevalence=0.25)
    >>> found = expected_noise_rates([1, 1, 0, 0], [0.5, 0.5, 0.0, 0.0], rates, (0.5, 0.2))
    >>> found.positive_noise_rate
    0.5
    """
    truth = validate_labels(true_labels, name="true_labels").is_positive
    g = validate_probabilities(probabilities, len(truth))
    validate_noise_rates(rates, "rates")
    lower, upper = validate_thresholds(thresholds)
    n_positive = count_true(truth)
    n_negative = len(truth) - n_positive
    delta_p1 = count_true(truth & (g < lower))
    delta_n1 = count_true(~truth & (g >= lower))
    delta_p0 = count_true(truth & (g <= upper))
    delta_n0 = count_true(~truth & (g > upper))
    rho1, rho0 = rates.positive_noise_rate, rates.negative_noise_rate
    signal = 1 - rho1 - rho0
    return ExpectedNoiseRates(
        positive_noise_rate=rho1 + signal * part_of(delta_n1, n_positive - delta_p1 + delta_n1),
        negative_noise_rate=rho0 + signal * part_of(delta_p0, n_negative - delta_n0 + delta_p0),
        positives_below_positive_threshold=delta_p1,
        negatives_above_positive_threshold=delta_n1,
        positives_below_negative_threshold=delta_p0,
        negatives_above_negative_threshold=delta_n0,
    )


def robustness_conditions(
    true_labels: ArrayLike,
    probabilities: ArrayLike,
    rates: NoiseRates,
    thresholds: tuple[float, float],
) -> tuple[bool, bool]:
    """Return whether the two conditions of Theorem 4 hold, for classes that do not overlap.

    The first makes the estimate of the positive noise rate exact, the second that of the negative
    noise rate: no error of g(x) carries a row of one class across the threshold of the other.

    Parameters
    ----------
    true_labels, probabilities, rates, thresholds
        As in `expected_noise_rates`.

    Examples
    --------
    >>> from rankprune import NoiseRates
    >>> from rankprune.core import robustness_conditions
    >>> rates = NoiseRates.from_noise_rates(0.2, 0.1, observed_prevalence=0.45)
    >>> robustness_conditions([1, 1, 0, 0], [0.9, 0.2, 0.1, 0.3], rates, (0.6, 0.3))
    (True, False)
    """
    truth = validate_labels(true_labels, name="true_labels").is_positive
    g = validate_probabilities(probabilities, len(truth))
    error = g - perfect_probabilities(truth, rates)
    lower, upper = validate_thresholds(thresholds)
    return (
        bool((error[~truth] < lower - rates.negative_noise_rate).all()),
        bool((error[truth] > -(1 - rates.positive_noise_rate - upper)).all()),
    )
