"""Boosting uses only the threads that help it, and leaves other limits unchanged."""

import threading
from functools import wraps

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_info, threadpool_limits

from rankprune import RankPruningClassifier, check_labels
from rankprune.comparison import compare
from rankprune.learners._committee import Boosting
from rankprune.learners._threads import useful_threads

X, Y = make_classification(200, 5, class_sep=2, random_state=0)
SMALL, LARGE = 1000, 2_000_000


def openmp_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "openmp"]


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.fixture(autouse=True)
def four_threads():
    """The caller allows four threads, whatever the environment says."""
    with threadpool_limits(4, user_api="openmp"):
        yield
        assert set(openmp_threads()) == {4}


@pytest.fixture
def seen(monkeypatch):
    """The threads that boosting is allowed, each time that it fits or predicts."""
    counts = []

    def watched(method):
        @wraps(method)
        def call(*args, **kwargs):
            counts.append(set(openmp_threads()))
            return method(*args, **kwargs)

        return call

    for name in ("fit", "predict_proba"):
        method = watched(getattr(HistGradientBoostingClassifier, name))
        monkeypatch.setattr(HistGradientBoostingClassifier, name, method)
    return counts


def test_a_small_table_is_boosted_on_one_thread(seen):
    Boosting(random_state=0).fit(X, Y).predict_proba(X)
    assert seen == [{1}, {1}]


def test_only_the_components_of_a_sparse_table_are_counted(seen):
    wide = csr_matrix(np.random.default_rng(0).poisson(0.01, (200, 12_000)))
    Boosting(random_state=0).fit(wide, Y).predict_proba(wide)
    assert seen == [{1}, {1}]


def test_a_large_table_gets_more_threads_but_never_more_than_the_caller_allows():
    with useful_threads(LARGE):
        assert set(openmp_threads()) == {4}
    with threadpool_limits(2, user_api="openmp"), useful_threads(LARGE):
        assert set(openmp_threads()) == {2}


def test_the_limits_are_restored_after_an_error():
    def divide():
        assert set(openmp_threads()) == {1}
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), useful_threads(SMALL):
        divide()
    assert set(openmp_threads()) == {4}


def test_a_fit_that_fails_leaves_the_limits_as_they_were():
    with pytest.raises(ValueError, match="inconsistent"):
        Boosting().fit(X, Y[:-1])
    assert set(openmp_threads()) == {4}


def test_other_threads_and_linear_algebra_are_not_limited():
    before, others = blas_threads(), []

    def compute():
        with threadpool_limits(3, user_api="openmp"):
            entered.set()
            limited.wait()
            others.append((set(openmp_threads()), blas_threads()))

    entered, limited = threading.Event(), threading.Event()
    other = threading.Thread(target=compute)
    other.start()
    entered.wait()
    with useful_threads(SMALL):
        limited.set()
        other.join()
        assert set(openmp_threads()) == {1}
    assert others == [({3}, before)]


def test_the_folds_of_a_committee_are_limited(seen):
    RankPruningClassifier(scorer="committee", cv=2, random_state=0).fit(X, Y)
    assert seen == [{1}] * 4  # two fits and two predictions


def test_a_comparison_is_limited(seen):
    compare(X, Y, estimator=Boosting(), methods=["rank-pruning"], random_state=0)
    assert seen
    assert all(count == {1} for count in seen)


def test_the_callers_own_classifier_keeps_its_threads(seen):
    RankPruningClassifier(HistGradientBoostingClassifier(max_iter=5), cv=2).fit(X, Y)
    assert seen
    assert all(count == {4} for count in seen)


@pytest.fixture
def algebra(monkeypatch):
    """The threads that linear algebra is allowed, each time that a model is fitted."""
    counts = []
    fit = LogisticRegression.fit

    def watched(*args, **kwargs):
        counts.append(set(blas_threads()))
        return fit(*args, **kwargs)

    monkeypatch.setattr(LogisticRegression, "fit", watched)
    with threadpool_limits(4, user_api="blas"):
        yield counts
        assert set(blas_threads()) == {4}


def test_a_check_of_a_small_table_uses_one_thread_of_linear_algebra(algebra):
    check_labels(X, Y)
    assert len(algebra) >= 3
    assert all(count == {1} for count in algebra)


def test_the_callers_own_classifier_keeps_its_threads_of_linear_algebra(algebra):
    check_labels(X, Y, LogisticRegression())
    assert algebra
    assert all(count == {4} for count in algebra)
