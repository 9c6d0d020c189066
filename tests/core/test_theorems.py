"""The paper's lemmas and theorems, exact (1e-12) on data whose noise is exactly class-conditional.

Data and scores come from Hypothesis; see ``exact_data``.
"""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from exact_data import UNIT, exact_data, overlapping, scores, separated
from rankprune import NoiseRates, correction_weights, prune_labels
from rankprune.core import (
    expected_noise_rates,
    expected_thresholds,
    ideal_thresholds,
    perfect_probabilities,
    robustness_conditions,
)
from rankprune.core.estimators._confident_counts import ClassSums, confident_counts, count_confident

TOLERANCE = {"rtol": 0, "atol": 1e-12}


def estimate(data, g):
    """Confident counts alone: the theorems say nothing about clipping or reliability."""
    s = data.labels == 1
    sums = ClassSums.of(s, g)
    thresholds = sums.thresholds()
    counts = count_confident(s, g, thresholds)
    rho1 = counts.positives_labeled_negative / (
        counts.positives_labeled_negative + counts.positives_labeled_positive
    )
    rho0 = counts.negatives_labeled_positive / (
        counts.negatives_labeled_positive + counts.negatives_labeled_negative
    )
    return rho1, rho0, thresholds, counts


@given(separated())
def test_lemma_a1_ideal_scores_take_two_values(data):
    g = perfect_probabilities(data.posterior(), data.rates())
    expected = np.where(data.true_labels == 1, 1 - float(data.rho1), float(data.rho0))
    assert_allclose(g, expected, **TOLERANCE)


@given(separated())
def test_lemma_1_and_theorem_2_ideal_scores_recover_the_noise(data):
    g = np.where(data.true_labels == 1, 1 - float(data.rho1), float(data.rho0))
    y, s = data.true_labels == 1, data.labels == 1
    rho1, rho0, (lower, upper), counts = estimate(data, g)
    assert ((g >= lower) == y).all()
    assert ((g <= upper) == ~y).all()
    assert counts.positives_labeled_positive == (y & s).sum()
    assert counts.positives_labeled_negative == (y & ~s).sum()
    assert counts.negatives_labeled_positive == (~y & s).sum()
    assert counts.negatives_labeled_negative == (~y & ~s).sum()
    assert_allclose([rho1, rho0], [float(data.rho1), float(data.rho0)], **TOLERANCE)


@given(separated())
def test_equations_4_and_5_thresholds_interpolate_between_the_two_values(data):
    rates = data.rates()
    g = perfect_probabilities(data.posterior(), rates)
    lower, upper = ideal_thresholds(rates)
    found = ClassSums.of(data.labels == 1, g).thresholds()
    assert_allclose(found, (lower, upper), **TOLERANCE)
    assert float(data.rho0) < lower + 1e-12
    assert lower <= 1 - float(data.rho1) + 1e-12
    assert float(data.rho0) <= upper + 1e-12


@given(overlapping(), st.data())
def test_lemma_3_thresholds_with_error_and_overlap(data, draw):
    g = np.array(draw.draw(scores(data.n_cells)))[data.cell]
    expected = expected_thresholds(data.labels, g, data.posterior(), data.rates())
    assert_allclose(ClassSums.of(data.labels == 1, g).thresholds(), expected, **TOLERANCE)


@given(overlapping(), st.data())
def test_lemma_3_estimates_are_upper_bounds_of_known_size(data, draw):
    g = np.array(draw.draw(scores(data.n_cells)))[data.cell]
    rho1, rho0, thresholds, _ = estimate(data, g)
    expected = expected_noise_rates(data.true_labels, g, data.rates(), thresholds)
    assert_allclose(
        [rho1, rho0], [expected.positive_noise_rate, expected.negative_noise_rate], **TOLERANCE
    )
    assert rho1 >= float(data.rho1) - 1e-12
    assert rho0 >= float(data.rho0) - 1e-12


@given(separated(), st.data())
def test_theorem_4_bounded_errors_leave_the_estimate_exact(data, draw):
    g = np.array(draw.draw(scores(data.n_cells)))[data.cell]
    rho1, rho0, thresholds, _ = estimate(data, g)
    first, second = robustness_conditions(data.true_labels, g, data.rates(), thresholds)
    if first:
        assert rho1 == pytest.approx(float(data.rho1), abs=1e-12)
    if second:
        assert rho0 == pytest.approx(float(data.rho0), abs=1e-12)


def test_theorem_4_conditions_are_not_vacuous():
    data = exact_data([(2, 0), (2, 0), (0, 3), (0, 3)], rho1=6, rho0=3)
    g = np.array([0.9, 0.45, 0.3, 0.05])[data.cell]
    rho1, rho0, thresholds, _ = estimate(data, g)
    conditions = robustness_conditions(data.true_labels, g, data.rates(), thresholds)
    assert conditions == (True, True)
    assert (rho1, rho0) == (0.3, 0.15)
    # A negative cell that reaches the positive threshold breaks the first condition only.
    g = np.array([0.95, 0.8, 0.85, 0.05])[data.cell]
    rho1, rho0, thresholds, _ = estimate(data, g)
    conditions = robustness_conditions(data.true_labels, g, data.rates(), thresholds)
    assert conditions == (False, True)
    assert rho1 > 0.3 + 0.1
    assert rho0 == 0.15


