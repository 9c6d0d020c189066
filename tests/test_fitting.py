"""Weights find their way through pipelines, searches and metadata routing; or a warning says so."""

import numpy as np
import pytest
import sklearn
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier, StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from rankprune._fitting import (
    accepts_sample_weight,
    copy_input_tags,
    fit_weighted,
    fresh_clone,
    private_random_state,
)

X, Y = make_classification(100, flip_y=0.3, random_state=0)
WEIGHT = np.random.default_rng(0).random(100) * 3

knn, logistic = KNeighborsClassifier(), LogisticRegression()


@pytest.mark.parametrize(
    ("estimator", "accepts"),
    [
        (logistic, True),
        (knn, False),
        (make_pipeline(StandardScaler(), logistic), True),
        (make_pipeline(StandardScaler(), knn), False),
        (make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), logistic)), True),
        (make_pipeline(StandardScaler(), "passthrough"), False),
        (GridSearchCV(logistic, {"C": [1]}), True),
        (GridSearchCV(knn, {"n_neighbors": [1]}), False),
        (VotingClassifier([("a", logistic), ("b", "drop")]), True),
        (VotingClassifier([("a", logistic), ("b", knn)]), False),
        (StackingClassifier([("a", logistic)]), True),
        (CalibratedClassifierCV(logistic), True),
    ],
)
def test_who_takes_weights(estimator, accepts):
    assert accepts_sample_weight(estimator) is accepts


def nested():
    inner = Pipeline([("scale", StandardScaler()), ("model", LogisticRegression())])
    return Pipeline([("first", StandardScaler()), ("inner", inner)])


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize(
    "make",
    [
        LogisticRegression,
        lambda: make_pipeline(StandardScaler(), LogisticRegression()),
        nested,
        lambda: GridSearchCV(LogisticRegression(), {"C": [1.0]}),
        lambda: VotingClassifier([("a", LogisticRegression())], voting="soft"),
    ],
)
def test_weights_change_the_fit_the_same_way_with_and_without_routing(make, routing):
    scaled = StandardScaler().fit_transform(X)
    with sklearn.config_context(enable_metadata_routing=routing):
        estimator = make()
        fitted = fit_weighted(estimator, scaled, Y, WEIGHT)
    direct = LogisticRegression().fit(scaled, Y, sample_weight=WEIGHT)
    assert fitted is estimator
    assert fitted.predict_proba(scaled) == pytest.approx(direct.predict_proba(scaled), abs=1e-6)


def test_a_request_the_user_made_is_left_alone():
    with sklearn.config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=True)
        weighted = fit_weighted(make_pipeline(scaler, LogisticRegression()), X, Y, WEIGHT)
        plain = fit_weighted(make_pipeline(StandardScaler(), LogisticRegression()), X, Y, WEIGHT)
    assert weighted[0].mean_ == pytest.approx(np.average(X, axis=0, weights=WEIGHT))
    assert plain[0].mean_ == pytest.approx(X.mean(axis=0))


def test_without_weights_or_without_a_place_for_them_the_fit_is_plain():
    assert fit_weighted(KNeighborsClassifier(), X, Y, WEIGHT).n_samples_fit_ == 100
    expected = LogisticRegression().fit(X, Y).coef_
    assert (fit_weighted(LogisticRegression(), X, Y, None).coef_ == expected).all()


def test_clones_are_seeded_only_where_no_seed_was_given():
    forest = fresh_clone(RandomForestClassifier(), 5)
    assert forest.random_state == 5
    assert fresh_clone(RandomForestClassifier(random_state=1), 5).random_state == 1
    nested_forest = fresh_clone(make_pipeline(StandardScaler(), RandomForestClassifier()), 5)
    assert nested_forest[-1].random_state == 5
    assert fresh_clone(KNeighborsClassifier(), 5).get_params() == knn.get_params()


def test_a_private_generator_advances_nobody_elses():
    shared = np.random.RandomState(0)
    before = shared.get_state()[1].copy()
    assert private_random_state(shared).randint(100) == np.random.RandomState(0).randint(100)
    assert (shared.get_state()[1] == before).all()
    assert private_random_state(3).randint(100) == np.random.RandomState(3).randint(100)
    draws = {private_random_state(None).randint(2**31 - 1) for _ in range(5)}
    assert len(draws) > 1


def test_input_tags_are_those_of_the_estimator():
    tags = copy_input_tags(LogisticRegression().__sklearn_tags__(), KNeighborsClassifier())
    assert tags.input_tags.sparse
    assert not tags.input_tags.pairwise
