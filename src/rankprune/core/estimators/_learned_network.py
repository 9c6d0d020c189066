"""The network behind the learned estimator: summaries of a sketch -> point and ranges.

A network gives raw numbers for each orientation of the classes. Their mean, with the quantities
swapped where the classes are, decides, so swapping the classes swaps the answer. A gate mixes what
the network says with the ends of the curve that is among the summaries.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune.core.estimators._summaries import curve_rates

Reals = NDArray[np.float64]

# In this order everywhere: rho1, rho0, pi1, pi0, and the share of all labels that are wrong.
N_QUANTITIES = 5
# The same quantities with the classes swapped.
SWAPPED = (1, 0, 3, 2, 4)
# Levels at which ranges are learned, and the normal quantile of each; others are interpolated.
LEVELS = (0.5, 0.8, 0.95, 0.99)
QUANTILES = np.array(
    [0.6744897501960817, 1.2815515655446004, 1.959963984540054, 2.5758293035489004]
)
# Raw numbers: two for the point, one for the clumps, and for each quantity and side the steps of
# the range from level to level, and what few rows add.
N_POINT, N_CLUMPS = 2, 1
N_STEPS = len(LEVELS) + 1
N_RAW = N_POINT + N_CLUMPS + N_QUANTITIES * 2 * N_STEPS
# No more than this share of the labels of one value is wrong.
MOST_WRONG = 0.98
MOST_WRONG_OF_ALL = 0.5
# How fast the gate goes over from the network to the curve.
GATE_STEEPNESS = 2.0
_SLOPE = 0.05
_LIMIT = 4.0
# Rows of one label whose sampling error counts as half of the largest possible.
_FEW_ROWS = 50.0


def _orders() -> NDArray[np.intp]:
    """Return where each raw number of the swapped orientation belongs."""
    ranges = np.arange(N_QUANTITIES * 2 * N_STEPS).reshape(N_QUANTITIES, -1)[list(SWAPPED)]
    first = N_POINT + N_CLUMPS
    return np.concatenate([[1, 0], [2], first + ranges.ravel()])


SWAPPED_ORDER = _orders()


@dataclass(frozen=True)
class Layers:
    """Weights of one network with two hidden layers, and a direct way past them."""

    first: Reals
    first_bias: Reals
    second: Reals
    second_bias: Reals
    last: Reals
    last_bias: Reals
    direct: Reals

    def __call__(self, inputs: Reals) -> Reals:
        """Return the raw numbers of each row of inputs."""
        hidden = leaky(inputs @ self.first + self.first_bias)
        hidden = leaky(hidden @ self.second + self.second_bias)
        return np.asarray(hidden @ self.last + self.last_bias + inputs @ self.direct)


@dataclass(frozen=True)
class Network:
    """Several networks whose raw numbers are averaged.

    Attributes
    ----------
    center, scale : ndarray of shape (n_summaries,)
        What makes the summaries comparable.
    members : tuple of Layers
    knots, stretch : ndarray of shape (2, 5, 2, 4)
        A narrow and a wide width of each quantity, side and level, and the factors there that make
        ranges hold what they promise. The second factor is never smaller.
    gate : ndarray of shape (n_gate_inputs + 1,)
        Weights of a linear gate, then its intercept. All are zero if the network has no gate.
    """

    center: Reals
    scale: Reals
    members: tuple[Layers, ...]
    knots: Reals
    stretch: Reals
    gate: Reals

    def raw(self, summaries: Reals) -> Reals:
        """Return the raw numbers of problems, given summaries of shape (n, 2, n_summaries)."""
        inputs = standardized(summaries, self.center, self.scale)
        flat = inputs.reshape(-1, inputs.shape[-1])
        found = np.mean([member(flat) for member in self.members], axis=0)
        return both_ways(found.reshape(*inputs.shape[:2], N_RAW))

    def label_error_rates(self, summaries: Reals, raw: Reals, prevalence: Reals) -> Reals:
        """Return pi1 and pi0 of each problem, mixed with those of the curve by the gate."""
        pi = label_error_rates(raw)
        if not self.gate.any():
            return pi
        found = quantities(pi, prevalence)
        inputs = gate_inputs(summaries, found, self.center, self.scale)
        odds = (inputs @ self.gate[:-1]).mean(axis=1) + self.gate[-1]
        part = expit(GATE_STEEPNESS * odds)[:, None]
        return np.asarray((1 - part) * pi + part * curve_rates(summaries)[:, 0, 2:4])

    def widths(self, raw: Reals, rows: Reals) -> Reals:
        """Return how far the square roots of ranges reach: problems x quantities x sides x levels.

        ``rows`` are those of each label. More rows never widen a range.
        """
        widths = range_widths(raw, sparseness_of(rows))
        narrow, wide = self.knots
        part = np.clip((widths - narrow) / (wide - narrow), 0, 1)
        factor = self.stretch[0] + (self.stretch[1] - self.stretch[0]) * part
        # A higher level never has a narrower range.
        return np.asarray(np.maximum.accumulate(widths * factor, axis=-1))

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Network:
        """Return the network that `to_arrays` stored."""
        kept = {name: np.asarray(array, dtype=np.float64) for name, array in arrays.items()}
        names = tuple(Layers.__dataclass_fields__)
        members = [
            Layers(*(kept[name][number] for name in names)) for number in range(len(kept["first"]))
        ]
        parts = (kept[name] for name in ("knots", "stretch", "gate"))
        return cls(kept["center"], kept["scale"], tuple(members), *parts)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all numbers as arrays, those of the layers in half precision."""
        arrays: dict[str, NDArray[Any]] = {
            name: np.stack([getattr(member, name) for member in self.members]).astype(np.float16)
            for name in Layers.__dataclass_fields__
        }
        for name in ("center", "scale", "knots", "stretch", "gate"):
            arrays[name] = getattr(self, name).astype(np.float32)
        return arrays


