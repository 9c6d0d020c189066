"""The loops over a block of scores of many classes, in NumPy: the reference for the compiled ones.

Each takes labels, as numbers of columns, and rows of scores. What it counts is added to tables. A
loop that checks the rows returns whether all of them are distributions over the classes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from rankprune.core._inputs import NEAR_ONE, BoolArray, FloatArray

Reals = NDArray[np.float64]
Counts = NDArray[np.int64]
Codes = NDArray[np.signedinteger[Any]]

# Scores that are read at a time: few enough to stay in cache.
BLOCK_CELLS = 1 << 16
# Rows with fewer scores than this are kept column by column, since loops over short rows are slow.
_LONG_ROWS = 48
# Scores are added in units of 2**-30, what is left of the label's own score in units of 2**-60.
BITS = 30
# Added to a score and subtracted again, it leaves a multiple of the unit.
ANCHOR = 1.5 * 2.0 ** (52 - BITS)
_UNIT = 2.0**-BITS

# Rows are counted by the log-odds of the score of the predicted class, and those predicted to be of
# a different class than their label by how many times larger that score is, in logarithms.
SURE_EDGES = np.arange(-6.0, 8.01, 0.25)
APART_EDGES = np.arange(0.25, 8.01, 0.25)
N_SURE, N_APART = len(SURE_EDGES) + 1, len(APART_EDGES) + 1
# The same edges for scores and their ratios, so that no logarithm of each row is needed; the bin of
# a score is looked up after rounding it down to a multiple of one in `STEPS`.
STEPS = 1 << 16
SURE_BINS = np.searchsorted(expit(SURE_EDGES), (np.arange(2 * STEPS) + 0.5) / STEPS).astype(
    np.uint8
)
APART_RATIOS = np.exp(APART_EDGES)
# Added to scores before their ratio is taken, so that those of zero can be compared.
LEAST = 1e-6


class Sums(NamedTuple):
    """Tables of the first pass, an element per class; `ClassSums` says what they hold."""

    n_labels: Counts
    coarse: Counts
    fine: Counts
    columns: Counts
    lowest: Reals
    highest: Reals


class Rule(NamedTuple):
    """How the second pass compares the scores of a row.

    Attributes
    ----------
    shift : ndarray of shape (n_classes,)
        Added to scores, it leaves how far they are above the threshold of their class.
    scale : ndarray of shape (n_classes,)
        Scores are multiplied by it.
    place : ndarray of shape (n_classes,)
        Of classes that tie, the one with the smallest number wins.
    """

    shift: Reals
    scale: Reals
    place: NDArray[np.intp]


class Tables(NamedTuple):
    """Tables of the second pass, all of them flat; `ClassCounts` says what they hold."""

    confident: Counts
    predicted: Counts
    sure: Counts
    apart: Counts
    first: Counts


class Grid(NamedTuple):
    """Bins of ratios, which are ranges of their bits, for the rows of each label.

    Attributes
    ----------
    lows : ndarray of shape (n_classes,)
        Bits of the smallest ratio in the first bin.
    shift : int
        A bin holds so many of the last bits.
    n_bins : int
        Number of bins of each label.
    """

    lows: Counts
    shift: int
    n_bins: int


def add_sums(sums: Sums, best_two: Reals | None, codes: Codes, scores: FloatArray) -> bool:
    """Add labels and scores to the tables of the first pass, unless a row is no distribution.

    Unless ``best_two`` is None, the scores of the label and of the best other class are written
    to its columns.
    """
    labels, values = _prepared(codes, scores)
    if not _are_distributions(values):
        return False
    n_labels, coarse, fine, columns, lowest, highest = sums
    k, rows, units = len(values), np.arange(len(labels)), _in_units(values)
    own, high = values[labels, rows], units[labels, rows]
    low = np.rint((own - high) * 2.0 ** (2 * BITS))
    n_labels += np.bincount(labels, minlength=k)
    # Sums of whole numbers below 2**53 are exact in any order.
    coarse += _whole(np.bincount(labels, high, k) / _UNIT)
    fine += _whole(np.bincount(labels, low, k))
    columns += _whole(units.sum(axis=1) / _UNIT)
    np.minimum.at(lowest, labels, own)
    np.maximum.at(highest, labels, own)
    if best_two is not None:
        best_two[:, 0], best_two[:, 1] = _own_and_best_other(values, labels)
    return True


def add_counts(
    tables: Tables, rule: Rule, best_two: Reals | None, codes: Codes, scores: FloatArray
) -> None:
    """Count rows by label and likely class, and by how much larger the score of that class is.

    Unless ``best_two`` is None, it is what `add_sums` wrote to it.
    """
    if best_two is not None:
        is_open = _add_clear(tables, rule, best_two, codes)
        codes, scores = codes[is_open], scores[is_open]
    if not len(codes):
        return
    labels, values = _prepared(codes, scores)
    k, (confident, predicted, sure, apart, first) = len(values), tables
    likely, _, most = _favored(values + rule.shift[:, None], labels, rule.place)
    _add_cells(confident, (labels * k + likely)[most >= 0])
    likely, plain, _ = _favored(values * rule.scale[:, None], labels, rule.place)
    _add_cells(predicted, labels * k + likely)
    first[:k] += np.bincount(plain, minlength=k)
    first[k:] += np.bincount(plain[plain == labels], minlength=k)
    rows, agrees = np.arange(len(labels)), likely == labels
    score = values[likely, rows]
    sure += np.bincount(_sure_bins(score) + N_SURE * agrees, minlength=2 * N_SURE)
    differs = np.flatnonzero(~agrees)
    ratio = score[differs] / np.maximum(values[labels[differs], differs], LEAST)
    apart += np.bincount(np.searchsorted(APART_RATIOS, ratio, side="right"), minlength=N_APART)


def _add_clear(tables: Tables, rule: Rule, best_two: Reals, codes: Codes) -> BoolArray:
    """Count rows whose label is the likely class by bounds of other scores; return the rest."""
    (own, other), k = best_two.T, len(rule.place)
    above, most_above = own + rule.shift.take(codes), other + rule.shift.max()
    times, most_times = own * rule.scale.take(codes), other * rule.scale.max()
    is_clear = ((above >= most_above) | (most_above < 0)) & (times > most_times)
    tables.sure[N_SURE:] += np.bincount(_sure_bins(own[is_clear]), minlength=N_SURE)
    n_clear = np.bincount(codes[is_clear], minlength=k)
    add_clear(tables, n_clear, np.bincount(codes[is_clear & (above >= 0)], minlength=k))
    return np.asarray(~is_clear)


def add_clear(tables: Tables, n_clear: Counts, n_confident: Counts) -> None:
    """Count rows whose label is the likely class, so many of each, some of them confidently."""
    k = len(n_clear)
    tables.confident[:: k + 1] += n_confident
    for counts in (tables.predicted[:: k + 1], tables.first[:k], tables.first[k:]):
        counts += n_clear


def _sure_bins(scores: Reals) -> NDArray[np.intp]:
    return SURE_BINS.take((scores * STEPS).astype(np.intp)).astype(np.intp)


def take_ratios(ratios: Reals, codes: Codes, scores: FloatArray) -> bool:
    """Write how many times likelier each label is than the best other one, unless rows are bad."""
    labels, values = _prepared(codes, scores)
    if not _are_distributions(values):
        return False
    ratios[:] = likelihood_ratios(*_own_and_best_other(values, labels))
    return True


def likelihood_ratios(own: Reals, other: Reals) -> Reals:
    """Return how many times likelier labels are, given their scores and those of the others."""
    return np.asarray((own + LEAST) / (other + LEAST))


def are_distributions(scores: FloatArray) -> bool:
    """Return whether all rows are distributions over the classes."""
    return _are_distributions(np.array(scores.T, dtype=np.float64))


def _prepared(codes: Codes, scores: FloatArray) -> tuple[NDArray[np.intp], Reals]:
    """Return labels, and a copy of the scores as float64, whose first axis are the classes."""
    columns = scores.T
    order: Any = "C" if len(columns) < _LONG_ROWS else "F"
    return codes.astype(np.intp), np.array(columns, dtype=np.float64, order=order)


def _are_distributions(scores: Reals) -> bool:
    # Written so that NaN, which compares false, is caught too.
    if not scores.min() >= 0:
        return False
    with np.errstate(invalid="ignore", over="ignore"):
        sums = np.ones(len(scores)) @ scores
    # Sums in units take longer and decide where these may be off by rounding.
    is_clear = sums.min() >= 1 - NEAR_ONE and sums.max() <= 1 + NEAR_ONE
    return bool(is_clear or sum_to_one(scores).all())


def sum_to_one(scores: Reals) -> BoolArray:
    """Return which rows of scores that are not negative have a sum of 1."""
    low, high = unit_range(len(scores))
    with np.errstate(invalid="ignore", over="ignore"):
        sums = _in_units(scores).sum(axis=0) / _UNIT
    return np.asarray((sums >= low) & (sums <= high))


def unit_range(n_classes: int) -> tuple[int, int]:
    """Return the range of the sum of a row, in units, that its rounded scores may have."""
    one, near = 1 << BITS, round(NEAR_ONE * 2**BITS)
    return one - near - n_classes, one + near + n_classes


def _favored(
    values: Reals, codes: NDArray[np.intp], place: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp], Reals]:
    """Return the class with the largest value of each row, in two ways, and the value.

    Of classes that tie, the one of the row's own label wins, then the first; or always the first.
    The values of the labels are overwritten.
    """
    own, other = _own_and_best_other(values, codes)
    first = codes.copy()
    # Only where the label is not the sole winner does it matter which class is.
    open_rows = np.flatnonzero(own <= other)
    most = other[open_rows]
    is_most = values[:, open_rows] == most
    is_most[codes[open_rows], np.arange(len(open_rows))] = own[open_rows] == most
    order = np.argsort(place)
    first[open_rows] = order[is_most[order].argmax(axis=0)]
    return np.where(own >= other, codes, first), first, np.maximum(own, other)


def _own_and_best_other(values: Reals, codes: NDArray[np.intp]) -> tuple[Reals, Reals]:
    """Return the value of each row's label, which is overwritten, and the largest of the others."""
    rows = np.arange(len(codes))
    own: Reals = values[codes, rows]
    values[codes, rows] = -np.inf
    return own, np.asarray(values.max(axis=0))


