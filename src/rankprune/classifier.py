"""Rank Pruning as a scikit-learn classifier: the whole data line in one ``fit``."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, is_regressor
from sklearn.linear_model import LogisticRegression
from sklearn.utils import _safe_indexing, column_or_1d
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from rankprune._committee import committee_members
from rankprune._fitting import (
    RandomState,
    accepts_sample_weight,
    copy_input_tags,
    draw_seed,
    fit_weighted,
    fresh_clone,
    private_random_state,
    warn_if_weights_are_lost,
)
from rankprune.core import (
    NOISE_ESTIMATORS,
    NoiseRates,
    Verdict,
    correction_weights,
    prune_labels,
)
from rankprune.core._informative import are_counts
from rankprune.core._inputs import (
    BinaryLabels,
    BoolArray,
    FloatArray,
    Inputs,
    count_true,
    validate_count,
    validate_level,
    validate_probabilities,
    validate_trusted,
    validate_weighted_labels,
)
from rankprune.core._intervals import (
    OVER_REFITS,
    KnownRates,
    NoiseRateIntervals,
    drawn_weight,
    estimate_drawn,
    intervals_from,
    resamples,
    row_intervals,
)
from rankprune.core._random import as_generator
from rankprune.core._registry import (
    DEFAULT_ESTIMATOR,
    estimate_unknown_rates,
    find_noise_estimator,
    warn_if_uninformative,
)
from rankprune.core._verdict import judge
from rankprune.exceptions import ClassAlmostEmptiedWarning, warn_caller
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


def _estimator_has(method: str) -> Callable[[Any], bool]:
    def check(self: RankPruningClassifier) -> bool:
        getattr(self.estimator_ if hasattr(self, "estimator_") else self._base(), method)
        return True

    return check


class RankPruningClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Learn from binary labels of which some are wrong, by Rank Pruning.

    Estimates how many labels of each class are wrong, drops that many of the least believable
    rows, and fits the estimator to the rest with weights that restore the balance of the classes.

    Parameters
    ----------
    estimator : classifier, default=None
        What is fitted in the end; cloned. Logistic regression by default.
    scorer : classifier with ``predict_proba``, "committee" or None, default=None
        What gives the out-of-fold probabilities; cloned. The estimator by default.
        ``"committee"`` takes the mean probability of the estimator, a random forest and gradient
        boosting, which costs three times as many fits for the folds, and asks all three whether
        there is noise at all: where the verdict is that the labels are clean, nothing is pruned,
        unless a noise rate is known. In a `Pipeline` the forest and boosting take the place of the
        last step.
    pos_label : default=None
        The positive label; the larger of the two values by default.
    positive_noise_rate, negative_noise_rate : float, default=None
        Known shares of true positives labeled negative and of true negatives labeled positive;
        what is not known is estimated. ``negative_noise_rate=0`` is learning from positive and
        unlabeled rows: no positive label is ever pruned. Where one is known and the probabilities
        say nothing about the other, nothing is pruned or corrected; where both are known they are
        used even then, with a warning.
    noise_estimator : str or callable, default="curve"
        How the rates are estimated; see ``method`` of `estimate_noise_rates`. The paper's is
        ``"confident-counts"``.
    rounds : int, default=1
        How often rows are scored and pruned; 1 is the paper's algorithm. From the second round on
        every row is scored again, by models fitted to the pruned, weighted rows of the other
        folds, and pruned by that new ranking with the rates of the first round. Each round costs
        as many fits as there are folds.
    cv : int, splitter or iterable of (train, test), default=3
        The folds; see `out_of_fold_probabilities`.
    n_jobs : int, default=None
        Folds fitted at the same time. Does not change the result.
    random_state : int, RandomState or None, default=None
        Shuffles the folds, and seeds estimators whose own ``random_state`` is None.
    verbose : int, default=0
        From 1 the steps are logged at level INFO of the logger ``rankprune``, else at DEBUG.

    Attributes
    ----------
    estimator_ : classifier
        Fitted to the rows that were kept.
    classes_ : ndarray of shape (2,)
        The two labels in sorted order.
    noise_rates_ : NoiseRates
        The rates that drove the pruning, of the rows that are not trusted.
    prune_mask_ : ndarray of bool of shape (n_rows,)
        True means dropped.
    probabilities_ : ndarray of shape (n_rows,)
        Out-of-fold probability of the positive label, of the first round.
    ranking_probabilities_ : ndarray of shape (n_rows,)
        Those that the last round pruned by; the same after one round.
    verdict_ : Verdict
        With ``scorer="committee"``, where no noise rate is known and no probabilities were given:
        whether the labels are clean, noisy, or neither can be told.
    n_features_in_, feature_names_in_
        As the fitted estimator has them.

    See Also
    --------
    estimate_noise_rates, prune_labels, correction_weights : The steps of ``fit`` on arrays.

    References
    ----------
    C. G. Northcutt, T. Wu and I. L. Chuang: Learning with Confident Examples: Rank Pruning for
    Robust Classification with Noisy Labels. UAI 2017. This is Algorithm 1.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from rankprune import RankPruningClassifier, flip_labels
    >>> X, truth = make_classification(2000, class_sep=3, random_state=0)
    >>> y = flip_labels(truth, positive_noise_rate=0.3, negative_noise_rate=0.1, random_state=0)
    >>> model = RankPruningClassifier(random_state=0).fit(X, y)
    >>> round(model.noise_rates_.positive_noise_rate, 2)
    0.29
    >>> bool(model.score(X, truth) > 0.97)
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's convention)
        "noise_estimator": [StrOptions(set(NOISE_ESTIMATORS)), callable],
        "rounds": [Interval(Integral, 1, None, closed="left")],
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
        rounds: int = 1,
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
        self.rounds = rounds
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        probabilities: ArrayLike | None = None,
        trusted: ArrayLike | None = None,
    ) -> RankPruningClassifier:
        """Estimate the noise, prune, and fit the estimator to what is left.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or list of shape (n_rows, ...)
            Anything the estimator takes and whose rows can be selected.
        y : array-like of shape (n_rows,)
            Given labels, of any two values, some of them wrong.
        sample_weight : array-like of shape (n_rows,), default=None
            A weight of 2 equals the row twice, a weight of 0 equals no row. Weights reach the
            folds, the counts and, multiplied by the correction weights, the final fit.
        groups : array-like of shape (n_rows,), default=None
            Rows that must not be split between folds.
        probabilities : array-like of shape (n_rows,), default=None
            Out-of-fold probabilities of the positive label, where they are known already; then
            no folds are fitted.
        trusted : array-like of bool of shape (n_rows,), default=None
            Rows whose labels a person settled: never pruned, no correction weight, and not part
            of the rows that the noise rates describe.

        Returns
        -------
        RankPruningClassifier
            The object itself.
        """
        self._forget()
        self._validate_params()
        self._refuse_regressor()
        y = _one_column(y)
        X, groups = check_rows(X, y, groups)
        labels, weight = validate_weighted_labels(
            y, sample_weight, pos_label=self.pos_label, name="y"
        )
        doubt = _rows_in_doubt(labels.is_positive, weight, trusted)
        known_rates = self._known_rates(doubt)

        generator = private_random_state(self.random_state)
        is_scored = probabilities is None or self.rounds > 1
        folds = self._folds(X, labels, groups, weight, generator, is_scored)
        if probabilities is None:
            opinions: FloatArray = self._opinions(folds, weight)
        else:
            opinions = validate_probabilities(probabilities, len(doubt.counted))[:, None]
        # A new array even of one column, so that nobody can change what the other holds.
        scores: FloatArray = opinions.mean(axis=1)
        rates = estimated = self._rates(doubt.inputs(scores), known_rates)
        verdict = self._verdict(doubt, scores, opinions)
        if verdict is not None and verdict.level == "clean":
            rates = rates.with_known(positive=0.0, negative=0.0)
        mask, weights, ranking = self._prune(doubt, scores, rates, folds)
        self._log("pruned %d of %d rows: %s", count_true(mask), len(mask), rates)

        estimator = fresh_clone(self._base(), draw_seed(generator))
        rows = np.flatnonzero(doubt.counted & ~mask)
        weights = None if weights is None else weights[rows]
        warn_if_weights_are_lost(estimator, weights, "the balance of the classes is not corrected")
        # Where nothing is left out, nothing needs copying.
        kept_X = X if len(rows) == len(mask) else _safe_indexing(X, rows)
        self.estimator_ = fit_weighted(estimator, kept_X, labels_to_fit(labels)[rows], weights)
        self.classes_ = labels.classes
        self.noise_rates_ = rates
        self.prune_mask_ = mask
        self._fitted_ = _Fitted(
            # Copies, since these may be views of the caller's own labels.
            replace(labels, is_positive=labels.is_positive.copy()),
            replace(doubt, is_positive=doubt.is_positive.copy()),
            estimated,
            (self.positive_noise_rate, self.negative_noise_rate),
            self.noise_estimator,
        )
        if verdict is not None:
            self.verdict_ = verdict
        self.probabilities_ = scores
        self.ranking_probabilities_ = ranking
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(estimator, name):
                setattr(self, name, getattr(estimator, name))
        return self

    def noise_rate_intervals(
        self,
        X: Any = None,
        *,
        groups: ArrayLike | None = None,
        level: float = 0.95,
        n_resamples: int | None = None,
        random_state: RandomState = None,
    ) -> NoiseRateIntervals:
        """Return intervals of the noise rates, by drawing the rows of the fit again.

        Parameters
        ----------
        X : as in ``fit``, default=None
            By default the out-of-fold probabilities of the fit are drawn again, which needs no
            fitting. Pass the table of the fit to fit and score every resample anew, in new folds:
            then the intervals also cover the chance in the models. A row that is drawn twice has
            weight 2, so every scorer must take weights.
        groups : array-like of shape (n_rows,), default=None
            As in ``fit``, for the new folds.
        level : float, default=0.95
            Confidence level.
        n_resamples : int, default=None
            200 by default, or 50 where models are fitted anew.
        random_state : int, RandomState or None, default=None
            Decides which rows are drawn, and the folds.

        Returns
        -------
        NoiseRateIntervals
            Around the estimate from all rows. Rates that were known stay as they are.

        See Also
        --------
        noise_rate_intervals : The same from labels and probabilities.
        """
        check_is_fitted(self)
        validate_level(level)
        fitted = self._fitted_
        if X is None:
            return row_intervals(
                fitted.doubt.inputs(self.probabilities_),
                fitted.noise_estimator,
                fitted.estimated,
                known=fitted.known,
                level=level,
                n_resamples=200 if n_resamples is None else n_resamples,
                random_state=random_state,
            )
        n_refits = validate_count(50 if n_resamples is None else n_resamples, "n_resamples", 50)
        replicates = self._refitted_rates(X, groups, n_refits, random_state)
        return intervals_from(fitted.estimated, replicates, level, OVER_REFITS, fitted.known)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of each row that correct labels would have taught."""
        check_is_fitted(self)
        predicted = np.asarray(self.estimator_.predict(X))
        return self.classes_[predicted] if are_fractions(self.classes_) else predicted

    @available_if(_estimator_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.floating[Any]]:
        """Return the probability of each class, in the order of ``classes_``."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_proba(X))

    @available_if(_estimator_has("predict_log_proba"))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> NDArray[np.floating[Any]]:
        """Return the logarithm of the probability of each class."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_log_proba(X))

    @available_if(_estimator_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> NDArray[np.floating[Any]]:
        """Return the score of each row, above 0 for ``classes_[1]``."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.decision_function(X))

    def __sklearn_tags__(self) -> Any:
        tags = copy_input_tags(super().__sklearn_tags__(), self._base())
        tags.classifier_tags.multi_class = False
        return tags

    def _refitted_rates(
        self, X: Any, groups: Any, n_refits: int, random_state: RandomState
    ) -> list[NoiseRates]:
        """Return the rates of resamples that are scored anew, each in new folds."""
        labels, doubt = self._fitted_.labels, self._fitted_.doubt
        X, groups = check_rows(X, labels.is_positive, groups)
        scorers = self._scorers()
        for scorer in scorers:
            if not accepts_sample_weight(scorer):
                raise ValueError(
                    "X must be None where a scorer takes no sample_weight, since rows are drawn by "
                    f"weights; {scorer!r} takes none. Leave X out, or use another scorer."
                )
        estimator = find_noise_estimator(self._fitted_.noise_estimator)
        generator = private_random_state(random_state)
        draws = resamples(
            labels.is_positive,
            doubt.weight,
            n_refits,
            as_generator(generator),
            least=int(self.cv) if isinstance(self.cv, Integral) else 1,
            doubted=doubt.doubted,
        )
        in_counts = doubt.weight is None or are_counts(doubt.weight)
        replicates = []
        for number, times in enumerate(draws):
            self._log("refit %d of %d", number + 1, n_refits)
            drawn = drawn_weight(doubt.weight, times)
            splits = make_splits(self.cv, X, labels, groups, drawn, draw_seed(generator))
            folds = Folds(scorers, X, labels, splits, self.n_jobs, draw_seed(generator))
            inputs = doubt.inputs(folds.score(drawn))
            replicates.append(
                estimate_drawn(estimator, inputs, times[doubt.doubted], in_counts=in_counts)
            )
        return replicates

    def _is_committee(self) -> bool:
        return isinstance(self.scorer, str)

    def _verdict(self, doubt: _Doubt, scores: FloatArray, opinions: FloatArray) -> Verdict | None:
        """Return what the committee says, None where it was not heard or a rate is known."""
        known = (self.positive_noise_rate, self.negative_noise_rate)
        if opinions.shape[1] == 1 or known != (None, None):
            return None
        return judge(doubt.inputs(scores), list(opinions[doubt.doubted].T))

    def _base(self) -> Any:
        return LogisticRegression(max_iter=1000) if self.estimator is None else self.estimator

    def _forget(self) -> None:
        # A fit that fails leaves no model behind, not even that of an earlier fit.
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)

    def _refuse_regressor(self) -> None:
        if is_regressor(self._base()):
            raise ValueError(
                f"estimator must be a classifier, got {self.estimator!r}. Pass one that predicts "
                "labels, e.g. LogisticRegression()."
            )

    def _log(self, message: str, *values: Any) -> None:
        _log.log(logging.INFO if self.verbose else logging.DEBUG, message, *values)

    def _known_rates(self, doubt: _Doubt) -> NoiseRates | None:
        """Return the rates where both are known, after refusing known ones that cannot be."""
        known = (self.positive_noise_rate, self.negative_noise_rate)
        mass = np.ones(len(doubt.counted)) if doubt.weight is None else doubt.weight
        n_positive = float(mass[doubt.doubted & doubt.is_positive].sum())
        n_negative = float(mass[doubt.doubted & ~doubt.is_positive].sum())
        positive, negative = (0.0 if rate is None else rate for rate in known)
        observed = n_positive / (n_positive + n_negative)
        rates = NoiseRates.from_noise_rates(positive, negative, observed)
        if None in known:
            return None
        return replace(rates, n_positive=n_positive, n_negative=n_negative)

    def _folds(
        self,
        X: Any,
        labels: BinaryLabels,
        groups: Any,
        weight: NDArray[np.float64] | None,
        generator: np.random.RandomState,
        is_scored: bool,
    ) -> Folds:
        """Return who scores which rows; nobody where no round needs it."""
        scorers = self._scorers()
        if not is_scored:
            return Folds(scorers, X, labels, [], self.n_jobs, seed=0)
        check_predicts_probabilities(
            scorers[0], "scorer" if self._has_own_scorer() else "estimator"
        )
        if self._has_own_scorer():  # the estimator itself is asked at its final fit
            warn_if_weights_are_lost(scorers[0], weight, NO_EFFECT)
        splits = make_splits(self.cv, X, labels, groups, weight, draw_seed(generator))
        self._log("scoring %d rows in %d folds", len(labels.is_positive), len(splits))
        return Folds(scorers, X, labels, splits, self.n_jobs, draw_seed(generator))

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

    def _opinions(self, folds: Folds, weight: NDArray[np.float64] | None) -> NDArray[np.float64]:
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

    def _prune(
        self, doubt: _Doubt, scores: FloatArray, rates: NoiseRates, folds: Folds
    ) -> tuple[BoolArray, NDArray[np.float64] | None, FloatArray]:
        """Return what the last round prunes, the weights of all rows, and its ranking."""
        mask, weights = doubt.prune(scores, rates)
        for turn in range(1, self.rounds):
            keep = doubt.counted & ~mask
            if not mask.any():
                break  # there is nothing that the next models could do without
            if not folds.keep_both_classes(keep):
                warn_caller(
                    f"Pruning leaves a fold of round {turn + 1} with one class, so the rounds end "
                    f"after {turn}. Use fewer folds, or fewer rounds.",
                    ClassAlmostEmptiedWarning,
                )
                break
            if turn == 1 and self._has_own_scorer() and doubt.weight is None:
                warn_if_weights_are_lost(self.scorer, weights, NO_EFFECT)
            self._log("round %d: scoring with %d rows pruned", turn + 1, count_true(mask))
            scores = folds.score(weights, keep)
            mask, weights = doubt.prune(scores, rates)
        return mask, weights, scores

    def _rates(self, inputs: Inputs, known_rates: NoiseRates | None) -> NoiseRates:
        if known_rates is not None:
            warn_if_uninformative(inputs, known_rates)
            return known_rates
        return estimate_unknown_rates(
            inputs,
            self.noise_estimator,
            positive=self.positive_noise_rate,
            negative=self.negative_noise_rate,
        )


@dataclass(frozen=True)
class _Fitted:
    """What a fit saw and was told, for intervals that are asked for later."""

    labels: BinaryLabels
    doubt: _Doubt
    estimated: NoiseRates
    known: KnownRates
    noise_estimator: str | Callable[..., NoiseRates]


@dataclass(frozen=True)
class _Doubt:
    """Which rows count and which of these are in doubt; the others are settled or weigh nothing."""

    is_positive: BoolArray
    weight: NDArray[np.float64] | None
    counted: BoolArray
    doubted: BoolArray

    def inputs(self, scores: FloatArray) -> Inputs:
        """Return what the noise rates are estimated from."""
        weight = None if self.weight is None else self.weight[self.doubted]
        return Inputs(self.is_positive[self.doubted], scores[self.doubted], weight)

    def prune(
        self, scores: FloatArray, rates: NoiseRates
    ) -> tuple[BoolArray, NDArray[np.float64] | None]:
        """Return which rows are dropped and the weight of every row, None where all weigh 1."""
        inputs = self.inputs(scores)
        pruning = prune_labels(
            inputs.is_positive, inputs.probabilities, rates, sample_weight=inputs.sample_weight
        )
        mask = np.zeros(len(self.counted), dtype=bool)
        mask[self.doubted] = pruning.mask
        correction = correction_weights(inputs.is_positive, rates)
        if self.weight is None and (correction == 1).all():
            return mask, None
        weights = np.ones(len(mask)) if self.weight is None else self.weight.copy()
        left = 1.0 if pruning.sample_weight is None else pruning.sample_weight
        weights[self.doubted] = left * correction
        return mask, weights


def _rows_in_doubt(
    is_positive: BoolArray, weight: NDArray[np.float64] | None, trusted: ArrayLike | None
) -> _Doubt:
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
    return _Doubt(is_positive, weight, counted, doubted)


def _one_column(y: Any) -> Any:
    """Return labels given as a column as scikit-learn would: flat, with its warning."""
    return column_or_1d(y, warn=True) if np.asarray(y).shape[1:] == (1,) else y
