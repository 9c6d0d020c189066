"""Sums without rounding, so that neither the order of rows nor the split into batches matters.

A threshold is a mean, and rows are counted on either side of it. A mean that moves by one unit in
the last place when rows are reordered or batches merged would move every row that ties with it.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from rankprune.core._blocks import BLOCK_ROWS

# Every float64 is a whole multiple of 2**-1074, so sums are Python integers in that unit.
UNIT_EXPONENT = -1074
# Bits split off every value at a time: sums of BLOCK_ROWS such pieces stay below 2**53 and exact.
_PIECE_BITS = 52 - BLOCK_ROWS.bit_length()
# Products of longer vectors start threads, which cost more than they gain here.
_DOT_ROWS = 1 << 13


def exact_sums(
    values: NDArray[np.float64], chosen: NDArray[np.float64], exponent: int | None = None
) -> tuple[int, int]:
    """Return the sum of a block of values and the sum of the chosen ones, in units of 2**-1074.

    ``chosen`` holds 1.0 or 0.0 for each row. No absolute value may exceed 2**exponent, which is
    computed if it is not given. Each iteration splits off the leading bits of every value, by
    adding and subtracting a constant that rounds the others away, and continues with the rest.
    """
    total = chosen_total = 0
    if exponent is None:
        exponent = math.frexp(max(float(values.max()), -float(values.min())))[1]
    rest = values
    while rest is values or rest.any():
        exponent = max(exponent - _PIECE_BITS, UNIT_EXPONENT)
        anchor = math.ldexp(1.5, 52 + exponent)
        pieces = rest + anchor
        pieces -= anchor
        rest = rest - pieces
        total += _in_units(float(pieces.sum()), exponent)
        chosen_total += _in_units(sum_of_chosen(pieces, chosen), exponent)
    return total, chosen_total


def exact_products(
    left: NDArray[np.float64], right: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return two arrays whose sum is the exact product of two arrays (Dekker)."""
    product = left * right
    left_high, left_low = _halves(left)
    right_high, right_low = _halves(right)
    error = left_high * right_high - product
    error += left_high * right_low
    error += left_low * right_high
    error += left_low * right_low
    return product, error


def rounded_ratio(numerator: int, denominator: int) -> float:
    """Return the float64 nearest to a ratio of exact sums.

    Rounding the true ratio once keeps a mean within the range of its own values.
    """
    return float(Fraction(numerator, denominator))


def in_units(count: int) -> int:
    """Return a count in the unit of exact sums, 2**-1074."""
    return count << -UNIT_EXPONENT


def bits_of(value: float) -> int:
    """Return the bits of a float as an integer."""
    return int(np.float64(value + 0.0).view(np.int64))  # the addition turns -0.0 into 0.0


def value_of(bits: int) -> float:
    """Return the float that has these bits."""
    return float(np.int64(bits).view(np.float64))


def sum_of_chosen(pieces: NDArray[np.float64], chosen: NDArray[np.float64]) -> float:
    """Return the sum of the chosen values (1.0, not 0.0), in one thread."""
    cuts = range(0, len(pieces), _DOT_ROWS)
    return sum(float(pieces[i : i + _DOT_ROWS] @ chosen[i : i + _DOT_ROWS]) for i in cuts)


def _in_units(piece_sum: float, exponent: int) -> int:
    return int(math.ldexp(piece_sum, -exponent)) << (exponent - UNIT_EXPONENT)


def _halves(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    scaled = values * 134217729.0  # 2**27 + 1, Veltkamp's constant for float64
    high = scaled - (scaled - values)
    return high, values - high