@given(separated(), st.data())
def test_theorem_5_pruning_and_weights_restore_the_clean_risk(data, draw):
    n_cells = data.n_cells
    order = draw.draw(st.permutations(range(n_cells)))
    is_positive_cell = np.zeros(n_cells, dtype=bool)
    is_positive_cell[data.cell[data.true_labels == 1]] = True
    # Any scores that put every positive cell above every negative one: range separability.
    g_cell = np.where(is_positive_cell, 0.6, 0.1) + 0.3 * np.array(order) / n_cells
    assume(float(data.rho1 + data.rho0) < 1)
    rates = data.rates()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pruning = prune_labels(data.labels, g_cell[data.cell], rates)
    keep = ~pruning.mask
    assert (data.labels[keep] == data.true_labels[keep]).all()
    assert (data.labels[~keep] != data.true_labels[~keep]).all()
    weights = correction_weights(data.labels[keep], rates)
    assert weights.sum() == pytest.approx(len(keep), rel=1e-12)
    # Any loss of any classifier that looks at x alone: one number a cell and class.
    losses = np.array(draw.draw(st.lists(st.floats(0, 9), min_size=n_cells, max_size=n_cells)))
    loss = np.stack([losses, losses[::-1] ** 2])
    clean_risk = loss[data.true_labels, data.cell].mean()
    pruned = loss[data.labels[keep], data.cell[keep]] @ weights / len(keep)
    assert pruned == pytest.approx(clean_risk, rel=1e-12, abs=1e-12)


@given(overlapping(), st.data())
def test_swapping_the_classes_swaps_the_rates(data, draw):
    cells = data.n_cells
    g = np.array(draw.draw(st.lists(st.integers(0, 64), min_size=cells, max_size=cells)))
    g = (g / 64)[data.cell]  # 1 - g is exact
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # random scores are often uninformative
        rates = confident_counts(data.labels == 1, g)
        swapped = confident_counts(data.labels == 0, 1 - g)
    for one, other in (
        ("positive_noise_rate", "negative_noise_rate"),
        ("positive_label_error_rate", "negative_label_error_rate"),
        ("n_positive", "n_negative"),
    ):
        # Rates that were clipped to the limit of what is possible divide by 1e-6.
        assert getattr(rates, one) == pytest.approx(getattr(swapped, other), abs=1e-9)
        assert getattr(rates, other) == pytest.approx(getattr(swapped, one), abs=1e-9)
    assert rates.positive_threshold == pytest.approx(1 - swapped.negative_threshold, abs=1e-12)
    assert rates.estimated_prevalence == pytest.approx(1 - swapped.estimated_prevalence, abs=1e-9)


@given(overlapping(), st.data(), st.integers(2, 4))
def test_replicating_every_row_changes_no_rate(data, draw, times):
    g = np.array(draw.draw(scores(data.n_cells)))[data.cell]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # random scores are often uninformative
        once = confident_counts(data.labels == 1, g)
        often = confident_counts(np.repeat(data.labels == 1, times), np.repeat(g, times))
    assert once.positive_noise_rate == often.positive_noise_rate
    assert once.negative_noise_rate == often.negative_noise_rate
    assert once.positive_threshold == often.positive_threshold
    assert once.negative_label_error_rate == often.negative_label_error_rate


def test_the_rows_that_pull_an_estimate_are_counted():
    rates = NoiseRates.from_noise_rates(0.25, 0.25, observed_prevalence=0.5)
    expected = expected_noise_rates(
        [1, 1, 1, 1, 0, 0, 0, 0], [0.9, 0.5, 0.1, 0.05, 0.8, 0.7, 0.4, 0.1], rates, (0.6, 0.2)
    )
    assert expected.positives_below_positive_threshold == 3
    assert expected.negatives_above_positive_threshold == 2
    assert expected.positives_below_negative_threshold == 2
    assert expected.negatives_above_negative_threshold == 3
    assert expected.positive_noise_rate == pytest.approx(0.25 + 0.5 * 2 / (4 - 3 + 2))
    assert expected.negative_noise_rate == pytest.approx(0.25 + 0.5 * 2 / (4 - 3 + 2))


def test_soft_overlap_shifts_the_thresholds_as_lemma_3_says():
    # Two cells of 40 rows, three quarters of one class each: overlap 3/16, not the printed ratio.
    data = exact_data([(3, 1), (1, 3)], rho1=0, rho0=0)
    rates = NoiseRates.from_noise_rates(0, 0, observed_prevalence=0.5)
    g = data.posterior()
    assert expected_thresholds(data.labels, g, g, rates) == pytest.approx((0.625, 0.375))
    assert ClassSums.of(data.labels == 1, g).thresholds() == (0.625, 0.375)
    assert len(g) == UNIT * 8
