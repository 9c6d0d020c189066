"""Rank Pruning as an estimator: every kind of label and table, known rates, weights, trust."""

import logging
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier, StackingClassifier
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import LinearSVC

import plain
from rankprune import (
    NoiseRates,
    RankPruningClassifier,
    correction_weights,
    estimate_noise_rates,
    flip_labels,
    noise_rate_intervals,
    out_of_fold_probabilities,
    prune_labels,
)
from rankprune.exceptions import (
    ClassAlmostEmptiedWarning,
    NoiseRatesClippedWarning,
    SampleWeightIgnoredWarning,
    UninformativeProbabilitiesWarning,
)

N = 600
X, TRUTH = make_classification(
    N, n_features=5, n_clusters_per_class=1, class_sep=2, weights=[0.6], flip_y=0, random_state=0
)
Y = flip_labels(TRUTH, positive_noise_rate=0.3, negative_noise_rate=0.1, random_state=0)


def model(**parameters):
    return RankPruningClassifier(**{"random_state": 0, **parameters})


def same(one, other):
    """Two fitted classifiers are the same."""
    assert (one.prune_mask_ == other.prune_mask_).all()
    assert one.probabilities_ == pytest.approx(other.probabilities_, abs=1e-12)
    assert one.noise_rates_ == other.noise_rates_
    assert one.predict_proba(X) == pytest.approx(other.predict_proba(X), abs=1e-9)


def test_fit_is_algorithm_1_step_by_step():
    """The rates, the mask and the coefficients, written down without the package's core."""
    splitter = StratifiedKFold(3, shuffle=True, random_state=5)
    g = np.empty(N)
    for train, test in splitter.split(X, Y):
        g[test] = LogisticRegression().fit(X[train], Y[train]).predict_proba(X[test])[:, 1]
    p_p, n_p, p_n, n_n = plain.counts(Y, g)
    rho1, rho0 = n_p / (n_p + p_p), p_n / (p_n + n_n)
    p_s1 = Y.mean()
    pi1 = rho0 / p_s1 * (1 - p_s1 - rho1) / (1 - rho1 - rho0)
    pi0 = rho1 / (1 - p_s1) * (p_s1 - rho0) / (1 - rho1 - rho0)
    mask = plain.mask(Y, g, pi1, pi0)
    weight = np.where(Y == 1, 1 / (1 - rho1), 1 / (1 - rho0))
    final = LogisticRegression().fit(X[~mask], Y[~mask], sample_weight=weight[~mask])

    fitted = RankPruningClassifier(
        LogisticRegression(), noise_estimator="confident-counts", cv=splitter
    ).fit(X, Y)
    assert (fitted.probabilities_ == g).all()
    rates = fitted.noise_rates_
    assert (rates.positive_noise_rate, rates.negative_noise_rate) == (rho1, rho0)
    assert rates.positive_label_error_rate == pytest.approx(pi1, abs=1e-12)
    assert rates.negative_label_error_rate == pytest.approx(pi0, abs=1e-12)
    assert (fitted.prune_mask_ == mask).all()
    assert (fitted.estimator_.coef_ == final.coef_).all()
    assert (fitted.estimator_.intercept_ == final.intercept_).all()


@pytest.mark.parametrize(
    ("noise_estimator", "tolerance"), [("confident-counts", 0.06), ("curve", 0.08)]
)
def test_it_finds_the_noise_and_beats_the_plain_fit(noise_estimator, tolerance):
    fitted = model(noise_estimator=noise_estimator).fit(X, Y)
    wrong = Y != TRUTH
    assert fitted.noise_rates_.positive_noise_rate == pytest.approx(0.3, abs=tolerance)
    assert fitted.noise_rates_.negative_noise_rate == pytest.approx(0.1, abs=tolerance)
    assert (fitted.prune_mask_ & wrong).sum() / wrong.sum() > 0.75
    plain_fit = LogisticRegression().fit(X, Y)
    assert fitted.score(X, TRUTH) > plain_fit.score(X, TRUTH)
    assert fitted.score(X, TRUTH) > 0.95


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (Y, [0, 1]),
        (2 * Y - 1, [-1, 1]),
        (Y.astype(bool), [False, True]),
        (Y + 0.5, [0.5, 1.5]),
        (np.where(Y, "spam", "ham"), ["ham", "spam"]),
        (np.where(Y, "spam", "ham").astype(object), ["ham", "spam"]),
        (list(map(str, Y)), ["0", "1"]),
        (pd.Series(Y, index=np.arange(N) * 7 + 3), [0, 1]),
        (pd.Series(Y, dtype="Int64"), [0, 1]),
        (pd.Series(np.where(Y, "x", "a")).astype("category"), ["a", "x"]),
        (pl.Series(np.where(Y, "x", "a")), ["a", "x"]),
    ],
)
def test_any_two_labels_give_the_same_model_and_come_back(labels, classes):
    fitted = model().fit(X, labels)
    same(fitted, model().fit(X, Y))
    assert fitted.classes_.tolist() == classes
    predicted = fitted.predict(X)
    assert set(predicted.tolist()) == set(classes)
    expected = np.array(classes)[(fitted.predict_proba(X)[:, 1] > 0.5).astype(int)]
    assert (predicted == expected).all()


