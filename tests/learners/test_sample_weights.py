"""Weights reach the model through pipelines, searches and routing, or a warning is given."""

import numpy as np
import pytest
import sklearn
from scipy.stats import uniform
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.feature_selection import RFE, RFECV
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.metrics import get_scorer
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    KFold,
    RandomizedSearchCV,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from rankprune import RankPruningClassifier
from rankprune.exceptions import SampleWeightIgnoredWarning
from rankprune.learners._cloning import (
    copy_input_tags,
    fresh_clone,
    private_random_state,
    seeded_splitter,
)
from rankprune.learners._sample_weights import (
    accepts_sample_weight,
    fit_weighted,
    warn_if_weights_are_lost,
)

X, Y = make_classification(100, flip_y=0.3, random_state=0)
WEIGHT = np.random.default_rng(0).random(100) * 3

knn, logistic = KNeighborsClassifier(), LogisticRegression()
scaled_logistic = make_pipeline(StandardScaler(), logistic)


@pytest.mark.parametrize(
    ("estimator", "plain", "routed"),
    [
        (logistic, True, True),
        (knn, False, False),
        (scaled_logistic, True, True),
        (make_pipeline(StandardScaler(), knn), False, False),
        (make_pipeline(StandardScaler(), scaled_logistic), True, True),
        (make_pipeline(StandardScaler(), "passthrough"), False, False),
        (GridSearchCV(logistic, {"C": [1]}), True, True),
        (GridSearchCV(scaled_logistic, {"logisticregression__C": [1]}), True, True),
        (GridSearchCV(knn, {"n_neighbors": [1]}), False, False),
        (RFE(logistic), True, True),
        (RFECV(logistic), False, True),
        (VotingClassifier([("a", logistic), ("b", "drop")]), True, True),
        (VotingClassifier([("a", logistic), ("b", knn)]), False, False),
        (VotingClassifier([("a", scaled_logistic)]), False, True),
        (StackingClassifier([("a", logistic)]), True, True),
        (StackingClassifier([("a", logistic)], final_estimator=knn), False, False),
        (LogisticRegressionCV(), True, True),
        (HistGradientBoostingClassifier(), True, True),
        (CalibratedClassifierCV(logistic), True, True),
        (CalibratedClassifierCV(knn), False, False),
        (BaggingClassifier(), True, True),
        (AdaBoostClassifier(), True, False),
        (AdaBoostClassifier(knn), False, False),
        (OneVsRestClassifier(logistic), False, True),
        (FixedThresholdClassifier(logistic), False, True),
        (RankPruningClassifier(), True, True),
    ],
    ids=repr,
)
def test_which_estimators_take_weights(estimator, plain, routed):
    assert accepts_sample_weight(estimator) is plain
    with sklearn.config_context(enable_metadata_routing=True):
        assert accepts_sample_weight(estimator) is routed


def nested():
    inner = Pipeline([("scale", StandardScaler()), ("model", LogisticRegression())])
    return Pipeline([("first", StandardScaler()), ("skip", "passthrough"), ("inner", inner)])


def columns():
    scale = ColumnTransformer([("scale", StandardScaler(), slice(0, 20))])
    return make_pipeline(scale, LogisticRegression())


