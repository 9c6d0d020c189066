"""The noise of the rows that nobody judged, and which of them are left out, for many labels."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from many_classes import class_check, class_labels
from rankprune import NoiseMatrix, NoiseRates, correction_weights, prune_labels
from rankprune.exceptions import TableError
from rankprune.run._judged_classes import JudgedClasses
from rankprune.run._judged_labels import (
    judged_codes,
    judged_wrong,
    matrix_of_rest,
    rates_of_rest,
)
from rankprune.run._pruned import pruned_rows

N = 600


@pytest.fixture(scope="module")
def check():
    found = class_check(N)
    assert found.n_suspects > 50
    return found


def undecided(check):
    return replace(check, verdict=replace(check.verdict, level="cannot tell"))


def judged(check, rows, labels):
    answers = tuple(None if label is None else int(label) for label in labels)
    known = check.given_codes[list(rows)].tolist()
    n_wrong = sum(one not in (None, other) for one, other in zip(answers, known, strict=True))
    return replace(
        check, judged=JudgedClasses(tuple(map(int, rows)), answers, "model", False, n_wrong)
    )


def test_the_noise_of_the_rest_leaves_out_what_was_found():
    matrix = NoiseMatrix([[0.2, 0.1, 0.1], [0, 0.3, 0], [0, 0, 0.3]], classes=list("abc"))
    labels = np.repeat([0, 1, 2], [8, 6, 6])
    # Of 8 rows labeled a, 2 should be b and 2 c; one of the former and a right one are found.
    rest = matrix_of_rest(matrix, labels, np.array([0, 1, 8]), np.array([1, 0, 1]))
    assert rest.n_labels.tolist() == [6, 5, 6]
    np.testing.assert_allclose(rest.joint * 17, [[3, 1, 2], [0, 5, 0], [0, 0, 6]], atol=1e-12)
    assert (rest.intervals, rest.thresholds) == (None, None)
    every = np.flatnonzero(labels < 2)
    assert matrix_of_rest(matrix, labels, every, labels[every]) is None


def test_the_total_of_a_label_counts_if_more_than_expected_had_one_true_label():
    matrix = NoiseMatrix([[0.2, 0.1, 0.1], [0, 0.3, 0], [0, 0, 0.3]], classes=list("abc"))
    labels = np.repeat([0, 1, 2], [8, 6, 6])
    rest = matrix_of_rest(matrix, labels, np.arange(3), np.ones(3, dtype=int))
    np.testing.assert_allclose(rest.joint[0] * 17, [4, 0, 1], atol=1e-12)
    none = matrix_of_rest(matrix, labels, np.arange(5), np.ones(5, dtype=int))
    assert none.error_rates[0] == 0


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=50, deadline=None)
def test_for_two_labels_it_would_be_what_it_is_for_two(seed):
    rng = np.random.default_rng(seed)
    truth, labels = rng.integers(0, 2, (2, 60))
    labels = np.where(rng.random(60) < 0.7, truth, labels)
    settled = rng.choice(60, 15, replace=False)
    if len(set(np.delete(labels, settled).tolist())) < 2:
        return
    matrix = NoiseMatrix.from_true_labels(truth, labels, classes=[0, 1])
    rates = NoiseRates.from_true_labels(truth, labels)
    for_two = rates_of_rest(rates, labels == 1, settled, truth[settled] == 1)
    found = matrix_of_rest(matrix, labels, settled, truth[settled]).one_vs_rest(1)
    assert found.positive_label_error_rate == pytest.approx(for_two.positive_label_error_rate)
    assert found.negative_label_error_rate == pytest.approx(for_two.negative_label_error_rate)
    assert found.positive_noise_rate == pytest.approx(for_two.positive_noise_rate)


def test_the_suspects_are_left_out_where_noise_was_found(check):
    mask, weight = pruned_rows(check)
    assert mask is check.scores.suspect
    assert weight is check.scores.weight
    nothing, ones = pruned_rows(undecided(class_check(N, noise=0.0)))
    assert not nothing.any()
    assert (ones == 1).all()


def test_pruning_anyway_is_what_prune_labels_does(check):
    labels, _, probabilities = class_labels(N)
    matrix = replace(check.estimated_matrix, classes=np.unique(labels))
    scores = replace(check.scores, suspect=np.zeros(N, dtype=bool), weight=np.ones(N))
    mask, weight = pruned_rows(replace(undecided(check), scores=scores), prune=True)
    expected = prune_labels(labels, probabilities, matrix, classes=matrix.classes).mask
    assert mask.tolist() == expected.tolist()
    weights = np.where(expected, 0, correction_weights(labels, matrix))
    np.testing.assert_array_equal(weight, weights)


def test_pruning_anyway_leaves_judged_and_trusted_rows_alone(check):
    _, truth, _ = class_labels(N)
    right = np.searchsorted(check.classes, truth.tolist())
    suspects = np.flatnonzero(check.scores.suspect)[:20]
    open_ = judged(undecided(check), suspects, right[suspects])
    mask, weight = pruned_rows(open_, prune=True)
    assert not mask[suspects].any()
    assert (weight[suspects] == 1).all()
    expected = check.estimated_matrix.wrong_share * N - open_.judged.n_wrong
    assert mask.sum() == pytest.approx(expected, abs=3)
    trusted = np.zeros(N, dtype=bool)
    trusted[np.flatnonzero(mask)[:5]] = True
    again, weight = pruned_rows(open_, prune=True, trusted=trusted)
    assert not again[trusted].any()
    assert (weight[trusted] == 1).all()


def test_rows_without_a_single_pair_of_labels_left_are_all_kept(check):
    labels = check.given_codes
    rows = np.flatnonzero(labels < 2)
    open_ = judged(undecided(check), rows, labels[rows])
    mask, weight = pruned_rows(open_, prune=True)
    assert not mask.any()
    assert (weight == 1).all()


def test_scores_that_say_nothing_prune_nothing(check):
    for name in ("estimated_matrix", "noise_matrix"):
        open_ = undecided(check)
        if name == "noise_matrix":
            open_ = judged(open_, [3], [0])
        silent = replace(open_, **{name: replace(getattr(check, name), reliable=False)})
        with pytest.raises(TableError, match="do not tell the labels apart"):
            pruned_rows(silent, prune=True)


def test_clear_answers_come_in_the_order_of_the_table(check):
    found = judged(check, [9, 4, 7], [2, None, 0])
    rows, right = judged_codes(found)
    assert (rows.tolist(), right.tolist()) == ([7, 9], [0, 2])
    given_ = check.given_codes
    assert judged_wrong(found).tolist() == [
        row for row, label in ((7, 0), (9, 2)) if given_[row] != label
    ]
    assert judged_codes(check)[0].tolist() == []
