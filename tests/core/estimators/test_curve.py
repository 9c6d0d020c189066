"""The curve estimator: recovery from exact data, ties, weights, symmetry."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import check_grad
from scipy.special import expit, logit

from rankprune import NoiseRates, ScoreSketch, estimate_noise_rates, flip_labels
from rankprune.core import (
    NOISE_ESTIMATORS,
    gaussian_posterior,
    make_gaussians,
    perfect_probabilities,
)
from rankprune.core.counting._score_groups import ScoreGroups, group_scores
from rankprune.core.estimators import _curve, _curve_fit, _tight
from rankprune.core.estimators._curve import Curve

curve = NOISE_ESTIMATORS["curve"]


def fit_curve(labels, scores, weights, bounds):
    return _curve.fit_curve(group_scores(labels, scores, weights), bounds)


def exact_rows(rho1, rho0, *, steepness=3.0, middle=0.5, n=400):
    """Rows whose shares of positive labels lie on a curve, as weights of both labels per score."""
    scores = (np.arange(n) + 0.5) / n
    share = Curve(rho1, rho0, steepness, middle)(logit(scores))
    labels = np.tile([True, False], n)
    weights = np.stack([share, 1 - share], axis=1).ravel()
    return labels, np.repeat(scores, 2), weights


@pytest.mark.parametrize(("rho1", "rho0"), [(0.0, 0.0), (0.3, 0.1), (0.05, 0.4), (0.6, 0.2)])
def test_a_curve_through_exact_shares_is_found(rho1, rho0):
    labels, scores, weights = exact_rows(rho1, rho0)
    found = fit_curve(labels, scores, weights, (rho1, rho0))
    assert found.positive_noise_rate == pytest.approx(rho1, abs=0.003)
    assert found.negative_noise_rate == pytest.approx(rho0, abs=0.003)
    assert found.steepness == pytest.approx(3, rel=0.05)
    assert found.middle == pytest.approx(0.5, abs=0.05)


def test_a_curve_runs_between_its_plateaus():
    found = Curve(0.3, 0.1, 2.0, 1.0)
    assert found(np.array([-50.0, 1.0, 50.0])) == pytest.approx([0.1, 0.4, 0.7])
    assert found(np.array([2.0])) == pytest.approx(0.1 + 0.6 * expit(2.0))


@pytest.mark.parametrize("separability", [1, 2, 4, 8])
@pytest.mark.parametrize(("rho1", "rho0"), [(0.4, 0.1), (0.2, 0.3)])
def test_known_rates_are_recovered_with_and_without_overlap(rho1, rho0, separability):
    X, y = make_gaussians(20_000, separability=separability, random_state=0)
    labels = flip_labels(
        y, positive_noise_rate=rho1, negative_noise_rate=rho0, exact=False, random_state=1
    )
    truth = NoiseRates.from_noise_rates(rho1, rho0, 0.2 * (1 - rho1) + 0.8 * rho0)
    scores = perfect_probabilities(gaussian_posterior(X, separability=separability), truth)
    rates = estimate_noise_rates(labels, scores, method="curve")
    assert rates.positive_noise_rate == pytest.approx(rho1, abs=0.05)
    assert rates.negative_noise_rate == pytest.approx(rho0, abs=0.02)
    paper = estimate_noise_rates(labels, scores, method="confident-counts")
    assert abs(rates.positive_noise_rate - rho1) <= abs(paper.positive_noise_rate - rho1) + 0.02


@pytest.mark.parametrize("n_values", [2, 3])
def test_a_few_distinct_scores_give_the_shares_at_the_ends(n_values):
    """Any curve fits so few points; the step between the ends is what the scores show."""
    rows = np.arange(3000)
    scores = (rows % n_values) / (n_values - 1)
    turn = rows // n_values
    labels = np.select([scores == 1, scores == 0], [turn % 5 > 0, turn % 10 == 0], turn % 2 == 0)
    rates = curve(labels, scores)
    at_the_top, at_the_bottom = ~labels[scores == 1], labels[scores == 0]
    assert rates.positive_noise_rate == pytest.approx(at_the_top.mean(), abs=1e-4)
    assert rates.negative_noise_rate == pytest.approx(at_the_bottom.mean(), abs=1e-4)


def test_no_rate_exceeds_the_bound():
    generator = np.random.default_rng(0)
    for _ in range(20):
        scores = generator.random(300)
        labels = generator.random(300) < expit(generator.normal(0, 4) * (scores - 0.5))
        if 0 < labels.sum() < 300:
            groups = ScoreSketch.from_rows(labels, scores).groups()
            bounds = _curve.smallest_shares(groups, _curve._LOOSE)
            rates = curve(labels, scores)
            assert rates.positive_noise_rate <= bounds[0] + 1e-12
            assert rates.negative_noise_rate <= bounds[1] + 1e-12
            assert rates.positive_noise_rate + rates.negative_noise_rate < 1


def test_the_smaller_of_plateau_and_bound_is_taken_on_each_side(monkeypatch):
    labels = np.tile([True, False], 50)
    scores = np.linspace(0, 1, 100)
    monkeypatch.setattr(_curve, "smallest_shares", lambda *_: (0.2, 0.3))
    monkeypatch.setattr(_curve, "fit_curve", lambda *_: Curve(0.25, 0.1, 1.0, 0.0))
    rates = curve(labels, scores)
    assert (rates.positive_noise_rate, rates.negative_noise_rate) == (0.2, 0.1)
    monkeypatch.setattr(_curve, "fit_curve", lambda *_: Curve(0.15, 0.4, 1.0, 0.0))
    rates = curve(labels, scores)
    assert (rates.positive_noise_rate, rates.negative_noise_rate) == (0.15, 0.3)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0, 0.4), st.floats(0, 0.4))
def test_swapping_the_classes_swaps_the_rates_and_weights_count_rows(seed, rho1, rho0):
    generator = np.random.default_rng(seed)
    truth = generator.random(400) < 0.4
    scores = expit(generator.normal(2 * truth - 1.0, 1))
    labels = np.where(truth, generator.random(400) >= rho1, generator.random(400) < rho0)
    weight = generator.integers(1, 4, 400)
    rates = curve(labels, scores, sample_weight=weight.astype(float))
    swapped = curve(~labels, 1 - scores, sample_weight=weight.astype(float))
    repeated = curve(np.repeat(labels, weight), np.repeat(scores, weight))
    assert rates.positive_noise_rate == pytest.approx(swapped.negative_noise_rate, abs=0.01)
    assert rates.negative_noise_rate == pytest.approx(swapped.positive_noise_rate, abs=0.01)
    assert rates.positive_noise_rate == pytest.approx(repeated.positive_noise_rate, abs=1e-3)
    assert rates.n_positive == repeated.n_positive
    assert rates.observed_prevalence == pytest.approx(repeated.observed_prevalence)


def one_problem():
    labels, scores, weights = exact_rows(0.3, 0.1)
    groups = group_scores(labels, scores, weights)
    return _curve._shares_along(groups.rows[None], groups.positives[None])


def test_the_gradient_is_that_of_the_loss():
    shares = one_problem()
    scale = shares.rows.sum()

    def loss(point):
        return float(_curve_fit._evaluate(shares, point[None]).losses[0]) / scale

    def gradient(point):
        here = _curve_fit._evaluate(shares, point[None])
        return _curve_fit.slopes(shares, point[None], here.rises, here.expected)[0][0] / scale

    for point in ([0.11, 0.32, 1.2, 0.7], [0.05, 0.05, 0.7, 0.0], [0.2, 0.3, 3.0, -1.0]):
        assert check_grad(loss, gradient, np.array(point)) < 1e-6


def test_the_curvature_is_that_of_the_loss_where_the_curve_fits():
    """Fisher's information is the second derivative where shares are as expected."""
    shares, scale = one_problem(), 400.0
    best = _curve_fit.fit_curves(shares, np.array([[0.1, 0.3, np.log(3), 0.5]])).parameters

    def gradient(point):
        here = _curve_fit._evaluate(shares, point[None])
        return _curve_fit.slopes(shares, point[None], here.rises, here.expected)[0][0] / scale

    here = _curve_fit._evaluate(shares, best)
    curvature = _curve_fit.slopes(shares, best, here.rises, here.expected)[1][0] / scale
    step = 1e-5
    numeric = np.stack(
        [
            (gradient(best[0] + step * unit) - gradient(best[0] - step * unit)) / (2 * step)
            for unit in np.eye(4)
        ]
    )
    np.testing.assert_allclose(curvature, numeric, rtol=0.02, atol=0.02)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None)
