"""Every bad label, probability and weight gets an error that says what to do about it."""

import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest

from rankprune import NoiseRates, estimate_noise_rates, prune_labels, rank_suspects
from rankprune.core import _blocks, _label_values
from rankprune.core._blocks import blocks
from rankprune.core._inputs import (
    validate_batch,
    validate_choices,
    validate_class_probabilities,
    validate_inputs,
    validate_labels,
    validate_probabilities,
    validate_sample_weight,
    validate_scores,
    validate_trusted,
    validate_weighted_labels,
)

RATES = NoiseRates.from_noise_rates(0.1, 0.1, 0.5)


@pytest.mark.parametrize(
    ("labels", "classes", "pos_label"),
    [
        ([0, 1, 1], [0, 1], 1),
        ([-1, 1, 1], [-1, 1], 1),
        ([False, True, True], [False, True], True),
        ([0.5, 1.5, 1.5], [0.5, 1.5], 1.5),
        (["no", "yes", "yes"], ["no", "yes"], "yes"),
        (np.array([0, 1, 1], dtype=np.uint8), [0, 1], 1),
        (np.array([7, 9, 9], dtype=np.int8), [7, 9], 9),
        (np.array(["no", "yes", "yes"], dtype=object), ["no", "yes"], "yes"),
        (pd.Series(["b", "c", "c"], index=[9, 4, 7]), ["b", "c"], "c"),
        (pd.Series([1, 2, 2], dtype="Int64"), [1, 2], 2),
        (pd.Series([False, True, True], dtype="boolean"), [False, True], True),
        (pd.Series(["x", "y", "y"], dtype="category"), ["x", "y"], "y"),
        (pd.Categorical(["x", "y", "y"]), ["x", "y"], "y"),
        (pd.Series(["x", "y", "y"], dtype="string"), ["x", "y"], "y"),
        (pl.Series(["x", "y", "y"]), ["x", "y"], "y"),
        (pl.Series([False, True, True]), [False, True], True),
    ],
)
def test_any_two_values_make_labels(labels, classes, pos_label):
    checked = validate_labels(labels)
    assert checked.is_positive.tolist() == [False, True, True]
    assert checked.is_positive.dtype == bool
    assert checked.classes.tolist() == classes
    assert checked.classes.dtype != object
    assert checked.pos_label == pos_label
    other = validate_labels(labels, pos_label=classes[0])
    assert other.is_positive.tolist() == [True, False, False]
    assert other.pos_label == classes[0]


def test_labels_held_in_numpy_strings_work():
    if not hasattr(np.dtypes, "StringDType"):
        pytest.skip("this NumPy has no variable-width strings")
    labels = np.array(["no", "yes"], dtype=np.dtypes.StringDType())
    assert validate_labels(labels).classes.tolist() == ["no", "yes"]


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["y", "x", "y"], dtype=object),
        np.array([1, 0, True], dtype=object),
        np.array([2**70, -1, 2**70], dtype=object),
        pd.Series(["y", "x", "y"], index=[9, 4, 7], dtype=object),
        pd.Series(["y", "x", "y"], dtype="string"),
        pd.Categorical(["y", "x", "y"], categories=["y", "x"]),
        pd.Categorical(["y", "x", "y"], categories=["z", "y", "x"], ordered=True),
        pd.CategoricalIndex([2, -3, 2]),
        pd.Series([0.5, 0.25, 0.5], dtype="category"),
    ],
)
def test_labels_held_as_objects_or_categories_are_those_of_a_plain_array(labels):
    plain = np.array(np.asarray(labels).tolist())
    assert _label_values.two_held_labels(labels) is not None
    assert _label_values.two_held_labels(plain) is None or plain.dtype == object
    for pos_label in (None, *np.unique(plain).tolist()):
        found, expected = (validate_labels(rows, pos_label=pos_label) for rows in (labels, plain))
        assert found.is_positive.tolist() == expected.is_positive.tolist()
        assert found.classes.tolist() == expected.classes.tolist()
        assert found.classes.dtype == expected.classes.dtype
        assert found.pos_label == expected.pos_label


