"""Methods on the same rows: what they share, what is measured, and what the note reports."""

import builtins

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, f1_score
from sklearn.neighbors import KNeighborsClassifier

from rankprune import Comparison, NoiseRates, RankPruningClassifier, compare, flip_labels
from rankprune.comparison import METHODS
from rankprune.core import make_gaussians
from rankprune.exceptions import (
    AssumptionWarning,
    SampleWeightIgnoredWarning,
    UninformativeProbabilitiesWarning,
)
from rankprune.methods import ImportanceReweightingClassifier, LabelDependentCostClassifier

mpl.use("Agg")


@pytest.fixture(scope="module")
def rows():
    X, truth = make_gaussians(1200, separability=3, prevalence=0.4, random_state=0)
    y = flip_labels(truth, positive_noise_rate=0.4, negative_noise_rate=0, random_state=0)
    return X, truth, y


@pytest.fixture(scope="module")
def other_rows():
    return make_gaussians(500, separability=3, prevalence=0.4, random_state=1)


@pytest.fixture(scope="module")
def found(rows, other_rows):
    X, truth, y = rows
    return compare(X, y, true_labels=truth, test=other_rows, random_state=0)


def by_name(found):
    return {row.method: row for row in found.rows}


class TestWithTrustedLabels:
    def test_methods_are_between_the_noisy_baseline_and_the_oracle(self, rows, other_rows):
        X, truth, y = rows
        found = compare(X, y, true_labels=truth, test=other_rows, random_state=0)
        table = by_name(found)
        assert [next(iter(table)), list(table)[-1]] == ["noisy baseline", "oracle"]
        assert found.is_trusted
        assert found.note == "Measured on 500 test rows with trusted labels."
        for name in ("rank-pruning", "importance-reweighting", "elkan-noto, weighting"):
            assert table["noisy baseline"].error > table[name].error + 0.05
            assert table[name].error < table["oracle"].error + 0.03
        assert table["noisy baseline"].fit_ratio == 1
        assert table["noisy baseline"].positive_noise_rate is None
        assert table["rank-pruning"].positive_noise_rate == pytest.approx(0.4, abs=0.1)

    def test_figures_are_those_of_scikit_learn(self, rows, other_rows):
        X, _, y = rows
        X_test, truth = other_rows
        found = compare(X, y, LogisticRegression(), methods=[], test=other_rows)
        (row,) = found.rows
        plain = LogisticRegression().fit(X, y)
        assert row.f1 == f1_score(truth, plain.predict(X_test))
        assert row.average_precision == average_precision_score(
            truth, plain.predict_proba(X_test)[:, 1]
        )

    def test_the_papers_auc_pr_of_a_constant_is_an_artefact(self, rows, other_rows):
        """Interpolated from precision .4 at recall 1 to 1 at recall 0: .7, not the prevalence."""
        X, _, y = rows
        found = compare(X, y, DummyClassifier(), methods=[], test=other_rows)
        assert found.rows[0].average_precision == pytest.approx(0.4)
        assert found.rows[0].auc_pr == pytest.approx(0.7)

    def test_without_other_rows_a_quarter_is_held_out(self, rows):
        X, truth, y = rows
        found = compare(X, y, true_labels=truth, methods=["rank-pruning"], random_state=0)
        assert found.note == "Measured on 300 held-out rows with trusted labels."
        assert len(found.classifiers["rank-pruning"].prune_mask_) == 900

    def test_groups_are_not_split(self, rows):
        X, truth, y = rows
        groups = np.arange(len(y)) // 4
        seen = []

        class Spy(LogisticRegression):
            def fit(self, X, y, sample_weight=None):
                seen.append(np.asarray(X)[:, 0])
                return super().fit(X, y, sample_weight)

        compare(
            np.column_stack([groups, X]),
            y,
            Spy(max_iter=1000),
            methods=["rank-pruning"],
            true_labels=truth,
            groups=groups,
            random_state=0,
        )
        assert all((np.unique(part, return_counts=True)[1] == 4).all() for part in seen[:4])

    def test_every_method_runs(self, rows, other_rows):
        X, truth, y = rows
        found = compare(
            X[:300],
            y[:300],
            methods=METHODS,
            true_labels=truth[:300],
            test=other_rows,
            random_state=0,
        )
        assert [row.method for row in found.rows] == ["noisy baseline", *METHODS, "oracle"]
        assert all(row.error < 0.35 for row in found.rows)


