"""Noise of any number of classes as a matrix."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankprune import NoiseRates
from rankprune.core._transition import (
    anchor_transition,
    transition_of_rates,
    validate_transition,
)


def test_rates_of_two_classes_make_a_matrix():
    rates = NoiseRates.from_noise_rates(0.3, 0.1, observed_prevalence=0.5)
    assert transition_of_rates(rates, 1) == pytest.approx(np.array([[0.9, 0.1], [0.3, 0.7]]))
    # The positive class comes first here.
    assert transition_of_rates(rates, 0) == pytest.approx(np.array([[0.7, 0.3], [0.1, 0.9]]))


def test_rounded_rows_are_scaled_to_a_sum_of_one():
    third = 0.333333
    rows = [[1 - 2 * third, third, third], [0.1, 0.8, 0.1], [0, 0, 1]]
    assert validate_transition(rows, 3).sum(axis=1) == pytest.approx(1, abs=1e-15)
    assert validate_transition(np.eye(2, dtype=int), 2).dtype == np.float64


@pytest.mark.parametrize(
    ("transition", "message"),
    [
        (np.eye(3), r"matrix of 2 x 2 numbers.*shape \(3, 3\)"),
        ([["a", "b"], ["c", "d"]], "2 x 2 numbers.*type"),
        ([[0.9, 0.2], [0.1, 0.9]], r"sum of 1; row 0 is \[0.9, 0.2\]. Rows are true classes"),
        ([[1.0, 0.0], [-0.1, 1.1]], r"row 1 is \[-0.1, 1.1\]"),
        ([[1.0, 0.0], [np.nan, 1.0]], "row 1 is"),
        ([[0.5, 0.5], [0.5, 0.5]], "rows that differ"),
    ],
)
def test_matrices_that_cannot_be_are_refused(transition, message):
    with pytest.raises(ValueError, match=message):
        validate_transition(transition, 2)


def test_anchors_by_hand():
    # Of 3 rows, round(.03 x 2) = 0 are above the anchors: row 0 for class 0, row 2 for class 1.
    probabilities = np.array([[0.8, 0.2], [0.5, 0.5], [0.1, 0.9]])
    assert anchor_transition(probabilities).tolist() == [[0.8, 0.2], [0.1, 0.9]]


def test_the_anchor_of_a_rare_class_is_one_of_its_rows():
    # 2 % of the rows are of class 1: the 97th percentile would be a row of class 0.
    probabilities = np.tile([0.9, 0.1], (100, 1))
    probabilities[:2] = [0.2, 0.8]
    assert anchor_transition(probabilities).tolist() == [[0.9, 0.1], [0.2, 0.8]]


def test_anchors_that_look_alike_are_refused():
    with pytest.raises(ValueError, match=r"tell the classes apart.*Pass transition"):
        anchor_transition(np.full((50, 3), 1 / 3))


@given(st.integers(2, 60), st.integers(0, 2**32 - 1))
def test_anchors_recover_the_noise_where_classes_are_separate(n_classes, seed):
    generator = np.random.RandomState(seed)
    transition = 0.6 * np.eye(n_classes) + 0.4 * generator.dirichlet(np.ones(n_classes), n_classes)
    truth = np.arange(240) % n_classes
    found = anchor_transition(transition[truth])
    assert found == pytest.approx(transition)
