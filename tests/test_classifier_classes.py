"""Rank Pruning of more than two labels as an estimator."""

import logging
import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, LeaveOneGroupOut, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from rankprune import (
    NoiseMatrix,
    RankPruningClassifier,
    correction_weights,
    estimate_noise_rates,
    flip_labels,
    out_of_fold_probabilities,
    prune_labels,
)
from rankprune.core import judge_matrix
from rankprune.exceptions import (
    ClassAlmostEmptiedWarning,
    UninformativeProbabilitiesWarning,
)
from rankprune.learners import _committee, _out_of_bag
from rankprune.learners._class_based import ExaminedClasses

N, K = 600, 4
TRUTH = np.arange(N) % K
X = np.random.default_rng(0).normal(size=(N, 4)) + 4 * np.eye(4)[TRUTH]
TRANSITION = np.array(
    [[0.8, 0.0, 0.0, 0.1], [0.2, 1.0, 0.0, 0.0], [0.0, 0.0, 0.9, 0.1], [0.0, 0.0, 0.1, 0.8]]
)
Y = flip_labels(TRUTH, transition=TRANSITION, random_state=0)
NAMES = np.array(["ant", "bee", "cow", "dog"])


def model(**parameters):
    return RankPruningClassifier(**{"random_state": 0, **parameters})


FITTED = model().fit(X, Y)


@pytest.fixture(autouse=True)
def small_committee(monkeypatch):
    """Few trees and rounds of boosting, for speed."""
    monkeypatch.setattr(_out_of_bag, "N_TREES", 50)
    monkeypatch.setattr(_committee, "ROUNDS", 5)


def same(one, other):
    """Two fitted classifiers are the same."""
    assert (one.prune_mask_ == other.prune_mask_).all()
    assert one.probabilities_ == pytest.approx(other.probabilities_, abs=1e-12)
    assert one.noise_matrix_.joint == pytest.approx(other.noise_matrix_.joint, abs=1e-12)
    assert one.predict_proba(X) == pytest.approx(other.predict_proba(X), abs=1e-9)


def test_fit_is_the_functions_on_arrays_one_after_the_other():
    splitter = StratifiedKFold(3, shuffle=True, random_state=5)
    base = LogisticRegression(max_iter=1000)
    scores = out_of_fold_probabilities(base, X, Y, cv=splitter)
    matrix = estimate_noise_rates(Y, scores)
    mask = prune_labels(Y, scores, matrix).mask
    weights = correction_weights(Y[~mask], matrix)
    final = base.fit(X[~mask], Y[~mask], sample_weight=weights)

    fitted = model(cv=splitter).fit(X, Y)
    assert (fitted.probabilities_ == scores).all()
    assert (fitted.ranking_probabilities_ == scores).all()
    assert fitted.noise_matrix_ == matrix
    assert (fitted.prune_mask_ == mask).all()
    assert (fitted.estimator_.coef_ == final.coef_).all()
    assert not hasattr(fitted, "noise_rates_")


