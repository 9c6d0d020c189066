"""Co-training: two classifiers with a view each label unlabeled rows for each other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import expit, logit
from sklearn.base import MetaEstimatorMixin
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import validate_data

from rankprune.core._inputs import (
    BinaryLabels,
    BoolArray,
    as_array,
    count_true,
    validate_sample_weight,
    validate_unlabeled,
)
from rankprune.exceptions import AssumptionWarning, warn_caller
from rankprune.learners._base import FitRows, ProbabilityClassifier, Weights
from rankprune.learners._class_order import labels_to_fit
from rankprune.learners._cloning import (
    RandomState,
    copy_input_tags,
    default_estimator,
    draw_seed,
    forget_results,
    fresh_clone,
    private_random_state,
)
from rankprune.learners._probabilities import check_predicts_probabilities, positive_probability
from rankprune.learners._sample_weights import (
    fit_rows,
    refuse_without_weights,
    warn_if_weights_are_lost,
)
from rankprune.methods._pu import labeled_and_unlabeled, read_pu
from rankprune.methods._views import as_columns, resolve_views, take_view

# Blum and Mitchell: with 776 unlabeled rows, each classifier labels 1 + 3 of a pool of 75.
_ROWS_PER_LABEL = 200
_SOURCE_LABELS, _SOURCE_POOL = 4, 75
_SOURCE_SHARE_OF_POSITIVES = 0.25
# Probabilities this close to 0 or 1 are moved, so that no class and no weight vanishes in co-EM.
_LEAST_SHARE = 1e-6
# Beyond the logarithm of any odds: the bounds between which the class balance is searched for.
_LARGEST_SHIFT = 100.0
# co-EM ends as soon as no probability changes by more than this.
_SETTLED = 1e-3


@dataclass(frozen=True)
class Additions:
    """The rows that were labeled, by whom and when; a row that both views chose has two entries.

    Attributes
    ----------
    rows : ndarray of int of shape (n_additions,)
        Numbers of the rows in X.
    labels : ndarray of shape (n_additions,)
        The labels they got.
    views : ndarray of int of shape (n_additions,)
        The view, 0 or 1, whose classifier chose the row and this label.
    rounds : ndarray of int of shape (n_additions,)
        The round, from 1.
    """

    rows: NDArray[np.intp]
    labels: NDArray[Any]
    views: NDArray[np.intp]
    rounds: NDArray[np.intp]


class CoTrainingClassifier(MetaEstimatorMixin, ProbabilityClassifier):  # type: ignore[misc]  # scikit-learn has no types
    """Learn from few labels by two views of each row (Blum and Mitchell 1998).

    Parameters
    ----------
    estimator : classifier with ``predict_proba``, default=None
        The classifier fitted to each view; cloned twice. Logistic regression by default.
    views : pair of views or None, default=None
        A view is a list of column names (of a data frame) or positions, a slice of positions, a
        boolean mask of the columns, or a function that takes X and returns the view. No column may
        be in both views; columns in neither are not used, with a warning. Functions may return
        texts or anything else that the estimator accepts, and are not checked for shared columns.
        By default, two random halves of the columns.
    method : {"co-training", "co-em"}, default="co-training"
        ``"co-training"`` adds the rows that the classifiers are most confident about, a few in each
        round, and never takes them back. ``"co-em"`` is the variant of Nigam and Ghani: in each
        round, each classifier is fitted to all rows, with the probabilities that the other one
        gives to the unlabeled ones. It needs labels of both classes and an estimator that takes
        ``sample_weight``, such as naive Bayes, the sources' choice.
    unlabeled : label, default=None
        The value of ``y`` that marks unlabeled rows, such as -1; the other rows have one of two
        labels. By default ``y`` is positive and unlabeled: the positive label is right, and the
        other one means unlabeled.
    n_positive, n_negative : int, default=None
        How many rows each classifier labels positive and negative in each round (the sources' p
        and n). By default, 4 together or 1 in 200 unlabeled rows if that is more, in the proportion
        of the labels; for positive and unlabeled rows, where that is unknown, 1 to 3. If one of
        them is given, the other follows in the same proportion.
    pool_size : int, default=None
        How many unlabeled rows, drawn at random, the classifiers choose from (the sources' u'). By
        default 75 for every 4 rows that a classifier labels in a round, or all if there are fewer.
    rounds : int, default=30
        Largest number of rounds (the sources' k). Co-training ends when the pool is too small for
        another round, co-EM when probabilities no longer change.
    pos_label, random_state, verbose
        As in `RankPruningClassifier`; ``random_state`` draws the random halves and the pool.

    Attributes
    ----------
    estimators_ : pair of classifiers
        The fitted classifier of each view.
    views_ : pair of ndarray of int or functions
        The positions of each view's columns, or the functions given.
    n_iter_ : int
        Number of rounds.
    additions_ : Additions
        Which rows were added, as arrays: ``rows``, ``labels``, ``views`` and ``rounds``. A row that
        both classifiers chose has two entries. Empty for co-EM.
    classes_, n_features_in_, feature_names_in_
        As in `RankPruningClassifier`.

    Notes
    -----
    The defaults are p=1, n=3, u'=75 and k=30 for data of the size and proportion of Blum and
    Mitchell's. Both classifiers choose from the same pool at the same time; if they disagree about
    a row that both chose, the label given with the higher probability wins. As in the source, a
    prediction multiplies the probabilities of each class by the two classifiers, and normalises.

    The sources start with labels of both classes. From positive and unlabeled rows alone, the first
    negatives are provisional: a random sample of unlabeled rows, as many as there are labeled rows
    but at most half of the unlabeled ones. Every negative that the classifiers add releases one of
    them, which can then be labeled like any other row.

    In co-EM, the probabilities of the unlabeled rows are shifted so that their mean is the share of
    positives among the labels. The source does not do so, but with few labels one class would soon
    take all rows.

    Use it with few labels, if each view alone would suffice to tell the classes and the views are
    independent given the class. It fails if they are not: confident mistakes of one view are
    then confident mistakes of the other, and are never taken back. Random halves are independent
    only if the columns are. With many labels, fit the estimator to all columns.

    References
    ----------
    A. Blum and T. Mitchell: Combining Labeled and Unlabeled Data with Co-Training. COLT 1998.

    K. Nigam and R. Ghani: Analyzing the Effectiveness and Applicability of Co-training. CIKM 2000.

    Examples
    --------
    Ten labels, and two views that are independent given the class:

    >>> import numpy as np
    >>> from rankprune.methods import CoTrainingClassifier
    >>> generator = np.random.default_rng(0)
    >>> truth = np.arange(1000) % 2
    >>> X = generator.normal(size=(1000, 20)) + 0.6 * truth[:, None]
    >>> y = np.where(np.arange(1000) < 10, truth, -1)
    >>> views = slice(0, 10), slice(10, 20)
    >>> model = CoTrainingClassifier(views=views, unlabeled=-1, random_state=0).fit(X, y)
    >>> bool(model.score(X, truth) > 0.85)
    True
    >>> len(np.unique(model.additions_.rows)) > 200
    True
    """

    _model_attribute = "estimators_"
    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's convention)
        **ProbabilityClassifier._parameter_constraints,
        "method": [StrOptions({"co-training", "co-em"})],
        "n_positive": [Interval(Integral, 1, None, closed="left"), None],
        "n_negative": [Interval(Integral, 1, None, closed="left"), None],
        "pool_size": [Interval(Integral, 1, None, closed="left"), None],
        "rounds": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        views: Any = None,
        method: str = "co-training",
        unlabeled: Any = None,
        n_positive: int | None = None,
        n_negative: int | None = None,
        pool_size: int | None = None,
        rounds: int = 30,
        pos_label: Any = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.views = views
        self.method = method
        self.unlabeled = unlabeled
        self.n_positive = n_positive
        self.n_negative = n_negative
        self.pool_size = pool_size
        self.rounds = rounds
        self.pos_label = pos_label
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> CoTrainingClassifier:
        """Fit a classifier to each view, and let them label rows for each other.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Or any rows, such as a list of texts, if both views are functions.
        y : array-like of shape (n_rows,)
            Two labels and the mark of ``unlabeled`` rows. Without such a mark, the positive label
            means labeled, the other one means unlabeled.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of the rows in every fit. Rows of weight 0 are never used.

        Returns
        -------
        CoTrainingClassifier
            The object itself.
        """
        read = self._read_marks if self.unlabeled is None else self._read_few_labels
        rows, labeled, unlabeled, weight = read(X, y, sample_weight)
        self._check_estimator()
        self._keep_classes(rows.labels)
        generator = private_random_state(self.random_state)
        table = as_columns(rows.X, self.views)
        views = resolve_views(self.views, table, generator)
        validate_data(self, rows.X, skip_check_array=True)
        warn_if_weights_are_lost(self._base(), weight, "all labeled rows count the same")
        problem = _Problem(
            self._base(),
            draw_seed(generator),
            tuple(take_view(table, view, number) for number, view in enumerate(views)),
            rows.labels,
            weight,
            labeled,
            unlabeled,
            _draw_negatives(rows.labels, labeled, unlabeled, generator),
        )
        if self.method == "co-em":
            pair, self.n_iter_ = _co_em(problem, self.rounds)
            added: list[_Added] = []
        else:
            pair, added = _co_train(problem, self._schedule(problem), self.rounds, generator)
            self.n_iter_ = len(added)
        self.additions_ = _additions(added, rows.labels)
        self._log("%d rounds added %d labels", self.n_iter_, len(self.additions_.rows))
        self.views_ = views
        self.estimators_ = pair
        return self

    def _read_marks(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[FitRows, NDArray[np.intp], NDArray[np.intp], Weights]:
        """Return the rows, the numbers of labeled and unlabeled ones, and the weights."""
        try:
            rows = read_pu(self, self._read, X, y, sample_weight)
        except ValueError as error:
            if "got 3:" in str(error):
                error.add_note(
                    "If one of the three values marks unlabeled rows, pass it as unlabeled, such "
                    "as unlabeled=-1."
                )
            raise
        if self.method == "co-em":
            raise ValueError(
                'method="co-em" needs labels of both classes, but without a mark of unlabeled rows '
                "the negative label means unlabeled. Pass unlabeled, such as unlabeled=-1, or use "
                'method="co-training".'
            )
        return rows, *labeled_and_unlabeled(rows), rows.weight

    def _read_few_labels(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[FitRows, NDArray[np.intp], NDArray[np.intp], Weights]:
        """Return the same; unlabeled rows weigh nothing while the labels are checked."""
        forget_results(self)
        given = as_array(y, "y")
        is_unlabeled = validate_unlabeled(
            given[:, 0] if given.shape[1:] == (1,) else given, self.unlabeled, name="y"
        )
        weight = validate_sample_weight(sample_weight, len(is_unlabeled))
        mass = np.ones(len(is_unlabeled)) if weight is None else weight
        try:
            rows = self._read(X, y, np.where(is_unlabeled, 0.0, mass))
        except ValueError as error:
            if "one class only" in str(error):
                error.add_note(
                    f"Rows marked {self.unlabeled!r} are unlabeled and do not count. To learn from "
                    "positive and unlabeled rows, leave out unlabeled."
                )
            raise
        unlabeled = np.flatnonzero(is_unlabeled & (mass > 0))
        if not unlabeled.size:
            raise ValueError(
                "sample_weight must be above 0 for some unlabeled rows, but is 0 for all rows "
                f"marked {self.unlabeled!r}. Without unlabeled rows, fit the estimator itself."
            )
        return rows, np.flatnonzero(rows.status.counted), unlabeled, weight

    def _base(self) -> Any:
        return default_estimator() if self.estimator is None else self.estimator

    def _check_estimator(self) -> None:
        check_predicts_probabilities(self._base(), "estimator")
        if self.method == "co-em":
            refuse_without_weights(self._base(), 'CoTrainingClassifier with method="co-em"')

    def _schedule(self, problem: _Problem) -> _Schedule:
        """Return how many rows are labeled in each round, and the size of the pool."""
        available = len(problem.unlabeled) - len(problem.provisional)
        n_positive, n_negative = _growth(
            self.n_positive, self.n_negative, len(problem.unlabeled), problem.share_of_positives
        )
        a_round = n_positive + n_negative
        pool_size = self.pool_size
        if pool_size is None:
            pool_size = min(
                available, _SOURCE_POOL * max(a_round, _SOURCE_LABELS) // _SOURCE_LABELS
            )
        if pool_size > available:
            others = len(problem.provisional)
            without = f", {others} of them provisional negatives" if others else ""
            raise ValueError(
                f"pool_size must not exceed the unlabeled rows, got {pool_size} for "
                f"{len(problem.unlabeled)} rows{without}. Pass at most {available}, or None."
            )
        if a_round > pool_size:
            told = f"each classifier labels {n_positive} + {n_negative} rows in a round"
            if (self.n_positive, self.n_negative, self.pool_size) != (None, None, None):
                raise ValueError(
                    f"n_positive + n_negative must not exceed the pool of {pool_size} rows, but "
                    f"{told}. Pass smaller numbers, a larger pool_size, or more unlabeled rows."
                )
            warn_caller(
                f"Nothing was added: {told}, but the pool of unlabeled rows holds {pool_size}. "
                "Pass more unlabeled rows, or fit the estimator itself.",
                AssumptionWarning,
            )
        return _Schedule(n_positive, n_negative, pool_size)

    def _positive_probability(self, X: Any) -> NDArray[np.float64]:
        table = as_columns(X, self.views_)
        validate_data(self, X, skip_check_array=True, reset=False)
        scores = np.array(
            [
                positive_probability(
                    estimator, take_view(table, view, number), self.classes_, self._positive_column_
                )
                for number, (view, estimator) in enumerate(
                    zip(self.views_, self.estimators_, strict=True)
                )
            ]
        )
        positive, negative = scores.prod(axis=0), (1 - scores).prod(axis=0)
        total = positive + negative
        # Two classifiers that are certain of different classes cancel out.
        return np.asarray(np.where(total > 0, positive / np.where(total > 0, total, 1), 0.5))

    def __sklearn_tags__(self) -> Any:
        return copy_input_tags(super().__sklearn_tags__(), self._base())


@dataclass(frozen=True)
class _Problem:
    """What both classifiers learn from: a view each, the labels so far, and the unlabeled rows."""

    estimator: Any
    seed: int
    sides: tuple[Any, ...]
    labels: BinaryLabels
    weight: Weights
    labeled: NDArray[np.intp]
    unlabeled: NDArray[np.intp]
    provisional: NDArray[np.intp]

    @property
    def share_of_positives(self) -> float:
        """Return the share of positives among the labels, or the source's if all are positive."""
        if len(self.provisional):
            return _SOURCE_SHARE_OF_POSITIVES
        mass = None if self.weight is None else self.weight[self.labeled]
        return float(np.average(self.labels.is_positive[self.labeled], weights=mass))

    def fit(
        self,
        view: int,
        rows: NDArray[np.intp],
        is_positive: BoolArray,
        factors: Weights = None,
    ) -> Any:
        """Return the classifier of a view, fitted to numbered rows with these labels."""
        weight = factors
        if self.weight is not None:
            weight = self.weight[rows] * (1.0 if factors is None else factors)
        return fit_rows(
            fresh_clone(self.estimator, self.seed),
            self.sides[view],
            labels_to_fit(self.labels),
            rows,
            labels_to_fit(replace(self.labels, is_positive=is_positive)),
            weight,
        )

    def fit_both(self, rows: NDArray[np.intp], is_positive: BoolArray) -> tuple[Any, Any]:
        """Return the classifiers of both views, fitted to numbered rows; all rows have a label."""
        rows = np.sort(rows)
        return self.fit(0, rows, is_positive[rows]), self.fit(1, rows, is_positive[rows])

    def score(self, view: int, fitted: Any, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return P(positive) of numbered rows by the classifier of a view."""
        return positive_probability(
            fitted,
            _safe_indexing(self.sides[view], rows),
            self.labels.classes,
            self.labels.positive_column,
        )


@dataclass(frozen=True)
class _Schedule:
    n_positive: int
    n_negative: int
    pool_size: int

    def votes(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the confidence in each chosen row, below 0 for negatives, and 0 for others."""
        order = np.argsort(-scores, kind="stable")
        positive, negative = order[: self.n_positive], order[-self.n_negative :]
        votes = np.zeros(len(scores))
        votes[positive], votes[negative] = scores[positive], scores[negative] - 1
        return votes


@dataclass(frozen=True)
class _Added:
    """The pool rows that got a label in one round, their labels, and which views chose them."""

    rows: NDArray[np.intp]
    is_positive: BoolArray
    chosen_by: BoolArray


def _draw_negatives(
    labels: BinaryLabels,
    labeled: NDArray[np.intp],
    unlabeled: NDArray[np.intp],
    generator: np.random.RandomState,
) -> NDArray[np.intp]:
    """Return unlabeled rows that stand in for negatives, in random order, if none is labeled."""
    if not labels.is_positive[labeled].all():
        return np.zeros(0, dtype=np.intp)
    size = min(len(labeled), max(1, len(unlabeled) // 2))
    return np.asarray(generator.permutation(unlabeled)[:size])


def _growth(
    n_positive: int | None, n_negative: int | None, n_unlabeled: int, share: float
) -> tuple[int, int]:
    """Return how many rows each classifier labels positive and negative in a round."""
    if n_positive is None and n_negative is None:
        a_round = max(_SOURCE_LABELS, n_unlabeled // _ROWS_PER_LABEL)
        n_positive = min(max(round(a_round * share), 1), a_round - 1)
        return n_positive, a_round - n_positive
    if n_negative is None:
        n_negative = max(1, round(int(n_positive or 1) * (1 - share) / share))
    if n_positive is None:
        n_positive = max(1, round(n_negative * share / (1 - share)))
    return n_positive, n_negative


def _co_train(
    problem: _Problem, schedule: _Schedule, rounds: int, generator: np.random.RandomState
) -> tuple[tuple[Any, Any], list[_Added]]:
    """Return both classifiers, and what they added in each round."""
    is_positive = problem.labels.is_positive.copy()
    known, provisional = problem.labeled, problem.provisional
    waiting = generator.permutation(np.setdiff1d(problem.unlabeled, provisional))
    pool, waiting = np.split(waiting, [schedule.pool_size])
    pair = problem.fit_both(np.concatenate([known, provisional]), is_positive)
    for view, fitted in enumerate(pair):
        # A row that cannot be scored is refused whether or not it will be drawn.
        problem.score(view, fitted, problem.unlabeled)
    history: list[_Added] = []
    while len(history) < rounds and len(pool) >= schedule.n_positive + schedule.n_negative:
        added, is_chosen = _choose(problem, schedule, pair, pool)
        if not len(added.rows):
            break  # with the same pool, another round would add nothing either
        history.append(added)
        is_positive[added.rows] = added.is_positive
        known = np.concatenate([known, added.rows])
        n_kept = max(0, len(provisional) - count_true(~added.is_positive))
        provisional, released = np.split(provisional, [n_kept])
        waiting = generator.permutation(np.concatenate([waiting, released]))
        drawn, waiting = np.split(waiting, [len(added.rows)])
        pool = np.concatenate([pool[~is_chosen], drawn])
        pair = problem.fit_both(np.concatenate([known, provisional]), is_positive)
    return pair, history


def _choose(
    problem: _Problem, schedule: _Schedule, pair: tuple[Any, Any], pool: NDArray[np.intp]
) -> tuple[_Added, BoolArray]:
    """Return what both classifiers add, and which rows of the pool these are."""
    votes = np.array(
        [schedule.votes(problem.score(view, fitted, pool)) for view, fitted in enumerate(pair)]
    )
    # Of two labels for a row the more confident one wins; equal confidence adds nothing.
    sign = np.sign(votes.sum(axis=0))
    is_chosen = sign != 0
    agrees = np.sign(votes[:, is_chosen]) == sign[is_chosen]
    return _Added(pool[is_chosen], sign[is_chosen] > 0, agrees), is_chosen


def _additions(history: list[_Added], labels: BinaryLabels) -> Additions:
    """Return what was added in all rounds, with an entry for each view that chose a row."""
    chosen = [np.nonzero(added.chosen_by) for added in history]
    rows = [added.rows[column] for added, (_, column) in zip(history, chosen, strict=True)]
    positive = [
        added.is_positive[column] for added, (_, column) in zip(history, chosen, strict=True)
    ]
    sizes = [len(part) for part in rows]
    none = np.zeros(0, dtype=np.intp)
    is_second = np.concatenate([none == 1, *positive]) == (labels.positive_column == 1)
    return Additions(
        np.concatenate([none, *rows]),
        labels.classes[is_second.astype(np.intp)],
        np.concatenate([none, *(view for view, _ in chosen)]),
        np.repeat(np.arange(1, len(history) + 1), sizes),
    )


def _co_em(problem: _Problem, rounds: int) -> tuple[tuple[Any, Any], int]:
    """Return both classifiers and the number of rounds; the first view starts."""
    labeled, unlabeled = problem.labeled, problem.unlabeled
    fitted = [problem.fit(0, labeled, problem.labels.is_positive[labeled]), None]
    shares = _in_balance(problem, problem.score(0, fitted[0], unlabeled))
    # Every unlabeled row is fitted twice, as a positive and as a negative.
    rows = np.concatenate([labeled, unlabeled, unlabeled])
    is_positive = np.repeat([True, False], [len(rows) - len(unlabeled), len(unlabeled)])
    is_positive[: len(labeled)] = problem.labels.is_positive[labeled]
    n_rounds, change = 0, np.inf
    while n_rounds < rounds and change > _SETTLED:
        before = shares
        for view in (1, 0):
            factors = np.concatenate([np.ones(len(labeled)), shares, 1 - shares])
            fitted[view] = problem.fit(view, rows, is_positive, factors)
            shares = _in_balance(problem, problem.score(view, fitted[view], unlabeled))
        n_rounds += 1
        change = float(np.abs(shares - before).max())
    return (fitted[0], fitted[1]), n_rounds


def _in_balance(problem: _Problem, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return P(positive) of the unlabeled rows, shifted to the class balance of the labels.

    Without the shift, which is not in the source, a few labels soon lead to one class for all rows.
    """
    margins = logit(np.clip(scores, _LEAST_SHARE, 1 - _LEAST_SHARE))
    mass = None if problem.weight is None else problem.weight[problem.unlabeled]

    def surplus(shift: float) -> float:
        return float(np.average(expit(margins + shift), weights=mass)) - problem.share_of_positives

    shifted = expit(margins + brentq(surplus, -_LARGEST_SHIFT, _LARGEST_SHIFT))
    return np.asarray(np.clip(shifted, _LEAST_SHARE, 1 - _LEAST_SHARE))