def test_the_first_label_may_be_the_positive_one():
    """Naming the other class swaps the rates and leaves the model alone."""
    one, other = model().fit(X, Y), model(pos_label=0).fit(X, Y)
    rates, swapped = one.noise_rates_, other.noise_rates_
    assert rates.positive_noise_rate == pytest.approx(swapped.negative_noise_rate, abs=1e-12)
    assert rates.negative_noise_rate == pytest.approx(swapped.positive_noise_rate, abs=1e-12)
    assert one.probabilities_ == pytest.approx(1 - other.probabilities_, abs=1e-12)
    assert (one.prune_mask_ == other.prune_mask_).all()
    assert other.classes_.tolist() == [0, 1]
    assert one.predict_proba(X) == pytest.approx(other.predict_proba(X), abs=1e-9)


@pytest.mark.parametrize(
    "convert",
    [
        sparse.csr_matrix,
        sparse.coo_array,
        lambda X: pd.DataFrame(X, columns=list("abcde"), index=np.arange(N)[::-1]),
        lambda X: pl.DataFrame(X, schema=list("abcde")),
        lambda X: X.tolist(),
        np.asfortranarray,
    ],
)
def test_any_table_gives_the_same_model(convert):
    fitted = model().fit(convert(X), Y)
    expected = model().fit(X, Y)
    assert (fitted.prune_mask_ == expected.prune_mask_).all()
    found = fitted.predict_proba(convert(X))
    assert found == pytest.approx(expected.predict_proba(X), abs=1e-6)


def test_column_names_are_kept():
    frame = pd.DataFrame(X, columns=list("abcde"))
    assert model().fit(frame, Y).feature_names_in_.tolist() == list("abcde")
    assert model().fit(X, Y).n_features_in_ == 5


def test_texts_in_a_pipeline():
    words = np.array(["good fine", "bad awful"])
    rng = np.random.default_rng(0)
    texts = [f"{words[1 - t]} w{rng.integers(50)}" for t in TRUTH]
    pipeline = make_pipeline(CountVectorizer(), LogisticRegression())
    fitted = model(estimator=pipeline).fit(texts, np.where(Y, "pos", "neg"))
    assert fitted.score(texts, np.where(TRUTH, "pos", "neg")) > 0.99
    assert fitted.predict(["good"]) == ["pos"]


def test_searching_and_scoring_with_scikit_learn():
    search = GridSearchCV(
        model(), {"estimator": [LogisticRegression(C=c) for c in (0.1, 1)]}, scoring="roc_auc", cv=2
    ).fit(X, Y)
    assert search.best_score_ > 0.6
    nested = GridSearchCV(
        model(estimator=LogisticRegression()), {"estimator__C": [0.01, 1]}, cv=2
    ).fit(X, Y)
    assert nested.best_estimator_.estimator_.C in (0.01, 1)
    assert cross_val_score(make_pipeline(StandardScaler(), model()), X, Y).mean() > 0.7


def test_copies_before_and_after_fit_are_the_same():
    unfitted = pickle.loads(pickle.dumps(model()))
    fitted = unfitted.fit(X, Y)
    same(pickle.loads(pickle.dumps(fitted)), fitted)
    again = clone(fitted)
    assert not hasattr(again, "estimator_")
    same(again.fit(X, Y), fitted)


def test_fitting_twice_is_fitting_once_and_what_was_passed_is_left_alone():
    base, scorer = LogisticRegression(), RandomForestClassifier(10)
    shared = np.random.RandomState(3)
    fitted = model(estimator=base, scorer=scorer, random_state=shared).fit(X, Y)
    mask, scores = fitted.prune_mask_, fitted.probabilities_
    fitted.fit(X[:100], Y[:100]).fit(X, Y)
    assert (fitted.prune_mask_ == mask).all()
    assert (fitted.probabilities_ == scores).all()
    assert fitted.estimator is base
    assert not hasattr(base, "coef_")
    assert not hasattr(scorer, "estimators_")
    assert scorer.random_state is None


def test_splitters_inside_the_estimator_are_seeded_too():
    search = GridSearchCV(
        RandomForestClassifier(3), {"max_depth": [2, 3]}, cv=StratifiedKFold(2, shuffle=True)
    )
    before = np.random.get_state()[1].copy()
    one, two = (model(estimator=search).fit(X, Y) for _ in range(2))
    assert (one.probabilities_ == two.probabilities_).all()
    assert (one.predict_proba(X) == two.predict_proba(X)).all()
    assert (np.random.get_state()[1] == before).all()
    assert search.cv.random_state is None