class TestWithoutTrustedLabels:
    def test_f1_error_and_auc_are_estimated_but_not_average_precision(self, rows):
        X, truth, y = rows
        found = compare(X, y, methods=["rank-pruning"], random_state=0)
        assert not found.is_trusted
        assert "There are no trusted labels" in found.note
        assert "estimated noise rates" in found.note
        for row in found.rows:
            assert row.average_precision is None
            assert row.auc_pr is None
        clean = compare(X, y, methods=["rank-pruning"], true_labels=truth, random_state=0)
        for estimated, measured in zip(found.rows, clean.rows, strict=False):
            assert estimated.error == pytest.approx(measured.error, abs=0.08)

    def test_known_rates_are_used_and_reported(self, rows):
        X, truth, y = rows
        rates = NoiseRates.from_true_labels(truth, y)
        found = compare(X, y, noise_rates=rates, random_state=0)
        assert "the known noise rates (40.0% of the positives, 0.0% of the negatives)" in found.note
        for name in ("rank-pruning", "label-dependent-cost", "unbiased-loss", "elkan-noto"):
            assert by_name(found)[name].positive_noise_rate == pytest.approx(0.4, abs=0.01)


def test_uninformative_scores_give_no_figures():
    generator = np.random.default_rng(0)
    X, y = generator.normal(size=(400, 3)), generator.integers(0, 2, 400)
    with pytest.warns(UninformativeProbabilitiesWarning):
        found = compare(X, y, methods=["rank-pruning"], random_state=0)
    assert "no method can be judged" in found.note
    for row in found.rows:
        assert (row.f1, row.error, row.roc_auc) == (None, None, None)
        assert row.positive_noise_rate is None
    with pytest.raises(ValueError, match="f1 has none for 'noisy baseline'"):
        found.plot()


