"""The curve noise estimator: a sigmoid between two plateaus, whose heights are the noise rates.

If the scores separate the classes, the share of positive labels flattens: at rho_0 among rows
that are surely negative, at 1 - rho_1 among rows that are surely positive. A curve through all
rows finds those heights even if the classes overlap so much that the plateaus are never reached,
which no bound can.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from rankprune.core._noise_rates import NoiseRates, rates_of_masses
from rankprune.core.counting._score_groups import ScoreGroups, mid_ranks
from rankprune.core.counting._sketch import ScoreSketch
from rankprune.core.estimators._curve_fit import Shares, fit_curves
from rankprune.core.estimators._tight import Evidence, smallest_shares, smallest_shares_of_many

Reals = NDArray[np.float64]

# Bounds are a check on the curve here, so they may be looser and need more support.
_LOOSE = Evidence(support=0.2, level=0.2)
# Fine enough for a curve of four parameters.
_N_GROUPS = 400
# Starting points of the search: a pair of rates, and the steepness of the curve between them.
_STARTS = (
    (0.05, 0.05, 2.0),
    (0.3, 0.01, 2.0),
    (0.01, 0.3, 2.0),
    (0.2, 0.2, 4.0),
)
# One more starting point is a step of this steepness between the best bounds.
_STEP = 50.0
# The logarithm of a steepness from which on a curve is a step.
_STEEP = np.log(_STEP) - 0.5
# Curves whose log-likelihoods differ by less cannot be told apart by the data.
_SAME_LIKELIHOOD = 0.1
# Any curve fits fewer groups than this; then the step between the bounds is what they show.
_MIN_GROUPS = 5
_TINY = 1e-9


def curve(sketch: ScoreSketch) -> NoiseRates:
    """Return, for each noise rate, the smaller of the curve's plateau and the best bound."""
    groups = sketch.groups()
    positive_bound, negative_bound = bounds = smallest_shares(groups, _LOOSE)
    fitted = fit_curve(groups, bounds)
    return rates_of_masses(
        min(fitted.positive_noise_rate, positive_bound),
        min(fitted.negative_noise_rate, negative_bound),
        sketch.masses,
    )


def curve_of_many(groups: ScoreGroups, positives: Reals, negatives: Reals) -> tuple[Reals, Reals]:
    """Return the positive and the negative noise rate of each resample of grouped rows.

    The search starts from the curve of the rows themselves, and from a step between the bounds.

    Parameters
    ----------
    groups : ScoreGroups
    positives, negatives : ndarray of shape (n_resamples, n_groups)
        Rows of each label that were drawn from each group.
    """
    bounds = smallest_shares_of_many(positives, negatives, _LOOSE)
    if len(groups.rows) < _MIN_GROUPS:
        return bounds
    own = fit_curve(groups, smallest_shares(groups, _LOOSE))
    shares = _shares_along(positives + negatives, positives)
    n_resamples = len(positives)
    near = np.tile(own.parameters, (n_resamples, 1))
    steps = starts_between(shares, bounds[1], bounds[0], np.full(n_resamples, _STEP))
    twice = np.tile(np.arange(n_resamples), 2)
    fits = fit_curves(shares.select(twice), np.concatenate([near, steps]))
    parameters = fits.parameters.reshape(2, n_resamples, 4)
    chosen = steepest_of_the_best(parameters, fits.losses.reshape(2, n_resamples))
    return np.minimum(chosen[:, 1], bounds[0]), np.minimum(chosen[:, 0], bounds[1])


@dataclass(frozen=True)
class Curve:
    """The share of positive labels along the logit of the mid-rank, between two plateaus."""

    positive_noise_rate: float
    negative_noise_rate: float
    steepness: float
    middle: float

    def __call__(self, positions: Reals) -> Reals:
        """Return the expected share of positive labels at logits of the mid-rank."""
        height = 1 - self.positive_noise_rate - self.negative_noise_rate
        rise = expit(self.steepness * (positions - self.middle))
        return np.asarray(self.negative_noise_rate + height * rise)

    @property
    def parameters(self) -> Reals:
        """Return the parameters as `fit_curves` takes them."""
        return np.array(
            [
                self.negative_noise_rate,
                self.positive_noise_rate,
                np.log(self.steepness),
                self.middle,
            ]
        )


def fit_curve(groups: ScoreGroups, bounds: tuple[float, float]) -> Curve:
    """Return the curve of maximum likelihood; the search also starts from bounds of both rates."""
    few = groups.coarser(_N_GROUPS)
    starts = np.array([*_STARTS, (bounds[1], bounds[0], _STEP)])
    shares = _shares_along(*(np.tile(part, (len(starts), 1)) for part in (few.rows, few.positives)))
    points = starts_between(shares, *starts.T)
    if len(few.rows) < _MIN_GROUPS:
        return _curve_of(points[-1])
    fits = fit_curves(shares, points)
    chosen = steepest_of_the_best(fits.parameters[:, None], fits.losses[:, None])
    return _curve_of(chosen[0])


def _curve_of(parameters: Reals) -> Curve:
    negative, positive, log_steepness, middle = parameters.tolist()
    return Curve(positive, negative, float(np.exp(log_steepness)), middle)


def _shares_along(rows: Reals, positives: Reals) -> Shares:
    # The rank of a row with a tiny weight may round to 0 or 1, where the logit is infinite.
    return Shares(rows, positives, logit(np.clip(mid_ranks(rows), _TINY, 1 - _TINY)))


def starts_between(shares: Shares, negative: Reals, positive: Reals, steepness: Reals) -> Reals:
    """Return starting points whose middle is where the classes would meet at these rates."""
    observed = shares.positives.sum(axis=1) / shares.rows.sum(axis=1)
    # Bounds may leave nothing between the plateaus; then any middle will do.
    prevalence = (observed - negative) / np.maximum(1 - negative - positive, _TINY)
    middle = logit(1 - np.clip(prevalence, 0.02, 0.98))
    return np.stack([negative, positive, np.log(steepness), middle], axis=1)


def steepest_of_the_best(parameters: Reals, losses: Reals) -> Reals:
    """Return one of several fits of each problem, given as arrays of fits x problems.

    With few distinct scores a gentle curve without plateaus fits as well as a step between them;
    the step is the one that the scores themselves show. Of several steps, it is the last one, whose
    search began between the bounds.
    """
    alike = losses - losses.min(axis=0) <= _SAME_LIKELIHOOD
    steepness = np.minimum(parameters[:, :, 2], _STEEP)
    last_best = np.where(alike, steepness, -np.inf)[::-1].argmax(axis=0)
    return np.asarray(parameters[len(losses) - 1 - last_best, np.arange(parameters.shape[1])])
