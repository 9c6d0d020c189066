"""What the bins of the sketch change: nothing where scores are apart, and little elsewhere."""

import numpy as np
import pytest

from rankprune.core import NOISE_ESTIMATORS, ScoreSketch
from rankprune.core.counting._bins import MIDDLES
from rankprune.experiments._unbinned import UNBINNED, unbinned_rates


def noisy_rows(seed):
    rng = np.random.default_rng(seed)
    n_rows = int(10 ** rng.uniform(2.5, 4.5))
    truth = rng.random(n_rows) < rng.uniform(0.1, 0.6)
    rho1, rho0 = rng.uniform(0, 0.4, 2)
    labels = np.where(truth, rng.random(n_rows) >= rho1, rng.random(n_rows) < rho0)
    logits = rng.normal(np.where(truth, 1, -1) * rng.uniform(0.5, 4), 1)
    return labels, 1 / (1 + np.exp(-logits))


def both(rates):
    return np.array([rates.positive_noise_rate, rates.negative_noise_rate])


@pytest.mark.parametrize("name", UNBINNED)
def test_scores_in_bins_of_their_own_give_the_rates_of_every_distinct_score(name):
    for seed in range(5):
        labels, scores = noisy_rows(seed)
        scores = MIDDLES[np.round(scores * (len(MIDDLES) - 1)).astype(int)]
        binned = NOISE_ESTIMATORS[name].from_sketch(ScoreSketch.from_rows(labels, scores))
        assert binned == unbinned_rates(name, labels, scores)


@pytest.mark.parametrize("name", UNBINNED)
def test_bins_move_the_rates_by_less_than_a_thousandth_on_average(name):
    moved = []
    for seed in range(40):
        labels, scores = noisy_rows(seed)
        binned = NOISE_ESTIMATORS[name].from_sketch(ScoreSketch.from_rows(labels, scores))
        moved.append(np.abs(both(binned) - both(unbinned_rates(name, labels, scores))))
    assert np.mean(moved) < 0.001
    assert np.quantile(moved, 0.9) < 0.004
