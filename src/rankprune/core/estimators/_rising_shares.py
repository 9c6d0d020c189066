"""How the share of positive labels rises along the ranking: curves through it, for summaries."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from rankprune.core.estimators._curve import starts_between, steepest_of_the_best
from rankprune.core.estimators._curve_fit import Shares, fit_curves

Reals = NDArray[np.float64]

# Ranks are grouped by their logit, finer where the classes end; no edge lies at the middle rank.
_EDGES = np.linspace(-6.125, 6.125, 50)
_N_GROUPS = len(_EDGES) + 1
_NEAREST = 1e-4
_STARTS = np.array([(0.1, 0.1, 3.0), (0.02, 0.02, 1.5), (0.3, 0.05, 6.0), (0.05, 0.3, 6.0)])
_STEPS = 8
_NEWTON_STEPS = 5
# Shares of the rows at either end whose level is looked at.
_ENDS = np.array([0.0, 0.02, 0.1])
_SWAPPED = [1, 0, 3, 2, 4, 5, 6, 7, 11, 12, 13, 8, 9, 10]
_MIDDLE = 5
# Rows that all problems are scaled to, so that only shares matter.
_N_ROWS = 1000.0
_TINY = 1e-9


def rising_shares(negatives: Reals, positives: Reals) -> Reals:
    """Return the heights, the steepness and the middle of curves, and how well each fits.

    Parameters
    ----------
    negatives, positives : ndarray
        Shares of all rows, of each label, in ascending order of the score.
    """
    rows, right, places = _grouped(negatives, positives)
    shares = Shares(*(np.tile(part, (len(_STARTS), 1)) for part in (rows, right, places)))
    negative, positive, steepness = _STARTS.T
    starts = starts_between(shares, negative, positive, steepness)
    fits = fit_curves(shares, starts, _STEPS)
    best = steepest_of_the_best(fits.parameters[:, None], fits.losses[:, None])[0]
    levels = level_shares(right, rows)
    loss = float(fits.losses.min())
    spare = [loss - _loss(right, rows, levels), _loss_without_ends(right, rows, places) - loss]
    ranks = (np.cumsum(rows) - rows / 2) / _N_ROWS
    low, high = (np.interp(parts, ranks, levels) for parts in (_ENDS, 1 - _ENDS))
    return np.concatenate(
        [
            best[:2],
            np.sqrt(best[:2]),
            best[2:],
            np.sqrt(np.maximum(spare, 0.0)),
            np.sqrt(low),
            np.sqrt(1 - high),
        ]
    )


def with_classes_swapped(values: Reals) -> Reals:
    """Return what `rising_shares` gives for the other orientation of the classes."""
    swapped = values[_SWAPPED].copy()
    swapped[_MIDDLE] = -swapped[_MIDDLE]
    return np.asarray(swapped)


def _grouped(negatives: Reals, positives: Reals) -> tuple[Reals, Reals, Reals]:
    """Return the rows, the positive labels and the mean place of each group of ranks."""
    rows = negatives + positives
    ranks = np.cumsum(rows) - rows / 2
    places = logit(np.clip(ranks, _NEAREST, 1 - _NEAREST))
    groups = np.searchsorted(_EDGES, places)
    mass, right, moment = (
        np.asarray(np.bincount(groups, weights=part, minlength=_N_GROUPS), dtype=np.float64)
        for part in (rows, positives, rows * places)
    )
    some = mass > 0
    return _N_ROWS * mass[some], _N_ROWS * right[some], moment[some] / mass[some]


def level_shares(right: Reals, rows: Reals) -> Reals:
    """Return the non-decreasing shares nearest to those of the groups."""
    means: list[float] = []
    sizes: list[float] = []
    counts: list[int] = []
    for value, size in zip((right / rows).tolist(), rows.tolist(), strict=True):
        mean, total, count = value, size, 1
        while means and means[-1] >= mean:
            before = sizes.pop()
            mean = (mean * total + means.pop() * before) / (total + before)
            total += before
            count += counts.pop()
        means.append(mean)
        sizes.append(total)
        counts.append(count)
    return np.asarray(np.clip(np.repeat(means, counts), 0.0, 1.0))


def _loss(right: Reals, rows: Reals, shares: Reals) -> float:
    inside = np.clip(shares, _TINY, 1 - _TINY)
    return -float(right @ np.log(inside) + (rows - right) @ np.log1p(-inside))


def _loss_without_ends(right: Reals, rows: Reals, places: Reals) -> float:
    """Return the loss of the best curve that rises from 0 to 1."""
    intercept, slope = 0.0, 1.0
    for _ in range(_NEWTON_STEPS):
        shares = 1 / (1 + np.exp(-(intercept + slope * places)))
        weight = rows * shares * (1 - shares) + _TINY
        rest = right - rows * shares
        first, second, third = float(weight.sum()), float(weight @ places), 1e-3
        third += float(weight @ (places * places))
        pull, turn = float(rest.sum()), float(rest @ places)
        determinant = first * third - second * second
        intercept += (third * pull - second * turn) / determinant
        slope += (first * turn - second * pull) / determinant
        intercept, slope = min(max(intercept, -8.0), 8.0), min(max(slope, 0.0), 12.0)
    return _loss(right, rows, 1 / (1 + np.exp(-(intercept + slope * places))))
