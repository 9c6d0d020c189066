"""The noise matrix: its algebra, how it is shown, and what it refuses."""

import json

import numpy as np
import pytest

from rankprune import NoiseMatrix, NoiseRates, estimate_noise_rates
from rankprune.core.classes._noise_matrix import joint_of

JOINT = np.array([[0.3, 0.0, 0.0], [0.1, 0.3, 0.05], [0.0, 0.0, 0.25]])
MATRIX = NoiseMatrix(JOINT, ["cat", "dog", "owl"])


def test_shares_and_rates_follow_from_the_joint():
    assert np.allclose(MATRIX.label_shares, [0.3, 0.45, 0.25])
    assert np.allclose(MATRIX.class_shares, [0.4, 0.3, 0.3])
    assert np.allclose(MATRIX.error_rates, [0, 1 / 3, 0])
    assert np.allclose(MATRIX.noise_rates, [0.25, 0, 1 / 6])
    assert np.allclose(MATRIX.transition.sum(axis=0), 1)
    assert np.allclose(MATRIX.transition[:, 0], [0.75, 0.25, 0])
    assert MATRIX.wrong_share == pytest.approx(0.15)
    assert len(MATRIX) == 3


def test_a_class_without_rows_keeps_its_labels():
    matrix = NoiseMatrix([[0.5, 0.1, 0], [0, 0.4, 0], [0, 0, 0]], [0, 1, 2])
    assert matrix.transition[:, 2].tolist() == [0, 0, 1]
    assert matrix.error_rates[2] == matrix.noise_rates[2] == 0


def test_a_transition_and_the_shares_of_labels_give_the_joint_back():
    again = NoiseMatrix.from_transition(
        MATRIX.transition, MATRIX.label_shares, classes=MATRIX.classes
    )
    assert np.allclose(again.joint, JOINT)


def test_impossible_transitions_are_refused():
    transition = [[0.5, 0, 0], [0.5, 1, 0], [0, 0, 1]]
    with pytest.raises(ValueError, match="must be possible with the share of each label"):
        NoiseMatrix.from_transition(transition, [0.7, 0.1, 0.2], classes=[0, 1, 2])
    with pytest.raises(ValueError, match=r"columns that sum to 1.*column 0 has a sum of 0\.5"):
        NoiseMatrix.from_transition(np.array(transition).T, [0.2, 0.5, 0.3], classes=[0, 1, 2])
    with pytest.raises(ValueError, match="label_shares must hold one share per class"):
        NoiseMatrix.from_transition(np.eye(3), [0.5, 0.4, 0.3], classes=[0, 1, 2])
    with pytest.raises(ValueError, match="one row and one column per class, got shape"):
        NoiseMatrix.from_transition(np.eye(2), [0.5, 0.4, 0.1], classes=[0, 1, 2])


@pytest.mark.parametrize(
    "transition", [[[1.0, 1.0, 0], [0, 0, 0], [0, 0, 1]], [[1, 1, 0.5], [0, 0, 0.5], [0, 0, 0]]]
)
def test_a_transition_without_inverse_still_gives_the_labels(transition):
    shares = np.array([0.5, 0.3, 0.2])
    joint, possible = joint_of(np.array(transition, dtype=float), shares)
    assert not possible
    assert np.allclose(joint.sum(axis=1), shares)
    assert (joint >= 0).all()


def test_known_true_labels_are_counted():
    matrix = NoiseMatrix.from_true_labels([0, 0, 1, 2], [0, 1, 1, 2], classes=[2, 1, 0])
    assert matrix.joint.tolist() == [[0.25, 0, 0], [0, 0.25, 0.25], [0, 0, 0.25]]
    assert matrix.n_labels.tolist() == [1, 2, 1]
    with pytest.raises(ValueError, match="got 1 for 2 labels"):
        NoiseMatrix.from_true_labels([0], [0, 1])


@pytest.mark.parametrize("label", ["cat", "dog", "owl"])
def test_one_against_the_rest_is_the_collapsed_table(label):
    rates = MATRIX.one_vs_rest(label)
    k = MATRIX.column_of(label)
    rest = np.arange(3) != k
    collapsed = [
        [JOINT[np.ix_(rest, rest)].sum(), JOINT[rest, k].sum()],
        [JOINT[k, rest].sum(), JOINT[k, k]],
    ]
    assert np.allclose(rates.joint, collapsed)
    assert isinstance(rates, NoiseRates)
    again = NoiseRates.from_noise_rates(
        rates.positive_noise_rate, rates.negative_noise_rate, rates.observed_prevalence
    )
    assert np.allclose(again.joint, collapsed)