def search(scoring=None, base=LogisticRegression, name="C"):
    return GridSearchCV(
        base(),
        {name: [1.0]},
        scoring=scoring,
        refit="roc_auc" if isinstance(scoring, list) else True,
    )


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize(
    "make",
    [
        LogisticRegression,
        lambda: make_pipeline(StandardScaler(), LogisticRegression()),
        nested,
        columns,
        search,
        lambda: search("roc_auc"),
        lambda: search(["roc_auc", "accuracy"]),
        lambda: search(get_scorer("f1")),
        lambda: search(base=nested, name="inner__model__C"),
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
    if isinstance(fitted, GridSearchCV):
        scores = [value for key, value in fitted.cv_results_.items() if "mean_test" in key]
        assert np.isfinite(scores).all()


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize(
    "estimator",
    [
        VotingClassifier([("a", scaled_logistic)], voting="soft"),
        OneVsRestClassifier(logistic),
        FixedThresholdClassifier(logistic),
        BaggingClassifier(DecisionTreeClassifier(), n_estimators=3, random_state=0),
        AdaBoostClassifier(n_estimators=3, random_state=0),
        CalibratedClassifierCV(scaled_logistic),
        RFECV(logistic, scoring="accuracy"),
        RFECV(logistic),
        LogisticRegressionCV(Cs=2, scoring="accuracy"),
        HistGradientBoostingClassifier(max_iter=3),
        StackingClassifier([("a", logistic)]),
        StackingClassifier([("a", logistic)], final_estimator=knn),
        GridSearchCV(logistic, {"C": [1]}, scoring={"a": "f1", "b": "roc_auc"}, refit="a"),
        GridSearchCV(
            scaled_logistic,
            [{"logisticregression": [LogisticRegression(), GaussianNB()]}],
        ),
        RandomizedSearchCV(logistic, {"C": uniform(0.1, 1)}, n_iter=2, random_state=0),
        RankPruningClassifier(),
    ],
    # Without addresses, so that a test has the same name in every process.
    ids=lambda estimator: repr(estimator).split(" object at ")[0],
)
@pytest.mark.filterwarnings("ignore::rankprune.exceptions.RankPruneWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")  # defaults of LogisticRegressionCV change
def test_any_other_meta_estimator_fits_too(estimator, routing):
    with sklearn.config_context(enable_metadata_routing=routing):
        fitted = fit_weighted(clone(estimator), X, Y, WEIGHT)
    assert fitted.predict(X).shape == (100,)


def test_an_estimator_without_routing_is_fitted_without_weights():
    class Foreign:
        def fit(self, X, y, sample_weight=None):
            self.weight = sample_weight
            return self

    assert accepts_sample_weight(Foreign())
    with sklearn.config_context(enable_metadata_routing=True):
        assert not accepts_sample_weight(Foreign())
        assert fit_weighted(Foreign(), X, Y, WEIGHT).weight is None


def test_an_alias_requests_other_weights():
    with sklearn.config_context(enable_metadata_routing=True):
        aliased = LogisticRegression().set_fit_request(sample_weight="mine")
        assert not accepts_sample_weight(make_pipeline(StandardScaler(), aliased))
        fit_weighted(make_pipeline(StandardScaler(), aliased), X, Y, WEIGHT)


def test_a_refusal_of_the_user_is_respected_with_a_warning():
    with sklearn.config_context(enable_metadata_routing=True):
        refusing = LogisticRegression().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(StandardScaler(), refusing)
        assert not accepts_sample_weight(pipeline)
        with pytest.warns(SampleWeightIgnoredWarning, match="Pipeline takes no .*: no effect. Use"):
            warn_if_weights_are_lost(pipeline, WEIGHT, "no effect")
        fitted = fit_weighted(pipeline, X, Y, WEIGHT)
    expected = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y)
    assert (fitted[-1].coef_ == expected[-1].coef_).all()


def test_a_request_the_user_made_is_left_alone():
    with sklearn.config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=True)
        weighted = fit_weighted(make_pipeline(scaler, LogisticRegression()), X, Y, WEIGHT)
        plain = fit_weighted(make_pipeline(StandardScaler(), LogisticRegression()), X, Y, WEIGHT)
    assert weighted[0].mean_ == pytest.approx(np.average(X, axis=0, weights=WEIGHT))
    assert plain[0].mean_ == pytest.approx(X.mean(axis=0))


def test_the_fit_is_plain_without_weights_or_if_the_estimator_takes_none():
    assert fit_weighted(KNeighborsClassifier(), X, Y, WEIGHT).n_samples_fit_ == 100
    expected = LogisticRegression().fit(X, Y).coef_
    assert (fit_weighted(LogisticRegression(), X, Y, None).coef_ == expected).all()


def test_clones_are_seeded_only_if_no_seed_was_given():
    forest = fresh_clone(RandomForestClassifier(), 5)
    assert forest.random_state == 5
    assert fresh_clone(RandomForestClassifier(random_state=1), 5).random_state == 1
    nested_forest = fresh_clone(make_pipeline(StandardScaler(), RandomForestClassifier()), 5)
    assert nested_forest[-1].random_state == 5
    assert fresh_clone(KNeighborsClassifier(), 5).get_params() == knn.get_params()


def test_splitters_are_seeded_only_if_they_shuffle_without_a_seed():
    assert seeded_splitter(KFold(3, shuffle=True), 5).random_state == 5
    assert seeded_splitter(KFold(3, shuffle=True, random_state=1), 5).random_state == 1
    assert seeded_splitter(KFold(3), 5).random_state is None
    searching = GridSearchCV(LogisticRegression(), {"C": [1]}, cv=KFold(3, shuffle=True))
    assert fresh_clone(searching, 5).cv.random_state == 5
    assert searching.cv.random_state is None


def test_a_private_generator_leaves_others_unchanged():
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
