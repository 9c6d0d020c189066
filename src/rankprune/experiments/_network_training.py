"""Training of the network behind the learned estimator, in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune.core.estimators._learned_network import (
    LEVELS,
    MOST_WRONG,
    N_CLUMPS,
    N_POINT,
    N_QUANTITIES,
    N_RAW,
    QUANTILES,
    SWAPPED_ORDER,
    Layers,
    both_ways,
    clumps,
    expit,
    label_error_rates,
    leaky,
    leaky_slopes,
    quantities,
    range_parts,
    range_steps,
    standardized,
)

Reals = NDArray[np.float64]

# Errors below this count by their square.
_SMOOTH = 0.01
_TOTAL_WEIGHT = 2.0
_ROOT_WEIGHT = 0.25
_RANGE_WEIGHT = 2.0
_CLUMPS_WEIGHT = 1.0
_BETAS = (0.9, 0.999)
_HALF_LEVELS = (1 - np.array(LEVELS)) / 2


@dataclass(frozen=True)
class Examples:
    """Problems to learn from.

    Attributes
    ----------
    summaries : ndarray of shape (n, 2, n_summaries)
    label_error_rates : ndarray of shape (n, 2)
    prevalence, sparseness, weight : ndarray of shape (n,)
    separable, separable_weight : ndarray of shape (n,)
        Whether the scores show two clumps, 0 or 1, and how much that counts.
    """

    summaries: Reals
    label_error_rates: Reals
    prevalence: Reals
    sparseness: Reals
    weight: Reals
    separable: Reals
    separable_weight: Reals

    def select(self, rows: NDArray[np.bool_] | NDArray[np.intp]) -> Examples:
        """Return some of the problems."""
        return Examples(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))

    def scaling(self) -> tuple[Reals, Reals]:
        """Return the center and the scale of each summary."""
        flat = self.summaries.reshape(-1, self.summaries.shape[-1])
        low, center, high = np.quantile(flat, [0.1, 0.5, 0.9], axis=0)
        return center, (high - low) / 2.5 + 1e-2


@dataclass(frozen=True)
class Schedule:
    """How long and how fast a network learns."""

    width: int = 64
    epochs: int = 8
    batch: int = 256
    rate: float = 2e-3
    decay: float = 0.01
    blur: float = 0.05


def train(examples: Examples, schedule: Schedule, seed: int) -> Layers:
    """Return one trained network."""
    random = np.random.default_rng(seed)
    inputs = standardized(examples.summaries, *examples.scaling()).astype(np.float32)
    last_bias = np.full(N_RAW, -2.5)
    last_bias[:N_POINT] = -2.0

    def slope_of(raw: Reals, rows: NDArray[np.intp]) -> Reals:
        slope = _loss_slope(both_ways(raw).astype(np.float64), examples.select(rows)) / 2
        back = np.empty_like(raw)
        back[:, 0] = slope
        back[:, 1][:, SWAPPED_ORDER] = slope
        return back

    return descended(inputs, last_bias, slope_of, schedule, random)


def descended(
    inputs: NDArray[np.floating[Any]],
    last_bias: Reals,
    slope_of: Callable[[Reals, NDArray[np.intp]], Reals],
    schedule: Schedule,
    random: np.random.Generator,
) -> Layers:
    """Return layers whose loss on the inputs is small.

    ``slope_of`` returns the slope of the mean loss along the raw numbers of some rows of inputs.
    """
    weights = _start(inputs.shape[-1], schedule.width, last_bias, random)
    moments = [(np.zeros_like(weight), np.zeros_like(weight)) for weight in weights]
    n_rows = len(inputs)
    n_batches = -(-n_rows // schedule.batch)
    n_steps, step = schedule.epochs * n_batches, 0
    for _ in range(schedule.epochs):
        order = random.permutation(n_rows)
        for rows in np.array_split(order, n_batches):
            noise = random.standard_normal(inputs[rows].shape, dtype=np.float32)
            slopes = _gradient(weights, inputs[rows] + schedule.blur * noise, rows, slope_of)
            rate = schedule.rate * (0.5 + 0.5 * np.cos(np.pi * step / n_steps)) + 1e-5
            step += 1
            for weight, slope, (mean, square) in zip(weights, slopes, moments, strict=True):
                mean += (1 - _BETAS[0]) * (slope - mean)
                square += (1 - _BETAS[1]) * (slope**2 - square)
                scaled = mean / (1 - _BETAS[0] ** step)
                scaled /= np.sqrt(square / (1 - _BETAS[1] ** step)) + 1e-8
                if weight.ndim == 2:
                    scaled += schedule.decay * weight
                weight -= rate * scaled
    return Layers(*(weight.astype(np.float64) for weight in weights))


def _start(n_inputs: int, width: int, last_bias: Reals, random: np.random.Generator) -> list[Reals]:
    def drawn(n_in: int, n_out: int, part: float = 1.0) -> Reals:
        return np.asarray(random.normal(size=(n_in, n_out)) * np.sqrt(2 / n_in) * part)

    n_raw = len(last_bias)
    weights = [
        drawn(n_inputs, width),
        np.zeros(width),
        drawn(width, width),
        np.zeros(width),
        drawn(width, n_raw, 0.1),
        last_bias,
        np.zeros((n_inputs, n_raw)),
    ]
    return [weight.astype(np.float32) for weight in weights]


def _gradient(
    weights: list[Reals],
    inputs: Reals,
    rows: NDArray[np.intp],
    slope_of: Callable[[Reals, NDArray[np.intp]], Reals],
) -> list[Reals]:
    """Return the slope of the loss along every weight."""
    first, first_bias, second, second_bias, last, last_bias, direct = weights
    flat = inputs.reshape(-1, inputs.shape[-1])
    one = flat @ first + first_bias
    one_out = leaky(one)
    two = one_out @ second + second_bias
    two_out = leaky(two)
    raw = two_out @ last + last_bias + flat @ direct
    back = slope_of(raw.reshape(*inputs.shape[:-1], -1), rows)
    back = back.reshape(raw.shape).astype(np.float32)
    two_back = (back @ last.T) * leaky_slopes(two).astype(np.float32)
    one_back = (two_back @ second.T) * leaky_slopes(one).astype(np.float32)
    return [
        flat.T @ one_back,
        one_back.sum(axis=0),
        one_out.T @ two_back,
        two_back.sum(axis=0),
        two_out.T @ back,
        back.sum(axis=0),
        flat.T @ back,
    ]


def _loss_slope(raw: Reals, examples: Examples) -> Reals:
    """Return the slope of the mean loss along each raw number."""
    slopes = np.zeros_like(raw)
    pi = label_error_rates(raw)
    found = quantities(pi, examples.prevalence)
    truth = quantities(examples.label_error_rates, examples.prevalence)
    slopes[:, :N_POINT] = _point_slope(pi, found, truth, examples)
    wanted = expit(clumps(raw)) - examples.separable
    slopes[:, N_POINT] = _CLUMPS_WEIGHT * examples.separable_weight * wanted
    ranges = slopes[:, N_POINT + N_CLUMPS :]
    ranges[...] = _range_slope(raw, found, truth, examples.sparseness).reshape(ranges.shape)
    return np.asarray(slopes * (examples.weight / examples.weight.sum())[:, None])


def _point_slope(pi: Reals, found: Reals, truth: Reals, examples: Examples) -> Reals:
    """Return the slope of the absolute errors of all five quantities along the point."""
    prevalence = examples.prevalence
    error = np.clip((found - truth) / _SMOOTH, -1, 1)
    error[:, :4] /= 4
    error[:, 4] *= _TOTAL_WEIGHT
    wrong_positive, wrong_negative = pi[:, 0] * prevalence, pi[:, 1] * (1 - prevalence)
    positives = np.maximum(prevalence - wrong_positive + wrong_negative, 1e-3)
    negatives = np.maximum(1 - prevalence + wrong_positive - wrong_negative, 1e-3)
    along_positive = prevalence * (
        error[:, 0] * wrong_negative / positives**2
        + error[:, 1] * (negatives - wrong_positive) / negatives**2
        + error[:, 4]
    )
    along_negative = (1 - prevalence) * (
        error[:, 0] * (positives - wrong_negative) / positives**2
        + error[:, 1] * wrong_positive / negatives**2
        + error[:, 4]
    )
    slope = np.stack([along_positive, along_negative], axis=1) + error[:, 2:4]
    roots = np.sqrt(np.maximum(pi, 1e-6))
    off = np.clip((roots - np.sqrt(truth[:, 2:4])) / (2 * _SMOOTH), -1, 1)
    slope += _ROOT_WEIGHT / 2 * off / (2 * roots)
    return np.asarray(slope * pi * (1 - pi / MOST_WRONG))


def _range_slope(raw: Reals, found: Reals, truth: Reals, sparseness: Reals) -> Reals:
    """Return the slope of the pinball loss along the steps of the ranges."""
    steps = range_steps(raw)
    wide, added = range_parts(steps)
    few = sparseness[:, None, None, None]
    widths = np.sqrt(wide**2 + few * added**2) + 1e-9
    # How far the truth lies beyond the point, downwards and upwards.
    beyond = np.sqrt(np.maximum(truth, 0)) - np.sqrt(np.maximum(found, 0))
    beyond = np.stack([-beyond, beyond], axis=2)[..., None]
    outside = np.clip((beyond - widths) / (2 * _SMOOTH), -1, 1) / 2 + 0.5
    along = _RANGE_WEIGHT / N_QUANTITIES * (_HALF_LEVELS - outside)
    # A range that reaches zero holds a truth of zero, and need not be narrower than that.
    holds = np.sqrt(np.maximum(found, 0))[..., None] < widths[:, :, 0]
    along[:, :, 0][holds & (truth <= 0)[..., None]] = 0.0
    along /= widths
    slope = np.empty_like(steps)
    # Every step moves all wider levels.
    slope[..., :-1] = np.cumsum((along * wide)[..., ::-1], axis=-1)[..., ::-1]
    slope[..., -1] = (along * few * added * QUANTILES).sum(axis=-1)
    return slope * expit(steps)