def test_no_point_nearby_fits_better(seed):
    generator = np.random.default_rng(seed)
    places = np.sort(generator.normal(0, 2, 60))
    rows = generator.integers(1, 50, 60).astype(float)
    expected = Curve(*generator.uniform(0, 0.4, 2), 2.0, 0.0)(places)
    positives = generator.binomial(rows.astype(int), expected).astype(float)
    shares = _curve_fit.Shares(rows[None], positives[None], places[None])
    found = _curve_fit.fit_curves(shares, np.array([[0.1, 0.1, 0.7, 0.0]]))
    lowest, highest = _curve_fit._limits(shares)
    nearby = np.clip(found.parameters + generator.normal(0, 0.05, (200, 4)), lowest, highest)
    many = shares.select(np.zeros(200, dtype=np.intp))
    assert _curve_fit._evaluate(many, nearby).losses.min() >= found.losses[0] - 1e-3


def test_fits_side_by_side_are_those_one_by_one():
    generator = np.random.default_rng(0)
    places = np.sort(generator.normal(0, 2, 80))
    rows = np.full((5, 80), 30.0)
    chance = Curve(0.2, 0.1, 3.0, 0.0)(places)
    positives = generator.binomial(30, np.tile(chance, (5, 1))).astype(float)
    shares = _curve_fit.Shares(rows, positives, np.tile(places, (5, 1)))
    starts = np.tile([0.1, 0.1, 0.7, 0.0], (5, 1))
    together = _curve_fit.fit_curves(shares, starts)
    for number in range(5):
        alone = _curve_fit.fit_curves(shares.select(np.array([number])), starts[:1])
        np.testing.assert_allclose(together.parameters[number], alone.parameters[0], atol=1e-6)


