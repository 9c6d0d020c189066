"""Methods on data where the noise is exact: they must give the classifier of the clean labels."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from rankprune.core import unlabeled_weights
from rankprune.exceptions import UninformativeProbabilitiesWarning
from rankprune.methods import (
    ElkanNotoClassifier,
    ImportanceReweightingClassifier,
    LabelDependentCostClassifier,
    UnbiasedLossClassifier,
)

RHO1, RHO0 = 0.35, 0.15


def exact(solver="lbfgs"):
    return LogisticRegression(tol=1e-12, max_iter=10_000, solver=solver)


@pytest.fixture
def expected():
    """Forty points, each with both labels, weighted by how often the noise gives it each."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(40, 3))
    eta = 1 / (1 + np.exp(-(X @ [1.5, -1.0, 0.5] + 0.3)))
    mass = generator.uniform(1, 10, 40)
    return X, eta, mass


def both_labels(X, share, mass):
    """Every point as a positive and as a negative, with the mass of each."""
    y = np.repeat([1, 0], len(X))
    return np.vstack([X, X]), y, np.concatenate([mass * share, mass * (1 - share)])


def clean_fit(X, eta, mass):
    X2, y, weight = both_labels(X, eta, mass)
    return exact().fit(X2, y, sample_weight=weight)


@pytest.mark.parametrize(
    "method",
    [
        lambda **rates: ImportanceReweightingClassifier(exact(), **rates),
        lambda **rates: UnbiasedLossClassifier(exact(), **rates),
        lambda **rates: UnbiasedLossClassifier(exact("newton-cg"), **rates),
        lambda **rates: UnbiasedLossClassifier(exact("newton-cholesky"), **rates),
    ],
    ids=["importance", "unbiased", "unbiased, newton-cg", "unbiased, newton-cholesky"],
)
def test_exact_rates_and_probabilities_give_the_clean_classifier(method, expected):
    X, eta, mass = expected
    g = (1 - RHO1 - RHO0) * eta + RHO0
    X2, s, weight = both_labels(X, g, mass)
    model = method(positive_noise_rate=RHO1, negative_noise_rate=RHO0)
    model.fit(X2, s, sample_weight=weight, probabilities=np.tile(g, 2))
    clean = clean_fit(X, eta, mass)
    np.testing.assert_allclose(model.estimator_.coef_, clean.coef_, atol=1e-6)
    np.testing.assert_allclose(model.estimator_.intercept_, clean.intercept_, atol=1e-6)


def test_swapped_rates_do_not(expected):
    X, eta, mass = expected
    g = (1 - RHO1 - RHO0) * eta + RHO0
    X2, s, weight = both_labels(X, g, mass)
    for method in (ImportanceReweightingClassifier, UnbiasedLossClassifier):
        model = method(exact(), positive_noise_rate=RHO0, negative_noise_rate=RHO1)
        model.fit(X2, s, sample_weight=weight, probabilities=np.tile(g, 2))
        assert abs(model.estimator_.coef_ - clean_fit(X, eta, mass).coef_).max() > 0.01


def test_weighting_gives_the_clean_classifier_where_labels_are_drawn_at_random(expected):
    """Elkan and Noto's second method: expected unlabeled mass is split as Bayes would."""
    X, eta, mass = expected
    c = 0.4
    X2, s, weight = both_labels(X, c * eta, mass)
    model = ElkanNotoClassifier(exact(), positive_noise_rate=1 - c, weighting=True)
    model.fit(X2, s, sample_weight=weight, probabilities=np.tile(c * eta, 2))
    np.testing.assert_allclose(model.estimator_.coef_, clean_fit(X, eta, mass).coef_, atol=1e-6)


def test_dividing_by_c_gives_the_posterior_if_the_model_is_right():
    """Five values of x, as many parameters: the model is exact, so g / c is P(y=1|x)."""
    eta, c, mass = np.array([0.05, 0.3, 0.5, 0.8, 0.95]), 0.6, np.full(5, 1000.0)
    X2, s, weight = both_labels(np.eye(5), c * eta, mass)
    base = LogisticRegression(C=1e8, tol=1e-12, max_iter=10_000)
    model = ElkanNotoClassifier(base, positive_noise_rate=1 - c).fit(X2, s, sample_weight=weight)
    np.testing.assert_allclose(model.predict_proba(np.eye(5))[:, 1], eta, atol=1e-3)
    assert model.predict(np.eye(5)).tolist() == [0, 0, 0, 1, 1] or eta[2] == 0.5


