"""The verdict on many classes: the range decides, and few rows or random scores leave it open."""

from dataclasses import replace

import numpy as np
import pytest

from rankprune import NoiseMatrix, estimate_noise_rates
from rankprune.core import Interval, MatrixIntervals, judge_matrix
from rankprune.core.classes._class_verdict import answered_matrix
from rankprune.exceptions import UninformativeProbabilitiesWarning


def matrix_with(low, high, share=0.1, n_rows=1000, **fields):
    total = Interval(share, low, high, covers="truth")
    joint = np.diag([0.4, 0.3, 0.3 - share])
    joint[2, 0] = share
    n_labels = np.array([0.4, 0.3, 0.3]) * n_rows
    intervals = MatrixIntervals(total, (total, total, total))
    return NoiseMatrix(joint, ["a", "b", "c"], n_labels=n_labels, intervals=intervals, **fields)


@pytest.mark.parametrize(
    ("low", "high", "level"),
    [(0.02, 0.2, "noise found"), (0.0, 0.11, "cannot tell"), (0.01, 0.2, "cannot tell")],
)
def test_range_decides(low, high, level):
    verdict = judge_matrix(matrix_with(low, high), n_opinions=2)
    assert verdict.level == level
    assert verdict.wrong_share.low == low
    assert str(verdict).startswith(level)


def test_few_wrong_labels_count_as_clean():
    matrix = matrix_with(0.0, 0.05, share=0.03)
    verdict = judge_matrix(matrix)
    assert verdict.level == "clean"
    assert not any("Only one model" in reason for reason in verdict.reasons)
    answer = answered_matrix(verdict, matrix)
    assert answer.wrong_share == 0
    assert answer.label_shares.tolist() == matrix.label_shares.tolist()
    total = answer.intervals.wrong_share
    assert (total.estimate, total.low, total.high) == (0.0, 0.0, 0.05)


def test_answer_keeps_the_estimate_where_noise_was_found():
    matrix = matrix_with(0.02, 0.2)
    assert answered_matrix(judge_matrix(matrix), matrix) is matrix
    assert answered_matrix(None, matrix) is matrix


def test_one_model_is_reported_where_labels_are_not_clean():
    assert "Only one model" in judge_matrix(matrix_with(0.02, 0.2)).reasons[-1]
    assert "Only one model" not in str(judge_matrix(matrix_with(0.02, 0.2), n_opinions=2))


def test_few_rows_leave_it_open():
    verdict = judge_matrix(matrix_with(0.02, 0.2, n_rows=90))
    assert verdict.level == "cannot tell"
    assert "needs at least 100" in verdict.reasons[0]
    assert judge_matrix(replace(matrix_with(0.02, 0.2, n_rows=90), n_labels=None)).level != (
        "cannot tell"
    )


def test_judged_rows_decide_whatever_the_number_of_rows():
    verdict = judge_matrix(matrix_with(0.02, 0.2, n_rows=90), n_judged=25)
    assert verdict.level == "noise found"
    assert "25 rows were judged" in verdict.reasons[0]


def test_random_scores_leave_it_open():
    with pytest.warns(UninformativeProbabilitiesWarning):
        matrix = estimate_noise_rates([0, 1, 2] * 100, np.full((300, 3), 1 / 3))
    verdict = judge_matrix(matrix)
    assert verdict.level == "cannot tell"
    assert "do not tell the labels apart" in verdict.reasons[0]


def test_matrix_must_have_intervals():
    with pytest.raises(ValueError, match="must have intervals"):
        judge_matrix(NoiseMatrix(np.eye(3) / 3, [0, 1, 2]))