def test_held_labels_without_weight_leave_a_single_class():
    labels = pd.Series(["y", "x", "y", "x"])
    for kind in ("category", "string", object):
        checked, _ = validate_weighted_labels(labels.astype(kind), [1, 2, 0, 0])
        assert checked.is_positive.tolist() == [True, False, True, False]
        with pytest.raises(ValueError, match=r"got one class only: \['y'\]"):
            validate_weighted_labels(labels.astype(kind), [1, 0, 2, 0])
    with pytest.raises(ValueError, match="pos_label must be one of the two"):
        validate_labels(labels.astype("category"), pos_label="z")


def test_held_labels_take_a_byte_a_row():
    labels = np.tile(np.array(["no", "yes"], dtype=object), 200_000)
    for held in (labels, pd.Categorical(labels)):
        validate_labels(held)
        tracemalloc.start()
        validate_labels(held)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        # A block of labels as a list is the rest.
        assert peak < 4 * len(labels)


def test_one_byte_labels_are_not_copied():
    for dtype in (bool, np.int8, np.uint8):
        labels = np.array([0, 1, 1], dtype=dtype)
        assert np.shares_memory(validate_labels(labels).is_positive, labels)
    labels = np.array([False, True])
    assert validate_labels(labels, pos_label=False).is_positive.tolist() == [True, False]
    assert labels.tolist() == [False, True]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (None, "labels must hold one label per row: .* requires y to be passed"),
        ([], "labels must hold at least one row, got none"),
        (3, r"labels must be one-dimensional, one label per row, got shape \(\)"),
        ([[0, 1], [1, 0]], r"labels must be one-dimensional, .* got shape \(2, 2\)"),
        (
            [1.0, np.nan, 0.0],
            r"labels must not be missing; row 1 holds .*nan.* \(1 missing in all\)",
        ),
        ([1.0, np.inf, 0.0], "labels must not be missing; row 1 holds .*inf"),
        (
            ["a", None, "b", None],
            r"labels must not be missing; row 1 holds None \(2 missing in all\)",
        ),
        (
            pd.Series([1, pd.NA, 0], dtype="Int64"),
            "must not be missing; row 1 holds (<NA>|nan)",
        ),
        (pd.Series(["a", pd.NA], dtype="string"), "labels must not be missing; row 1 holds"),
        (pd.Categorical(["a", None, "b"]), "labels must not be missing; row 1 holds nan"),
        (pd.Categorical(["a", None, None]), "labels must not be missing; row 1 holds nan"),
        (pd.Categorical([]), "labels must hold at least one row"),
        (pd.Categorical([np.inf, 1.0, 1.0]), "labels must not be missing; row 0 holds inf"),
        (pd.Categorical(["a", "b", "c"]), "got 3: 'a', 'b', 'c'"),
        (pd.Series(["2020", "2021"], dtype="M8[ns]").astype("category"), "got dtype datetime64"),
        (np.array([1, (2,)], dtype=object), r"labels must be single values; row 1 holds \(2,\)"),
        (np.array([1, {}], dtype=object), r"labels must be single values; row 1 holds \{\}"),
        (np.array(["a", "a"], dtype=object), r"got one class only: \['a'\]"),
        (np.array([], dtype=object), "labels must hold at least one row"),
        (np.array([["a", "b"]], dtype=object), r"one label per row, got shape \(1, 2\)"),
        (pd.MultiIndex.from_tuples([(1, 2), (3, 4)]), "labels must be single values; row 0"),
        (np.ma.array(["a", "b"], mask=[0, 1], dtype=object), "labels must not be missing"),
        ([1, 1, 1], r"labels must hold two classes, got one class only: \[1\]"),
        (["a", "a"], r"got one class only: \['a'\]"),
        ([0, 1, 2], "got 3: 0, 1, 2. Only binary classification is supported"),
        ([0.0, 1.0, 2.0], "got 3: 0.0, 1.0, 2.0. Only binary classification is supported"),
        (list("abcdefg"), "got 7: 'a', 'b', 'c', 'd', 'e', .... .*OneVsRestClassifier"),
        ([0.1, 0.2, 0.3], "got continuous values such as 0.1. Unknown label type: continuous"),
        ([b"a", b"b"], "labels must be numbers, booleans or strings, got dtype |S1. Convert"),
        (np.ma.array([0, 1], mask=[0, 1]), "labels must not be missing; row 1 is masked"),
        ([1j, 2j], "labels must be numbers, booleans or strings, .* Complex data not supported"),
        (
            np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]"),
            "got dtype datetime64",
        ),
        (np.array([1, "a"], dtype=object), "labels must be of one type .* got int, str"),
    ],
)
def test_bad_labels_are_refused(labels, message):
    with pytest.raises(ValueError, match=message):
        validate_labels(labels)


