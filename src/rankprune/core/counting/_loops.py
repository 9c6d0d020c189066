"""The loops over a block of rows, in NumPy: the reference for the compiled ones.

Each takes a block that fits into cache: which rows are positive, and the values from `prepared`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankprune.core._inputs import BoolArray, FloatArray, count_true
from rankprune.core.counting._bins import FIRST_CODE, LOWEST_BITS, MIDDLE, N_BINS, SHIFT
from rankprune.core.counting._exact_sums import exact_sums, sum_of_chosen

Grid = tuple[int, int, int]
_UNITS = 2.0**30
_WIDTH = MIDDLE + 1
_OFFSETS = np.arange(4) * _WIDTH


def prepared(values: FloatArray) -> NDArray[np.float64]:
    """Return a block as float64, so that float32 is compared without being rounded."""
    return np.asarray(values, dtype=np.float64)


def extremes(values: FloatArray) -> tuple[float, float]:
    """Return the smallest and the largest value, both NaN if any value is NaN."""
    return float(values.min()), float(values.max())


def class_sums(is_positive: BoolArray, values: FloatArray) -> tuple[int, int, int]:
    """Return the number of positive rows, and all and their values summed in units of 2**-1074."""
    chosen = is_positive.astype(np.float64)
    total, positive_sum = exact_sums(values.astype(np.float64, copy=False), chosen, exponent=0)
    return count_true(is_positive), total, positive_sum


def add_to_histogram(
    counts: NDArray[np.int64], grid: Grid, is_positive: BoolArray, values: FloatArray
) -> None:
    """Count the rows of each label and bin; `grid` is the lowest bit pattern, shift, first bin."""
    lowest, shift, first = grid
    # Compared as integers: -0.0, whose bits are a large negative integer, gets the first bin.
    codes = np.maximum(values.view(np.int64), lowest)
    codes >>= shift
    offsets = is_positive.astype(np.int64)
    offsets *= counts.shape[1]
    offsets -= first
    codes += offsets
    flat = counts.reshape(-1)
    flat += np.bincount(codes, minlength=flat.size)


def score_bins(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the number of the fixed bin of each score."""
    codes, is_upper = _from_nearer_end(values)
    np.subtract(N_BINS - 1, codes, out=codes, where=is_upper)
    return codes


def in_score_units(values: FloatArray) -> NDArray[np.float64]:
    """Return scores as whole numbers of 2**-30."""
    units = np.multiply(values, _UNITS, dtype=np.float64)
    units += 0.5
    return np.floor(units, out=units)


def add_to_sketch(
    counts: NDArray[np.int64], is_positive: BoolArray, values: FloatArray
) -> tuple[int, int]:
    """Count the rows of each label and fixed bin, and return all and the positive scores summed.

    Sums are whole numbers of 2**-30.
    """
    codes, is_upper = _from_nearer_end(values)
    # Four tables side by side: each label below and above 1/2, counted from the nearer end.
    table = is_upper.view(np.uint8) << 1
    table |= is_positive.view(np.uint8)
    codes += _OFFSETS.take(table)
    lower_0, lower_1, upper_0, upper_1 = np.bincount(codes, minlength=4 * _WIDTH).reshape(4, -1)
    for label, lower, upper in ((0, lower_0, upper_0), (1, lower_1, upper_1)):
        counts[label, :_WIDTH] += lower
        counts[label, MIDDLE:] += upper[::-1]
    units = in_score_units(values)
    # Whole numbers below 2**30, and at most 2**16 of them: floats add them without rounding.
    return int(units.sum()), int(sum_of_chosen(units, is_positive.astype(np.float64)))


def _from_nearer_end(values: FloatArray) -> tuple[NDArray[np.int64], BoolArray]:
    """Return the number of each score's bin, counted from the nearer end, and which end that is."""
    distances = np.subtract(1.0, values)
    is_upper = distances < values
    np.minimum(distances, values, out=distances)
    codes = distances.view(np.int64)
    # Compared as integers: -0.0, whose bits are a large negative integer, gets the first bin.
    np.maximum(codes, LOWEST_BITS, out=codes)
    codes >>= SHIFT
    codes -= FIRST_CODE
    # A score of exactly 1/2 is in the middle bin too.
    np.minimum(codes, MIDDLE, out=codes)
    return codes, is_upper


def count_beyond(
    is_positive: BoolArray, values: FloatArray, thresholds: tuple[float, float]
) -> tuple[int, int, int, int]:
    """Count the rows at or above the first threshold and at or below the second, by label."""
    above, below = values >= thresholds[0], values <= thresholds[1]
    n_above, n_below = count_true(above), count_true(below)
    above &= is_positive
    below &= is_positive
    above_positive, below_positive = count_true(above), count_true(below)
    return above_positive, n_above - above_positive, below_positive, n_below - below_positive


def values_between(
    is_positive: BoolArray, values: FloatArray, label: bool, low: float, high: float
) -> NDArray[np.float64]:
    """Return the values of one label that are at least `low` and below `high`."""
    inside = values >= low
    inside &= values < high
    inside &= is_positive if label else ~is_positive
    return values[inside].astype(np.float64, copy=False)


def mark_beyond(
    mask: BoolArray, is_positive: BoolArray, values: FloatArray, cutoffs: tuple[float, float]
) -> None:
    """Mark positive rows below the first cut-off and negative ones above the second."""
    np.less(values, cutoffs[0], out=mask)
    mask &= is_positive
    mask |= (values > cutoffs[1]) & ~is_positive
