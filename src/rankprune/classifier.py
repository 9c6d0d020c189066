"""Rank Pruning as a scikit-learn classifier: the whole data line in one ``fit``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from rankprune.core import (
    MATRIX_ESTIMATORS,
    NOISE_ESTIMATORS,
    ClassPruning,
    MatrixIntervals,
    NoiseMatrix,
    NoiseRates,
    Pruning,
    correction_weights,
    prune_labels,
)
from rankprune.core._auc import are_counts
from rankprune.core._inputs import BinaryLabels, BoolArray, FloatArray, count_true
from rankprune.core._interval_records import LEVEL, REFITS, TRUTH, NoiseRateIntervals
from rankprune.core._intervals import (
    KnownRates,
    drawn_weight,
    estimate_drawn,
    intervals_from,
    label_rows,
    learned_intervals,
    resamples,
    row_intervals,
    validate_covers,
)
from rankprune.core._parameters import validate_count, validate_level
from rankprune.core._random import as_generator
from rankprune.core.classes._class_labels import validate_any_labels
from rankprune.core.classes._class_pruning import prune_rows
from rankprune.core.classes._class_weights import class_weights_of
from rankprune.core.classes._noise_matrix import intervals_without_width
from rankprune.core.counting._sketch import sketch_of
from rankprune.exceptions import ClassAlmostEmptiedWarning, warn_caller
from rankprune.learners._base import FitRows, RowStatus, Status, Weights, two_label_rows
from rankprune.learners._class_based import (
    KEEP,
    ClassRows,
    ClassStatus,
    ExaminedClasses,
    class_rows,
    scored_classes,
)
from rankprune.learners._cloning import (
    RandomState,
    draw_seed,
    forget_results,
    private_random_state,
)
from rankprune.learners._copies import warn_if_models_saw_copies
from rankprune.learners._number_of_labels import for_two_alone, refuse_other_parameters
from rankprune.learners._probabilities import NO_EFFECT, Folds, check_rows
from rankprune.learners._progress import log_progress
from rankprune.learners._rate_based import Opinions, RateBasedClassifier, Scored
from rankprune.learners._sample_weights import accepts_sample_weight, warn_if_weights_are_lost

Prune = Callable[[FloatArray], tuple[BoolArray, Weights]]


class RankPruningClassifier(RateBasedClassifier):
    """Learn from labels of any number of classes, some of which are wrong, by Rank Pruning.

    Estimates how many labels of each class are wrong, drops that many of the least credible rows,
    and fits the estimator to the rest with weights that restore the balance of the classes.

    Parameters
    ----------
    estimator : classifier, default=None
        The classifier fitted to the rows that are kept; cloned. Logistic regression by default.
    scorer : classifier with ``predict_proba``, "committee", "with-trees" or None, default=None
        The classifier that computes the out-of-fold probabilities; cloned. The estimator by
        default. ``"with-trees"`` averages the probabilities of the estimator and of extra trees,
        which count twice. ``"committee"`` averages those of gradient boosting too, and
        adds a verdict: if it is that the labels are clean, nothing is pruned, unless a noise rate
        is known. In a `Pipeline` the extra trees and
        boosting replace the last step; see Notes.
    pos_label : default=None
        The positive label; by default the last of the two in sorted order. For two labels alone.
    positive_noise_rate, negative_noise_rate : float, default=None
        For two labels alone: known shares of true positives labeled negative and of true
        negatives labeled positive; unknown rates are estimated. With ``negative_noise_rate=0``,
        learning from positive and unlabeled rows, no positive label is ever pruned. If one rate is
        known and the probabilities are uninformative, nothing is pruned or corrected; if both are
        known they are used even then, with a warning.
    noise_matrix : NoiseMatrix, default=None
        For more than two labels alone: the known noise, with the classes of the labels. By default
        it is estimated. If the probabilities are uninformative, a known matrix is used even then,
        with a warning.
    noise_estimator : str or callable, default=None
        How the rates are estimated; see ``method`` of `estimate_noise_rates`, which names those for
        two and for more labels. The paper uses ``"confident-counts"``.
    rounds : int, default=1
        Number of times that rows are scored and pruned; 1 is the paper's algorithm. From the second
        round on, every row is scored again, by models fitted to the pruned, weighted rows of the
        other folds, and pruned by the new ranking with the rates of the first round. Each round
        takes as many fits as there are folds.
    cv : int, splitter or iterable of (train, test), default=3
        The folds; see `out_of_fold_probabilities`.
    rare : {"error", "keep"}, default="error"
        For more than two labels: what happens to classes with fewer rows than folds, or with one
        row if the folds are your own. ``"keep"`` leaves them alone: no fold is fitted to their
        rows, nothing is assumed to be wrong with them, and all of them reach the final fit.
    n_jobs : int, default=None
        Number of folds fitted at the same time. Does not change the result.
    random_state : int, RandomState or None, default=None
        Shuffles the folds, and seeds estimators whose own ``random_state`` is None.
    verbose : int, default=0
        If at least 1, steps are logged at level INFO by the logger ``rankprune``, otherwise at
        DEBUG.

    Attributes
    ----------
    estimator_ : classifier
        The classifier fitted to the rows that were kept.
    classes_ : ndarray of shape (n_classes,)
        The labels in sorted order.
    noise_rates_ : NoiseRates
        The rates used for pruning; they describe the rows that are not trusted. With two labels.
    noise_matrix_ : NoiseMatrix
        The same with more than two labels.
    prune_mask_ : ndarray of bool of shape (n_rows,)
        True means dropped.
    probabilities_ : ndarray of shape (n_rows,) or (n_rows, n_classes)
        Out-of-fold probability of the positive label, or of each of more than two, from the first
        round.
    ranking_probabilities_ : ndarray of shape (n_rows,) or (n_rows, n_classes)
        Probabilities used for pruning in the last round; ``probabilities_`` if there is only one.
    verdict_ : Verdict or ClassVerdict
        Whether the labels are clean or noisy, or whether this is unclear. Only with a scorer of
        several models, and if neither noise nor probabilities were given.
    n_features_in_, feature_names_in_
        As in the fitted estimator, if it has them.

    See Also
    --------
    estimate_noise_rates, prune_labels, correction_weights : The steps of ``fit`` on arrays.

    Notes
    -----
    Each of 200 extra trees is fitted to rows drawn with replacement, and every row is scored by the
    trees that it was not drawn for (out of bag), so that they are fitted only once. Copies of a row
    that chance does not explain are drawn together, and stay in one fold. With ``groups``, folds of
    your own, or preprocessing that needs the labels, the trees score in the same folds as the other
    models. The committee leaves boosting out if the estimator is boosting itself, for more than
    30 labels, and for sparse rows of more than 100 columns, such as texts.

    With more than two labels, a row is dropped if its label is among the least likely of its class,
    compared with the best other one: as many rows as the matrix says. A row whose label no fold was
    fitted to could not be judged, so every training set must hold every class, except for those
    that ``rare="keep"`` leaves alone.

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
    0.31
    >>> bool(model.score(X, truth) > 0.97)
    True

    Three classes: a fifth of the rows of class 0 are labeled 1.

    >>> X, truth = make_classification(
    ...     1500, n_informative=4, n_classes=3, n_clusters_per_class=1, class_sep=3, random_state=0
    ... )
    >>> transition = [[0.8, 0, 0], [0.2, 1, 0], [0, 0, 1]]
    >>> y = flip_labels(truth, transition=transition, random_state=0)
    >>> model = RankPruningClassifier(random_state=0).fit(X, y)
    >>> model.noise_matrix_.noise_rates.round(2).tolist()
    [0.19, 0.02, 0.0]
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's convention)
        **RateBasedClassifier._parameter_constraints,
        "noise_matrix": [NoiseMatrix, None],
        "noise_estimator": [StrOptions({*NOISE_ESTIMATORS, *MATRIX_ESTIMATORS}), callable, None],
        "rare": [StrOptions({"error", KEEP})],
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
        noise_matrix: NoiseMatrix | None = None,
        noise_estimator: str | Callable[..., NoiseRates] | None = None,
        rounds: int = 1,
        cv: Any = 3,
        rare: str = "error",
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
        self.noise_matrix = noise_matrix
        self.rounds = rounds
        self.rare = rare

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
        """Estimate the noise, prune the rows, and fit the estimator to the rest.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or list of shape (n_rows, ...)
            Any input that the estimator accepts and whose rows can be selected.
        y : array-like of shape (n_rows,)
            Given labels, of any two or more values, some of them wrong.
        sample_weight : array-like of shape (n_rows,), default=None
            A weight of 2 has the same meaning as two copies of the row, a weight of 0 as no row.
            Weights are used in the folds, in the counts and, multiplied by the correction weights,
            in the final fit.
        groups : array-like of shape (n_rows,), default=None
            Rows of the same group stay in the same fold. Without groups, copies of a row may end up
            in different folds; many of them give a `CopiedRowsWarning`.
        probabilities : array-like of shape (n_rows,) or (n_rows, n_classes), default=None
            Out-of-fold probabilities of the positive label or, in the order of ``classes_``, of
            each label, if they are already known; then no folds are fitted.
        trusted : array-like of bool of shape (n_rows,), default=None
            Rows whose labels a person has checked: they are never pruned, get no correction weight,
            and do not count in the noise rates.

        Returns
        -------
        RankPruningClassifier
            The object itself.
        """
        forget_results(self)
        rows = self._any_rows(X, y, sample_weight, groups, trusted)
        generator = private_random_state(self.random_state)
        opinions = self._score(rows, probabilities, generator)
        warn_if_models_saw_copies(rows.X, opinions.folds.splits, rows.status.counted)
        pruned = self._estimate_and_prune(rows, opinions)
        self._refit(pruned, generator)
        return self

    def examine(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        probabilities: ArrayLike | None = None,
        trusted: ArrayLike | None = None,
    ) -> Examined | ExaminedClasses:
        """Return what ``fit`` learns about the rows, without fitting the final estimator.

        `check_labels` and `check_table` use it. The results of an earlier fit stay unchanged.

        Parameters
        ----------
        X, y, sample_weight, groups, probabilities, trusted
            As in ``fit``.

        Returns
        -------
        Examined or, with more than two labels, ExaminedClasses
            The rows, their scores and noise, and the rows that would be pruned.
        """
        rows = self._any_rows(X, y, sample_weight, groups, trusted)
        generator = private_random_state(self.random_state)
        return self._estimate_and_prune(rows, self._score(rows, probabilities, generator))

    def noise_rate_intervals(
        self,
        X: Any = None,
        *,
        groups: ArrayLike | None = None,
        covers: Literal["truth", "rows"] = "truth",
        level: float = 0.95,
        n_resamples: int | None = None,
        random_state: RandomState = None,
    ) -> NoiseRateIntervals | MatrixIntervals:
        """Return intervals of the noise rates: of the truth, or of what chance can do.

        With more than two labels, those of the truth at 95 % are all there is.

        Parameters
        ----------
        X : as in ``fit``, default=None
            Pass the same X as in ``fit`` to resample the rows, and fit and score every resample in
            new folds: such intervals cover the random choice of the rows and the randomness of the
            models. A row that is drawn twice gets weight 2, so every scorer must take weights.
        groups : array-like of shape (n_rows,), default=None
            As in ``fit``, for the new folds.
        covers : {"truth", "rows"}, default="truth"
            See `noise_rate_intervals`; with ``"rows"``, rows are resampled with their out-of-fold
            probabilities, which needs no fitting. Has no effect if X is passed.
        level : float, default=0.95
            Confidence level. From 0.5 to 0.99 for intervals of the truth.
        n_resamples : int, default=None
            Number of resamples. 200 by default, or 50 if models are fitted.
        random_state : int, RandomState or None, default=None
            Determines the rows that are drawn, and the folds.

        Returns
        -------
        NoiseRateIntervals or, with more than two labels, MatrixIntervals
            Intervals around the estimates from all rows. The interval of a known rate is a point.

        See Also
        --------
        noise_rate_intervals : The same for labels and probabilities.
        """
        check_is_fitted(self)
        validate_covers(covers)
        validate_level(level)
        fitted = self._fitted_
        if isinstance(fitted, NoiseMatrix):
            _refuse_other_intervals(X, covers, level)
            return fitted.intervals or intervals_without_width(fitted)
        sketch = sketch_of(fitted.status.inputs(self.probabilities_))
        if X is None and covers == TRUTH:
            return learned_intervals(sketch, fitted.estimated, known=fitted.known, level=level)
        if X is None:
            return row_intervals(
                sketch,
                fitted.noise_estimator,
                fitted.estimated,
                known=fitted.known,
                level=level,
                n_resamples=200 if n_resamples is None else n_resamples,
                random_state=random_state,
            )
        n_refits = validate_count(50 if n_resamples is None else n_resamples, "n_resamples", 50)
        replicates = self._refitted_rates(fitted, X, groups, n_refits, random_state)
        sizes = label_rows(sketch)
        return intervals_from(
            fitted.estimated, replicates, level, REFITS, fitted.known, sizes=sizes
        )

    def _refitted_rates(
        self, fitted: _Fitted, X: Any, groups: Any, n_refits: int, random_state: RandomState
    ) -> list[NoiseRates]:
        """Return the rates of resamples, each scored in new folds."""
        labels, status = fitted.labels, fitted.status
        X, groups = check_rows(X, labels.is_positive, groups)
        seed = draw_seed(private_random_state(random_state))
        panel = self._panel(X, groups, status.counted, seed)
        for scorer in panel.estimators:
            if not accepts_sample_weight(scorer):
                raise ValueError(
                    "X must be None if a scorer takes no sample_weight, since resampled rows are "
                    f"weighted; {scorer!r} takes none. Omit X, or use another scorer."
                )
        method = fitted.noise_estimator
        generator = private_random_state(random_state)
        draws = resamples(
            labels.is_positive,
            status.weight,
            n_refits,
            as_generator(generator),
            least=int(self.cv) if isinstance(self.cv, Integral) else 1,
            doubted=status.doubted,
        )
        in_counts = status.weight is None or are_counts(status.weight)
        replicates = []
        for number, times in enumerate(draws, start=1):
            drawn = drawn_weight(status.weight, times)
            seeds = draw_seed(generator), draw_seed(generator)
            folds = self._folds_of(panel, X, labels, groups, drawn, seeds)
            inputs = status.inputs(folds.score(drawn))
            replicates.append(
                estimate_drawn(method, inputs, times[status.doubted], in_counts=in_counts)
            )
            log_progress(
                "scored %d of %d resamples",
                "scoring resamples",
                number,
                n_refits,
                self._log_level(),
            )
        return replicates

    def _any_rows(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        groups: ArrayLike | None,
        trusted: ArrayLike | None,
    ) -> FitRows | ClassRows:
        """Return the checked rows, after checking the parameters for their number of classes."""
        X, y, groups = self._checked_features(X, y, groups)
        labels, weight = validate_any_labels(y, sample_weight, pos_label=self.pos_label, name="y")
        refuse_other_parameters(self, labels)
        if isinstance(labels, BinaryLabels):
            return two_label_rows(X, groups, labels, weight, trusted)
        return class_rows(X, groups, labels, weight, trusted, self.rare, self.cv)

    def _estimate_and_prune(
        self, rows: FitRows | ClassRows, opinions: Opinions
    ) -> Examined | ExaminedClasses:
        """Return the noise of the rows, those that the last round prunes, and all weights."""
        if isinstance(rows, ClassRows):
            return self._examine_classes(rows, opinions)
        scored = self._estimate(rows, opinions)
        prune = partial(_pruned, rows.status, scored.rates)
        mask, weights, ranking = self._prune(rows.status, scored.folds, scored.scores, prune)
        self._log("pruned %d of %d rows: %s", count_true(mask), len(mask), scored.rates)
        return Examined(rows, scored, mask, weights, ranking)

    def _examine_classes(self, rows: ClassRows, opinions: Opinions) -> ExaminedClasses:
        """Do the same for more than two classes."""
        scored = scored_classes(
            rows,
            opinions.folds,
            opinions.columns,
            self.noise_matrix,
            self.noise_estimator,
            is_judged=self._is_judged(),
        )
        prune = partial(_pruned_classes, rows.status, scored.matrix)
        mask, weights, ranking = self._prune(rows.status, scored.folds, scored.scores, prune)
        self._log("pruned %d of %d rows: %s", count_true(mask), len(mask), scored.matrix)
        return ExaminedClasses(
            **vars(scored), rows=rows, mask=mask, weights=weights, ranking=ranking
        )

    def _prune(
        self, status: Status, folds: Folds, scores: FloatArray, prune: Prune
    ) -> tuple[BoolArray, Weights, FloatArray]:
        """Return the rows that the last round prunes, the weights of the rows, and its ranking."""
        mask, weights = prune(scores)
        for turn in range(1, self.rounds):
            keep = status.counted & ~mask
            if status.left_alone is not None:
                keep &= ~status.left_alone
            if not mask.any():
                break  # another round would fit the same models
            if not folds.keep_classes(keep):
                lost = "with a single class" if isinstance(status, RowStatus) else "without a class"
                warn_caller(
                    f"Pruning leaves a fold of round {turn + 1} {lost}, so pruning "
                    f"stops after round {turn}. Use fewer folds, or fewer rounds.",
                    ClassAlmostEmptiedWarning,
                )
                break
            if turn == 1 and self._has_own_scorer() and status.weight is None:
                warn_if_weights_are_lost(self.scorer, weights, NO_EFFECT)
            self._log("round %d: scoring with %d rows pruned", turn + 1, count_true(mask))
            scores = folds.score(weights, keep)
            mask, weights = prune(scores)
        return mask, weights, scores

    def _refit(self, found: Examined | ExaminedClasses, generator: np.random.RandomState) -> None:
        """Fit the estimator to the rows that were kept, and set the fitted attributes."""
        rows, weights = found.rows, found.weights
        kept = np.flatnonzero(rows.status.counted & ~found.mask)
        self._fit_labels(
            rows,
            kept,
            rows.y[kept],
            None if weights is None else weights[kept],
            generator,
            "the balance of the classes is not corrected",
        )
        self.prune_mask_ = found.mask
        self.ranking_probabilities_ = found.ranking
        if isinstance(found, ExaminedClasses):
            self.noise_matrix_, self.probabilities_ = found.matrix, found.scores
            if found.verdict is not None:
                self.verdict_ = found.verdict
            self._fitted_: _Fitted | NoiseMatrix = found.estimated
            return
        self._keep_scores(found.scored)
        self._fitted_ = _Fitted(
            # Copies, since these may be views of the caller's own labels.
            replace(found.rows.labels, is_positive=found.rows.labels.is_positive.copy()),
            replace(found.rows.status, is_positive=found.rows.status.is_positive.copy()),
            found.scored.estimated,
            self._known(),
            self.noise_estimator,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = not for_two_alone(self)
        return tags


@dataclass(frozen=True)
class Examined:
    """The results of ``fit`` before the final fit.

    Attributes
    ----------
    rows : FitRows
        The rows, their labels and weights.
    scored : Scored
        Their out-of-fold probabilities, and the noise rates estimated from these.
    mask : ndarray of bool of shape (n_rows,)
        Prune mask of the last round.
    weights : ndarray of shape (n_rows,) or None
        Sample weights times correction weights; None if all are 1.
    ranking : ndarray of shape (n_rows,)
        Probabilities used for pruning in the last round.
    """

    rows: FitRows
    scored: Scored
    mask: BoolArray
    weights: Weights
    ranking: FloatArray


@dataclass(frozen=True)
class _Fitted:
    """Inputs and estimates of a fit, for computing intervals later."""

    labels: BinaryLabels
    status: RowStatus
    estimated: NoiseRates
    known: KnownRates
    noise_estimator: str | Callable[..., NoiseRates] | None


def _pruned(status: RowStatus, rates: NoiseRates, scores: FloatArray) -> tuple[BoolArray, Weights]:
    """Return the prune mask and the weight of every row, None if all weights are 1."""
    inputs = status.inputs(scores)
    pruning = prune_labels(
        inputs.is_positive, inputs.probabilities, rates, sample_weight=inputs.sample_weight
    )
    return _of_all_rows(status, pruning, correction_weights(inputs.is_positive, rates))


def _pruned_classes(
    status: ClassStatus, matrix: NoiseMatrix, scores: FloatArray
) -> tuple[BoolArray, Weights]:
    """Do the same for more than two classes."""
    inputs = status.inputs(scores)
    return _of_all_rows(status, prune_rows(inputs, matrix), class_weights_of(matrix)[inputs.codes])


def _of_all_rows(
    status: Status, pruning: Pruning | ClassPruning, correction: NDArray[np.float64]
) -> tuple[BoolArray, Weights]:
    """Return mask and weights of all rows, from those in doubt."""
    mask = np.zeros(len(status.counted), dtype=bool)
    mask[status.doubted] = pruning.mask
    if status.weight is None and (correction == 1).all():
        return mask, None
    weights = np.ones(len(mask)) if status.weight is None else status.weight.copy()
    left = 1.0 if pruning.sample_weight is None else pruning.sample_weight
    weights[status.doubted] = left * correction
    return mask, weights


def _refuse_other_intervals(X: Any, covers: str, level: float) -> None:
    given: dict[str, tuple[Any, Any]] = {"covers": (covers, TRUTH), "level": (level, LEVEL)}
    given |= {} if X is None else {"X": ("a table", None)}
    for name, (value, only) in given.items():
        if value != only:
            raise ValueError(
                f"{name} must be {only!r} for more than two classes, got {value!r}. Leave it out; "
                "the ranges are those of noise_matrix_.intervals."
            )