def test_read_only_arrays_and_nothing_global():
    data = [X.copy(), Y.copy(), np.ones(N)]
    for array in data:
        array.flags.writeable = False
    before = np.random.get_state()[1].copy()
    model(random_state=None, estimator=RandomForestClassifier(5)).fit(*data)
    assert (np.random.get_state()[1] == before).all()


@pytest.mark.parametrize("estimator", [LogisticRegression(), RandomForestClassifier(10)])
def test_the_number_of_jobs_changes_no_bit(estimator):
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        one = model(estimator=estimator, n_jobs=1).fit(X, Y)
        two = model(estimator=estimator, n_jobs=2).fit(X, Y)
    assert (one.probabilities_ == two.probabilities_).all()
    assert (one.predict_proba(X) == two.predict_proba(X)).all()
    assert one.noise_rates_ == two.noise_rates_


def test_rounds_score_again_with_the_pruned_rows_and_keep_the_rates():
    """Two rounds written down without the package's classifier."""
    splitter = StratifiedKFold(3, shuffle=True, random_state=5)
    base = LogisticRegression(max_iter=1000)
    first = model(cv=splitter).fit(X, Y)
    keep = ~first.prune_mask_
    weight = correction_weights(Y, first.noise_rates_)
    again = np.empty(N)
    for train, test in splitter.split(X, Y):
        train = train[keep[train]]
        base.fit(X[train], Y[train], sample_weight=weight[train])
        again[test] = base.predict_proba(X[test])[:, 1]
    mask = prune_labels(Y, again, first.noise_rates_).mask
    final = base.fit(X[~mask], Y[~mask], sample_weight=weight[~mask])

    second = model(cv=splitter, rounds=2).fit(X, Y)
    assert second.noise_rates_ == first.noise_rates_
    assert (second.probabilities_ == first.probabilities_).all()
    assert (first.ranking_probabilities_ == first.probabilities_).all()
    assert (second.ranking_probabilities_ == again).all()
    assert (second.prune_mask_ == mask).all()
    assert (mask != first.prune_mask_).any()
    assert (second.estimator_.coef_ == final.coef_).all()


def test_rounds_start_from_precomputed_probabilities_too():
    first = model().fit(X, Y)
    given = model(rounds=3).fit(X, Y, probabilities=first.probabilities_)
    assert (given.ranking_probabilities_ != first.probabilities_).any()
    assert given.noise_rates_ == first.noise_rates_
    with pytest.raises(ValueError, match="estimator must have predict_proba"):
        model(estimator=LinearSVC(), rounds=2).fit(X, Y, probabilities=first.probabilities_)


def test_rounds_end_with_a_warning_if_a_fold_would_lose_a_class():
    small, truth = make_classification(60, weights=[0.85], flip_y=0.3, random_state=5)
    known = {"negative_noise_rate": 0.15, "positive_noise_rate": 0.1}
    one = model(**known).fit(small, truth)
    with pytest.warns(
        ClassAlmostEmptiedWarning, match=r"round 2 with a single class, .* stops after round 1"
    ) as w:
        two = model(rounds=2, **known).fit(small, truth)
    assert len(w) == 1
    assert (one.prune_mask_ == two.prune_mask_).all()


def test_a_scorer_without_weights_is_named_when_rounds_weigh():
    with pytest.warns(SampleWeightIgnoredWarning, match="KNeighbors.*no effect on the prob") as w:
        model(scorer=KNeighborsClassifier(), rounds=3).fit(X, Y)
    assert len(w) == 1


def test_a_stack_can_be_the_estimator():
    stack = StackingClassifier([("a", LogisticRegression()), ("b", GaussianNB())])
    assert model(estimator=stack).fit(X, Y).score(X, TRUTH) > 0.9
    assert model(estimator=make_pipeline(StandardScaler(), stack)).fit(X, Y).score(X, TRUTH) > 0.9
    blunt = StackingClassifier([("a", LogisticRegression())], final_estimator=LinearSVC())
    with pytest.raises(ValueError, match="estimator must have predict_proba, got StackingClass"):
        model(estimator=blunt).fit(X, Y)


def test_rounds_end_if_nothing_is_pruned(caplog):
    with caplog.at_level(logging.DEBUG, logger="rankprune"):
        fitted = model(rounds=3).fit(X, TRUTH, probabilities=TRUTH.astype(float))
    assert not fitted.prune_mask_.any()
    assert "round 2" not in caplog.text


