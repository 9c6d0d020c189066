"""Checks of single numbers that a caller passes: rates, shares, counts and levels."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

import numpy as np


def validate_rate(value: Any, name: str) -> float:
    """Return a noise rate as a float in [0, 1)."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise ValueError(
            f"{name} must be a number in [0, 1), got {value!r}. Pass a share such as 0.1, or leave "
            "it out to have it estimated."
        )
    rate = float(value)
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
    # Written so that NaN, which compares false, is refused too.
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) <= 1:
        raise ValueError(
            f"{name} must be a number in [0, 1], got {value!r}. Pass a share such as 0.1, not a "
            "count or a percentage."
        )
    return float(value)


def validate_mass(value: Any, name: str) -> float:
    """Return a number of rows, or their mass, as a finite float of at least 0."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) < math.inf:
        raise ValueError(
            f"{name} must be a finite number of at least 0, got {value!r}. Pass the number of "
            "rows with that label, or leave it out."
        )
    return float(value)


def validate_label_frequency(value: Any) -> float:
    """Return the label frequency (share of positives that are labeled) as a float in (0, 1]."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) <= 1:
        raise ValueError(
            f"label_frequency must lie in (0, 1], got {value!r}. It is the share of the positives "
            "that are labeled, 1 - positive_noise_rate."
        )
    return float(value)


def validate_count(value: Any, name: str, example: int) -> int:
    """Return a whole number of at least 1."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(
            f"{name} must be a whole number of at least 1, got {value!r}. Pass e.g. {example}."
        )
    return int(value)


def validate_level(value: Any) -> float:
    """Return a confidence level strictly between 0 and 1."""
    if not isinstance(value, Real) or not 0 < float(value) < 1:
        raise ValueError(f"level must lie strictly between 0 and 1, got {value!r}. Pass e.g. 0.95.")
    return float(value)
