"""Labels, classes and rows of probabilities: what is accepted, and how the rest is refused."""

import numpy as np
import pytest

from rankprune import ScoreSketch, estimate_noise_rates
from rankprune.core.classes._class_inputs import (
    ClassInputs,
    block_rows,
    is_matrix,
    validate_class_inputs,
)

LABELS = ["a", "b", "c", "a", "b", "c"]
SCORES = 0.7 * np.eye(3)[[0, 1, 2, 0, 1, 2]] + 0.1


def refusal(labels=LABELS, probabilities=SCORES, **options):
    with pytest.raises(ValueError, match=r".") as caught:
        estimate_noise_rates(labels, probabilities, **options)
    return str(caught.value)


def changed(row, column, value):
    scores = SCORES.copy()
    scores[row, column] = value
    return scores


@pytest.mark.parametrize(
    "labels",
    [
        [3, 5, 9],
        np.array([3, 5, 9], dtype=np.uint8),
        [-1.0, 0.0, 7.0],
        np.array([2, 3, 4], dtype=np.float32),
        [1e6, 2e6, 2.5e6],
        [-(10.0**300), 2.0**60, 10.0**300],
        [10, 10**6, 10**9],
        np.array([2**63 + 1, 2**63 + 2, 2**63 + 5], dtype=np.uint64),
        np.array([-(2**63), 5 - 2**63, 9 - 2**63]),
        ["a", "b", "c"],
        np.array(["a", "b", "c"], dtype=object),
        np.array([1, 2.0, 3], dtype=object),
    ],
)
def test_any_label_values_are_numbered_in_sorted_order(labels):
    inputs = validate_class_inputs(np.array(labels)[[2, 0, 1, 1]], SCORES[:4])
    assert inputs.codes.tolist() == [2, 0, 1, 1]
    assert inputs.classes.tolist() == sorted(np.array(labels).tolist())
    assert inputs.classes.dtype != object


def test_classes_name_the_columns_and_may_lack_labels():
    inputs = validate_class_inputs(["b", "a", "b"], SCORES[:3], classes=["b", "x", "a"])
    assert inputs.codes.tolist() == [0, 2, 0]
    assert inputs.classes.tolist() == ["b", "x", "a"]


def test_many_classes_have_wider_codes():
    labels = np.arange(40_000) * 7
    scores = np.broadcast_to(np.float32(1 / 40_000), (40_000, 40_000))
    assert validate_class_inputs(labels, scores).codes.dtype == np.int32


def test_rows_are_read_in_blocks_without_a_copy_of_the_scores():
    n_rows = 2 * block_rows(3) + 5
    scores = np.full((n_rows, 3), 1 / 3)
    inputs = validate_class_inputs(np.arange(n_rows) % 3, scores)
    assert inputs.probabilities is scores
    sizes = [len(codes) for _, codes, _ in inputs.blocks()]
    assert len(sizes) == 3
    assert sum(sizes) == n_rows == len(inputs)


@pytest.mark.parametrize(
    ("values", "answer"),
    [([[0.5, 0.5]], True), ([0.5], False), ((), False), (np.eye(2), True), (None, False)],
)
def test_a_row_of_probabilities_is_told_from_a_single_one(values, answer):
    assert is_matrix(values) is answer


def test_columns_must_match_the_classes():
    message = refusal(probabilities=SCORES[:, :2])
    assert "got 2 columns for 3 different labels: 'a', 'b', 'c'" in message
    assert "classes=model.classes_" in message
    message = refusal(classes=list("abcd"))
    assert "got 3 columns for 4 classes: 'a', 'b', 'c', 'd'" in message


def test_rows_must_match_the_labels():
    assert "got 5 rows for 6 labels" in refusal(probabilities=SCORES[:5])


@pytest.mark.parametrize(
    ("scores", "what"),
    [
        (changed(4, 1, 0.6), "row 4 has a sum of 0.8"),
        (changed(2, 0, -0.1), "row 2 holds -0.1 in column 0"),
        (changed(1, 2, np.nan), "row 1 holds nan in column 2"),
        (changed(3, 2, np.inf), "row 3 holds inf in column 2"),
    ],
)
def test_a_row_that_is_no_distribution_is_named(scores, what):
    assert what in refusal(probabilities=scores)


