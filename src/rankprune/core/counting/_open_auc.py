"""Whether scores are informative, if the bins of the first pass do not settle it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankprune.core._auc import auc_bounds
from rankprune.core._inputs import BoolArray, FloatArray
from rankprune.core.counting._exact_sums import bits_of, value_of
from rankprune.core.counting._histogram import FINE, ScoreHistogram
from rankprune.core.counting._kernel import Kernel
from rankprune.core.counting._score_groups import group_scores

# Maximum number of passes that refine the AUC; pairs that still tie then count half.
_MAX_LOOKS = 8


class OpenAuc:
    """Refines the bins that hold both labels, if these decide whether scores are informative.

    Up to a million rows are compared one by one, more in the bins of a finer histogram. The next
    pass refines the bin that leaves most open, until the rest is too little to matter.
    """

    def __init__(
        self,
        below: NDArray[np.int64],
        above: NDArray[np.int64],
        bounds: tuple[int, int],
        n_inside: int,
        max_copied: int,
        n_looks: int = 1,
    ) -> None:
        self._below, self._above, self._bounds = below, above, bounds
        self._n_inside, self._max_copied, self._n_looks = n_inside, max_copied, n_looks
        self._copied: dict[bool, list[NDArray[np.float64]]] = {True: [], False: []}
        low, high = bounds
        self._finer = None if n_inside <= max_copied else ScoreHistogram(low, high - 1, FINE)

    @classmethod
    def in_histogram(
        cls, histogram: ScoreHistogram, extremes: tuple[float, float], max_copied: int
    ) -> OpenAuc:
        """Return the refinement of all bins that hold both labels, and of those between them."""
        mixed = np.flatnonzero(histogram.counts.all(axis=0))
        bounds = (bits_of(extremes[0]), bits_of(extremes[1]) + 1)
        first, last = int(mixed[0]), int(mixed[-1])
        low = max(histogram.bin_range(first)[0], bounds[0])
        high = min(histogram.bin_range(last)[1], bounds[1])
        counts = histogram.counts
        n_inside = int(counts[:, first : last + 1].sum())
        return cls(counts[:, :first], counts[:, last + 1 :], (low, high), n_inside, max_copied)

    def empty(self) -> OpenAuc:
        return OpenAuc(
            self._below, self._above, self._bounds, self._n_inside, self._max_copied, self._n_looks
        )

    def forget(self) -> None:
        self._below = self._above = self._below[:, :0]

    def add_block(self, kernel: Kernel, is_positive: BoolArray, values: FloatArray) -> None:
        low, high = (value_of(bits) for bits in self._bounds)
        for label in (True, False):
            found = kernel.values_between(is_positive, values, label, low, high)
            if self._finer is None:
                self._copied[label].append(found)
            else:
                self._finer.add_block(kernel, np.full(len(found), label), found)

    def merge(self, other: OpenAuc) -> OpenAuc:
        merged = self.empty()
        for label, copied in merged._copied.items():
            copied += [*self._copied[label], *other._copied[label]]
        if self._finer is not None and other._finer is not None:
            merged._finer = self._finer.merge(other._finer)
        return merged

    def bounds(self) -> tuple[float, float]:
        """Return the AUC with all remaining ties counted against it, and for it."""
        return auc_bounds(*self._counts())

    def closer(self, needed: float) -> OpenAuc | None:
        """Return the refinement of the bin that leaves most open, or None if it would not help."""
        least, most = self.bounds()
        finer = self._finer
        if finer is None or not least <= needed < most or self._n_looks == _MAX_LOOKS:
            return None
        worst = int(np.argmax(finer.counts[0] * finer.counts[1].astype(np.float64)))
        low, high = finer.bin_range(worst)
        low, high = max(low, self._bounds[0]), min(high, self._bounds[1])
        if high - low <= 1:
            return None
        counts, position = self._counts(), self._below.shape[1] + worst
        n_inside = int(finer.counts[:, worst].sum())
        return OpenAuc(
            counts[:, :position],
            counts[:, position + 1 :],
            (low, high),
            n_inside,
            self._max_copied,
            self._n_looks + 1,
        )

    def _counts(self) -> NDArray[np.int64]:
        """Return the number of rows of each label in score order, as far as the order is known."""
        if self._finer is not None:
            inside = self._finer.counts
        else:
            values = {label: np.concatenate(found) for label, found in self._copied.items()}
            is_positive = np.repeat([True, False], [len(values[True]), len(values[False])])
            scores = np.concatenate([values[True], values[False]])
            groups = group_scores(is_positive, scores, np.ones(len(scores)))
            inside = np.stack([groups.negatives, groups.positives]).astype(np.int64)
        return np.concatenate([self._below, inside, self._above], axis=1)
