"""The committee: its members, its verdict, and that it does no harm."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from rankprune import (
    NoiseRates,
    RankPruningClassifier,
    estimate_noise_rates,
    flip_labels,
    out_of_fold_probabilities,
)
from rankprune.exceptions import SampleWeightIgnoredWarning
from rankprune.learners._committee import Boosting, form_panel
from rankprune.learners._out_of_bag import Trees

X, TRUTH = make_classification(800, n_features=8, class_sep=2, flip_y=0, random_state=0)
NOISY = flip_labels(TRUTH, positive_noise_rate=0.3, negative_noise_rate=0.1, random_state=0)


def model(**kwargs):
    return RankPruningClassifier(LogisticRegression(), scorer="committee", random_state=0, **kwargs)


def panel(estimator, rows=X, name="committee", *, units=None, in_folds=False):
    return form_panel(name, estimator, rows, units, 0, in_folds=in_folds)


def test_the_members_share_the_preprocessing_steps():
    base = make_pipeline(StandardScaler(), LogisticRegression())
    first, boosting, trees = panel(base, in_folds=True).estimators
    assert first is base
    for member in (boosting, trees):
        assert isinstance(member, Pipeline)
        assert [name for name, _ in member.steps] == ["standardscaler", "logisticregression"]
        assert type(member.steps[0][1]) is StandardScaler
    assert base.steps[-1][1].__class__ is LogisticRegression
    nested = make_pipeline(GridSearchCV(base, {"logisticregression__C": [1, 10]}))
    inside = panel(nested, in_folds=True).estimators[1]
    assert [type(step).__name__ for _, step in inside.steps] == ["Pipeline"]
    assert type(inside.steps[0][1].steps[-1][1]) is Boosting
    assert type(trees.steps[-1][1]) is Trees
    alone = panel(LogisticRegression(), in_folds=True).estimators
    assert [type(member) for member in alone] == [LogisticRegression, Boosting, Trees]


def test_boosting_is_left_out_where_it_would_fit_many_trees():
    for n_classes, n_models in ((30, 2), (31, 1)):
        found = form_panel(
            "committee", LogisticRegression(), X, None, 0, in_folds=False, n_classes=n_classes
        )
        assert len(found.estimators) == n_models
        assert found.times == (1,) * n_models + (2,)


def test_trees_score_out_of_bag_behind_the_same_steps():
    base = make_pipeline(StandardScaler(), make_pipeline(PCA(2), LogisticRegression()))
    found = panel(base)
    assert [type(member) for member in found.estimators] == [Pipeline, Pipeline]
    prepared = PCA(2).fit_transform(StandardScaler().fit_transform(X))
    np.testing.assert_allclose(
        np.abs(found.out_of_bag.features), np.abs(prepared), rtol=1e-3, atol=1e-4
    )
    alone = panel(make_pipeline(LogisticRegression()))
    np.testing.assert_array_equal(alone.out_of_bag.features, X.astype(np.float32))
    assert alone.times == (1, 1, 2)


def test_steps_that_need_the_labels_keep_the_trees_in_folds():
    found = panel(make_pipeline(SelectKBest(k=2), LogisticRegression()))
    assert found.out_of_bag is None
    assert len(found.estimators) == 3


def test_the_estimator_and_trees_are_a_scorer_of_two():
    found = panel(LogisticRegression(), name="with-trees")
    assert [type(member) for member in found.estimators] == [LogisticRegression]
    assert found.times == (1, 2)


@pytest.mark.parametrize(
    "estimator",
    [
        Boosting(),
        HistGradientBoostingClassifier(),
        make_pipeline(StandardScaler(), GridSearchCV(Boosting(), {})),
    ],
)
def test_boosting_is_not_asked_twice(estimator):
    assert panel(estimator).times == (1, 2)


def test_boosting_is_short_if_rows_are_few():
    few, many = (panel(LogisticRegression(), np.zeros((n, 1))) for n in (10_000, 10_001))
    assert (few.estimators[1].max_iter, few.estimators[1].max_leaf_nodes) == (50, 15)
    assert (many.estimators[1].max_iter, many.estimators[1].max_leaf_nodes) == (100, 31)


def test_wide_sparse_rows_need_no_boosting():
    wide = csr_matrix(np.hstack([X] * 20))
    assert panel(LogisticRegression(), wide).times == (1, 1)
    assert panel(LogisticRegression(), wide, in_folds=True).times == (1, 1)
    assert panel(LogisticRegression(), wide[:, :100]).times == (1, 1, 2)


def test_the_probabilities_are_the_mean_of_the_members():
    halves = [(np.arange(400), np.arange(400, 800)), (np.arange(400, 800), np.arange(400))]
    for cv in (halves, 3):
        scored = model(cv=cv).examine(X, NOISY).scored
        own, boosting, trees = scored.opinions.T
        np.testing.assert_allclose(scored.scores, (own + boosting + 2 * trees) / 4)
    alone = out_of_fold_probabilities(LogisticRegression(), X, NOISY, cv=halves)
    np.testing.assert_array_equal(model(cv=halves).examine(X, NOISY).scored.opinions[:, 0], alone)


def test_noise_is_found_and_pruned():
    fitted = model().fit(X, NOISY)
    assert fitted.verdict_.level == "noise found"
    assert fitted.verdict_.n_opinions == 3
    wrong = NOISY != TRUTH
    assert (fitted.prune_mask_ & wrong).sum() / wrong.sum() > 0.6
    assert fitted.score(X, TRUTH) > LogisticRegression().fit(X, NOISY).score(X, TRUTH)


def test_clean_labels_get_the_plain_fit():
    fitted = model().fit(X, TRUTH)
    assert fitted.verdict_.level == "clean"
    assert not fitted.prune_mask_.any()
    assert fitted.noise_rates_.positive_noise_rate == fitted.noise_rates_.negative_noise_rate == 0
    plain = LogisticRegression().fit(X, TRUTH)
    assert (fitted.estimator_.coef_ == plain.coef_).all()
    # The estimate itself is not lost.
    assert fitted.noise_rate_intervals(n_resamples=3, random_state=0).level == 0.95


def pessimist(labels, probabilities, *, sample_weight=None):
    return NoiseRates.from_noise_rates(0.4, 0.3, float(np.mean(labels)))


@pytest.mark.parametrize("noise_estimator", ["curve", "confident-counts", pessimist])
def test_the_verdict_uses_the_same_noise_estimator_as_the_rates(noise_estimator):
    fitted = model(noise_estimator=noise_estimator).fit(X, NOISY)
    estimated = estimate_noise_rates(NOISY, fitted.probabilities_, method=noise_estimator)
    assert fitted.verdict_.noise_rates == estimated
    assert fitted.noise_rates_ == estimated


def test_a_known_rate_needs_no_verdict():
    fitted = model(positive_noise_rate=0.2).fit(X, TRUTH)
    assert not hasattr(fitted, "verdict_")
    assert fitted.noise_rates_.positive_noise_rate == 0.2
    assert fitted.prune_mask_.any()


def test_other_scorers_give_no_verdict():
    fitted = RankPruningClassifier(random_state=0).fit(X, NOISY)
    assert not hasattr(fitted, "verdict_")
    words = r'^scorer must be a classifier, "committee", "with-trees" or None, got'
    with pytest.raises(ValueError, match=words):
        RankPruningClassifier(scorer="jury").fit(X, NOISY)
    with pytest.raises(ValueError, match=words):
        RankPruningClassifier(scorer="jury").fit(X, NOISY, probabilities=np.full(800, 0.5))


def test_with_trees_gives_a_verdict_but_prunes_by_the_estimate():
    fitted = RankPruningClassifier(scorer="with-trees", random_state=0).fit(X, NOISY)
    assert fitted.verdict_.level == "noise found"
    assert fitted.verdict_.n_opinions == 2
    small = flip_labels(TRUTH, positive_noise_rate=0.02, negative_noise_rate=0.0, random_state=0)
    fitted.fit(X, small)
    assert fitted.verdict_.level == "clean"
    assert fitted.noise_rates_.positive_noise_rate > 0


def test_given_probabilities_need_no_committee_and_rounds_fit_all_members_again():
    scores = np.where(TRUTH == 1, 0.8, 0.1)
    assert not hasattr(model().fit(X, NOISY, probabilities=scores), "verdict_")
    again = model(rounds=2).fit(X, NOISY)
    assert (again.ranking_probabilities_ != again.probabilities_).any()


def test_it_repeats_and_trusted_rows_are_not_judged():
    first, second = (model().fit(X, NOISY) for _ in range(2))
    assert (first.probabilities_ == second.probabilities_).all()
    trusted = NOISY != TRUTH
    settled = model().fit(X, np.where(trusted, TRUTH, NOISY), trusted=trusted)
    assert settled.verdict_.level == "clean"


def test_texts_go_through_the_pipeline_and_stay_sparse():
    words = np.where(TRUTH == 1, "good fine great", "bad poor awful")
    extra = np.array(["apple", "pear", "plum", "fig"])[np.arange(800) % 4]
    texts = [f"{w} {e}" for w, e in zip(words, extra, strict=True)]
    base = make_pipeline(TfidfVectorizer(), LogisticRegression())
    fitted = RankPruningClassifier(base, scorer="committee", random_state=0).fit(texts, NOISY)
    assert fitted.verdict_.level == "noise found"
    assert fitted.score(texts, TRUTH) > 0.95


def test_boosting_takes_sparse_tables_weights_and_one_column():
    wide = np.hstack([X] * 20)
    for table in (X, csr_matrix(X), csr_matrix(X[:, :1]), csr_matrix(wide)):
        boosting = Boosting(random_state=0).fit(table, TRUTH, sample_weight=np.ones(800))
        assert boosting.predict_proba(table).shape == (800, 2)
        assert boosting.classes_.tolist() == [0, 1]
    assert (boosting.predict(csr_matrix(wide)) == TRUTH).mean() > 0.9
    clone(boosting)


def test_a_base_without_weights_warns_once():
    fitting = RankPruningClassifier(KNeighborsClassifier(), scorer="committee", random_state=0)
    with pytest.warns(SampleWeightIgnoredWarning) as warned:
        fitting.fit(X, NOISY)
    assert len(warned) == 1


def test_input_that_is_not_numeric_is_explained():
    texts = np.where(TRUTH == 1, "good", "bad")

    class Words(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.classes_ = np.unique(y)
            return self

        def predict_proba(self, X):
            return np.column_stack([np.asarray(X) == "bad", np.asarray(X) == "good"]).astype(float)

    with pytest.raises(ValueError) as caught:  # noqa: PT011 (the words are the trees' own)
        RankPruningClassifier(Words(), scorer="committee").fit(texts, NOISY)
    assert "Put the preprocessing into a Pipeline" in caught.value.__notes__[0]
