"""From the verdict to the rates that are reported: clean labels have no noise."""

from dataclasses import replace

import pytest

from rankprune import NoiseRates
from rankprune.core import Interval, NoiseRateIntervals, Verdict
from rankprune.core._answer import acts, answered_intervals, answered_rates

RATES = NoiseRates.from_noise_rates(0.3, 0.1, observed_prevalence=0.4)


def verdict(level):
    total = Interval(0.2, 0.1, 0.3, "truth")
    return Verdict(level, ("why",), total, 0.9, 0.95, RATES, n_opinions=1)


@pytest.mark.parametrize("found", [None, verdict("noise found"), verdict("cannot tell")])
def test_the_estimate_stands_unless_the_labels_are_clean(found):
    assert answered_rates(found, RATES) is RATES


def test_clean_labels_have_no_noise_rates():
    rates = answered_rates(verdict("clean"), RATES)
    assert (rates.positive_noise_rate, rates.negative_noise_rate) == (0.0, 0.0)
    assert (rates.positive_label_error_rate, rates.negative_label_error_rate) == (0.0, 0.0)
    assert rates.estimated_prevalence == rates.observed_prevalence == 0.4


def around(name, low, high):
    return Interval(getattr(RATES, name), low, high, covers="rows")


def test_intervals_move_to_the_answer_and_are_widened_to_hold_it():
    names = (
        "wrong_share",
        "positive_noise_rate",
        "negative_noise_rate",
        "positive_label_error_rate",
        "negative_label_error_rate",
        "estimated_prevalence",
    )
    found = (around(name, 0.05, 0.35) for name in names)
    intervals = NoiseRateIntervals(*found, level=0.9, n_resamples=50, reliable=True)
    assert answered_intervals(RATES, intervals).positive_noise_rate.low == 0.05
    clean = answered_intervals(answered_rates(verdict("clean"), RATES), intervals)
    for name in names[:5]:
        found = getattr(clean, name)
        assert (found.estimate, found.low, found.high) == (0.0, 0.0, 0.35)
        assert found.covers == "rows"
    with_range = answered_rates(verdict("clean"), replace(RATES, intervals=intervals))
    assert with_range.intervals == clean
    found = clean.estimated_prevalence
    assert (found.estimate, found.low, found.high) == (0.4, 0.05, 0.4)
    assert (clean.level, clean.n_resamples, clean.reliable) == (0.9, 50, True)


def test_only_noise_that_was_found_makes_suspects():
    assert [acts(verdict(level)) for level in ("noise found", "clean", "cannot tell")] == [
        True,
        False,
        False,
    ]
