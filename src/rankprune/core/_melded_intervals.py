"""Confidence limits from random samples of parts of the rows: exact for each part, then melded.

A part of the rows is described by its size, the number of rows drawn from it at random, and the
number of these that are wrong. For one part, the limits are those of Clopper and Pearson for
sampling without replacement. For several, they are melded by the method of Fay, Proschan and
Brittain.
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

# Number of points at which limits are evaluated.
_N_POINTS = 1 << 13
# Up to this many possible totals of a part are evaluated one by one, more in steps; limits are
# then rounded away from the estimate.
_MAX_TOTALS = 1000
# Totals less likely than this are skipped; the levels of the points are nowhere near it.
_NEVER = 1e-7

# A function of the totals of all parts that increases in each of them.
Quantity = Callable[[Sequence[Any]], Any]


@dataclass(frozen=True)
class Part:
    """A part of the rows, some of which were drawn at random.

    Attributes
    ----------
    size : int
        Number of rows in the part.
    drawn : int
        Number of rows drawn.
    wrong : int
        Number of drawn rows that are wrong.
    """

    size: int
    drawn: int
    wrong: int

    def together(self, other: Part) -> Part:
        """Return both parts as one; rows must have been drawn from both at the same rate."""
        return Part(self.size + other.size, self.drawn + other.drawn, self.wrong + other.wrong)


def melded_lower_limit(parts: Sequence[Part], quantity: Quantity, level: float) -> float:
    """Return a lower limit, which the quantity is below with probability at most 1 - `level`."""
    low = quantity([_limits(part)[0][points] for part, points in _paired(parts)])
    return float(np.quantile(low, 1 - level, method="lower"))


def melded_upper_limit(parts: Sequence[Part], quantity: Quantity, level: float) -> float:
    """Return an upper limit, which the quantity exceeds with probability at most 1 - `level`."""
    high = quantity([_limits(part)[1][points] for part, points in _paired(parts)])
    return float(np.quantile(high, level, method="higher"))


def _paired(parts: Sequence[Part]) -> list[tuple[Part, NDArray[np.intp]]]:
    """Return each part with the points at which its limits are combined with the others'."""
    return list(zip(parts, _orders(len(parts)), strict=True))


@lru_cache(maxsize=8)
def _orders(n_parts: int) -> list[NDArray[np.intp]]:
    """Return points spread evenly over all combinations, as ranks in each dimension."""
    points = qmc.Sobol(n_parts, scramble=False).random(_N_POINTS)
    return list((points * _N_POINTS).astype(np.intp).T)


@lru_cache(maxsize=4096)
def _limits(part: Part) -> tuple[FloatArray, FloatArray]:
    """Return a lower and an upper limit of the wrong rows of the part at every point.

    At the point u in (0, 1), the lower limit is at or below the truth with probability at least
    1 - u, and the upper limit is at or above it with probability at least u.
    """
    chance = (np.arange(_N_POINTS) + 0.5) / _N_POINTS
    size, drawn, wrong = part.size, part.drawn, part.wrong
    if drawn in (0, size):
        known = float(wrong)
        return np.full(_N_POINTS, known), np.full(_N_POINTS, known + size - drawn)
    least, most = wrong, size - (drawn - wrong)
    totals = _totals(part, least, most)
    at_most, at_least = _tails(part, totals)
    # The largest total for which so few wrong rows have a probability of at least 1 - u; the
    # least total always does.
    last = np.searchsorted(-at_most, -(1 - chance), side="right") - 1
    upper = np.append(totals[1:] - 1, most)[np.maximum(last, 0)]
    # The smallest total for which so many have a probability of at least u.
    first = np.minimum(np.searchsorted(at_least, chance), len(totals) - 1)
    lower = np.insert(totals[:-1] + 1, 0, least)[first]
    return lower.astype(np.float64), upper.astype(np.float64)


def _totals(part: Part, least: int, most: int) -> NDArray[np.int64]:
    """Return the possible numbers of wrong rows in the part, in steps if there are many."""
    right = part.drawn - part.wrong
    low = betaincinv(part.wrong, right + 1, _NEVER) if part.wrong else 0.0
    high = betaincinv(part.wrong + 1, right, 1 - _NEVER) if right else 1.0
    first = max(least, int(part.size * low))
    last = max(first, min(most, int(np.ceil(part.size * high))))
    if last - first < _MAX_TOTALS:
        return np.arange(first, last + 1)
    return np.linspace(first, last, _MAX_TOTALS).astype(np.int64)


def _tails(part: Part, totals: NDArray[np.int64]) -> tuple[FloatArray, FloatArray]:
    """Return, for each total, the probability of at most and of at least so many wrong rows."""
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
