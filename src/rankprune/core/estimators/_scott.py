"""Scott's noise estimators: the largest share of one class's rows that the other could hide.

kappa_1, the largest share of the rows labeled negative that those labeled positive may contain, is
the smallest ratio of the two classes' shares in any set of rows. Among sets below a threshold it
is the smallest slope of a line from the ROC curve to its corner (1, 1). The label error rates
follow from kappa_1 and its mirror image kappa_0, if neither true class contains the other.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rankprune.core._noise_rates import NoiseRates, rates_of_masses
from rankprune.core._shares import upper_bound
from rankprune.core.counting._sketch import ScoreSketch

# Two kappas of 1 mean that the labels carry no information; the algebra would divide 0 by 0.
_MAX_KAPPA = 1 - 1e-9

# Maximum probability that a share exceeds its bound.
_LEVEL = 0.1

# Rows below each threshold, rows in total -> upper confidence bound of their share.
_Bound = Callable[[NDArray[np.float64], float], NDArray[np.float64]]


def scott(sketch: ScoreSketch) -> NoiseRates:
    """Return rates by a bound that holds at all thresholds at once (Scott et al. 2013)."""
    return _estimate(sketch, _uniform_bound)


def scott_2015(sketch: ScoreSketch) -> NoiseRates:
    """Return rates by the exact binomial bound of each threshold (Scott 2015)."""
    return _estimate(sketch, _binomial_bound)


def _uniform_bound(below: NDArray[np.float64], total: float) -> NDArray[np.float64]:
    """Return the bound of Dvoretzky, Kiefer, Wolfowitz and Massart.

    For thresholds, it is the sharp form of the bound that Scott et al. use for sets of any kind.
    """
    return np.asarray(below / total + np.sqrt(-np.log(_LEVEL) / (2 * total)))


def _binomial_bound(below: NDArray[np.float64], total: float) -> NDArray[np.float64]:
    """Return the bound of Clopper and Pearson, which holds at one threshold."""
    return upper_bound(below, np.full(len(below), total), _LEVEL)


def _estimate(sketch: ScoreSketch, bound: _Bound) -> NoiseRates:
    groups = sketch.groups()
    positives, negatives = groups.positives, groups.negatives
    kappa1 = _kappa(positives, negatives, bound)
    kappa0 = _kappa(negatives[::-1], positives[::-1], bound)
    pi1 = kappa1 * (1 - kappa0) / (1 - kappa1 * kappa0)
    pi0 = kappa0 * (1 - kappa1) / (1 - kappa1 * kappa0)
    # Rows of each label, in terms of their true class.
    n_positive, n_negative = float(positives.sum()), float(negatives.sum())
    true_positives = n_positive * (1 - pi1) + n_negative * pi0
    true_negatives = n_negative * (1 - pi0) + n_positive * pi1
    return rates_of_masses(
        n_negative * pi0 / true_positives, n_positive * pi1 / true_negatives, sketch.masses
    )


def _kappa(part: NDArray[np.float64], whole: NDArray[np.float64], bound: _Bound) -> float:
    """Return the smallest upper bound, over thresholds, of share of `part` / share of `whole`."""
    part_below, whole_below = np.cumsum(part), np.cumsum(whole)
    n_whole = float(whole_below[-1])
    # A lower bound of a share is 1 minus the upper bound of the rest.
    least = 1 - bound(n_whole - whole_below, n_whole)
    most = bound(part_below, float(part_below[-1]))
    known = least > 0
    # If no threshold has enough rows, all that is known is that a share is at most 1.
    return min(float((most[known] / least[known]).min(initial=1.0)), _MAX_KAPPA)
