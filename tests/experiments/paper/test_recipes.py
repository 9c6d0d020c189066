"""Methods as weights: a weighted fit gives the same model as the public classifier."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from rankprune import NoiseRates, RankPruningClassifier, out_of_fold_probabilities
from rankprune.core import flip_labels, make_gaussians
from rankprune.experiments._contenders import AuthorsReweightingClassifier
from rankprune.experiments.paper._recipes import RECIPES, authors_weights
from rankprune.methods import (
    ElkanNotoClassifier,
    ImportanceReweightingClassifier,
    LabelDependentCostClassifier,
)

X, TRUTH = make_gaussians(1500, separability=1.2, random_state=0)
LABELS = flip_labels(
    TRUTH, positive_noise_rate=0.3, negative_noise_rate=0.1, random_state=1
).astype(bool)
SCORES = out_of_fold_probabilities(LogisticRegression(), X, LABELS, random_state=0)
RATES = NoiseRates.from_true_labels(TRUTH, LABELS)
GIVEN = {
    "positive_noise_rate": RATES.positive_noise_rate,
    "negative_noise_rate": RATES.negative_noise_rate,
}
BASE = LogisticRegression(tol=1e-8, max_iter=1000)


def probabilities_by(name):
    recipe = RECIPES[name]
    weights = recipe.weigh(LABELS, SCORES, RATES)
    used = weights > 0
    model = LogisticRegression(tol=1e-8, max_iter=1000)
    model.fit(X[used], LABELS[used], sample_weight=weights[used])
    return recipe.finish(model.predict_proba(X)[:, 1], RATES)


@pytest.mark.parametrize(
    ("name", "classifier"),
    [
        ("rp_given", RankPruningClassifier(BASE, **GIVEN)),
        ("rp_estimated", RankPruningClassifier(BASE, noise_estimator="confident-counts")),
        ("rp_tight", RankPruningClassifier(BASE, noise_estimator="tight")),
        ("rp_curve", RankPruningClassifier(BASE, noise_estimator="curve")),
        ("nat13", LabelDependentCostClassifier(BASE, **GIVEN)),
        ("liu16", ImportanceReweightingClassifier(BASE, **GIVEN)),
        ("liu16_authors", AuthorsReweightingClassifier(BASE, **GIVEN)),
        ("elk08", ElkanNotoClassifier(BASE, positive_noise_rate=GIVEN["positive_noise_rate"])),
    ],
)
def test_a_recipe_gives_the_model_of_the_classifier(name, classifier):
    fitted = classifier.fit(X, LABELS, probabilities=SCORES)
    expected = fitted.predict_proba(X)[:, 1]
    assert np.minimum(probabilities_by(name), 1) == pytest.approx(expected, abs=1e-5)


def test_cleanlab_weights_are_those_it_fits_with():
    classification = pytest.importorskip("cleanlab.classification")
    both = np.column_stack([1 - SCORES, SCORES])
    with pytest.warns(UserWarning, match="X and pred_probs are both provided"):
        theirs = classification.CleanLearning(BASE).fit(X, LABELS.astype(int), pred_probs=both)
    assert probabilities_by("cleanlab") == pytest.approx(theirs.predict_proba(X)[:, 1], abs=1e-5)


def test_the_authors_formula_by_hand():
    # A positive, a negative weighted like a positive, and two negatives with weights below 0.
    labels, scores = np.array([True, False, False, False]), np.array([0.5, 0.25, 0.1, 0.0])
    rates = NoiseRates.from_noise_rates(0.2, 0.1, observed_prevalence=0.4)
    expected = [0.4 / (0.7 * 0.5), 0.05 / (0.7 * 0.25), 0.0, 0.0]
    assert authors_weights(labels, scores, rates) == pytest.approx(expected)


def test_the_authors_formula_keeps_few_negatives_unless_rho1_is_zero():
    hidden = NoiseRates.from_noise_rates(0.6, 0.1, observed_prevalence=0.3)
    assert (authors_weights(LABELS, SCORES, hidden)[~LABELS] > 0).mean() < 0.1
    none = NoiseRates.from_noise_rates(0.0, 0.1, observed_prevalence=0.3)
    found = authors_weights(LABELS, SCORES, none)
    right = RECIPES["liu16"].weigh(LABELS, SCORES, none)
    assert found == pytest.approx(right)


def test_division_by_a_constant_keeps_the_ranking():
    scores = np.array([0.2, 0.6, 0.9])
    kept = RATES.positive_noise_rate
    assert RECIPES["elk08"].finish(scores, RATES) == pytest.approx(scores / (1 - kept))
