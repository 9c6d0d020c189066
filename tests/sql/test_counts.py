"""The rows of the query become a sketch only if they are what the query returns."""

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
    ],
)
def test_rounded_sums_and_other_rows_are_refused(row):
    with pytest.raises(ValueError, match=r"row 0 holds .* not a data frame, which rounds large su"):
        ScoreSketch.from_counts([row])


@pytest.mark.parametrize(
    "row",
    [(2, *ROW[1:]), (1, 3969, *ROW[2:]), (*ROW[:5], 1.5), (*ROW[:2], -1, *ROW[3:])],
)
def test_impossible_rows_are_refused(row):
    with pytest.raises(ValueError, match="must hold label 0 or 1, a bin below 3969 and scores in"):
        ScoreSketch.from_counts([row])