def test_rounds_take_weights_and_leave_trusted_rows_alone():
    weight = np.random.default_rng(0).integers(0, 3, N).astype(float)
    trusted = np.arange(N) % 7 == 0
    fitted = model(rounds=3).fit(X, Y, weight, trusted=trusted)
    assert not fitted.prune_mask_[trusted | (weight == 0)].any()
    one = model(rounds=3, n_jobs=2).fit(X, Y, weight, trusted=trusted)
    assert (one.prune_mask_ == fitted.prune_mask_).all()


def test_a_scorer_gives_the_probabilities_and_the_estimator_the_model():
    forest = RandomForestClassifier(20, random_state=1)
    fitted = model(estimator=LinearSVC(), scorer=forest).fit(X, Y)
    splitter = StratifiedKFold(3, shuffle=True, random_state=0)
    given = model(estimator=LinearSVC(), scorer=forest, cv=splitter).fit(X, Y)
    assert (given.probabilities_ == out_of_fold_probabilities(forest, X, Y, cv=splitter)).all()
    assert isinstance(fitted.estimator_, LinearSVC)
    assert fitted.decision_function(X).shape == (N,)
    assert not hasattr(fitted, "predict_proba")
    assert not hasattr(model(estimator=LinearSVC()), "predict_log_proba")
    assert hasattr(model(), "predict_log_proba")
    assert model().fit(X, Y).predict_log_proba(X).shape == (N, 2)
    assert not hasattr(model(estimator=RandomForestClassifier()), "decision_function")


def test_precomputed_probabilities_skip_the_folds():
    fitted = model().fit(X, Y)
    again = model(cv="not used").fit(X, Y, probabilities=fitted.probabilities_)
    same(again, fitted)
    svc = model(estimator=LinearSVC()).fit(X, Y, probabilities=fitted.probabilities_)
    assert (svc.prune_mask_ == fitted.prune_mask_).all()
    scores = np.where(TRUTH == 1, 0.9, 0.1)
    mine = model().fit(X, Y, probabilities=scores)
    scores[:] = 0
    assert mine.probabilities_.max() == 0.9
    with pytest.raises(ValueError, match="probabilities must have one value per label"):
        model().fit(X, Y, probabilities=[0.5])


def test_known_rates_win():
    both = model(positive_noise_rate=0.3, negative_noise_rate=0.1).fit(X, Y)
    expected = NoiseRates.from_noise_rates(0.3, 0.1, Y.mean())
    for name in ("positive_noise_rate", "negative_noise_rate", "positive_label_error_rate"):
        assert getattr(both.noise_rates_, name) == getattr(expected, name)
    assert (both.noise_rates_.n_positive, both.noise_rates_.n_negative) == (Y.sum(), N - Y.sum())
    assert both.noise_rates_.counts is None
    mask = prune_labels(Y, both.probabilities_, expected).mask
    assert (both.prune_mask_ == mask).all()
    weight = correction_weights(Y[~mask], expected)
    final = LogisticRegression(max_iter=1000).fit(X[~mask], Y[~mask], sample_weight=weight)
    assert (both.estimator_.coef_ == final.coef_).all()
    one = model(positive_noise_rate=0.2).fit(X, Y).noise_rates_
    estimated = model().fit(X, Y).noise_rates_
    assert one.positive_noise_rate == 0.2
    assert one.negative_noise_rate == estimated.negative_noise_rate
    assert one.counts == estimated.counts


def test_positive_unlabeled_learning_prunes_no_positive_label():
    labels = flip_labels(TRUTH, positive_noise_rate=0.5, negative_noise_rate=0, random_state=0)
    fitted = model(negative_noise_rate=0).fit(X, labels)
    assert fitted.noise_rates_.positive_label_error_rate == 0
    assert not fitted.prune_mask_[labels == 1].any()
    assert fitted.prune_mask_.any()
    assert fitted.noise_rates_.positive_noise_rate == pytest.approx(0.5, abs=0.08)
    assert fitted.score(X, TRUTH) > 0.95


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"positive_noise_rate": -0.1}, r"positive_noise_rate must lie in \[0, 1\), got -0.1"),
        ({"negative_noise_rate": 1.0}, r"negative_noise_rate must lie in \[0, 1\), got 1"),
        ({"positive_noise_rate": np.nan}, "positive_noise_rate must lie in .* got nan"),
        ({"positive_noise_rate": "0.1"}, "positive_noise_rate must be a number"),
        (
            {"positive_noise_rate": 0.62, "negative_noise_rate": 0.45},
            r"must be below 1, got 0.62 \+ 0.45 = 1.07",
        ),
        ({"negative_noise_rate": 0.9}, "negative_noise_rate must not exceed the share of positive"),
        ({"positive_noise_rate": 0.9}, "positive_noise_rate must not exceed the share of negative"),
        (
            {"noise_estimator": "magic"},
            "noise_estimator.* must be a str among .*, a callable",
        ),
        ({"rounds": 0}, "'rounds' parameter .* must be an int in the range"),
        ({"rounds": 1.5}, "'rounds' parameter .* must be an int in the range"),
        ({"cv": 1}, "cv must be at least 2, got 1"),
        ({"cv": 300}, "cv=300 needs at least 300 rows of each class"),
        ({"n_jobs": "two"}, "'n_jobs' parameter .* must be"),
        ({"pos_label": 7}, "pos_label must be one of"),
        ({"estimator": LinearSVC()}, "estimator must have predict_proba, got LinearSVC"),
        ({"scorer": LinearSVC()}, "scorer must have predict_proba, got LinearSVC"),
        ({"estimator": LinearRegression()}, "estimator must be a classifier, got LinearRegression"),
        ({"random_state": "a"}, "'random_state' parameter"),
    ],
)
def test_parameters_that_cannot_work_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        model(**parameters).fit(X, Y)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([1] * N, "y must hold two classes, got one class only"),
        (np.linspace(0, 1, N), "y must hold classes, got continuous"),
        (np.where(Y, 1.0, np.nan), "y must not be missing; row"),
        (np.where(Y, "a", None), "y must not be missing"),
        ([pd.NA, *Y[1:]], "y must not be missing; row 0"),
        (Y[:10], "y must have one value per row of X, got 10 for 600 rows"),
        (np.column_stack([Y, Y]), "y must be one-dimensional"),
    ],
)
def test_bad_labels_are_refused(labels, message):
    with pytest.raises(ValueError, match=message):
        model().fit(X, labels)


