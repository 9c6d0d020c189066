"""The model of kinds of noise: posteriors by hand, and a likelihood that never falls."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankprune.core._noise_kinds import (
    confusion_in,
    confusion_of,
    label_probabilities,
    label_transition,
    posterior_of,
)

# True class 0 is confused with 1 only, 1 with 0 and 2 alike, 2 with 0 only.
CONFUSION = np.array([[0, 1, 0], [0.5, 0, 0.5], [1, 0, 0]], dtype=float)
UNKNOWN = np.array([-1])


def test_chances_of_the_given_label_by_hand():
    chances = label_probabilities(CONFUSION)
    assert chances[1].tolist() == [[0, 1, 0], [0.5, 0, 0.5], [0.5, 0, 0.5]]
    assert chances.sum(axis=2) == pytest.approx(1)


def test_posterior_of_one_row_by_hand():
    # Label 1. Class 0 at .5: random .2 x 1/2, confused .1 x 1. Class 1 at .3: no noise, .7.
    # Class 2 at .2: random .2 x 1/2, confused 0.
    found = posterior_of(
        np.array([1]), UNKNOWN, np.array([[0.5, 0.3, 0.2]]), np.array([[0.7, 0.2, 0.1]]), CONFUSION
    )
    parts = np.array([[0, 0.05, 0.05], [0.21, 0, 0], [0, 0.02, 0]])
    assert found.joint[0] == pytest.approx(parts / 0.33)
    assert found.log_likelihood == pytest.approx([np.log(0.33)])
    assert found.classes[0] == pytest.approx(np.array([0.1, 0.21, 0.02]) / 0.33)
    assert found.kinds[0] == pytest.approx(np.array([0.21, 0.07, 0.05]) / 0.33)


def test_a_known_class_leaves_only_the_kind_open():
    classes, kinds = np.array([[0.5, 0.3, 0.2]]), np.array([[0.7, 0.2, 0.1]])
    found = posterior_of(np.array([1]), np.array([0]), classes, kinds, CONFUSION)
    assert found.classes[0] == pytest.approx([1, 0, 0])
    assert found.kinds[0] == pytest.approx([0, 0.5, 0.5])
    without_label = posterior_of(UNKNOWN, np.array([0]), classes, kinds, CONFUSION)
    assert without_label.kinds[0] == pytest.approx([0.7, 0.2, 0.1])
    assert without_label.log_likelihood == pytest.approx([np.log(0.5)])


def test_a_certain_contradiction_is_finite():
    certain = posterior_of(
        np.array([1]), UNKNOWN, np.array([[1.0, 0, 0]]), np.array([[1.0, 0, 0]]), CONFUSION
    )
    assert np.isfinite(certain.log_likelihood).all()
    assert certain.joint.sum() == pytest.approx(1)


def test_a_transition_is_counted_from_rows_of_known_class():
    labels = np.eye(2)[[0, 0, 1, 1]]
    found = label_transition(np.array([0, 0, 0, 1]), labels, np.array([1.0, 1, 1, 2]))
    assert found == pytest.approx(np.array([[2.1, 1.1], [0.1, 2.1]]) / [[3.2], [2.2]])
    assert confusion_in(found).tolist() == [[0, 1], [1, 0]]


@given(st.integers(2, 5), st.integers(0, 2**32 - 1))
def test_posteriors_sum_to_one_and_the_likelihood_never_falls(n_classes, seed):
    # Without networks the maximisation is exact: shares of classes and kinds, and confusions.
    generator = np.random.RandomState(seed)
    given_labels = generator.randint(n_classes, size=60)
    unknown = np.full(60, -1)
    weights = np.ones(60)
    classes, kinds = generator.dirichlet(np.ones(n_classes)), generator.dirichlet(np.ones(3))
    confusion = confusion_in(generator.dirichlet(np.ones(n_classes), n_classes))
    before = -np.inf
    for _ in range(8):
        found = posterior_of(
            given_labels, unknown, np.tile(classes, (60, 1)), np.tile(kinds, (60, 1)), confusion
        )
        assert found.joint.sum(axis=(1, 2)) == pytest.approx(1)
        # The confusions are smoothed: their prior counts as rows that were seen.
        prior = 0.1 * np.log(confusion[~np.eye(n_classes, dtype=bool)]).sum()
        likelihood = found.log_likelihood.sum() + prior
        assert likelihood >= before - 1e-9
        before = likelihood
        classes, kinds = found.classes.mean(axis=0), found.kinds.mean(axis=0)
        confusion = confusion_of(given_labels, found.joint, weights)
