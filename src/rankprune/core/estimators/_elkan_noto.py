"""Elkan and Noto's noise estimators: how often a positive is labeled, if every label is right.

In positive and unlabeled data a row is labeled (s=1) with probability c = P(s=1 | y=1) if it is
positive and never if it is not, so g(x) = c P(y=1 | x): g is c wherever a row is surely positive.
In the paper's terms c = 1 - rho_1, and rho_0 = 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankprune.core._inputs import BoolArray, FloatArray
from rankprune.core._noise_rates import NoiseRates, rates_of_rows


def elkan_noto(
    labels: BoolArray,
    probabilities: FloatArray,
    *,
    sample_weight: NDArray[np.float64] | None = None,
) -> NoiseRates:
    """Return rates with c as the mean probability of the labeled rows (their e1)."""
    is_labeled = labels.view(bool)
    weight = None if sample_weight is None else sample_weight[is_labeled]
    frequency = np.average(_floats(probabilities)[is_labeled], weights=weight)
    return rates_of_rows(1 - float(frequency), 0.0, labels, sample_weight)


def elkan_noto_e2(
    labels: BoolArray,
    probabilities: FloatArray,
    *,
    sample_weight: NDArray[np.float64] | None = None,
) -> NoiseRates:
    """Return rates with c as the share of all probability on the labeled rows (their e2)."""
    weight = np.ones(len(labels)) if sample_weight is None else sample_weight
    mass = _floats(probabilities) * weight
    total = float(mass.sum())
    # If all probabilities are 0, nothing is known about c; 0 is then clipped to what is possible.
    frequency = float(mass[labels.view(bool)].sum()) / total if total > 0 else 0.0
    return rates_of_rows(1 - frequency, 0.0, labels, sample_weight)


def elkan_noto_e3(
    labels: BoolArray,
    probabilities: FloatArray,
    *,
    sample_weight: NDArray[np.float64] | None = None,
) -> NoiseRates:
    """Return rates with c as the largest probability (their e3)."""
    counted = probabilities if sample_weight is None else probabilities[sample_weight > 0]
    return rates_of_rows(1 - float(counted.max()), 0.0, labels, sample_weight)


def _floats(probabilities: FloatArray) -> NDArray[np.float64]:
    return np.asarray(probabilities, dtype=np.float64)
