"""Weights with which noisy labels act like correct ones: by hand, and as expectations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankprune import NoiseRates
from rankprune.core import (
    importance_weights,
    label_dependent_weights,
    unbiased_loss_weights,
    unlabeled_weights,
)

# rho1 = .4 (positives labeled negative), rho0 = .1: nothing is symmetric.
RATES = NoiseRates.from_noise_rates(0.4, 0.1, observed_prevalence=0.35)

rate_pairs = st.tuples(st.floats(0, 0.45), st.floats(0, 0.45))
posteriors = st.floats(0, 1)


def rates_of(rho1, rho0):
    return NoiseRates.from_noise_rates(rho1, rho0, observed_prevalence=0.5)


class TestByHand:
    def test_label_dependent_weights(self):
        """alpha = (1 - .4 + .1) / 2 = .35."""
        assert label_dependent_weights([1, 0, 0], RATES).tolist() == pytest.approx(
            [0.65, 0.35, 0.35]
        )

    def test_unbiased_loss_weights(self):
        """Of s=1: (1 - rho0) / .5 = 1.8 and -rho1 / .5 = -.8; of s=0: 1.2 and -.2."""
        given_label, other = unbiased_loss_weights([1, 0], RATES)
        assert given_label.tolist() == pytest.approx([1.8, 1.2])
        assert other.tolist() == pytest.approx([-0.8, -0.2])

    def test_importance_weights(self):
        """s=1 at g=.5: (.5 - .1) / (.5 * .5) = 1.6; s=0 at g=.5: (.5 - .4) / .25 = .4.

        s=1 at g=.05 is less likely than noise alone: 0. s=0 at g=.2: (.8 - .4) / (.5 * .8) = 1.
        """
        weights = importance_weights([1, 0, 1, 0], [0.5, 0.5, 0.05, 0.2], RATES)
        assert weights.tolist() == pytest.approx([1.6, 0.4, 0.0, 1.0])

    def test_unlabeled_weights(self):
        """c = .8: (.2 / .8) * g / (1 - g)."""
        weights = unlabeled_weights([0.0, 0.5, 0.8, 0.9, 1.0], 0.8)
        assert weights.tolist() == pytest.approx([0.0, 0.25, 1.0, 1.0, 1.0])

    def test_unlabeled_weights_beyond_the_frequency_are_one(self):
        """No p below c gives more than 1, and from c on the weight is 1."""
        weights = unlabeled_weights([0.5, np.nextafter(0.5, 0), 0.25, 0.0], 0.5)
        assert weights.tolist() == [1.0, pytest.approx(1.0), pytest.approx(1 / 3), 0.0]
        assert weights.max() == 1.0
        assert weights.dtype == np.float64

    def test_where_every_positive_is_labeled_no_unlabeled_row_is_positive(self):
        assert unlabeled_weights([0.0, 0.5, 1.0], 1.0).tolist() == [0, 0, 0]

    def test_pos_label_names_the_other_class(self):
        swapped = label_dependent_weights(["a", "b"], RATES, pos_label="a")
        assert swapped.tolist() == pytest.approx([0.65, 0.35])
        one, two = unbiased_loss_weights(["a", "b"], RATES, pos_label="a")
        assert (one[0], two[0]) == pytest.approx((1.8, -0.8))
        assert importance_weights(["a", "b"], [0.5, 0.5], RATES, pos_label="a")[0] == pytest.approx(
            1.6
        )


class TestExpectations:
    @given(rate_pairs, st.floats(-5, 5), st.sampled_from([0, 1]))
    def test_the_unbiased_loss_has_the_clean_loss_as_its_mean_over_the_noise(self, pair, f, y):
        rho1, rho0 = pair
        rates = rates_of(rho1, rho0)

        def loss(label):
            return np.logaddexp(0, -f if label else f)

        given_label, other = unbiased_loss_weights([1, 0], rates)
        noisy = {s: given_label[1 - s] * loss(s) + other[1 - s] * loss(1 - s) for s in (0, 1)}
        flip = rho1 if y else rho0
        assert (1 - flip) * noisy[y] + flip * noisy[1 - y] == pytest.approx(loss(y))
        assert given_label + other == pytest.approx([1, 1])

    @given(rate_pairs, posteriors)
    def test_importance_weights_turn_noisy_mass_into_clean_mass(self, pair, eta):
        """At each x, P(s|x) times the weight is P(y=s|x), of both classes."""
        rho1, rho0 = pair
        g = min((1 - rho1 - rho0) * eta + rho0, 1.0)
        positive, negative = importance_weights([1, 0], [g, g], rates_of(rho1, rho0))
        assert g * positive == pytest.approx(eta, abs=1e-9)
        assert (1 - g) * negative == pytest.approx(1 - eta, abs=1e-9)

    @given(rate_pairs, posteriors.filter(lambda eta: abs(eta - 0.5) > 1e-6))
    def test_label_dependent_weights_put_the_right_threshold_at_one_half(self, pair, eta):
        rho1, rho0 = pair
        g = (1 - rho1 - rho0) * eta + rho0
        positive, negative = label_dependent_weights([1, 0], rates_of(rho1, rho0))
        assert (g * positive > (1 - g) * negative) == (eta > 0.5)

    @given(st.floats(0.05, 1), posteriors)
    def test_unlabeled_weights_are_the_share_of_positives_among_unlabeled_rows(self, c, eta):
        """By Bayes: P(y=1 | s=0, x) = (1 - c) eta / (1 - c eta)."""
        (weight,) = unlabeled_weights([c * eta], c)
        expected = (1 - c) * eta / (1 - c * eta) if c * eta < 1 else 0.0
        assert weight == pytest.approx(expected, abs=1e-6)


def test_a_label_that_no_noise_can_cause_is_right_however_unlikely():
    rates = rates_of(0.4, 0.0)
    assert importance_weights([1, 0], [0.0, 0.0], rates)[0] == pytest.approx(1 / 0.6)
    assert importance_weights([1, 0], [0.0, 1.0], rates)[1] == 0


def test_rates_that_are_not_reliable_change_nothing():
    from dataclasses import replace

    rates = replace(RATES, reliable=False)
    assert label_dependent_weights([1, 0], rates).tolist() == [0.5, 0.5]
    assert [part.tolist() for part in unbiased_loss_weights([1, 0], rates)] == [[1, 1], [0, 0]]
    assert importance_weights([1, 0], [0.3, 0.2], rates).tolist() == [1, 1]


@pytest.mark.parametrize("value", [0, -0.1, 1.5, np.nan, True, "half", None])
def test_a_label_frequency_must_be_a_share(value):
    with pytest.raises(ValueError, match=r"label_frequency must lie in \(0, 1\], got"):
        unlabeled_weights([0.5], value)


@pytest.mark.parametrize("function", [label_dependent_weights, unbiased_loss_weights])
def test_rates_must_be_noise_rates(function):
    with pytest.raises(TypeError, match="noise_rates must be NoiseRates, got float"):
        function([1, 0], 0.3)


def test_probabilities_are_checked():
    with pytest.raises(ValueError, match=r"probabilities must lie in \[0, 1\]; row 1 holds 1.5"):
        importance_weights([1, 0], [0.5, 1.5], RATES)
    with pytest.raises(ValueError, match=r"probabilities must lie in \[0, 1\]; row 0 holds -1"):
        unlabeled_weights([-1.0], 0.5)
