"""Rates carry intervals of the truth: around any estimate, and around known rates."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankprune import NoiseRates, ScoreSketch, estimate_noise_rates, noise_rate_intervals
from rankprune.core import NOISE_ESTIMATORS
from rankprune.core._noise_rates import intervals_with_known
from rankprune.core.estimators._learned import learned_answer
from rankprune.core.estimators._truth_intervals import truth_intervals

GENERATOR = np.random.default_rng(0)
TRUTH = GENERATOR.random(1500) < 0.4
LABELS = np.where(GENERATOR.random(1500) < np.where(TRUTH, 0.25, 0.08), ~TRUTH, TRUTH)
SCORES = np.clip(0.25 + 0.5 * TRUTH + GENERATOR.normal(0, 0.12, 1500), 0, 1)
SKETCH = ScoreSketch.from_rows(LABELS, SCORES)
NAMES = [name for name, _ in estimate_noise_rates(SKETCH).intervals.items()]


def test_the_total_comes_first():
    assert NAMES == [
        "wrong_share",
        "positive_noise_rate",
        "negative_noise_rate",
        "positive_label_error_rate",
        "negative_label_error_rate",
        "estimated_prevalence",
    ]


@pytest.mark.parametrize("method", [*NOISE_ESTIMATORS, None])
def test_intervals_hold_the_estimate_of_any_method(method):
    rates = estimate_noise_rates(LABELS, SCORES, method=method)
    found = rates.intervals
    assert (found.level, found.n_resamples, found.reliable) == (0.95, 0, True)
    assert found.covers == "truth"
    for name, interval in found.items():
        assert interval.estimate == getattr(rates, name)
        assert 0 <= interval.low <= interval.estimate <= interval.high <= 1
    assert noise_rate_intervals(LABELS, SCORES, method=method) == found


def test_a_lower_end_below_one_percent_is_zero_for_every_method():
    def few(labels, probabilities, *, sample_weight=None):
        return NoiseRates.from_label_error_rates(0.002, 0.003, float(np.mean(labels)))

    found = estimate_noise_rates(LABELS, SCORES, method=few).intervals
    assert estimate_noise_rates(LABELS, SCORES).intervals.wrong_share.low > 0.01
    for name in NAMES[:-1]:
        interval = getattr(found, name)
        assert interval.low == 0 < interval.estimate < 0.01
    assert found.estimated_prevalence.low > 0.01


def test_a_callable_gets_intervals_too():
    def half(labels, probabilities, *, sample_weight=None):
        return NoiseRates.from_noise_rates(0.5, 0.0, float(np.mean(labels)))

    found = estimate_noise_rates(LABELS, SCORES, method=half).intervals
    assert found.positive_noise_rate.high >= 0.5
    assert found.positive_noise_rate.low < 0.3


def test_other_levels_are_learned_too():
    wide = noise_rate_intervals(LABELS, SCORES, level=0.99)
    narrow = noise_rate_intervals(LABELS, SCORES, level=0.5)
    for name, interval in wide.items():
        inner = getattr(narrow, name)
        assert interval.low <= inner.low <= inner.high <= interval.high
    assert (wide.level, narrow.level) == (0.99, 0.5)
    for level in (0.49, 0.995):
        with pytest.raises(ValueError, match=r"level must lie between 0.5 and 0.99 for intervals"):
            noise_rate_intervals(LABELS, SCORES, level=level)
    with pytest.raises(ValueError, match='covers must be "truth" or "rows", got \'luck\''):
        noise_rate_intervals(LABELS, SCORES, covers="luck")
    assert noise_rate_intervals(LABELS, SCORES, covers="rows", level=0.995, n_resamples=5)


def test_the_prevalence_follows_from_the_label_error_rates():
    rates = estimate_noise_rates(SKETCH)
    found, observed = rates.intervals, rates.observed_prevalence
    positive, negative = found.positive_label_error_rate, found.negative_label_error_rate
    low = observed * (1 - positive.high) + (1 - observed) * negative.low
    high = observed * (1 - positive.low) + (1 - observed) * negative.high
    assert found.estimated_prevalence.low == pytest.approx(low)
    assert found.estimated_prevalence.high == pytest.approx(high)


def test_known_rates_have_no_width_and_the_rest_follows():
    rates = estimate_noise_rates(SKETCH)
    one = rates.with_known(negative=0.0)
    found = one.intervals
    for name in ("negative_noise_rate", "positive_label_error_rate"):
        interval = getattr(found, name)
        assert interval.low == interval.estimate == interval.high == 0
    assert found.positive_noise_rate.low == rates.intervals.positive_noise_rate.low
    at_most = NoiseRates.from_noise_rates(
        found.positive_noise_rate.high, 0.0, rates.observed_prevalence
    )
    assert found.wrong_share.high == pytest.approx(at_most.wrong_share)
    other = rates.with_known(positive=0.1).intervals
    assert other.positive_noise_rate.low == other.positive_noise_rate.high == 0.1
    assert other.wrong_share.low < other.wrong_share.high
    both = rates.with_known(positive=0.1, negative=0.05)
    for name, interval in both.intervals.items():
        assert interval.low == interval.high == getattr(both, name)
    assert rates.with_known() is rates


@given(st.floats(0, 1), st.booleans())
def test_intervals_around_known_rates_are_possible(rate, is_positive):
    rates = estimate_noise_rates(SKETCH)
    observed = rates.observed_prevalence
    limit = 1 - observed if is_positive else observed
    known = (rate * limit * 0.999, None) if is_positive else (None, rate * limit * 0.999)
    adjusted = rates.with_known(positive=known[0], negative=known[1])
    intervals = intervals_with_known(adjusted, rates.intervals, *known)
    assert intervals == adjusted.intervals
    for name, interval in intervals.items():
        assert 0 <= interval.low <= interval.estimate <= interval.high <= 1, name
    answer = learned_answer(SKETCH)
    assert truth_intervals(adjusted, answer, known=known) == intervals


def test_rates_show_their_ranges_in_a_notebook():
    rates = estimate_noise_rates(SKETCH)
    page = rates._repr_html_()
    assert str(rates.intervals.wrong_share) in page
    assert "labels that are wrong" in page
    assert f">{rates.observed_prevalence:.1%}<" in page  # is known, so it has no range
    assert "intervals" not in repr(rates)
    plain = rates.to_dict()["intervals"]
    assert plain["wrong_share"]["low"] == rates.intervals.wrong_share.low


def test_unreliable_scores_mark_their_intervals():
    noise = np.random.default_rng(1).random(1500)
    with pytest.warns(UserWarning, match="do not tell the labels apart"):
        rates = estimate_noise_rates(LABELS, noise)
    assert not rates.reliable
    assert not rates.intervals.reliable
    assert "not reliable" in str(rates.intervals)
