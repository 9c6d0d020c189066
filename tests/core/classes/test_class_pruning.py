"""Rows pruned and ranked by a noise matrix, their weights, and labels flipped by a transition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankprune import (
    NoiseMatrix,
    NoiseRates,
    correction_weights,
    estimate_noise_rates,
    flip_labels,
    prune_labels,
    rank_suspects,
)
from rankprune.exceptions import ClassAlmostEmptiedWarning

TRANSITION = np.array([[0.7, 0.1, 0.0], [0.2, 0.8, 0.1], [0.1, 0.1, 0.9]])


def noisy_rows(seed=0, n_rows=600, n_classes=3):
    random = np.random.default_rng(seed)
    truth = random.integers(0, n_classes, n_rows)
    transition = np.full((n_classes, n_classes), 0.2 / (n_classes - 1))
    np.fill_diagonal(transition, 0.8)
    labels = flip_labels(truth, transition=transition, random_state=seed)
    scores = random.dirichlet(np.ones(n_classes), n_rows) * 0.4 + 0.6 * np.eye(n_classes)[truth]
    return labels, truth, scores


def test_as_many_rows_of_each_label_are_pruned_as_are_wrong():
    labels, truth, scores = noisy_rows()
    matrix = estimate_noise_rates(labels, scores)
    pruning = prune_labels(labels, scores, matrix)
    expected = [
        round(rate * n) for rate, n in zip(matrix.error_rates, np.bincount(labels), strict=False)
    ]
    assert pruning.n_pruned.tolist() == expected
    assert np.bincount(labels[pruning.mask], minlength=3).tolist() == expected
    own = scores[np.arange(600), labels]
    rest = np.where(np.eye(3)[labels] > 0, -1, scores).max(axis=1)
    margins = np.log((own + 1e-6) / (rest + 1e-6))
    for k in range(3):
        cutoff = margins[pruning.mask & (labels == k)].max()
        assert pruning.cutoffs[k] == pytest.approx(cutoff)
        assert margins[~pruning.mask & (labels == k)].min() >= cutoff
    assert (pruning.mask == (labels != truth)).mean() > 0.99


def test_suspects_are_the_pruned_rows_with_the_best_other_label():
    labels, truth, scores = noisy_rows()
    names = np.array(["ant", "bee", "cow"])
    matrix = estimate_noise_rates(names[labels], scores)
    suspects = rank_suspects(names[labels], scores, matrix)
    mask = prune_labels(names[labels], scores, matrix).mask
    assert sorted(suspects.rows.tolist()) == np.flatnonzero(mask).tolist()
    assert (np.diff(suspects.margins) >= 0).all()
    assert (suspects.suggested_labels == names[truth[suspects.rows]]).mean() > 0.98
    own = scores[suspects.rows, labels[suspects.rows]]
    ratio = own / suspects.suggested_probabilities
    assert np.allclose(np.log(ratio), suspects.margins, rtol=1e-2)


def test_rows_that_tie_are_pruned_in_row_order():
    matrix = NoiseMatrix([[0.25, 0.25, 0], [0, 0.25, 0], [0, 0, 0.25]], [0, 1, 2])
    labels = [0, 0, 0, 0, 1, 1, 2, 2]
    scores = np.full((8, 3), [0.4, 0.3, 0.3])
    assert prune_labels(labels, scores, matrix).mask.tolist() == [True] * 2 + [False] * 6


def test_a_label_is_never_emptied():
    matrix = NoiseMatrix([[0.0, 0.3, 0], [0, 0.4, 0], [0, 0, 0.3]], ["a", "b", "c"])
    labels = ["a", "a", "b", "c"]
    scores = np.full((4, 3), [0.2, 0.6, 0.2])
    with pytest.warns(ClassAlmostEmptiedWarning, match="every row labeled 'a'; the most"):
        assert prune_labels(labels, scores, matrix).n_pruned.tolist() == [1, 0, 0]
    many = NoiseMatrix(np.roll(np.eye(8), 1, axis=0) / 8, range(8))
    with pytest.warns(ClassAlmostEmptiedWarning, match=r"0, 1, 2, 3, 4, 5, \.\.\.; the most"):
        pruning = prune_labels(np.arange(8), np.full((8, 8), 1 / 8), many)
    assert not pruning.mask.any()
    assert np.isnan(pruning.cutoffs).all()


def test_a_matrix_that_is_not_reliable_changes_nothing():
    labels, _, scores = noisy_rows()
    known = estimate_noise_rates(labels, scores)
    doubtful = NoiseMatrix(known.joint, known.classes, reliable=False)
    assert not prune_labels(labels, scores, doubtful).mask.any()
    assert len(rank_suspects(labels, scores, doubtful).rows) == 0
    assert correction_weights(labels, doubtful).tolist() == [1.0] * 600


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 1000), st.permutations(range(4)))
def test_permuting_classes_prunes_the_same_rows(seed, order):
    labels, _, scores = noisy_rows(seed, n_rows=80, n_classes=4)
    matrix = estimate_noise_rates(labels, scores)
    moved = estimate_noise_rates(labels, scores[:, order], classes=order)
    pruning = prune_labels(labels, scores, matrix)
    other = prune_labels(labels, scores[:, order], moved)
    assert np.array_equal(pruning.mask, other.mask)
    assert np.array_equal(other.n_pruned, pruning.n_pruned[list(order)])
    suspects = rank_suspects(labels, scores, matrix)
    ranked = rank_suspects(labels, scores[:, order], moved, classes=order)
    assert np.array_equal(suspects.rows, ranked.rows)
    assert np.array_equal(suspects.suggested_labels, ranked.suggested_labels)
    weights = correction_weights(labels, matrix), correction_weights(labels, moved)
    assert np.array_equal(*weights)


def test_two_columns_prune_as_the_positive_one_does():
    labels, _, scores = noisy_rows(n_classes=2)
    column = np.ascontiguousarray(scores[:, 1])
    rates = estimate_noise_rates(labels, column)
    expected = prune_labels(labels, column, rates)
    for found in (
        prune_labels(labels, scores, rates),
        prune_labels(labels, scores[:, ::-1], rates, classes=[1, 0]),
    ):
        assert np.array_equal(found.mask, expected.mask)
        assert found.positive_cutoff == expected.positive_cutoff
    ranked = rank_suspects(labels, column, rates), rank_suspects(labels, scores, rates)
    assert np.array_equal(ranked[0].rows, ranked[1].rows)


def test_pruning_with_a_matrix_of_two_classes_is_the_papers_second_step():
    labels, _, scores = noisy_rows(n_classes=2)
    rates = NoiseRates.from_label_error_rates(0.2, 0.1, observed_prevalence=labels.mean())
    matrix = NoiseMatrix(rates.joint, [0, 1])
    expected = prune_labels(labels, np.ascontiguousarray(scores[:, 1]), rates)
    assert np.array_equal(prune_labels(labels, scores, matrix).mask, expected.mask)


@pytest.mark.parametrize("function", [prune_labels, rank_suspects])
def test_rates_and_probabilities_must_fit(function):
    labels, _, scores = noisy_rows()
    matrix = estimate_noise_rates(labels, scores)
    rates = matrix.one_vs_rest(0)
    with pytest.raises(TypeError, match="noise_rates must be a NoiseMatrix for 3 classes"):
        function(labels, scores, rates)
    with pytest.raises(TypeError, match="noise_rates must be NoiseRates, got dict"):
        function(labels, scores, {})
    with pytest.raises(ValueError, match="classes must be those of noise_rates"):
        function(labels, scores, matrix, classes=[2, 1, 0])
    with pytest.raises(ValueError, match="two-dimensional"):
        function(labels, scores[:, 0], matrix)
    with pytest.raises(ValueError, match="pos_label must be None for more than two classes"):
        function(labels, scores, matrix, pos_label=1)
    with pytest.raises(ValueError, match=r"row 2 holds 9\. Add it to classes"):
        function([0, 1, 9], scores[:3], matrix)


def test_weights_restore_the_balance_of_the_true_classes():
    labels, truth, _scores = noisy_rows(n_rows=6000)
    matrix = NoiseMatrix.from_true_labels(truth, labels)
    kept = labels == truth
    weights = correction_weights(labels[kept], matrix)
    assert np.allclose(np.bincount(labels[kept], weights), np.bincount(truth))
    with pytest.raises(ValueError, match="pos_label must be None"):
        correction_weights(labels, matrix, pos_label=1)


def test_a_class_that_kept_no_label_has_weight_one():
    matrix = NoiseMatrix([[0.0, 0.0, 0.0], [0.3, 0.4, 0], [0, 0, 0.3]], [0, 1, 2])
    assert correction_weights([0, 1, 2], matrix).tolist() == [1.0, 1.0, 1.0]


def test_labels_are_flipped_by_the_columns_of_a_transition():
    truth = np.repeat(["a", "b", "c"], [100, 200, 300])
    labels = flip_labels(truth, transition=TRANSITION, random_state=0)
    found = NoiseMatrix.from_true_labels(truth, labels)
    assert np.allclose(found.transition, TRANSITION)
    again = flip_labels(truth, transition=TRANSITION, random_state=0)
    assert np.array_equal(labels, again)
    order = [2, 0, 1]
    moved = flip_labels(
        truth, transition=TRANSITION[np.ix_(order, order)], classes=["c", "a", "b"], random_state=1
    )
    assert np.allclose(NoiseMatrix.from_true_labels(truth, moved).transition, TRANSITION)


def test_each_row_may_be_flipped_by_itself():
    truth = np.repeat([0, 1, 2], 20_000)
    labels = flip_labels(truth, transition=TRANSITION, exact=False, random_state=0)
    found = NoiseMatrix.from_true_labels(truth, labels).transition
    assert np.allclose(found, TRANSITION, atol=0.02)
    assert not np.allclose(found, TRANSITION, atol=1e-6)


def test_rounding_never_flips_more_rows_than_there_are():
    labels = flip_labels([0, 1, 2], transition=np.full((3, 3), 1 / 3), random_state=0)
    assert len(labels) == 3
    all_away = np.array([[0.0, 0, 0], [0.5, 1, 0], [0.5, 0, 1]])
    labels = flip_labels([0, 0, 0, 1, 2], transition=all_away, random_state=0)
    assert len(labels) == 5
    assert (labels[3:] == [1, 2]).all()


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"classes": [0, 1, 2]}, "classes must be None without a transition"),
        ({"transition": TRANSITION, "positive_noise_rate": 0.1}, "positive_noise_rate must be N"),
        ({"transition": TRANSITION, "pos_label": 1}, "pos_label must be None with a transition"),
        ({"transition": TRANSITION.T}, "columns that sum to 1"),
        ({"transition": TRANSITION[:2]}, "one row and one column per class"),
        ({"transition": TRANSITION, "exact": "yes"}, "exact must be True or False"),
        ({"transition": TRANSITION, "classes": [0, 1, 3]}, "row 2 holds 2"),
    ],
)
def test_bad_flips_are_refused(options, what):
    with pytest.raises(ValueError, match=what):
        flip_labels([0, 1, 2], **options)


def test_two_labels_need_a_rate():
    with pytest.raises(TypeError, match="needs positive_noise_rate"):
        flip_labels([0, 1, 1])
