"""Confidence bounds of shares of rows: those of Clopper and Pearson."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtri

# Fewer rows than this do not bound a share.
_ALMOST_NONE = 1e-6


def upper_bound(
    part: NDArray[np.float64], whole: NDArray[np.float64], level: float
) -> NDArray[np.float64]:
    """Return the upper bounds that true shares exceed with probability at most `level`."""
    rest = whole - part
    bound = np.ones(len(whole))
    some = rest > 0
    bound[some] = betaincinv(part[some] + 1, rest[some], 1 - level)
    return bound


def quick_upper_bound(
    part: NDArray[np.float64], whole: NDArray[np.float64], level: float
) -> NDArray[np.float64]:
    """Return `upper_bound` in closed form, by Paulson's approximation of the F distribution.

    It is fast enough for hundreds of resamples, and off by less than 3 % of the bound.
    """
    quantile = float(ndtri(1 - level))
    # Of the two degrees of freedom, 2 (part + 1) and 2 (whole - part).
    first = 1 / (9 * (part + 1))
    second = 1 / (9 * np.maximum(whole - part, _ALMOST_NONE))
    square = (1 - second) ** 2 - quantile**2 * second
    middle = (1 - first) * (1 - second)
    rest = (1 - first) ** 2 - quantile**2 * first
    known = (square > 0) & (whole - part > _ALMOST_NONE)
    square = np.where(known, square, 1.0)
    root = (middle + np.sqrt(np.maximum(middle**2 - square * rest, 0.0))) / square
    odds = second / first * np.maximum(root, 0.0) ** 3
    bounds = np.where(known, odds / (1 + odds), 1.0)
    # Exact without any wrong label, where the approximation is worst.
    return np.where(part > 0, bounds, -np.expm1(np.log(level) / whole))


def share_band(
    part: NDArray[np.float64], whole: NDArray[np.float64], level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the two-sided confidence band of shares."""
    tail = (1 - level) / 2
    return 1 - upper_bound(whole - part, whole, tail), upper_bound(part, whole, tail)
