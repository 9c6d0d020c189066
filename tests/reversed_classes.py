"""A base estimator that keeps its classes in reverse order, as scikit-learn's never do."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression


class ReversedLogistic(ClassifierMixin, BaseEstimator):
    """Logistic regression with ``classes_`` in descending order, and all columns in that order."""

    def __init__(self, two_scores=False):
        self.two_scores = two_scores

    def fit(self, X, y, sample_weight=None):
        self.model_ = LogisticRegression(max_iter=1000).fit(X, y, sample_weight)
        self.classes_ = self.model_.classes_[::-1]
        return self

    def predict(self, X):
        return self.model_.predict(X)

    def predict_proba(self, X):
        return self.model_.predict_proba(X)[:, ::-1]

    def predict_log_proba(self, X):
        return self.model_.predict_log_proba(X)[:, ::-1]

    def decision_function(self, X):
        scores = self.model_.decision_function(X)
        return np.column_stack([scores, -scores]) if self.two_scores else -scores


class ReversedVoter(ClassifierMixin, BaseEstimator):
    """The same, but it predicts labels only."""

    def fit(self, X, y, sample_weight=None):
        self.model_ = LogisticRegression(max_iter=1000).fit(X, y, sample_weight)
        self.classes_ = self.model_.classes_[::-1]
        return self

    def predict(self, X):
        return self.model_.predict(X)
