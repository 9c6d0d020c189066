"""What the answer is once the verdict is known: clean labels have no noise rates."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from rankprune.core._intervals import Interval, NoiseRateIntervals
from rankprune.core._noise_rates import NoiseRates
from rankprune.core._verdict import Verdict


def answered_rates(verdict: Verdict | None, estimated: NoiseRates) -> NoiseRates:
    """Return the estimate, or no noise where the verdict is that the labels are clean."""
    if verdict is None or verdict.level != "clean":
        return estimated
    return estimated.with_known(positive=0.0, negative=0.0)


def answered_intervals(rates: NoiseRates, intervals: NoiseRateIntervals) -> NoiseRateIntervals:
    """Return the intervals around the rates of the answer, widened where they lie outside."""
    moved: dict[str, Any] = {}
    for field in fields(intervals):
        found = getattr(intervals, field.name)
        if isinstance(found, Interval):
            value = float(getattr(rates, field.name))
            low, high = min(found.low, value), max(found.high, value)
            moved[field.name] = replace(found, estimate=value, low=low, high=high)
    return replace(intervals, **moved)


def acts(verdict: Verdict) -> bool:
    """Return whether a check has suspects: only where noise was found."""
    return verdict.level == "noise found"
