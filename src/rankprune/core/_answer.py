"""From the verdict to the rates that are reported: clean labels have no noise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rankprune.core._interval_records import NoiseRateIntervals
from rankprune.core._noise_rates import NoiseRates
from rankprune.core._verdict import Verdict
from rankprune.core.classes._class_verdict import ClassVerdict


def answered_rates(verdict: Verdict | None, estimated: NoiseRates) -> NoiseRates:
    """Return the estimate, or rates of zero noise if the verdict is that the labels are clean."""
    if verdict is None or verdict.level != "clean":
        return estimated
    rates = replace(estimated, intervals=None).with_known(positive=0.0, negative=0.0)
    around = estimated.intervals and answered_intervals(rates, estimated.intervals)
    return replace(rates, intervals=around)


def answered_intervals(rates: NoiseRates, intervals: NoiseRateIntervals) -> NoiseRateIntervals:
    """Return the intervals with the reported rates as estimates, widened to contain them."""
    moved: dict[str, Any] = {}
    for name, found in intervals.items():
        value = float(getattr(rates, name))
        low, high = min(found.low, value), max(found.high, value)
        moved[name] = replace(found, estimate=value, low=low, high=high)
    return replace(intervals, **moved)


def acts(verdict: Verdict | ClassVerdict) -> bool:
    """Return whether a check has suspects, which requires that noise was found."""
    return verdict.level == "noise found"