def test_label_dependent_cost_moves_the_boundary_to_where_the_clean_one_is():
    """Five values of x again: weights put P(s=1|x) = alpha at one half."""
    eta, mass = np.array([0.1, 0.45, 0.55, 0.65, 0.9]), np.full(5, 1000.0)
    g = (1 - RHO1 - RHO0) * eta + RHO0
    X2, s, weight = both_labels(np.eye(5), g, mass)
    base = LogisticRegression(C=1e8, tol=1e-12, max_iter=10_000)
    rates = {"positive_noise_rate": RHO1, "negative_noise_rate": RHO0}
    model = LabelDependentCostClassifier(base, **rates).fit(X2, s, sample_weight=weight)
    assert model.predict(np.eye(5)).tolist() == [0, 0, 1, 1, 1]
    plain = base.fit(X2, s, sample_weight=weight)
    assert plain.predict(np.eye(5)).tolist() == [0, 0, 0, 0, 1]


class TestRowsAndWeightsOfTheFinalFit:
    """Six rows by hand: which rows, labels and weights reach the final fit."""

    X = np.arange(6.0)[:, None]
    y = np.array([1, 1, 0, 0, 0, 0])
    g = np.array([0.6, 0.3, 0.3, 0.2, 0.1, 0.0])

    @pytest.fixture
    def seen(self, monkeypatch):
        kept = {}
        original = LogisticRegression.fit

        def fit(self, X, y, sample_weight=None):
            kept.update(X=np.asarray(X).ravel(), y=np.asarray(y), weight=sample_weight)
            return original(self, X, y, sample_weight=sample_weight)

        monkeypatch.setattr(LogisticRegression, "fit", fit)
        return kept

    def test_importance(self, seen):
        """rho1 = .5, rho0 = .1: s=1 weighs (g - .1) / (.4 g), s=0 (.5 - g) / (.4 (1 - g))."""
        model = ImportanceReweightingClassifier(positive_noise_rate=0.5, negative_noise_rate=0.1)
        with pytest.warns(UninformativeProbabilitiesWarning):  # six rows prove nothing
            model.fit(self.X, self.y, probabilities=self.g)
        expected = [0.5 / 0.24, 0.2 / 0.12, 0.2 / 0.28, 0.3 / 0.32, 0.4 / 0.36, 0.5 / 0.4]
        assert seen["weight"].tolist() == pytest.approx(expected)
        assert seen["y"].tolist() == self.y.tolist()

    def test_unbiased(self, seen):
        """rest = .4: own .9/.4 and other -.5/.4 for s=1; .5/.4 and -.1/.4 for s=0."""
        UnbiasedLossClassifier(positive_noise_rate=0.5, negative_noise_rate=0.1).fit(self.X, self.y)
        assert seen["X"].tolist() == [0, 1, 2, 3, 4, 5] * 2
        assert seen["y"].tolist() == [1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1]
        expected = [2.25] * 2 + [1.25] * 4 + [-1.25] * 2 + [-0.25] * 4
        assert seen["weight"].tolist() == pytest.approx(expected)

    def test_label_dependent(self, seen):
        """alpha = (1 - .5 + .1) / 2 = .3."""
        LabelDependentCostClassifier(positive_noise_rate=0.5, negative_noise_rate=0.1).fit(
            self.X, self.y
        )
        assert seen["weight"].tolist() == pytest.approx([0.7, 0.7, 0.3, 0.3, 0.3, 0.3])

    def test_elkan_noto_weighting(self, seen):
        """c = .5: w = g / (1 - g); row 5, which is certainly negative, is never a positive."""
        model = ElkanNotoClassifier(positive_noise_rate=0.5, weighting=True)
        with pytest.warns(UninformativeProbabilitiesWarning):
            model.fit(self.X, self.y, probabilities=self.g)
        w = [3 / 7, 0.25, 1 / 9]
        assert seen["X"].tolist() == [0, 1, 2, 3, 4, 2, 3, 4, 5]
        assert seen["y"].tolist() == [1, 1, 1, 1, 1, 0, 0, 0, 0]
        expected = [1, 1, *w, *(1 - value for value in w), 1]
        assert seen["weight"].tolist() == pytest.approx(expected)
        assert unlabeled_weights(self.g[2:5], 0.5).tolist() == pytest.approx(w)

    def test_sample_weights_multiply_and_zero_means_no_row(self, seen):
        weight = np.array([1.0, 2, 0, 1, 1, 1])
        LabelDependentCostClassifier(positive_noise_rate=0.5, negative_noise_rate=0.1).fit(
            self.X, self.y, sample_weight=weight
        )
        assert seen["X"].tolist() == [0, 1, 3, 4, 5]
        assert seen["weight"].tolist() == pytest.approx([0.7, 1.4, 0.3, 0.3, 0.3])

    def test_trusted_rows_keep_their_own_weight_and_label(self, seen):
        trusted = np.array([True, False, False, False, False, True])
        UnbiasedLossClassifier(positive_noise_rate=0.5, negative_noise_rate=0.1).fit(
            self.X, self.y, trusted=trusted
        )
        assert seen["X"].tolist() == [0, 1, 2, 3, 4, 5, 1, 2, 3, 4]
        assert seen["weight"][[0, 5]].tolist() == [1, 1]
