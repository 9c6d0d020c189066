"""Weights of rows as numbers of times that they are counted."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rankprune.core._auc import are_counts, effective_rows
from rankprune.core.classes._class_inputs import ClassInputs

# Rows of the mean weight are counted this many times, so that other weights are hardly rounded.
_TIMES = 1 << 10
# Sums of scores, in units of 2**-30, are whole numbers below 2**63 for so many rows.
_MOST_COUNTED = 1 << 32

Parts = Callable[[], Iterator[tuple[int, ClassInputs]]]


def repeated_parts(inputs: ClassInputs) -> Parts:
    """Return a function that yields groups of rows, and how many times each of them counts.

    A weight of 5 is 4 and 1: its row is in two groups. So any counts and sums of rows can be
    weighted, if those of groups can be multiplied and added.
    """
    if inputs.sample_weight is None:
        return lambda: iter([(1, inputs)])
    return partial(_by_binary_digit, inputs, times_counted(inputs.sample_weight))


def rows_behind(inputs: ClassInputs) -> float:
    """Return how many rows of weight 1 are as informative as these."""
    weight = inputs.sample_weight
    return float(len(inputs)) if weight is None else effective_rows(weight)


def times_counted(weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return whole numbers in proportion to weights: weights that are counts themselves.

    Others are multiplied by a power of two and rounded, to about a thousandth of their mean.
    """
    total = float(weights.sum())
    if are_counts(weights) and total <= _MOST_COUNTED:
        return weights.astype(np.int64)
    scale = min(_TIMES * int(np.count_nonzero(weights)), _MOST_COUNTED) / total
    return np.asarray(np.rint(weights * 2.0 ** math.floor(math.log2(scale))).astype(np.int64))


def _by_binary_digit(
    inputs: ClassInputs, times: NDArray[np.int64]
) -> Iterator[tuple[int, ClassInputs]]:
    for digit in range(int(times.max()).bit_length()):
        rows = np.flatnonzero(times >> digit & 1)
        if rows.size:
            yield 1 << digit, inputs.rows(rows)
