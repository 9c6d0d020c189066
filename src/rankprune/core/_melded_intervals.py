"""What random samples of parts tell about the whole: exact limits of each part, melded.

A part of the rows is known by its size, how many of it were drawn at random, and how many of
these are wrong. For one part the limits are those of Clopper and Pearson, for rows drawn without
putting them back. For several they are melded, as Fay, Proschan and Brittain have shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, gammaln
from scipy.stats import qmc

from rankprune.core._inputs import FloatArray

# Points at which limits are evaluated, and the most parts there can be.
_N_POINTS, _MAX_PARTS = 1 << 13, 4
# Totals of a part are looked at one by one up to so many, and in steps beyond; limits are then
# rounded away from the estimate.
_MAX_TOTALS = 1000
# Totals less likely than this are not looked at; the points come nowhere near it.
_NEVER = 1e-7

# Of the totals of all parts, increasing in each.
Quantity = Callable[[Sequence[Any]], Any]


@dataclass(frozen=True)
class Part:
    """A part of the rows of which some were drawn at random.

    Attributes
    ----------
    size : int
        Rows in it.
    drawn : int
    wrong : int
        Of those drawn.
    """

    size: int
    drawn: int
    wrong: int

    def together(self, other: Part) -> Part:
        """Return two parts as one; rows must have been drawn from both at the same rate."""
        return Part(self.size + other.size, self.drawn + other.drawn, self.wrong + other.wrong)


def melded_lower_limit(parts: Sequence[Part], quantity: Quantity, level: float) -> float:
    """Return what the quantity falls short of with a chance of 1 - `level`, at most."""
    low = quantity([_limits(part)[0][points] for part, points in _paired(parts)])
    return float(np.quantile(low, 1 - level, method="lower"))


def melded_upper_limit(parts: Sequence[Part], quantity: Quantity, level: float) -> float:
    """Return what the quantity exceeds with a chance of 1 - `level`, at most."""
    high = quantity([_limits(part)[1][points] for part, points in _paired(parts)])
    return float(np.quantile(high, level, method="higher"))


def _paired(parts: Sequence[Part]) -> list[tuple[Part, NDArray[np.intp]]]:
    """Return each part with the points at which its limits meet those of the others."""
    return list(zip(parts, _orders(), strict=False))


@lru_cache(maxsize=1)
def _orders() -> list[NDArray[np.intp]]:
    """Return points spread evenly over all combinations, as ranks in each dimension."""
    points = qmc.Sobol(_MAX_PARTS, scramble=False).random(_N_POINTS)
    return list((points * _N_POINTS).astype(np.intp).T)


@lru_cache(maxsize=4096)
def _limits(part: Part) -> tuple[FloatArray, FloatArray]:
    """Return lower and upper limits of the part's wrong rows, from the least level to the highest.

    The lower ones fall short of the truth with the chance 1 - u of their point u at least, the
    upper ones exceed it with the chance u at least.
    """
    chance = (np.arange(_N_POINTS) + 0.5) / _N_POINTS
    size, drawn, wrong = part.size, part.drawn, part.wrong
    if drawn in (0, size):
        known = float(wrong)
        return np.full(_N_POINTS, known), np.full(_N_POINTS, known + size - drawn)
    least, most = wrong, size - (drawn - wrong)
    totals = _totals(part, least, most)
    at_most, at_least = _tails(part, totals)
    # The largest total under which so few wrong ones are no rarer than 1 - u; there always is
    # one, the least.
    last = np.searchsorted(-at_most, -(1 - chance), side="right") - 1
    upper = np.append(totals[1:] - 1, most)[np.maximum(last, 0)]
    # The smallest total under which so many are no rarer than u.
    first = np.minimum(np.searchsorted(at_least, chance), len(totals) - 1)
    lower = np.insert(totals[:-1] + 1, 0, least)[first]
    return lower.astype(np.float64), upper.astype(np.float64)


def _totals(part: Part, least: int, most: int) -> NDArray[np.int64]:
    """Return the numbers of wrong rows that the part may have, in steps where they are many."""
    right = part.drawn - part.wrong
    low = betaincinv(part.wrong, right + 1, _NEVER) if part.wrong else 0.0
    high = betaincinv(part.wrong + 1, right, 1 - _NEVER) if right else 1.0
    first = max(least, int(part.size * low))
    last = max(first, min(most, int(np.ceil(part.size * high))))
    if last - first < _MAX_TOTALS:
        return np.arange(first, last + 1)
    return np.linspace(first, last, _MAX_TOTALS).astype(np.int64)


def _tails(part: Part, totals: NDArray[np.int64]) -> tuple[FloatArray, FloatArray]:
    """Return how likely at most, and at least, so many wrong ones are, for each total."""
    size, drawn, wrong = part.size, part.drawn, part.wrong
    counts = np.arange(drawn + 1)[:, None]
    possible = (counts <= totals) & (drawn - counts <= size - totals)
    with np.errstate(invalid="ignore"):
        logs = (
            _log_choices(totals, counts)
            + _log_choices(size - totals, drawn - counts)
            - _log_choices(np.asarray(size), np.asarray(drawn))
        )
    chances = np.where(possible, np.exp(np.where(possible, logs, -np.inf)), 0.0)
    return chances[: wrong + 1].sum(axis=0), chances[wrong:].sum(axis=0)


def _log_choices(whole: NDArray[np.int64], part: NDArray[np.int64]) -> FloatArray:
    return np.asarray(gammaln(whole + 1) - gammaln(part + 1) - gammaln(whole - part + 1))
