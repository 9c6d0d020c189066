"""Counting for any number of classes: scores -> thresholds -> tables of given and likely class.

Two passes, in blocks of rows. All sums are whole numbers, so that batches can be merged in any
order, and that the order of the classes changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from rankprune.core.classes._class_inputs import ClassInputs, sorted_order
from rankprune.core.classes._class_kernel import class_kernel_for
from rankprune.core.classes._class_loops import BITS, N_APART, N_SURE, Rule, Sums, Tables

Reals = NDArray[np.float64]
Counts = NDArray[np.int64]

# Normal quantile of a bound that holds in 95 % of cases.
_ONE_SIDED = 1.6448536269514722


@dataclass(frozen=True)
class ClassSums:
    """Result of the first pass over some rows.

    Attributes
    ----------
    n_labels : ndarray of shape (n_classes,)
        Number of rows with each label.
    coarse, fine : ndarray of shape (n_classes,)
        Sum of the scores of each row's own label, and the rest of it, in units.
    columns : ndarray of shape (n_classes,)
        Sum of each column, in coarse units.
    lowest, highest : ndarray of shape (n_classes,)
        Smallest and largest score of the label's own column.
    """

    n_labels: Counts
    coarse: Counts
    fine: Counts
    columns: Counts
    lowest: Reals
    highest: Reals

    @classmethod
    def of(cls, inputs: ClassInputs, best_two: Reals | None = None) -> ClassSums:
        """Return the sums over rows; a row that is no distribution is an error.

        The scores of each row's label and best other class are written to ``best_two``.
        """
        k = len(inputs.classes)
        n_labels, coarse, fine, columns = np.zeros((4, k), dtype=np.int64)
        sums = Sums(n_labels, coarse, fine, columns, np.ones(k), np.zeros(k))
        kernel = class_kernel_for(inputs.probabilities.size)
        for rows in inputs.slices(kernel.BLOCK_CELLS):
            if not kernel.add_sums(sums, _part(best_two, rows), *inputs.part(rows)):
                inputs.refuse_bad_rows(rows)
        return cls(*sums)

    def merge(self, other: ClassSums) -> ClassSums:
        """Return the sums over the rows of both."""
        return ClassSums(
            self.n_labels + other.n_labels,
            self.coarse + other.coarse,
            self.fine + other.fine,
            self.columns + other.columns,
            np.minimum(self.lowest, other.lowest),
            np.maximum(self.highest, other.highest),
        )

    def times(self, number: int) -> ClassSums:
        """Return the sums over rows that each occur so many times."""
        return replace(
            self,
            n_labels=number * self.n_labels,
            coarse=number * self.coarse,
            fine=number * self.fine,
            columns=number * self.columns,
        )

    def reordered(self, order: NDArray[np.intp]) -> ClassSums:
        """Return the sums with the classes in another order."""
        return ClassSums(*(getattr(self, field.name)[order] for field in fields(self)))

    def thresholds(self) -> ClassThresholds:
        """Return where a row is confidently of a class, and where it is predicted."""
        n_rows = int(self.n_labels.sum())
        own, middle = np.full((2, len(self.n_labels)), np.inf)
        for k, n in enumerate(self.n_labels.tolist()):
            if not n:
                continue
            total = (int(self.coarse[k]) << BITS) + int(self.fine[k])
            mean = total / (n << (2 * BITS))
            # A mean that rounds past its own scores is moved to them.
            own[k] = min(max(mean, float(self.lowest[k])), float(self.highest[k]))
            others = (int(self.columns[k]) - int(self.coarse[k])) / ((n_rows - n) << BITS or 1)
            middle[k] = (own[k] + others) / 2
        return ClassThresholds(own, middle)


@dataclass(frozen=True)
class ClassThresholds:
    """The mean score of each label's own column, and midway to the mean of all other rows.

    Both are infinite for a class without labels, which no row can reach.
    """

    own: Reals
    middle: Reals

    def reordered(self, order: NDArray[np.intp]) -> ClassThresholds:
        """Return the thresholds with the classes in another order."""
        return ClassThresholds(self.own[order], self.middle[order])

    def rule(self, place: NDArray[np.intp]) -> Rule:
        """Return how the second pass compares scores, given the place of each class if they tie."""
        with np.errstate(divide="ignore", over="ignore"):
            scale = np.where(self.middle > 0, 1 / self.middle, 0.0)
        # Infinite multiples of zero are no numbers. Zero minus zero is not -0.0.
        return Rule(0.0 - self.own, np.minimum(scale, np.finfo(np.float64).max), place)


@dataclass(frozen=True)
class ClassCounts:
    """Result of the second pass: rows by given label (rows) and likely class (columns).

    Attributes
    ----------
    confident : ndarray of shape (n_classes, n_classes)
        Rows that reach the threshold of a class.
    predicted : ndarray of shape (n_classes, n_classes)
        All rows, by predicted class.
    sure : ndarray of shape (2, n_bins)
        Rows whose label is not, and is, the predicted class, by the log-odds of its score.
    apart : ndarray of shape (n_bins,)
        Rows whose label is not the predicted class, by the log ratio of the two scores.
    first : ndarray of shape (2, n_classes)
        Rows by predicted class where the first of tied classes wins; all, and those of this label.
    """

    confident: Counts
    predicted: Counts
    sure: Counts
    apart: Counts
    first: Counts

    @classmethod
    def of(
        cls, inputs: ClassInputs, thresholds: ClassThresholds, best_two: Reals | None = None
    ) -> ClassCounts:
        """Return the counts of rows, faster with the ``best_two`` from `ClassSums.of`.

        The class of a row is the one whose score is furthest above its threshold, or the largest
        multiple of its midpoint. Of classes that tie, the row's own label wins, then the class
        that comes first in sorted order.
        """
        k = len(inputs.classes)
        sizes = (k * k, k * k, 2 * N_SURE, N_APART, 2 * k)
        tables = Tables(*(np.zeros(size, dtype=np.int64) for size in sizes))
        rule = thresholds.rule(np.argsort(sorted_order(inputs.classes)))
        kernel = class_kernel_for(inputs.probabilities.size)
        for rows in inputs.slices(kernel.BLOCK_CELLS):
            kernel.add_counts(tables, rule, _part(best_two, rows), *inputs.part(rows))
        return cls(
            tables.confident.reshape(k, k),
            tables.predicted.reshape(k, k),
            tables.sure.reshape(2, N_SURE),
            tables.apart,
            tables.first.reshape(2, k),
        )

    def merge(self, other: ClassCounts) -> ClassCounts:
        """Return the counts of the rows of both."""
        return ClassCounts(
            self.confident + other.confident,
            self.predicted + other.predicted,
            self.sure + other.sure,
            self.apart + other.apart,
            self.first + other.first,
        )

    def times(self, number: int) -> ClassCounts:
        """Return the counts of rows that each occur so many times."""
        return ClassCounts(*(number * getattr(self, field.name) for field in fields(self)))

    def reordered(self, order: NDArray[np.intp]) -> ClassCounts:
        """Return the counts with the classes in another order."""
        both = np.ix_(order, order)
        return replace(
            self,
            confident=self.confident[both],
            predicted=self.predicted[both],
            first=self.first[:, order],
        )

    def tells_apart(self, n_rows: float) -> bool:
        """Return whether predictions agree with labels more often than by chance.

        The counts are as informative as those of ``n_rows`` rows.
        """
        mass = int(self.first[0].sum())
        expected = float(self.first[0] @ self.predicted.sum(axis=1)) / mass**2
        spread = (expected * (1 - expected) / n_rows) ** 0.5
        return bool(self.first[1].sum() / mass > expected + _ONE_SIDED * spread)


def _part(best_two: Reals | None, rows: slice) -> Reals | None:
    return None if best_two is None else best_two[rows]
