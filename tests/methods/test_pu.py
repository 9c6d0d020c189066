"""Methods for positive and unlabeled rows: what they assume, choose and find."""

import numpy as np
import pytest
from joblib import parallel_config
from scipy.stats import randint
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC, LinearSVC, OneClassSVM

from rankprune import flip_labels
from rankprune.core import make_gaussians
from rankprune.exceptions import (
    AssumptionWarning,
    ClassAlmostEmptiedWarning,
    SampleWeightIgnoredWarning,
)
from rankprune.methods import (
    BaggingPUClassifier,
    BiasedSVMClassifier,
    CoTrainingClassifier,
    ElkanNotoClassifier,
    OneClassPUClassifier,
    RESVMClassifier,
    WeightedLogisticPUClassifier,
    pu_criterion,
)
from rankprune.methods._pu import fit_slope, probability_of

METHODS = {
    "elkan-noto": ElkanNotoClassifier(random_state=0),
    "elkan-noto, weighting": ElkanNotoClassifier(weighting=True, random_state=0),
    "weighted logistic": WeightedLogisticPUClassifier(random_state=0),
    "biased svm": BiasedSVMClassifier(random_state=0),
    "bagging": BaggingPUClassifier(n_estimators=10, random_state=0),
    "co-training": CoTrainingClassifier(random_state=0),
    "resvm": RESVMClassifier(10, random_state=0),
    "one-class": OneClassPUClassifier(),
}
EACH = pytest.mark.parametrize("model", METHODS.values(), ids=METHODS)


@pytest.fixture(scope="module")
def pu():
    """A third of 600 rows is positive, and half of those are labeled."""
    X, truth = make_gaussians(600, prevalence=1 / 3, random_state=0)
    y = flip_labels(truth, positive_noise_rate=0.5, negative_noise_rate=0, random_state=0)
    return X, truth, y


@EACH
class TestEach:
    def test_finds_the_unlabeled_positives(self, model, pu):
        X, truth, y = pu
        plain = LogisticRegression().fit(X, y).score(X, truth)
        assert model.fit(X, y).score(X, truth) > max(0.95, plain)

    def test_pos_label_may_be_the_smaller_one(self, model, pu):
        X, truth, y = pu
        names = np.where(y == 1, "labeled", "unlabeled")
        model.set_params(pos_label="labeled").fit(X, names)
        try:
            assert model.classes_.tolist() == ["labeled", "unlabeled"]
            positive = model.predict(X) == "labeled"
            probability = model.predict_proba(X)[:, 0]
            assert (positive == (truth == 1)).mean() > 0.95
            assert probability[truth == 1].mean() > 0.6 > 0.4 > probability[truth == 0].mean()
            if hasattr(model, "decision_function"):
                assert (model.decision_function(X) > 0).tolist() == (~positive).tolist()
        finally:
            model.set_params(pos_label=None)

    def test_probabilities_are_valid_and_agree_with_the_prediction(self, model, pu):
        X, _, y = pu
        table = model.fit(X, y).predict_proba(X)
        assert table.min() >= 0
        assert table.max() <= 1
        assert table.sum(axis=1) == pytest.approx(1)
        assert (model.classes_[table.argmax(axis=1)] == model.predict(X)).all()
        with np.errstate(divide="ignore"):
            assert (model.predict_log_proba(X) == np.log(table)).all()

    def test_without_unlabeled_rows_the_error_explains_the_labels(self, model, pu):
        X, _, _ = pu
        with pytest.raises(ValueError, match="got one class only") as error:
            model.fit(X, np.ones(len(X)))
        assert "learns from labeled positives and unlabeled rows" in error.value.__notes__[0]

    def test_a_second_fit_is_like_the_first(self, model, pu):
        X, _, y = pu
        one = model.fit(X, y).predict_proba(X)
        assert (one == model.fit(X, y).predict_proba(X)).all()

    def test_rows_of_weight_zero_have_no_effect(self, model, pu):
        X, truth, y = pu
        spoiled = np.vstack([X, np.full((30, X.shape[1]), 50.0)])
        labels, weight = np.append(y, np.ones(30, int)), np.append(np.ones(len(y)), np.zeros(30))
        model.fit(spoiled, labels, sample_weight=weight)
        assert model.score(X, truth) > 0.9


