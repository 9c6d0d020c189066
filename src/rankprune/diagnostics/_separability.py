"""The separability curve: the noise rate at every threshold, with a confidence band.

Among rows that certainly belong to one class, the share of the other label is that class's noise
rate at any threshold. So the curve is flat where the scores separate the classes and rises where
rows of the other class are included (the test proposed in the paper's discussion).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankprune.core._parameters import validate_count, validate_level
from rankprune.core._shares import share_band
from rankprune.core.counting._sketch import ScoreSketch, given_sketch

# The most certain quarter of a class is compared with the rows from there to 60 %.
_MOST_CERTAIN, _CERTAIN = 0.25, 0.6
# A curve that rises by more standard errors than this between the two parts is not flat.
_Z_FLAT = 2.576
_MIN_ROWS = 20
# More thresholds than any plot can show.
_MAX_POINTS = 1_000_000


@dataclass(frozen=True)
class SeparabilitySide:
    """The curve of one class, from the most certain rows to all rows.

    Attributes
    ----------
    share_of_class : ndarray
        Number of rows beyond the threshold, as a multiple of the number with the class's label.
    threshold : ndarray
        Probability at which those rows begin, to within half a bin of `ScoreSketch`.
    noise_rate : ndarray
        Share of those rows with the other label: the noise rate if they all belong to the class.
    low, high : ndarray
        Clopper-Pearson confidence band.
    flat : bool or None
        Whether the curve is flat over the more certain part of the class; None if rows are too few.

    Examples
    --------
    >>> from rankprune.diagnostics import separability_curve
    >>> scores = [0.1, 0.1, 0.2, 0.2, 0.8, 0.8, 0.9, 0.9]
    >>> side = separability_curve([0, 0, 0, 1, 0, 1, 1, 1], scores).positive
    >>> side.threshold.round(2).tolist(), side.flat
    ([0.9, 0.8, 0.2, 0.1], None)
    """

    share_of_class: NDArray[np.float64]
    threshold: NDArray[np.float64]
    noise_rate: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    flat: bool | None


@dataclass(frozen=True)
class SeparabilityCurve:
    """The curves of both classes.

    Attributes
    ----------
    positive, negative : SeparabilitySide
        Curve of the positive class, highest probabilities first, and of the negative class,
        lowest probabilities first.

    Examples
    --------
    >>> from rankprune.diagnostics import separability_curve
    >>> scores = [0.1, 0.1, 0.2, 0.2, 0.8, 0.8, 0.9, 0.9]
    >>> curve = separability_curve([0, 0, 0, 1, 0, 1, 1, 1], scores)
    >>> curve.negative.noise_rate.round(2).tolist()
    [0.0, 0.25, 0.33, 0.5]
    """

    positive: SeparabilitySide
    negative: SeparabilitySide


def separability_curve(
    labels: ArrayLike | ScoreSketch,
    probabilities: ArrayLike | None = None,
    *,
    level: float = 0.95,
    n_points: int = 200,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> SeparabilityCurve:
    """Return the noise rate of each class at every threshold.

    Parameters
    ----------
    labels, probabilities, sample_weight, pos_label
        As in `estimate_noise_rates`; ``labels`` may be a `ScoreSketch`.
    level : float, default=0.95
        Confidence level of the band, for each point separately.
    n_points : int, default=200
        Largest number of thresholds, spaced evenly by the logarithm of the number of rows
        beyond them.

    Examples
    --------
    >>> from rankprune.diagnostics import separability_curve
    >>> scores = [0.1, 0.1, 0.2, 0.2, 0.8, 0.8, 0.9, 0.9]
    >>> curve = separability_curve([0, 0, 0, 1, 0, 1, 1, 1], scores)
    >>> curve.positive.noise_rate.round(2).tolist()
    [0.0, 0.25, 0.33, 0.5]
    """
    sketch = given_sketch(labels, probabilities, sample_weight=sample_weight, pos_label=pos_label)
    level = validate_level(level)
    n_points = min(validate_count(n_points, "n_points", 200), _MAX_POINTS)
    groups = sketch.groups()
    return SeparabilityCurve(
        positive=_side(
            groups.scores[::-1], groups.negatives[::-1], groups.positives[::-1], level, n_points
        ),
        negative=_side(groups.scores, groups.positives, groups.negatives, level, n_points),
    )


def _side(
    scores: NDArray[np.float64],
    other: NDArray[np.float64],
    own: NDArray[np.float64],
    level: float,
    n_points: int,
) -> SeparabilitySide:
    # Summed on its own: the difference of two sums is 0 if the other class is much heavier.
    n_class = float(own.sum())
    beyond, other = np.cumsum(other + own), np.cumsum(other)
    flat = _is_flat(beyond, other, n_class)
    grid = np.geomspace(beyond[0], beyond[-1], n_points)
    shown = np.unique(np.minimum(np.searchsorted(beyond, grid), len(beyond) - 1))
    beyond, other = beyond[shown], other[shown]
    low, high = share_band(other, beyond, level)
    return SeparabilitySide(beyond / n_class, scores[shown], other / beyond, low, high, flat)


def _is_flat(
    beyond: NDArray[np.float64], other: NDArray[np.float64], n_class: float
) -> bool | None:
    """Return whether the most certain rows have the other label as often as the next ones."""
    first = int(np.searchsorted(beyond, _MOST_CERTAIN * n_class))
    last = int(np.searchsorted(beyond, _CERTAIN * n_class))
    if last <= first or beyond[first] < _MIN_ROWS:
        return None
    n_first, n_next = beyond[first], beyond[last] - beyond[first]
    share = other[last] / beyond[last]
    difference = (other[last] - other[first]) / n_next - other[first] / n_first
    error = np.sqrt(share * (1 - share) * (1 / n_first + 1 / n_next))
    return bool(difference <= _Z_FLAT * error)
