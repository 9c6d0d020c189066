"""The rows of the query become a sketch only if they are what the query returns."""

import numpy as np
import pytest

from rankprune import ScoreSketch

ROW = (1, 1984, 10, 5 * 2**30, 0.5, 0.5)


def test_texts_of_a_client_are_read_as_numbers():
    assert ScoreSketch.from_counts([map(str, ROW)]) == ScoreSketch.from_counts([ROW])


def test_whole_numbers_may_be_floats():
    expected = ScoreSketch.from_counts([ROW])
    assert ScoreSketch.from_counts([[float(cell) for cell in ROW]]) == expected


@pytest.mark.parametrize(
    "row",
    [
        (0.5, 1984, 10, 5 * 2**30, 0.5, 0.5),
        (1, 1984, 10, 2.0**54, 0.5, 0.5),
        (1, 1984, 10.5, 2, 0.5, 0.5),
        (1, 1984, 10, float("nan"), 0.5, 0.5),
        (1, 1984, 10, float("inf"), 0.5, 0.5),
        (1, 1984, 10, None, 0.5, 0.5),
        (1, 1984),
        "label",
        3,
        (np.ma.masked, *ROW[1:]),
        (*ROW[:5], np.ma.masked),
    ],
)
def test_rounded_sums_and_other_rows_are_refused(row):
    with pytest.raises(ValueError, match=r"row 0 holds .* not a data frame, which rounds large su"):
        ScoreSketch.from_counts([row])


@pytest.mark.parametrize(
    "row",
    [
        (2, *ROW[1:]),
        (1, 3969, *ROW[2:]),
        (*ROW[:5], 1.5),
        (*ROW[:4], 0.6, 0.5),
        (*ROW[:2], -1, *ROW[3:]),
        (*ROW[:2], 10**400, *ROW[3:]),
        (*ROW[:3], 11 * 2**30, *ROW[4:]),
        (*ROW[:3], -1, *ROW[4:]),
    ],
)
def test_impossible_rows_are_refused(row):
    with pytest.raises(
        ValueError, match=r"must hold label 0 or 1, a bin below 3969, scores in .*; r"
    ):
        ScoreSketch.from_counts([row])


def test_what_holds_no_rows_is_refused():
    with pytest.raises(
        TypeError, match=r"rows must be the rows of a query, got float. Pass e.g. c"
    ):
        ScoreSketch.from_counts(0.5)