@pytest.mark.parametrize(
    "model",
    [
        ElkanNotoClassifier(random_state=0),
        WeightedLogisticPUClassifier(random_state=0),
        BiasedSVMClassifier(1.0, 1.0, random_state=0),
    ],
)
def test_noisy_positives_are_noticed(model):
    X, truth = make_gaussians(600, prevalence=1 / 3, random_state=0)
    y = flip_labels(truth, positive_noise_rate=0.3, negative_noise_rate=0.3, random_state=0)
    with pytest.warns(AssumptionWarning, match=r"every positive label is correct, but about \d\d%"):
        model.fit(X, y)


class TestElkanNoto:
    def test_c_may_be_given_estimated_three_ways_or_by_any_noise_estimator(self, pu):
        X, _, y = pu
        found = {
            name: ElkanNotoClassifier(noise_estimator=name, random_state=0).fit(X, y)
            for name in ("elkan-noto", "elkan-noto-e2", "elkan-noto-e3", "curve", "scott-2015")
        }
        # The largest probability is an extreme, and too large by chance.
        assert 0.5 < found.pop("elkan-noto-e3").label_frequency_ < 1
        for model in found.values():
            assert model.label_frequency_ == pytest.approx(0.5, abs=0.1)
            assert model.noise_rates_.negative_noise_rate == 0
        assert len({model.label_frequency_ for model in found.values()}) == 4
        given = ElkanNotoClassifier(positive_noise_rate=0.5).fit(X, y)
        assert given.label_frequency_ == 0.5

    def test_a_known_c_needs_no_folds(self, pu):
        X, _, y = pu
        model = ElkanNotoClassifier(positive_noise_rate=0.5, cv="nonsense").fit(X, y)
        assert not hasattr(model, "probabilities_")

    def test_probabilities_are_divided_by_c_and_clipped(self, pu):
        X, _, y = pu
        model = ElkanNotoClassifier(positive_noise_rate=0.5).fit(X, y)
        labeled = model.estimator_.predict_proba(X)[:, 1]
        assert model.predict_proba(X)[:, 1] == pytest.approx(np.minimum(labeled / 0.5, 1))

    def test_decision_function_exists_only_if_its_scores_are_those_of_the_class(self, pu):
        X, _, y = pu
        assert not hasattr(ElkanNotoClassifier(), "decision_function")
        assert not hasattr(ElkanNotoClassifier(KNeighborsClassifier()), "decision_function")
        model = ElkanNotoClassifier(weighting=True, random_state=0)
        assert hasattr(model, "decision_function")
        assert ((model.fit(X, y).decision_function(X) > 0) == (model.predict(X) == 1)).all()

    def test_predict_proba_exists_only_if_there_are_probabilities(self, pu):
        X, truth, y = pu
        with pytest.raises(ValueError, match="estimator must have predict_proba, got LinearSVC"):
            ElkanNotoClassifier(LinearSVC(), positive_noise_rate=0.5).fit(X, y)
        model = ElkanNotoClassifier(LinearSVC(), scorer=LogisticRegression(), weighting=True)
        assert not hasattr(model.fit(X, y), "predict_proba")
        assert model.score(X, truth) > 0.95

    def test_probabilities_are_checked_even_if_they_are_not_needed(self, pu):
        X, _, y = pu
        with pytest.raises(ValueError, match=r"probabilities must lie in \[0, 1\]"):
            ElkanNotoClassifier(positive_noise_rate=0.5).fit(X, y, probabilities=y * 2.0)

    def test_there_is_always_a_negative(self, pu):
        X, _, y = pu
        g = np.where(y == 1, 0.9, 0.5) + np.arange(len(y)) / 10_000
        model = ElkanNotoClassifier(positive_noise_rate=0.6, weighting=True)
        with pytest.warns(ClassAlmostEmptiedWarning, match="was kept as a negative"):
            model.fit(X, y, probabilities=g)
        assert model.classes_.tolist() == [0, 1]

    def test_weighting_needs_weights(self, pu):
        X, _, y = pu
        model = ElkanNotoClassifier(KNeighborsClassifier(), weighting=True)
        with pytest.raises(ValueError, match="ElkanNotoClassifier with weighting=True works by"):
            model.fit(X, y)

    def test_uninformative_probabilities_change_nothing(self, pu):
        X, _, y = pu
        model = ElkanNotoClassifier()
        with pytest.warns(UserWarning, match="do not tell the labels apart"):
            model.fit(X, y, probabilities=np.full(len(y), 0.3))
        assert model.label_frequency_ == 1


