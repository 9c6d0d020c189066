"""Out-of-bag scores: no row is scored by trees that saw it or a copy of it."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold

from rankprune import RankPruningClassifier, check_labels, estimate_noise_rates, flip_labels
from rankprune.core._inputs import BinaryLabels
from rankprune.core.classes._class_labels import ClassLabels
from rankprune.learners import _out_of_bag
from rankprune.learners._copies import copied_units
from rankprune.learners._out_of_bag import OutOfBag, Trees, as_features

X, TRUTH = make_classification(400, n_features=6, class_sep=2, flip_y=0, random_state=0)
Y = TRUTH.astype(bool)
NOISY = flip_labels(TRUTH, positive_noise_rate=0.2, negative_noise_rate=0.1, random_state=0)


def score(features, labels, weight=None, *, keep=None, units=None, seed=0, n_jobs=None):
    found = OutOfBag(as_features(features), units)
    given = BinaryLabels(np.asarray(labels, dtype=bool), np.array([False, True]), True)
    return found.score(given, weight, keep, seed, n_jobs)


def test_they_rank_wrong_labels_first():
    scores = score(X, NOISY)
    assert ((scores >= 0) & (scores <= 1)).all()
    assert roc_auc_score(TRUTH, scores) > 0.97
    suspicion = np.where(NOISY == 1, 1 - scores, scores)
    assert average_precision_score(NOISY != TRUTH, suspicion) > 0.85


def test_a_label_does_not_reach_its_own_score():
    """Of labels drawn at random nothing can be learned, so the scores must not know them."""
    labels = np.random.default_rng(0).random(400) < 0.5
    assert abs(roc_auc_score(labels, score(X, labels)) - 0.5) < 0.1


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_jobs_do_not_change_the_scores_and_seeds_do(n_jobs):
    first = score(X, NOISY)
    np.testing.assert_array_equal(score(X, NOISY, n_jobs=n_jobs), first)
    assert (score(X, NOISY, seed=1) != first).any()


def test_jobs_do_not_change_a_classifier_with_a_named_scorer():
    for scorer in ("committee", "with-trees"):
        first, second = (
            RankPruningClassifier(scorer=scorer, n_jobs=n_jobs, random_state=0).fit(X, NOISY)
            for n_jobs in (1, 2)
        )
        np.testing.assert_array_equal(first.probabilities_, second.probabilities_)


def test_the_global_generator_is_neither_used_nor_changed():
    np.random.seed(0)
    first, state = score(X, NOISY), np.random.get_state()[1].tolist()
    np.random.seed(1)
    np.testing.assert_array_equal(score(X, NOISY), first)
    np.random.seed(0)
    assert np.random.get_state()[1].tolist() == state


def test_rows_of_weight_zero_are_scored_but_count_as_absent():
    weight = np.r_[np.ones(300), np.zeros(100)]
    labels = np.r_[NOISY[:300], 1 - NOISY[300:]]
    np.testing.assert_array_equal(score(X, NOISY, weight), score(X, labels, weight))
    np.testing.assert_array_equal(score(X, NOISY, weight)[:300], score(X[:300], NOISY[:300]))


def test_the_scale_of_the_weights_does_not_matter_but_their_ratios_do():
    first = score(X, NOISY)
    np.testing.assert_array_equal(score(X, NOISY, np.full(400, 2.0)), first)
    heavy = score(X, NOISY, np.where(NOISY == 1, 4.0, 1.0))
    assert heavy.mean() > first.mean() + 0.05


def test_rows_that_are_left_out_are_scored_by_trees_fitted_to_the_others():
    keep = np.arange(400) % 4 > 0
    labels = np.where(keep, NOISY, 1 - NOISY)
    np.testing.assert_array_equal(score(X, NOISY, keep=keep), score(X, labels, keep=keep))
    weight = np.where(keep, 1.0, 0.0)
    np.testing.assert_array_equal(score(X, NOISY, keep=keep), score(X, NOISY, weight))


@pytest.mark.parametrize("convert", [csr_matrix, csr_array, pd.DataFrame, np.ndarray.tolist])
def test_any_table_of_numbers_gives_the_same_scores(convert):
    np.testing.assert_allclose(score(convert(X), NOISY), score(X, NOISY), atol=1e-12)


def test_missing_values_are_accepted():
    holes = X.copy()
    holes[::3, 0] = np.nan
    assert roc_auc_score(TRUTH, score(holes, NOISY)) > 0.95


def test_a_row_that_every_tree_saw_gets_the_share_of_positives_among_the_others(monkeypatch):
    monkeypatch.setattr(_out_of_bag, "N_TREES", 1)
    others = (NOISY.sum() - NOISY) / 399
    drawn = score(X, NOISY) == others
    assert 0.5 < drawn.mean() < 0.75  # about 63 % of the rows are in a draw
    weight = np.where(NOISY == 1, 3.0, 1.0)
    others = (3.0 * NOISY.sum() - weight * NOISY) / (weight.sum() - weight)
    np.testing.assert_array_equal(score(X, NOISY, weight) == others, drawn)


def test_copies_of_a_single_row_have_no_others():
    labels = np.arange(10) < 3
    assert (score(np.ones((10, 2)), labels, units=np.zeros(10, int)) == 0.5).all()


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_labels_of_a_row_and_its_copies_never_reach_its_score(data):
    n_rows, n_units = data.draw(st.integers(2, 25)), data.draw(st.integers(1, 25))
    drawn = st.lists(st.integers(0, n_units - 1), min_size=n_rows, max_size=n_rows)
    units = np.array(data.draw(drawn))
    rng = np.random.default_rng(data.draw(st.integers(0, 100)))
    features, labels = rng.normal(size=(n_rows, 2)), rng.random(n_rows) < 0.5
    units = np.unique(units, return_inverse=True)[1]
    mine = units == units[0]
    weight = rng.integers(1, 4, n_rows).astype(float)
    seed = data.draw(st.integers(0, 100))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_out_of_bag, "N_TREES", 6)
        before, after = (
            score(features, given_labels, weight, units=units, seed=seed)
            for given_labels in (labels, np.where(mine, ~labels, labels))
        )
    assert ((before >= 0) & (before <= 1)).all()
    np.testing.assert_array_equal(before[mine], after[mine])


def test_a_draw_of_a_single_class_is_no_error():
    labels = np.arange(12) == 0
    scores = score(np.arange(12.0)[:, None], labels)
    assert ((scores >= 0) & (scores < 0.5)).all()
    assert score(np.arange(2.0)[:, None], [False, True]).tolist() == [1.0, 0.0]


def test_limited_draws_still_score_every_row(monkeypatch):
    whole = score(X, NOISY)
    monkeypatch.setattr(_out_of_bag, "MAX_DRAWS", 100)
    scores = score(X, NOISY)
    assert roc_auc_score(TRUTH, scores) > 0.95
    assert np.corrcoef(scores, whole)[0, 1] > 0.9
    assert len(np.unique(scores)) > 100
    trees = Trees(random_state=0).fit(X, NOISY)
    assert max(tree.tree_.n_node_samples[0] for tree in trees.model_.estimators_) <= 100


def test_trees_are_a_classifier():
    trees = clone(Trees(random_state=0)).fit(X.tolist(), NOISY, sample_weight=np.ones(400))
    assert trees.classes_.tolist() == [0, 1]
    assert trees.predict_proba(X).shape == (400, 2)
    assert (trees.predict(X) == TRUTH).mean() > 0.9


# Copies and groups.


def copied(times=3):
    """Every row several times, each time with the same label; 15 % of the labels are wrong."""
    features, truth = make_classification(500, n_features=6, flip_y=0, class_sep=2, random_state=1)
    labels = flip_labels(truth, positive_noise_rate=0.15, negative_noise_rate=0.15, random_state=0)
    rows = np.repeat(np.arange(500), times)
    return features[rows], labels[rows]


def test_trees_do_not_see_copies_of_the_rows_that_they_score():
    features, labels = copied()
    units = copied_units(features, np.ones(1500, dtype=bool))
    assert len(np.unique(units)) == 500
    leaky, sound = (
        estimate_noise_rates(labels, score(features, labels, units=chosen)).wrong_share
        for chosen in (None, units)
    )
    alone = estimate_noise_rates(labels[::3], score(features[::3], labels[::3])).wrong_share
    assert leaky < 0.02
    assert sound == pytest.approx(alone, abs=0.03)
    assert sound > 0.1


@pytest.mark.parametrize("scorer", ["committee", "with-trees"])
def test_noise_in_copied_rows_is_found(scorer):
    features, labels = copied()
    check = check_labels(features, labels, scorer=scorer)
    assert check.verdict.level == "noise found"
    assert 0.1 < check.wrong_share < 0.2
    assert check.duplicates.n_rows == 1500
    assert check.duplicates.n_straddling == 0


def test_copies_stay_in_one_fold_of_a_named_scorer():
    features, labels = copied()
    classifier = RankPruningClassifier(scorer="committee", random_state=0)
    splits = classifier.examine(features, labels).scored.folds.splits
    row = np.repeat(np.arange(500), 3)
    for train, test in splits:
        assert not set(row[train]) & set(row[test])
    assert sorted(np.concatenate([test for _, test in splits]).tolist()) == list(range(1500))
    assert max(len(test) for _, test in splits) <= 503


def test_copies_of_rows_without_weight_stay_with_the_others():
    features, labels = copied()
    weight = np.where(np.arange(1500) % 3 == 2, 0.0, 1.0)
    classifier = RankPruningClassifier(scorer="committee", random_state=0)
    folds = classifier.examine(features, labels, weight).scored.folds
    row = np.repeat(np.arange(500), 3)
    assert not any(set(row[train]) & set(row[test]) for train, test in folds.splits)


def test_copies_are_split_if_too_few_distinct_rows_are_left():
    features = np.random.default_rng(0).normal(size=(600, 5))
    features[:10] = np.repeat(features[:2], 5, axis=0)
    labels = np.arange(600) < 10
    assert len(np.unique(copied_units(features, np.ones(600, dtype=bool)))) == 592
    found = RankPruningClassifier(scorer="committee", random_state=0).examine(features, labels)
    assert sorted(labels[test].sum() for _, test in found.scored.folds.splits) == [3, 3, 4]


def test_rows_that_are_equal_by_chance_are_drawn_one_by_one():
    features = np.random.default_rng(0).integers(0, 2, (400, 3)).astype(float)
    assert copied_units(features, np.ones(400, dtype=bool)) is None
    scores = score(features, features[:, 0] > 0)
    assert roc_auc_score(features[:, 0], scores) == 1.0


def test_groups_and_the_callers_own_folds_keep_the_trees_in_folds():
    groups = np.arange(400) // 8
    classifier = RankPruningClassifier(scorer="committee", random_state=0)
    folds = classifier.examine(X, NOISY, groups=groups).scored.folds
    assert folds.out_of_bag is None
    assert [type(member).__name__ for member in folds.estimators][-1] == "Trees"
    assert not any(set(groups[train]) & set(groups[test]) for train, test in folds.splits)
    own = RankPruningClassifier(scorer="with-trees", cv=StratifiedKFold(4), random_state=0)
    assert own.examine(X, NOISY).scored.folds.out_of_bag is None


def test_labels_that_groups_share_do_not_leak():
    """Rows of a group are nearly copies, with one label: models must not have seen the group."""
    rng = np.random.default_rng(0)
    truth = np.arange(100) % 2
    labels = flip_labels(truth, positive_noise_rate=0.2, negative_noise_rate=0.2, random_state=0)
    centres = rng.normal(3 * truth[:, None], 1, (100, 4))
    group = np.repeat(np.arange(100), 6)
    features = centres[group] + rng.normal(0, 0.01, (600, 4))
    classifier = RankPruningClassifier(LogisticRegression(), scorer="committee", random_state=0)
    kept, leaked = (
        classifier.examine(features, labels[group], groups=groups).scored.rates
        for groups in (group, None)
    )
    assert kept.positive_noise_rate == pytest.approx(0.2, abs=0.08)
    assert leaked.positive_noise_rate < 0.1


# More than two labels.


KINDS = np.arange(400) % 3
BLOBS = np.random.default_rng(0).normal(size=(400, 3)) + 3 * np.eye(3)[KINDS]


def score_classes(labels, weight=None, *, keep=None, units=None, seed=0):
    found = OutOfBag(as_features(BLOBS[: len(labels)]), units)
    return found.score(ClassLabels(labels, np.arange(3)), weight, keep, seed, None)


def test_each_class_has_a_column_of_scores():
    scores = score_classes(KINDS)
    assert scores.shape == (400, 3)
    assert scores.sum(axis=1) == pytest.approx(1)
    assert (scores.argmax(axis=1) == KINDS).mean() > 0.85
    turned = score_classes((KINDS + 1) % 3)
    assert np.roll(turned, -1, axis=1) == pytest.approx(scores, abs=0.05)


def test_two_of_many_classes_have_the_scores_of_two_labels():
    found = OutOfBag(as_features(X)).score(ClassLabels(NOISY, np.arange(2)), None, None, 0, None)
    np.testing.assert_array_equal(found[:, 1], score(X, NOISY))


def test_a_row_that_every_tree_saw_gets_the_shares_of_the_classes_of_the_others(monkeypatch):
    monkeypatch.setattr(_out_of_bag, "N_TREES", 1)
    counts = np.bincount(KINDS)
    others = (counts - np.eye(3)[KINDS]) / 399
    drawn = (score_classes(KINDS) == others).all(axis=1)
    assert 0.5 < drawn.mean() < 0.75
    alone = score_classes(np.array([0, 1, 2, 0]), units=np.zeros(4, int))
    assert alone == pytest.approx(np.full((4, 3), 1 / 3))


def test_weights_of_any_size_give_distributions(monkeypatch):
    monkeypatch.setattr(_out_of_bag, "N_TREES", 2)
    weight = 10.0 ** np.random.default_rng(0).uniform(-16, 16, 400)
    assert score_classes(KINDS, weight).sum(axis=1) == pytest.approx(1)