def standardized(summaries: Reals, center: Reals, scale: Reals) -> Reals:
    """Return summaries on comparable scales, without extremes."""
    return np.clip((summaries - center) / scale, -_LIMIT, _LIMIT)


def gate_inputs(summaries: Reals, found: Reals, center: Reals, scale: Reals) -> Reals:
    """Return what the gate sees: problems x orientations x inputs.

    Parameters
    ----------
    summaries : ndarray of shape (n, 2, n_summaries)
    found : ndarray of shape (n, 5)
        All quantities by the network alone.
    center, scale : ndarray of shape (n_summaries,)
    """
    own = np.sqrt(np.stack([found, found[:, list(SWAPPED)]], axis=1))
    curve = np.sqrt(curve_rates(summaries))
    parts = (standardized(summaries, center, scale), own, curve, np.abs(own - curve))
    return np.concatenate(parts, axis=2)


def leaky(values: Reals) -> Reals:
    """Return what a layer passes on."""
    return np.maximum(values, _SLOPE * values)


def leaky_slopes(values: Reals) -> Reals:
    """Return the derivative of `leaky`."""
    return np.where(values > 0, 1.0, _SLOPE)


def both_ways(raw: Reals) -> Reals:
    """Return the mean of the raw numbers of both orientations, of shape (n, 2, N_RAW)."""
    return np.asarray((raw[:, 0] + raw[:, 1][:, SWAPPED_ORDER]) / 2)


def label_error_rates(raw: Reals) -> Reals:
    """Return pi1 and pi0 of each problem."""
    return MOST_WRONG * expit(raw[:, :N_POINT])


def clumps(raw: Reals) -> Reals:
    """Return the log-odds that the scores separate the classes and noise depends on the class."""
    return raw[:, N_POINT]


def range_steps(raw: Reals) -> Reals:
    """Return the raw numbers of the ranges: problems x quantities x sides x steps."""
    return raw[:, N_POINT + N_CLUMPS :].reshape(-1, N_QUANTITIES, 2, N_STEPS)


def range_parts(steps: Reals) -> tuple[Reals, Reals]:
    """Return how wide the ranges are with all rows in the world, and what few rows add."""
    widths = softplus(steps)
    return np.cumsum(widths[..., :-1], axis=-1), widths[..., -1:] * QUANTILES


def range_widths(raw: Reals, sparseness: Reals) -> Reals:
    """Return how far the square roots of ranges reach: problems x quantities x sides x levels."""
    wide, added = range_parts(range_steps(raw))
    return np.sqrt(wide**2 + sparseness[:, None, None, None] * added**2)


def range_limits(prevalence: Reals) -> Reals:
    """Return what no quantity of a problem can exceed: problems x quantities.

    More wrong labels of one value than there are labels is impossible, and if more than half of all
    labels were wrong, the classes would be swapped.
    """
    most = np.full(len(prevalence), MOST_WRONG)
    half = np.full(len(prevalence), MOST_WRONG_OF_ALL)
    return np.stack([1 - prevalence, prevalence, most, most, half], axis=1)


def sparseness_of(rows: Reals) -> Reals:
    """Return how few rows there are, from 0 to 1, given those of each label; more rows, less."""
    few = (_FEW_ROWS / np.maximum(rows, 1.0)).sum(axis=-1)
    return np.asarray(few / (1 + few))


def quantities(pi: Reals, prevalence: Reals) -> Reals:
    """Return all five quantities, given pi1 and pi0 of each problem, and the share of positives."""
    wrong_positive, wrong_negative = pi[:, 0] * prevalence, pi[:, 1] * (1 - prevalence)
    positives = prevalence - wrong_positive + wrong_negative
    return np.stack(
        [
            wrong_negative / np.maximum(positives, 1e-9),
            wrong_positive / np.maximum(1 - positives, 1e-9),
            pi[:, 0],
            pi[:, 1],
            wrong_positive + wrong_negative,
        ],
        axis=1,
    )


def expit(values: Reals) -> Reals:
    """Return the logistic function."""
    return np.asarray(1 / (1 + np.exp(-np.clip(values, -30, 30))))


def softplus(values: Reals) -> Reals:
    """Return a smooth positive part."""
    return np.asarray(np.logaddexp(0.0, values))
