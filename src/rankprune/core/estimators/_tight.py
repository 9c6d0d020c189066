"""The tight noise estimator: the threshold that bounds the noise rate best, instead of the mean.

By the argument of Lemma 3 the share of negative labels among the highest-scored rows bounds the
positive noise rate from above at *every* threshold, not only at LB_{y=1}, if there are many rows:
rows of the other class can only add to it. So the smallest bound is the best, once sampling error
is accounted for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankprune.core._noise_rates import NoiseRates, rates_of_masses
from rankprune.core._shares import quick_upper_bound, upper_bound
from rankprune.core.counting._score_groups import ScoreGroups
from rankprune.core.counting._sketch import ScoreSketch

# Minimum number of rows beyond a threshold, or all rows of a class that is smaller.
_MIN_ROWS = 50
# Quick bounds are off by up to 3 %, so that of the best threshold is at most so much larger.
_NEAR = 1.03 / 0.97


@dataclass(frozen=True)
class Evidence:
    """Requirements that a bound must meet.

    Attributes
    ----------
    support : float
        Minimum number of rows beyond a threshold, as a share of the class.
    level : float
        Maximum probability that the true share exceeds the bound that is minimised.
    """

    support: float
    level: float


_STRICT = Evidence(support=0.1, level=1e-4)


def tight(sketch: ScoreSketch) -> NoiseRates:
    """Return the tight estimate; a threshold lies between two bins of the sketch."""
    positive, negative = smallest_shares(sketch.groups(), _STRICT)
    return rates_of_masses(positive, negative, sketch.masses)


def tight_of_many(
    _: ScoreGroups, positives: NDArray[np.float64], negatives: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the positive and the negative noise rate of each resample, as `curve_of_many`."""
    return smallest_shares_of_many(positives, negatives, _STRICT)


def smallest_shares(groups: ScoreGroups, evidence: Evidence) -> tuple[float, float]:
    """Return the best bounds of the positive and of the negative noise rate."""
    return (
        _smallest_share(groups.negatives[::-1], groups.positives[::-1], evidence),
        _smallest_share(groups.positives, groups.negatives, evidence),
    )


def _smallest_share(
    wrong: NDArray[np.float64], right: NDArray[np.float64], evidence: Evidence
) -> float:
    """Return the share of wrong labels beyond the threshold at which its bound is smallest."""
    beyond, wrong_beyond, bounds = _quick_bounds(wrong[None], right[None], evidence)
    # Bounds in closed form leave few thresholds, of which exact ones tell the best.
    near = np.flatnonzero(bounds[0] <= bounds[0].min() * _NEAR)
    beyond, wrong_beyond = beyond[0, near], wrong_beyond[0, near]
    best = int(np.argmin(upper_bound(wrong_beyond, beyond, evidence.level)))
    return float(wrong_beyond[best] / beyond[best])


def smallest_shares_of_many(
    positives: NDArray[np.float64], negatives: NDArray[np.float64], evidence: Evidence
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the best bounds of both noise rates for several sets of rows, in closed form.

    Parameters
    ----------
    positives, negatives : ndarray of shape (n_sets, n_groups)
        Rows of each label in groups of ascending scores; a threshold lies between two groups.
    evidence : Evidence
    """
    return (
        _smallest_share_of_many(negatives[:, ::-1], positives[:, ::-1], evidence),
        _smallest_share_of_many(positives, negatives, evidence),
    )


def _smallest_share_of_many(
    wrong: NDArray[np.float64], right: NDArray[np.float64], evidence: Evidence
) -> NDArray[np.float64]:
    beyond, wrong_beyond, bounds = _quick_bounds(wrong, right, evidence)
    best = bounds.argmin(axis=1)[:, None]
    shares = np.take_along_axis(wrong_beyond, best, 1) / np.take_along_axis(beyond, best, 1)
    return np.asarray(shares[:, 0])


def _quick_bounds(
    wrong: NDArray[np.float64], right: NDArray[np.float64], evidence: Evidence
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the rows and the wrong labels beyond each threshold, and the bound of their share.

    The bound is infinite where too few rows are beyond.
    """
    beyond, wrong_beyond = np.cumsum(wrong + right, axis=1), np.cumsum(wrong, axis=1)
    # Summed on its own: the difference of the two sums is 0 if the other class is much heavier.
    least = _least(right.sum(axis=1, keepdims=True), evidence)
    # The last threshold includes all rows, whatever rounding says.
    least = np.minimum(least, beyond[:, -1:])
    bounds = quick_upper_bound(wrong_beyond, np.maximum(beyond, least), evidence.level)
    return beyond, wrong_beyond, np.where(beyond >= least, bounds, np.inf)


def _least(n_class: NDArray[np.float64], evidence: Evidence) -> NDArray[np.float64]:
    """Return the smallest number of rows beyond a threshold.

    Never more than the class itself: with fewer rows the bound is wide, but does not have to
    include the other class. The class is not empty, because the labels hold two values.
    """
    return np.minimum(np.maximum(_MIN_ROWS, evidence.support * n_class), n_class)
