"""The figures of the tables, computed from scores on the test images."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import f1_score

from rankprune.comparison._measure import trusted_figures
from rankprune.core import NoiseRates
from rankprune.experiments._published import table_names
from rankprune.experiments.paper._records import Key, Record

# The paper's three metrics; average precision beside its interpolated area; and F1 at the
# threshold that the paper says would close the gap on CIFAR-10.
METRICS = ("f1", "error", "auc_pr", "average_precision", "f1_at_0.3")
# The distance of out-of-fold probabilities from perfect ones, and the rates estimated from them.
SCORE_METRICS = ("mean_delta_g", "rho1_hat", "rho0_hat")


def record(key: Key, value: float, n_train: int) -> Record:
    """Return a figure with the name of its table in the paper."""
    return Record(key, value, n_train, table_names().get(key[:3], ""))


def test_figures(truth: NDArray[np.bool_], scores: NDArray[Any]) -> dict[str, float]:
    """Return the metrics of one model's probabilities on the test images."""
    f1, error, _, average_precision, auc_pr = trusted_figures(truth, scores > 0.5, scores)
    lower = f1_score(truth, scores > 0.3, zero_division=0.0)
    figures = np.array([f1, error, auc_pr, average_precision, lower], dtype=float)
    return dict(zip(METRICS, figures.tolist(), strict=True))


def score_figures(
    is_class: NDArray[np.bool_], scores: NDArray[Any], true: NoiseRates, found: NoiseRates
) -> dict[str, float]:
    """Return how far out-of-fold probabilities are from perfect ones, and the estimated rates."""
    perfect = np.where(is_class, 1 - true.positive_noise_rate, true.negative_noise_rate)
    error = float(np.abs(scores - perfect).mean())
    rates = (found.positive_noise_rate, found.negative_noise_rate)
    return dict(zip(SCORE_METRICS, (error, *rates), strict=True))
