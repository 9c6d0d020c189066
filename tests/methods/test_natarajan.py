"""Natarajan's two methods: which estimators they accept, and rates by cross-validation."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankprune import flip_labels
from rankprune.core import make_gaussians
from rankprune.methods import LabelDependentCostClassifier, UnbiasedLossClassifier

BOTH = pytest.mark.parametrize(
    "method", [LabelDependentCostClassifier, UnbiasedLossClassifier], ids=["cost", "unbiased"]
)


@pytest.fixture(scope="module")
def asymmetric():
    X, truth = make_gaussians(1500, separability=3, prevalence=0.4, random_state=0)
    y = flip_labels(truth, positive_noise_rate=0.45, negative_noise_rate=0.05, random_state=1)
    return X, truth, y


class TestNegativeWeights:
    @pytest.mark.parametrize(
        "estimator",
        [RandomForestClassifier(), LogisticRegressionCV(), make_pipeline(RandomForestClassifier())],
    )
    def test_other_estimators_are_refused(self, estimator, asymmetric):
        X, _, y = asymmetric
        with pytest.raises(ValueError, match=r"estimator must be LogisticRegression or a Pipeline"):
            UnbiasedLossClassifier(estimator).fit(X, y)

    @pytest.mark.parametrize("solver", ["liblinear", "sag", "saga"])
    def test_other_solvers_are_refused(self, solver, asymmetric):
        X, _, y = asymmetric
        with pytest.raises(ValueError, match=f"one of the solvers lbfgs.*got solver='{solver}'"):
            UnbiasedLossClassifier(LogisticRegression(solver=solver)).fit(X, y)

    def test_liblinear_would_fit_another_model(self, asymmetric):
        """Why solvers are listed: liblinear accepts negative weights but finds another solution."""
        X, _, y = asymmetric
        rows, labels = np.vstack([X, X]), np.concatenate([y, 1 - y])
        weight = np.repeat([1.5, -0.5], len(y))
        right = LogisticRegression().fit(rows, labels, sample_weight=weight)
        wrong = LogisticRegression(solver="liblinear").fit(rows, labels, sample_weight=weight)
        assert abs(right.coef_ - wrong.coef_).max() > 0.5

    def test_a_pipeline_that_ends_in_logistic_regression_is_fine(self, asymmetric):
        X, truth, y = asymmetric
        base = make_pipeline(StandardScaler(), LogisticRegression())
        assert UnbiasedLossClassifier(base, random_state=0).fit(X, y).score(X, truth) > 0.95

    def test_steps_before_the_last_see_every_row_once_with_its_label(self):
        """Each row with both labels would tell a selection of columns nothing."""
        generator = np.random.default_rng(0)
        X = generator.normal(size=(1500, 40))
        truth = (X[:, 37] > 0).astype(int)
        y = flip_labels(truth, positive_noise_rate=0.2, negative_noise_rate=0.2, random_state=0)
        base = make_pipeline(SelectKBest(k=1), LogisticRegression())
        for parameters in (
            {"positive_noise_rate": 0.2, "negative_noise_rate": 0.2},
            {"noise_estimator": "cross-validation", "random_state": 0},
        ):
            model = UnbiasedLossClassifier(base, **parameters).fit(X, y)
            assert model.estimator_[0].get_support(indices=True).tolist() == [37]
            assert model.score(X, truth) > 0.97
        assert not hasattr(base[0], "scores_")


@BOTH
class TestCrossValidation:
    def test_beats_the_plain_fit(self, method, asymmetric):
        X, truth, y = asymmetric
        model = method(noise_estimator="cross-validation", random_state=0).fit(X, y)
        plain = LogisticRegression().fit(X, y)
        assert model.score(X, truth) > plain.score(X, truth) + 0.05
        assert model.noise_rates_.positive_noise_rate > model.noise_rates_.negative_noise_rate
        assert not hasattr(model, "probabilities_")

    def test_known_rates_are_not_searched(self, method, asymmetric):
        X, _, y = asymmetric
        model = method(negative_noise_rate=0.05, noise_estimator="cross-validation", random_state=0)
        rates = model.fit(X, y).noise_rates_
        assert rates.negative_noise_rate == pytest.approx(0.05)
        assert rates.positive_noise_rate > 0.2

    def test_jobs_and_repetition_change_nothing(self, method, asymmetric):
        X, _, y = asymmetric
        model = method(noise_estimator="cross-validation", random_state=0)
        one = model.fit(X, y).predict_proba(X)
        two = model.set_params(n_jobs=2).fit(X, y).predict_proba(X)
        assert (one == two).all()

    def test_impossible_known_rates_are_refused(self, method, asymmetric):
        X, _, y = asymmetric
        model = method(positive_noise_rate=0.9, noise_estimator="cross-validation")
        with pytest.raises(ValueError, match="positive_noise_rate must not exceed the share of"):
            model.fit(X, y)


def test_costs_search_differences_only(asymmetric):
    X, _, y = asymmetric
    model = LabelDependentCostClassifier(noise_estimator="cross-validation", random_state=0)
    rates = model.fit(X, y).noise_rates_
    assert 0 in (rates.positive_noise_rate, rates.negative_noise_rate)


def test_trusted_rows_are_weighted_as_in_the_clean_loss(asymmetric, monkeypatch):
    """In expectation the weighted loss is the clean one times (1 - .4 - .1) / 2 = .25."""
    X, _, y = asymmetric
    seen = {}
    monkeypatch.setattr(
        LabelDependentCostClassifier,
        "_fit_estimator",
        lambda *given: seen.update(weights=given[4]),
    )
    trusted = np.arange(len(y)) < 10
    LabelDependentCostClassifier(positive_noise_rate=0.4, negative_noise_rate=0.1).fit(
        X, y, trusted=trusted
    )
    assert seen["weights"][:10] == pytest.approx(0.25)
    assert seen["weights"][10:] == pytest.approx(np.where(y[10:] == 1, 0.65, 0.35))


def test_probabilities_are_checked_even_if_they_are_not_needed(asymmetric):
    X, _, y = asymmetric
    model = LabelDependentCostClassifier(positive_noise_rate=0.4, negative_noise_rate=0.1)
    with pytest.raises(ValueError, match="probabilities must be real numbers"):
        model.fit(X, y, probabilities=["junk"] * len(y))


def test_known_rates_need_no_folds(asymmetric):
    X, _, y = asymmetric
    model = LabelDependentCostClassifier(
        positive_noise_rate=0.45, negative_noise_rate=0.05, cv="nonsense"
    ).fit(X, y)
    assert not hasattr(model, "probabilities_")


@BOTH
def test_an_estimator_without_weights_is_refused(method, asymmetric):
    X, _, y = asymmetric
    with pytest.raises(ValueError, match=r"must take sample_weight in fit, since .* by weights"):
        method(KNeighborsClassifier()).fit(X, y)
