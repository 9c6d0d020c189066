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
from scipy.optimize import minimize
from scipy.special import expit, logit

from rankprune.core._inputs import BoolArray, FloatArray
from rankprune.core._noise_rates import NoiseRates, rates_of_rows
from rankprune.core._shares import row_weights
from rankprune.core.counting._score_groups import ScoreGroups, group_scores
from rankprune.core.estimators._tight import Evidence, smallest_shares

# Bounds are a check on the curve here, so they may be looser and need more support.
_LOOSE = Evidence(support=0.2, level=0.2)
# Bins of the logit of the mid-rank: fine enough for a curve of four parameters.
_N_BINS = 400
# Starting points of the search: a pair of rates, and the steepness of the curve between them.
_STARTS = (
    (0.05, 0.05, 2.0),
    (0.3, 0.01, 2.0),
    (0.01, 0.3, 2.0),
    (0.2, 0.2, 4.0),
)
# One more starting point is a step of this steepness between the best bounds.
_STEP = 50.0
# Curves whose log-likelihoods differ by less cannot be told apart by the data.
_SAME_LIKELIHOOD = 0.1
# A rate near 1 leaves no curve to fit; a steepness beyond these is a step or a flat line.
_MAX_RATE = 0.98
_LOG_STEEPNESS = (-3.0, 4.0)
_TINY = 1e-9


def curve(
    labels: BoolArray,
    probabilities: FloatArray,
    *,
    sample_weight: NDArray[np.float64] | None = None,
) -> NoiseRates:
    """Return, for each noise rate, the smaller of the curve's plateau and the best bound."""
    rows = row_weights(labels, sample_weight)
    groups = group_scores(labels.view(bool), probabilities, rows)
    positive_bound, negative_bound = bounds = smallest_shares(groups, _LOOSE)
    fitted = fit_curve(groups, bounds)
    return rates_of_rows(
        min(fitted.positive_noise_rate, positive_bound),
        min(fitted.negative_noise_rate, negative_bound),
        labels,
        sample_weight,
    )


@dataclass(frozen=True)
class Curve:
    """The share of positive labels along the logit of the mid-rank, between two plateaus."""

    positive_noise_rate: float
    negative_noise_rate: float
    steepness: float
    middle: float

    def __call__(self, positions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the expected share of positive labels at logits of the mid-rank."""
        height = 1 - self.positive_noise_rate - self.negative_noise_rate
        rise = expit(self.steepness * (positions - self.middle))
        return np.asarray(self.negative_noise_rate + height * rise)


def fit_curve(groups: ScoreGroups, bounds: tuple[float, float]) -> Curve:
    """Return the curve of maximum likelihood; the search also starts from bounds of both rates."""
    # The rank of a row with a tiny weight may round to 0 or 1, where the logit is infinite.
    positions = np.asarray(logit(np.clip(groups.mid_ranks(), _TINY, 1 - _TINY)))
    low, high = float(positions[0]), float(positions[-1])
    bins = np.searchsorted(np.linspace(low, high, _N_BINS), positions)
    mass, positives, place = groups.in_bins(bins, positions)
    total = float(mass.sum())
    observed = float(positives.sum()) / total

    def loss(parameters: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        negative, positive, log_steepness, middle = parameters
        steepness = np.exp(log_steepness)
        height = 1 - negative - positive
        rise = expit(steepness * (place - middle))
        share = np.clip(negative + height * rise, _TINY, 1 - _TINY)
        likelihood = positives @ np.log(share) + (mass - positives) @ np.log1p(-share)
        slope = (mass - positives) / (1 - share) - positives / share
        bend = slope * height * rise * (1 - rise) * steepness
        gradient = [slope @ (1 - rise), -(slope @ rise), bend @ (place - middle), -bend.sum()]
        return -float(likelihood) / total, np.array(gradient) / total

    fits = [
        minimize(
            loss,
            [negative, positive, np.log(steepness), _middle(negative, positive, observed)],
            jac=True,
            method="L-BFGS-B",
            bounds=[(0, _MAX_RATE), (0, _MAX_RATE), _LOG_STEEPNESS, (low, high)],
        )
        for negative, positive, steepness in (*_STARTS, (bounds[1], bounds[0], _STEP))
    ]
    best = min(float(fit.fun) for fit in fits)
    alike = [fit.x for fit in fits if (float(fit.fun) - best) * total <= _SAME_LIKELIHOOD]
    # With few distinct scores a gentle curve without plateaus fits as well as a step between them;
    # the step is the one that the scores themselves show.
    negative, positive, log_steepness, middle = max(alike, key=lambda x: float(x[2]))
    return Curve(float(positive), float(negative), float(np.exp(log_steepness)), float(middle))


def _middle(negative: float, positive: float, observed: float) -> float:
    """Return the position where the classes would meet if these were the rates."""
    # Bounds may leave nothing between the plateaus; then any middle will do.
    prevalence = (observed - negative) / max(1 - negative - positive, _TINY)
    return float(logit(1 - np.clip(prevalence, 0.02, 0.98)))