def _add_cells(counts: Counts, cells: NDArray[np.intp]) -> None:
    """Count cells of a table; where there are fewer rows than cells, without making another."""
    if len(cells) < len(counts):
        np.add.at(counts, cells, 1)
    else:
        counts += np.bincount(cells, minlength=len(counts))


def _in_units(scores: Reals) -> Reals:
    """Return scores rounded to multiples of the unit."""
    units = scores + ANCHOR
    units -= ANCHOR
    return units


def _whole(values: NDArray[Any]) -> Counts:
    return values.astype(np.int64)


def count_ratios(counts: Counts, grid: Grid, codes: Codes, ratios: Reals) -> None:
    """Count the rows of each label whose ratio is in a bin of its grid."""
    places = _places(grid, codes, ratios)
    inside = (places >= 0) & (places < grid.n_bins)
    # Older versions of NumPy would multiply in the narrow type of the codes.
    places += np.multiply(codes, grid.n_bins, dtype=np.int64)
    _add_cells(counts, places if inside.all() else places[inside])


def rows_inside(grid: Grid, codes: Codes, ratios: Reals) -> NDArray[np.intp]:
    """Return the rows whose ratio is in any bin of the grid of their label."""
    places = _places(grid, codes, ratios)
    return np.flatnonzero((places >= 0) & (places < grid.n_bins))


def mark_below(mask: BoolArray, limits: Reals, codes: Codes, ratios: Reals) -> None:
    """Mark the rows whose ratio is below the limit of their label."""
    np.less(ratios, limits.take(codes), out=mask)


def _places(grid: Grid, codes: Codes, ratios: Reals) -> Counts:
    """Return the number of each row's bin; outside of all bins it is negative or too large."""
    places = ratios.view(np.int64) - grid.lows.take(codes)
    places >>= grid.shift
    return places