def test_a_column_of_labels_is_flattened_with_a_warning():
    with pytest.warns(DataConversionWarning):
        fitted = model().fit(X, Y[:, None])
    same(fitted, model().fit(X, Y))


@pytest.mark.parametrize("kind", ["constant", "anti-informative", "random"])
@pytest.mark.parametrize("known", [{}, {"negative_noise_rate": 0.0}])
def test_uninformative_scores_prune_nothing(kind, known):
    scores = {
        "constant": np.full(N, 0.5),
        "anti-informative": np.where(Y == 1, 0.2, 0.8),
        "random": np.random.default_rng(1).permutation(np.linspace(0.4, 0.6, N)),
    }[kind]
    with pytest.warns(UninformativeProbabilitiesWarning, match="do not tell the labels") as warned:
        fitted = model(**known).fit(X, Y, probabilities=scores)
    assert len(warned) == 1
    assert warned[0].filename == __file__
    rates = fitted.noise_rates_
    assert not rates.reliable
    assert not fitted.prune_mask_.any()
    assert np.isfinite([rates.positive_noise_rate, rates.negative_noise_rate]).all()
    assert rates.positive_noise_rate + rates.negative_noise_rate < 1
    plain_fit = LogisticRegression(max_iter=1000).fit(X, Y)
    assert (fitted.estimator_.coef_ == plain_fit.coef_).all()


def test_known_rates_prune_even_so_with_a_warning():
    with pytest.warns(UninformativeProbabilitiesWarning, match="known rates would prune almost"):
        fitted = model(positive_noise_rate=0.3, negative_noise_rate=0.1).fit(
            X, Y, probabilities=np.full(N, 0.5)
        )
    assert fitted.prune_mask_.any()
    assert fitted.noise_rates_.reliable


def test_clean_labels_and_perfect_scores_prune_nothing():
    fitted = model().fit(X, TRUTH, probabilities=TRUTH.astype(float))
    assert not fitted.prune_mask_.any()
    expected = LogisticRegression(max_iter=1000).fit(X, TRUTH)
    assert (fitted.estimator_.coef_ == expected.coef_).all()


@pytest.mark.parametrize("dtype", [float, np.float32, int])
def test_weights_of_one_prune_the_same_rows_as_no_weights(dtype):
    plain_fit = model().fit(X, Y)
    weighted = model().fit(X, Y, sample_weight=np.ones(len(Y), dtype))
    assert plain_fit.prune_mask_.any()
    assert (weighted.prune_mask_ == plain_fit.prune_mask_).all()


def test_weights_reach_the_folds_the_counts_and_the_final_fit():
    weight = np.random.default_rng(0).integers(0, 4, N) / 2
    splitter = StratifiedKFold(3, shuffle=True, random_state=5)
    fitted = model(cv=splitter).fit(X, Y, weight)
    base = LogisticRegression(max_iter=1000)
    scores = out_of_fold_probabilities(base, X, Y, cv=splitter, sample_weight=weight)
    rates = estimate_noise_rates(Y, scores, sample_weight=weight)
    pruning = prune_labels(Y, scores, rates, sample_weight=weight)
    assert (fitted.probabilities_ == scores).all()
    assert fitted.noise_rates_ == rates
    assert (fitted.prune_mask_ == pruning.mask).all()
    left = pruning.sample_weight * correction_weights(Y, rates)
    keep = left > 0
    expected = base.fit(X[keep], Y[keep], sample_weight=left[keep])
    assert fitted.estimator_.coef_ == pytest.approx(expected.coef_, abs=1e-12)
    assert not fitted.prune_mask_[weight == 0].any()


