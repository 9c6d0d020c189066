"""From the learned ranges to intervals of the truth around any estimate, and around known rates."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rankprune.core._interval_records import (
    LEVEL,
    TRUTH,
    WITH_INTERVALS,
    Interval,
    NoiseRateIntervals,
)
from rankprune.core._noise_rates import NoiseRates, intervals_with_known
from rankprune.core.estimators._learned import NO_WRONG_SHARE, QUANTITIES, LearnedAnswer


def truth_intervals(
    rates: NoiseRates,
    answer: LearnedAnswer,
    level: float = LEVEL,
    known: tuple[float | None, float | None] = (None, None),
) -> NoiseRateIntervals:
    """Return the learned ranges as intervals around rates, widened to hold them.

    Parameters
    ----------
    rates : NoiseRates
        The point, by any estimator, with known rates inserted.
    answer : LearnedAnswer
    level : float, default=0.95
    known : tuple of two float or None
        The known positive and negative noise rate; these get no range, and the rest follows.
    """
    ranges = answer.ranges(level)
    wrong = ranges["positive_label_error_rate"], ranges["negative_label_error_rate"]
    observed = rates.observed_prevalence
    # The more positive labels are wrong, the fewer true positives; the more negative, the more.
    ranges["estimated_prevalence"] = (
        observed * (1 - wrong[0][1]) + (1 - observed) * wrong[1][0],
        observed * (1 - wrong[0][0]) + (1 - observed) * wrong[1][1],
    )
    found: dict[str, Any] = {
        name: _holding(float(getattr(rates, name)), *ranges[name]) for name in WITH_INTERVALS
    }
    for name in QUANTITIES:
        # As in the learned ranges, which an estimate by another method may have widened.
        if found[name].low < NO_WRONG_SHARE:
            found[name] = replace(found[name], low=0.0)
    intervals = NoiseRateIntervals(**found, level=level, reliable=rates.reliable)
    return intervals if known == (None, None) else intervals_with_known(rates, intervals, *known)


def _holding(estimate: float, low: float, high: float) -> Interval:
    return Interval(estimate, min(low, estimate), max(high, estimate), TRUTH)