@pytest.mark.parametrize("method", [None, "confident-counts", "prediction-table"])
def test_it_finds_the_noise_and_beats_the_plain_fit(method):
    fitted = model(noise_estimator=method).fit(X, Y)
    assert fitted.noise_matrix_.transition == pytest.approx(TRANSITION, abs=0.07)
    wrong = Y != TRUTH
    assert (fitted.prune_mask_ & wrong).sum() / wrong.sum() > 0.85
    assert fitted.score(X, TRUTH) > LogisticRegression(max_iter=1000).fit(X, Y).score(X, TRUTH)
    assert fitted.score(X, TRUTH) > 0.97


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (2 * Y - 3, [-3, -1, 1, 3]),
        (Y.astype(float), [0.0, 1.0, 2.0, 3.0]),
        (NAMES[Y], NAMES.tolist()),
        (NAMES[Y].astype(object), NAMES.tolist()),
        (Y.astype(object), [0, 1, 2, 3]),
        (list(map(str, Y)), ["0", "1", "2", "3"]),
        (pd.Series(Y, index=np.arange(N) * 7 + 3), [0, 1, 2, 3]),
        (pd.Series(Y, dtype="Int64"), [0, 1, 2, 3]),
        (pd.Series(NAMES[Y]).astype("category"), NAMES.tolist()),
        (pl.Series(NAMES[Y]), NAMES.tolist()),
    ],
)
def test_any_labels_give_the_same_model_and_come_back(labels, classes):
    fitted = model().fit(X, labels)
    same(fitted, FITTED)
    assert fitted.classes_.tolist() == classes
    assert fitted.noise_matrix_.classes.tolist() == classes
    predicted = fitted.predict(X)
    assert (predicted == np.array(classes)[fitted.predict_proba(X).argmax(axis=1)]).all()
    assert fitted.score(X, np.array(classes)[TRUTH]) > 0.97


def test_renaming_the_classes_permutes_everything():
    order = np.array([2, 0, 3, 1])  # the new code of each class
    other = model().fit(X, order[Y])
    assert other.probabilities_[:, order] == pytest.approx(FITTED.probabilities_, abs=1e-4)
    joint = other.noise_matrix_.joint[np.ix_(order, order)]
    assert joint == pytest.approx(FITTED.noise_matrix_.joint, abs=1e-3)
    assert (other.prune_mask_ == FITTED.prune_mask_).mean() > 0.99
    assert (other.predict(X) == order[FITTED.predict(X)]).mean() > 0.99
    exact = [
        model(estimator=GaussianNB(), noise_estimator="confident-counts").fit(X, labels)
        for labels in (Y, order[Y])
    ]
    assert (exact[0].prune_mask_ == exact[1].prune_mask_).all()


def test_fitting_twice_is_fitting_once_and_copies_are_the_same():
    base = LogisticRegression(max_iter=1000)
    fitted = model(estimator=base).fit(X[:300], NAMES[Y][:300]).fit(X, Y)
    same(fitted, FITTED)
    assert not hasattr(base, "coef_")
    same(pickle.loads(pickle.dumps(FITTED)), FITTED)
    same(clone(FITTED).fit(X, Y), FITTED)


def test_the_same_object_learns_two_labels_and_then_four():
    fitted = model().fit(X, Y == 0)
    assert hasattr(fitted, "noise_rates_")
    fitted.fit(X, Y)
    assert not hasattr(fitted, "noise_rates_")
    fitted.fit(X, Y == 0)
    assert not hasattr(fitted, "noise_matrix_")


def test_two_columns_of_two_labels_equal_the_positive_one_bit_for_bit():
    labels = NAMES[(Y < 2).astype(int)]
    one = model().fit(X, labels)
    for pos_label, columns in (
        (None, np.column_stack([1 - one.probabilities_, one.probabilities_])),
        ("ant", np.column_stack([1 - one.probabilities_, one.probabilities_])),
    ):
        given = model(pos_label=pos_label)
        column = columns[:, 1 if pos_label is None else 0]
        expected = clone(given).fit(X, labels, probabilities=np.ascontiguousarray(column))
        given.fit(X, labels, probabilities=columns)
        assert (given.probabilities_ == expected.probabilities_).all()
        assert given.noise_rates_ == expected.noise_rates_
        assert (given.estimator_.coef_ == expected.estimator_.coef_).all()
        both = model(positive_noise_rate=0.1, negative_noise_rate=0.1, pos_label=pos_label)
        both.fit(X, labels, probabilities=columns)
        assert (both.probabilities_ == column).all()
    with pytest.raises(ValueError, match="probabilities must have one column per class, got 3"):
        model().fit(X, labels, probabilities=np.full((N, 3), 1 / 3))


