"""The loops of `_class_loops`, compiled by numba: the same results, in a fraction of the time.

Each inner loop runs along a row and compares bits, since floats that are not negative have the
order of their bits; the compiler turns it into vector instructions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankprune.core._inputs import BoolArray, FloatArray
from rankprune.core.classes._class_loops import (
    ANCHOR,
    APART_RATIOS,
    BITS,
    LEAST,
    N_APART,
    N_SURE,
    STEPS,
    SURE_BINS,
    Codes,
    Counts,
    Grid,
    Reals,
    Rule,
    Sums,
    Tables,
    add_clear,
    are_distributions,
    unit_range,
)
from rankprune.core.counting._exact_sums import bits_of
from rankprune.core.counting._numba import bits_float, float_bits, jit

# Scores that are read at a time: many, because a call takes long.
BLOCK_CELLS = 1 << 20
# Leaves what is below the unit in units of 2**-60.
_FINE_ANCHOR = 1.5 * 2.0 ** (52 - 2 * BITS)
_ANCHOR_BITS, _FINE_BITS = bits_of(ANCHOR), bits_of(_FINE_ANCHOR)


def add_sums(sums: Sums, best_two: Reals | None, codes: Codes, scores: FloatArray) -> bool:
    """As in `_class_loops`, except that bad rows are added too."""
    found = _add_sums(*sums, best_two, codes, _row_by_row(scores), *unit_range(scores.shape[1]))
    return _is_fine(found, scores)


def _row_by_row(scores: FloatArray) -> FloatArray:
    """Return a contiguous block; each score is converted to float64 when it is used."""
    block = np.ascontiguousarray(scores).view()
    # A type of its own: functions are not compiled again for arrays that may be written to.
    block.flags.writeable = False
    return block


@jit
def _add_sums(n_labels, coarse, fine, columns, lowest, highest, best_two, codes, scores, low, high):
    seen, n_bad = 0, 0
    for i in range(len(scores)):
        row, label, total, best = scores[i], np.int64(codes[i]), 0, 0
        for j in range(len(row)):
            value = np.float64(row[j])
            units = float_bits(value + ANCHOR) - _ANCHOR_BITS
            seen |= float_bits(value)
            total += units
            columns[j] += units
            if best_two is not None:
                best = max(best, float_bits(value) if j != label else 0)
        n_bad += np.int64((total < low) | (total > high))
        own = np.float64(row[label])
        if best_two is not None:
            best_two[i, 0], best_two[i, 1] = own, bits_float(best)
        rounded = own + ANCHOR
        rest = own - (rounded - ANCHOR)
        n_labels[label] += 1
        coarse[label] += float_bits(rounded) - _ANCHOR_BITS
        fine[label] += float_bits(rest + _FINE_ANCHOR) - _FINE_BITS
        if own < lowest[label]:
            lowest[label] = own
        if own > highest[label]:
            highest[label] = own
    return seen, n_bad


def _is_fine(found: tuple[int, int], scores: FloatArray) -> bool:
    """Return whether all rows are distributions, from all bits that are set and the bad sums."""
    seen, n_bad = found
    # The first two bits are set if a score is negative (or -0.0), 2 or more, infinite or NaN.
    if n_bad == 0 and (seen >> 62) == 0:
        return True
    return are_distributions(scores)


def add_counts(
    tables: Tables, rule: Rule, best_two: Reals | None, codes: Codes, scores: FloatArray
) -> None:
    """As in `_class_loops`."""
    if best_two is not None:
        rows, counts = np.arange(len(codes)), np.zeros((2, len(rule.place)), dtype=np.int64)
        bounds = rule.shift, rule.scale, rule.shift.max(), rule.scale.max()
        n_open = _add_clear(*counts, tables.sure, rows, *bounds, best_two, codes, SURE_BINS)
        add_clear(tables, *counts)
        # Copied first, because rows that lie apart take long to arrive from memory.
        codes, scores = codes[rows[:n_open]], scores[rows[:n_open]]
    column_at = np.append(np.argsort(rule.place), 0)
    _add_counts(*tables, *rule, column_at, codes, _row_by_row(scores), SURE_BINS, APART_RATIOS)


@jit
def _add_clear(
    n_clear, n_confident, sure, rows, shift, scale, most_shift, most_scale, best_two, codes, bins
):
    n_open = 0
    for i in range(len(best_two)):
        label, own, other = np.int64(codes[i]), best_two[i, 0], best_two[i, 1]
        above, most_above = own + shift[label], other + most_shift
        is_clear = (above >= most_above) | (most_above < 0.0)
        is_clear &= own * scale[label] > other * most_scale
        rows[n_open] = i
        n_open += np.int64(not is_clear)
        n_clear[label] += np.int64(is_clear)
        n_confident[label] += np.int64(is_clear & (above >= 0.0))
        # Rows that changed since they were checked must not be counted outside the table.
        step = np.int64(own * STEPS) if 0.0 <= own < 2.0 else 0
        sure[np.int64(bins[step]) + N_SURE] += np.int64(is_clear)
    return n_open


@jit
def _add_counts(
    confident,
    predicted,
    sure,
    apart,
    first,
    shift,
    scale,
    place,
    column_at,
    codes,
    scores,
    bins,
    edges,
):
    k = scores.shape[1]
    for i in range(len(scores)):
        row, label = scores[i], np.int64(codes[i])
        # Below zero are the bits of all margins that do not count.
        margin, multiple = -1, 0
        for j in range(k):
            value = np.float64(row[j])
            above, times = float_bits(value + shift[j]), float_bits(value * scale[j])
            is_other = j != label
            margin = max(margin, above if is_other else -1)
            multiple = max(multiple, times if is_other else 0)
        own = np.float64(row[label])
        above = float_bits(own + shift[label])
        if above >= margin:
            confident[label * k + label] += np.int64(above >= 0)
        elif margin >= 0:
            nearest = k
            for j in range(k):
                here, bits = place[j], float_bits(np.float64(row[j]) + shift[j])
                nearest = min(nearest, here if bits == margin else k)
            confident[label * k + column_at[nearest]] += 1
        likely = plain = label
        times = max(float_bits(own * scale[label]), 0)
        if times <= multiple:
            nearest = k
            for j in range(k):
                here, bits = place[j], float_bits(np.float64(row[j]) * scale[j])
                nearest = min(nearest, here if max(bits, 0) == multiple else k)
            plain = column_at[nearest]
            if times < multiple:
                likely = plain
        first[plain] += 1
        first[k + plain] += np.int64(plain == label)
        predicted[label * k + likely] += 1
        score = np.float64(row[likely])
        # Rows that changed since they were checked must not be counted outside the table.
        agrees, step = likely == label, np.int64(score * STEPS) if 0.0 <= score < 2.0 else 0
        sure[np.int64(bins[step]) + N_SURE * np.int64(agrees)] += 1
        if not agrees:
            ratio, found = score / max(own, LEAST), 0
            for edge in range(N_APART - 1):
                found += np.int64(ratio >= edges[edge])
            apart[found] += 1


def take_ratios(ratios: Reals, codes: Codes, scores: FloatArray) -> bool:
    """As in `_class_loops`, except that those of bad rows are written too."""
    found = _take_ratios(ratios, codes, _row_by_row(scores), *unit_range(scores.shape[1]))
    return _is_fine(found, scores)


@jit
def _take_ratios(ratios, codes, scores, low, high):
    seen, n_bad = 0, 0
    for i in range(len(scores)):
        row, label, total, best = scores[i], np.int64(codes[i]), 0, 0
        for j in range(len(row)):
            value = np.float64(row[j])
            bits = float_bits(value)
            seen |= bits
            total += float_bits(value + ANCHOR) - _ANCHOR_BITS
            best = max(best, bits if j != label else 0)
        n_bad += np.int64((total < low) | (total > high))
        ratios[i] = (np.float64(row[label]) + LEAST) / (bits_float(best) + LEAST)
    return seen, n_bad


def count_ratios(counts: Counts, grid: Grid, codes: Codes, ratios: Reals) -> None:
    """As in `_class_loops`."""
    _count_ratios(counts, *grid, codes, ratios)


@jit
def _count_ratios(counts, lows, shift, n_bins, codes, ratios):
    for i in range(len(ratios)):
        label = np.int64(codes[i])
        place = (float_bits(ratios[i]) - lows[label]) >> shift
        if 0 <= place < n_bins:
            counts[label * n_bins + place] += 1


def rows_inside(grid: Grid, codes: Codes, ratios: Reals) -> NDArray[np.intp]:
    """As in `_class_loops`."""
    found = np.empty(len(ratios), dtype=np.intp)
    return found[: _copy_inside(found, *grid, codes, ratios)].copy()


@jit
def _copy_inside(found, lows, shift, n_bins, codes, ratios):
    n_found = 0
    for i in range(len(ratios)):
        place = (float_bits(ratios[i]) - lows[codes[i]]) >> shift
        found[n_found] = i
        n_found += np.int64((place >= 0) & (place < n_bins))
    return n_found


def mark_below(mask: BoolArray, limits: Reals, codes: Codes, ratios: Reals) -> None:
    """As in `_class_loops`."""
    _mark_below(mask.view(np.uint8), limits, codes, ratios)


@jit
def _mark_below(mask, limits, codes, ratios):
    for i in range(len(ratios)):
        mask[i] = np.uint8(ratios[i] < limits[codes[i]])
