"""Out-of-fold probabilities: every row once, by a model that has not seen it."""

import logging

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    PredefinedSplit,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_predict,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from rankprune import out_of_fold_probabilities
from rankprune.core._inputs import validate_labels
from rankprune.core.classes._class_labels import validate_any_labels
from rankprune.exceptions import SampleWeightIgnoredWarning
from rankprune.learners._probabilities import make_splits

ROWS = np.arange(120)
X, Y = make_classification(120, weights=[0.7], flip_y=0.1, random_state=0)


class Recorder(ClassifierMixin, BaseEstimator):
    """Predicts whether each row was in the training set, and records the weights."""

    log: list = []  # noqa: RUF012 (shared between clones on purpose)

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        self.seen_ = set(X[:, 0].tolist())
        self.log.append((sorted(self.seen_), None if sample_weight is None else sample_weight))
        return self

    def predict_proba(self, X):
        seen = np.array([float(value in self.seen_) for value in X[:, 0]])
        return np.column_stack([1 - seen, seen])


class Fixed(ClassifierMixin, BaseEstimator):
    """Predicts a fixed value."""

    def __init__(self, value=0.5, reverse=False):
        self.value = value
        self.reverse = reverse

    def fit(self, X, y):
        self.classes_ = np.unique(y)[::-1] if self.reverse else np.unique(y)
        return self

    def predict_proba(self, X):
        columns = np.tile([1 - self.value, self.value], (len(X), 1))
        return columns[:, ::-1] if self.reverse else columns


class Flat(Fixed):
    """Predicts a single column instead of two."""

    def predict_proba(self, X):
        return np.full(len(X), self.value)


@pytest.fixture
def log():
    Recorder.log.clear()
    yield Recorder.log
    Recorder.log.clear()


def test_no_row_is_scored_by_a_model_that_saw_it(log):
    rows = np.arange(30.0)[:, None]
    scores = out_of_fold_probabilities(Recorder(), rows, [0, 1] * 15, random_state=0)
    assert scores.tolist() == [0.0] * 30
    assert [len(seen) for seen, _ in log] == [20, 20, 20]


def test_scores_equal_those_of_cross_val_predict():
    splitter = StratifiedKFold(4, shuffle=True, random_state=3)
    expected = cross_val_predict(LogisticRegression(), X, Y, cv=splitter, method="predict_proba")
    for cv in (splitter, list(splitter.split(X, Y))):
        found = out_of_fold_probabilities(LogisticRegression(), X, Y, cv=cv)
        assert (found == expected[:, 1]).all()
    masks = []
    for train, test in splitter.split(X, Y):
        masks.append((np.isin(np.arange(120), train), np.isin(np.arange(120), test)))
    assert (out_of_fold_probabilities(LogisticRegression(), X, Y, cv=masks) == expected[:, 1]).all()
    swapped = out_of_fold_probabilities(LogisticRegression(), X, Y, cv=splitter, pos_label=0)
    assert swapped == pytest.approx(expected[:, 0])


def test_folds_are_stratified_and_shuffled_by_the_random_state(log):
    rows, labels = np.arange(30.0)[:, None], np.repeat([0, 1], [24, 6])
    out_of_fold_probabilities(Recorder(), rows, labels, random_state=0)
    for seen, _ in log:
        assert sum(row >= 24 for row in seen) == 4
    first = [seen for seen, _ in log]
    log.clear()
    out_of_fold_probabilities(Recorder(), rows, labels, random_state=0)
    assert [seen for seen, _ in log] == first
    log.clear()
    out_of_fold_probabilities(Recorder(), rows, labels, random_state=1)
    assert [seen for seen, _ in log] != first


def test_groups_stay_together(log):
    groups = np.arange(60) // 4
    out_of_fold_probabilities(
        Recorder(), np.arange(60.0)[:, None], [0, 1] * 30, groups=groups, random_state=0
    )
    for seen, _ in log:
        inside = groups[np.array(seen, dtype=int)]
        outside = np.setdiff1d(groups, inside)
        assert not set(inside) & set(outside)
        assert len(inside) + 4 * len(outside) == 60
    found = out_of_fold_probabilities(
        LogisticRegression(), X, Y, cv=LeaveOneGroupOut(), groups=np.arange(120) % 3
    )
    assert found.shape == (120,)


def test_the_column_of_the_positive_class_is_used_whatever_the_order():
    for reverse in (False, True):
        found = out_of_fold_probabilities(Fixed(0.25, reverse=reverse), X, Y)
        assert found.tolist() == [0.25] * 120
        found = out_of_fold_probabilities(Fixed(0.25, reverse=reverse), X, Y, pos_label=0)
        assert found.tolist() == [0.75] * 120