def test_rows_of_weight_zero_equal_no_rows():
    weight = np.ones(N)
    weight[500:] = 0
    one = model().fit(X, Y, weight)
    other = model().fit(X[:500], Y[:500], np.ones(500))
    assert one.noise_rates_ == other.noise_rates_
    assert (one.prune_mask_[:500] == other.prune_mask_).all()
    assert one.predict_proba(X) == pytest.approx(other.predict_proba(X), abs=1e-9)


def test_trusted_rows_are_kept_at_weight_one_and_left_out_of_the_rates():
    trusted = np.zeros(N, dtype=bool)
    wrong = np.flatnonzero(Y != TRUTH)
    settled = Y.copy()
    settled[wrong[:40]] = TRUTH[wrong[:40]]
    trusted[wrong[:40]] = True
    untrusted = model().fit(X, settled)
    scores = untrusted.probabilities_
    fitted = model().fit(X, settled, probabilities=scores, trusted=trusted)
    rest = ~trusted
    rates = estimate_noise_rates(settled[rest], scores[rest])
    assert fitted.noise_rates_ == rates
    assert not fitted.prune_mask_[trusted].any()
    mask = prune_labels(settled[rest], scores[rest], rates).mask
    assert (fitted.prune_mask_[rest] == mask).all()
    keep = ~fitted.prune_mask_
    weight = np.where(trusted, 1.0, correction_weights(settled, rates))
    final = LogisticRegression(max_iter=1000)
    final.fit(X[keep], settled[keep], sample_weight=weight[keep])
    assert (fitted.estimator_.coef_ == final.coef_).all()


def test_a_wrong_looking_label_survives_if_trusted():
    scores = np.where(TRUTH == 1, 0.9, 0.1)
    assert model().fit(X, Y, probabilities=scores).prune_mask_[Y != TRUTH].all()
    row = np.flatnonzero(Y != TRUTH)[0]
    trusted = np.arange(N) == row
    assert not model().fit(X, Y, probabilities=scores, trusted=trusted).prune_mask_[row]


@pytest.mark.parametrize("trusted", [np.ones(N, dtype=bool), TRUTH == 1])
def test_trusted_must_leave_untrusted_rows_of_both_classes(trusted):
    with pytest.raises(
        ValueError, match=r"trusted must leave untrusted rows of both .* fit the estimator"
    ):
        model().fit(X, TRUTH, trusted=trusted)
    with pytest.raises(ValueError, match="trusted must be a boolean array"):
        model().fit(X, Y, trusted=np.arange(N))


def test_known_rates_describe_the_rows_in_doubt():
    trusted = np.zeros(N, dtype=bool)
    trusted[np.flatnonzero(Y == 1)[:100]] = True
    fitted = model(positive_noise_rate=0.3, negative_noise_rate=0.1).fit(X, Y, trusted=trusted)
    assert fitted.noise_rates_.observed_prevalence == Y[~trusted].mean()


def test_an_estimator_without_weights_warns_by_name():
    scorer = LogisticRegression()
    with pytest.warns(SampleWeightIgnoredWarning, match="KNeighborsClassifier takes no sample_w"):
        fitted = model(estimator=KNeighborsClassifier(), scorer=scorer).fit(X, Y)
    assert fitted.score(X, TRUTH) > 0.95
    weight = np.random.default_rng(0).random(N)
    for parameters, n_warnings in (
        ({"estimator": KNeighborsClassifier()}, 1),
        ({"scorer": KNeighborsClassifier()}, 1),
        ({"estimator": KNeighborsClassifier(), "scorer": KNeighborsClassifier()}, 2),
    ):
        with pytest.warns(SampleWeightIgnoredWarning) as warned:
            model(**parameters).fit(X, Y, weight)
        assert len(warned) == n_warnings


@pytest.mark.parametrize("routing", [False, True])
def test_weights_reach_the_last_step_of_a_pipeline(routing):
    with sklearn.config_context(enable_metadata_routing=routing):
        pipeline = make_pipeline(MinMaxScaler(), LogisticRegression())
        fitted = model(estimator=pipeline).fit(X, Y)
    keep = ~fitted.prune_mask_
    weight = correction_weights(Y[keep], fitted.noise_rates_)
    expected = make_pipeline(MinMaxScaler(), LogisticRegression())
    expected.fit(X[keep], Y[keep], logisticregression__sample_weight=weight)
    assert fitted.predict_proba(X) == pytest.approx(expected.predict_proba(X), abs=1e-12)


