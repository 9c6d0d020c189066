"""Counting for any number of classes: scores -> thresholds -> tables of given and likely class.

Two passes, in blocks of rows. All sums are whole numbers, so that batches can be merged in any
order, and that the order of the classes changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from rankprune.core.classes._class_inputs import ClassInputs, sorted_order

Reals = NDArray[np.float64]
Counts = NDArray[np.int64]

# Scores are added in units of 2**-30, what is left of the label's own score in units of 2**-60.
_BITS = 30
_UNIT = 2.0**-_BITS
# Added to a score and subtracted again, it leaves a multiple of the unit.
_ANCHOR = 1.5 * 2.0 ** (52 - _BITS)


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
    def of(cls, inputs: ClassInputs) -> ClassSums:
        """Return the sums over rows."""
        k = len(inputs.classes)
        n_labels, coarse, fine, columns = np.zeros((4, k), dtype=np.int64)
        lowest, highest = np.ones(k), np.zeros(k)
        for _, codes, scores in inputs.blocks():
            own = _taken(scores, codes)
            n_labels += np.bincount(codes, minlength=k)
            high = (own + _ANCHOR) - _ANCHOR
            low = np.rint((own - high) * 2.0 ** (2 * _BITS))
            # Sums of whole numbers below 2**53 are exact in any order.
            coarse += _whole(np.bincount(codes, high, k) / _UNIT)
            fine += _whole(np.bincount(codes, low, k))
            columns += _whole(np.ones(len(scores)) @ ((scores + _ANCHOR) - _ANCHOR) / _UNIT)
            np.minimum.at(lowest, codes, own)
            np.maximum.at(highest, codes, own)
        return cls(n_labels, coarse, fine, columns, lowest, highest)

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
            total = (int(self.coarse[k]) << _BITS) + int(self.fine[k])
            mean = total / (n << (2 * _BITS))
            # A mean that rounds past its own scores is moved to them.
            own[k] = min(max(mean, float(self.lowest[k])), float(self.highest[k]))
            others = (int(self.columns[k]) - int(self.coarse[k])) / ((n_rows - n) << _BITS or 1)
            middle[k] = (own[k] + others) / 2
        return ClassThresholds(own, middle)


@dataclass(frozen=True)
class ClassThresholds:
    """The mean score of each label's own column, and midway to the mean of all other rows.

    Both are infinite for a class without labels, which no row can reach.
    """

    own: Reals
    middle: Reals


# Rows are counted by the log-odds of the score of the predicted class, and those predicted to be of
# a different class than their label by how many times larger that score is, in logarithms.
SURE_EDGES = np.arange(-6.0, 8.01, 0.25)
APART_EDGES = np.arange(0.25, 8.01, 0.25)
# The same edges for scores and their ratios, so that no logarithm of each row is needed; the bin of
# a score is looked up after rounding it down to a multiple of one in `_STEPS`.
_STEPS = 1 << 16
_SURE_BINS = np.searchsorted(expit(SURE_EDGES), (np.arange(2 * _STEPS) + 0.5) / _STEPS)
_APART_RATIOS = np.exp(APART_EDGES)
_LEAST = 1e-6
# Normal quantile of a bound that holds in 95 % of cases.
_ONE_SIDED = 1.6448536269514722


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
    def of(cls, inputs: ClassInputs, thresholds: ClassThresholds) -> ClassCounts:
        """Return the counts of rows.

        The class of a row is the one whose score is furthest above its threshold, or the largest
        multiple of its midpoint. Of classes that tie, the row's own label wins, then the class
        that comes first in sorted order.
        """
        k = len(inputs.classes)
        order = sorted_order(inputs.classes)
        own = thresholds.own[order]
        with np.errstate(divide="ignore"):
            scale = np.where(thresholds.middle > 0, 1 / thresholds.middle, 0.0)[order]
        confident, predicted = np.zeros((2, k * k), dtype=np.int64)
        n_sure, n_apart = len(SURE_EDGES) + 1, len(APART_EDGES) + 1
        sure, apart = np.zeros(2 * n_sure, dtype=np.int64), np.zeros(n_apart, dtype=np.int64)
        first = np.zeros((2, k), dtype=np.int64)
        is_sorted = bool((order == np.arange(k)).all())
        place = np.argsort(order)
        for _, given, block in inputs.blocks():
            codes = given if is_sorted else place[given]
            scores = block if is_sorted else block[:, order]
            margins = scores - own
            likely, _, most = favored(margins, codes)
            _add_cells(confident, (codes * k + likely)[most >= 0])
            np.multiply(scores, scale, out=margins)
            likely, plain, _ = favored(margins, codes)
            first[0] += np.bincount(plain, minlength=k)
            first[1] += np.bincount(plain[plain == codes], minlength=k)
            _add_cells(predicted, codes * k + likely)
            score = _taken(scores, likely)
            agrees = likely == codes
            bins = _SURE_BINS[(score * _STEPS).astype(np.intp)]
            sure += np.bincount(bins + n_sure * agrees, minlength=2 * n_sure)
            differs = np.flatnonzero(~agrees)
            given_score = _taken(scores[differs], codes[differs])
            ratio = score[differs] / np.maximum(given_score, _LEAST)
            bins = np.searchsorted(_APART_RATIOS, ratio, side="right")
            apart += np.bincount(bins, minlength=n_apart)
        back = np.ix_(place, place)
        return cls(
            confident.reshape(k, k)[back],
            predicted.reshape(k, k)[back],
            sure.reshape(2, n_sure),
            apart,
            first[:, place],
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


def favored(
    values: Reals, codes: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp], Reals]:
    """Return the column with the largest value of each row, in two ways, and the value.

    Of columns that tie, the one of the row's own label wins, then the first; or always the first.
    """
    own, other = own_and_best_other(values, codes)
    first = codes.copy()
    # Only where the label is not the sole winner does it matter which column is.
    open_rows = np.flatnonzero(own <= other)
    first[open_rows] = values[open_rows].argmax(axis=1)
    return np.where(own >= other, codes, first), first, np.maximum(own, other)


def own_and_best_other(values: Reals, codes: NDArray[np.intp]) -> tuple[Reals, Reals]:
    """Return the value of each row's label, and the largest of all others."""
    # One column after the other, because rows may be short.
    columns, rows = values.T.copy(order="C"), np.arange(len(codes))
    own: Reals = columns[codes, rows]
    columns[codes, rows] = -np.inf
    return own, np.asarray(columns.max(axis=0))


def _add_cells(counts: Counts, cells: NDArray[np.intp]) -> None:
    """Count cells of a table; where there are fewer rows than cells, without making another."""
    if len(cells) < len(counts):
        np.add.at(counts, cells, 1)
    else:
        counts += np.bincount(cells, minlength=len(counts))


def _taken(values: Reals, columns: NDArray[np.intp]) -> Reals:
    found: Reals = values.reshape(-1)[np.arange(len(values)) * values.shape[1] + columns]
    return found


def _whole(values: NDArray[Any]) -> Counts:
    return values.astype(np.int64)