def test_weights_reach_the_folds_and_rows_of_weight_zero_are_scored_but_not_fitted(log):
    rows, labels = np.arange(30.0)[:, None], np.array([0, 1] * 15)
    weight = np.arange(30) % 5
    scores = out_of_fold_probabilities(
        Recorder(), rows, labels, sample_weight=weight, random_state=0
    )
    assert scores.tolist() == [0.0] * 30
    for seen, weights in log:
        assert len(seen) == 16
        assert sorted(weights) == sorted(weight[np.array(seen, dtype=int)])
        assert min(weights) > 0
    log.clear()
    splitter = KFold(3, shuffle=True, random_state=0)
    scores = out_of_fold_probabilities(Recorder(), rows, labels, cv=splitter, sample_weight=weight)
    assert scores.tolist() == [0.0] * 30
    assert [len(seen) for seen, _ in log] == [16, 16, 16]
    log.clear()
    splits = list(KFold(3).split(rows))
    out_of_fold_probabilities(Recorder(), rows, labels, cv=splits, sample_weight=weight)
    assert all(min(weights) > 0 for _, weights in log)


def test_rows_of_weight_zero_change_no_other_score():
    weight = np.ones(130)
    weight[120:] = 0
    more = np.concatenate([X, X[:10] + 100]), np.concatenate([Y, 1 - Y[:10]])
    one = out_of_fold_probabilities(
        LogisticRegression(), X, Y, sample_weight=weight[:120], random_state=0
    )
    other = out_of_fold_probabilities(
        LogisticRegression(), *more, sample_weight=weight, random_state=0
    )
    assert (one == other[:120]).all()


def test_a_splitter_sees_only_the_rows_that_count():
    weight = (ROWS >= 60).astype(float)
    splitter = StratifiedKFold(3)
    groups = ROWS // 4
    for more in ({"cv": splitter}, {"cv": GroupKFold(3), "groups": groups}):
        found = out_of_fold_probabilities(LogisticRegression(), X, Y, sample_weight=weight, **more)
        if "groups" in more:
            more["groups"] = groups[60:]
        expected = out_of_fold_probabilities(
            LogisticRegression(), X[60:], Y[60:], sample_weight=weight[60:], **more
        )
        assert (found[60:] == expected).all()


def test_rows_of_weight_zero_go_where_their_group_is_scored(log):
    groups = np.arange(60) // 4
    weight = np.ones(60)
    weight[::7] = 0
    weight[56:] = 0  # a group of which no row counts
    out_of_fold_probabilities(
        Recorder(),
        np.arange(60.0)[:, None],
        [0, 1] * 30,
        groups=groups,
        sample_weight=weight,
        random_state=0,
    )
    splits = make_splits(3, np.zeros((60, 1)), validate_labels([0, 1] * 30), groups, weight, seed=0)
    for train, test in splits:
        assert not set(groups[train]) & set(groups[test])
        assert (weight[train] > 0).all()


def test_a_splitter_that_knows_its_table_works_with_weights_of_zero():
    weight = np.ones(120)
    weight[::7] = 0
    splitter = PredefinedSplit(ROWS % 3)
    found = out_of_fold_probabilities(LogisticRegression(), X, Y, cv=splitter, sample_weight=weight)
    splits = list(splitter.split())
    expected = out_of_fold_probabilities(
        LogisticRegression(), X, Y, cv=splits, sample_weight=weight
    )
    assert (found == expected).all()


class Empty:
    """A splitter without splits."""

    def split(self, X, y=None, groups=None):
        return iter([])


def test_a_splitter_without_a_seed_gets_one():
    splitter = StratifiedKFold(3, shuffle=True)
    before = np.random.get_state()[1].copy()
    one = out_of_fold_probabilities(LogisticRegression(), X, Y, cv=splitter, random_state=0)
    again = out_of_fold_probabilities(LogisticRegression(), X, Y, cv=splitter, random_state=0)
    other = out_of_fold_probabilities(LogisticRegression(), X, Y, cv=splitter, random_state=1)
    assert (one == again).all()
    assert (one != other).any()
    assert splitter.random_state is None
    assert (np.random.get_state()[1] == before).all()


def test_an_estimator_without_weights_warns_once():
    with pytest.warns(SampleWeightIgnoredWarning, match="KNeighborsClassifier takes no") as warned:
        out_of_fold_probabilities(KNeighborsClassifier(), X, Y, sample_weight=1.0 + Y)
    assert len(warned) == 1
    out_of_fold_probabilities(KNeighborsClassifier(), X, Y, sample_weight=np.full(120, 2.0))


