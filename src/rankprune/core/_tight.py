"""The tight noise estimator: the threshold that bounds the noise rate best, instead of the mean.

By the argument of Lemma 3 the share of negative labels among the highest-scored rows bounds the
positive noise rate from above at *every* threshold, not at LB_{y=1} alone, as rows grow in number:
rows of the other class can only add to it. So the smallest bound is the best, once chance is
accounted for.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from rankprune.core._informative import effective_rows
from rankprune.core._inputs import BoolArray, FloatArray
from rankprune.core._noise_rates import NoiseRates, possible_noise_rates

# Rows that must lie beyond a threshold: a share of the class, and never fewer than this.
_MIN_SHARE = 0.1
_MIN_ROWS = 50
# How unlikely it is that the share among all such rows exceeds the bound that is minimised.
_LEVEL = 1e-4
# Thresholds that are compared, evenly spaced on a logarithmic scale of the rows beyond them.
_N_THRESHOLDS = 2000


def tight(
    labels: BoolArray,
    probabilities: FloatArray,
    *,
    sample_weight: NDArray[np.float64] | None = None,
) -> NoiseRates:
    """Return the tight estimate from checked labels and probabilities."""
    is_positive = labels.view(bool)
    weight = np.ones(len(is_positive)) if sample_weight is None else sample_weight
    n_positive, n_negative = float(weight[is_positive].sum()), float(weight[~is_positive].sum())
    observed = n_positive / (n_positive + n_negative)
    # Chance is counted in rows, so weights that are no counts are brought to that scale.
    rows = weight * (effective_rows(weight) / weight.sum())
    # The share among all rows is a candidate too, and possible, so nothing can be clipped.
    positive, negative, _ = possible_noise_rates(
        _smallest_share(probabilities, ~is_positive, rows),
        _smallest_share(-probabilities, is_positive, rows),
        observed,
    )
    return replace(
        NoiseRates.from_noise_rates(positive, negative, observed),
        n_positive=n_positive,
        n_negative=n_negative,
    )


def _smallest_share(scores: FloatArray, is_wrong: BoolArray, rows: NDArray[np.float64]) -> float:
    """Return the share of wrong labels among the highest scores where its bound is smallest."""
    order = np.argsort(-scores, kind="stable")
    scores = scores[order]
    beyond = np.cumsum(rows[order])
    wrong_beyond = np.cumsum(np.where(is_wrong, rows, 0.0)[order])
    # A threshold lies between two distinct values, so that rows that tie stay together.
    ends = np.append(np.flatnonzero(scores[1:] < scores[:-1]), len(scores) - 1)
    beyond, wrong_beyond = beyond[ends], wrong_beyond[ends]
    n_class = beyond[-1] - wrong_beyond[-1]
    # Never more than the class itself: with fewer rows the bound is wide, but no other class is
    # drawn in. The class is not empty, or the labels would hold one value only.
    least = min(max(_MIN_ROWS, _MIN_SHARE * n_class), n_class)
    grid = np.geomspace(least, beyond[-1], _N_THRESHOLDS)
    # Rounding must not carry the last threshold beyond the last row.
    chosen = np.unique(np.minimum(np.searchsorted(beyond, grid), len(beyond) - 1))
    beyond, wrong_beyond = beyond[chosen], wrong_beyond[chosen]
    best = int(np.argmin(_upper_bound(wrong_beyond, beyond)))
    return float(wrong_beyond[best] / beyond[best])


def _upper_bound(wrong: NDArray[np.float64], rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the upper confidence bound of Clopper and Pearson for a share of wrong rows."""
    right = rows - wrong
    bound = np.ones(len(rows))
    some = right > 0
    bound[some] = betaincinv(wrong[some] + 1, right[some], 1 - _LEVEL)
    return bound