def test_errors_use_the_name_of_the_argument():
    with pytest.raises(ValueError, match="true_labels must hold two classes"):
        validate_labels([1, 1], name="true_labels")


def test_a_positive_label_that_does_not_occur_is_refused():
    with pytest.raises(ValueError, match=r"pos_label must be one of .* \[0, 1\], got 'yes'"):
        validate_labels([0, 1], pos_label="yes")


def test_classes_are_counted_without_rows_of_weight_zero():
    checked, weight = validate_weighted_labels(np.array([0, 1, 2], dtype=np.int8), [1, 3, 0])
    assert checked.classes.tolist() == [0, 1]
    assert checked.is_positive.tolist() == [False, True, False]
    assert weight.tolist() == [1, 3, 0]
    with pytest.raises(ValueError, match="one class only"):
        validate_weighted_labels([0, 1, 1], [0, 1, 1])


@pytest.mark.parametrize(
    ("probabilities", "message"),
    [
        ([0.1, np.nan, 0.2], r"must lie in \[0, 1\]; row 1 holds nan. Find out why"),
        ([0.1, 0.3, np.inf], r"row 2 holds inf. Pass predict_proba\(X\)\[:, 1\], not decision"),
        ([0.1, 1.3, 0.2], r"row 1 holds 1.3. Pass predict_proba"),
        ([-0.1, 1.0, 0.2], r"row 0 holds -0.1. Pass predict_proba"),
        (np.zeros((3, 3)), r"must be one-dimensional, one P\(positive\) per row, got shape \(3, 3"),
        (np.zeros((3, 2)), r"got shape \(3, 2\). Pass one column: predict_proba\(X\)\[:, 1\]"),
        (np.zeros((3, 1, 1)), r"must be one-dimensional, .* got shape \(3, 1, 1\)"),
        ([0.1, 0.2], "must have one value per label, got 2 for 3 labels"),
        ([], "must hold at least one row"),
        ([0.1j, 0.2, 0.3], "must be real numbers, got dtype complex128. Pass predict_proba"),
        (["0.1", "a", "b"], "must be real numbers, got dtype <U3"),
        (np.array(["a", 0.1, 0.2], dtype=object), "must be real numbers, got dtype object"),
        (np.ma.array([[0.1], [0.2]], mask=[[0], [1]]), "must not be missing; row 1 is masked"),
        ([0.1, None, 0.2], r"must lie in \[0, 1\]; row 1 holds nan"),
    ],
)
def test_bad_probabilities_are_refused(probabilities, message):
    with pytest.raises(ValueError, match="probabilities must .*" + message.removeprefix("must ")):
        validate_probabilities(probabilities, 3)


def test_a_bad_probability_is_found_in_any_block(monkeypatch):
    monkeypatch.setattr(_blocks, "BLOCK_ROWS", 4)
    values = np.full(10, 0.5)
    values[9] = 2
    with pytest.raises(ValueError, match="row 9 holds 2"):
        validate_probabilities(values, 10)
    values[3] = np.nan
    with pytest.raises(ValueError, match="row 3 holds nan"):
        validate_probabilities(values, 10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floats_are_taken_as_they_are(dtype):
    values = np.array([0.0, 1.0, 0.5], dtype=dtype)
    values.flags.writeable = False
    assert validate_probabilities(values, 3) is values


@pytest.mark.parametrize("values", [[0, 1], [False, True], np.array([0, 1], dtype=np.float16)])
def test_other_numbers_become_floats(values):
    checked = validate_probabilities(values, 2)
    assert checked.dtype == np.float64
    assert checked.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1, -1, 1], "must be finite and not negative; row 1 holds -1.0. A weight of 0 leaves"),
        ([1, 1, np.nan], "must be finite and not negative; row 2 holds nan"),
        ([np.inf, 1, 1], "must be finite and not negative; row 0 holds inf"),
        ([1, 1], "must have one value per label, got 2 for 3 labels"),
        ([[1], [1], [1]], r"must be one-dimensional, one weight per row, got shape \(3, 1\)"),
        ([0, 0, 0], "must be above 0 for some row; all weights are zero"),
        ([1, 1e-101, 1], r"must be 0 or lie between 1e-100 and 1e\+100; row 1 holds 1e-101. Div"),
        ([1, 1, 1e101], r"must be 0 or lie between .* row 2 holds 1e\+101"),
        (np.ma.array([1, 2, 3], mask=[0, 0, 1]), "must not be missing; row 2 is masked"),
        (["a", "b", "c"], "must be real numbers, got dtype <U1. Pass one number per row"),
    ],
)
def test_bad_weights_are_refused(weight, message):
    with pytest.raises(ValueError, match="sample_weight " + message):
        validate_sample_weight(weight, 3)


