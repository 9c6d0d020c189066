"""The tight estimator: by hand, against a plain loop, and against the truth."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

from rankprune import NoiseRates, estimate_noise_rates, flip_labels
from rankprune.core import (
    NOISE_ESTIMATORS,
    gaussian_posterior,
    make_gaussians,
    perfect_probabilities,
)
from rankprune.core.counting._score_groups import group_scores
from rankprune.core.estimators import _tight

tight = NOISE_ESTIMATORS["tight"]

rows = st.lists(
    st.tuples(st.booleans(), st.integers(0, 30).map(lambda k: k / 30), st.integers(1, 3)),
    min_size=2,
    max_size=60,
).filter(lambda triples: len({s for s, _, _ in triples}) == 2)


@pytest.fixture
def few_rows(monkeypatch):
    """Let a handful of rows carry a threshold."""
    monkeypatch.setattr(_tight, "_MIN_ROWS", 2)
    monkeypatch.setattr(_tight, "_STRICT", _tight.Evidence(support=0.1, level=0.5))


def plain_share(scores, is_wrong, n_class, min_rows):
    """Every threshold between distinct values, one after the other."""
    best = (np.inf, None)
    least = min(max(min_rows, 0.1 * n_class), n_class)
    for threshold in np.unique(scores)[::-1]:
        beyond = scores >= threshold
        n, wrong = beyond.sum(), (beyond & is_wrong).sum()
        if n >= least:
            bound = 1.0 if wrong == n else beta.ppf(1 - 1e-4, wrong + 1, n - wrong)
            best = min(best, (bound, wrong / n), key=lambda pair: pair[0])
    return best[1]


def test_ten_rows_by_hand(few_rows):
    """At level 1/2 and from 2 rows up: among the four highest (.9, .8, .7, .6) one label is
    negative, and every wider set has a larger bound; among the lowest, .1, .2 and .3 are right.
    """
    labels = np.array([1, 1, 0, 1, 0, 1, 0, 0, 0, 0], dtype=np.int8)
    p = np.array([0.9, 0.9, 0.9, 0.9, 0.5, 0.5, 0.5, 0.3, 0.2, 0.1])
    rates = tight(labels, p)
    assert rates.positive_noise_rate == 0.25
    assert rates.negative_noise_rate == 0
    assert (rates.n_positive, rates.n_negative, rates.observed_prevalence) == (4, 6, 0.4)
    assert rates.counts is None
    assert not rates.clipped


@given(rows)
def test_it_equals_a_loop_over_all_thresholds(triples):
    s = np.array([s for s, _, _ in triples])
    p = np.array([p for _, p, _ in triples])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_tight, "_MIN_ROWS", 3)
        groups = group_scores(s, p, np.ones(len(s)))
        found = _tight.smallest_shares(groups, _tight._STRICT)[0]
    assert found == pytest.approx(plain_share(p, ~s, s.sum(), 3), abs=1e-12)


@given(rows)
def test_whole_weights_equal_repeated_rows_and_swapping_swaps(triples):
    s = np.array([s for s, _, _ in triples])
    p = np.array([p for _, p, _ in triples])
    w = np.array([w for _, _, w in triples])
    weighted = tight(s, p, sample_weight=w.astype(float))
    repeated = tight(np.repeat(s, w), np.repeat(p, w))
    swapped = tight(~s, -p + 1, sample_weight=w.astype(float))
    for name in ("positive_noise_rate", "negative_noise_rate", "n_positive"):
        assert getattr(weighted, name) == getattr(repeated, name)
    assert weighted.positive_noise_rate == pytest.approx(swapped.negative_noise_rate, abs=1e-9)
    assert weighted.negative_noise_rate == pytest.approx(swapped.positive_noise_rate, abs=1e-9)
    assert weighted.positive_noise_rate + weighted.negative_noise_rate < 1


def test_the_scale_of_fractional_weights_does_not_matter():
    X, y = make_gaussians(2000, separability=1.5, random_state=0)
    p = gaussian_posterior(X, separability=1.5)
    w = np.random.default_rng(0).random(2000) + 0.5
    one, other = tight(y == 1, p, sample_weight=w), tight(y == 1, p, sample_weight=w * 1e-6)
    assert one.positive_noise_rate == pytest.approx(other.positive_noise_rate)
    assert one.n_positive == pytest.approx(other.n_positive * 1e6)


@pytest.mark.parametrize(("rho1", "rho0"), [(0.0, 0.0), (0.3, 0.1), (0.5, 0.2), (0.1, 0.4)])
def test_it_is_closer_to_the_truth_than_confident_counts_where_classes_overlap(rho1, rho0):
    errors = {"tight": [], "confident-counts": []}
    for seed in range(5):
        X, y = make_gaussians(5000, separability=1.5, random_state=seed)
        labels = flip_labels(
            y, positive_noise_rate=rho1, negative_noise_rate=rho0, random_state=seed
        )
        truth = NoiseRates.from_noise_rates(rho1, rho0, labels.mean())
        scores = perfect_probabilities(gaussian_posterior(X, separability=1.5), truth)
        for method, found in errors.items():
            rates = estimate_noise_rates(labels, scores, method=method)
            found.append(abs(rates.positive_noise_rate - rho1))
            found.append(abs(rates.negative_noise_rate - rho0))
    assert np.mean(errors["tight"]) < 0.6 * np.mean(errors["confident-counts"])
    assert np.mean(errors["tight"]) < 0.05


@pytest.mark.parametrize("n_positive", [1, 5, 20, 40, 60])
def test_a_small_class_that_is_separated_shows_no_noise(n_positive):
    rng = np.random.default_rng(0)
    labels = np.repeat([True, False], [n_positive, 1000])
    p = np.where(labels, 0.8, 0.0) + 0.2 * rng.random(len(labels))
    rates = tight(labels, p)
    assert (rates.positive_noise_rate, rates.negative_noise_rate) == (0, 0)


def test_a_threshold_leaves_a_tenth_of_the_class():
    """The first 60 of 2,000 positives are clean by luck, the rest noisy at 30 %: a handful of rows
    must not speak for the class, however clean they look.
    """
    labels = np.arange(4000) < 2000
    labels[60:2000] = np.arange(1940) % 10 >= 3
    rates = tight(labels, np.linspace(1, 0, 4000))
    assert 0.15 < rates.positive_noise_rate < 0.31
    assert rates.negative_noise_rate == 0


def test_noise_near_the_boundary_is_missed():
    """Wrong labels that crowd where classes meet are not class-conditional: no threshold far from
    there sees them, and the estimate falls short. That is the price of looking where it is quiet.
    """
    p = np.linspace(0, 1, 2001)
    truth = p > 0.5
    labels = truth ^ ((np.abs(p - 0.5) < 0.05) & (np.arange(2001) % 2 == 0))
    true_rate = (truth & ~labels).sum() / truth.sum()
    assert true_rate == pytest.approx(0.05, abs=0.002)
    assert tight(labels, p).positive_noise_rate == 0
