"""Consistency pruning: votes by hand, both classes kept, and what it claims."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from rankprune import flip_labels
from rankprune.core import make_gaussians
from rankprune.exceptions import ClassAlmostEmptiedWarning
from rankprune.methods import ConsistencyPruningClassifier


class Sign(ClassifierMixin, BaseEstimator):
    """Calls rows above zero positive, whatever it was fitted to."""

    def fit(self, X, y):
        self.classes_, self.n_features_in_ = np.unique(y), X.shape[1]
        return self

    def predict(self, X):
        return self.classes_[(np.asarray(X)[:, 0] > 0).astype(int)]


@pytest.fixture(scope="module")
def noisy():
    X, truth = make_gaussians(800, prevalence=0.5, random_state=0)
    y = flip_labels(truth, positive_noise_rate=0.2, negative_noise_rate=0.2, random_state=0)
    return X, truth, y


def test_rows_that_others_contradict_are_pruned():
    """Of ten rows, the sign contradicts 3 and 7: all classifiers that did not see them agree."""
    X = np.array([-5.0, -4, -3, -2, -1, 1, 2, 3, 4, 5])[:, None]
    y = np.array([0, 0, 0, 1, 0, 1, 1, 0, 1, 1])
    model = ConsistencyPruningClassifier(Sign(), random_state=0).fit(X, y)
    assert np.flatnonzero(model.prune_mask_).tolist() == [3, 7]
    assert model.disagreement_[[3, 7]].tolist() == [1, 1]
    assert model.disagreement_.sum() == 2


def test_it_finds_even_noise(noisy):
    X, truth, y = noisy
    model = ConsistencyPruningClassifier(random_state=0).fit(X, y)
    assert (model.prune_mask_ == (y != truth)).mean() > 0.99
    assert model.score(X, truth) > 0.99


def test_estimators_need_no_probabilities_and_none_are_invented(noisy):
    X, truth, y = noisy
    model = ConsistencyPruningClassifier(LinearSVC(), random_state=0).fit(X, y)
    assert model.score(X, truth) > 0.99
    assert not hasattr(model, "predict_proba")


def test_a_higher_threshold_prunes_less(noisy):
    X, _, y = noisy
    counts = [
        ConsistencyPruningClassifier(threshold=t, random_state=0).fit(X, y).prune_mask_.sum()
        for t in (0.0, 0.5, 0.99)
    ]
    assert counts == sorted(counts, reverse=True)


def test_uneven_noise_makes_it_prune_right_labels():
    """It fails, as documented, if most positives are labeled negative."""
    X, truth = make_gaussians(800, prevalence=0.5, random_state=0)
    y = flip_labels(truth, positive_noise_rate=0.7, negative_noise_rate=0, random_state=0)
    model = ConsistencyPruningClassifier(random_state=0).fit(X, y)
    assert model.prune_mask_[(truth == 1) & (y == 1)].mean() > 0.9


def test_a_class_is_never_emptied():
    X = np.array([-3.0, -2, -1, -4, -5, -6])[:, None]
    y = np.array([0, 0, 0, 0, 1, 1])
    with pytest.warns(ClassAlmostEmptiedWarning, match="most credible row was kept"):
        model = ConsistencyPruningClassifier(Sign(), random_state=0).fit(X, y)
    assert model.prune_mask_[y == 1].sum() == 1


def test_a_sample_without_one_class_gets_a_row_of_it():
    X, y = np.arange(40.0)[:, None], np.array([1] + [0] * 39)
    model = ConsistencyPruningClassifier(LogisticRegression(C=0.01), random_state=0).fit(X, y)
    assert not model.prune_mask_[y == 1].all()


def test_weights_draw_rows_and_reach_the_final_fit(noisy):
    X, truth, y = noisy
    weight = np.where(np.arange(len(y)) < 400, 1.0, 0.0)
    model = ConsistencyPruningClassifier(random_state=0).fit(X, y, sample_weight=weight)
    assert not model.prune_mask_[400:].any()
    assert model.score(X, truth) > 0.97