class TestCriterion:
    def test_by_hand(self):
        """Recall 2/4, 4 of 8 called positive: .25 / .5; with row 0 twice (3/5)^2 / (5/9)."""
        labels, predicted = [1, 1, 1, 1, 0, 0, 0, 0], [1, 1, 0, 0, 1, 1, 0, 0]
        assert pu_criterion(labels, predicted) == 0.5
        weighted = pu_criterion(labels, predicted, sample_weight=[2, 1, 1, 1, 1, 1, 1, 1])
        assert weighted == pytest.approx(0.36 / (5 / 9))

    def test_no_predicted_positive_scores_zero(self):
        assert pu_criterion([1, 0], [0, 0]) == 0

    def test_it_orders_models_as_precision_times_recall_does(self):
        """Labels drawn at random from the positives: the same up to P(y=1)."""
        truth = np.repeat([1, 0], [400, 600])
        labels = np.tile([1, 0], 500) * truth
        for n_found, n_false in ((400, 400), (300, 50), (200, 0)):
            predicted = np.zeros(1000, int)
            predicted[:n_found], predicted[400 : 400 + n_false] = 1, 1
            product = n_found / (n_found + n_false) * n_found / 400
            assert pu_criterion(labels, predicted) * 0.4 == pytest.approx(product)

    def test_lengths_must_agree(self):
        with pytest.raises(ValueError, match=r"y_pred must have one label per row .* shape \(3,\)"):
            pu_criterion([1, 0], [1, 0, 1])

    def test_other_values_and_searches(self, pu):
        X, _, y = pu
        assert pu_criterion(["a", "b"], ["a", "b"], pos_label="a") == 2
        search = GridSearchCV(
            LogisticRegression(), {"C": [0.1, 1]}, scoring=make_scorer(pu_criterion)
        )
        assert search.fit(X, y).best_score_ > 0


