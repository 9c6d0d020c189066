"""Judged rows of extreme tables: a tiny share is wrong, scores are tied, or one label is rare."""

from dataclasses import replace

import numpy as np
import pytest

from rankprune import NoiseRates
from rankprune.audit import strata_of
from rankprune.audit._beliefs import NO_WRONG_SHARE, believe, update
from rankprune.audit._next_rows import next_counts
from rankprune.audit._strata import expected_wrong
from rankprune.core import Interval, NoiseRateIntervals
from rankprune.core._interval_records import WITH_INTERVALS


def rates(prevalence, positive_error, negative_error, highest):
    """Return rates whose range of every quantity starts at zero."""
    found = NoiseRates.from_label_error_rates(positive_error, negative_error, prevalence)
    ranges = {}
    for name in WITH_INTERVALS:
        value = getattr(found, name)
        ranges[name] = Interval(value, 0.0, max(value, highest), "the truth")
    return replace(found, intervals=NoiseRateIntervals(**ranges, level=0.95))


def believed(labels, truth, scores, given):
    """Return beliefs about a table, and the number of wrong labels in each stratum."""
    chances = expected_wrong(labels, scores, given)
    strata = strata_of(labels, np.where(labels, 1 - scores, scores), expected=chances)
    beliefs = believe(strata, chances, given, np.random.default_rng(0))
    return beliefs, np.bincount(strata.of_row, labels != truth, len(strata.sizes)).astype(int)


def posterior(beliefs, wrong_rows, n_rows, seed):
    """Return what is believed after an audit."""
    random = np.random.default_rng(seed)
    judged = wrong = np.zeros(len(beliefs.sizes), dtype=np.int64)
    now = update(beliefs, judged, wrong, random)
    while judged.sum() < n_rows:
        more = next_counts(now, 100, beliefs.parts)
        left = wrong_rows - wrong
        wrong = wrong + random.hypergeometric(left, beliefs.sizes - judged - left, more)
        judged = judged + more
        now = update(beliefs, judged, wrong, random)
    return now


def total(found):
    """Return the range of the share of wrong labels."""
    return found.range_of(found.quantities()["wrong_share"], 0.95)


@pytest.fixture(scope="module")
def rare():
    """100,000 rows with 100 true positives; about one label in 2,000 is wrong."""
    random = np.random.default_rng(0)
    truth = np.arange(100_000) < 100
    labels = truth ^ (random.random(100_000) < np.where(truth, 0.2, 0.0003))
    scores = np.where(truth, 0.6, 0.01) + 0.1 * random.random(100_000)
    return believed(labels, truth, scores, rates(labels.mean(), 0.3, 0.0025, 0.06))


class TestTinyShares:
    def test_ranges_hold_a_tiny_share_after_many_judged_rows(self, rare):
        beliefs, wrong_rows = rare
        truth = wrong_rows.sum() / beliefs.sizes.sum()
        ranges = np.array([total(posterior(*rare, 600, seed)) for seed in range(20)])
        assert np.mean((ranges[:, 0] <= truth) & (truth <= ranges[:, 1])) > 0.94
        assert ranges[:, 1].max() < 0.01

    def test_a_tiny_lower_end_is_no_less_than_what_was_seen(self, rare):
        beliefs, _ = rare
        found = posterior(*rare, 600, 1)
        assert found.wrong.any()
        assert found.wrong.sum() / beliefs.sizes.sum() <= total(found)[0] < 0.002

    def test_without_any_wrong_label_a_small_lower_end_is_zero(self, rare):
        beliefs, wrong_rows = rare
        found = posterior(beliefs, 0 * wrong_rows, 600, 2)
        draws = np.full(len(found.weight), NO_WRONG_SHARE / 2)
        assert found.range_of(draws, 0.95)[0] == 0
        assert found.range_of(4 * draws, 0.95)[0] == 2 * NO_WRONG_SHARE

    def test_larger_lower_ends_are_quantiles(self, rare):
        found = posterior(*rare, 600, 1)
        draws = np.linspace(0.003, 0.1, len(found.weight))
        assert found.range_of(draws, 0.95)[0] > draws.min()


def constant_scores(labels, truth, random):
    return np.full(len(labels), 0.3)


def scores_of_two_values(labels, truth, random):
    return np.where(truth ^ (random.random(len(labels)) < 0.05), 0.9, 0.1)


def scores_that_repeat_labels(labels, truth, random):
    return np.where(labels, 0.99, 0.01)


class TestTiesAndRareLabels:
    @pytest.mark.parametrize("positive", [20, 700], ids="{} positive".format)
    @pytest.mark.parametrize(
        "scores_of", [constant_scores, scores_of_two_values, scores_that_repeat_labels]
    )
    def test_a_thousand_judged_rows_narrow_the_range_around_the_truth(self, scores_of, positive):
        random = np.random.default_rng(0)
        truth = np.arange(2000) < positive
        labels = truth ^ (random.random(2000) < np.where(truth, 0.2, 0.004))
        scores = scores_of(labels, truth, random)
        table = believed(labels, truth, scores, rates(labels.mean(), 0.2, 0.05, 0.3))
        share = np.mean(labels != truth)
        before, after = (total(posterior(*table, size, 3)) for size in (100, 1000))
        assert after[1] - after[0] < before[1] - before[0]
        assert after[0] - 1e-9 <= share <= after[1] + 1e-9

    def test_a_table_that_was_judged_as_a_whole_leaves_no_range(self):
        random = np.random.default_rng(0)
        truth = np.arange(300) < 100
        labels = truth ^ (random.random(300) < 0.1)
        scores = np.where(truth, 0.6, 0.2) + 0.2 * random.random(300)
        found = posterior(
            *believed(labels, truth, scores, rates(labels.mean(), 0.1, 0.1, 0.3)), 300, 0
        )
        assert total(found) == pytest.approx((np.mean(labels != truth),) * 2)