def test_metadata_is_routed_through_a_search():
    groups, weight = np.arange(N) // 5, np.random.default_rng(0).random(N)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = model().set_fit_request(groups=True, sample_weight=True)
        routed.set_score_request(sample_weight=True)
        search = GridSearchCV(routed, {"cv": [2, 3]}, cv=2)
        search.fit(X, Y, groups=groups, sample_weight=weight)
    expected = clone(search.best_estimator_).fit(X, Y, weight, groups=groups)
    same(search.best_estimator_, expected)


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.uint64, np.float32, "<U3"])
def test_labels_keep_their_type(dtype):
    fitted = model().fit(X, Y.astype(dtype))
    assert fitted.classes_.dtype == dtype
    assert fitted.predict(X).dtype == dtype


def test_groups_without_routing():
    groups = np.arange(N) // 5
    fitted = model().fit(X, Y, groups=groups)
    assert (fitted.probabilities_ != model().fit(X, Y).probabilities_).any()


def test_a_callable_estimates_the_rates():
    def fixed(labels, probabilities, *, sample_weight=None):
        return NoiseRates.from_noise_rates(0.25, 0.05, float(labels.mean()))

    rates = model(noise_estimator=fixed).fit(X, Y).noise_rates_
    assert (rates.positive_noise_rate, rates.negative_noise_rate) == (0.25, 0.05)


class Breaks(ClassifierMixin, BaseEstimator):
    """Raises in its second fit after a number of good ones."""

    good = 0

    def __init__(self, error=KeyboardInterrupt):
        self.error = error

    def fit(self, X, y, sample_weight=None):
        Breaks.good -= 1
        if Breaks.good < 0:
            raise self.error("stop")
        self.inner_ = LogisticRegression().fit(X, y)
        self.classes_ = self.inner_.classes_
        return self

    def predict_proba(self, X):
        return self.inner_.predict_proba(X)

    def predict(self, X):
        return self.inner_.predict(X)


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
@pytest.mark.parametrize("good", [0, 1, 3])
def test_a_fit_that_fails_leaves_the_object_unfitted(error, good):
    breaking = model(estimator=Breaks(error))
    Breaks.good = 4
    breaking.fit(X, Y).predict(X)
    Breaks.good = good
    with pytest.raises(error):
        breaking.fit(X, Y)
    assert not [name for name in vars(breaking) if name.endswith("_")]
    with pytest.raises(NotFittedError):
        breaking.predict(X)


@pytest.mark.filterwarnings("ignore::rankprune.exceptions.ClassAlmostEmptiedWarning")
def test_rates_that_contradict_the_labels_warn_once_and_still_fit():
    labels = np.repeat([1, 0], [40, 360])
    # Positives score above most negatives, but at the very top negatives crowd.
    scores = np.concatenate([[0.9] * 2, [0.5] * 38, [1.0] * 60, [0.1] * 300])
    with pytest.warns(NoiseRatesClippedWarning, match="contradict the share of positive") as warned:
        fitted = model(noise_estimator="confident-counts").fit(
            X[:400], labels, probabilities=scores
        )
    assert [w.category for w in warned].count(NoiseRatesClippedWarning) == 1
    assert fitted.noise_rates_.clipped
    # A rate that is known is not moved, and not warned about.
    known = model(positive_noise_rate=0.1).fit(X[:400], labels, probabilities=scores)
    assert not known.noise_rates_.clipped


def test_steps_are_logged(caplog):
    with caplog.at_level(logging.INFO, logger="rankprune"):
        model().fit(X, Y)
        assert caplog.text == ""
        model(verbose=1).fit(X, Y)
    assert "scoring 600 rows in 3 folds" in caplog.text
    assert "of 600 rows: NoiseRates(positive_noise_rate=" in caplog.text


def test_it_shows_as_html():
    html = model(estimator=RandomForestClassifier())._repr_html_()
    assert "RankPruningClassifier" in html
    assert "RandomForestClassifier" in html
    assert "RankPruningClassifier" in model().fit(X, Y)._repr_html_()


def test_tags_follow_the_estimator():
    tags = model(estimator=RandomForestClassifier()).__sklearn_tags__()
    assert tags.input_tags.allow_nan
    assert tags.classifier_tags.multi_class
    assert not model(pos_label=1).__sklearn_tags__().classifier_tags.multi_class
    assert not model().__sklearn_tags__().input_tags.allow_nan


def test_intervals_of_the_fit_are_those_of_its_probabilities():
    fitted = model().fit(X, Y)
    found = fitted.noise_rate_intervals(covers="rows", n_resamples=20, random_state=3)
    assert found == noise_rate_intervals(
        Y,
        fitted.probabilities_,
        covers="rows",
        n_resamples=20,
        random_state=np.random.default_rng(3),
    )
    assert found.positive_noise_rate.estimate == fitted.noise_rates_.positive_noise_rate
    assert found.covers == "rows"
    assert fitted.noise_rate_intervals() == fitted.noise_rates_.intervals
    wide = fitted.noise_rate_intervals(level=0.99)
    assert wide == noise_rate_intervals(Y, fitted.probabilities_, level=0.99)
    with pytest.raises(ValueError, match='covers must be "truth" or "rows", got \'refits\''):
        fitted.noise_rate_intervals(covers="refits")


