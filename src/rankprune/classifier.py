"""Rank Pruning as a scikit-learn classifier: the whole data line in one ``fit``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from rankprune._fitting import (
    RandomState,
    accepts_sample_weight,
    draw_seed,
    private_random_state,
    warn_if_weights_are_lost,
)
from rankprune._learners import Doubt, RateBasedClassifier, Scored, Table, Weights
from rankprune.core import NoiseRates, correction_weights, prune_labels
from rankprune.core._informative import are_counts
from rankprune.core._inputs import (
    BinaryLabels,
    BoolArray,
    FloatArray,
    count_true,
    validate_count,
    validate_level,
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
from rankprune.core._registry import DEFAULT_ESTIMATOR, find_noise_estimator
from rankprune.exceptions import ClassAlmostEmptiedWarning, warn_caller
from rankprune.probabilities import NO_EFFECT, Folds, check_rows, make_splits


class RankPruningClassifier(RateBasedClassifier):
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
        **RateBasedClassifier._parameter_constraints,
        "rounds": [Interval(Integral, 1, None, closed="left")],
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
        super().__init__(
            estimator,
            scorer=scorer,
            pos_label=pos_label,
            positive_noise_rate=positive_noise_rate,
            negative_noise_rate=negative_noise_rate,
            noise_estimator=noise_estimator,
            cv=cv,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.rounds = rounds

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
        found = self._examine(X, y, sample_weight, groups, probabilities, trusted)
        table, scored, mask, weights = found.table, found.scored, found.mask, found.weights
        rows = np.flatnonzero(table.doubt.counted & ~mask)
        self._fit_estimator(
            table,
            rows,
            table.labels.is_positive[rows],
            None if weights is None else weights[rows],
            found.generator,
            "the balance of the classes is not corrected",
        )
        self._keep_scores(scored)
        self.prune_mask_ = mask
        self.ranking_probabilities_ = found.ranking
        self._fitted_ = _Fitted(
            # Copies, since these may be views of the caller's own labels.
            replace(table.labels, is_positive=table.labels.is_positive.copy()),
            replace(table.doubt, is_positive=table.doubt.is_positive.copy()),
            scored.estimated,
            self._known(),
            self.noise_estimator,
        )
        return self

    def _examine(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        groups: ArrayLike | None,
        probabilities: ArrayLike | None,
        trusted: ArrayLike | None,
    ) -> Examined:
        """Return what a fit finds out about the rows before the final fit."""
        table = self._read(X, y, sample_weight, groups, trusted)
        generator = private_random_state(self.random_state)
        scored = self._score(table, probabilities, generator, folds_anyway=self.rounds > 1)
        mask, weights, ranking = self._prune(table.doubt, scored)
        self._log("pruned %d of %d rows: %s", count_true(mask), len(mask), scored.rates)
        return Examined(table, scored, mask, weights, ranking, generator)

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

    def _prune(self, doubt: Doubt, scored: Scored) -> tuple[BoolArray, Weights, FloatArray]:
        """Return what the last round prunes, the weights of all rows, and its ranking."""
        folds, scores, rates = scored.folds, scored.scores, scored.rates
        mask, weights = _pruned(doubt, scores, rates)
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
            mask, weights = _pruned(doubt, scores, rates)
        return mask, weights, scores


@dataclass(frozen=True)
class Examined:
    """The rows with their scores and rates, what the last round prunes, and by which ranking."""

    table: Table
    scored: Scored
    mask: BoolArray
    weights: Weights
    ranking: FloatArray
    generator: np.random.RandomState


@dataclass(frozen=True)
class _Fitted:
    """What a fit saw and was told, for intervals that are asked for later."""

    labels: BinaryLabels
    doubt: Doubt
    estimated: NoiseRates
    known: KnownRates
    noise_estimator: str | Callable[..., NoiseRates]


def _pruned(doubt: Doubt, scores: FloatArray, rates: NoiseRates) -> tuple[BoolArray, Weights]:
    """Return which rows are dropped and the weight of every row, None where all weigh 1."""
    inputs = doubt.inputs(scores)
    pruning = prune_labels(
        inputs.is_positive, inputs.probabilities, rates, sample_weight=inputs.sample_weight
    )
    mask = np.zeros(len(doubt.counted), dtype=bool)
    mask[doubt.doubted] = pruning.mask
    correction = correction_weights(inputs.is_positive, rates)
    if doubt.weight is None and (correction == 1).all():
        return mask, None
    weights = np.ones(len(mask)) if doubt.weight is None else doubt.weight.copy()
    left = 1.0 if pruning.sample_weight is None else pruning.sample_weight
    weights[doubt.doubted] = left * correction
    return mask, weights