@pytest.mark.parametrize("scorer", [None, "with-trees", "committee"])
def test_the_number_of_jobs_changes_no_bit(scorer):
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        one, two = (model(scorer=scorer, n_jobs=jobs).fit(X, Y) for jobs in (1, 2))
    assert (one.probabilities_ == two.probabilities_).all()
    assert (one.predict_proba(X) == two.predict_proba(X)).all()
    assert one.noise_matrix_ == two.noise_matrix_


def test_rounds_score_again_with_the_pruned_rows_and_keep_the_matrix():
    splitter = StratifiedKFold(3, shuffle=True, random_state=5)
    base = LogisticRegression(max_iter=1000)
    first = model(cv=splitter).fit(X, Y)
    keep, weight = ~first.prune_mask_, correction_weights(Y, first.noise_matrix_)
    again = np.empty((N, K))
    for train, test in splitter.split(X, Y):
        train = train[keep[train]]
        again[test] = base.fit(X[train], Y[train], weight[train]).predict_proba(X[test])
    mask = prune_labels(Y, again, first.noise_matrix_).mask

    second = model(cv=splitter, rounds=2).fit(X, Y)
    assert second.noise_matrix_ == first.noise_matrix_
    assert (second.probabilities_ == first.probabilities_).all()
    assert (second.ranking_probabilities_ == again).all()
    assert (second.prune_mask_ == mask).all()


def test_rounds_end_with_a_warning_if_a_fold_would_lose_a_class():
    labels = np.where(np.arange(N) < 6, 4, Y)
    known = np.diag([0.25, 0.25, 0.24, 0.24, 0.0])
    known[4, 0] = 0.02
    matrix = NoiseMatrix(known, range(5))
    with pytest.warns(ClassAlmostEmptiedWarning) as warned:
        two = model(rounds=2, noise_matrix=matrix).fit(X, labels)
    messages = [str(one.message) for one in warned]
    assert "every row labeled 4; the most believable row of each was kept" in messages[0]
    assert "a fold of round 2 without a class, so pruning stops after round 1" in messages[1]
    assert (two.prune_mask_ & (labels == 4)).sum() == 5