def test_rates_that_are_known_have_intervals_without_width():
    found = model(positive_noise_rate=0.2, negative_noise_rate=0.1).fit(X, Y)
    rates = found.noise_rates_
    assert found.noise_rate_intervals() == rates.intervals
    for name, interval in rates.intervals.items():
        assert interval.low == interval.estimate == interval.high == getattr(rates, name)
    one = model(positive_noise_rate=0.2).fit(X, Y).noise_rates_
    assert one.intervals.positive_noise_rate.low == one.intervals.positive_noise_rate.high == 0.2
    assert one.intervals.negative_noise_rate.low < one.intervals.negative_noise_rate.high


def test_intervals_over_refits_cover_the_models_too():
    fitted = model(cv=3).fit(X, Y)
    rows = fitted.noise_rate_intervals().positive_noise_rate
    refits = fitted.noise_rate_intervals(X, n_resamples=10, random_state=0)
    again = fitted.noise_rate_intervals(X, n_resamples=10, random_state=0)
    assert refits == again
    assert refits.n_resamples == 10
    assert refits.positive_noise_rate.low < refits.positive_noise_rate.high
    assert refits.covers == "refits"
    assert refits.positive_noise_rate.estimate == rows.estimate
    groups = np.arange(N) // 2
    assert fitted.noise_rate_intervals(X, groups=groups, n_resamples=2).n_resamples == 2


def test_a_known_rate_has_no_interval_and_trusted_rows_are_left_out():
    trusted = np.arange(N) < 100
    weight = np.arange(N) % 3 + 1
    fitted = model(positive_noise_rate=0.3).fit(X, Y, sample_weight=weight, trusted=trusted)
    for table in (None, X):
        found = fitted.noise_rate_intervals(table, n_resamples=5, random_state=0)
        assert found.positive_noise_rate.low == found.positive_noise_rate.high == 0.3
        assert found.negative_noise_rate.low < found.negative_noise_rate.high


def test_intervals_need_a_fit_the_same_table_and_weights_for_refits():
    with pytest.raises(NotFittedError):
        model().noise_rate_intervals()
    fitted = model().fit(X, Y)
    with pytest.raises(ValueError, match="y must have one value per row of X"):
        fitted.noise_rate_intervals(X[:-1])
    with pytest.raises(ValueError, match="n_resamples must be a whole number"):
        fitted.noise_rate_intervals(X, n_resamples=0)
    with pytest.warns(SampleWeightIgnoredWarning):
        neighbours = model(estimator=KNeighborsClassifier()).fit(X, Y)
    with pytest.raises(ValueError, match=r"^X must be None if a scorer takes no sample_weight"):
        neighbours.noise_rate_intervals(X)
    splits = [(np.arange(N) % 2 == 0, np.arange(N) % 2 == 1)]
    splits += [(test, train) for train, test in splits]
    assert model(cv=splits).fit(X, Y).noise_rate_intervals(X, n_resamples=2).n_resamples == 2


def test_intervals_are_of_the_fit_whatever_happens_to_labels_and_parameters_later():
    labels = Y.astype(np.int8)
    fitted = model().fit(X, labels)
    before = fitted.noise_rate_intervals(n_resamples=5, random_state=0)
    labels[fitted.prune_mask_] = 1 - labels[fitted.prune_mask_]
    fitted.set_params(positive_noise_rate=0.45, noise_estimator="tight")
    assert fitted.noise_rate_intervals(n_resamples=5, random_state=0) == before
    with pytest.raises(ValueError, match="level must lie strictly between"):
        fitted.noise_rate_intervals(X, level=95)


@pytest.mark.filterwarnings("ignore::rankprune.exceptions.RankPruneWarning")
def test_refits_keep_both_classes_in_doubt():
    trusted = np.zeros(N, dtype=bool)
    trusted[np.flatnonzero(Y)[3:]] = True
    few = model(noise_estimator="confident-counts").fit(X, Y, trusted=trusted)
    weighted = model().fit(X, Y, sample_weight=np.arange(N) % 3 + 0.5)
    for fitted in (few, weighted):
        assert fitted.noise_rate_intervals(X, n_resamples=5, random_state=0).n_resamples == 5


def test_examine_learns_what_fit_learns_and_keeps_an_earlier_fit():
    fitted = model().fit(X, Y)
    final = fitted.estimator_
    found = fitted.examine(X, Y)
    assert found.rows.status.doubted.all()
    assert (found.mask == fitted.prune_mask_).all()
    assert found.scored.rates == fitted.noise_rates_
    assert fitted.estimator_ is final
