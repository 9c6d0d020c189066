"""Limits of totals from samples of several parts: valid, and narrower than melded ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import hypergeom

from rankprune.core._melded_intervals import Part, melded_lower_limit, melded_upper_limit
from rankprune.core._stratified_limits import total_at_most, total_limits


def limits(parts, level=0.95):
    return total_limits(parts, parts, level)


def chance_of_missing(sizes, drawn, wrong, cache, limit=limits):
    """Return how often limits do not hold the total; all possible samples, by their chance."""
    chances = [
        hypergeom.pmf(np.arange(n + 1), size, total, n)
        for size, n, total in zip(sizes, drawn, wrong, strict=True)
    ]
    missed = 0.0
    for seen in np.ndindex(*(n + 1 for n in drawn)):
        chance = np.prod([one[count] for one, count in zip(chances, seen, strict=True)])
        if chance < 1e-6:
            continue
        if seen not in cache:
            cache[seen] = limit([Part(*one) for one in zip(sizes, drawn, seen, strict=True)])
        low, high = cache[seen]
        missed += chance * (not low <= sum(wrong) <= high)
    return missed


def test_limits_of_one_part_miss_no_total_more_often_than_they_may():
    cache = {}
    missed = [chance_of_missing((60,), (12,), (total,), cache) for total in range(61)]
    assert max(missed) <= 0.05
    assert max(missed) > 0.03


def test_limits_of_two_parts_hold_wherever_the_wrong_rows_are():
    sizes, drawn, cache = (20, 60), (6, 10), {}
    missed = [
        chance_of_missing(sizes, drawn, (first, second), cache)
        for first in range(0, 21, 2)
        for second in range(0, 61, 3)
    ]
    assert max(missed) <= 0.055
    assert np.mean(missed) <= 0.035


def test_upper_limits_alone_hold():
    sizes, drawn, cache = (20, 60), (6, 10), {}
    missed = [
        chance_of_missing(sizes, drawn, wrong, cache, lambda parts: (0, total_at_most(parts, 0.95)))
        for wrong in ((0, 9), (9, 0), (4, 12), (15, 3), (10, 30))
    ]
    assert max(missed) <= 0.055


def test_they_are_narrower_than_melded_ones_where_parts_differ():
    parts = [Part(1000, 40, 24), Part(3000, 80, 8), Part(6000, 80, 1)]
    low, high = limits(parts)
    assert melded_lower_limit(parts, sum, 0.975) <= low + 5
    assert high - low < 0.85 * (
        melded_upper_limit(parts, sum, 0.975) - melded_lower_limit(parts, sum, 0.975)
    )


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([Part(30, 30, 7)], (7, 7)),
        ([Part(30, 0, 0)], (0, 30)),
        ([Part(30, 29, 7)], (7, 8)),
        ([Part(0, 0, 0), Part(5, 5, 1), Part(4, 0, 0)], (1, 5)),
    ],
)
def test_parts_that_are_empty_known_or_unseen(parts, expected):
    assert limits(parts) == expected


def test_a_known_part_moves_the_limits_by_what_it_holds():
    low, high = limits([Part(500, 50, 5)])
    with_known = limits([Part(500, 50, 5), Part(20, 20, 3)])
    assert with_known == (low + 3, high + 3)


@given(
    st.lists(
        st.integers(1, 300).flatmap(
            lambda size: st.integers(0, min(size, 20)).flatmap(
                lambda drawn: st.tuples(st.just(size), st.just(drawn), st.integers(0, drawn))
            )
        ),
        min_size=1,
        max_size=5,
    ),
    st.sampled_from([0.05, 0.5, 0.9, 0.95, 0.999]),
)
def test_limits_are_possible_and_those_of_the_right_rows_mirrored(counts, level):
    parts = [Part(*one) for one in counts]
    n_rows, n_wrong = sum(part.size for part in parts), sum(part.wrong for part in parts)
    low, high = limits(parts, level)
    assert n_wrong <= low <= high <= n_rows - sum(part.drawn - part.wrong for part in parts)
    turned = limits([Part(size, drawn, drawn - wrong) for size, drawn, wrong in counts], level)
    assert (low, high) == (n_rows - turned[1], n_rows - turned[0])


def test_without_a_wrong_row_nearly_all_of_the_error_is_left_for_the_upper_limit():
    low, high = limits([Part(100_000, 100, 0)])
    assert low == 0
    # 3.0 and 3.7 of 100 rows are what 5 % and 2.5 % allow.
    assert 2990 < high < 3200


def test_few_and_many_wrong_rows_leave_no_gap():
    lows, highs = zip(*(limits([Part(400, 40, wrong)]) for wrong in range(41)), strict=True)
    assert list(lows) == sorted(lows)
    assert list(highs) == sorted(highs)


def test_large_tables_and_large_samples_have_about_the_same_limits():
    small = [Part(10_000, 100, 50), Part(50_000, 150, 3)]
    large = [Part(100 * part.size, part.drawn, part.wrong) for part in small]
    assert limits(large) == pytest.approx([100 * limit for limit in limits(small)], rel=0.02)
    more = [Part(part.size, part.drawn + 5, part.wrong) for part in small]
    assert limits(more) == pytest.approx(limits(small), rel=0.08)


def test_doubtful_answers_widen_limits_to_both_sides():
    best, worst = [Part(500, 50, 5), Part(900, 30, 0)], [Part(500, 50, 8), Part(900, 30, 1)]
    low, high = total_limits(best, worst, 0.95)
    assert low <= limits(best)[0] + 1
    assert low < limits(worst)[0]
    assert high > limits(best)[1]


def test_a_higher_level_is_wider():
    parts = [Part(300, 40, 7), Part(900, 60, 1)]
    narrow, wide = limits(parts, 0.8), limits(parts, 0.99)
    assert wide[0] < narrow[0] < narrow[1] < wide[1]