def test_a_bad_row_in_a_later_block_is_named():
    n_rows = block_rows(3) + 10
    scores = np.full((n_rows, 3), 1 / 3)
    scores[-2, 0] = 0.5
    message = refusal(np.arange(n_rows) % 3, scores)
    assert f"row {n_rows - 2} has a sum of" in message


def test_rounding_of_a_row_is_no_error():
    scores = SCORES + 3e-4
    assert estimate_noise_rates(LABELS, scores, classes=list("abc")).wrong_share == 0


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"classes": list("abx")}, "row 2 holds 'c'. Add it to classes"),
        ({"classes": list("aba")}, "got 'a' more than once"),
        ({"classes": ["a"]}, "must hold at least two values, got ['a']"),
        ({"classes": ["a", "b", None]}, "single values that are not missing, got None"),
        ({"classes": [["a"], ["b"], ["c"]]}, "classes must be one-dimensional"),
        ({"method": "tight"}, "must be one of ['confident-counts'"),
        ({"method": "tight"}, "for two labels"),
        ({"method": 3}, "got 3"),
        ({"pos_label": "a"}, "pos_label must be None for more than two classes"),
        ({"sample_weight": np.ones(5)}, "sample_weight must have one value per label, got 5"),
        ({"sample_weight": -np.ones(6)}, "sample_weight must be finite and not negative; row 0"),
        ({"labels": ["a"] * 6}, "at least two classes, got one class only: ['a']"),
        ({"labels": [0.5, 1.5, 2.5] * 2}, "continuous values"),
        ({"labels": ["a", 1, "b", "a", 1, "b"]}, "classes must be of one type"),
        ({"labels": ["a", None, "b", "a", "c", "b"]}, "row 1 holds None"),
        ({"probabilities": SCORES.astype(complex)}, "must be real numbers"),
    ],
)
def test_other_bad_input_is_refused(options, what):
    if options.get("labels") == ["a", 1, "b", "a", 1, "b"]:
        options = {"labels": np.array(options["labels"], dtype=object)}
        what = "must be of one type that can be sorted"
    assert what in refusal(**options)


def test_classes_that_cannot_be_sorted_are_refused():
    classes = np.array(["a", 1, 2.5], dtype=object)
    assert "classes must be of one type" in refusal(
        np.array(["a", 1, 2.5] * 2, dtype=object)[[0, 0, 0, 0, 0, 0]], classes=classes
    )


def test_three_dimensions_are_refused():
    with pytest.raises(ValueError, match="two-dimensional"):
        validate_class_inputs(LABELS, SCORES[None])


def test_classes_need_a_column_each():
    with pytest.raises(ValueError, match="unless probabilities have one column per class"):
        estimate_noise_rates([0, 1, 0], [0.1, 0.9, 0.2], classes=[0, 1])


def test_a_sketch_has_two_labels():
    sketch = ScoreSketch.from_rows([0, 1, 0, 1], [0.1, 0.9, 0.2, 0.8])
    with pytest.raises(ValueError, match="classes must be None for a ScoreSketch"):
        estimate_noise_rates(sketch, classes=[0, 1])


def test_inputs_of_two_classes_take_the_column_of_the_positive_label():
    labels = np.array([0, 0, 1, 1, 1, 0] * 20)
    random = np.random.default_rng(0)
    scores = np.clip(0.3 + 0.4 * labels + random.normal(size=120) / 8, 0, 1)
    both = np.column_stack([1 - scores, scores])
    expected = estimate_noise_rates(labels, scores)
    assert estimate_noise_rates(labels, both) == expected
    assert estimate_noise_rates(labels, both[:, ::-1], classes=[1, 0]) == expected
    other = estimate_noise_rates(labels, 1 - scores, pos_label=0)
    assert estimate_noise_rates(labels, both, pos_label=0) == other
    with pytest.raises(ValueError, match="pos_label must be one of the two"):
        estimate_noise_rates(labels, both, pos_label=7)
    both[3] = 0.7
    with pytest.raises(ValueError, match=r"row 3 has a sum of 1\.4"):
        estimate_noise_rates(labels, both)


def test_class_inputs_know_their_length():
    assert len(ClassInputs(np.zeros(4, dtype=np.int16), np.arange(2), np.full((4, 2), 0.5))) == 4
