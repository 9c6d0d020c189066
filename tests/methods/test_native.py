"""Methods are interchangeable, and work with scikit-learn's tools."""

import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankprune import NoiseRates, RankPruningClassifier, flip_labels
from rankprune.core import NOISE_ESTIMATORS, make_gaussians
from rankprune.exceptions import UninformativeProbabilitiesWarning
from rankprune.methods import (
    BaggingPUClassifier,
    BiasedSVMClassifier,
    ConsistencyPruningClassifier,
    CoTrainingClassifier,
    ElkanNotoClassifier,
    ImportanceReweightingClassifier,
    LabelDependentCostClassifier,
    OneClassPUClassifier,
    RESVMClassifier,
    UnbiasedLossClassifier,
    WeightedLogisticPUClassifier,
)

BY_RATES = [
    LabelDependentCostClassifier,
    UnbiasedLossClassifier,
    ImportanceReweightingClassifier,
    ElkanNotoClassifier,
]
WITH_ESTIMATOR = [*BY_RATES, ConsistencyPruningClassifier, BaggingPUClassifier]
ALL = [
    *WITH_ESTIMATOR,
    CoTrainingClassifier,
    WeightedLogisticPUClassifier,
    BiasedSVMClassifier,
    RESVMClassifier,
    OneClassPUClassifier,
]


def make(method, **parameters):
    """Return a small, seeded model of the method."""
    names = inspect.signature(method).parameters
    if "random_state" in names:
        parameters["random_state"] = 0
    if "n_estimators" in names:
        parameters.setdefault("n_estimators", 5)
    return method(**parameters)


@pytest.fixture(scope="module")
def rows():
    X, truth = make_gaussians(400, prevalence=0.4, random_state=0)
    return X, flip_labels(truth, positive_noise_rate=0.3, negative_noise_rate=0, random_state=0)


@pytest.mark.parametrize("method", BY_RATES)
def test_parameters_are_those_of_rank_pruning(method):
    mine = inspect.signature(method).parameters
    theirs = inspect.signature(RankPruningClassifier).parameters
    assert set(theirs) - set(mine) <= {"rounds", "negative_noise_rate", "noise_matrix", "rare"}
    assert list(inspect.signature(method.fit).parameters)[:6] == [
        *("self", "X", "y", "sample_weight", "groups", "probabilities")
    ]
    for name in set(mine) & set(theirs) - {"noise_estimator"}:
        assert mine[name].default == theirs[name].default


@pytest.mark.parametrize("method", ALL)
class TestEverywhere:
    def test_clone_and_pickle(self, method, rows):
        X, y = rows
        model = clone(make(method)).fit(X, y)
        assert (pickle.loads(pickle.dumps(model)).predict(X) == model.predict(X)).all()

    def test_data_frames_keep_their_names(self, method, rows):
        X, y = rows
        frame = pd.DataFrame(X, columns=["a", "b"])
        model = make(method).fit(frame, pd.Series(y))
        assert model.feature_names_in_.tolist() == ["a", "b"]
        assert len(model.predict_proba(frame)) == len(frame)

    def test_sparse_rows(self, method, rows):
        X, y = rows
        dense = make(method).fit(X, y).predict(X)
        assert (make(method).fit(csr_array(X), y).predict(csr_array(X)) == dense).mean() > 0.98

    def test_string_labels_come_back(self, method, rows):
        X, y = rows
        names = np.where(y == 1, "spam", "ham")
        model = make(method, pos_label="spam").fit(X, names)
        assert set(model.predict(X)) == {"spam", "ham"}
        assert ((model.predict(X) == "spam") == (make(method).fit(X, y).predict(X) == 1)).all()

    def test_a_step_of_a_pipeline(self, method, rows):
        X, y = rows
        assert make_pipeline(StandardScaler(), make(method)).fit(X, y).score(X, y) > 0.6

    def test_labels_in_the_wrong_shape_or_number_are_refused(self, method, rows):
        X, y = rows
        with pytest.raises(ValueError, match="y must have one value per row of X, got 399"):
            make(method).fit(X, y[1:])
        with pytest.raises(ValueError, match=r"y must not be missing; row 0 holds nan"):
            make(method).fit(X, np.where(np.arange(len(y)) == 0, np.nan, y))
        with pytest.raises(ValueError, match="y must hold two classes, got 3"):
            make(method).fit(X, np.arange(len(y)) % 3)
        with pytest.raises(ValueError, match="pos_label must be one of the two label values"):
            make(method, pos_label="yes").fit(X, y)

    def test_a_failed_fit_leaves_no_model(self, method, rows):
        X, y = rows
        model = make(method).fit(X, y)
        with pytest.raises(ValueError, match="one class"):
            model.fit(X, np.ones(len(y)))
        with pytest.raises(sklearn.exceptions.NotFittedError):
            model.predict(X)

    def test_a_fit_that_fails_late_leaves_no_model_either(self, method, rows):
        X, y = rows
        model = make(method)
        if "cv" not in model.get_params():
            pytest.skip("has no folds that could fail")
        with pytest.raises(ValueError, match="cv=1000 needs at least 1000 rows"):
            model.set_params(cv=1000).fit(X, y)
        with pytest.raises(sklearn.exceptions.NotFittedError):
            model.predict(X)

    def test_equal_weights_are_no_weights(self, method, rows):
        X, y = rows
        plain = make(method).fit(X, y).predict_proba(X)
        assert make(method).fit(X, y, sample_weight=np.ones(len(y))).predict_proba(
            X
        ) == pytest.approx(plain, abs=1e-6)

    def test_the_global_generator_is_left_alone(self, method, rows):
        X, y = rows
        before = repr(np.random.get_state())
        parameters = {"random_state": None} if "random_state" in make(method).get_params() else {}
        make(method).set_params(**parameters).fit(X, y)
        assert repr(np.random.get_state()) == before


