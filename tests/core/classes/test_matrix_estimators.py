"""The noise matrix from labels and scores: by hand, on separable scores, and its symmetries."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rankprune import NoiseMatrix, estimate_noise_rates
from rankprune.core import MATRIX_ESTIMATORS
from rankprune.core.classes._class_counts import ClassCounts, ClassSums
from rankprune.core.classes._class_inputs import ClassInputs, block_rows, validate_class_inputs
from rankprune.core.classes._estimate import estimate_noise_matrix
from rankprune.core.classes._matrix_estimators import with_wrong_share
from rankprune.core.classes._tally import Tally
from rankprune.core.estimators._confident_counts import confident_counts
from rankprune.exceptions import UninformativeProbabilitiesWarning

METHODS = sorted(MATRIX_ESTIMATORS)
COUNTED = ["confident-counts", "prediction-table", "counts-and-table"]


SEVERAL = st.integers(3, 6)


@st.composite
def scored_labels(draw, n_classes=SEVERAL, max_rows=40):
    """Draw labels with every class, and rows of scores that sum to 1 exactly."""
    k = draw(n_classes)
    n = draw(st.integers(2 * k, max_rows))
    labels = np.concatenate(
        [np.arange(k), draw(hnp.arrays(np.int64, n - k, elements=st.integers(0, k - 1)))]
    )
    parts = draw(hnp.arrays(np.int64, (n, k), elements=st.integers(0, 15)))
    parts[np.arange(n), labels] += draw(st.integers(1, 30))
    scores = np.floor(parts / parts.sum(axis=1, keepdims=True) * 1024) / 1024
    scores[np.arange(n), parts.argmax(axis=1)] += 1 - scores.sum(axis=1)
    return labels, scores


def separable(transition, sizes, seed=0):
    """Return labels, scores that separate the true classes, and the joint of the labels."""
    random = np.random.default_rng(seed)
    k = len(sizes)
    truth = np.repeat(np.arange(k), sizes)
    labels = truth.copy()
    for true in range(k):
        rows = np.flatnonzero(truth == true)
        counts = np.round(np.array(transition)[:, true] * len(rows)).astype(int)
        labels[random.permutation(rows)] = np.repeat(np.arange(k), counts)
    scores = np.array(transition).T[truth]
    return labels, scores, NoiseMatrix.from_true_labels(truth, labels).joint


@pytest.mark.parametrize("method", METHODS)
def test_scores_that_separate_the_classes_give_the_noise_exactly(method):
    transition = [[0.7, 0.1, 0.0], [0.2, 0.8, 0.1], [0.1, 0.1, 0.9]]
    labels, scores, joint = separable(transition, (100, 200, 300))
    found = estimate_noise_rates(labels, scores, method=method)
    assert np.allclose(found.joint, joint, atol=1e-12)
    assert found.reliable
    assert found.uncounted == ()


def test_confident_rows_are_counted_by_hand():
    # Means of the own column: a .7 (0.9, 0.5), b .6 (0.8, 0.4), c .8; the second row reaches
    # none, the fourth reaches c alone.
    labels = ["a", "a", "b", "b", "c"]
    scores = [
        [0.9, 0.05, 0.05],
        [0.5, 0.3, 0.2],
        [0.1, 0.8, 0.1],
        [0.0, 0.2, 0.8],
        [0.1, 0.1, 0.8],
    ]
    scores[3] = [0.0, 0.2, 0.8]
    tally = Tally.of(validate_class_inputs(labels, scores))
    assert tally.thresholds.own.tolist() == [0.7, 0.5, 0.8]
    assert tally.counts.confident.tolist() == [[1, 0, 0], [0, 1, 1], [0, 0, 1]]
    found = estimate_noise_rates(labels, scores, method="confident-counts")
    # Of the confident c, half are labeled b; a fifth of the labels is c, so two fifths are.
    assert np.allclose(found.joint, [[0.4, 0, 0], [0, 0.2, 0.2], [0, 0, 0.2]])


def test_ties_go_to_the_given_label_and_then_to_the_first_class():
    labels = np.array([0, 1, 2, 2])
    scores = np.array([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6], [0.3, 0.3, 0.4]])
    even = np.full((1, 3), 1 / 3)
    tally = Tally.of(validate_class_inputs(np.append(labels, 1), np.vstack([scores, even])))
    assert tally.counts.predicted.sum() == 5
    same = np.full((6, 3), 1 / 3)
    counts = Tally.of(validate_class_inputs([0, 1, 2] * 2, same)).counts
    assert counts.confident.tolist() == np.diag([2, 2, 2]).tolist()
    assert counts.first.tolist() == [[6, 0, 0], [2, 0, 0]]


@settings(deadline=None)
@given(st.integers(3, 6), st.floats(0.001, 0.6), st.integers(0, 2**32 - 1))
def test_a_joint_gets_the_wanted_share_and_keeps_its_labels(n_classes, share, seed):
    random = np.random.default_rng(seed)
    joint = random.dirichlet(np.ones(n_classes**2)).reshape(n_classes, n_classes)
    found = with_wrong_share(joint, share)
    assert 1 - np.trace(found) == pytest.approx(share, abs=1e-9)
    assert np.allclose(found.sum(axis=1), joint.sum(axis=1))
    assert (found >= 0).all()


def test_labels_that_no_count_doubts_stay_right():
    joint = np.array([[0.25, 0.25, 0], [0, 0.25, 0], [0, 0, 0.25]])
    found = with_wrong_share(joint, 0.125)
    assert np.allclose(found, [[0.375, 0.125, 0], [0, 0.25, 0], [0, 0, 0.25]])
    assert np.array_equal(with_wrong_share(np.eye(3) / 3, 0.2), np.eye(3) / 3)


def test_clean_labels_of_classes_that_overlap_are_not_called_wrong():
    random = np.random.default_rng(0)
    X = random.normal(size=6000) + np.repeat([0.0, 1.0, 2.0], 2000)
    scores = np.exp(-0.5 * (X[:, None] - [0.0, 1.0, 2.0]) ** 2)
    scores /= scores.sum(axis=1, keepdims=True)
    labels = np.repeat([0, 1, 2], 2000)
    found = estimate_noise_rates(labels, scores)
    counted = estimate_noise_rates(labels, scores, method="confident-counts")
    assert counted.wrong_share > 0.25
    assert found.wrong_share < counted.wrong_share / 2
    assert found.intervals.wrong_share.low == 0


def test_more_classes_than_the_network_has_seen_are_counted():
    random = np.random.default_rng(0)
    truth = np.arange(1240) % 31
    labels = np.where(random.random(1240) < 0.2, (truth + 1) % 31, truth)
    scores = 0.5 * np.eye(31)[truth] + 0.3 * np.eye(31)[(truth + 1) % 31]
    scores = scores + 0.2 * random.dirichlet(np.ones(31), 1240)
    found = estimate_noise_rates(labels, scores)
    assert found == estimate_noise_rates(labels, scores, method="counts-and-table")


@pytest.mark.parametrize("method", METHODS)
def test_scores_that_say_nothing_are_not_reliable(method):
    with pytest.warns(UninformativeProbabilitiesWarning, match="no more often than by chance"):
        found = estimate_noise_rates([0, 1, 2] * 20, np.full((60, 3), 1 / 3), method=method)
    assert not found.reliable
    assert np.isfinite(found.joint).all()


def test_impossible_counts_are_scaled_to_the_labels():
    random = np.random.default_rng(3)
    labels = random.integers(0, 3, 60)
    scores = random.dirichlet(np.ones(3), 60)
    scores[labels == 0] = scores[labels == 0][:, [1, 0, 2]] * 0.5 + [0.0, 0.5, 0.0]
    with pytest.warns(UninformativeProbabilitiesWarning):
        found = estimate_noise_rates(labels, scores, method="confident-counts")
    assert np.allclose(found.label_shares, np.bincount(labels) / 60)
    assert (found.joint >= 0).all()


@pytest.mark.filterwarnings("ignore::rankprune.exceptions.RankPruneWarning")
@pytest.mark.parametrize("method", METHODS)
@settings(deadline=None, max_examples=40)
@given(scored_labels(), st.randoms(use_true_random=False))
def test_permuting_classes_permutes_everything(method, drawn, random):
    labels, scores = drawn
    k = scores.shape[1]
    order = list(range(k))
    random.shuffle(order)
    plain = estimate_noise_rates(labels, scores, method=method)
    moved = estimate_noise_rates(labels, scores[:, order], classes=order, method=method)
    assert np.array_equal(moved.joint, plain.joint[np.ix_(order, order)])
    assert np.array_equal(moved.thresholds, plain.thresholds[order])
    assert moved.reliable == plain.reliable
    assert set(moved.uncounted) == set(plain.uncounted)


@settings(deadline=None, max_examples=60)
@given(scored_labels(), st.data())
def test_merging_batches_changes_nothing(drawn, data):
    labels, scores = drawn
    cut = data.draw(st.integers(1, len(labels) - 1))
    classes = np.arange(scores.shape[1])
    whole, *parts = (
        ClassInputs(labels[rows], classes, scores[rows])
        for rows in (slice(None), slice(cut), slice(cut, None))
    )
    sums = ClassSums.of(whole)
    first, second = map(ClassSums.of, parts)
    for merged in (first.merge(second), second.merge(first)):
        assert same_fields(merged, sums)
    thresholds = sums.thresholds()
    counts = ClassCounts.of(whole, thresholds)
    first, second = (ClassCounts.of(part, thresholds) for part in parts)
    assert same_fields(first.merge(second), counts)
    assert same_fields(second.merge(first), counts)


def same_fields(one, other):
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in vars(one))


@settings(deadline=None, max_examples=60)
@given(scored_labels(n_classes=st.just(2)))
def test_two_classes_count_as_the_paper_does(drawn):
    labels, scores = drawn
    tally = Tally.of(validate_class_inputs(labels, scores))
    rates = confident_counts(labels.astype(bool), np.ascontiguousarray(scores[:, 1]))
    assert tally.thresholds.own[1] == rates.positive_threshold
    assert tally.thresholds.own[0] == pytest.approx(1 - rates.negative_threshold, abs=1e-15)
    # Where 1 - g(x) meets its mean to the last bit, the two sides may round differently.
    gaps = np.abs(scores[:, 1] - rates.negative_threshold)
    is_close = ((gaps > 0) & (gaps < 1e-12)).any()
    if rates.positive_threshold > rates.negative_threshold and not is_close:
        counts = rates.counts
        assert tally.counts.confident.tolist() == [
            [counts.negatives_labeled_negative, counts.positives_labeled_negative],
            [counts.negatives_labeled_positive, counts.positives_labeled_positive],
        ]
        if not rates.clipped:
            found = estimate_noise_matrix_of_two(labels, scores)
            assert np.allclose(found, rates.joint, atol=1e-9)


def estimate_noise_matrix_of_two(labels, scores):
    return MATRIX_ESTIMATORS["confident-counts"](Tally.of(validate_class_inputs(labels, scores)))


@settings(deadline=None, max_examples=40)
@given(scored_labels(n_classes=st.just(2)), st.booleans())
@pytest.mark.filterwarnings("ignore::rankprune.exceptions.RankPruneWarning")
def test_two_columns_are_the_binary_path_bit_for_bit(drawn, reverse):
    labels, scores = drawn
    column = np.ascontiguousarray(scores[:, 1])
    order = [1, 0] if reverse else [0, 1]
    for method in ("learned", "confident-counts", "tight"):
        expected = estimate_noise_rates(labels, column, method=method)
        found = estimate_noise_rates(labels, scores[:, order], classes=order, method=method)
        assert found == expected


def test_memory_mapped_float32_gives_the_same_as_float64_of_it(tmp_path):
    n_rows = 3 * block_rows(5)
    random = np.random.default_rng(0)
    labels = random.integers(0, 5, n_rows)
    scores = random.dirichlet(np.ones(5), n_rows) * 0.5 + 0.5 * np.eye(5)[labels]
    kept = np.lib.format.open_memmap(
        tmp_path / "scores.npy", mode="w+", dtype=np.float32, shape=scores.shape
    )
    kept[:] = scores
    mapped = np.load(tmp_path / "scores.npy", mmap_mode="r")
    found = estimate_noise_rates(labels, mapped)
    assert found == estimate_noise_rates(labels, np.array(mapped, dtype=np.float64))


def test_a_thousand_classes_are_counted():
    labels = np.repeat(np.arange(1000), 3)
    scores = np.full((3000, 1000), 0.5 / 999, dtype=np.float32)
    scores[np.arange(3000), labels] = 0.5
    labels[0] = 7
    found = estimate_noise_rates(labels, scores)
    assert found.wrong_share == pytest.approx(1 / 3000)
    assert found.joint[7, 0] == pytest.approx(1 / 3000)


def test_the_last_class_may_hold_all_rows():
    inputs = validate_class_inputs([2, 2, 2, 2], np.full((4, 3), [0.1, 0.1, 0.8]), [0, 1, 2])
    assert ClassSums.of(inputs).thresholds().middle[2] == pytest.approx(0.4)
    with pytest.warns(UninformativeProbabilitiesWarning):
        assert estimate_noise_matrix(inputs).uncounted == (0, 1)