class TestChoices:
    def test_a_given_penalty_is_not_searched(self, pu):
        X, _, y = pu
        model = WeightedLogisticPUClassifier(0.5, cv="nonsense").fit(X, y)
        assert model.C_ == 0.5
        assert WeightedLogisticPUClassifier(Cs=[1e-4, 1.0], random_state=0).fit(X, y).C_ in (
            1e-4,
            1,
        )

    def test_both_kinds_of_rows_have_the_same_total_weight(self, pu):
        X, _, y = pu
        model = WeightedLogisticPUClassifier(1.0).fit(X, y)
        share = np.where(y == 1, (y == 0).mean(), (y == 1).mean())
        direct = LogisticRegression(C=1.0, max_iter=1000).fit(X, y, sample_weight=share)
        assert model.estimator_.coef_ == pytest.approx(direct.coef_)
        assert model.predict_proba(X) == pytest.approx(direct.predict_proba(X))

    @pytest.mark.parametrize(
        ("parameters", "costs"),
        [
            ({"positive_cost": 2.0, "negative_cost": 0.5}, {(2.0, 0.5)}),
            ({"positive_cost": 2.0, "cost_ratios": [1, 4]}, {(2.0, 2.0), (2.0, 0.5)}),
            ({"negative_cost": 0.5, "cost_ratios": [1, 4]}, {(0.5, 0.5), (2.0, 0.5)}),
            (
                {"negative_costs": [0.1, 1], "cost_ratios": [2]},
                {(0.2, 0.1), (2.0, 1.0)},
            ),
        ],
    )
    def test_costs_are_given_or_chosen(self, parameters, costs, pu):
        X, _, y = pu
        model = BiasedSVMClassifier(random_state=0, **parameters).fit(X, y)
        assert (model.positive_cost_, model.negative_cost_) in costs
        assert set(model._candidates()) == costs

    @pytest.mark.parametrize(
        "model",
        [
            WeightedLogisticPUClassifier(Cs=[]),
            BiasedSVMClassifier(negative_costs=[]),
            BiasedSVMClassifier(cost_ratios=[]),
        ],
    )
    def test_there_must_be_something_to_choose_from(self, model, pu):
        X, _, y = pu
        with pytest.raises(ValueError, match="must hold at least one row, got none"):
            model.fit(X, y)

    def test_folds_may_be_fitted_in_threads(self, pu):
        X, _, y = pu
        model = WeightedLogisticPUClassifier(random_state=0)
        one = model.fit(X, y).predict_proba(X)
        with parallel_config("threading"):
            many = [model.set_params(n_jobs=4).fit(X, y).predict_proba(X) for _ in range(3)]
        assert all((one == other).all() for other in many)

    def test_the_machine_has_these_costs(self, pu):
        X, _, y = pu
        model = BiasedSVMClassifier(2.0, 0.5, random_state=0).fit(X, y)
        direct = SVC(kernel="linear", class_weight={0: 0.5, 1: 2.0}).fit(X, y)
        assert model.decision_function(X) == pytest.approx(direct.decision_function(X), abs=1e-2)

    def test_groups_are_kept_together(self, pu):
        X, _, y = pu
        groups = np.arange(len(y)) // 2
        for model in (WeightedLogisticPUClassifier(), BiasedSVMClassifier(1.0, 1.0)):
            assert model.set_params(random_state=0).fit(X, y, groups=groups)
            with pytest.raises(ValueError, match="needs at least 3 groups, got 1"):
                model.fit(X, y, groups=np.zeros(len(y)))

    def test_one_class_is_scikit_learns_on_the_labeled_rows(self, pu):
        X, _, y = pu
        model, direct = OneClassPUClassifier(0.2).fit(X, y), OneClassSVM(nu=0.2).fit(X[y == 1])
        assert model.decision_function(X) == pytest.approx(direct.decision_function(X))


class TestSlope:
    def test_a_sigmoid_finds_its_own_slope(self):
        generator = np.random.default_rng(0)
        scores = generator.normal(0, 2, 20_000)
        labels = generator.random(20_000) < probability_of(scores, 1.5)
        assert fit_slope(scores, labels, np.ones(20_000)) == pytest.approx(1.5, rel=0.05)

    def test_scale_of_the_scores_does_not_matter(self):
        scores, labels = np.array([-2.0, -1, 1, 2, -1, 1]), np.array([0, 0, 1, 1, 1, 0], bool)
        one = fit_slope(scores, labels, np.ones(6))
        assert fit_slope(1000 * scores, labels, np.ones(6)) == pytest.approx(one / 1000)

    def test_scores_that_are_all_zero_have_any_slope(self):
        assert fit_slope(np.zeros(4), np.array([1, 0, 1, 0], bool), np.ones(4)) == 1


