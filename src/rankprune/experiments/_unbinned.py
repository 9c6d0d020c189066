"""Noise rates from every distinct score, instead of the fixed bins of a sketch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankprune.core import NoiseRates
from rankprune.core._noise_rates import rates_of_masses
from rankprune.core.counting._score_groups import group_scores
from rankprune.core.estimators._curve import _LOOSE, fit_curve
from rankprune.core.estimators._tight import _STRICT, smallest_shares

UNBINNED = ("tight", "curve")


def unbinned_rates(name: str, labels: NDArray[np.bool_], scores: NDArray[np.float64]) -> NoiseRates:
    """Return the estimate by one of `UNBINNED`, with a group for each distinct score."""
    groups = group_scores(labels, scores, np.ones(len(labels)))
    if name == "tight":
        positive, negative = smallest_shares(groups, _STRICT)
    else:
        bounds = smallest_shares(groups, _LOOSE)
        fitted = fit_curve(groups, bounds)
        positive = min(fitted.positive_noise_rate, bounds[0])
        negative = min(fitted.negative_noise_rate, bounds[1])
    n_positive = float(np.count_nonzero(labels))
    return rates_of_masses(positive, negative, (len(labels) - n_positive, n_positive))
