"""How many rows of each class fall into each of a fixed set of probability bins; bins add up."""

from __future__ import annotations

import numpy as np

from rankprune.core._inputs import BoolArray, FloatArray, blocks, float_block

# Non-negative floats keep their order when their bits are read as integers, so a bin is a range of
# bit patterns. The range from 2**-16 to 1 gets 256 bins to each power of two: fine near 0, where
# the scores of rare classes crowd.
_LOWEST = int(np.float64(2.0**-16).view(np.int64))
_HIGHEST = int(np.float64(1).view(np.int64))
_N_BINS_BITS = 12


class ScoreHistogram:
    """Counts per class and bin: what one pass over the rows leaves for ranks and for the AUC.

    Parameters
    ----------
    lowest, highest : int
        Bit patterns of the range to divide. Smaller values count in the first bin; larger ones
        must not occur.

    Attributes
    ----------
    counts : ndarray of shape (2, n_bins)
        Rows of the negative and of the positive class in each bin.
    """

    def __init__(self, lowest: int = _LOWEST, highest: int = _HIGHEST) -> None:
        self.lowest = lowest
        self.highest = highest
        self._shift = max(0, (highest - lowest - 1).bit_length() - _N_BINS_BITS)
        self._first = lowest >> self._shift
        n_bins = (highest >> self._shift) - self._first + 1
        self.counts = np.zeros((2, n_bins), dtype=np.int64)

    @classmethod
    def spanning(cls, probabilities: FloatArray) -> ScoreHistogram:
        """Return an empty histogram of the range that the values take, up to 16 powers of two."""
        highest = _bits_of(float(probabilities.max()))
        return cls(max(_bits_of(float(probabilities.min())), highest - _HIGHEST + _LOWEST), highest)

    def update(self, is_positive: BoolArray, probabilities: FloatArray) -> ScoreHistogram:
        """Add a batch of rows and return the histogram itself."""
        flat = self.counts.reshape(-1)
        smallest = value_of(self.lowest)
        for rows in blocks(len(is_positive)):
            codes = np.maximum(float_block(probabilities, rows), smallest).view(np.int64)
            codes >>= self._shift
            offsets = is_positive[rows].astype(np.int64)
            offsets *= self.counts.shape[1]
            offsets -= self._first
            codes += offsets
            flat += np.bincount(codes, minlength=flat.size)
        return self

    def merge(self, other: ScoreHistogram) -> ScoreHistogram:
        """Return the histogram of the rows of both, which must divide the same range."""
        merged = ScoreHistogram(self.lowest, self.highest)
        np.add(self.counts, other.counts, out=merged.counts)
        return merged

    def bin_range(self, index: int) -> tuple[int, int]:
        """Return the first bit pattern of a bin and the first one beyond it."""
        low = 0 if index == 0 else (self._first + index) << self._shift
        return low, (self._first + index + 1) << self._shift


def _bits_of(value: float) -> int:
    return int(np.float64(value + 0.0).view(np.int64))  # the addition turns -0.0 into 0.0


def value_of(bits: int) -> float:
    """Return the float whose bits these are."""
    return float(np.int64(bits).view(np.float64))
