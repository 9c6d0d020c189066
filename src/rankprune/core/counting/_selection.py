"""The value of a given rank within a class, exact, in a few passes and without a sorted copy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rankprune.core._blocks import blocks
from rankprune.core._inputs import BoolArray, FloatArray, count_true
from rankprune.core.counting._exact_sums import bits_of, value_of
from rankprune.core.counting._histogram import ScoreHistogram
from rankprune.core.counting._kernel import Kernel, kernel_for

# At most _MIN_COPIED values or 1 / _COPIED_SHARE of the rows are copied, whichever is more; a
# fuller bin is first divided into finer ones.
_MIN_COPIED = 1 << 12
_COPIED_SHARE = 64


class Bins(Protocol):
    """Rows of each label in ranges of scores, from low to high."""

    counts: Any

    def bin_range(self, index: int) -> tuple[int, int]: ...


@dataclass(frozen=True)
class Ranked:
    """The value of a rank, with the number of rows below it and equal to it."""

    value: float
    n_below: int
    n_equal: int


class RankSearch:
    """Search for the value of a rank, narrowed down by every pass over the rows.

    A pass either copies the remaining values, if they are few, or counts them in finer bins.
    Searches of the same pass over different rows can be merged.

    Parameters
    ----------
    label : bool
        Label whose rows are ranked.
    low, high : int
        Bit patterns of the range: the value is at or above the first and below the second.
    n_below, n_inside : int
        Number of rows of the label below that range and in it.
    limit : int
        Maximum number of values to copy.
    """

    def __init__(
        self, label: bool, low: int, high: int, n_below: int, n_inside: int, limit: int
    ) -> None:
        self.label, self.low, self.high = label, low, high
        self.n_below, self.n_inside, self.limit = n_below, n_inside, limit
        self._copied: list[NDArray[np.float64]] = []
        self._finer = None if n_inside <= limit else ScoreHistogram(low, high - 1)

    @classmethod
    def in_histogram(
        cls,
        histogram: Bins,
        label: bool,
        ranks: tuple[int, int],
        limit: int,
        extremes: tuple[float, float] = (0.0, 1.0),
    ) -> RankSearch:
        """Return the search for a rank between two ranks, inclusive (1 is the smallest)."""
        bounds = (bits_of(extremes[0]), bits_of(extremes[1]) + 1)
        return _within(histogram, histogram.counts[int(label)], label, ranks, limit, 0, bounds)

    def empty(self) -> RankSearch:
        """Return a copy of the search that has seen no rows of this pass."""
        return RankSearch(self.label, self.low, self.high, self.n_below, self.n_inside, self.limit)

    def add_block(self, kernel: Kernel, is_positive: BoolArray, values: FloatArray) -> None:
        """Process a block of rows that the kernel has prepared."""
        found = kernel.values_between(
            is_positive, values, self.label, value_of(self.low), value_of(self.high)
        )
        if self._finer is None:
            if len(found):
                self._copied.append(found)
        else:
            self._finer.add_block(kernel, np.ones(len(found), dtype=bool), found)

    def merge(self, other: RankSearch) -> RankSearch:
        """Return the search that has seen the rows of both, those of ``other`` last."""
        merged = self.empty()
        merged._copied = [*self._copied, *other._copied]
        if self._finer is not None and other._finer is not None:
            merged._finer = self._finer.merge(other._finer)
        return merged

    def covers(self, rank: int) -> bool:
        """Return whether the value of a rank is in the range of the search."""
        return self.n_below < rank <= self.n_below + self.n_inside

    def after_pass(self, rank: int) -> Ranked | RankSearch:
        """Return the value of a rank after a pass over all rows, or a narrower search for it."""
        if self._finer is not None:
            return settled(
                _within(
                    self._finer,
                    self._finer.counts[1],
                    self.label,
                    (rank - self.n_below, rank - self.n_below),
                    self.limit,
                    self.n_below,
                    (self.low, self.high),
                )
            )
        inside, place = np.concatenate(self._copied), rank - self.n_below - 1
        value = float(np.partition(inside, place)[place])
        return Ranked(value, self.n_below + count_true(inside < value), count_true(inside == value))


def value_of_rank(
    is_positive: BoolArray,
    probabilities: FloatArray,
    histogram: ScoreHistogram,
    label: bool,
    rank: int,
) -> Ranked:
    """Return the ``rank``-th smallest probability (1 is the smallest) of the rows of a label.

    ``histogram`` must hold the same rows.
    """
    limit = max(_MIN_COPIED, len(is_positive) // _COPIED_SHARE)
    search = settled(RankSearch.in_histogram(histogram, label, (rank, rank), limit))
    kernel = kernel_for(len(is_positive))
    while isinstance(search, RankSearch):
        for rows in blocks(len(is_positive)):
            search.add_block(kernel, is_positive[rows], kernel.prepared(probabilities[rows]))
        search = search.after_pass(rank)
    return search


def _within(
    histogram: Bins,
    counts: NDArray[Any],
    label: bool,
    ranks: tuple[int, int],
    limit: int,
    n_below: int,
    bounds: tuple[int, int],
) -> RankSearch:
    """Return the search in the bins that hold the ranks, with ``n_below`` rows below all bins."""
    cumulated = np.cumsum(counts)
    first, last = (int(index) for index in np.searchsorted(cumulated, ranks))
    n_skipped = int(cumulated[first] - counts[first])
    low, high = histogram.bin_range(first)[0], histogram.bin_range(last)[1]
    return RankSearch(
        label,
        max(low, bounds[0]),
        min(high, bounds[1]),
        n_below + n_skipped,
        int(cumulated[last]) - n_skipped,
        limit,
    )


def settled(search: RankSearch) -> Ranked | RankSearch:
    """Return the value if the range holds no other, and the search if it does."""
    if search.high - search.low > 1:
        return search
    return Ranked(value_of(search.low), search.n_below, search.n_inside)
