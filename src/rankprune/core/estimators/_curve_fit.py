"""The curve of maximum likelihood through the shares of positive labels, for many sets of rows.

A resample of the rows needs the same fit as the rows themselves, so fits are made side by side:
each array has one more axis, and problems leave it as they converge.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Reals = NDArray[np.float64]

# A rate near 1 leaves no curve to fit; a steepness beyond these is a step or a flat line.
_MAX_RATE = 0.98
_LOG_STEEPNESS = (-3.0, 4.0)
_TINY = 1e-9

_MAX_STEPS = 60
# A step that gains less log-likelihood than this is the last one.
_NO_GAIN = 1e-7
# Damping of the first step, and the limits at which a problem is given up or undamped.
_DAMPING, _MOST_DAMPING, _LEAST_DAMPING = 1e-2, 1e8, 1e-9


@dataclass(frozen=True)
class Shares:
    """The rows of several problems in groups along the ranking, as arrays of problems x groups.

    Attributes
    ----------
    rows, positives : ndarray
        Number (or mass) of rows, and of those with the positive label.
    places : ndarray
        Logit of the mid-rank of each group, in ascending order.
    """

    rows: Reals
    positives: Reals
    places: Reals

    def select(self, chosen: NDArray[np.intp]) -> Shares:
        """Return the problems with these numbers."""
        return Shares(self.rows[chosen], self.positives[chosen], self.places[chosen])


@dataclass(frozen=True)
class Fits:
    """Fitted curves.

    Attributes
    ----------
    parameters : ndarray of shape (n_problems, 4)
        Negative noise rate, positive noise rate, logarithm of the steepness, middle.
    losses : ndarray of shape (n_problems,)
        Negative log-likelihood.
    """

    parameters: Reals
    losses: Reals


def fit_curves(shares: Shares, starts: Reals, max_steps: int = _MAX_STEPS) -> Fits:
    """Return the curve found from each start, by damped scoring steps within the limits.

    Parameters
    ----------
    shares : Shares
    starts : ndarray of shape (n_problems, 4)
        As ``parameters`` of `Fits`.
    max_steps : int
    """
    limits = _limits(shares)
    found = np.clip(starts, *limits)
    losses = _evaluate(shares, found).losses
    damping = np.full(len(found), _DAMPING)
    left = np.arange(len(found))
    for _ in range(max_steps):
        part = shares.select(left)
        here = _evaluate(part, found[left])
        bounds = limits[0][left], limits[1][left]
        tried = _step(part, found[left], here, bounds, damping[left])
        gain = here.losses - _evaluate(part, tried).losses
        is_better = gain > 0
        found[left] = np.where(is_better[:, None], tried, found[left])
        losses[left] -= np.maximum(gain, 0.0)
        factor = np.where(is_better, 0.2, 8.0)
        damping[left] = np.maximum(damping[left] * factor, _LEAST_DAMPING)
        is_done = np.where(is_better, gain < _NO_GAIN, damping[left] > _MOST_DAMPING)
        left = left[~is_done]
        if not len(left):
            break
    return Fits(found, losses)


def _limits(shares: Shares) -> tuple[Reals, Reals]:
    """Return the lowest and the highest parameters of each problem."""
    lowest, highest = np.empty((2, len(shares.rows), 4))
    lowest[:, :2], highest[:, :2] = 0.0, _MAX_RATE
    lowest[:, 2], highest[:, 2] = _LOG_STEEPNESS
    lowest[:, 3], highest[:, 3] = shares.places[:, 0], shares.places[:, -1]
    return lowest, highest


@dataclass(frozen=True)
class _Point:
    """Curves at some parameters: how far each has risen, its shares of positives, and its loss."""

    rises: Reals
    expected: Reals
    losses: Reals


def _evaluate(shares: Shares, parameters: Reals) -> _Point:
    negative, positive, log_steepness, middle = parameters.T[:, :, None]
    rises = expit(np.exp(log_steepness) * (shares.places - middle))
    expected = np.clip(negative + (1 - negative - positive) * rises, _TINY, 1 - _TINY)
    likelihood = shares.positives * np.log(expected)
    likelihood += (shares.rows - shares.positives) * np.log1p(-expected)
    return _Point(rises, expected, -likelihood.sum(axis=1))


def slopes(shares: Shares, parameters: Reals, rises: Reals, expected: Reals) -> tuple[Reals, Reals]:
    """Return the gradient of the loss, and its expected curvature (the Fisher information)."""
    negative, positive, log_steepness, middle = parameters.T[:, :, None]
    bend = (1 - negative - positive) * rises * (1 - rises) * np.exp(log_steepness)
    along = np.stack([1 - rises, -rises, bend * (shares.places - middle), -bend], axis=1)
    precision = 1 / (expected * (1 - expected))
    excess = (shares.rows * expected - shares.positives) * precision
    gradient = (along @ excess[:, :, None])[:, :, 0]
    weighted = along * (shares.rows * precision)[:, None, :]
    return gradient, weighted @ along.transpose(0, 2, 1)


def _step(
    shares: Shares, parameters: Reals, here: _Point, limits: tuple[Reals, Reals], damping: Reals
) -> Reals:
    """Return the parameters after a step; those held at a limit stay there."""
    lowest, highest = limits
    gradient, curvature = slopes(shares, parameters, here.rises, here.expected)
    held = (parameters <= lowest) & (gradient > 0) | (parameters >= highest) & (gradient < 0)
    gradient = np.where(held, 0.0, gradient)
    curvature = np.where(held[:, :, None] | held[:, None, :], 0.0, curvature)
    diagonal = np.einsum("ijj->ij", curvature)
    # No direction is so flat that the step is not defined.
    floor = 1e-12 * diagonal.max(axis=1, keepdims=True) + _TINY
    added = np.where(held, 1.0, np.maximum(diagonal, floor) * damping[:, None])
    diagonal += added
    change = np.linalg.solve(curvature, gradient[:, :, None])[:, :, 0]
    return np.clip(parameters - change, lowest, highest)