@pytest.mark.parametrize("estimator", [LogisticRegression(), RandomForestClassifier(5)])
def test_the_number_of_jobs_changes_no_bit(estimator):
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        one = out_of_fold_probabilities(estimator, X, Y, random_state=0, n_jobs=1)
        two = out_of_fold_probabilities(estimator, X, Y, random_state=0, n_jobs=2)
    assert (one == two).all()


def test_only_the_random_state_is_used_and_nothing_global_is_touched():
    forest = RandomForestClassifier(5)
    before = np.random.get_state()[1].copy()
    one = out_of_fold_probabilities(forest, X, Y, random_state=7)
    again = out_of_fold_probabilities(forest, X, Y, random_state=7)
    shared = np.random.RandomState(7)
    third = out_of_fold_probabilities(forest, X, Y, random_state=shared)
    fourth = out_of_fold_probabilities(forest, X, Y, random_state=shared)
    assert (one == again).all()
    assert (third == fourth).all()
    assert (one != out_of_fold_probabilities(forest, X, Y)).any()
    assert (np.random.get_state()[1] == before).all()
    assert forest.random_state is None
    assert not hasattr(forest, "estimators_")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cv": TimeSeriesSplit(3)}, "cv must be a partition: .*; row 0 is in 0. Use a K-fold"),
        ({"cv": ShuffleSplit(5, random_state=0)}, "cv must be a partition: every row in exactly"),
        (
            {"cv": []},
            "cv must yield at least one split, got none. A generator can be used only once",
        ),
        ({"cv": Empty()}, "cv must yield at least one split, got none"),
        ({"cv": [(ROWS[:60], ROWS[60:]), (ROWS, [])]}, r"row numbers from 0 to 119, .* got \[\]"),
        ({"cv": GroupKFold(3)}, "The 'groups' parameter should not be None"),
        ({"cv": 1}, "cv must be at least 2, got 1. Pass e.g. cv=3."),
        ({"cv": True}, r"cv must be an int, a splitter or an iterable .* got True. Pass e.g. cv=3"),
        ({"cv": None}, "cv must be an int, a splitter or an iterable .* got None"),
        ({"cv": "5"}, "cv must be an int, a splitter or an iterable .* got '5'"),
        ({"cv": 2.0}, "cv must be an int, a splitter or an iterable .* got 2.0"),
        ({"cv": 40}, "cv=40 needs at least 40 rows of each class; the positive class has 39. Use"),
        ({"cv": 40, "pos_label": 0}, "the negative class has 39"),
        ({"groups": Y}, "cv must leave both classes in every training set; fold 0 has only one"),
        ({"groups": Y[:9]}, "groups must have one value per row of X, got 9 for 120 rows. Check"),
        ({"y": Y[:9]}, "y must have one value per row of X, got 9 for 120 rows"),
        ({"X": None}, "X must have one row per label, got None"),
        ({"groups": Y, "cv": 3}, "cv=3 needs at least 3 groups, got 2. Use fewer folds"),
        ({"cv": [1, 2]}, r"cv must be an int, a splitter or an iterable .* got \[1, 2\]"),
        ({"cv": [(ROWS, ROWS[i::3]) for i in range(3)]}, "cv must keep test rows out of training"),
        (
            {"cv": [(ROWS + 120, ROWS)]},
            r"from 0 to 119, .* got \[120 121 122 \.\.\. 237 238 239\]",
        ),
        ({"cv": [(ROWS - 1, ROWS)]}, "cv must hold row numbers from 0 to 119"),
        ({"cv": [(ROWS + 0.5, ROWS)]}, "cv must hold row numbers from 0 to 119"),
        ({"cv": [(np.ones(121, dtype=bool), ROWS)]}, "or masks of 120 rows"),
        ({"random_state": "a"}, "random_state must be an int from 0 to .* or None, got 'a'"),
        ({"random_state": 2**32}, r"must be an int from 0 to 2\*\*32 - 1, .* got 4294967296"),
        ({"random_state": -1}, "random_state must be an int from 0 to .* got -1"),
        ({"groups": Y[:, None]}, r"groups must be one-dimensional, .* got shape \(120, 1\)"),
        (
            {"groups": np.array([slice(1), *Y[1:]], dtype=object)},
            "groups must be single values such as numbers or names: unhashable type",
        ),
        ({"cv": b"x"}, "cv must be an int, a splitter or an iterable .* got b'x'"),
        ({"estimator": Flat()}, r"two columns, .* predict_proba of Flat gave shape \(60,\) for 60"),
        ({"sample_weight": -Y}, "sample_weight must be finite and not negative"),
        ({"estimator": LinearSVC()}, r"estimator must have predict_proba, got LinearSVC\(\). Wrap"),
        (
            {"estimator": Fixed(np.nan)},
            "estimator must predict probabilities .* gave nan for",
        ),
        ({"estimator": Fixed(1.1)}, r"Fixed gave 1.1 for row \d+ in fold 0. Check the features"),
        ({"estimator": Fixed(-0.1)}, "gave -0.1 for row"),
        ({"y": [1] * 120}, "y must hold two classes, got one class only"),
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning:sklearn")
def test_invalid_arguments_are_refused(arguments, message):
    call = {"estimator": LogisticRegression(), "X": X, "y": Y, "cv": 2, **arguments}
    with pytest.raises(ValueError, match=message):
        out_of_fold_probabilities(**call)


