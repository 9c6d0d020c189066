"""How numbers are worded in all texts about a run, and the form of its questions about trust."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rankprune.core import Interval


def percent(share: float) -> str:
    """Return a share in the one format that all texts use."""
    return f"{share:.1%}"


def count(n: int, noun: str) -> str:
    """Return a number and its noun, in the plural if need be."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def range_words(interval: Interval) -> str:
    """Return a range as words that begin a sentence."""
    if interval.low == 0:
        return f"Up to {percent(interval.high)}"
    return f"Between {percent(interval.low)} and {percent(interval.high)}"


def points(share: float) -> str:
    """Return half the width of a range in percentage points."""
    value = 100 * share
    return f"{value:.1f} points" if round(value, 1) < 10 else f"{value:.0f} points"


Level = Literal["good", "beware", "bad", "open"]


@dataclass(frozen=True)
class Point:
    """One question about how far to trust the answer."""

    question: str
    level: Level
    answer: str
    advice: str = ""