def test_good_weights_become_floats():
    assert validate_sample_weight(None, 3) is None
    checked = validate_sample_weight([1, 0, 2], 3)
    assert checked.dtype == np.float64
    assert checked.tolist() == [1, 0, 2]


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (
            [[1.0], [2.0]],
            "scores must be one-dimensional, one score per row, got shape (2, 1). Pass "
            "a single column, e.g. with ravel().",
        ),
        (
            ["a", "b"],
            "scores must be real numbers, got dtype <U1. Pass predict_proba(X)[:, 1] or "
            "decision_function(X).",
        ),
        (
            [1.0],
            "scores must have one value per label, got 1 for 2 labels. Check that both come from "
            "the same rows.",
        ),
        (
            [1.0, np.inf],
            "scores must be finite; row 1 holds inf. Find out why the model gives no "
            "score there, or leave the row out.",
        ),
        (
            np.ma.array([1.0, 2.0], mask=[0, 1]),
            "scores must not be missing; row 1 is masked. Leave masked rows out, or fill them.",
        ),
    ],
)
def test_bad_scores_are_refused(scores, message):
    with pytest.raises(ValueError, match=r"^scores") as error:
        validate_scores(scores, 2)
    assert str(error.value) == message


def test_scores_may_have_any_scale():
    assert validate_scores([-5, 1e9], 2).tolist() == [-5, 1e9]


def test_trusted_rows_are_marked_by_booleans():
    assert validate_trusted(None, 2).tolist() == [False, False]
    assert validate_trusted([True, False], 2).tolist() == [True, False]
    with pytest.raises(ValueError, match="trusted must be a boolean array, got dtype int64"):
        validate_trusted([0, 1], 2)
    with pytest.raises(ValueError, match="trusted must have one value per label"):
        validate_trusted([True], 2)
    with pytest.raises(ValueError, match="trusted must be one-dimensional, one boolean per row"):
        validate_trusted([[True]], 1)


def test_inputs_are_checked_together():
    inputs = validate_inputs(["b", "a"], [0.5, 0.25], sample_weight=[1, 2], pos_label="a")
    assert inputs.is_positive.tolist() == [False, True]
    assert inputs.probabilities.tolist() == [0.5, 0.25]
    assert inputs.sample_weight.tolist() == [1, 2]


@pytest.mark.parametrize(
    "function",
    [
        estimate_noise_rates,
        lambda s, p, **more: prune_labels(s, p, RATES, **more),
        lambda s, p, **more: rank_suspects(s, p, RATES, **more),
    ],
)
def test_every_function_checks_its_input(function):
    with pytest.raises(ValueError, match="labels must hold two classes"):
        function([1, 1], [0.1, 0.2])
    with pytest.raises(ValueError, match="probabilities must lie in"):
        function([1, 0], [0.1, 2])
    with pytest.raises(ValueError, match="sample_weight must be finite"):
        function([1, 0], [0.1, 0.2], sample_weight=[-1, 1])
    with pytest.raises(ValueError, match="give each class at least 1e-12 of the total weight"):
        function([1, 0], [0.1, 0.2], sample_weight=[1e-10, 1e10])
    with pytest.raises(ValueError, match="must be 0 or lie between 1e-100 and 1e\\+100; row 1"):
        function([1, 0], [0.1, 0.2], sample_weight=[1, 1e300])
    with pytest.raises(ValueError, match="pos_label must be one of"):
        function([1, 0], [0.1, 0.2], pos_label=5)


