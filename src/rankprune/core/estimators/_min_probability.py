"""Liu and Tao's noise estimator: the ends of the probabilities are the noise rates.

P(s=1 | x) = (1 - rho_1 - rho_0) P(y=1 | x) + rho_0 runs from rho_0, where a row is surely
negative, to 1 - rho_1, where it is surely positive.
"""

from __future__ import annotations

from rankprune.core._noise_rates import NoiseRates, rates_of_masses
from rankprune.core.counting._sketch import ScoreSketch


def min_probability(sketch: ScoreSketch) -> NoiseRates:
    """Return rho_0 = min g and rho_1 = 1 - max g."""
    lowest, highest = sketch.extremes
    return rates_of_masses(1 - highest, lowest, sketch.masses)
