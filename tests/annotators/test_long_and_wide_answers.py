"""Reading long and wide tables of answers."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankprune.annotators import Answers


def triples(answers):
    """Return the answers as (row, annotator, label)."""
    return [
        (answers.rows[row], answers.annotators[who], answers.classes[label])
        for row, who, label in zip(answers.row, answers.annotator, answers.label, strict=True)
    ]


def test_codes_are_positions_in_sorted_ids():
    answers = Answers.from_long(["b", "a", "a"], ["y", "y", "x"], [2, 1, 2])
    assert (answers.rows, answers.annotators, answers.classes) == (("a", "b"), ("x", "y"), (1, 2))
    assert triples(answers) == [("a", "x", 2), ("a", "y", 1), ("b", "y", 2)]
    assert answers.per_row.tolist() == [2, 1]
    assert answers.per_annotator.tolist() == [1, 2]
    assert len(answers) == 3


def test_numbers_and_texts_are_different_ids():
    answers = Answers.from_long([1, "1", 2.5], ["a", "b", "a"], ["x", "y", 3])
    assert answers.rows == (1, 2.5, "1")
    assert answers.classes == (3, "x", "y")


def test_ids_that_cannot_be_sorted_keep_their_order():
    ids = np.empty(3, dtype=object)
    ids[:] = [1j, 0j, 1j]
    assert Answers.from_long(ids, ["a", "a", "b"], [0, 1, 1]).rows == (1j, 0j)


@pytest.mark.parametrize(
    ("labels", "missing"),
    [
        (["x", None, "y"], None),
        (np.array([0.0, np.nan, 1.0]), None),
        (pd.Series(["x", pd.NA, "y"]), None),
        (pd.Series(["x", None, "y"], dtype="category"), None),
        (pl.Series(["x", None, "y"]), None),
    ],
)
def test_an_answer_without_a_label_is_left_out_but_its_row_is_kept(labels, missing):
    answers = Answers.from_long(["a", "b", "c"], ["p", "q", "p"], labels)
    assert answers.per_row.tolist() == [1, 0, 1]
    assert answers.per_annotator.tolist() == [2, 0]


def test_duplicates_follow_the_rule():
    twice = {"rows": [1, 1, 2], "annotators": ["a", "a", "a"], "labels": ["no", "yes", "no"]}
    assert triples(Answers.from_long(**twice)) == [(1, "a", "yes"), (2, "a", "no")]
    assert len(Answers.from_long(**twice, duplicates="all")) == 3
    with pytest.raises(ValueError, match=r"annotator 'a' answered row 1 more than once, an error"):
        Answers.from_long(**twice, duplicates="error")
    with pytest.raises(ValueError, match="duplicates must be 'last', 'error' or 'all', got 'fi"):
        Answers.from_long(**twice, duplicates="first")


def test_a_missing_answer_does_not_replace_one():
    answers = Answers.from_long([1, 1, 2], ["a", "a", "a"], ["x", None, "y"])
    assert triples(answers) == [(1, "a", "x"), (2, "a", "y")]


def test_rows_and_classes_can_be_given_in_order():
    answers = Answers.from_long(
        [2, 1], ["a", "a"], ["x", "x"], all_rows=[3, 2, 1], classes=["y", "x"]
    )
    assert answers.rows == (3, 2, 1)
    assert answers.classes == ("y", "x")
    assert answers.per_row.tolist() == [0, 1, 1]
    assert answers.label.tolist() == [1, 1]


def test_times_follow_their_answers():
    answers = Answers.from_long(
        [2, 1, 1], ["a", "a", "a"], [0, 1, 0], seconds=[5, 1, float("nan")], duplicates="all"
    )
    assert answers.seconds.tolist()[0] == 1
    assert np.isnan(answers.seconds[1])
    assert answers.seconds[2] == 5


GOOD = {"rows": [1, 2], "annotators": ["a", "a"], "labels": [0, 1]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": "ab"}, "rows must be a sequence of values, got str. Pass a list"),
        ({"rows": 3}, "rows must be a sequence of values, got int"),
        ({"rows": [[1], [2]]}, r"rows must be one-dimensional, one value per answer, got shape"),
        ({"rows": [1]}, "must have the same length, got 1, 2 and 2. Pass one value of each"),
        ({"rows": [1, None]}, "rows must not be missing; answer 1 has none. Leave it out"),
        ({"annotators": [float("nan"), 1.0]}, "annotators must not be missing; answer 0 has"),
        (
            {"labels": [1, 1]},
            r"labels must hold at least two classes, got \[1\]. Pass all",
        ),
        ({"labels": [None, None]}, r"at least two classes, got \[\]"),
        ({"labels": [0, [1]]}, r"labels must be single values, got \[1\]"),
        ({"labels": [0, 2], "classes": [0, 1]}, "labels must be among classes, got 2. Check its"),
        ({"all_rows": [1]}, "rows must be among all_rows, got 2. Check its spelling"),
        ({"all_rows": [1, 2, 2]}, "all_rows must be distinct and not missing"),
        ({"seconds": [1, -2]}, "seconds must be finite and not negative; answer 1 took -2"),
        ({"seconds": [1, float("inf")]}, "finite and not negative; answer 1 took inf"),
        ({"seconds": [1]}, "seconds must have one value per answer, got 1 for 2 answers"),
        ({"seconds": ["a", "b"]}, "seconds must be numbers, got dtype <U1. Convert times"),
    ],
)
def test_bad_columns_are_explained(change, message):
    with pytest.raises((ValueError, TypeError), match=message):
        Answers.from_long(**{**GOOD, **change})


def test_wide_tables_hold_one_column_per_annotator():
    frame = pd.DataFrame({"ann": ["x", "y"], "bob": [None, "y"]}, index=["r", "s"])
    for table, ids in (
        (frame, ("r", "s")),
        (pl.DataFrame({"ann": ["x", "y"], "bob": [None, "y"]}), (0, 1)),
    ):
        answers = Answers.from_wide(table)
        assert answers.rows == ids
        assert answers.annotators == ("ann", "bob")
        assert answers.per_row.tolist() == [1, 2]
    numbers = Answers.from_wide(np.array([[1, np.nan], [0, 1]]), rows=["a", "b"], annotators=[7, 8])
    assert triples(numbers) == [("a", 7, 1), ("b", 7, 0), ("b", 8, 1)]
    assert Answers.from_wide([[1, "1"]]).classes == (1, "1")


@pytest.mark.parametrize(
    ("table", "kwargs", "message"),
    [
        ([[1, 2], [1]], {}, "table must have one value per annotator in each row"),
        (np.zeros(3), {}, r"table must be two-dimensional, rows by annotators, got shape \(3,\)"),
        ([[1, 2]], {"rows": [1, 2]}, "rows must be 1 distinct ids, as many as the table has rows"),
        ([[1, 2]], {"annotators": ["a", "a"]}, "annotators must be 2 distinct ids"),
        ([], {}, "labels must hold at least two classes"),
    ],
)
def test_bad_wide_tables_are_explained(table, kwargs, message):
    with pytest.raises(ValueError, match=message):
        Answers.from_wide(table, **kwargs)


@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.sampled_from("abc"), st.sampled_from(["x", "y", 3])),
        min_size=1,
        max_size=30,
    ),
    st.randoms(),
)
def test_the_order_of_answers_does_not_matter_without_duplicates(drawn, random):
    unique = list({(row, who): (row, who, label) for row, who, label in drawn}.values())
    columns = {"classes": ["x", "y", 3], "duplicates": "error"}
    one = Answers.from_long(*map(list, zip(*unique, strict=True)), **columns)
    random.shuffle(unique)
    other = Answers.from_long(*map(list, zip(*unique, strict=True)), **columns)
    assert triples(one) == triples(other)
    assert sorted(map(str, triples(one))) == sorted(map(str, unique))
