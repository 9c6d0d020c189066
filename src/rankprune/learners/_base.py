"""What the classifiers here share: labels read, rows scored, rates estimated, labels given back.

The data line up to the noise rates; each classifier decides what they mean for its final fit.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, is_regressor
from sklearn.utils import column_or_1d
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from rankprune._committee import committee_members
from rankprune._fitting import (
    RandomState,
    copy_input_tags,
    default_estimator,
    draw_seed,
    fit_rows,
    fresh_clone,
    warn_if_weights_are_lost,
)
from rankprune.core import NOISE_ESTIMATORS, NoiseRates, Verdict
from rankprune.core._inputs import (
    BinaryLabels,
    BoolArray,
    FloatArray,
    Inputs,
    count_true,
    validate_probabilities,
    validate_trusted,
    validate_weighted_labels,
)
from rankprune.core._registry import (
    DEFAULT_ESTIMATOR,
    estimate_unknown_rates,
    warn_if_uninformative,
)
from rankprune.core._verdict import judge
from rankprune.probabilities import (
    NO_EFFECT,
    Folds,
    are_fractions,
    check_predicts_probabilities,
    check_rows,
    labels_to_fit,
    make_splits,
)

_log = logging.getLogger("rankprune")

Weights = NDArray[np.float64] | None


def _estimator_has(method: str) -> Callable[[Any], bool]:
    def check(self: DelegatingClassifier) -> bool:
        getattr(self.estimator_ if hasattr(self, "estimator_") else self._base(), method)
        return True

    return check


@dataclass(frozen=True)
class Doubt:
    """Which rows count and which of these are in doubt; the others are settled or weigh nothing."""

    is_positive: BoolArray
    weight: Weights
    counted: BoolArray
    doubted: BoolArray

    def inputs(self, scores: FloatArray) -> Inputs:
        """Return what the noise rates are estimated from."""
        weight = None if self.weight is None else self.weight[self.doubted]
        return Inputs(self.is_positive[self.doubted], scores[self.doubted], weight)

    @property
    def mass(self) -> NDArray[np.float64]:
        """Return the weight of each row, 1 where none were given."""
        return np.ones(len(self.counted)) if self.weight is None else self.weight

    def masses(self) -> tuple[float, float]:
        """Return how many rows in doubt carry each label, the positive one first."""
        if self.weight is None:
            n_positive = count_true(self.doubted & self.is_positive)
            return float(n_positive), float(count_true(self.doubted) - n_positive)
        return (
            float(self.mass[self.doubted & self.is_positive].sum()),
            float(self.mass[self.doubted & ~self.is_positive].sum()),
        )

    def weigh(self, factors: NDArray[np.float64], settled: float = 1.0) -> NDArray[np.float64]:
        """Return the weights of all rows times factors: of each in doubt, and of the others."""
        weights = self.mass * settled
        weights[self.doubted] = self.mass[self.doubted] * factors
        return weights


@dataclass(frozen=True)
class Table:
    """What a fit was given, read and checked."""

    X: Any
    groups: Any
    labels: BinaryLabels
    doubt: Doubt

    @property
    def weight(self) -> Weights:
        """Return the sample weights."""
        return self.doubt.weight

    @property
    def y(self) -> NDArray[Any]:
        """Return the labels as classifiers take them."""
        return labels_to_fit(self.labels)

    @property
    def positive(self) -> Any:
        """Return the positive label as classifiers take it."""
        return self.y[self.labels.is_positive.argmax()]

    @property
    def n_rows(self) -> int:
        """Return the number of rows, also of those that weigh nothing."""
        return len(self.labels.is_positive)


@dataclass(frozen=True)
class Scored:
    """Out-of-fold probabilities and the rates they tell, with the folds that gave them.

    Attributes
    ----------
    opinions : ndarray of shape (n_rows, n_scorers)
        Of each scorer; ``scores`` is their mean.
    estimated, rates : NoiseRates
        As estimated, and as they are used: without noise where the verdict is that there is none.
    """

    folds: Folds
    opinions: FloatArray
    scores: FloatArray
    estimated: NoiseRates
    rates: NoiseRates
    verdict: Verdict | None


class BinaryClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A classifier of two labels, any of which may be wrong."""

    verbose: int = 0
    pos_label: Any = None
    # What a fit sets last: without it there is no model, whatever else a failed fit left behind.
    _model_attribute = "estimator_"

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, self._model_attribute)

    def _read(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        groups: ArrayLike | None = None,
        trusted: ArrayLike | None = None,
    ) -> Table:
        """Return the checked rows of a new fit, after forgetting an earlier one."""
        # A fit that fails leaves no model behind, not even that of an earlier fit.
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        self._validate_params()
        base = self._base()
        if base is not None and is_regressor(base):
            raise ValueError(
                f"estimator must be a classifier, got {base!r}. Pass one that predicts labels, "
                "e.g. LogisticRegression()."
            )
        if np.asarray(y).shape[1:] == (1,):
            y = column_or_1d(y, warn=True)
        X, groups = check_rows(X, y, groups)
        labels, weight = validate_weighted_labels(
            y, sample_weight, pos_label=self.pos_label, name="y"
        )
        return Table(X, groups, labels, _rows_in_doubt(labels.is_positive, weight, trusted))

    def _base(self) -> Any:
        """Return the classifier that is cloned, None where there is none to choose."""
        return None

    def _log(self, message: str, *values: Any) -> None:
        _log.log(logging.INFO if self.verbose else logging.DEBUG, message, *values)

    def _keep_features(self, fitted: Any) -> None:
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(fitted, name):
                setattr(self, name, getattr(fitted, name))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class ProbabilityClassifier(BinaryClassifier):
    """One that says how probable the positive class is, and predicts by that."""

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the more probable label of each row."""
        check_is_fitted(self)
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class, in the order of ``classes_``."""
        check_is_fitted(self)
        return in_order_of_classes(self._positive_probability(X), self._positive_column_)

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the logarithm of the probability of each class."""
        with np.errstate(divide="ignore"):  # of probability 0 it is minus infinity
            return np.log(self.predict_proba(X))

    def _positive_probability(self, X: Any) -> NDArray[np.float64]:
        raise NotImplementedError  # each classifier's own

    def _keep_classes(self, labels: BinaryLabels) -> None:
        self.classes_ = labels.classes
        self._positive_column_ = labels.positive_column


def in_order_of_classes(positive: NDArray[np.float64], column: int) -> NDArray[np.float64]:
    """Return two columns of probabilities of which one is that of the positive class."""
    columns = [1 - positive, positive]
    return np.column_stack(columns if column == 1 else columns[::-1])


class DelegatingClassifier(MetaEstimatorMixin, BinaryClassifier):  # type: ignore[misc]  # as above
    """One that ends in an estimator fitted to chosen and weighted rows, and predicts by it."""

    estimator: Any

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of each row that correct labels would have taught."""
        check_is_fitted(self)
        predicted = np.asarray(self.estimator_.predict(X))
        return self.classes_[predicted] if are_fractions(self.classes_) else predicted

    @available_if(_estimator_has("predict_proba"))  # type: ignore[untyped-decorator]  # as above
    def predict_proba(self, X: Any) -> NDArray[np.floating[Any]]:
        """Return the probability of each class, in the order of ``classes_``."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_proba(X))

    @available_if(_estimator_has("predict_log_proba"))  # type: ignore[untyped-decorator]  # as above
    def predict_log_proba(self, X: Any) -> NDArray[np.floating[Any]]:
        """Return the logarithm of the probability of each class."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_log_proba(X))

    @available_if(_estimator_has("decision_function"))  # type: ignore[untyped-decorator]  # as above
    def decision_function(self, X: Any) -> NDArray[np.floating[Any]]:
        """Return the score of each row, above 0 for ``classes_[1]``."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.decision_function(X))

    def __sklearn_tags__(self) -> Any:
        return copy_input_tags(super().__sklearn_tags__(), self._base())

    def _base(self) -> Any:
        return default_estimator() if self.estimator is None else self.estimator

    def _check_estimator(self) -> None:
        """Refuse an estimator that the method cannot work with."""

    def _fit_estimator(
        self,
        table: Table,
        rows: NDArray[np.intp],
        is_positive: BoolArray,
        weights: Weights,
        generator: np.random.RandomState,
        lost: str,
    ) -> None:
        """Fit the estimator to these rows, labels and weights, and take on what it learned."""
        estimator = fresh_clone(self._base(), draw_seed(generator))
        warn_if_weights_are_lost(estimator, weights, lost)
        y = labels_to_fit(replace(table.labels, is_positive=is_positive))
        fit_rows(estimator, table.X, table.y, rows, y, weights)
        self.classes_ = table.labels.classes
        self._keep_features(estimator)
        self.estimator_ = estimator


class RateBasedClassifier(DelegatingClassifier):
    """One whose final fit follows from the noise rates, known or estimated."""

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's convention)
        "noise_estimator": [StrOptions(set(NOISE_ESTIMATORS)), callable],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        scorer: Any = None,
        pos_label: Any = None,
        positive_noise_rate: float | None = None,
        negative_noise_rate: float | None = None,
        noise_estimator: str | Callable[..., NoiseRates] = DEFAULT_ESTIMATOR,
        cv: Any = 3,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.scorer = scorer
        self.pos_label = pos_label
        self.positive_noise_rate = positive_noise_rate
        self.negative_noise_rate = negative_noise_rate
        self.noise_estimator = noise_estimator
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _known(self) -> tuple[float | None, float | None]:
        return self.positive_noise_rate, self.negative_noise_rate

    def _score(
        self,
        table: Table,
        probabilities: ArrayLike | None,
        generator: np.random.RandomState,
        *,
        folds_anyway: bool = False,
    ) -> Scored:
        """Return the rows with their scores and rates, fitting no folds that nobody asks for."""
        known = self._known_rates(table.doubt)
        folds = self._folds(table, generator, folds_anyway or probabilities is None)
        if probabilities is None:
            opinions: FloatArray = self._opinions(folds, table.weight)
        else:
            opinions = validate_probabilities(probabilities, table.n_rows)[:, None]
        # A new array even of one column, so that nobody can change what the other holds.
        scores: FloatArray = opinions.mean(axis=1)
        rates = estimated = self._rates(table.doubt.inputs(scores), known)
        verdict = self._verdict(table.doubt, scores, opinions)
        if verdict is not None and verdict.level == "clean":
            rates = rates.with_known(positive=0.0, negative=0.0)
        return Scored(folds, opinions, scores, estimated, rates, verdict)

    def _learn_rates(
        self,
        table: Table,
        probabilities: ArrayLike | None,
        generator: np.random.RandomState,
        *,
        needs_scores: bool,
    ) -> None:
        """Set the rates, and the probabilities where the rates or the method need them."""
        known = self._known_rates(table.doubt)
        if known is None or needs_scores:
            self._keep_scores(self._score(table, probabilities, generator))
            return
        if probabilities is not None:
            validate_probabilities(probabilities, table.n_rows)
        self.noise_rates_ = known

    def _keep_scores(self, scored: Scored) -> None:
        """Set what every classifier tells of its rates."""
        self.noise_rates_ = scored.rates
        if scored.verdict is not None:
            self.verdict_ = scored.verdict
        self.probabilities_ = scored.scores

    def _is_committee(self) -> bool:
        return isinstance(self.scorer, str)

    def _has_own_scorer(self) -> bool:
        return self.scorer is not None and not self._is_committee()

    def _scorers(self) -> tuple[Any, ...]:
        if not self._is_committee():
            return (self.scorer if self._has_own_scorer() else self._base(),)
        if self.scorer != "committee":
            raise ValueError(
                'scorer must be a classifier, "committee" or None, got '
                f"{self.scorer!r}. Pass a classifier that has predict_proba."
            )
        return committee_members(self._base())

    def _folds(self, table: Table, generator: np.random.RandomState, is_scored: bool) -> Folds:
        """Return who scores which rows; nobody where nothing needs it."""
        scorers = self._scorers()
        if not is_scored:
            return Folds(scorers, table.X, table.labels, [], self.n_jobs, seed=0)
        check_predicts_probabilities(
            scorers[0], "scorer" if self._has_own_scorer() else "estimator"
        )
        if self._has_own_scorer():  # the estimator itself is asked at its final fit
            warn_if_weights_are_lost(scorers[0], table.weight, NO_EFFECT)
        splits = make_splits(
            self.cv, table.X, table.labels, table.groups, table.weight, draw_seed(generator)
        )
        self._log("scoring %d rows in %d folds", table.n_rows, len(splits))
        return Folds(scorers, table.X, table.labels, splits, self.n_jobs, draw_seed(generator))

    def _opinions(self, folds: Folds, weight: Weights) -> NDArray[np.float64]:
        """Return the probabilities of every scorer, a column each."""
        try:
            return folds.score_each(weight)
        except (TypeError, ValueError) as error:
            if self._is_committee():
                error.add_note(
                    'scorer="committee" fits a forest and boosting to what the estimator gets, or '
                    "to what the steps before the last one of its Pipeline make of it: that must "
                    "be numbers. Put the preprocessing into a Pipeline."
                )
            raise

    def _known_rates(self, doubt: Doubt) -> NoiseRates | None:
        """Return the rates where both are known, after refusing known ones that cannot be."""
        known = self._known()
        n_positive, n_negative = doubt.masses()
        positive, negative = (0.0 if rate is None else rate for rate in known)
        observed = n_positive / (n_positive + n_negative)
        rates = NoiseRates.from_noise_rates(positive, negative, observed)
        if None in known:
            return None
        return replace(rates, n_positive=n_positive, n_negative=n_negative)

    def _rates(self, inputs: Inputs, known: NoiseRates | None) -> NoiseRates:
        if known is not None:
            warn_if_uninformative(inputs, known)
            return known
        positive, negative = self._known()
        return estimate_unknown_rates(
            inputs, self.noise_estimator, positive=positive, negative=negative
        )

    def _verdict(self, doubt: Doubt, scores: FloatArray, opinions: FloatArray) -> Verdict | None:
        """Return what the committee says, None where it was not heard or a rate is known."""
        if opinions.shape[1] == 1 or self._known() != (None, None):
            return None
        return judge(doubt.inputs(scores), list(opinions[doubt.doubted].T))


def _rows_in_doubt(is_positive: BoolArray, weight: Weights, trusted: ArrayLike | None) -> Doubt:
    n_rows = len(is_positive)
    counted = np.ones(n_rows, dtype=bool) if weight is None else weight > 0
    is_trusted = validate_trusted(trusted, n_rows)
    doubted = counted & ~is_trusted
    if is_trusted.any() and len(np.unique(is_positive[doubted])) < 2:
        raise ValueError(
            "trusted must leave rows of both classes whose labels are in doubt; "
            f"{count_true(doubted)} rows of weight above 0 are left. With every label settled "
            "there is nothing to estimate: fit the estimator itself."
        )
    return Doubt(is_positive, weight, counted, doubted)
