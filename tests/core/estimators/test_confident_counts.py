"""The paper's estimator: by hand, against the plain version, weighted and merged."""

import warnings
from dataclasses import astuple
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import plain
from rankprune import NoiseRates
from rankprune import estimate_noise_rates as estimate_by_any
from rankprune.core import ConfidentCounts, _blocks
from rankprune.core._inputs import validate_inputs
from rankprune.core.estimators._confident_counts import (
    ClassSums,
    confident_counts,
    count_confident,
    rates_from_counts,
)
from rankprune.core.estimators._registry import estimate_unknown_rates
from rankprune.exceptions import NoiseRatesClippedWarning, UninformativeProbabilitiesWarning

estimate_noise_rates = partial(estimate_by_any, method="confident-counts")

probability = st.integers(0, 20).map(lambda k: k / 20) | st.floats(0, 1)
rows = st.lists(st.tuples(st.booleans(), probability), min_size=2, max_size=40).filter(
    lambda pairs: len({s for s, _ in pairs}) == 2
)


def columns(pairs):
    return np.array([s for s, _ in pairs]), np.array([p for _, p in pairs])


def test_ten_rows_by_hand():
    """Means: positives (.9 + .8 + .7 + .2) / 4 = .65, negatives (.1 * 3 + .3 + .8 + .4) / 6 = .3.

    At or above .65: three positive labels and the negative at .8, so rho1 = 1/4. At or below .3:
    .1, .1, .1 and .3 labeled negative and the positive at .2, so rho0 = 1/5.
    """
    labels = np.array([1, 1, 1, 1, 0, 0, 0, 0, 0, 0], dtype=np.int8)
    probabilities = np.array([0.9, 0.8, 0.7, 0.2, 0.1, 0.1, 0.1, 0.3, 0.8, 0.4])
    rates = confident_counts(labels, probabilities)
    assert rates.positive_threshold == pytest.approx(0.65, abs=1e-15)
    assert rates.negative_threshold == pytest.approx(0.3, abs=1e-15)
    assert rates.counts == ConfidentCounts(3, 1, 1, 4)
    assert rates.positive_noise_rate == 0.25
    assert rates.negative_noise_rate == 0.2
    assert (rates.n_positive, rates.n_negative, rates.observed_prevalence) == (4, 6, 0.4)
    # p_y1 = (.4 - .2) / (1 - .25 - .2), pi1 = .2 (1 - p_y1) / .4, pi0 = .25 p_y1 / .6
    assert rates.estimated_prevalence == pytest.approx(0.2 / 0.55)
    assert rates.positive_label_error_rate == pytest.approx(0.2 * (0.35 / 0.55) / 0.4)
    assert rates.negative_label_error_rate == pytest.approx(0.25 * (0.2 / 0.55) / 0.6)
    assert rates.reliable


@given(rows)
def test_thresholds_and_counts_equal_those_of_the_plain_version(pairs):
    s, p = columns(pairs)
    thresholds = ClassSums.of(s, p).thresholds()
    assert thresholds == plain.thresholds(s, p)
    found = count_confident(s, p, thresholds)
    assert plain.counts(s, p) == (
        found.positives_labeled_positive,
        found.positives_labeled_negative,
        found.negatives_labeled_positive,
        found.negatives_labeled_negative,
    )