def test_two_numbers_are_found_in_any_block(monkeypatch):
    monkeypatch.setattr(_blocks, "BLOCK_ROWS", 3)
    labels = np.array([5] * 7 + [2, 5, 2])
    checked = validate_labels(labels)
    assert checked.classes.tolist() == [2, 5]
    assert (checked.is_positive == (labels == 5)).all()
    labels[4] = 3
    with pytest.raises(ValueError, match="got 3: 2, 3, 5"):
        validate_labels(labels)


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, np.float32, "<U2"])
def test_classes_keep_their_dtype(dtype):
    labels = np.array([0, 1, 1]).astype(dtype)
    assert validate_labels(labels).classes.dtype == dtype
    assert validate_labels(labels, pos_label=labels[0]).is_positive.tolist() == [True, False, False]


def test_two_numbers_are_found_without_a_sort(monkeypatch):
    monkeypatch.setattr(_label_values.np, "unique", None)
    for labels in ([1, 2, 1], [True, False], [0.5, 1.5], np.array([7, 9], dtype=np.uint16)):
        assert len(validate_labels(labels).classes) == 2
    assert validate_labels(np.array([7, 9], dtype=np.int8)).is_positive.tolist() == [False, True]


def test_blocks_cover_every_row_once(monkeypatch):
    monkeypatch.setattr(_blocks, "BLOCK_ROWS", 4)
    assert list(blocks(9)) == [slice(0, 4), slice(4, 8), slice(8, 9)]
    assert list(blocks(4)) == [slice(0, 4)]
    assert list(blocks(0)) == []


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[1.0]], r"Cs must be one-dimensional, numbers to choose from, got shape \(1, 1\)"),
        ([], "Cs must hold at least one row"),
        (["a"], r"Cs must be real numbers, got dtype <U1. Pass a list such as \[0.1, 1, 10\]\."),
        ([1.0, 0.0], r"Cs must be finite and above 0, got 0\. Remove it from the list\.$"),
        ([1.0, -2.5, 0.0], r"Cs must be finite and above 0, got -2\.5"),
        ([np.inf], "Cs must be finite and above 0, got inf"),
        ([np.nan], "Cs must be finite and above 0, got nan"),
    ],
)
def test_bad_numbers_to_choose_from_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        validate_choices(values, "Cs")


def test_numbers_to_choose_from_become_a_list_of_floats():
    choices = validate_choices(np.array([1, 10], dtype=np.int8), "Cs")
    assert choices == [1.0, 10.0]
    assert {type(value) for value in choices} == {float}


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, bool, np.int64, float, object])
def test_labels_of_a_batch_become_booleans_whatever_their_type(dtype):
    is_positive, numbers = validate_batch(np.array([0, 1, 1], dtype=dtype), [1, 0, 1])
    assert is_positive.dtype == bool
    assert is_positive.tolist() == [False, True, True]
    assert numbers.tolist() == [1, 0, 1]


def test_an_empty_batch_has_no_labels():
    is_positive, numbers = validate_batch([], [])
    assert (is_positive.dtype, len(is_positive), len(numbers)) == (bool, 0, 0)


def test_one_byte_labels_of_a_batch_are_not_copied():
    labels = np.array([0, 1, 1], dtype=np.int8)
    assert np.shares_memory(validate_batch(labels, [0.1, 0.2, 0.3])[0], labels)


def test_probabilities_of_many_classes_are_checked():
    right = [[0.2, 0.3, 0.5], [1, 0, 0]]
    assert validate_class_probabilities(right, 2, 3).dtype == np.float64
    for wrong, message in (
        (right[:1], r"2 rows and 3 columns, one per class .* got shape \(1, 3\)"),
        ([["a", "b", "c"]] * 2, "must be real numbers"),
        ([right[0], [0.5, 0.5, 0.5]], r"sum of 1 in each row; row 1 holds \[0.5, 0.5, 0.5\]"),
        ([right[0], [np.nan, 0.5, 0.5]], "row 1 holds"),
        ([right[0], [-0.5, 1.0, 0.5]], "row 1 holds"),
    ):
        with pytest.raises(ValueError, match=message):
            validate_class_probabilities(wrong, 2, 3)