def test_rows_that_weigh_next_to_nothing_do_no_harm():
    labels, scores = np.repeat([False, True], 50), np.linspace(0.1, 0.9, 100)
    for weight in (np.where(np.arange(100) == 99, 1e-14, 1), 0.5 ** np.arange(100)[::-1]):
        rates = curve(labels, scores, sample_weight=weight.astype(float))
        assert rates.positive_noise_rate == pytest.approx(0, abs=0.01)
        mirrored = curve(~labels, 1 - scores, sample_weight=weight.astype(float))
        assert mirrored.negative_noise_rate == pytest.approx(0, abs=0.01)


def test_a_worse_fit_is_no_rival_however_steep():
    """Two curves whose log-likelihoods differ by more than a tenth: the better one wins."""
    gentle, steep = [0.1, 0.3, 0.0, 0.0], [0.2, 0.4, 3.0, 0.0]
    parameters = np.array([[gentle], [steep]])
    for difference, expected in ((0.2, gentle), (0.05, steep)):
        losses = np.array([[10.0], [10.0 + difference]])
        assert _curve.steepest_of_the_best(parameters, losses).tolist() == [expected]


def test_of_two_steps_the_one_between_the_bounds_wins():
    steps = np.array([[[0.1, 0.3, 3.9, 0.0]], [[0.2, 0.4, 3.6, 0.0]]])
    assert _curve.steepest_of_the_best(steps, np.zeros((2, 1))).tolist() == [steps[1, 0].tolist()]


@pytest.mark.parametrize("name", ["curve", "tight"])
@pytest.mark.parametrize("n_values", [2, 1000])
def test_resamples_side_by_side_are_estimated_as_one_by_one(name, n_values):
    generator = np.random.default_rng(0)
    truth = generator.random(4000) < 0.4
    scores = expit(generator.normal(3 * truth - 1.5, 1))
    scores = np.round(scores * n_values) / n_values
    labels = np.where(truth, generator.random(4000) >= 0.2, generator.random(4000) < 0.1)
    groups = ScoreSketch.from_rows(labels, scores).groups().coarser(100)
    positives = generator.poisson(groups.positives, (5, len(groups.rows))).astype(float)
    negatives = generator.poisson(groups.negatives, (5, len(groups.rows))).astype(float)
    found = np.transpose(NOISE_ESTIMATORS[name].of_many(groups, positives, negatives))
    for drawn, one, other in zip(found, positives, negatives, strict=True):
        some = one + other > 0
        alone = ScoreGroups(groups.scores[some], one[some], other[some])
        evidence = _curve._LOOSE if name == "curve" else _tight._STRICT
        expected = np.array(_curve.smallest_shares(alone, evidence))
        if name == "curve" and n_values > 2:
            fitted = _curve.fit_curve(alone, tuple(expected))
            plateaus = [fitted.positive_noise_rate, fitted.negative_noise_rate]
            expected = np.minimum(expected, plateaus)
        np.testing.assert_allclose(drawn, expected, atol=0.01)