def test_a_scorer_gives_the_probabilities_and_the_estimator_the_model():
    forest = RandomForestClassifier(20, random_state=1)
    splitter = StratifiedKFold(3, shuffle=True, random_state=0)
    fitted = model(estimator=LinearSVC(), scorer=forest, cv=splitter).fit(X, Y)
    assert (fitted.probabilities_ == out_of_fold_probabilities(forest, X, Y, cv=splitter)).all()
    assert isinstance(fitted.estimator_, LinearSVC)
    assert fitted.decision_function(X).shape == (N, K)
    assert not hasattr(fitted, "predict_proba")
    assert FITTED.predict_log_proba(X) == pytest.approx(np.log(FITTED.predict_proba(X)))
    pairs = model(estimator=SVC(decision_function_shape="ovo"), scorer=forest).fit(X, Y)
    assert pairs.decision_function(X).shape == (N, K * (K - 1) // 2)


def test_named_scorers_average_the_models_and_give_a_verdict():
    trees = model(scorer="with-trees").fit(X, Y)
    found = model(scorer="committee").examine(X, Y)
    assert found.opinions.shape == (N, 3, K)
    assert found.scores == pytest.approx(np.average(found.opinions, axis=1, weights=[1, 1, 2]))
    assert found.scores.sum(axis=1) == pytest.approx(1)
    assert trees.verdict_ == judge_matrix(trees.noise_matrix_, n_opinions=2)
    assert found.verdict == judge_matrix(found.estimated, n_opinions=3)
    assert (found.opinions[:, 2].argmax(axis=1) == TRUTH).mean() > 0.9  # the trees, out of bag
    assert not hasattr(FITTED, "verdict_")
    boosted = model(estimator=HistGradientBoostingClassifier(max_iter=5), scorer="committee")
    assert boosted.examine(X, Y).opinions.shape == (N, 2, K)


def test_the_committee_prunes_nothing_if_labels_are_clean():
    truth = np.arange(N) % 3
    features = 10 * np.eye(3)[truth] + np.random.default_rng(0).normal(size=(N, 3))
    fitted = model(scorer="committee").fit(features, truth)
    assert fitted.verdict_.level == "clean"
    assert not fitted.prune_mask_.any()
    assert fitted.noise_matrix_.wrong_share == 0
    expected = LogisticRegression(max_iter=1000).fit(features, truth)
    assert (fitted.estimator_.coef_ == expected.coef_).all()
    found = model(scorer="committee").examine(features, truth)
    assert found.matrix == fitted.noise_matrix_
    assert found.weights is None


def test_a_known_matrix_is_used_as_it_is_in_any_order_of_its_classes():
    matrix = NoiseMatrix.from_true_labels(NAMES[TRUTH], NAMES[Y])
    order = np.array([3, 1, 0, 2])
    turned = NoiseMatrix(matrix.joint[np.ix_(order, order)], NAMES[order])
    one, other = (model(noise_matrix=known).fit(X, NAMES[Y]) for known in (matrix, turned))
    assert one.noise_matrix_ == matrix
    assert other.noise_matrix_.joint.tolist() == matrix.joint.tolist()
    assert (one.prune_mask_ == other.prune_mask_).all()
    pruned, wrong = (np.bincount(Y[rows], minlength=K) for rows in (one.prune_mask_, Y != TRUTH))
    assert pruned.tolist() == wrong.tolist()
    committee = model(noise_matrix=matrix, scorer="with-trees").fit(X, NAMES[Y])
    assert not hasattr(committee, "verdict_")
    known = one.noise_rate_intervals()
    assert known.wrong_share.low == known.wrong_share.high == matrix.wrong_share
    with pytest.raises(ValueError, match="must have the classes of the labels; 'eel' is not in"):
        model(noise_matrix=matrix).fit(X, np.where(Y == 3, "eel", NAMES[Y]))
    five = NoiseMatrix(np.eye(5) / 5, [*NAMES, "eel"])
    with pytest.raises(ValueError, match="'eel' is not in both"):
        model(noise_matrix=five).fit(X, NAMES[Y])


def test_a_known_matrix_prunes_even_by_uninformative_scores_with_a_warning():
    matrix = NoiseMatrix.from_true_labels(TRUTH, Y)
    scores = np.full((N, K), 1 / K)
    with pytest.warns(UninformativeProbabilitiesWarning, match="would prune almost at random"):
        fitted = model(noise_matrix=matrix).fit(X, Y, probabilities=scores)
    assert fitted.prune_mask_.sum() == (Y != TRUTH).sum()
    with pytest.warns(UninformativeProbabilitiesWarning, match="is not reliable and prunes"):
        fitted = model().fit(X, Y, probabilities=scores)
    assert not fitted.prune_mask_.any()
    assert not fitted.noise_matrix_.reliable


def test_precomputed_probabilities_skip_the_folds():
    given = model(cv="not used").fit(X, Y, probabilities=FITTED.probabilities_)
    same(given, FITTED)
    again = model(rounds=2).fit(X, Y, probabilities=FITTED.probabilities_)
    assert (again.ranking_probabilities_ != FITTED.probabilities_).any()
    mine = np.eye(K)[TRUTH]
    fitted = model(estimator=LinearSVC()).fit(X, Y, probabilities=mine)
    mine[:] = 0
    assert fitted.probabilities_.max() == 1
    assert (fitted.prune_mask_ == (Y != TRUTH)).all()


@pytest.mark.parametrize(
    ("probabilities", "message"),
    [
        (np.full(N, 0.5), r"probabilities must be two-dimensional, .* got shape \(600,\)"),
        (np.full((N, 3), 1 / 3), "one column per class, got 3 columns for 4 classes: 0, 1, 2, 3"),
        (np.full((N - 1, K), 1 / K), "one row per label, got 599 rows for 600 labels"),
        (np.full((N, K), 0.5), "row 0 has a sum of 2"),
        (np.where(np.arange(N)[:, None] == 9, np.nan, 1 / K) * np.ones(K), "row 9 holds nan"),
        (np.full((N, K), "a"), "probabilities must be real numbers"),
    ],
)
def test_probabilities_that_cannot_be_are_refused(probabilities, message):
    with pytest.raises(ValueError, match=message):
        model().fit(X, Y, probabilities=probabilities)


def test_weights_that_are_counts_equal_repeated_rows():
    weight = np.random.default_rng(0).integers(0, 4, N)
    rows = np.repeat(np.arange(N), weight)
    folds = np.arange(N) % 3
    splits, repeated = (
        [(np.flatnonzero(part != k), np.flatnonzero(part == k)) for k in range(3)]
        for part in (folds, folds[rows])
    )
    one = model(cv=splits).fit(X, Y, sample_weight=weight)
    other = model(cv=repeated).fit(X[rows], Y[rows])
    assert one.noise_matrix_.joint == pytest.approx(other.noise_matrix_.joint, abs=1e-6)
    assert one.predict_proba(X) == pytest.approx(other.predict_proba(X), abs=1e-3)
    kept = np.bincount(rows[~other.prune_mask_], minlength=N)
    assert (one.prune_mask_ == ((kept == 0) & (weight > 0))).all()


def test_weights_of_one_and_rows_of_weight_zero():
    weight = np.ones(N)
    same(model().fit(X, Y, sample_weight=weight), FITTED)
    weight[500:] = 0
    labels = Y.copy()
    labels[550:] = 9  # a value without weight is no class
    one, other = model().fit(X, labels, weight), model().fit(X[:500], Y[:500], np.ones(500))
    assert one.classes_.tolist() == [0, 1, 2, 3]
    assert one.noise_matrix_ == other.noise_matrix_
    assert (one.prune_mask_[:500] == other.prune_mask_).all()
    assert not one.prune_mask_[500:].any()
    assert one.predict_proba(X) == pytest.approx(other.predict_proba(X), abs=1e-9)


def test_trusted_rows_are_kept_at_weight_one_and_left_out_of_the_matrix():
    trusted = np.arange(N) % 5 == 0
    settled = np.where(trusted, TRUTH, Y)
    fitted = model().fit(X, settled, trusted=trusted)
    scores, rest = fitted.probabilities_, ~trusted
    matrix = estimate_noise_rates(settled[rest], scores[rest])
    assert fitted.noise_matrix_ == matrix
    assert not fitted.prune_mask_[trusted].any()
    mask = prune_labels(settled[rest], scores[rest], matrix).mask
    assert (fitted.prune_mask_[rest] == mask).all()
    weights = model().examine(X, settled, trusted=trusted).weights
    assert (weights[trusted] == 1).all()
    assert (weights[rest] == correction_weights(settled[rest], matrix)).all()
    whole = model().fit(X, settled, trusted=settled == 2)  # a class may be trusted as a whole
    assert whole.noise_matrix_.uncounted == (2,)
    for trusted in (np.ones(N, dtype=bool), settled > 0):
        with pytest.raises(ValueError, match="trusted must leave untrusted rows of at least two c"):
            model().fit(X, settled, trusted=trusted)


def rare_labels(sizes=(2,)):
    """Some rows at the start get classes of their own, each with so few rows."""
    labels = NAMES[Y].astype(object)
    start = 0
    for number, size in enumerate(sizes):
        labels[start : start + size] = f"rare {number}"
        start += size
    return labels


def test_classes_with_fewer_rows_than_folds_are_named():
    message = (
        "cv=3 needs at least 3 rows of each class; class 'rare 0' has 2. Merge it with another, "
        'use fewer folds (down to 2), or pass rare="keep" to RankPruningClassifier, which leaves '
        "its rows alone."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        model().fit(X, rare_labels())
    with pytest.raises(ValueError, match=r"'rare 0' has 2 \(2 of 6 classes have too few\). Merge"):
        model().fit(X, rare_labels((2, 1)))
    with pytest.raises(ValueError, match=r"class 'rare 0' has 1. Merge it with another, or pass"):
        out_of_fold_probabilities(LogisticRegression(), X, rare_labels((1,)), cv=2)
    with pytest.warns(ClassAlmostEmptiedWarning, match="every row labeled 'rare 0'"):
        assert model(cv=2).fit(X, rare_labels()).classes_.tolist()[-1] == "rare 0"


@pytest.mark.parametrize("scorer", [None, "with-trees"])
@pytest.mark.parametrize("weight", [None, np.ones(N)])
def test_rare_classes_can_be_left_alone(scorer, weight):
    labels = rare_labels((2, 1))
    fitted = model(rare="keep", scorer=scorer, rounds=2).fit(X, labels, weight)
    found = model(rare="keep", scorer=scorer).examine(X, labels, weight)
    assert found.rows.status.counted.all()
    assert found.rows.status.doubted[3:].all()
    assert not found.rows.status.doubted[:3].any()
    assert (found.rows.status.rare == (np.arange(N) < 3)).all()
    for train, _ in found.folds.splits:
        assert train.min() >= 3
    assert (found.scores[:, 4:] == 0).all()
    assert found.scores.sum(axis=1) == pytest.approx(1)
    assert not fitted.prune_mask_[:3].any()
    assert fitted.noise_matrix_.uncounted == ("rare 0", "rare 1")
    assert fitted.noise_matrix_.label_shares[4:].tolist() == [0, 0]
    assert (found.weights[:3] == 1).all()
    assert fitted.classes_.tolist() == [*NAMES, "rare 0", "rare 1"]
    assert set(fitted.estimator_.classes_) == set(labels)
    # The others are what they are without these rows.
    expected = estimate_noise_rates(labels[3:], found.scores[3:, :4])
    assert found.estimated.joint[:4, :4] == pytest.approx(expected.joint)


def test_with_own_folds_a_class_is_rare_if_it_has_one_row():
    labels = rare_labels((1,))
    splits = list(StratifiedKFold(3).split(X, Y))
    fitted = model(rare="keep", cv=splits).fit(X, labels)
    assert fitted.noise_matrix_.uncounted == ("rare 0",)
    with pytest.raises(ValueError, match=r"fold 0 has no row of class 'rare 0' to train on. Use a"):
        model(cv=splits).fit(X, labels)
    with pytest.raises(ValueError, match="must leave at least two classes of 3 rows or more, got "):
        model(rare="keep").fit(X[:6], list("aaabbc"), probabilities=np.full((6, 3), 1 / 3)).fit(
            X[:6], list("aaabbc"[::-1])
        )


def test_groups_stay_together_and_must_not_hide_a_class():
    groups = np.arange(N) // 5
    fitted = model().fit(X, Y, groups=groups)
    assert (fitted.probabilities_ != FITTED.probabilities_).any()
    for train, test in model().examine(X, Y, groups=groups).folds.splits:
        assert not set(groups[train]) & set(groups[test])
    alone = np.where(Y == 2, N, groups)
    with pytest.raises(ValueError, match=r"cv must leave every class in .* no row of class 2"):
        model().fit(X, Y, groups=alone)
    with pytest.raises(ValueError, match="fold 0 has no row of class 0 to train on"):
        model(cv=LeaveOneGroupOut()).fit(X, Y, groups=Y)


def test_copies_of_a_row_stay_in_one_fold():
    rows = np.repeat(np.arange(200), 3)
    found = model(scorer="with-trees").examine(X[rows], Y[rows])
    for train, test in found.folds.splits:
        assert not set(rows[train]) & set(rows[test])


def test_examine_learns_what_fit_learns_and_keeps_an_earlier_fit():
    final = FITTED.estimator_
    found = FITTED.examine(X, NAMES[Y])
    assert isinstance(found, ExaminedClasses)
    assert (found.codes == Y).all()
    assert found.classes.tolist() == NAMES.tolist()
    assert found.rows.status.doubted.all()
    assert found.opinions.shape == (N, 1, K)
    assert (found.scores == FITTED.probabilities_).all()
    assert (found.ranking == FITTED.ranking_probabilities_).all()
    assert (found.mask == FITTED.prune_mask_).all()
    assert found.estimated is found.matrix
    assert found.matrix.joint.tolist() == FITTED.noise_matrix_.joint.tolist()
    assert found.verdict is None
    assert len(found.folds.splits) == 3
    assert FITTED.estimator_ is final


def test_intervals_are_those_of_the_estimate():
    assert FITTED.noise_rate_intervals() == FITTED.noise_matrix_.intervals
    fitted = model(scorer="committee").fit(X, Y)
    assert fitted.noise_rate_intervals().wrong_share.covers == "truth"
    for options, message in (
        ({"X": X}, "X must be None for more than two classes, got 'a table'. Leave it out; the"),
        ({"covers": "rows"}, "covers must be 'truth' for more than two classes, got 'rows'"),
        ({"level": 0.9}, "level must be 0.95 for more than two classes, got 0.9"),
    ):
        with pytest.raises(ValueError, match=message):
            FITTED.noise_rate_intervals(**options)
    with pytest.raises(NotFittedError):
        model().noise_rate_intervals()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"pos_label": 1}, "pos_label must be None for more than two classes, got 1. Only binary"),
        ({"positive_noise_rate": 0.1}, "positive_noise_rate must be None .* Pass noise_matrix, e"),
        ({"negative_noise_rate": 0}, "negative_noise_rate must be None .* for two labels alone"),
        (
            {"noise_estimator": "tight"},
            r"noise_estimator must be one of \['confident-counts', 'counts-and-table', 'learned', ",
        ),
        ({"noise_estimator": print}, "noise_estimator must be one of .* got <built-in function"),
        ({"noise_estimator": "magic"}, "'noise_estimator' parameter .* must be a str among"),
        ({"noise_matrix": np.eye(4) / 4}, "'noise_matrix' parameter .* must be an instance of"),
        ({"rare": "drop"}, "'rare' parameter .* must be a str among"),
        ({"cv": 1}, "cv must be at least 2, got 1"),
        ({"scorer": "trees"}, 'scorer must be a classifier, "committee"'),
    ],
)
def test_parameters_that_cannot_work_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        model(**parameters).fit(X, Y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"noise_matrix": NoiseMatrix([[0.5, 0.1], [0, 0.4]], [False, True])},
            r"noise_matrix must be None for two labels, got NoiseMatrix.*one_vs_rest\(True\)",
        ),
        (
            {"noise_estimator": "counts-and-table"},
            r"noise_estimator must be one of \['confident-counts', 'curve', .* for two labels, or",
        ),
    ],
)
def test_parameters_for_more_labels_are_refused_for_two(parameters, message):
    with pytest.raises(ValueError, match=message):
        model(**parameters).fit(X, Y > 1)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.arange(N), r"class 0 has 1 \(600 of 600 classes have too few\). Merge it with another"),
        (Y + 0.5, "y must hold classes, got continuous values such as 0.5. Unknown label type"),
        (np.where(Y == 0, np.nan, Y), "y must not be missing; row"),
        (np.where(Y == 0, None, NAMES[Y]), "y must not be missing; row"),
        (np.array([*"abc", 1] * 150, dtype=object), "y must be of one type that can be sorted"),
        (np.array([(1,), "a", "b"] * 200, dtype=object), "y must be single values; row 0 holds"),
        (Y[:10], "y must have one value per row of X, got 10 for 600 rows"),
        (np.column_stack([Y, Y]), "y must be one-dimensional"),
        (Y.astype(complex), "y must be numbers, booleans or strings"),
    ],
)
def test_bad_labels_are_refused(labels, message):
    with pytest.raises(ValueError, match=message):
        model().fit(X, labels)


