"""Weights over many decades give a result, or an error that names them; never one from NumPy."""

import contextlib
import warnings

import numpy as np
import pytest

from rankprune import NoiseRates, RankPruningClassifier, estimate_noise_rates, flip_labels
from rankprune.core.estimators._registry import NOISE_ESTIMATORS
from rankprune.exceptions import RankPruneWarning
from rankprune.metrics import clean_metrics

RATES = NoiseRates.from_noise_rates(0.2, 0.1, observed_prevalence=0.45)


def use(name, X, y, probabilities, sample_weight):
    """Call a function of the library by name."""
    if name == "fit":
        RankPruningClassifier(random_state=0).fit(X, y, sample_weight=sample_weight)
    elif name == "clean_metrics":
        predictions = (probabilities > 0.5).astype(int)
        clean_metrics(y, predictions, RATES, scores=probabilities, sample_weight=sample_weight)
    else:
        estimate_noise_rates(y, probabilities, method=name, sample_weight=sample_weight)


@pytest.mark.parametrize("name", [*NOISE_ESTIMATORS, "clean_metrics", "fit"])
@pytest.mark.parametrize("decades", [10, 100, 300])
@pytest.mark.parametrize("kind", range(6))
def test_weights_of_any_size_work_or_are_named(name, decades, kind):
    rng = np.random.RandomState(0)
    truth = rng.randint(0, 2, 120)
    X = rng.normal(2.0 * truth[:, None], 1.0, (120, 2))
    y = flip_labels(truth, positive_noise_rate=0.2, negative_noise_rate=0.1, random_state=0)
    low, high, rows = 10.0**-decades, 10.0**decades, np.arange(120)
    weight, loses_a_class = [
        (10 ** np.linspace(-decades, decades, 120), False),
        (np.where(rows < 40, low, high), False),
        (np.full(120, low), False),
        (np.full(120, high), False),
        (np.where(rows == 5, high, low), True),
        (np.where(y == 1, high, low), True),
    ][kind]
    refused = pytest.raises(ValueError, match=r"^sample_weight must")
    with (
        warnings.catch_warnings(),
        refused if loses_a_class or decades == 300 else contextlib.nullcontext(),
    ):
        warnings.simplefilter("ignore", RankPruneWarning)
        use(name, X, y, 1 / (1 + np.exp(2 - X.sum(axis=1))), weight)