class TestBagging:
    def test_out_of_bag_probabilities_rank_the_hidden_positives_first(self, pu):
        X, truth, y = pu
        model = BaggingPUClassifier(random_state=0).fit(X, y)
        scores = model.out_of_bag_probabilities_
        assert np.isnan(scores[y == 1]).all()
        assert not np.isnan(scores[y == 0]).any()
        n_hidden = int(truth[y == 0].sum())
        best = np.flatnonzero(y == 0)[np.argsort(scores[y == 0])[::-1][:n_hidden]]
        assert truth[best].mean() > 0.95

    def test_a_bag_of_all_rows_leaves_none_out_of_bag(self, pu):
        X, _, y = pu
        model = BaggingPUClassifier(n_estimators=1, max_samples=20_000, random_state=0).fit(X, y)
        assert np.isnan(model.out_of_bag_probabilities_).all()

    def test_bags_hold_all_labeled_and_as_many_unlabeled_rows(self, pu, monkeypatch):
        X, _, y = pu
        sizes = []
        original = LogisticRegression.fit

        def fit(self, X, y, sample_weight=None):
            sizes.append((int((y == 1).sum()), int((y == 0).sum())))
            return original(self, X, y, sample_weight)

        monkeypatch.setattr(LogisticRegression, "fit", fit)
        BaggingPUClassifier(n_estimators=3, random_state=0).fit(X, y)
        BaggingPUClassifier(n_estimators=1, max_samples=7, random_state=0).fit(X, y)
        assert sizes == [(100, 100)] * 3 + [(100, 7)]

    def test_estimators_without_probabilities_vote(self, pu):
        X, truth, y = pu
        model = BaggingPUClassifier(LinearSVC(), n_estimators=10, random_state=0).fit(X, y)
        votes = model.predict_proba(X)[:, 1] * 10
        assert votes == pytest.approx(np.round(votes))
        assert model.score(X, truth) > 0.95

    def test_the_scale_of_weights_does_not_matter(self, pu):
        X, _, y = pu
        base = LogisticRegression(C=np.inf)
        found = [
            BaggingPUClassifier(base, n_estimators=5, random_state=0)
            .fit(X, y, sample_weight=np.full(len(y), scale))
            .predict(X)
            for scale in (0.01, 1.0, 100.0)
        ]
        assert (found[0] == found[1]).mean() > 0.98
        assert (found[2] == found[1]).mean() > 0.98

    def test_lost_weights_are_reported(self, pu):
        X, _, y = pu
        model = BaggingPUClassifier(KNeighborsClassifier(), n_estimators=2, random_state=0)
        with pytest.warns(SampleWeightIgnoredWarning, match="labeled rows count the same"):
            model.fit(X, y, sample_weight=np.linspace(1, 2, len(y)))

    def test_jobs_change_nothing(self, pu):
        X, _, y = pu
        model = BaggingPUClassifier(n_estimators=4, random_state=0)
        one = model.fit(X, y).predict_proba(X)
        assert (one == model.set_params(n_jobs=2).fit(X, y).predict_proba(X)).all()


class TestRESVM:
    def test_each_machine_draws_rows_of_both_kinds(self, pu, monkeypatch):
        X, _, y = pu
        seen = []
        original = SVC.fit

        def fit(self, X, y, sample_weight=None):
            seen.append((int((y == 1).sum()), int((y == 0).sum()), self.class_weight))
            return original(self, X, y)

        monkeypatch.setattr(SVC, "fit", fit)
        RESVMClassifier(
            2, n_positive=30, n_unlabeled=60, C=0.5, positive_weight=3.0, random_state=0
        ).fit(X, y)
        # A labeled row costs C * 3 * 60 / 30.
        assert seen == [(30, 60, {0: 0.5, 1: 3.0})] * 2

    def test_by_default_as_many_as_there_are(self, pu, monkeypatch):
        X, _, y = pu
        model = RESVMClassifier(1, random_state=0).fit(X, y)
        assert model.estimators_[0].shape_fit_[0] == 100 + 200

    def test_probabilities_are_shares_of_votes(self, pu):
        X, _, y = pu
        votes = RESVMClassifier(5, random_state=0).fit(X, y).predict_proba(X)[:, 1] * 5
        assert votes == pytest.approx(np.round(votes))

    def test_the_search_space_holds_five_parameters_that_can_be_drawn(self, pu):
        X, _, y = pu
        space = RESVMClassifier.search_space(n_positive=10, n_unlabeled=3000)
        assert set(space) < set(RESVMClassifier().get_params())
        assert len(space) == 5
        drawn = {name: value.rvs(random_state=0) for name, value in space.items()}
        assert RESVMClassifier(**drawn, random_state=0).fit(X, y)
        assert isinstance(space["n_positive"], type(randint(1, 2)))
        assert drawn["n_positive"] <= 10

    def test_it_tolerates_some_wrong_positives(self):
        """The source's claim: contaminated labels cost a resampled ensemble little."""
        X, truth = make_gaussians(800, prevalence=1 / 3, random_state=0)
        y = flip_labels(truth, positive_noise_rate=0.4, negative_noise_rate=0.05, random_state=0)
        assert RESVMClassifier(30, random_state=0).fit(X, y).score(X, truth) > 0.96
