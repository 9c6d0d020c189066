"""Columns and scores follow ``classes_``, whatever the order of the base's own classes."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankprune import RankPruningClassifier, flip_labels, out_of_fold_probabilities
from rankprune.core import make_gaussians
from rankprune.methods import (
    BaggingPUClassifier,
    ConsistencyPruningClassifier,
    CoTrainingClassifier,
    ElkanNotoClassifier,
    ImportanceReweightingClassifier,
    LabelDependentCostClassifier,
)
from reversed_classes import ReversedLogistic, ReversedVoter

X, TRUTH = make_gaussians(300, separability=3, random_state=0)
Y = flip_labels(TRUTH, positive_noise_rate=0.3, negative_noise_rate=0, random_state=0)
KINDS = {
    "integers": np.array([0, 1]),
    "strings": np.array(["ham", "spam"]),
    "fractions": np.array([0.5, 1.5]),
    "booleans": np.array([False, True]),
}
METHODS = [
    RankPruningClassifier,
    ImportanceReweightingClassifier,
    LabelDependentCostClassifier,
    ElkanNotoClassifier,
    ConsistencyPruningClassifier,
]


@pytest.mark.parametrize("classes", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("positive", [0, 1])
@pytest.mark.parametrize("method", METHODS)
def test_a_base_with_reversed_classes_gives_the_same_columns(method, classes, positive):
    labels = classes[Y if positive else 1 - Y]
    parameters = {"pos_label": classes[positive], "random_state": 0}
    plain = method(LogisticRegression(max_iter=1000), **parameters).fit(X, labels)
    turned = method(ReversedLogistic(), **parameters).fit(X, labels)
    assert (turned.classes_ == plain.classes_).all()
    assert (turned.predict(X) == plain.predict(X)).all()
    assert turned.predict_proba(X) == pytest.approx(plain.predict_proba(X))
    assert turned.predict_log_proba(X) == pytest.approx(plain.predict_log_proba(X))
    if hasattr(plain, "decision_function"):
        assert turned.decision_function(X) == pytest.approx(plain.decision_function(X))


@pytest.mark.parametrize("weighting", [False, True])
def test_elkan_noto_reads_the_column_of_the_positive_class(weighting):
    plain = ElkanNotoClassifier(weighting=weighting, random_state=0).fit(X, Y)
    turned = ElkanNotoClassifier(ReversedLogistic(), weighting=weighting, random_state=0)
    turned.fit(X, Y)
    assert turned.predict_proba(X) == pytest.approx(plain.predict_proba(X))
    if weighting:
        assert turned.decision_function(X) == pytest.approx(plain.decision_function(X))


@pytest.mark.parametrize("classes", KINDS.values(), ids=KINDS)
def test_bags_read_the_column_of_the_positive_class(classes):
    plain, turned = (
        BaggingPUClassifier(base, n_estimators=5, random_state=0).fit(X, classes[Y])
        for base in (LogisticRegression(max_iter=1000), ReversedLogistic())
    )
    assert turned.predict_proba(X) == pytest.approx(plain.predict_proba(X))
    assert turned.out_of_bag_probabilities_ == pytest.approx(
        plain.out_of_bag_probabilities_, nan_ok=True
    )


@pytest.mark.parametrize("classes", KINDS.values(), ids=KINDS)
def test_votes_of_bags_count_the_positive_label(classes):
    model = BaggingPUClassifier(ReversedVoter(), n_estimators=5, random_state=0)
    model.fit(X, classes[Y])
    assert (model.predict(X) == classes[TRUTH]).mean() > 0.9
    scores = model.out_of_bag_probabilities_
    assert np.nanmean(scores[TRUTH == 1]) > np.nanmean(scores[TRUTH == 0])


@pytest.mark.parametrize("classes", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("positive", [0, 1])
def test_co_training_reads_the_column_of_the_positive_class(classes, positive):
    labels = classes[Y if positive else 1 - Y]
    plain, turned = (
        CoTrainingClassifier(base, rounds=5, pos_label=classes[positive], random_state=0)
        for base in (LogisticRegression(max_iter=1000), ReversedLogistic())
    )
    plain.fit(X, labels), turned.fit(X, labels)
    assert turned.predict_proba(X) == pytest.approx(plain.predict_proba(X))
    assert (turned.additions_.labels == plain.additions_.labels).all()
    assert (turned.predict(X) == plain.predict(X)).all()


def test_scores_in_two_columns_are_reordered_too():
    model = RankPruningClassifier(ReversedLogistic(two_scores=True), random_state=0).fit(X, Y)
    scores = model.decision_function(X)
    assert scores.shape == (len(X), 2)
    assert (scores.argmax(axis=1) == model.predict(X)).all()


def test_the_base_may_end_a_pipeline():
    plain, turned = (
        RankPruningClassifier(make_pipeline(StandardScaler(), base), random_state=0).fit(X, Y)
        for base in (LogisticRegression(max_iter=1000), ReversedLogistic())
    )
    assert turned.predict_proba(X) == pytest.approx(plain.predict_proba(X))


def test_out_of_fold_probabilities_are_those_of_the_positive_label():
    plain, turned = (
        out_of_fold_probabilities(base, X, KINDS["strings"][Y], random_state=0)
        for base in (LogisticRegression(max_iter=1000), ReversedLogistic())
    )
    assert turned == pytest.approx(plain)


class Anonymous(ClassifierMixin, BaseEstimator):
    """Logistic regression without ``classes_``."""

    def fit(self, X, y, sample_weight=None):
        self.model_ = LogisticRegression(max_iter=1000).fit(X, y, sample_weight)
        return self

    def predict(self, X):
        return self.model_.predict(X)

    def predict_proba(self, X):
        return self.model_.predict_proba(X)


def test_a_base_without_classes_is_read_in_sorted_order():
    plain = RankPruningClassifier(random_state=0).fit(X, Y)
    model = RankPruningClassifier(Anonymous(), random_state=0).fit(X, Y)
    assert model.probabilities_ == pytest.approx(plain.probabilities_)
    assert model.predict_proba(X) == pytest.approx(plain.predict_proba(X))
