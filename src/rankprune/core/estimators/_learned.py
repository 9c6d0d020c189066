"""The learned noise estimator: a small network that was trained on problems with known rates.

Noise where the classes meet and classes that overlap leave the same labels and scores, so no rule
can tell them apart. What can be learned is how often each is the case among problems that look like
this one: the most likely rates, and ranges as wide as what cannot be known. Where the scores fall
into two clumps, the paper's confident counts are exact (Theorem 2), and the answer is theirs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from rankprune.core._noise_rates import NoiseRates
from rankprune.core.counting._sketch import ScoreSketch
from rankprune.core.estimators._learned_network import (
    LEVELS,
    QUANTILES,
    Network,
    clumps,
    expit,
    quantities,
    range_limits,
)
from rankprune.core.estimators._summaries import Summaries, both_summaries

Reals = NDArray[np.float64]

# What the ranges are about, in the order of the network.
QUANTITIES = (
    "positive_noise_rate",
    "negative_noise_rate",
    "positive_label_error_rate",
    "negative_label_error_rate",
    "wrong_share",
)
# Log-odds of two clumps at which the answer is halfway to the confident counts, and how fast it
# goes over to them.
CLUMPS_MIDDLE, CLUMPS_STEEPNESS = -2.0, 3.0
# A lower end below this is reported as zero: so few wrong labels cannot be told from a clean table.
NO_WRONG_SHARE = 0.01
# The label error rates together stay below 1, so that labels tell something about the truth.
_MOST_OF_BOTH = 0.98
# Sums may be made in another order elsewhere; what that changes is rounded away, so that the same
# rows have the same rates in memory, in batches and on any machine.
_DIGITS = 9
ARTEFACT = "learned.npz"
# Levels between which ranges were learned.
LEAST_LEVEL, MOST_LEVEL = LEVELS[0], LEVELS[-1]


@dataclass(frozen=True)
class LearnedAnswer:
    """The point, and how wide the ranges around it are.

    Attributes
    ----------
    rates : NoiseRates
        The point.
    center : ndarray of shape (5,)
        Square roots of the answer before it is handed over to the counts, in the order of
        `QUANTITIES`.
    widths : ndarray of shape (5, 2, 4)
        How far the ranges of each level reach below and above the center.
    """

    rates: NoiseRates
    center: Reals
    widths: Reals

    def ranges(self, level: float) -> dict[str, tuple[float, float]]:
        """Return the lower and the upper end for each of `QUANTITIES`.

        Parameters
        ----------
        level : float
            From 0.5 to 0.99: the share of problems of which a range holds the truth.
        """
        reach = float(ndtri((1 + level) / 2))
        found = {}
        limits = range_limits(np.array([self.rates.observed_prevalence]))[0]
        for name, center, sides, limit in zip(
            QUANTITIES, self.center.tolist(), self.widths, limits.tolist(), strict=True
        ):
            below, above = (float(np.interp(reach, QUANTILES, side)) for side in sides)
            point = float(getattr(self.rates, name))
            low = min(max(center - below, 0.0) ** 2, point)
            high = max(min((center + above) ** 2, limit), point)
            found[name] = (0.0 if low < NO_WRONG_SHARE else low, high)
        return found


def learned(sketch: ScoreSketch) -> NoiseRates:
    """Return the rates of the network, or the confident counts where scores form two clumps."""
    return learned_answer(sketch).rates


def learned_answer(sketch: ScoreSketch, network: Network | None = None) -> LearnedAnswer:
    """Return the point and the ranges of a network, by default the one of the package."""
    n_negative, n_positive = sketch.masses
    prevalence = np.array([n_positive / (n_negative + n_positive)])
    as_given, swapped = Summaries(sketch), Summaries(sketch.swap())
    network = network or shipped_network()
    summaries = both_summaries(as_given, swapped)[None]
    raw = network.raw(summaries)
    pi = network.label_error_rates(summaries, raw, prevalence)
    answer = quantities(pi, prevalence)
    widths = network.widths(raw, np.array([sketch.effective_rows]))
    if sum(sketch.auc_bounds()) / 2 <= sketch.needed_auc():
        # Scores that may be random, or of the other label, leave open all that is possible.
        widths = np.ones_like(widths)
    counted = np.array([as_given.paper_label_error_rates()])
    positive, negative = handed_over(pi, counted, clumps(raw))[0].round(_DIGITS).tolist()
    rates = NoiseRates.from_label_error_rates(positive, negative, float(prevalence[0]))
    return LearnedAnswer(
        replace(rates, n_positive=n_positive, n_negative=n_negative),
        np.sqrt(answer[0]).round(_DIGITS),
        widths[0].round(_DIGITS),
    )


def handed_over(pi: Reals, counted: Reals, odds: Reals) -> Reals:
    """Return pi1 and pi0 of each problem: the network's, or the counted ones in two clumps."""
    part = expit(CLUMPS_STEEPNESS * (odds - CLUMPS_MIDDLE))[:, None]
    found = (1 - part) * pi + part * counted
    both = found.sum(axis=1, keepdims=True)
    return np.asarray(found * (_MOST_OF_BOTH / np.maximum(both, _MOST_OF_BOTH)))


@lru_cache(maxsize=1)
def shipped_network() -> Network:
    """Return the network that comes with the package."""
    path = files("rankprune.core.estimators") / ARTEFACT
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        return Network.from_arrays(dict(arrays))
