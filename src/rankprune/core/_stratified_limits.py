"""Confidence limits of the wrong rows in all strata together, from a random sample of each.

A total is tested by the stratified estimate: every stratum's share of wrong rows in the sample,
times its size. The distribution of the estimate is exact for sampling without replacement, at those
shares of the strata that explain the sample best among all that add up to the total. The limits are
the least and the largest total that the sample does not refute.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import gammaln

from rankprune.core._melded_intervals import Part

Reals = NDArray[np.float64]

# Estimates lie on so many points, for samples of up to `_SMALL` rows and for larger ones.
_SMALL, _POINTS, _MORE_POINTS = 256, 1 << 10, 1 << 12
# Number of multipliers for which the best numbers are computed; between them, they are
# interpolated.
_N_MULTIPLIERS = 300
# Totals are found to this part of a row, and rounded away from the estimate.
_EXACTLY = 0.02
# Up to this many rows, factorials are tabulated.
_TABULATED = 100_000
# Probabilities below this are not told apart.
_NEVER = 1e-12
# From this skewness of the estimates, nearly all of the error is left for the longer tail.
_SKEWED, _MOST = 0.55, 0.45
# By how much the error to aim at shrinks for every part per row, because their shares are unknown.
_PRICE = 1.2


def total_limits(best: Sequence[Part], worst: Sequence[Part], level: float) -> tuple[float, float]:
    """Return a lower and an upper limit of the wrong rows in all parts together.

    Parameters
    ----------
    best, worst : sequence of Part
        The sample with as few and with as many wrong rows as the answers allow.
    level : float
        Confidence level of both limits together.
    """
    error = _error(worst, level)
    wrong = _least(best, lambda sample: sample.lower(error))
    right = _least(_turned(worst), lambda sample: sample.lower(error))
    return wrong, sum(part.size for part in worst) - right


def total_at_most(parts: Sequence[Part], level: float) -> float:
    """Return an upper limit of the wrong rows in all parts together, without a lower one."""
    error = _error(parts, level)
    right = _least(_turned(parts), lambda sample: sample.at_least(error))
    return sum(part.size for part in parts) - right


def _least(parts: Sequence[Part], limit: Callable[[_Sample], float]) -> float:
    """Return a lower limit: the wrong rows of parts that are known, and the limit of the others."""
    known = [part for part in parts if part.drawn == part.size]
    unknown = [part for part in parts if part.drawn < part.size]
    return sum(part.wrong for part in known) + (limit(_Sample(unknown)) if unknown else 0.0)


def _error(parts: Sequence[Part], level: float) -> float:
    """Return the error to aim at: less where many unknown shares are taken from few rows."""
    drawn = [part.drawn for part in parts if 0 < part.drawn < part.size]
    spent = (len(drawn) - 1) / sum(drawn) if drawn else 0.0
    return (1 - level) * (1 - _PRICE * min(spent, 0.5))


def _turned(parts: Sequence[Part]) -> list[Part]:
    """Return the parts with right rows in place of wrong ones."""
    return [Part(part.size, part.drawn, part.drawn - part.wrong) for part in parts]


class _Sample:
    """A sample of several parts, and the totals that it refutes because it has too many wrong."""

    def __init__(self, parts: Sequence[Part]) -> None:
        counts = [(part.size, part.drawn, part.wrong) for part in parts]
        sizes, drawn, wrong = (
            np.array(column, dtype=np.float64) for column in zip(*counts, strict=True)
        )
        self._estimates = _estimates(tuple((size, drawn) for size, drawn, _ in counts))
        self._seen = self._estimates.of(wrong)
        self._path = _best_numbers(sizes, drawn, wrong)
        self._totals = self._path.sum(axis=1)
        self._first, last = float(self._totals[0]), float(self._totals[-1])
        estimate = float((sizes * wrong / np.maximum(drawn, 1)).sum())
        self._start = min(max(estimate, self._first), last)

    def at_least(self, error: float) -> float:
        """Return the smallest total for which so many wrong rows are not too improbable."""
        return self._rounded(self._root(lambda at: at.many / error, self._first, self._start))

    def lower(self, error: float) -> float:
        """Return the lower limit, if it and the upper one may err this often together.

        The error is divided between samples with too few and with too many wrong rows, more for the
        longer tail. As long as no sample has too few, all of it is left for those with too many.
        """
        if not self._seen:
            return self._rounded(self._first)

        def too_few(at: _Chances) -> float:
            return error * (0.5 + at.lean) / at.none

        def too_many(at: _Chances) -> float:
            return at.many / (error * (0.5 - at.lean))

        begin, start = self._first, self._start
        found = self._root(too_many, begin, start)
        if too_few(self._at(found)) < 1:
            # Here no sample has too few wrong rows.
            until = self._root(too_few, begin, start)
            if self._at(until).many >= error:
                found = self._root(lambda at: at.many / error, begin, until)
            else:
                found = self._root(too_many, until, start)
        return self._rounded(found)

    @staticmethod
    def _rounded(total: float) -> float:
        return float(np.ceil(total - _EXACTLY)) + 0.0  # never -0.0

    def _root(self, ratio: Callable[[_Chances], float], far: float, near: float) -> float:
        """Return the total at which a ratio of chances becomes 1, or else the end nearest to it."""

        def excess(total: float) -> float:
            return float(np.log(ratio(self._at(total))))

        if far == near or excess(far) >= 0:
            return far
        if excess(near) <= 0:
            return near
        return float(brentq(excess, far, near, xtol=_EXACTLY / 2))

    def _at(self, total: float) -> _Chances:
        """Return the chances of samples at a total, spread over the parts as the sample says."""
        after = min(max(int(np.searchsorted(self._totals, total)), 1), len(self._totals) - 1)
        low, high = self._totals[after - 1], self._totals[after]
        share = min(max((total - low) / (high - low), 0.0), 1.0) if high > low else 1.0
        numbers = (1 - share) * self._path[after - 1] + share * self._path[after]
        return self._estimates.chances(numbers, self._seen)


@dataclass(frozen=True)
class _Chances:
    """The chance of a sample without wrong rows, of one with as many as seen, and the skewness.

    The skewness is in terms of how the error is divided, from -0.45 to 0.45.
    """

    none: float
    many: float
    lean: float


def _best_numbers(sizes: Reals, drawn: Reals, wrong: Reals) -> Reals:
    """Return numbers of wrong rows of each part that explain the sample best, for rising totals.

    They maximize the likelihood, given their sum: by a multiplier that is the same for all parts.
    The sample counts for more where few rows are left that were not drawn.
    """
    left = (sizes - drawn) / np.maximum(sizes - 1, 1)
    rows, seen = drawn / left, wrong / left
    turns = rows / sizes
    known = turns[drawn > 0]
    steps = np.geomspace(known.min(initial=1) * 1e-3, known.max(initial=1) * 1e3, _N_MULTIPLIERS)
    forces = np.concatenate([steps[::-1], [0.0], -steps])[:, None] * sizes
    middle = rows + forces
    width = np.sqrt(np.maximum(middle**2 - 4 * forces * seen, 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(middle > 0, 2 * seen / (middle + width), (middle - width) / (2 * forces))
    # Without a drawn row, only the sign of the multiplier counts.
    shares = np.where(rows > 0, shares, forces < 0)
    most = sizes - (drawn - wrong)
    return np.concatenate([wrong[None], np.clip(shares * sizes, wrong, most), most[None]])


class _Estimates:
    """The estimates that samples of some design can have, on a grid of points."""

    def __init__(self, design: tuple[tuple[int, int], ...]) -> None:
        sizes, drawn = (np.array(column) for column in zip(*design, strict=True))
        n_points = _POINTS if drawn.sum() <= _SMALL else _MORE_POINTS
        self._sizes, self._drawn = sizes, drawn
        self._weights = sizes / np.maximum(drawn, 1) * (drawn > 0)
        unit = max(float((self._weights * drawn).sum()), 1.0) / (n_points - len(sizes) - 1)
        self._weights = self._weights / unit
        self._part = np.repeat(np.arange(len(sizes)), drawn + 1)
        self._count = np.concatenate([np.arange(rows + 1) for rows in drawn])
        points = np.round(self._weights[self._part] * self._count).astype(np.intp)
        self._places = self._part * n_points + points
        self._shape, self._points = (len(sizes), n_points), np.arange(n_points, dtype=np.float64)
        self._others = drawn[self._part] - self._count
        self._log_factorial = _log_factorials(int(sizes.max()))
        whole, taken, left, *counts = (
            self._log_factorial(numbers)
            for numbers in (sizes, drawn, sizes - drawn, self._count, self._others)
        )
        self._fixed = (taken + left - whole)[self._part] - counts[0] - counts[1]

    def of(self, wrong: Reals) -> int:
        """Return the point of a sample's estimate."""
        return int(np.round(self._weights * wrong).sum())

    def chances(self, numbers: Reals, seen: int) -> _Chances:
        """Return the chances of samples, given the number of wrong rows of each part.

        Between two whole numbers, the chances of both are mixed.
        """
        whole = np.floor(numbers + 1e-9).astype(np.intp)
        rest = np.maximum(numbers - whole, 0.0)[self._part]
        more = self._whole(np.minimum(whole + 1, self._sizes))
        chance = (1 - rest) * self._whole(whole) + rest * more
        spread = np.bincount(self._places, chance, minlength=self._shape[0] * self._shape[1])
        waves = np.fft.rfft(spread.reshape(self._shape), axis=1).prod(axis=0)
        found = np.maximum(np.fft.irfft(waves, self._shape[1]), 0.0)
        mean = found @ self._points
        away = self._points - mean
        squares = found * away * away
        spread_out = squares.sum()
        skewness = (squares @ away) / max(spread_out, _NEVER) ** 1.5
        return _Chances(
            max(float(found[0]), _NEVER),
            max(float(found[seen:].sum()), _NEVER),
            _MOST * min(max(skewness / _SKEWED, -1.0), 1.0),
        )

    def _whole(self, numbers: NDArray[np.intp]) -> Reals:
        """Return the chance of every count of wrong rows in the sample of each part."""
        logs = self._log_factorial(numbers) + self._log_factorial(self._sizes - numbers)
        wrong = numbers[self._part] - self._count
        right = (self._sizes - numbers)[self._part] - self._others
        logs = self._fixed + logs[self._part]
        logs -= self._log_factorial(np.maximum(wrong, 0))
        logs -= self._log_factorial(np.maximum(right, 0))
        return np.asarray(np.where((wrong >= 0) & (right >= 0), np.exp(np.minimum(logs, 0)), 0.0))


@lru_cache(maxsize=64)
def _estimates(design: tuple[tuple[int, int], ...]) -> _Estimates:
    return _Estimates(design)


def _log_factorials(largest: int) -> Callable[[NDArray[np.intp]], Reals]:
    """Return the logarithm of the factorial, for numbers up to the largest."""
    if largest > _TABULATED:
        return lambda numbers: np.asarray(gammaln(numbers + 1.0))
    table = np.asarray(gammaln(np.arange(largest + 1) + 1.0))
    return lambda numbers: table[numbers]
