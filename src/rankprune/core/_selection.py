"""The value of a given rank within a class, exact, in a few passes and without a sorted copy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rankprune.core._histogram import bin_range, bits_of, value_of
from rankprune.core._inputs import BoolArray, FloatArray, blocks, float_block

# Values that may be copied out at once; a fuller bin is cut into finer ones first.
_MIN_COPIED = 1 << 12
_COPIED_SHARE = 64
_SUBBIN_BITS = 12


def value_of_rank(
    is_member: BoolArray,
    probabilities: FloatArray,
    bin_counts: NDArray[np.int64],
    rank: int,
) -> float:
    """Return the ``rank``-th smallest probability (1 is the smallest) among the member rows.

    ``bin_counts`` is the members' row of a `ScoreHistogram` of the same probabilities.
    """
    copied_at_most = max(_MIN_COPIED, len(is_member) // _COPIED_SHARE)
    index, rank, n_inside = _locate(bin_counts, rank)
    low, high = bin_range(index)
    while n_inside > copied_at_most and high - low > 1:
        shift = max(0, (high - low - 1).bit_length() - _SUBBIN_BITS)
        counts = np.zeros(1 << _SUBBIN_BITS, dtype=np.int64)
        for values in _members_between(is_member, probabilities, low, high):
            counts += np.bincount((bits_of(values) - low) >> shift, minlength=len(counts))
        index, rank, n_inside = _locate(counts, rank)
        low, high = low + (index << shift), min(high, low + ((index + 1) << shift))
    if high - low == 1:
        return value_of(low)
    inside = np.concatenate(list(_members_between(is_member, probabilities, low, high)))
    return float(np.partition(inside, rank - 1)[rank - 1])


def _locate(counts: NDArray[np.int64], rank: int) -> tuple[int, int, int]:
    """Return the bin that holds a rank, the rank within that bin, and the rows in it."""
    cumulated = np.cumsum(counts)
    index = int(np.searchsorted(cumulated, rank))
    n_inside = int(counts[index])
    return index, rank - int(cumulated[index]) + n_inside, n_inside


def _members_between(
    is_member: BoolArray, probabilities: FloatArray, low: int, high: int
) -> Iterator[NDArray[np.float64]]:
    low_value, high_value = value_of(low), value_of(high)
    for rows in blocks(len(is_member)):
        values = float_block(probabilities, rows)
        inside = values >= low_value
        inside &= values < high_value
        inside &= is_member[rows]
        yield values[inside]
