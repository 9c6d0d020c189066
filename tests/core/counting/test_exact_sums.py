"""Sums without rounding: equal to fractions, whatever the order and the size of the values."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankprune.core.counting import _exact_sums
from rankprune.core.counting._exact_sums import exact_products, exact_sums, in_units, rounded_ratio

UNIT = Fraction(1, 2**1074)
finite = st.floats(-1e100, 1e100)


@given(st.lists(st.tuples(finite, st.booleans()), min_size=1, max_size=30))
def test_sums_equal_those_of_fractions(pairs):
    values = np.array([value for value, _ in pairs])
    chosen = np.array([float(is_chosen) for _, is_chosen in pairs])
    total, chosen_total = exact_sums(values, chosen)
    assert total * UNIT == sum(Fraction(value) for value, _ in pairs)
    assert chosen_total * UNIT == sum(Fraction(value) for value, c in pairs if c)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_a_given_exponent_changes_nothing(values):
    array, ones = np.array(values), np.ones(len(values))
    assert exact_sums(array, ones, exponent=0) == exact_sums(array, ones)
    assert exact_sums(array, ones)[0] == exact_sums(array, ones)[1]


def test_full_blocks_do_not_round():
    n = _exact_sums.BLOCK_ROWS
    value = 1 - 2**-53
    total, chosen_total = exact_sums(np.full(n, value), np.ones(n), exponent=0)
    assert total * UNIT == chosen_total * UNIT == n * Fraction(value)
    assert n * value == rounded_ratio(total, in_units(1))


@pytest.mark.parametrize("value", [0.0, 5e-324, 1e-310, 2.0**-1022, 1e300])
def test_extreme_values_are_kept_whole(value):
    total, _ = exact_sums(np.array([value, 1.0, value]), np.zeros(3))
    assert total * UNIT == 2 * Fraction(value) + 1


def test_sums_leave_their_input_alone():
    values = np.array([0.1, 0.2])
    values.flags.writeable = False
    assert exact_sums(values, np.array([1.0, 0.0]))[1] * UNIT == Fraction(0.1)


@given(st.lists(st.tuples(st.floats(0, 1e9), st.floats(0, 1)), min_size=1, max_size=20))
def test_products_have_no_rounding_error(pairs):
    left, right = (np.array(column) for column in zip(*pairs, strict=True))
    product, error = exact_products(left, right)
    for a, b, high, low in zip(left, right, product, error, strict=True):
        if a * b > 1e-280:  # below that the error itself underflows
            assert Fraction(float(a)) * Fraction(float(b)) == Fraction(float(high)) + Fraction(
                float(low)
            )


def test_a_mean_never_leaves_the_range_of_equal_values():
    # 0.1 + 0.1 + 0.1 rounds to 0.30000000000000004, a third of which is more than 0.1.
    total, _ = exact_sums(np.full(3, 0.1), np.ones(3))
    assert rounded_ratio(total, in_units(3)) == 0.1
