"""The order in which people look at rows, and how many wrong labels to expect along it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankprune import NoiseRates, ScoreSketch, prune_labels, rank_suspects
from rankprune.core._ranking import (
    chances,
    expected_stretches,
    order_rows,
    rank_of_cutoffs,
    ranking_cutoffs,
)
from rankprune.core.counting._bins import bin_of

LABELS = np.array([1, 1, 1, 0, 0, 0], dtype=bool)
SCORES = np.array([0.9, 0.25, 0.5, 0.7, 0.1, 0.1])


def test_rows_beyond_the_cut_offs_are_those_estimated_to_be_wrong_and_at_least_one():
    rates = NoiseRates.from_label_error_rates(0.5, 0.0, observed_prevalence=0.5)
    assert rank_of_cutoffs(rates, 10, 10) == (5, 1)
    assert rank_of_cutoffs(rates, 1, 1) == (1, 1)


def test_suspects_come_first_and_then_the_rest_by_margin():
    """With 60 % and 20 % of three rows wrong, the cut-offs are .5 and .7, as those of pruning."""
    rates = NoiseRates.from_label_error_rates(0.6, 0.2, observed_prevalence=0.5)
    assert ranking_cutoffs(LABELS, SCORES, rates) == (0.5, 0.7)
    mask = prune_labels(LABELS, SCORES, rates).mask
    ordered = order_rows(LABELS, SCORES, mask, (0.5, 0.7))
    assert ordered[:3].tolist() == rank_suspects(LABELS, SCORES, rates).rows.tolist()
    # Margins of the rest: -.4 of row 0, -.6 of rows 4 and 5, which tie and keep their order.
    assert ordered.tolist() == [1, 2, 3, 0, 4, 5]
    # Without suspects the margins alone decide.
    none = np.zeros(6, dtype=bool)
    assert order_rows(LABELS, SCORES, none, (0.25, 0.7)).tolist() == [1, 3, 2, 4, 5, 0]


def test_chances_add_up_to_the_label_error_rates():
    generator = np.random.default_rng(0)
    truth = generator.random(4000) < 0.4
    labels = np.where(generator.random(4000) < np.where(truth, 0.3, 0.1), ~truth, truth)
    scores = np.clip(0.2 + 0.5 * truth + generator.normal(0, 0.15, 4000), 0, 1)
    sketch = ScoreSketch.from_rows(labels, scores)
    rates = NoiseRates.from_true_labels(truth, labels)
    found = chances(sketch, rates)
    assert ((found >= 0) & (found <= 1)).all()
    for label, rate in ((0, rates.negative_label_error_rate), (1, rates.positive_label_error_rate)):
        mean = np.average(found[label], weights=sketch.counts[label])
        assert mean == pytest.approx(rate, abs=1e-6)
    # A positive label is less believable at a low score, a negative one at a high score.
    low, high = bin_of(0.05), bin_of(0.95)
    assert found[1, low] > 0.9 > 0.05 > found[1, high]
    assert found[0, high] > 0.9 > 0.05 > found[0, low]


def test_labels_that_are_all_right_have_no_chance_to_be_wrong():
    sketch = ScoreSketch.from_rows([1, 0, 1, 0], [0.9, 0.1, 0.4, 0.6])
    assert not chances(sketch, NoiseRates.from_noise_rates(0.0, 0.0, 0.5)).any()


def test_stretches_count_the_wrong_labels_that_are_there():
    generator = np.random.default_rng(1)
    truth = generator.random(6000) < 0.5
    labels = np.where(generator.random(6000) < 0.1, ~truth, truth)
    scores = np.clip(0.25 + 0.5 * truth + generator.normal(0, 0.1, 6000), 0, 1)
    rates = NoiseRates.from_true_labels(truth, labels)
    cutoffs = ranking_cutoffs(labels, scores, rates)
    ordered = order_rows(labels, scores, prune_labels(labels, scores, rates).mask, cutoffs)
    wrong = (labels != truth)[ordered]
    found = expected_stretches(ScoreSketch.from_rows(labels, scores), rates, cutoffs, 2500)
    assert [(one.first, one.last) for one in found] == [
        (1, 10),
        (11, 50),
        (51, 100),
        (101, 200),
        (201, 500),
        (501, 1000),
        (1001, 2000),
        (2001, 2500),
    ]
    for one in found:
        share = wrong[one.first - 1 : one.last].mean()
        # Of labels that look certain to be wrong, some are right on real data.
        assert one.expected_wrong / one.n_rows == pytest.approx(share, abs=0.14)
    total = sum(one.expected_wrong for one in found)
    assert total == pytest.approx(wrong.sum(), rel=0.13)


@pytest.mark.parametrize(
    ("n_listed", "ends"), [(0, []), (1, [1]), (10, [10]), (11, [10, 11]), (1001, [10, 50, 1001])]
)
def test_a_list_ends_where_it_should(n_listed, ends):
    rates = NoiseRates.from_noise_rates(0.1, 0.1, 0.5)
    sketch = ScoreSketch.from_rows(LABELS, SCORES)
    found = [one.last for one in expected_stretches(sketch, rates, (0.5, 0.5), n_listed)]
    assert found[:2] + found[-1:] == ends or found == ends


@given(
    st.lists(st.tuples(st.booleans(), st.floats(0, 1)), min_size=2, max_size=60),
    st.floats(0, 0.45),
    st.floats(0, 0.45),
    st.integers(0, 70),
)
def test_expectations_are_finite_and_no_more_than_the_rows(rows, positive, negative, n_listed):
    labels, scores = (np.array(column) for column in zip(*rows, strict=True))
    labels[:2] = True, False
    rates = NoiseRates.from_label_error_rates(positive, negative, float(labels.mean()))
    cutoffs = ranking_cutoffs(labels, scores, rates)
    found = expected_stretches(
        ScoreSketch.from_rows(labels, scores), rates, cutoffs, min(n_listed, len(labels))
    )
    assert sum(one.n_rows for one in found) == min(n_listed, len(labels))
    assert all(-1e-9 <= one.expected_wrong <= one.n_rows + 1e-9 for one in found)
