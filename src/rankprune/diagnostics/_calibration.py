"""Calibration against the given labels: does a probability of 0.8 mean 80 % positive labels?

Rank Pruning needs no calibration, since it only ranks; the thresholds of confident counts do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankprune.core._parameters import validate_count, validate_level
from rankprune.core._shares import share_band
from rankprune.core.counting._score_groups import mid_ranks
from rankprune.core.counting._sketch import ScoreSketch, given_sketch

# More bins than there can be rows.
_MAX_BINS = 1 << 53


@dataclass(frozen=True)
class Calibration:
    """Probabilities and labels in bins of about equal size, from low to high probability.

    Attributes
    ----------
    mean_probability, share_positive : ndarray
        Mean prediction and share of positive labels in each bin.
    low, high : ndarray
        Confidence band of the share.
    rows : ndarray
        Number of rows in each bin, or their total weight.
    error : float
        Mean absolute difference between prediction and share, weighted by rows.

    Examples
    --------
    >>> from rankprune.diagnostics import calibration
    >>> found = calibration([0, 0, 1, 1], [0.1, 0.1, 0.9, 0.9], n_bins=2)
    >>> found.mean_probability.round(2).tolist(), found.share_positive.tolist()
    ([0.1, 0.9], [0.0, 1.0])
    """

    mean_probability: NDArray[np.float64]
    share_positive: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    rows: NDArray[np.float64]
    error: float


def calibration(
    labels: ArrayLike | ScoreSketch,
    probabilities: ArrayLike | None = None,
    *,
    n_bins: int = 10,
    level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> Calibration:
    """Return how the probabilities compare with the given labels.

    Parameters
    ----------
    labels, probabilities, sample_weight, pos_label
        As in `estimate_noise_rates`; ``labels`` may be a `ScoreSketch`, whose bins have the
        probability in their middle.
    n_bins : int, default=10
        Largest number of bins; rows of equal probability share a bin.
    level : float, default=0.95
        Confidence level of the band.

    Examples
    --------
    >>> from rankprune.diagnostics import calibration
    >>> round(calibration([0, 0, 1, 1], [0.1, 0.1, 0.9, 0.9], n_bins=2).error, 2)
    0.1
    """
    n_bins = min(validate_count(n_bins, "n_bins", 10), _MAX_BINS)
    sketch = given_sketch(labels, probabilities, sample_weight=sample_weight, pos_label=pos_label)
    level = validate_level(level)
    groups = sketch.groups()
    bins = np.minimum((mid_ranks(groups.rows) * n_bins).astype(np.intp), n_bins - 1)
    starts = np.append(0, np.flatnonzero(np.diff(bins)) + 1)
    size, positive, predicted = (
        np.add.reduceat(values, starts)
        for values in (groups.rows, groups.positives, groups.rows * groups.scores)
    )
    predicted = predicted / size
    low, high = share_band(positive, size, level)
    share = positive / size
    error = float(np.average(np.abs(predicted - share), weights=size))
    return Calibration(predicted, share, low, high, size, error)
