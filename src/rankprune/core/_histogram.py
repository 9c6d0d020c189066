"""How many rows of each class fall into each of a fixed set of probability bins; bins add up."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankprune.core._inputs import BoolArray, FloatArray, blocks, float_block

# Non-negative floats keep their order when their bits are read as integers, so a bin is a range of
# bit patterns: 256 to each power of two, fine near 0 where the scores of rare classes crowd.
_BIN_SHIFT = 44
_N_OCTAVES = 16
N_BINS = _N_OCTAVES << 8
ONE_BITS = int(np.float64(1).view(np.int64))
# Everything below this (2**-16) shares the first bin, everything from the last edge to 1 the last.
_FIRST_BITS = ONE_BITS - (N_BINS << _BIN_SHIFT)


class ScoreHistogram:
    """Counts per class and bin: what one pass over the rows leaves for ranks and for the AUC.

    Attributes
    ----------
    counts : ndarray of shape (2, N_BINS)
        Rows of the negative and of the positive class in each bin.
    """

    def __init__(self) -> None:
        self.counts = np.zeros((2, N_BINS), dtype=np.int64)

    def update(self, is_positive: BoolArray, probabilities: FloatArray) -> ScoreHistogram:
        """Add a batch of rows and return the histogram itself."""
        flat = self.counts.reshape(-1)
        for rows in blocks(len(is_positive)):
            codes = bits_of(float_block(probabilities, rows))
            np.maximum(codes, _FIRST_BITS, out=codes)
            codes -= _FIRST_BITS
            codes >>= _BIN_SHIFT
            np.minimum(codes, N_BINS - 1, out=codes)
            np.add(codes, N_BINS, out=codes, where=is_positive[rows])
            flat += np.bincount(codes, minlength=2 * N_BINS)
        return self

    def merge(self, other: ScoreHistogram) -> ScoreHistogram:
        """Return the histogram of the rows of both."""
        merged = ScoreHistogram()
        np.add(self.counts, other.counts, out=merged.counts)
        return merged


def bits_of(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return a new array of integers in the order of the values, which must not be negative."""
    return (values + 0.0).view(np.int64)  # the addition turns -0.0 into 0.0, and copies


def value_of(bits: int) -> float:
    """Return the float whose bits these are."""
    return float(np.int64(bits).view(np.float64))


def bin_range(index: int) -> tuple[int, int]:
    """Return the first bit pattern of a bin and the first one beyond it."""
    low = 0 if index == 0 else _FIRST_BITS + (index << _BIN_SHIFT)
    high = ONE_BITS + 1 if index == N_BINS - 1 else _FIRST_BITS + ((index + 1) << _BIN_SHIFT)
    return low, high
