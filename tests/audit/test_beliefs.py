"""Beliefs about wrong labels by stratum: the range without answers, and what answers do to it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankprune import NoiseRates
from rankprune.audit import strata_of
from rankprune.audit._beliefs import Beliefs, believe, update
from rankprune.audit._next_rows import next_counts, planned_widths
from rankprune.core import Interval, NoiseRateIntervals
from rankprune.core._interval_records import TRUTH


def rates_with_range(pi1, pi0, prevalence, low, high):
    rates = NoiseRates.from_label_error_rates(pi1, pi0, prevalence)

    def around(value, below, above):
        return Interval(value, min(below, value), max(above, value), TRUTH)

    found = NoiseRateIntervals(
        around(rates.wrong_share, low, high),
        around(rates.positive_noise_rate, 0.0, 0.6),
        around(rates.negative_noise_rate, 0.0, 0.6),
        around(pi1, 0.0, min(0.9, 3 * pi1 + 0.1)),
        around(pi0, 0.0, min(0.9, 3 * pi0 + 0.1)),
        around(rates.estimated_prevalence, 0.1, 0.9),
        0.95,
    )
    return replace(rates, intervals=found)


def example(pi1=0.1, pi0=0.05, low=0.02, high=0.25, n_rows=2000, seed=0):
    rng = np.random.default_rng(seed)
    is_positive = rng.random(n_rows) < 0.4
    chances = np.clip(rng.beta(0.5, 6, n_rows), 0.001, 0.999)
    strata = strata_of(is_positive, chances, expected=chances)
    rates = rates_with_range(pi1, pi0, float(is_positive.mean()), low, high)
    return strata, chances, rates


def beliefs_of(*arguments, seed=0, **named) -> Beliefs:
    return believe(*example(*arguments, **named), np.random.default_rng(seed))


def nothing(beliefs):
    return np.zeros(len(beliefs.sizes), dtype=np.int64)


def total(posterior):
    return posterior.quantities()["wrong_share"]


@pytest.mark.parametrize(
    ("pi1", "pi0", "low", "high"),
    [(0.1, 0.05, 0.02, 0.25), (0.3, 0.2, 0.1, 0.4), (0.0, 0.02, 0.0, 0.1), (0.4, 0.3, 0.3, 0.38)],
)
def test_without_answers_beliefs_have_the_range_of_the_estimator(pi1, pi0, low, high):
    beliefs = beliefs_of(pi1, pi0, low, high)
    posterior = update(beliefs, nothing(beliefs), nothing(beliefs), np.random.default_rng(1))
    draws, weight = total(posterior), posterior.weight
    assert weight.sum() == pytest.approx(1)
    middle = 0.4 * pi1 + 0.6 * pi0
    assert weight @ (draws < low - 0.01) < 0.05
    assert 0.01 < weight @ (draws > high) < 0.05
    assert weight @ (draws < middle) == pytest.approx(0.5, abs=0.15)


def test_many_answers_decide_whatever_was_believed():
    beliefs = beliefs_of(0.05, 0.05, 0.0, 0.15)
    judged = np.minimum(beliefs.sizes, 100)
    wrong = np.rint(0.6 * judged).astype(np.int64)
    posterior = update(beliefs, judged, wrong, np.random.default_rng(0))
    low, high = posterior.range_of(total(posterior), 0.95)
    assert 0.5 < low < 0.6 < high < 0.7
    none = update(beliefs, judged, 0 * wrong, np.random.default_rng(0))
    low, high = none.range_of(total(none), 0.95)
    assert low == 0
    assert high < 0.03


def test_a_wrong_label_that_was_seen_is_not_reported_as_none():
    beliefs = beliefs_of(0.01, 0.01, 0.0, 0.05)
    judged, wrong = nothing(beliefs) + 10, nothing(beliefs)
    before = update(beliefs, judged, wrong, np.random.default_rng(0))
    assert before.range_of(total(before), 0.95)[0] == 0
    wrong[0] = 1
    after = update(beliefs, judged, wrong, np.random.default_rng(0))
    low, _ = after.range_of(total(after), 0.95)
    assert low >= 1 / beliefs.sizes.sum()


def test_all_rows_judged_leave_no_doubt():
    beliefs = beliefs_of(n_rows=200)
    wrong = beliefs.sizes // 3
    posterior = update(beliefs, beliefs.sizes, wrong, np.random.default_rng(0))
    share = wrong.sum() / beliefs.sizes.sum()
    assert posterior.range_of(total(posterior), 0.95) == pytest.approx((share, share))
    assert posterior.mean() @ beliefs.parts == pytest.approx(share)


@settings(max_examples=25, deadline=None)
@given(
    st.floats(0, 0.4),
    st.floats(0, 0.4),
    st.integers(0, 20),
    st.integers(0, 100),
)
def test_quantities_follow_the_algebra(pi1, pi0, n_wrong, seed):
    high = min(0.5, 0.4 * pi1 + 0.6 * pi0 + 0.1)
    beliefs = beliefs_of(pi1, pi0, 0.0, high, n_rows=400, seed=seed)
    judged = np.minimum(beliefs.sizes, 20)
    wrong = np.minimum(judged, n_wrong)
    found = update(beliefs, judged, wrong, np.random.default_rng(seed)).quantities()
    observed = beliefs.parts[beliefs.is_positive].sum()
    positive, negative = found["positive_label_error_rate"], found["negative_label_error_rate"]
    np.testing.assert_allclose(
        found["wrong_share"], observed * positive + (1 - observed) * negative
    )
    np.testing.assert_allclose(
        found["positive_noise_rate"] * found["estimated_prevalence"], (1 - observed) * negative
    )
    assert (found["wrong_share"] >= wrong.sum() / beliefs.sizes.sum() - 1e-9).all()


def test_coverage_where_the_truth_is_drawn_from_the_beliefs():
    beliefs = beliefs_of(0.15, 0.08, 0.03, 0.3)
    rng = np.random.default_rng(5)
    start = update(beliefs, nothing(beliefs), nothing(beliefs), rng)
    held = []
    for truth in rng.choice(len(start.weight), 120, p=start.weight):
        all_wrong = np.rint(start.shares[truth] * beliefs.sizes).astype(np.int64)
        judged = next_counts(start, 50, beliefs.parts)
        wrong = rng.hypergeometric(all_wrong, beliefs.sizes - all_wrong, judged)
        posterior = update(beliefs, judged, wrong, rng)
        low, high = posterior.range_of(total(posterior), 0.95)
        held.append(low <= all_wrong.sum() / beliefs.sizes.sum() <= high)
    assert np.mean(held) >= 0.92


def test_rows_of_the_least_suspicious_strata_are_always_drawn():
    beliefs = beliefs_of(0.01, 0.01, 0.0, 0.02)
    start = update(beliefs, nothing(beliefs), nothing(beliefs), np.random.default_rng(0))
    counts = next_counts(start, 25, beliefs.parts)
    assert counts.sum() == 25
    for label in (True, False):
        assert counts[np.flatnonzero(beliefs.is_positive == label)[-1]] >= 1


def test_rows_about_one_label_have_that_label():
    beliefs = beliefs_of()
    start = update(beliefs, nothing(beliefs), nothing(beliefs), np.random.default_rng(0))
    aim = np.where(beliefs.is_positive, beliefs.parts, 0.0)
    counts = next_counts(start, 25, aim)
    assert counts[~beliefs.is_positive].sum() <= 2
    assert counts[beliefs.is_positive].sum() >= 23


def test_no_more_rows_are_drawn_than_are_left():
    beliefs = beliefs_of(n_rows=60)
    start = update(beliefs, nothing(beliefs), nothing(beliefs), np.random.default_rng(0))
    assert next_counts(start, 100, beliefs.parts).tolist() == beliefs.sizes.tolist()
    left = np.minimum(beliefs.sizes, 1)
    assert next_counts(start, 3, beliefs.parts, left=left).sum() == 3
    assert (next_counts(start, 3, beliefs.parts, left=left) <= left).all()


def test_planned_ranges_get_narrower():
    beliefs = beliefs_of()
    start = update(beliefs, nothing(beliefs), nothing(beliefs), np.random.default_rng(0))
    planned = planned_widths(
        start, (25, 50, 100), np.random.default_rng(0), aim=beliefs.parts, level=0.95
    )
    now = np.diff(start.range_of(total(start), 0.95))[0]
    assert now > planned[25] > planned[50] > planned[100] > 0


def test_a_single_label_and_equal_scores_are_fine():
    is_positive = np.ones(50, dtype=bool)
    chances = np.full(50, 0.2)
    strata = strata_of(is_positive, chances, expected=chances)
    rates = rates_with_range(0.2, 0.0, 0.999, 0.0, 0.5)
    beliefs = believe(strata, chances, rates, np.random.default_rng(0))
    posterior = update(beliefs, np.array([10]), np.array([3]), np.random.default_rng(0))
    low, high = posterior.range_of(total(posterior), 0.95)
    assert 0 < low < 0.3 < high < 0.8


def test_a_range_without_width_at_zero():
    beliefs = beliefs_of(0.0, 0.0, 0.0, 0.0)
    start = update(beliefs, nothing(beliefs), nothing(beliefs), np.random.default_rng(0))
    assert np.median(total(start)) < 0.05