def test_values_slightly_outside_the_range_are_clipped():
    assert out_of_fold_probabilities(Fixed(1 + 1e-7), X, Y).max() == 1
    assert out_of_fold_probabilities(Fixed(-1e-7), X, Y).min() == 0


def test_folds_smaller_than_a_class_allow_two_rows_a_class():
    found = out_of_fold_probabilities(Fixed(), X[:4], [0, 1, 0, 1], cv=2)
    assert found.tolist() == [0.5] * 4


def test_data_frames_keep_their_columns():
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(20)], index=np.arange(120)[::-1] * 3)
    labels = pd.Series(np.where(Y == 1, "yes", "no"), index=frame.index)
    found = out_of_fold_probabilities(LogisticRegression(), frame, labels, random_state=0)
    expected = out_of_fold_probabilities(LogisticRegression(), X, Y, random_state=0)
    assert found == pytest.approx(expected)


def test_group_splitters_get_their_groups(caplog):
    with caplog.at_level(logging.DEBUG, logger="rankprune"):
        out_of_fold_probabilities(
            LogisticRegression(), X, Y, cv=GroupKFold(3), groups=np.arange(120) // 10
        )
    assert "scored 3 of 3 folds" in caplog.text


def test_progress_is_logged_as_numbers_beside_the_text(caplog):
    with caplog.at_level(logging.DEBUG, logger="rankprune"):
        out_of_fold_probabilities(LogisticRegression(), X, Y, cv=2)
    events = [record.progress for record in caplog.records if hasattr(record, "progress")]
    assert events == [("scoring rows", 1, 2), ("scoring rows", 2, 2)]


# More than two labels.


MANY = ROWS % 3
BLOBS = np.random.default_rng(0).normal(size=(120, 3)) + 2 * np.eye(3)[MANY]


def test_columns_of_many_labels_equal_those_of_cross_val_predict():
    splitter = StratifiedKFold(4, shuffle=True, random_state=3)
    labels = np.array(["owl", "ant", "cow"])[MANY]
    expected = cross_val_predict(
        LogisticRegression(), BLOBS, labels, cv=splitter, method="predict_proba"
    )
    for cv in (splitter, list(splitter.split(BLOBS, labels))):
        found = out_of_fold_probabilities(LogisticRegression(), BLOBS, labels, cv=cv)
        assert (found == expected).all()
    with pytest.raises(
        ValueError, match=r"pos_label must be None for more .* for two labels alone"
    ):
        out_of_fold_probabilities(LogisticRegression(), BLOBS, labels, pos_label="owl")


def test_folds_are_stratified_by_all_labels_and_do_not_depend_on_their_names():
    labels = np.repeat([0, 1, 2], [60, 42, 18])
    names = np.array(["b", "c", "a"])[labels]
    one, other = (
        make_splits(3, BLOBS, validate_any_labels(y, None)[0], None, None, seed=0)
        for y in (labels, names)
    )
    for (train, test), (again, _) in zip(one, other, strict=True):
        assert np.bincount(labels[test]).tolist() == [20, 14, 6]
        assert (train == again).all()


def test_a_label_without_weight_is_no_class():
    labels = np.where(ROWS < 5, 9, MANY)
    found = out_of_fold_probabilities(LogisticRegression(), BLOBS, labels, sample_weight=ROWS >= 5)
    assert found.shape == (120, 3)
    two = np.where(MANY == 2, 1, MANY)
    labels = np.where(ROWS < 5, 9, two)
    found = out_of_fold_probabilities(LogisticRegression(), BLOBS, labels, sample_weight=ROWS >= 5)
    assert found.shape == (120,)


def test_copies_are_split_if_a_class_would_be_left_with_too_few_distinct_rows():
    labels, units = np.r_[np.zeros(60, int), np.ones(54, int), np.full(6, 2)], ROWS.copy()
    units[114:] = 114
    given = validate_any_labels(labels, None)[0]
    for train, _ in make_splits(3, BLOBS, given, None, None, seed=0, units=units):
        assert np.bincount(labels[train], minlength=3).min() == 4
