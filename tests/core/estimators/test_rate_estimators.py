"""The estimators of Elkan and Noto, Liu and Tao, and Scott: by hand and on exact data."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exact_data import UNIT, exact_data, separated
from rankprune import estimate_noise_rates, flip_labels
from rankprune.core import NOISE_ESTIMATORS, gaussian_posterior, make_gaussians
from rankprune.core._noise_rates import rates_of_rows
from rankprune.exceptions import NoiseRatesClippedWarning

PU = ("elkan-noto", "elkan-noto-e2", "elkan-noto-e3")
ALL = (*PU, "min-probability", "scott", "scott-2015")

# Six rows: two labeled positives among four rows that look positive, two that do not.
LABELS = np.array([1, 1, 0, 0, 0, 0], np.int8)
SCORES = np.array([0.6, 0.4, 0.5, 0.5, 0.1, 0.2])


def rates_by(name, labels=LABELS, scores=SCORES, **kwargs):
    return NOISE_ESTIMATORS[name](labels, scores, **kwargs)


class TestByHand:
    """c of the six rows: mean of .6 and .4; 1.0 of 2.3 in all; the largest, .6."""

    @pytest.mark.parametrize(
        ("name", "c"), [("elkan-noto", 0.5), ("elkan-noto-e2", 1.0 / 2.3), ("elkan-noto-e3", 0.6)]
    )
    def test_label_frequency(self, name, c):
        rates = rates_by(name)
        assert rates.positive_noise_rate == pytest.approx(1 - c)
        assert rates.negative_noise_rate == 0
        assert rates.estimated_prevalence == pytest.approx((2 / 6) / c)
        assert (rates.n_positive, rates.n_negative) == (2, 4)

    def test_minimum_probability(self):
        rates = rates_by("min-probability")
        assert rates.negative_noise_rate == pytest.approx(0.1)
        assert rates.positive_noise_rate == pytest.approx(1 - 0.6)

    @pytest.mark.parametrize("name", ["scott", "scott-2015"])
    def test_scott_without_chance(self, name):
        """Per 1000 rows of a label: 900 + 100 positive labels, 200 + 800 negative ones.

        kappa1 = .1 / .8 = 1/8 below the threshold, kappa0 = .2 / .9 = 2/9 above it; so
        pi1 = 1/8 * 7/9 / (1 - 2/72) = .1 and pi0 = 2/9 * 7/8 / (70/72) = .2.
        """
        labels = np.array([1, 0, 1, 0], np.int8)
        weight = np.array([900, 200, 100, 800]) * 1e12
        rates = rates_by(name, labels, np.array([0.8, 0.8, 0.1, 0.1]), sample_weight=weight)
        assert rates.positive_label_error_rate == pytest.approx(0.1, abs=1e-5)
        assert rates.negative_label_error_rate == pytest.approx(0.2, abs=1e-5)

    def test_scott_allows_for_chance(self):
        """Ten rows a class, perfectly told apart: the bounds alone, by hand.

        Uniform: e = sqrt(log(10) / 20) = .339; kappa = e / (1 - e) = .513 on both sides, so
        pi = k (1 - k) / (1 - k^2) = k / (1 + k) = e. Binomial: no row of ten, 1 - .1^(1/10).
        """
        labels = np.repeat(np.array([0, 1], np.int8), 10)
        scores = np.repeat([0.1, 0.9], 10)
        uniform = rates_by("scott", labels, scores)
        assert uniform.positive_label_error_rate == pytest.approx(np.sqrt(np.log(10) / 20))
        assert uniform.negative_label_error_rate == pytest.approx(np.sqrt(np.log(10) / 20))
        binomial = rates_by("scott-2015", labels, scores)
        assert binomial.positive_label_error_rate == pytest.approx(1 - 0.1**0.1)
        assert binomial.positive_noise_rate == pytest.approx(1 - 0.1**0.1)


class TestOnExactData:
    @given(separated())
    def test_scott_finds_any_noise_where_the_classes_are_separate(self, data):
        weight = np.full(len(data.labels), 1e10)
        order = data.posterior()
        rates = rates_by("scott", data.labels.astype(np.int8), order, sample_weight=weight)
        assert rates.positive_noise_rate == pytest.approx(float(data.rho1), abs=1e-4)
        assert rates.negative_noise_rate == pytest.approx(float(data.rho0), abs=1e-4)

    @given(separated())
    def test_the_ends_of_the_exact_probabilities_are_the_rates(self, data):
        exact = data.rates()
        rho1, rho0 = exact.positive_noise_rate, exact.negative_noise_rate
        g = (1 - rho1 - rho0) * data.posterior() + rho0
        rates = rates_by("min-probability", data.labels.astype(np.int8), g)
        assert rates.positive_noise_rate == pytest.approx(rho1, abs=1e-9)
        assert rates.negative_noise_rate == pytest.approx(rho0, abs=1e-9)

    @pytest.mark.parametrize("name", PU)
    @pytest.mark.parametrize("rho1", [0, 5, 15])
    def test_elkan_and_noto_find_c_where_labels_are_drawn_at_random(self, name, rho1):
        """Their identity g = c P(y=1|x): each estimator gives c back where g is 0 or c."""
        data = exact_data([(4, 0), (0, 6)], rho1, 0)
        g = (1 - rho1 / UNIT) * data.posterior()
        rates = rates_by(name, data.labels.astype(np.int8), g)
        assert rates.positive_noise_rate == pytest.approx(rho1 / UNIT)

    def test_with_overlap_the_means_fall_short_and_the_maximum_does_not(self):
        """The mean of g over labeled rows is the same as their share of it: sum g^2 / sum g."""
        data = exact_data([(4, 0), (2, 2), (1, 5)], 10, 0)
        g, labels = 0.5 * data.posterior(), data.labels.astype(np.int8)
        first, second, third = (1 - rates_by(name, labels, g).positive_noise_rate for name in PU)
        assert first == pytest.approx((g**2).sum() / g.sum())
        assert second == pytest.approx(first)
        assert first < third == pytest.approx(0.5)


class TestProperties:
    rows = st.lists(
        st.tuples(st.integers(0, 1), st.integers(0, 20).map(lambda k: k / 20), st.integers(0, 3)),
        min_size=2,
        max_size=40,
    ).filter(lambda triples: len({s for s, _, w in triples if w}) == 2)

    @pytest.mark.parametrize("name", ALL)
    @given(triples=rows)
    def test_a_weight_is_that_many_rows_and_rates_are_possible(self, name, triples):
        labels, scores, weight = (np.array(column) for column in zip(*triples, strict=True))
        labels = labels.astype(np.int8)
        weighted = rates_by(name, labels, scores, sample_weight=weight.astype(float))
        repeated = rates_by(name, np.repeat(labels, weight), np.repeat(scores, weight))
        assert weighted.positive_noise_rate == pytest.approx(repeated.positive_noise_rate)
        assert weighted.negative_noise_rate == pytest.approx(repeated.negative_noise_rate)
        assert weighted.positive_noise_rate >= 0
        assert weighted.negative_noise_rate >= 0
        assert weighted.positive_noise_rate + weighted.negative_noise_rate < 1

    @pytest.mark.parametrize("name", ["min-probability", "scott", "scott-2015"])
    @given(triples=rows)
    def test_swapping_the_classes_swaps_the_rates(self, name, triples):
        labels, scores, weight = (np.array(column) for column in zip(*triples, strict=True))
        one = rates_by(name, labels.astype(np.int8), scores, sample_weight=weight.astype(float))
        two = rates_by(
            name, (1 - labels).astype(np.int8), 1 - scores, sample_weight=weight.astype(float)
        )
        assert one.positive_noise_rate == pytest.approx(two.negative_noise_rate, abs=1e-6)
        assert one.negative_noise_rate == pytest.approx(two.positive_noise_rate, abs=1e-6)


@pytest.mark.parametrize("name", ["scott", "scott-2015"])
def test_scott_uses_only_the_order_of_scores(name):
    X, y = make_gaussians(1000, separability=2, prevalence=0.4, random_state=0)
    s = flip_labels(y, positive_noise_rate=0.3, negative_noise_rate=0.1, random_state=0)
    g = 0.6 * gaussian_posterior(X, separability=2, prevalence=0.4) + 0.1
    # Distinct bins before and after, so that the same rows tie.
    g = np.round(g * 100) / 100
    found, distorted = (estimate_noise_rates(s, scores, method=name) for scores in (g, g**3))
    assert found.positive_noise_rate == distorted.positive_noise_rate
    assert found.negative_noise_rate == distorted.negative_noise_rate


def test_scott_comes_down_to_the_truth_as_rows_grow():
    found = []
    for n in (500, 50_000):
        X, y = make_gaussians(2 * n, prevalence=0.5, random_state=0)
        s = flip_labels(y, positive_noise_rate=0.3, negative_noise_rate=0.1, random_state=0)
        g = 0.6 * gaussian_posterior(X, prevalence=0.5) + 0.1
        found.append(estimate_noise_rates(s, g, method="scott"))
        closer = estimate_noise_rates(s, g, method="scott-2015")
        assert closer.positive_noise_rate < found[-1].positive_noise_rate
    few, many = found
    assert 0.3 < many.positive_noise_rate < few.positive_noise_rate
    assert many.positive_noise_rate == pytest.approx(0.3, abs=0.02)
    assert many.negative_noise_rate == pytest.approx(0.1, abs=0.02)
    assert closer.positive_noise_rate == pytest.approx(0.3, abs=0.005)


def test_a_share_that_rounds_above_one_leaves_no_noise():
    labels, scores = np.array([0, 1, 1], np.int8), np.array([0, 0.05, 0.15])
    rates = rates_by("elkan-noto-e2", labels.repeat([3, 3, 2]), scores.repeat([3, 3, 2]))
    assert rates.positive_noise_rate == 0


def test_without_any_probability_the_rates_are_as_far_as_the_labels_allow():
    rates = rates_by("elkan-noto-e2", LABELS, np.zeros(6))
    assert rates.clipped
    assert rates.positive_noise_rate == pytest.approx(4 / 6)


def test_a_mean_below_the_share_of_labels_is_clipped_with_a_warning():
    labels, scores = [1] * 300 + [0] * 200, np.r_[np.linspace(0.3, 0.5, 300), np.zeros(200)]
    with pytest.warns(NoiseRatesClippedWarning, match="contradict the share of positive labels"):
        rates = estimate_noise_rates(labels, scores, method="elkan-noto")
    assert rates.positive_noise_rate == pytest.approx(0.4)
    assert rates.estimated_prevalence == pytest.approx(1.0)


def test_rates_of_rows_counts_the_mass_of_each_label():
    rates = rates_of_rows(0.2, 0.1, LABELS.view(bool), np.array([1.0, 2, 3, 1, 1, 1]))
    assert (rates.n_positive, rates.n_negative) == (3, 6)
    assert rates == rates_of_rows(0.2, 0.1, LABELS.view(bool), np.array([1.0, 2, 3, 1, 1, 1]))
    assert not rates.clipped