def test_searching_routing_and_pipelines():
    search = GridSearchCV(
        model(), {"estimator": [GaussianNB(), LogisticRegression(max_iter=1000)]}, cv=2
    ).fit(X, NAMES[Y])
    assert search.best_score_ > 0.7
    groups, weight = np.arange(N) // 5, np.random.default_rng(0).random(N)
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), LogisticRegression())
        routed = model(estimator=pipeline).set_fit_request(groups=True, sample_weight=True)
        routed.set_score_request(sample_weight=True)
        search = GridSearchCV(routed, {"cv": [2, 3]}, cv=2)
        search.fit(X, Y, groups=groups, sample_weight=weight)
    expected = clone(search.best_estimator_).fit(X, Y, weight, groups=groups)
    same(search.best_estimator_, expected)


class Odd(ClassifierMixin, BaseEstimator):
    """Gives probabilities of a wrong kind."""

    def __init__(self, kind="sums"):
        self.kind = kind

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        table = np.full((len(X), len(self.classes_)), 1 / len(self.classes_))
        if self.kind == "sums":
            table[3:] /= 2
        if self.kind == "range":
            table[3] = [2, -1, 0, 0]
        return table[:, 1:] if self.kind == "columns" else table


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("sums", "that sum to 1 in each row; Odd gave a sum of 0.5 for row .* in fold 0. Wrap it"),
        ("range", r"in \[0, 1\]; Odd gave 2 for row .* in fold 0"),
        ("columns", r"must predict 4 columns, one for each class; .* gave shape \(200, 3\)"),
    ],
)
def test_estimators_that_predict_no_probabilities_are_named(kind, message):
    with pytest.raises(ValueError, match=message):
        out_of_fold_probabilities(Odd(kind), X, Y)


