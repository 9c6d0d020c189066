"""Importance reweighting: rates from anywhere, probabilities from density ratios."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from rankprune import flip_labels
from rankprune.core import gaussian_posterior, make_gaussians
from rankprune.exceptions import ClassAlmostEmptiedWarning
from rankprune.methods import DensityRatioClassifier, ImportanceReweightingClassifier
from rankprune.methods._density_ratio import kliep_heights, ulsif_heights


@pytest.fixture(scope="module")
def noisy():
    X, truth = make_gaussians(1500, separability=2, prevalence=0.4, random_state=0)
    y = flip_labels(truth, positive_noise_rate=0.4, negative_noise_rate=0.1, random_state=0)
    return X, truth, y


@pytest.mark.parametrize("name", ["min-probability", "scott-2015", "curve", "confident-counts"])
def test_any_noise_estimator_beats_the_plain_fit(name, noisy):
    X, truth, y = noisy
    model = ImportanceReweightingClassifier(noise_estimator=name, random_state=0).fit(X, y)
    assert model.score(X, truth) > LogisticRegression().fit(X, y).score(X, truth) + 0.02
    if name != "min-probability":  # extremes of a model that is too sure of itself
        assert model.noise_rates_.positive_noise_rate == pytest.approx(0.4, abs=0.12)


@pytest.mark.parametrize("method", ["ulsif", "kliep"])
def test_a_density_ratio_serves_as_scorer(method, noisy):
    X, truth, y = noisy
    scorer = DensityRatioClassifier(method)
    model = ImportanceReweightingClassifier(scorer=scorer, random_state=0).fit(X, y)
    assert model.score(X, truth) > LogisticRegression().fit(X, y).score(X, truth) + 0.02


def test_the_committee_may_find_the_labels_clean():
    X, truth = make_gaussians(900, separability=6, prevalence=0.4, random_state=0)
    model = ImportanceReweightingClassifier(scorer="committee", random_state=0).fit(X, truth)
    assert model.verdict_.level == "clean"
    assert model.noise_rates_.positive_noise_rate == 0


def test_a_class_is_never_left_without_weight():
    X, y = np.arange(40.0)[:, None], np.arange(40) >= 20
    g = np.where(y, 0.30, 0.05) + np.arange(40) / 1000
    model = ImportanceReweightingClassifier(positive_noise_rate=0.1, negative_noise_rate=0.4)
    with pytest.warns(ClassAlmostEmptiedWarning, match="every row of a class weight 0"):
        model.fit(X, y, probabilities=g)
    assert model.classes_.tolist() == [False, True]


class TestDensityRatio:
    def test_one_row_of_a_class_is_enough(self):
        X = np.r_[np.zeros((20, 2)), [[5.0, 5.0]]]
        for method in ("ulsif", "kliep"):
            model = DensityRatioClassifier(method, random_state=0).fit(X, [0] * 20 + [1])
            assert model.predict([[5.0, 5.0], [0.0, 0.0]]).tolist() == [1, 0]

    @pytest.mark.parametrize("parameters", [{"widths": []}, {"widths": [0]}, {"penalties": [-1]}])
    def test_choices_must_not_be_empty_and_must_be_above_zero(self, parameters):
        (name,) = parameters
        with pytest.raises(ValueError, match=f"{name} must (hold at least|be finite and)"):
            DensityRatioClassifier(**parameters).fit([[0.0], [1.0]], [0, 1])

    @pytest.mark.parametrize("method", ["ulsif", "kliep"])
    def test_it_comes_near_the_posterior(self, method):
        X, y = make_gaussians(2000, separability=2, prevalence=0.3, random_state=0)
        model = DensityRatioClassifier(method, random_state=0)
        out_of_fold = cross_val_predict(model, X, y, cv=3, method="predict_proba")[:, 1]
        posterior = gaussian_posterior(X, separability=2, prevalence=0.3)
        assert abs(out_of_fold - posterior).mean() < 0.06

    def test_least_squares_by_hand(self):
        """One kernel: H = (1 + 4) / 2 = 2.5, h = (1 + 2 + 3) / 3 = 2, so 2 / (2.5 + .5)."""
        heights = ulsif_heights(np.array([[1.0], [2], [3]]), np.array([[1.0], [2]]), 0.5)
        assert heights.tolist() == pytest.approx([2 / 3])

    def test_heights_below_zero_are_raised(self):
        near, everyone = np.array([[1.0, 0.0]]), np.array([[1.0, 1.0], [1.0, 0.9]])
        assert ulsif_heights(near, everyone, 0.01).min() == 0

    def test_the_likeliest_ratio_has_a_mean_of_one(self):
        generator = np.random.default_rng(0)
        near, everyone = generator.uniform(0, 1, (50, 4)), generator.uniform(0, 1, (80, 4))
        mean = everyone.mean(axis=0)
        heights = kliep_heights(near, mean)
        assert (everyone @ heights).mean() == pytest.approx(1)
        likelihood = np.log(near @ heights).mean()
        for other in generator.dirichlet(np.ones(4), 200) / mean:
            assert np.log(near @ other).mean() <= likelihood + 1e-6

    def test_far_from_every_row_the_prevalence_is_all_that_is_known(self):
        X, y = make_gaussians(200, prevalence=0.3, random_state=0)
        model = DensityRatioClassifier(random_state=0).fit(X, y)
        assert model.predict_proba([[1e6, 1e6]])[0, 1] == pytest.approx(0.3)

    def test_identical_rows_do_not_crash(self):
        model = DensityRatioClassifier(random_state=0).fit(np.zeros((10, 2)), [0, 1] * 5)
        assert model.predict_proba(np.zeros((1, 2)))[0] == pytest.approx([0.5, 0.5])

    def test_labels_of_any_kind(self):
        X, truth = make_gaussians(300, prevalence=0.4, random_state=0)
        y = np.where(truth == 1, "a", "b")
        model = DensityRatioClassifier(pos_label="a", random_state=0).fit(X, y)
        assert (model.predict(X) == y).mean() > 0.95
