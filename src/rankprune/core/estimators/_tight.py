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

from rankprune.core._inputs import BoolArray, FloatArray
from rankprune.core._noise_rates import NoiseRates, rates_of_rows
from rankprune.core._shares import row_weights, upper_bound
from rankprune.core.counting._score_groups import ScoreGroups, group_scores

# Minimum number of rows beyond a threshold, or all rows of a class that is smaller.
_MIN_ROWS = 50
# Number of thresholds compared, evenly spaced on a logarithmic scale of the rows beyond them.
_N_THRESHOLDS = 2000


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


def tight(
    labels: BoolArray,
    probabilities: FloatArray,
    *,
    sample_weight: NDArray[np.float64] | None = None,
) -> NoiseRates:
    """Return the tight estimate from checked labels and probabilities."""
    rows = row_weights(labels, sample_weight)
    groups = group_scores(labels.view(bool), probabilities, rows)
    positive, negative = smallest_shares(groups, _STRICT)
    return rates_of_rows(positive, negative, labels, sample_weight)


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
    beyond, wrong_beyond = np.cumsum(wrong + right), np.cumsum(wrong)
    # Summed on its own: the difference of the two sums is 0 if the other class is much heavier.
    n_class = float(right.sum())
    # Never more than the class itself: with fewer rows the bound is wide, but does not have to
    # include the other class. The class is not empty, because the labels hold two values.
    least = min(max(_MIN_ROWS, evidence.support * n_class), n_class)
    grid = np.geomspace(least, beyond[-1], _N_THRESHOLDS)
    # Rounding must not carry the last threshold beyond the last row.
    chosen = np.unique(np.minimum(np.searchsorted(beyond, grid), len(beyond) - 1))
    beyond, wrong_beyond = beyond[chosen], wrong_beyond[chosen]
    best = int(np.argmin(upper_bound(wrong_beyond, beyond, evidence.level)))
    return float(wrong_beyond[best] / beyond[best])