class Turned(ClassifierMixin, BaseEstimator):
    """Keeps its classes in an odd order, with columns to match, or does not tell the classes."""

    def __init__(self, order=(2, 0, 3, 1), tells=True):
        self.order = order
        self.tells = tells

    def fit(self, X, y, sample_weight=None):
        self.model_ = LogisticRegression(max_iter=1000).fit(X, y, sample_weight)
        if self.tells:
            self.classes_ = self.model_.classes_[list(self.order)]
        return self

    def predict(self, X):
        return self.model_.predict(X)

    def predict_proba(self, X):
        return self.model_.predict_proba(X)[:, list(self.order)]

    def decision_function(self, X):
        return self.model_.decision_function(X)[:, list(self.order)]


@pytest.mark.parametrize("order", [(2, 0, 3, 1), (3, 2, 1, 0)])
def test_a_base_with_classes_in_another_order_gives_the_same_columns(order):
    expected = model(estimator=LogisticRegression(max_iter=1000)).fit(X, NAMES[Y])
    for base in (Turned(order), Turned((0, 1, 2, 3), tells=False)):
        fitted = model(estimator=base).fit(X, NAMES[Y])
        same(fitted, expected)
        assert fitted.decision_function(X) == pytest.approx(expected.decision_function(X))


def test_steps_are_logged(caplog):
    with caplog.at_level(logging.INFO, logger="rankprune"):
        model(verbose=1).fit(X, Y)
    assert "scoring 600 rows in 3 folds" in caplog.text
    assert "of 600 rows: NoiseMatrix(4 classes, wrong_share=" in caplog.text