class TestMethods:
    def test_folds_are_fitted_once(self, rows):
        X, _, y = rows
        fits = []

        class Counting(LogisticRegression):
            def fit(self, X, y, sample_weight=None):
                fits.append(len(y))
                return super().fit(X, y, sample_weight)

        methods = ["rank-pruning", "label-dependent-cost", "importance-reweighting"]
        compare(X, y, Counting(), methods=methods, random_state=0)
        assert (
            len(fits) == 2 + 3 + 3
        )  # the baseline, timed twice, the folds, and one for each method

    def test_own_classifiers_keep_their_settings(self, rows):
        X, _, y = rows
        mine = {
            "two rounds": RankPruningClassifier(rounds=2),
            "forest": RankPruningClassifier(
                RandomForestClassifier(20, random_state=0), positive_noise_rate=0.3
            ),
            "neighbours": KNeighborsClassifier(),
        }
        found = compare(X, y, methods=mine, noise_rates=NoiseRates.from_noise_rates(0.4, 0, 0.24))
        rates = {row.method: row.positive_noise_rate for row in found.rows}
        assert rates == {
            "noisy baseline": None,
            "two rounds": 0.4,
            "forest": 0.3,
            "neighbours": None,
        }
        assert not hasattr(mine["two rounds"], "noise_rates_")
        assert mine["two rounds"].positive_noise_rate is None
        # A method with its own estimator does not use the shared probabilities.
        forest, shared = found.classifiers["forest"], found.classifiers["two rounds"]
        assert (forest.probabilities_ != shared.probabilities_).any()

    def test_labels_and_pos_label_of_any_kind(self, rows):
        X, truth, y = rows
        names, true_names = np.where(y == 1, "a", "b"), np.where(truth == 1, "a", "b")
        found = compare(
            X,
            names,
            pos_label="a",
            true_labels=true_names,
            random_state=0,
            methods=["rank-pruning"],
        )
        assert by_name(found)["rank-pruning"].f1 > 0.9
        assert set(found.classifiers["rank-pruning"].predict(X)) == {"a", "b"}
        halves = compare(
            X,
            np.where(y == 1, 0.5, 1.5),
            pos_label=0.5,
            true_labels=np.where(truth == 1, 0.5, 1.5),
            methods=["rank-pruning"],
            random_state=0,
        )
        assert by_name(halves)["rank-pruning"].f1 > 0.9

    def test_methods_that_cannot_use_the_estimator_are_reported(self, rows):
        X, _, y = rows
        found = compare(X, y, RandomForestClassifier(10, random_state=0), random_state=0)
        assert "unbiased-loss" not in by_name(found)
        assert found.note.endswith("Left out because it cannot use this estimator: unbiased-loss.")
        with pytest.raises(ValueError, match="estimator must be LogisticRegression"):
            compare(X, y, RandomForestClassifier(10), methods=["unbiased-loss"])

    def test_estimators_without_weights_leave_out_methods_that_need_weights(self, rows):
        X, _, y = rows
        with pytest.warns(SampleWeightIgnoredWarning):
            found = compare(X, y, KNeighborsClassifier(15), random_state=0)
        assert list(by_name(found)) == ["noisy baseline", "rank-pruning", "elkan-noto"]

    def test_probabilities_are_not_computed_when_no_method_needs_them(self, rows, other_rows):
        from sklearn.svm import LinearSVC

        X, _, y = rows
        found = compare(X, y, LinearSVC(), methods=["consistency-pruning"], test=other_rows)
        assert by_name(found)["consistency-pruning"].error < 0.5

    def test_named_methods_take_cv_of_the_comparison_and_own_classifiers_keep_theirs(self, rows):
        X, _, y = rows
        found = compare(X, y, methods=["weighted-logistic"], cv=5, random_state=0)
        assert found.classifiers["weighted-logistic"].cv == 5
        mine = {"mine": RankPruningClassifier(cv=4, scorer=LogisticRegression())}
        assert compare(X, y, methods=mine, cv=5).classifiers["mine"].cv == 4

    def test_models_without_scores_have_no_ranking(self, rows, other_rows):
        class Constant(ClassifierMixin, BaseEstimator):
            def fit(self, X, y):
                self.classes_ = np.unique(y)
                return self

            def predict(self, X):
                return np.full(len(X), self.classes_[1])

        X, _, y = rows
        found = compare(X, y, methods={"constant": Constant()}, test=other_rows)
        row = by_name(found)["constant"]
        assert (row.roc_auc, row.average_precision, row.auc_pr) == (None, None, None)
        assert row.error == pytest.approx(0.6)
        noisy = compare(X, y, methods={"constant": Constant()}, random_state=0)
        assert by_name(noisy)["constant"].roc_auc is None

    def test_a_decision_function_ranks_too(self, rows, other_rows):
        from sklearn.svm import LinearSVC

        X, _, y = rows
        names = np.where(y == 1, "a", "b")
        test = (other_rows[0], np.where(other_rows[1] == 1, "a", "b"))
        found = compare(X, names, methods={"svm": LinearSVC()}, test=test, pos_label="a")
        assert by_name(found)["svm"].roc_auc > 0.95

    def test_given_probabilities_are_shared(self, rows, other_rows):
        X, _, y = rows
        scores = np.where(y == 1, 0.6, 0.2)
        found = compare(X, y, methods="rank-pruning", test=other_rows, probabilities=scores)
        assert (found.classifiers["rank-pruning"].probabilities_ == scores).all()


class TestRefusals:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"methods": ["magic"]}, r"methods must be among 'bagging-pu', .*; got 'magic'"),
            ({"test": 3}, r"test must be a pair \(X, labels\), got int"),
            (
                {"true_labels": [0, 1]},
                "true_labels must have one label per row of X, got 2",
            ),
            ({"true_labels": ["yes"] * 1200}, r"true_labels must hold the values of y, \[0, 1\]"),
            ({"true_labels": [[0, 1]] * 600}, r"one per row; got shape \(600, 2\)"),
            ({"noise_rates": 0.3}, "noise_rates must be NoiseRates, got float"),
            ({"probabilities": np.zeros(1200)}, "probabilities must come with test"),
            ({"methods": ["oracle"]}, "must not include the oracle without true_labels"),
            ({"methods": {"oracle": None}}, "must not be named 'oracle'"),
            (
                {"methods": {"other": RankPruningClassifier(pos_label=0)}},
                "must agree on the positive label: 'other' has pos_label=0, the comparison 1",
            ),
            (
                {"groups": np.arange(1200) % 3},
                "test must be given if a quarter of the rows",
            ),
        ],
    )
    def test_bad_arguments_are_named(self, arguments, message, rows):
        X, _, y = rows
        with pytest.raises((ValueError, TypeError), match=message):
            compare(X, y, **arguments)