@given(rows)
def test_rates_are_always_finite_and_possible(pairs):
    s, p = columns(pairs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # random rows are often uninformative
        rates = estimate_noise_rates(s, p)
    assert rates.positive_noise_rate + rates.negative_noise_rate < 1
    for name in (
        "positive_noise_rate",
        "negative_noise_rate",
        "positive_label_error_rate",
        "negative_label_error_rate",
        "observed_prevalence",
        "estimated_prevalence",
    ):
        assert 0 <= getattr(rates, name) <= 1


@given(rows, st.randoms(use_true_random=False), st.integers(0, 40))
def test_neither_order_nor_batches_change_a_bit(pairs, random, cut):
    s, p = columns(pairs)
    whole = ClassSums.of(s, p)
    shuffled = list(pairs)
    random.shuffle(shuffled)
    s2, p2 = columns(shuffled)
    parts = ClassSums.of(s2[:cut], p2[:cut]).merge(ClassSums.of(s2[cut:], p2[cut:]))
    assert parts == whole
    assert ClassSums().merge(whole) == whole
    ones = ClassSums.of(s, p, np.ones(len(s)))
    assert ones == whole


@given(rows, st.data())
def test_a_weight_of_two_equals_the_row_twice_and_zero_no_row(pairs, data):
    s, p = columns(pairs)
    weights = data.draw(st.lists(st.integers(0, 3), min_size=len(s), max_size=len(s)))
    repeated_s, repeated_p = np.repeat(s, weights), np.repeat(p, weights)
    if len(set(repeated_s.tolist())) < 2:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # random rows are often uninformative
        weighted = estimate_noise_rates(s, p, sample_weight=weights)
        repeated = estimate_noise_rates(repeated_s, repeated_p)
    assert weighted == repeated


@pytest.mark.parametrize("weighted", [True, False])
def test_blocks_add_up(monkeypatch, weighted):
    rng = np.random.default_rng(0)
    s, p = rng.random(50) < 0.4, rng.random(50)
    weight = rng.random(50) if weighted else None
    whole = ClassSums.of(s, p, weight)
    counts = count_confident(s, p, (0.6, 0.3), weight)
    monkeypatch.setattr(_blocks, "BLOCK_ROWS", 7)
    assert ClassSums.of(s, p, weight) == whole
    in_blocks = count_confident(s, p, (0.6, 0.3), weight)
    assert astuple(in_blocks) == pytest.approx(astuple(counts))


def test_fractional_weights_by_hand():
    """Masses: positives .5 + 1.5 = 2 with mean (.45 + .3) / 2, negatives 3 with mean .2 each."""
    labels, weights = np.array([True, True, False, False]), np.array([0.5, 1.5, 1.0, 2.0])
    probabilities = np.array([0.9, 0.2, 0.5, 0.05])
    sums = ClassSums.of(labels, probabilities, weights)
    assert sums.thresholds() == pytest.approx((0.375, 0.2), abs=1e-15)
    counts = count_confident(labels, probabilities, (0.375, 0.2), weights)
    assert counts == ConfidentCounts(0.5, 1.0, 1.5, 2.0)
    rates = rates_from_counts(sums, counts)
    assert rates.clipped  # 1 / 1.5 of the positives and 1.5 / 3.5 of the negatives cannot be
    assert rates.positive_noise_rate == pytest.approx(0.6, abs=1e-5)
    assert rates.negative_noise_rate == pytest.approx(0.4, abs=1e-5)
    assert (rates.n_positive, rates.n_negative, rates.observed_prevalence) == (2, 3, 0.4)


def test_thresholds_of_a_constant_class_are_its_value():
    labels = np.array([True] * 3 + [False] * 7)
    probabilities = np.array([0.7] * 3 + [0.1] * 7)
    assert ClassSums.of(labels, probabilities).thresholds() == (0.7, 0.1)
    rates = confident_counts(labels, probabilities)
    assert (rates.positive_noise_rate, rates.negative_noise_rate) == (0, 0)


def test_float32_is_compared_without_rounding_the_threshold():
    p = np.array([0.1, 0.2, 0.4, 0.7, 0.3], dtype=np.float32)
    s = np.array([False, False, True, True, True])
    assert confident_counts(s, p) == confident_counts(s, p.astype(np.float64))
    # A threshold between two neighbouring float32 values counts the upper one only.
    between = float(np.float32(0.3)) + 1e-12
    counts = count_confident(s, p, (between, between))
    assert counts == ConfidentCounts(2, 0, 1, 2)


def test_weights_that_underflow_leave_no_confident_row_and_no_crash():
    labels = np.array([True, True, False, False])
    probabilities = np.array([0.9, 0.8, 5e-324, 5e-324])
    rates = confident_counts(labels, probabilities, sample_weight=np.full(4, 0.25))
    assert rates.negative_noise_rate == 0


@pytest.mark.filterwarnings("ignore::rankprune.exceptions.UninformativeProbabilitiesWarning")
def test_a_callable_gets_zeros_and_ones_and_its_rates_are_used():
    seen = {}

    def fixed(labels, probabilities, *, sample_weight=None):
        seen.update(labels=labels.tolist(), weight=sample_weight)
        with pytest.raises(ValueError, match="read-only"):
            labels[0] = 0
        with pytest.raises(ValueError, match="read-only"):
            probabilities[0] = 0
        return NoiseRates.from_noise_rates(0.1, 0.2, float(np.mean(labels)))

    rates = estimate_noise_rates(
        ["n", "p"] * 10, [0.1, 0.9] * 10, method=fixed, sample_weight=[1] * 20, pos_label="n"
    )
    assert seen["labels"] == [1, 0] * 10
    assert seen["weight"].tolist() == [1] * 20
    assert rates.positive_noise_rate == 0.1
    assert not rates.reliable


def test_an_unknown_method_and_a_wrong_callable_are_refused():
    with pytest.raises(ValueError, match=r"one of \['confident-counts', 'curve', .*'tight'\] or"):
        estimate_noise_rates([0, 1], [0.1, 0.2], method="magic")
    with pytest.raises(ValueError, match=r"method must be one of .* got \[1\]"):
        estimate_noise_rates([0, 1], [0.1, 0.2], method=[1])
    with pytest.raises(
        TypeError,
        match=r"^method must return NoiseRates, got tuple from .* Build one with NoiseRates\.from_",
    ):
        estimate_noise_rates([0, 1], [0.1, 0.2], method=lambda *_, **__: (0.1, 0.2))


def test_a_callable_must_return_rates_of_the_rows_it_was_given():
    def elsewhere(labels, probabilities, *, sample_weight=None):
        return NoiseRates.from_noise_rates(0.0, 0.0, 0.9)

    with pytest.raises(ValueError, match=r"share of positive labels is 0.5, but .* of 0.9. Pass"):
        estimate_noise_rates([0, 1] * 9, [0.1, 0.9] * 9, method=elsewhere)


def test_known_rates_replace_the_estimated_ones():
    scores = [0.9, 0.8, 0.7, 0.1, 0.9, 0.1, 0.2, 0.1]
    inputs = validate_inputs([1, 1, 1, 1, 0, 0, 0, 0] * 20, scores * 20)
    rates = estimate_unknown_rates(inputs, "confident-counts", positive=0.2)
    assert rates.positive_noise_rate == 0.2
    assert (
        rates.negative_noise_rate
        == confident_counts(inputs.is_positive, inputs.probabilities).negative_noise_rate
    )
    rates = estimate_unknown_rates(inputs, "confident-counts", negative=0.1)
    assert rates.negative_noise_rate == 0.1


def test_scores_that_are_lower_for_positives_are_flagged():
    labels = [1] * 10 + [0] * 10
    with pytest.warns(UninformativeProbabilitiesWarning, match="no higher on average"):
        rates = estimate_noise_rates(labels, [0.1] * 10 + [0.9] * 10)
    assert rates.reliable is False
    assert estimate_noise_rates(labels, [0.9] * 10 + [0.1] * 10).reliable is True


def test_a_contradiction_with_the_labels_is_reported_once():
    """Informative by rank, but negatives crowd at the very top: 60 of 62 rows at or above LB."""
    labels = np.repeat([1, 0], [40, 360])
    scores = np.concatenate([[0.9] * 2, [0.5] * 38, [1.0] * 60, [0.1] * 300])
    with pytest.warns(NoiseRatesClippedWarning) as warned:
        rates = estimate_noise_rates(labels, scores)
    assert len(warned) == 1
    assert str(warned[0].message) == (
        "The estimated noise rates contradict the share of positive labels (0.1); the nearest "
        "possible ones are used: 0.9 of the positives and 0 of the negatives. Use a stronger "
        "classifier, or check which class is positive."
    )
    assert rates.clipped
    assert rates.reliable
    assert rates.positive_noise_rate == 0.9


def test_constant_scores_are_flagged():
    with pytest.warns(UninformativeProbabilitiesWarning, match="average.*0.5 against 0.5"):
        rates = estimate_noise_rates([1, 0] * 20, [0.5] * 40)
    assert not rates.reliable
    assert rates.positive_noise_rate + rates.negative_noise_rate < 1


def test_scores_by_chance_are_flagged():
    rng = np.random.default_rng(3)
    labels, scores = rng.integers(0, 2, 200), rng.random(200) * 0.1 + 0.45
    scores[labels == 1] += 0.002
    with pytest.warns(UninformativeProbabilitiesWarning, match="95% bound of their AUC"):
        assert not estimate_noise_rates(labels, scores).reliable
