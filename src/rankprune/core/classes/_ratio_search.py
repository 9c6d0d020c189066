"""The ratios of given ranks among the rows of each label: exact, in a few passes that merge."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankprune.core._blocks import blocks
from rankprune.core.classes._class_kernel import ClassKernel
from rankprune.core.classes._class_loops import Codes, Counts, Grid, Reals
from rankprune.core.counting._exact_sums import bits_of

# All ratios are between 2**-20 and 2**20, since scores are at most about 1 and `LEAST` is added.
_FIRST = bits_of(2.0**-20)
_N_DOUBLINGS = 40
# The bits behind those that all numbers within a factor of two share.
_MANTISSA = 52
_MOST_BITS = 9
# No ratio is in a bin that begins here.
_NOWHERE = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class ClassCutoffs:
    """Where the pruning of each label stops.

    Attributes
    ----------
    values : ndarray of shape (n_classes,)
        Ratio of the last row pruned: its label's score over the best other one, a millionth added
        to both; NaN if there is none.
    n_pruned : ndarray of shape (n_classes,)
        Number of rows pruned.
    n_ties, n_equal : ndarray of shape (n_classes,)
        Number of pruned rows, and of all rows of the label, whose ratio equals ``values``.

    Examples
    --------
    >>> import numpy as np
    >>> from rankprune.core import ClassCutoffs
    >>> ClassCutoffs(np.array([1.0, np.nan]), *np.array([[2, 0], [1, 0], [1, 0]])).margins
    array([ 0., nan])
    """

    values: Reals
    n_pruned: Counts
    n_ties: Counts
    n_equal: Counts

    @property
    def margins(self) -> Reals:
        """Return the logarithms of the ratios."""
        return np.asarray(np.log(self.values))


class RatioSearch:
    """Search for the ratio of a rank among the rows of each label, narrowed down by every pass.

    The first pass counts the ratios of all rows in bins. A later one looks at the bins that hold
    the ranks: it copies their ratios if they are few, and otherwise counts them in finer bins.
    Searches of the same pass over different rows can be merged.

    Parameters
    ----------
    n_classes : int
    n_cells : int, default=262144
        Size of the table of counts, about.
    """

    def __init__(self, n_classes: int, n_cells: int = 1 << 18) -> None:
        bits = min(_MOST_BITS, _bits_of_tables(n_cells, _N_DOUBLINGS * n_classes))
        self.n_pass, self._copies, self._n_cells = 1, False, n_cells
        self._grid = Grid(np.full(n_classes, _FIRST), _MANTISSA - bits, _N_DOUBLINGS << bits)
        # The rows below the grid of each label, and what is known of the ratio of its rank.
        self._n_below, self._n_equal = np.zeros((2, n_classes), dtype=np.int64)
        self._values = np.full(n_classes, np.nan)
        self._is_open = np.ones(n_classes, dtype=bool)
        self._n_inside: Counts | None = None
        self._forget()

    def _forget(self) -> None:
        """Start without rows of this pass."""
        n_classes = len(self._values)
        self._copied: list[tuple[Codes, Reals]] = []
        self._counts = np.zeros((n_classes, self._grid.n_bins), dtype=np.int64)
        self._smallest, self._largest = np.full(n_classes, np.inf), np.zeros(n_classes)

    @property
    def is_done(self) -> bool:
        """Return whether no further pass is needed."""
        return not self._is_open.any()

    @property
    def n_labels(self) -> Counts:
        """Return the number of rows of each label in the first pass."""
        return np.asarray(self._counts.sum(axis=1))

    def empty(self) -> RatioSearch:
        """Return a copy of the search that has seen no rows of this pass."""
        other = copy(self)
        other._forget()
        return other

    def add(self, kernel: ClassKernel, codes: Codes, ratios: Reals) -> RatioSearch:
        """Add rows to the pass, and return the search itself."""
        for rows in blocks(len(codes)):
            labels, values = codes[rows], ratios[rows]
            if not self._copies:
                kernel.count_ratios(self._counts.reshape(-1), self._grid, labels, values)
            if self.n_pass == 1:
                continue
            inside = kernel.rows_inside(self._grid, labels, values)
            labels, values = labels[inside], values[inside]
            if self._copies:
                self._copied.append((labels, values))
            else:
                np.minimum.at(self._smallest, labels, values)
                np.maximum.at(self._largest, labels, values)
        return self

    def merge(self, other: RatioSearch) -> RatioSearch:
        """Return the search that has seen the rows of both."""
        merged = self.empty()
        merged._copied = [*self._copied, *other._copied]
        np.add(self._counts, other._counts, out=merged._counts)
        np.minimum(self._smallest, other._smallest, out=merged._smallest)
        np.maximum(self._largest, other._largest, out=merged._largest)
        return merged

    def after_pass(self, ranks: Counts, limit: int) -> RatioSearch:
        """Return the search for the next pass; call this once all rows were added in this one.

        Parameters
        ----------
        ranks : ndarray of shape (n_classes,)
            Rank of the ratio of each label (1 is the smallest); 0 if none is looked for.
        limit : int
            Maximum number of ratios to copy.
        """
        self._refuse_other_rows()
        following = copy(self)
        following.n_pass += 1
        following._is_open = self._is_open & (ranks > 0)
        following._n_below, following._n_equal = self._n_below.copy(), self._n_equal.copy()
        following._values = self._values.copy()
        if self._copies:
            following._rank_copied(ranks)
        else:
            following._narrow(ranks, limit)
        following._forget()
        return following

    def _refuse_other_rows(self) -> None:
        if self._n_inside is None:
            return
        seen = self._labels_copied() if self._copies else self._counts.sum(axis=1)
        if (seen != self._n_inside).any():
            raise ValueError(
                "batches must give the same rows in every pass, but labels or scores have changed. "
                "Pass a list, or a function that starts over."
            )

    def _labels_copied(self) -> Counts:
        n_labels = np.zeros(len(self._values), dtype=np.int64)
        for codes, _ in self._copied:
            n_labels += np.bincount(codes, minlength=len(n_labels))
        return n_labels

    def cutoffs(self, ranks: Counts) -> ClassCutoffs:
        """Return the ratio of each rank."""
        n_ties = np.where(ranks > 0, ranks - self._n_below, 0)
        return ClassCutoffs(self._values, ranks, n_ties, self._n_equal)

    def _rank_copied(self, ranks: Counts) -> None:
        codes, ratios = (np.concatenate(parts) for parts in zip(*self._copied, strict=True))
        n_classes, n_labels = len(ranks), self._labels_copied()
        places = np.cumsum(n_labels) - n_labels + ranks - self._n_below - 1
        found = np.full(n_classes, np.nan)
        found[self._is_open] = ratios[np.lexsort((ratios, codes))[places[self._is_open]]]
        values = found.take(codes)
        self._n_below += np.bincount(codes[ratios < values], minlength=n_classes)
        self._find(self._is_open, found, np.bincount(codes[ratios == values], minlength=n_classes))

    def _narrow(self, ranks: Counts, limit: int) -> None:
        """Look at the bins of the ranks alone, unless all of their ratios are known to be equal."""
        lows, shift, _ = self._grid
        self._find(self._smallest == self._largest, self._smallest, self._counts.sum(axis=1))
        cumulated, labels = np.cumsum(self._counts, axis=1), np.flatnonzero(self._is_open)
        inside = ranks[labels] - self._n_below[labels]
        places = (cumulated[labels] < inside[:, None]).sum(axis=1)
        n_inside = self._counts[labels, places]
        self._n_below[labels] += cumulated[labels, places] - n_inside
        begins = np.full(len(lows), _NOWHERE)
        begins[labels] = lows[labels] + (places << shift)
        self._n_inside = np.zeros(len(lows), dtype=np.int64)
        self._n_inside[labels] = n_inside
        if shift == 0:  # a bin holds a single number
            self._find(self._is_open, begins.view(np.float64), self._n_inside)
        self._copies = int(n_inside.sum()) <= limit
        bits = 0 if self._copies else max(1, _bits_of_tables(self._n_cells, len(lows)))
        finer = max(0, shift - bits)
        self._grid = Grid(begins, finer, 1 << (shift - finer))

    def _find(self, which: NDArray[np.bool_], values: Reals, n_equal: Counts) -> None:
        """Keep the ratios of some labels, and how many rows have them."""
        found = which & self._is_open
        self._values[found], self._n_equal[found] = values[found], n_equal[found]
        self._is_open &= ~found


def _bits_of_tables(n_cells: int, n_tables: int) -> int:
    """Return how many bits the cells of each of so many tables can tell apart."""
    return max(0, (n_cells // n_tables).bit_length() - 1)
