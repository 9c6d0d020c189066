"""Checks of single numbers that a caller passes: rates, shares, counts and levels."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

import numpy as np

# Larger numbers overflow when they are squared and summed.
LARGEST = 1e100


def as_number(value: Any) -> float | None:
    """Return a real number as a float, or None if the value is not one."""
    # NumPy counts a time span among the integers.
    if isinstance(value, bool | np.timedelta64) or not isinstance(value, Real):
        return None
    number: Any = value
    try:
        return float(number)
    except OverflowError:  # an integer beyond the range of floats
        return math.inf if number > 0 else -math.inf


def validate_rate(value: Any, name: str) -> float:
    """Return a noise rate as a float in [0, 1)."""
    rate = as_number(value)
    if rate is None:
        raise ValueError(
            f"{name} must be a number in [0, 1), got {value!r}. Pass a share such as 0.1, or leave "
            "it out to have it estimated."
        )
    if not 0 <= rate < 1:  # also refuses NaN
        raise ValueError(
            f"{name} must lie in [0, 1), got {rate:g}. It is a share of rows, not a count or a "
            "percentage."
        )
    return rate


def validate_share(value: Any, name: str) -> float:
    """Return a prevalence as a float strictly between 0 and 1."""
    share = validate_rate(value, name)
    if share == 0:
        raise ValueError(
            f"{name} must lie strictly between 0 and 1, got 0. Both classes must be present."
        )
    return share


def validate_fraction(value: Any, name: str) -> float:
    """Return any share as a float in [0, 1]."""
    share = as_number(value)
    # Written so that NaN, which compares false, is refused too.
    if share is None or not 0 <= share <= 1:
        raise ValueError(
            f"{name} must be a number in [0, 1], got {value!r}. Pass a share such as 0.1, not a "
            "count or a percentage."
        )
    return share


def validate_finite(value: Any, name: str, example: float) -> float:
    """Return a number whose square is finite."""
    number = as_number(value)
    if number is None or not abs(number) <= LARGEST:
        raise ValueError(
            f"{name} must be a number from {-LARGEST:g} to {LARGEST:g}, got {value!r}. Pass e.g. "
            f"{example:g}."
        )
    return number


def validate_thresholds(value: Any) -> tuple[float, float]:
    """Return two thresholds as finite floats."""
    numbers = [as_number(one) for one in value] if isinstance(value, tuple | list) else []
    found = [number for number in numbers if number is not None and math.isfinite(number)]
    if len(numbers) != 2 or len(found) != 2:
        raise ValueError(
            f"thresholds must be two finite numbers, got {value!r}. Pass the positive and the "
            "negative threshold, such as (0.6, 0.3)."
        )
    return found[0], found[1]


def validate_mass(value: Any, name: str) -> float:
    """Return a number of rows, or their mass, as a finite float of at least 0."""
    mass = as_number(value)
    if mass is None or not 0 <= mass < math.inf:
        raise ValueError(
            f"{name} must be a finite number of at least 0, got {value!r}. Pass the number of "
            "rows with that label, or leave it out."
        )
    return mass


def validate_label_frequency(value: Any) -> float:
    """Return the label frequency (share of positives that are labeled) as a float in (0, 1]."""
    frequency = as_number(value)
    if frequency is None or not 0 < frequency <= 1:
        raise ValueError(
            f"label_frequency must lie in (0, 1], got {value!r}. It is the share of the positives "
            "that are labeled, 1 - positive_noise_rate."
        )
    return frequency


def validate_count(value: Any, name: str, example: int) -> int:
    """Return a whole number of at least 1."""
    is_count = isinstance(value, Integral) and not isinstance(value, bool | np.timedelta64)
    if not is_count or value < 1:
        raise ValueError(
            f"{name} must be a whole number of at least 1, got {value!r}. Pass e.g. {example}."
        )
    return int(value)


def validate_level(value: Any) -> float:
    """Return a confidence level strictly between 0 and 1."""
    level = as_number(value)
    if level is None or not 0 < level < 1:
        raise ValueError(f"level must lie strictly between 0 and 1, got {value!r}. Pass e.g. 0.95.")
    return level
