"""The value of a given rank within a class, exact, in a few passes and without a sorted copy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankprune.core._histogram import ScoreHistogram, value_of
from rankprune.core._inputs import BoolArray, FloatArray, blocks, count_true, float_block

# Values that may be copied out at once; a fuller bin is cut into finer ones first.
_MIN_COPIED = 1 << 12
_COPIED_SHARE = 64


@dataclass(frozen=True)
class Ranked:
    """The value of a rank, with the number of rows below it and equal to it."""

    value: float
    n_below: int
    n_equal: int


def value_of_rank(
    is_positive: BoolArray,
    probabilities: FloatArray,
    histogram: ScoreHistogram,
    label: bool,
    rank: int,
) -> Ranked:
    """Return the ``rank``-th smallest probability (1 is the smallest) of the rows of a label.

    ``histogram`` is that of the same rows.
    """
    copied_at_most = max(_MIN_COPIED, len(is_positive) // _COPIED_SHARE)
    index, n_below, n_inside = _locate(histogram.counts[int(label)], rank)
    low, high = histogram.bin_range(index)
    while n_inside > copied_at_most and high - low > 1:
        finer = ScoreHistogram(low, high - 1)
        for values in _members_between(is_positive, label, probabilities, low, high):
            finer.update(np.ones(len(values), dtype=bool), values)
        index, n_skipped, n_inside = _locate(finer.counts[1], rank - n_below)
        n_below += n_skipped
        bin_low, bin_high = finer.bin_range(index)
        low, high = max(low, bin_low), min(high, bin_high)
    if high - low == 1:
        return Ranked(value_of(low), n_below, n_inside)
    inside = np.concatenate(list(_members_between(is_positive, label, probabilities, low, high)))
    value = float(np.partition(inside, rank - n_below - 1)[rank - n_below - 1])
    return Ranked(value, n_below + count_true(inside < value), count_true(inside == value))


def _locate(counts: NDArray[np.int64], rank: int) -> tuple[int, int, int]:
    """Return the bin that holds a rank, the rows in the bins below it, and the rows in it."""
    cumulated = np.cumsum(counts)
    index = int(np.searchsorted(cumulated, rank))
    return index, int(cumulated[index] - counts[index]), int(counts[index])


def _members_between(
    is_positive: BoolArray, label: bool, probabilities: FloatArray, low: int, high: int
) -> Iterator[NDArray[np.float64]]:
    low_value, high_value = value_of(low), value_of(high)
    for rows in blocks(len(is_positive)):
        values = float_block(probabilities, rows)
        inside = values >= low_value
        inside &= values < high_value
        inside &= is_positive[rows] == label
        yield values[inside]
