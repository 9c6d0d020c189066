"""Limits from random samples of parts: exact for one part, valid and not wasteful for several."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, hypergeom

from rankprune.core import _melded_intervals
from rankprune.core._melded_intervals import Part, melded_lower_limit, melded_upper_limit


@pytest.fixture(autouse=True, scope="module")
def _fresh():
    """Clear limits cached by another test, so that each of them is computed here."""
    _melded_intervals._limits.cache_clear()
    _melded_intervals._orders.cache_clear()


def limits(parts, quantity=sum, level=0.975):
    return tuple(
        limit(parts, quantity, level) for limit in (melded_lower_limit, melded_upper_limit)
    )


def exact(part, tail=0.025):
    """Return the totals for which the drawn rows are not too improbable, tested one by one."""
    size, drawn, wrong = part.size, part.drawn, part.wrong
    totals = np.arange(wrong, size - (drawn - wrong) + 1)
    few = hypergeom.cdf(wrong, size, totals, drawn) >= tail
    many = hypergeom.sf(wrong - 1, size, totals, drawn) >= tail
    return totals[many].min(), totals[few].max()


@given(st.data())
def test_a_single_part_has_exact_limits_for_sampling_without_replacement(data):
    size = data.draw(st.integers(2, 400))
    drawn = data.draw(st.integers(1, size - 1))
    wrong = data.draw(st.integers(0, drawn))
    part = Part(size, drawn, wrong)
    # Limits are evaluated at thousands of levels and rounded outwards: by one row at most.
    (low, high), (least, most) = limits([part]), exact(part)
    assert least - 1 <= low <= least
    assert most <= high <= most + 1
    # At the level of such a point nothing is rounded.
    assert (low, high) == exact(part, tail=204.5 / 8192)


def test_a_large_part_has_those_of_the_binomial_rounded_away_from_the_estimate():
    low, high = limits([Part(10**8, 200, 4)])
    expected = beta.ppf([0.025, 0.975], [4, 5], [197, 196]) * 10**8
    assert low < expected[0] < 1.02 * low
    assert expected[1] < high < 1.01 * expected[1]


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (Part(0, 0, 0), (0, 0)),
        (Part(30, 30, 7), (7, 7)),
        (Part(30, 0, 0), (0, 30)),
        (Part(30, 29, 7), (7, 8)),
        (Part(1000, 3, 0), (0, exact(Part(1000, 3, 0))[1])),
        (Part(1000, 3, 3), (exact(Part(1000, 3, 3))[0], 1000)),
    ],
)
def test_parts_that_are_empty_known_or_unseen(part, expected):
    # The level is met by the next of thousands of points: a row more at most.
    found = limits([part])
    assert found == pytest.approx(expected, abs=1)
    assert found[0] <= expected[0]
    assert found[1] >= expected[1]


def test_a_known_part_moves_the_limits_of_another_by_what_it_holds():
    low, high = limits([Part(500, 50, 5)])
    assert limits([Part(500, 50, 5), Part(20, 20, 3)]) == (low + 3, high + 3)


def test_parts_in_any_order_have_nearly_the_same_limits():
    parts = [Part(100, 20, 15), Part(3000, 70, 2), Part(150, 20, 9), Part(5000, 90, 0)]
    turned = limits(parts[::-1])
    assert limits(parts) == pytest.approx(turned, rel=0.01)


def test_melding_is_narrower_than_adding_limits_and_wider_than_one_part():
    parts = [Part(1000, 50, 5), Part(1000, 50, 5)]
    low, high = limits(parts)
    added = sum(limits([parts[0]])[1] for _ in parts)
    one = limits([parts[0].together(parts[1])])
    assert one[1] <= high < added
    assert one[0] >= low > 2 * limits([parts[0]])[0]


def test_the_lower_limit_is_the_upper_one_seen_from_the_right_rows():
    wrong = [Part(300, 40, 7), Part(900, 60, 1)]
    right = [Part(part.size, part.drawn, part.drawn - part.wrong) for part in wrong]
    low, high = limits(wrong)
    assert (1200 - low, 1200 - high) == pytest.approx(limits(right)[::-1], rel=0.003)


def test_limits_cover_the_truth_as_often_as_their_level():
    """Two parts with very different shares; all possible samples, by their exact probability."""
    sizes, wrong, drawn = (60, 400), (45, 6), (12, 40)
    chances = [
        hypergeom.pmf(np.arange(n + 1), size, total, n)
        for size, total, n in zip(sizes, wrong, drawn, strict=True)
    ]
    below = above = 0.0
    for first in range(drawn[0] + 1):
        for second in range(drawn[1] + 1):
            chance = chances[0][first] * chances[1][second]
            if chance < 1e-7:
                continue
            low, high = limits([Part(60, 12, first), Part(400, 40, second)])
            below += chance * (high < sum(wrong))
            above += chance * (low > sum(wrong))
    assert below <= 0.025
    assert above <= 0.025
    assert below + above > 0.002


def test_a_higher_level_is_wider():
    parts = [Part(300, 40, 7), Part(900, 60, 1)]
    narrow, wide = limits(parts, level=0.9), limits(parts, level=0.99)
    assert wide[0] < narrow[0] < narrow[1] < wide[1]