@pytest.mark.parametrize("method", WITH_ESTIMATOR)
class TestWithEstimator:
    def test_texts_in_a_pipeline(self, method):
        texts = ["good fine great", "bad awful poor"] * 40
        y = np.array([1, 0] * 40)
        base = make_pipeline(TfidfVectorizer(), LogisticRegression())
        assert (make(method, estimator=base).fit(texts, y).predict(texts) == y).all()

    def test_class_weights_by_name(self, method, rows):
        X, y = rows
        names = np.where(y == 1, "yes", "no")
        base = LogisticRegression(class_weight={"no": 1, "yes": 2})
        for parameters in ({}, {"noise_estimator": "cross-validation"}):
            try:
                model = make(method, estimator=base, **parameters)
            except TypeError:
                continue  # has no noise estimator
            if parameters and method is not LabelDependentCostClassifier:
                continue
            assert set(model.fit(X, names).predict(X)) == {"yes", "no"}

    def test_regressors_are_refused(self, method, rows):
        with pytest.raises(ValueError, match="must be a classifier, got LinearRegression"):
            make(method, estimator=LinearRegression()).fit(*rows)

    def test_the_estimator_passed_in_is_left_alone(self, method, rows):
        base = LogisticRegression()
        make(method, estimator=base).fit(*rows)
        assert not hasattr(base, "coef_")


@pytest.mark.parametrize("method", BY_RATES)
class TestByRates:
    def test_every_noise_estimator_is_usable(self, method, rows):
        X, y = rows
        for name in NOISE_ESTIMATORS:
            model = make(method, noise_estimator=name).fit(X, y)
            assert isinstance(model.noise_rates_, NoiseRates)
        by_hand = make(method, noise_estimator=NOISE_ESTIMATORS["curve"]).fit(X, y)
        named = make(method, noise_estimator="curve").fit(X, y)
        assert by_hand.noise_rates_ == named.noise_rates_

    def test_given_probabilities_are_used(self, method, rows):
        X, y = rows
        first = make(method).fit(X, y)
        again = make(method, cv="nonsense").fit(X, y, probabilities=first.probabilities_)
        assert again.noise_rates_ == first.noise_rates_
        assert again.predict_proba(X) == pytest.approx(first.predict_proba(X))

    def test_a_search_over_noise_estimators(self, method, rows):
        search = GridSearchCV(
            make(method), {"noise_estimator": ["curve", "confident-counts"]}, cv=3
        ).fit(*rows)
        assert search.best_score_ > 0.7

    def test_groups_stay_together(self, method, rows):
        X, y = rows
        with pytest.raises(ValueError, match="needs at least 3 groups, got 1"):
            make(method).fit(X, y, groups=np.zeros(len(y)))

    def test_metadata_is_routed(self, method, rows):
        X, y = rows
        with sklearn.config_context(enable_metadata_routing=True):
            model = make(method).set_fit_request(groups=True, sample_weight=True)
            found = cross_validate(
                model.set_score_request(sample_weight=True),
                X,
                y,
                params={"groups": np.arange(len(y)) // 2, "sample_weight": np.ones(len(y))},
                cv=2,
            )
        assert found["test_score"].min() > 0.6

    def test_uninformative_probabilities_correct_nothing(self, method, rows):
        X, y = rows
        model = make(method)
        with pytest.warns(UninformativeProbabilitiesWarning):
            model.fit(X, y, probabilities=np.full(len(y), 0.5))
        assert not model.noise_rates_.reliable
        plain = LogisticRegression(max_iter=1000).fit(X, y)
        assert (model.predict(X) == plain.predict(X)).mean() > 0.99

    def test_impossible_rates_are_refused(self, method, rows):
        X, y = rows
        with pytest.raises(ValueError, match=r"positive_noise_rate must lie in \[0, 1\), got 1.5"):
            make(method, positive_noise_rate=1.5).fit(X, y)

    def test_a_scorer_without_probabilities_is_refused(self, method, rows):
        from sklearn.svm import LinearSVC

        with pytest.raises(ValueError, match="scorer must have predict_proba"):
            make(method, scorer=LinearSVC()).fit(*rows)

    def test_another_scorer_is_used(self, method, rows):
        X, y = rows
        with pytest.warns(UninformativeProbabilitiesWarning):
            model = make(method, scorer=DummyClassifier()).fit(X, y)
        assert len(np.unique(model.probabilities_)) <= 3
