"""Weights of rows of many classes: a weight of 2 is the row twice, a weight of 0 no row."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankprune import NoiseMatrix, estimate_noise_rates, flip_labels, prune_labels, rank_suspects
from rankprune.core.classes._repeated_rows import times_counted
from rankprune.exceptions import ClassAlmostEmptiedWarning

N = 300
NAMES = np.array(["ant", "bee", "cow"])
TRUTH = np.arange(N) % 3
LABELS = flip_labels(TRUTH, transition=np.full((3, 3), 0.1) + 0.7 * np.eye(3), random_state=0)
SCORES = 0.4 * np.random.default_rng(0).dirichlet(np.ones(3), N) + 0.6 * np.eye(3)[TRUTH]
COUNTS = np.random.default_rng(1).integers(0, 4, N)


def both(weight):
    """Return the matrix and the pruning of weighted rows."""
    matrix = estimate_noise_rates(LABELS, SCORES, sample_weight=weight)
    return matrix, prune_labels(LABELS, SCORES, matrix, sample_weight=weight)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.sampled_from(["confident-counts", "prediction-table", None]))
def test_weights_that_are_counts_repeat_rows(seed, method):
    weight = np.random.default_rng(seed).integers(0, 5, N)
    rows = np.repeat(np.arange(N), weight)
    matrix = estimate_noise_rates(LABELS, SCORES, sample_weight=weight, method=method)
    repeated = estimate_noise_rates(LABELS[rows], SCORES[rows], method=method)
    assert matrix == repeated
    pruning = prune_labels(LABELS, SCORES, matrix, sample_weight=weight)
    expected = prune_labels(LABELS[rows], SCORES[rows], matrix)
    assert pruning.n_pruned.tolist() == expected.n_pruned.tolist()
    assert pruning.cutoffs == pytest.approx(expected.cutoffs)
    kept = np.bincount(rows[~expected.mask], minlength=N)
    assert (pruning.sample_weight == kept).all()
    assert (pruning.mask == ((kept == 0) & (weight > 0))).all()


def test_weights_of_one_change_nothing():
    matrix, pruning = both(np.ones(N))
    assert matrix == estimate_noise_rates(LABELS, SCORES)
    assert (pruning.mask == prune_labels(LABELS, SCORES, matrix).mask).all()


def counted(weight):
    """Return the joint by counting, which does not depend on how many rows there are."""
    matrix = estimate_noise_rates(LABELS, SCORES, sample_weight=weight, method="confident-counts")
    return matrix.joint


def test_the_scale_of_weights_that_are_no_counts_does_not_matter():
    weight = COUNTS + 0.5
    matrix, pruning = both(weight)
    for scale in (2.0**-70, 1e-3, 1.7, 2.0**70):
        other, again = both(scale * weight)
        assert other.joint == pytest.approx(matrix.joint, abs=1e-4)
        assert other.n_labels == pytest.approx(matrix.n_labels, rel=1e-4)
        assert other.intervals.wrong_share.high == pytest.approx(
            matrix.intervals.wrong_share.high, abs=1e-4
        )
        assert again.sample_weight == pytest.approx(scale * pruning.sample_weight, abs=scale / 50)
    # Halves are exact: they count as twice as many rows would.
    assert counted(weight).tolist() == counted(2 * weight).tolist()
    assert matrix.n_labels.sum() == pytest.approx(weight.sum() ** 2 / (weight @ weight))


def test_the_share_of_the_mass_is_pruned_without_rounding():
    weight = COUNTS + 0.3
    matrix, pruning = both(weight)
    removed = np.bincount(LABELS, weight - pruning.sample_weight)
    assert removed == pytest.approx(matrix.error_rates * np.bincount(LABELS, weight))
    assert pruning.n_pruned == pytest.approx(removed)
    partly = (pruning.sample_weight > 0) & (pruning.sample_weight < weight)
    assert partly.sum() == 3  # one row of each label at the boundary
    assert not pruning.mask[partly].any()


def test_heavy_weights_are_rounded_to_what_can_be_added():
    heavy = np.where(np.arange(N) < 100, 2.0**40, 2.0**38)
    times = times_counted(heavy)
    assert times.sum() <= 2**32
    assert (times[:100] == 4 * times[-1]).all()
    assert counted(heavy) == pytest.approx(counted(heavy / 2**38), abs=1e-6)
    assert times_counted(np.array([1e-100, 1e100])).tolist()[0] == 0


def test_a_class_without_weight_is_not_counted():
    weight = np.where(LABELS == 2, 0.0, 1.0)
    matrix, pruning = both(weight)
    assert matrix.uncounted == (2,)
    assert matrix.error_rates[2] == 0
    assert pruning.n_pruned[2] == 0


def test_every_label_keeps_a_row():
    matrix = NoiseMatrix(np.roll(np.eye(3), 1, axis=0) / 3, [0, 1, 2])
    labels, scores = [0, 0, 1, 1, 2, 2], np.full((6, 3), 1 / 3)
    for weight in (np.full(6, 2.0), np.full(6, 1.5)):
        with pytest.warns(ClassAlmostEmptiedWarning, match="every row labeled 0, 1, 2; the most"):
            pruning = prune_labels(labels, scores, matrix, sample_weight=weight)
        assert pruning.mask.tolist() == [True, False] * 3
        assert pruning.sample_weight.tolist() in ([0, 1] * 3, [0, 1.5] * 3)
        with pytest.warns(ClassAlmostEmptiedWarning):
            single = prune_labels([0, 1, 2], scores[:3], matrix, sample_weight=weight[:3] / 8)
        assert not single.mask.any()
        assert np.isnan(single.cutoffs).all()


def test_rates_that_are_not_reliable_prune_no_mass():
    matrix = NoiseMatrix(np.full((3, 3), 1 / 9), [0, 1, 2], reliable=False)
    for weight in (np.full(N, 2.0), np.full(N, 0.5)):
        pruning = prune_labels(LABELS, SCORES, matrix, sample_weight=weight)
        assert not pruning.mask.any()
        assert (pruning.sample_weight == weight).all()


def test_suspects_are_ranked_whatever_their_weight():
    matrix = estimate_noise_rates(NAMES[LABELS], SCORES, sample_weight=COUNTS)
    pruning = prune_labels(NAMES[LABELS], SCORES, matrix, sample_weight=COUNTS)
    suspects = rank_suspects(NAMES[LABELS], SCORES, matrix, sample_weight=COUNTS)
    assert sorted(suspects.rows.tolist()) == np.flatnonzero(pruning.mask).tolist()
    assert (np.diff(suspects.margins) >= 0).all()


def test_a_bad_row_without_weight_is_named():
    scores = SCORES.copy()
    scores[7] = 2
    with pytest.raises(ValueError, match="row 7 has a sum of 6"):
        estimate_noise_rates(LABELS, scores, sample_weight=np.arange(N) > 7)