def test_one_against_the_rest_keeps_counts_and_thresholds():
    labels = np.repeat([0, 1, 2], [5, 6, 7])
    matrix = estimate_noise_rates(labels, 0.7 * np.eye(3)[labels] + 0.1)
    rates = matrix.one_vs_rest(1)
    assert (rates.n_positive, rates.n_negative) == (6, 12)
    assert rates.positive_threshold == pytest.approx(0.8)
    with pytest.raises(ValueError, match=r"label must be one of \[0, 1, 2\], got 3"):
        matrix.one_vs_rest(3)


def test_a_class_without_labels_has_no_rates_against_the_rest():
    labels = np.repeat([0, 1], 5)
    matrix = estimate_noise_rates(labels, 0.7 * np.eye(3)[labels] + 0.1, classes=[0, 1, 2])
    assert matrix.uncounted == (2,)
    assert np.isfinite(matrix.joint).all()
    assert "uncounted=[2]" in repr(matrix)
    assert matrix.to_dict()["thresholds"][2] is None
    with pytest.raises(ValueError, match="observed_prevalence"):
        matrix.one_vs_rest(2)


def test_matrices_are_frozen_and_compare_by_value():
    with pytest.raises(AttributeError):
        MATRIX.joint = None
    with pytest.raises(ValueError, match="read-only"):
        MATRIX.joint[0, 0] = 1
    assert NoiseMatrix(JOINT, ["cat", "dog", "owl"]) == MATRIX
    assert hash(NoiseMatrix(JOINT, ["cat", "dog", "owl"])) == hash(MATRIX)
    assert NoiseMatrix(JOINT, ["cat", "dog", "eel"]) != MATRIX
    assert MATRIX != 3


def test_the_table_for_notebooks_names_the_classes_and_escapes_them():
    html = NoiseMatrix(JOINT, ["<cat>", "dog", "owl"])._repr_html_()
    assert "&lt;cat&gt;" in html
    assert "<cat>" not in html
    assert "15.0% of all labels" in html
    assert "33.3%" in html
    many = NoiseMatrix(np.eye(20) / 20, np.arange(20))
    assert "First 12 of 20 classes." in many._repr_html_()
    assert repr(NoiseMatrix(JOINT, [0, 1, 2], reliable=False)).endswith("reliable=False)")


def test_the_dictionary_can_be_stored():
    kept = json.loads(json.dumps(MATRIX.to_dict()))
    assert kept["classes"] == ["cat", "dog", "owl"]
    assert kept["intervals"] is None


@pytest.mark.parametrize(
    ("joint", "what"),
    [
        (JOINT[:2], "one row and one column per class"),
        (2 * JOINT, "must sum to 1, got 2"),
        (np.where(JOINT == 0.3, np.nan, JOINT), "row 0, column 0 holds nan"),
        (JOINT - 0.01, "from 0 to 1"),
    ],
)
def test_impossible_joints_are_refused(joint, what):
    with pytest.raises(ValueError, match=what):
        NoiseMatrix(joint, [0, 1, 2])


@pytest.mark.parametrize("labels", [[0, 1, 2], ["x", "y", "z"], [0.0, 1.0, 2.0]])
def test_dictionary_gives_the_matrix_back(labels):
    given = np.repeat(labels, 40)
    matrix = estimate_noise_rates(given, np.repeat(np.eye(3), 40, axis=0) * 0.9 + 0.1 / 3)
    assert NoiseMatrix.from_dict(json.loads(json.dumps(matrix.to_dict()))) == matrix
    known = NoiseMatrix(np.eye(3) / 3, labels)
    assert NoiseMatrix.from_dict(json.loads(json.dumps(known.to_dict()))) == known


def test_dictionary_keeps_classes_without_labels():
    scores = np.repeat(np.eye(4), 40, axis=0)[:120]
    matrix = estimate_noise_rates(np.repeat([0, 1, 2], 40), scores, classes=[0, 1, 2, 3])
    again = NoiseMatrix.from_dict(json.loads(json.dumps(matrix.to_dict())))
    assert again == matrix
    assert np.isinf(again.thresholds[3])
