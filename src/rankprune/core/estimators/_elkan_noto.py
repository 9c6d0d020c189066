"""Elkan and Noto's noise estimators: how often a positive is labeled, if every label is right.

In positive and unlabeled data a row is labeled (s=1) with probability c = P(s=1 | y=1) if it is
positive and never if it is not, so g(x) = c P(y=1 | x): g is c wherever a row is surely positive.
In the paper's terms c = 1 - rho_1, and rho_0 = 0.
"""

from __future__ import annotations

from rankprune.core._noise_rates import NoiseRates, rates_of_masses
from rankprune.core.counting._sketch import ScoreSketch


def elkan_noto(sketch: ScoreSketch) -> NoiseRates:
    """Return rates with c as the mean probability of the labeled rows (their e1)."""
    return rates_of_masses(1 - sketch.mean_scores[1], 0.0, sketch.masses)


def elkan_noto_e2(sketch: ScoreSketch) -> NoiseRates:
    """Return rates with c as the share of all probability on the labeled rows (their e2)."""
    negative, positive = sketch.score_sums
    # If all probabilities are 0, nothing is known about c; 0 is then clipped to what is possible.
    frequency = positive / (negative + positive) if positive > 0 else 0.0
    return rates_of_masses(1 - frequency, 0.0, sketch.masses)


def elkan_noto_e3(sketch: ScoreSketch) -> NoiseRates:
    """Return rates with c as the largest probability (their e3)."""
    return rates_of_masses(1 - sketch.extremes[1], 0.0, sketch.masses)
