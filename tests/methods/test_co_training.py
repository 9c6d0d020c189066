"""Co-training: additions by hand, what two views gain, where it fails, and how views are given."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from rankprune import compare
from rankprune.exceptions import AssumptionWarning, SampleWeightIgnoredWarning
from rankprune.methods import CoTrainingClassifier

HALVES = slice(0, 10), slice(10, 20)
PAIR = [0], [1]


class Midpoint(ClassifierMixin, BaseEstimator):
    """P(positive) is a sigmoid of the distance to the middle of the two class means."""

    def fit(self, X, y, sample_weight=None):
        x, weight = np.asarray(X)[:, 0], np.ones(len(y)) if sample_weight is None else sample_weight
        self.classes_ = np.unique(y)
        means = [np.average(x[y == c], weights=weight[y == c]) for c in self.classes_]
        self.middle_ = np.mean(means)
        return self

    def predict_proba(self, X):
        positive = 1 / (1 + np.exp(self.middle_ - np.asarray(X)[:, 0]))
        return np.column_stack([1 - positive, positive])


class Reads(Midpoint):
    """P(positive) is the value of the column, whatever it was fitted to."""

    def predict_proba(self, X):
        positive = np.asarray(X)[:, 0]
        return np.column_stack([1 - positive, positive])


class Remembers(Midpoint):
    """Remembers the rows of every fit, by the value of their column, and their labels."""

    fits = []  # noqa: RUF012 (clones share it)

    def fit(self, X, y, sample_weight=None):
        self.fits.append(dict(zip(np.asarray(X)[:, 0].tolist(), y.tolist(), strict=True)))
        return super().fit(X, y, sample_weight)


def two_views(n_rows, seed, prevalence=0.5):
    """Return rows whose two halves of ten columns are independent given the class."""
    generator = np.random.default_rng(seed)
    truth = (generator.random(n_rows) < prevalence).astype(int)
    return generator.normal(size=(n_rows, 20)) + 0.6 * truth[:, None], truth


def few_labels(truth, n_labels):
    """Return the labels of the first rows of each class, and -1 for all others."""
    y = np.full(len(truth), -1)
    for label in (0, 1):
        y[np.flatnonzero(truth == label)[:n_labels]] = label
    return y


def combined_start(base, X, y, X_test):
    """Return what the classifiers of both halves predict together after the labeled rows alone."""
    known = y >= 0
    parts = [
        clone(base).fit(X[known, view], y[known]).predict_proba(X_test[:, view]) for view in HALVES
    ]
    return np.prod(parts, axis=0).argmax(axis=1)


def entries(model):
    """Return the additions as a set of (round, view, row, label)."""
    added = model.additions_
    return set(
        zip(
            added.rounds.tolist(),
            added.views.tolist(),
            added.rows.tolist(),
            added.labels.tolist(),
            strict=True,
        )
    )


@pytest.fixture(scope="module")
def rows():
    X, truth = two_views(300, seed=0)
    return X, truth, few_labels(truth, 5)


def make(**parameters):
    return CoTrainingClassifier(
        **{"views": HALVES, "unlabeled": -1, "random_state": 0, "rounds": 5} | parameters
    )


class TestByHand:
    def test_each_view_labels_its_most_confident_rows_for_the_other(self):
        """Rows 0 and 1 are labeled; a view adds its largest and its smallest row in each round.

        The first view adds 2 (at 5) and 4 (at -5), the second 3 (at 6) and 5 (at -7); then both
        add 6 and 7. In the second view, the means end at (2 + 1 + 6 + .5) / 4 = 2.375 and
        -(2 + 1 + 7 + .5) / 4 = -2.625, so its middle is -.125; the first view's stays at 0.
        """
        X = np.array([[2, 2], [-2, -2], [5, 1], [1, 6], [-5, -1], [-1, -7], [3, 0.5], [-3, -0.5]])
        y = np.array([1, 0, -1, -1, -1, -1, -1, -1])
        model = make(estimator=Midpoint(), views=PAIR, n_positive=1, n_negative=1).fit(X, y)
        assert entries(model) == {
            *((1, 0, 2, 1), (1, 0, 4, 0), (1, 1, 3, 1), (1, 1, 5, 0)),
            *((2, 0, 6, 1), (2, 0, 7, 0), (2, 1, 6, 1), (2, 1, 7, 0)),
        }
        assert model.n_iter_ == 2
        assert [fitted.middle_ for fitted in model.estimators_] == pytest.approx([0, -0.125])
        # The odds of the two views are multiplied: e to the power of 1 and of 1.125.
        assert model.predict_proba([[1.0, 1.0]])[0, 1] == pytest.approx(1 / (1 + np.exp(-2.125)))

    def test_of_two_labels_for_a_row_the_more_confident_one_wins(self):
        """The first view calls row 2 positive (.75) and 3 negative (.75); the second the reverse.

        It is as sure about row 3, which stays unlabeled, and surer about row 2 (.9).
        """
        X = np.array([[1, 1], [0, 0], [0.75, 0.1], [0.25, 0.75]])
        model = make(estimator=Reads(), views=PAIR, n_positive=1, n_negative=1)
        model.fit(X, [1, 0, -1, -1])
        assert entries(model) == {(1, 1, 2, 0)}

    def test_classifiers_that_only_contradict_each_other_add_nothing(self):
        X = np.array([[1, 1], [0, 0], [0.75, 0.25], [0.25, 0.75]])
        model = make(estimator=Reads(), views=PAIR, n_positive=1, n_negative=1)
        assert model.fit(X, [1, 0, -1, -1]).n_iter_ == 0
        assert entries(model) == set()
        # If one is certain of one class and the other of the other, neither is right.
        assert model.predict_proba([[0.0, 1.0]]).tolist() == [[0.5, 0.5]]

    def test_rows_are_chosen_from_the_pool_and_it_is_filled_up_again(self):
        """A pool of two holds one row for each class, so every round labels both of them."""
        X = np.linspace(0.05, 0.95, 12)[:, None].repeat(2, axis=1)
        y = np.array([0] + [-1] * 10 + [1])
        model = make(
            estimator=Reads(), views=PAIR, n_positive=1, n_negative=1, pool_size=2, rounds=3
        )
        added = model.fit(X, y).additions_
        assert model.n_iter_ == 3
        assert len(np.unique(added.rows)) == 6
        assert np.bincount(added.rounds).tolist() == [0, 4, 4, 4]
        for number in (1, 2, 3):
            part = added.rounds == number
            assert (added.labels[part] == 1).tolist() == (
                added.rows[part] == added.rows[part].max()
            ).tolist()

    def test_co_em_fits_every_row_with_the_probabilities_of_the_other_view(self):
        """One round on four rows, followed step by step.

        The first view's middle is 0. It gives the unlabeled rows, at 1 and -1, the probabilities p
        and 1 - p with p = 1 / (1 + 1 / e), which already have the balance of the labels. The second
        view is fitted to row 0 once, as positive, to rows 2 and 3 with p and 1 - p, and so on.
        """
        X = np.array([[2, 2], [-2, -2], [1, 3], [-1, 1]], dtype=float)
        model = make(estimator=Midpoint(), views=PAIR, method="co-em", rounds=1)
        model.fit(X, [1, 0, -1, -1])
        p = 1 / (1 + np.exp(-1))
        positive, negative = (2 + 3 * p + (1 - p)) / 2, (-2 + 3 * (1 - p) + p) / 2
        assert model.estimators_[1].middle_ == pytest.approx((positive + negative) / 2)
        # Its probabilities, at 3 and 1, are shifted so that their mean is 1/2: odds of e and 1 / e.
        positive, negative = (2 + p - (1 - p)) / 2, (-2 + (1 - p) - p) / 2
        assert model.estimators_[0].middle_ == pytest.approx((positive + negative) / 2)
        assert model.n_iter_ == 1
        assert entries(model) == set()


class TestWhatItGains:
    @pytest.mark.parametrize("base", [LogisticRegression(), GaussianNB()])
    def test_co_training_beats_a_single_view_and_its_own_start(self, base):
        """The claim of the source: five labels of each class, views independent given the class."""
        found = {name: [] for name in ("one view", "all columns", "start", "co-training")}
        for seed in range(10):
            X, truth = two_views(600, seed)
            X_test, truth_test = two_views(2000, 1000 + seed)
            y = few_labels(truth, 5)
            known = y >= 0
            model = make(estimator=base, rounds=30, random_state=seed).fit(X, y)
            single = clone(base).fit(X[known, HALVES[0]], y[known])
            found["one view"].append(single.score(X_test[:, HALVES[0]], truth_test))
            whole = clone(base).fit(X[known], y[known])
            found["all columns"].append(whole.score(X_test, truth_test))
            start = combined_start(base, X, y, X_test)
            found["start"].append((start == truth_test).mean())
            found["co-training"].append(model.score(X_test, truth_test))
        mean = {name: float(np.mean(scores)) for name, scores in found.items()}
        for name in ("one view", "all columns", "start"):
            assert mean["co-training"] > mean[name] + 0.05
            assert np.mean(np.array(found["co-training"]) > found[name]) >= 0.9
        assert mean["co-training"] > 0.87

    def test_co_em_beats_a_single_view_too(self):
        scores, single = [], []
        for seed in range(5):
            X, truth = two_views(600, seed)
            X_test, truth_test = two_views(2000, 1000 + seed)
            y = few_labels(truth, 5)
            model = make(estimator=GaussianNB(), method="co-em", rounds=15).fit(X, y)
            scores.append(model.score(X_test, truth_test))
            plain = GaussianNB().fit(X[y >= 0, :10], y[y >= 0])
            single.append(plain.score(X_test[:, :10], truth_test))
        assert min(scores) > 0.85 > max(single)

    def test_positive_and_unlabeled_rows(self):
        """One positive in ten is labeled, of a quarter of all rows."""
        scores, single, right = [], [], []
        for seed in range(5):
            X, truth = two_views(800, seed, prevalence=0.25)
            X_test, truth_test = two_views(2000, 1000 + seed, prevalence=0.25)
            positives = np.flatnonzero(truth)
            y = np.isin(np.arange(800), positives[:20]).astype(int)
            model = make(unlabeled=None, rounds=30, random_state=seed).fit(X, y)
            scores.append(model.score(X_test, truth_test))
            single.append(LogisticRegression().fit(X, y).score(X_test, truth_test))
            right.append((model.additions_.labels == truth[model.additions_.rows]).mean())
        assert np.mean(scores) > np.mean(single) + 0.1
        assert min(scores) > 0.85
        assert min(right) > 0.85

    def test_views_that_share_a_cause_lose(self):
        """It fails, as documented, if both views follow a cause that says nothing of the class.

        In the first column of each view, a few labels follow it by chance. Where it is the same
        cause in both, the classifiers confirm each other, and end worse than they started.
        """
        gains = {"own": [], "shared": []}
        for seed in range(8):
            X, truth = two_views(600, seed)
            y = few_labels(truth, 5)
            causes = 3 * np.random.default_rng(seed).normal(size=(600, 2))
            for name, second in (("own", causes[:, 1]), ("shared", causes[:, 0])):
                table = X.copy()
                table[:, 0], table[:, 10] = causes[:, 0], second
                start = combined_start(LogisticRegression(), table, y, table)
                model = make(rounds=30, random_state=seed).fit(table, y)
                gains[name].append(model.score(table, truth) - (start == truth).mean())
        assert np.mean(gains["own"]) > 0.05
        assert np.mean(gains["shared"]) < -0.05

    def test_compare_takes_views(self, rows):
        X, truth, _ = rows
        y = np.where((truth == 1) & (np.arange(len(truth)) < 150), 1, 0)
        mine = {"two views": CoTrainingClassifier(views=HALVES)}
        found = compare(X, y, methods=mine, true_labels=truth, random_state=0)
        error = {row.method: row.error for row in found.rows}
        assert error["two views"] < error["noisy baseline"]


class TestPositiveAndUnlabeled:
    def fitted(self, n_labeled, n_unlabeled, **parameters):
        """Return a model of rows numbered in their first column, and the rows of each fit."""
        n_rows = n_labeled + n_unlabeled
        X = np.arange(n_rows, dtype=float)[:, None] + [0, 0.5]
        y = (np.arange(n_rows) < n_labeled).astype(int)
        Remembers.fits.clear()
        parameters = {"n_positive": 1, "n_negative": 2} | parameters
        model = make(estimator=Remembers(), views=PAIR, unlabeled=None, **parameters).fit(X, y)
        return model, [fit for fit in Remembers.fits if all(value % 1 == 0 for value in fit)]

    @pytest.mark.parametrize(("n_labeled", "n_drawn"), [(4, 4), (30, 20)])
    def test_as_many_negatives_are_drawn_as_rows_are_labeled_or_half(self, n_labeled, n_drawn):
        _, fits = self.fitted(n_labeled, 40)
        assert sum(label == 0 for label in fits[0].values()) == n_drawn
        assert sum(label == 1 for label in fits[0].values()) == n_labeled

    def test_every_added_negative_releases_a_provisional_one(self):
        model, fits = self.fitted(20, 60, rounds=8, pool_size=20)
        drawn = {row for row, label in fits[0].items() if label == 0}
        added = model.additions_
        assert len(drawn) == 20
        for number, fit in enumerate(fits[1:], start=1):
            until = added.rounds <= number
            negatives = set(added.rows[until & (added.labels == 0)].tolist())
            left = {row for row, label in fit.items() if label == 0} - negatives
            assert len(left) == max(0, 20 - len(negatives))
            assert left <= drawn
        # Released rows get labels like any other.
        assert drawn & set(added.rows.tolist())

    def test_labels_that_were_given_stay(self):
        model, fits = self.fitted(20, 60)
        assert all(fit[row] == 1 for fit in fits for row in range(20))
        assert set(model.additions_.rows.tolist()) <= set(range(20, 80))

    def test_without_unlabeled_rows_the_error_explains_the_labels(self, rows):
        X, _, y = rows
        with pytest.raises(ValueError, match="got one class only") as error:
            make(unlabeled=None).fit(X, np.ones(len(X)))
        assert "learns from labeled positives and unlabeled rows" in error.value.__notes__[0]
        with pytest.raises(ValueError, match="got 3: -1, 0, 1") as error:
            make(unlabeled=None).fit(X, y)
        assert "pass it as unlabeled, such as unlabeled=-1" in error.value.__notes__[1]


class TestSchedule:
    @pytest.mark.parametrize(
        ("parameters", "n_labels", "n_rows", "a_round"),
        [
            ({}, 5, 300, [2, 2]),
            ({}, 5, 1610, [4, 4]),
            ({"n_positive": 3}, 5, 300, [3, 3]),
            ({"n_negative": 5}, 5, 300, [5, 5]),
            ({"n_positive": 1, "n_negative": 3}, 5, 300, [3, 1]),
        ],
    )
    def test_growth_follows_the_labels_and_the_number_of_rows(
        self, parameters, n_labels, n_rows, a_round
    ):
        X, truth = two_views(n_rows, seed=0)
        # Views that are the same choose the same rows.
        model = make(rounds=1, **parameters).fit(np.tile(X[:, :10], 2), few_labels(truth, n_labels))
        added = model.additions_
        for view in (0, 1):
            assert np.bincount(added.labels[added.views == view]).tolist() == a_round

    def test_by_default_it_is_the_source_for_positive_and_unlabeled_rows(self):
        X, truth = two_views(800, seed=0)
        y = np.isin(np.arange(800), np.flatnonzero(truth)[:24]).astype(int)
        added = make(unlabeled=None, rounds=1).fit(np.tile(X[:, :10], 2), y).additions_
        for view in (0, 1):
            assert np.bincount(added.labels[added.views == view]).tolist() == [3, 1]

    def test_a_pool_larger_than_the_unlabeled_rows_is_refused(self, rows):
        X, truth, y = rows
        with pytest.raises(ValueError, match=r"got 300 for 290 rows\. Pass at most 290, or None"):
            make(pool_size=300).fit(X, y)
        marked = np.isin(np.arange(300), np.flatnonzero(truth)[:20]).astype(int)
        with pytest.raises(ValueError, match="280 rows, 20 of them provisional negatives"):
            make(pool_size=270, unlabeled=None).fit(X, marked)

    @pytest.mark.parametrize(
        "parameters", [{"pool_size": 3}, {"n_positive": 200}, {"n_positive": 1, "n_negative": 80}]
    )
    def test_a_round_larger_than_the_pool_is_refused(self, rows, parameters):
        X, _, y = rows
        y = np.where((np.arange(300) < 20) & (y == -1), rows[1], y)
        with pytest.raises(ValueError, match=r"must not exceed the pool of \d+ rows, but each"):
            make(**{"pool_size": 60} | parameters).fit(X, y)

    def test_too_few_unlabeled_rows_for_a_round_give_a_warning(self, rows):
        X, truth, _ = rows
        y = np.where(np.arange(300) < 3, -1, truth)
        with pytest.warns(AssumptionWarning, match=r"Nothing was added: .* rows holds 3\. Pass"):
            model = make().fit(X, y)
        assert model.n_iter_ == 0
        assert model.score(X, truth) > 0.8


class TestFewLabels:
    def test_labels_of_any_kind_and_mark(self, rows):
        X, truth, y = rows
        plain = make().fit(X, y)
        names = np.array(["ham", "spam", "?"], dtype=object)[y]
        model = make(unlabeled="?", pos_label="ham").fit(X, names)
        assert model.classes_.tolist() == ["ham", "spam"]
        assert set(model.additions_.labels.tolist()) == {"ham", "spam"}
        assert (model.predict(X) == np.array(["ham", "spam"])[truth]).mean() > 0.8
        other = make(unlabeled=9).fit(X, np.where(y == -1, 9, y))
        assert (other.predict_proba(X) == plain.predict_proba(X)).all()
        with pytest.warns(Warning, match="column-vector y was passed"):
            column = make().fit(X, y[:, None])
        assert (column.predict_proba(X) == plain.predict_proba(X)).all()

    def test_a_missing_mark_or_label_is_explained(self, rows):
        X, truth, y = rows
        model = make().fit(X, y)
        with pytest.raises(ValueError, match="y must hold rows marked -1, which means unlabeled"):
            model.fit(X, truth)
        with pytest.raises(NotFittedError):
            model.predict(X)
        with pytest.raises(ValueError, match=r"all rows are marked -1.*Label a few of each class"):
            make().fit(X, np.full(len(X), -1))
        with pytest.raises(ValueError, match="got one class only") as error:
            make().fit(X, np.where(y == 0, -1, y))
        assert "leave out unlabeled" in error.value.__notes__[0]
        with pytest.raises(ValueError, match="got 3: 0, 1, 2"):
            make().fit(X, np.where(np.arange(len(y)) < 9, [2, 1, 0] * 100, y))
        for mark in (np.nan, [-1]):
            with pytest.raises(ValueError, match="unlabeled must be a single value that is not"):
                make(unlabeled=mark).fit(X, y)

    def test_rows_of_weight_zero_have_no_effect(self, rows):
        X, _, y = rows
        spoiled = np.vstack([X, np.full((30, 20), 50.0)])
        labels = np.concatenate([y, np.repeat([0, 1, -1], 10)])
        weight = np.append(np.ones(len(y)), np.zeros(30))
        for method in ("co-training", "co-em"):
            model = make(method=method).fit(spoiled, labels, sample_weight=weight)
            expected = make(method=method).fit(X, y)
            assert model.predict_proba(X) == pytest.approx(expected.predict_proba(X))
            assert model.additions_.rows.tolist() == expected.additions_.rows.tolist()

    def test_unlabeled_rows_need_weight(self, rows):
        X, _, y = rows
        with pytest.raises(ValueError, match=r"is 0 for all rows marked -1\. Without unlabeled"):
            make().fit(X, y, sample_weight=(y >= 0).astype(float))

    def test_weights_reach_every_fit(self, rows):
        X, _, y = rows
        heavy = np.where(y == 1, 50.0, 1.0)
        for method in ("co-training", "co-em"):
            model = make(method=method, n_positive=2, n_negative=2)
            plain = model.fit(X, y).predict_proba(X)[:, 1].mean()
            assert model.fit(X, y, sample_weight=heavy).predict_proba(X)[:, 1].mean() > plain
        with pytest.warns(SampleWeightIgnoredWarning, match="all labeled rows count the same"):
            make(estimator=KNeighborsClassifier(3)).fit(X, y, sample_weight=heavy)


class TestProperties:
    @pytest.mark.parametrize("method", ["co-training", "co-em"])
    def test_a_second_fit_is_like_the_first(self, rows, method):
        X, _, y = rows
        model = make(method=method)
        first = model.fit(X, y).predict_proba(X)
        assert (first == model.fit(X, y).predict_proba(X)).all()
        again = pickle.loads(pickle.dumps(clone(model).fit(X, y)))
        assert (first == again.predict_proba(X)).all()

    def test_a_row_gets_one_label_and_given_labels_stay(self, rows):
        X, _, y = rows
        added = make(rounds=30).fit(X, y).additions_
        assert (y[added.rows] == -1).all()
        assert len(np.unique(added.rows)) == len(set(zip(added.rows, added.labels, strict=True)))
        assert len(np.unique(added.rows)) == len(set(zip(added.rows, added.rounds, strict=True)))

    def test_views_can_be_swapped(self, rows):
        X, _, y = rows
        one, other = make().fit(X, y), make(views=HALVES[::-1]).fit(X, y)
        assert one.predict_proba(X) == pytest.approx(other.predict_proba(X))
        assert entries(one) == {(when, 1 - view, *rest) for when, view, *rest in entries(other)}

    def test_the_names_of_the_classes_do_not_matter(self, rows):
        X, _, y = rows
        one = make().fit(X, y)
        other = make(pos_label="a").fit(X, np.array(["b", "a", -1], dtype=object)[y])
        assert other.predict_proba(X)[:, ::-1] == pytest.approx(one.predict_proba(X))

    def test_permuted_columns_with_views_by_name(self, rows):
        X, _, y = rows
        frame = pd.DataFrame(X, columns=[f"x{number}" for number in range(20)])
        views = list(frame.columns[:10]), list(frame.columns[10:])
        plain = make(views=views).fit(frame, y)
        turned = frame[np.random.default_rng(0).permutation(frame.columns)]
        model = make(views=views).fit(turned, y)
        assert (model.predict_proba(turned) == plain.predict_proba(frame)).all()
        assert model.feature_names_in_.tolist() == turned.columns.tolist()
        with pytest.raises(ValueError, match="feature names should match"):
            model.predict(frame)

    def test_random_halves_depend_on_the_seed_alone(self, rows):
        X, _, y = rows
        seeds = [make(views=None, random_state=seed).fit(X, y).views_ for seed in (0, 0, 1)]
        assert [view.tolist() for view in seeds[0]] == [view.tolist() for view in seeds[1]]
        assert seeds[0][0].tolist() != seeds[2][0].tolist()
        assert sorted(np.concatenate(seeds[0])) == list(range(20))
        assert [len(view) for view in seeds[0]] == [10, 10]


def first_half(X):
    return X[:, :10]


def second_half(X):
    return X[:, 10:]


def titles(rows):
    return [row.split("|")[0] for row in rows]


def bodies(rows):
    return [row.split("|")[1] for row in rows]


class TestViews:
    @pytest.mark.parametrize(
        "views",
        [
            (list(range(10)), list(range(-10, 0))),
            [np.arange(10), np.arange(10, 20)],
            (np.arange(20) < 10, np.arange(20) >= 10),
            ([True] * 10 + [False] * 10, slice(10, None)),
            (first_half, second_half),
            (first_half, slice(10, 20)),
        ],
    )
    def test_views_may_be_given_in_many_ways(self, rows, views):
        X, _, y = rows
        expected = make().fit(X, y).predict_proba(X)
        # Sums of rows that are laid out differently in memory differ in the last bits.
        assert make(views=views).fit(X, y).predict_proba(X) == pytest.approx(expected)

    @pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
    def test_columns_by_name(self, rows, frame):
        X, _, y = rows
        table = frame({"a": X[:, 0], "b": X[:, 10]})
        model = make(views=("a", ["b"])).fit(table, y)
        assert [view.tolist() for view in model.views_] == [[0], [1]]
        expected = make(views=PAIR).fit(X[:, [0, 10]], y).predict_proba(X[:, [0, 10]])
        assert model.predict_proba(table) == pytest.approx(expected)

    @pytest.mark.parametrize("container", [sparse.csr_array, sparse.coo_matrix, sparse.csc_array])
    def test_sparse_rows(self, rows, container):
        X, _, y = rows
        expected = make().fit(X, y).predict(X)
        assert (make().fit(container(X), y).predict(container(X)) == expected).mean() > 0.98

    def test_lists_of_numbers(self, rows):
        X, _, y = rows
        expected = make().fit(X, y).predict_proba(X)
        assert (make().fit(X.tolist(), y.tolist()).predict_proba(X.tolist()) == expected).all()

    @pytest.mark.parametrize("method", ["co-training", "co-em"])
    def test_texts_by_functions(self, method):
        texts = ["good fine|great nice", "bad awful|poor sad"] * 30
        y = np.array([1, 0] * 2 + [-1] * 56)
        base = make_pipeline(TfidfVectorizer(), LogisticRegression())
        model = make(estimator=base, views=(titles, bodies), method=method).fit(texts, y)
        assert model.predict(texts).tolist() == [1, 0] * 30
        assert not hasattr(model, "n_features_in_")
        with pytest.raises(ValueError, match=r"X must have rows and columns, got shape \(60,\)\."):
            make(estimator=base).fit(texts, y)

    def test_a_scaled_pipeline_in_co_em_sees_every_row_once(self, rows):
        X, _, y = rows
        base = make_pipeline(StandardScaler(), LogisticRegression())
        model = make(estimator=base, method="co-em").fit(X, y)
        assert model.estimators_[0][0].mean_ == pytest.approx(X[:, :10].mean(axis=0))

    def test_columns_in_both_views_are_named(self, rows):
        X, _, y = rows
        with pytest.raises(ValueError, match=r"views must not share columns; both hold 9, 10\."):
            make(views=(slice(0, 11), slice(9, 20))).fit(X, y)
        frame = pd.DataFrame(X[:, :3], columns=["title", "body", "link"])
        with pytest.raises(ValueError, match=r"both hold 'body'\. Leave each column in one view"):
            make(views=(["title", "body"], ["body", "link"])).fit(frame, y)
        with pytest.raises(ValueError, match=r"both hold 0, 1, 2, 3, 4 and 15 more\."):
            make(views=(slice(None), slice(None))).fit(X, y)

    def test_columns_in_no_view_are_named_and_not_used(self, rows):
        X, _, y = rows
        frame = pd.DataFrame(X[:, :4], columns=["id", "title", "link", "date"])
        with pytest.warns(AssumptionWarning, match=r"every column of X; 'id', 'date' will not be"):
            model = make(views=(["title"], ["link"])).fit(frame, y)
        changed = frame.assign(id=0.0, date=-1.0)
        assert (model.predict_proba(changed) == model.predict_proba(frame)).all()

    @pytest.mark.parametrize(
        ("views", "message"),
        [
            ("ab", "views must be a pair of views or None, got 'ab'"),
            ([[0]], r"views must be a pair of views or None, got \[\[0\]\]"),
            (([0], []), r"views\[1\] must hold at least one column, got \[\], which holds none"),
            ((slice(0, 0), [1]), r"views\[0\] must hold at least one column, got slice\(0, 0"),
            ((["a"], [1]), r"views\[0\] holds column names, but X is of type ndarray, which has"),
            (([0, 25], [1]), r"views\[0\] must hold positions from 0 to 19, got 25\. Check"),
            (([0, 0, 2], [1]), r"views\[0\] must hold each column once, but repeats 0\."),
            (([True], [1]), r"views\[0\] must hold one boolean per column of X, got 1 for 20"),
            (([0.5], [1]), r"views\[0\] must hold column names, positions or booleans.*got 0\.5"),
            ((None, [1]), r"views\[0\] must hold column names, positions or booleans.*got None"),
            ((slice("a", "b"), [1]), r"views\[0\] must be a slice of positions, got slice\('a'"),
            ((lambda X: X[:5], [1]), r"views\[0\] must return one row per row of X, got 5 for 300"),
            (([1], len), r"views\[1\] must return rows, got int\. Return an array"),
        ],
    )
    def test_views_that_cannot_be_are_refused(self, rows, views, message):
        X, _, y = rows
        with pytest.raises(ValueError, match=message):
            make(views=views).fit(X, y)

    def test_unknown_names_are_refused(self, rows):
        X, _, y = rows
        frame = pd.DataFrame(X[:, :2], columns=["title", "link"])
        with pytest.raises(ValueError, match=r"which lacks 'body'\. Its columns are 'title', 'li"):
            make(views=(["title", "body"], ["link"])).fit(frame, y)

    def test_a_single_column_cannot_be_halved(self, rows):
        X, _, y = rows
        with pytest.raises(ValueError, match=r"it has 1 feature\(s\).*Pass two functions of X as"):
            make(views=None).fit(X[:, :1], y)


class TestEstimators:
    def test_estimators_without_probabilities_are_refused(self, rows):
        X, _, y = rows
        with pytest.raises(ValueError, match="estimator must have predict_proba, got LinearSVC"):
            make(estimator=LinearSVC()).fit(X, y)

    def test_the_estimator_passed_in_is_left_alone(self, rows):
        X, _, y = rows
        names = np.array(["no", "yes", -1], dtype=object)[y]
        base = LogisticRegression(class_weight={"no": 1, "yes": 2})
        assert set(make(estimator=base).fit(X, names).predict(X)) == {"no", "yes"}
        assert not hasattr(base, "coef_")

    def test_co_em_needs_weights_and_labels_of_both_classes(self, rows):
        X, truth, y = rows
        with pytest.raises(ValueError, match='method="co-em" works by weights alone'):
            make(estimator=KNeighborsClassifier(), method="co-em").fit(X, y)
        with pytest.raises(ValueError, match=r'"co-em" needs labels of both .* unlabeled=-1'):
            make(method="co-em", unlabeled=None).fit(X, truth)

    def test_rows_that_cannot_be_scored_are_refused_even_if_they_are_not_drawn(self, rows):
        X, _, y = rows
        for row in (100, 200, 299):
            spoiled = X.copy()
            spoiled[row, 0] = np.nan
            with pytest.raises(ValueError, match="NaN"):
                make(rounds=1, pool_size=4).fit(spoiled, y)