class TestShowing:
    def test_as_a_frame(self, found):
        frame = found.to_frame()
        assert isinstance(frame, pd.DataFrame)
        assert list(frame["method"]) == [row.method for row in found.rows]
        assert frame.shape == (8, 9)
        assert np.isnan(frame["positive_noise_rate"].iloc[0])

    def test_a_frame_needs_pandas(self, found, monkeypatch):
        original = builtins.__import__

        def without(name, *args, **kwargs):
            if name == "pandas":
                raise ImportError
            return original(name, *args, **kwargs)

        monkeypatch.setattr(builtins, "__import__", without)
        with pytest.raises(ImportError, match="to_frame needs pandas"):
            found.to_frame()

    def test_as_text_and_html(self, found):
        text = str(found)
        assert text.splitlines()[0].startswith("method")
        assert len({len(line) for line in text.splitlines()[:9]}) == 1
        assert found.note in text
        page = found._repr_html_()
        assert page.count("<tr>") == 9
        assert "<td style='text-align:right'>-</td>" in page
        escaped = Comparison(found.rows, True, "a < b", {})._repr_html_()
        assert "a &lt; b" in escaped

    @pytest.mark.parametrize("metric", ["f1", "error", "roc_auc", "fit_ratio"])
    def test_as_a_plot(self, found, metric):
        display = found.plot(metric)
        assert len(display.ax_.patches) == 8
        names = {"f1": "F1", "error": "error", "roc_auc": "ROC AUC", "fit_ratio": "fit ratio"}
        assert display.ax_.get_xlabel() == names[metric]
        widths = [bar.get_width() for bar in display.ax_.patches][::-1]
        assert widths == [getattr(row, metric) for row in found.rows]

    def test_plots_of_missing_figures_are_refused(self, found, rows):
        with pytest.raises(ValueError, match=r"metric must be one of \['f1', 'error'"):
            found.plot("speed")
        X, _, y = rows
        untrusted = compare(X, y, methods=[], random_state=0)
        with pytest.raises(ValueError, match=r"has none for 'noisy baseline'.*no trusted labels"):
            untrusted.plot("average_precision")
        assert untrusted.plot("fit_ratio").ax_.get_xlabel() == "fit ratio"
        assert untrusted.plot("f1").ax_.get_xlabel() == "F1, estimated"


def test_more_than_two_labels_are_refused_with_what_to_do_instead(rows):
    with pytest.raises(
        ValueError, match=r"y must hold two classes, .* use their score\(X_test, y_"
    ):
        compare(rows[0], np.arange(1200) % 3)


def test_the_same_seed_gives_the_same_figures(rows):
    X, truth, y = rows
    one, two = (compare(X, y, true_labels=truth, random_state=3).rows for _ in range(2))
    assert [row.error for row in one] == [row.error for row in two]


def test_warnings_of_methods_reach_the_caller():
    X, truth = make_gaussians(600, prevalence=1 / 3, random_state=0)
    y = flip_labels(truth, positive_noise_rate=0.3, negative_noise_rate=0.3, random_state=0)
    with pytest.warns(AssumptionWarning, match="ElkanNotoClassifier assumes that every positive"):
        compare(X, y, methods=["elkan-noto"], random_state=0)


def test_names_refer_to_classes_of_the_package():
    assert isinstance(METHODS["importance-reweighting"], ImportanceReweightingClassifier)
    assert isinstance(METHODS["label-dependent-cost"], LabelDependentCostClassifier)
