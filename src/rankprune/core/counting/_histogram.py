"""Number of rows of each class in each of a fixed set of probability bins; counts add up."""

from __future__ import annotations

import numpy as np

from rankprune.core._blocks import blocks
from rankprune.core._inputs import BoolArray, FloatArray
from rankprune.core.counting._exact_sums import bits_of
from rankprune.core.counting._kernel import Kernel, kernel_for

# Non-negative floats keep their order when their bits are read as integers, so a bin is a range of
# bit patterns. The range from 2**-16 to 1 gets 256 bins per power of two: fine near 0, where the
# scores of rare classes crowd.
_LOWEST = int(np.float64(2.0**-16).view(np.int64))
_HIGHEST = int(np.float64(1).view(np.int64))
COARSE, FINE = 12, 16


class ScoreHistogram:
    """Counts per class and bin, from one pass over the rows, for ranks and for the AUC.

    Parameters
    ----------
    lowest, highest : int
        Bit patterns of the range to divide. Smaller values count in the first bin; larger ones
        must not occur.
    precision : int
        Determines the number of bins, about ``2**precision``.

    Attributes
    ----------
    counts : ndarray of shape (2, n_bins)
        Number of rows of the negative and of the positive class in each bin.
    """

    def __init__(
        self, lowest: int = _LOWEST, highest: int = _HIGHEST, precision: int = COARSE
    ) -> None:
        self.lowest = lowest
        self.highest = highest
        self.precision = precision
        self._shift = max(0, (highest - lowest - 1).bit_length() - precision)
        self._first = lowest >> self._shift
        n_bins = (highest >> self._shift) - self._first + 1
        self.counts = np.zeros((2, n_bins), dtype=np.int64)

    @classmethod
    def spanning(cls, probabilities: FloatArray) -> ScoreHistogram:
        """Return an empty histogram over the range of the values, at most 16 powers of two."""
        highest = bits_of(float(probabilities.max()))
        return cls(max(bits_of(float(probabilities.min())), highest - _HIGHEST + _LOWEST), highest)

    def update(self, is_positive: BoolArray, probabilities: FloatArray) -> ScoreHistogram:
        """Add a batch of rows and return the histogram itself."""
        kernel = kernel_for(len(is_positive))
        for rows in blocks(len(is_positive)):
            self.add_block(kernel, is_positive[rows], kernel.prepared(probabilities[rows]))
        return self

    def add_block(self, kernel: Kernel, is_positive: BoolArray, values: FloatArray) -> None:
        """Add a block of rows that the kernel has prepared."""
        grid = (self.lowest, self._shift, self._first)
        kernel.add_to_histogram(self.counts, grid, is_positive, values)

    def merge(self, other: ScoreHistogram) -> ScoreHistogram:
        """Return the histogram of the rows of both, which must have the same bins."""
        merged = ScoreHistogram(self.lowest, self.highest, self.precision)
        np.add(self.counts, other.counts, out=merged.counts)
        return merged

    def bin_of(self, value: float) -> int:
        """Return the index of the bin that contains a value."""
        return (max(bits_of(value), self.lowest) >> self._shift) - self._first

    def bin_range(self, index: int) -> tuple[int, int]:
        """Return the first bit pattern of a bin and the first one beyond it."""
        low = 0 if index == 0 else (self._first + index) << self._shift
        return low, (self._first + index + 1) << self._shift
