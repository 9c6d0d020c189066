"""Base class of classifiers that estimate noise rates from out-of-fold probabilities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import StrOptions

from rankprune.core import NOISE_ESTIMATORS, NoiseRates, Verdict
from rankprune.core._answer import answered_rates
from rankprune.core._inputs import BoolArray, FloatArray, validate_probabilities
from rankprune.core._noise_rates import without_width
from rankprune.core._verdict import judge
from rankprune.core.classes._class_inputs import is_matrix, validate_scores_of
from rankprune.core.classes._class_labels import Labels
from rankprune.core.classes._class_verdict import ClassVerdict
from rankprune.core.counting._sketch import sketch_of
from rankprune.core.estimators._registry import (
    estimate_unknown_rates,
    warn_if_uninformative,
)
from rankprune.learners._base import DelegatingClassifier, FitRows, Rows, RowStatus, Weights
from rankprune.learners._cloning import (
    RandomState,
    draw_seed,
    private_random_state,
)
from rankprune.learners._committee import COMMITTEE, NAMED_SCORERS, Panel, form_panel
from rankprune.learners._copies import copied_units
from rankprune.learners._probabilities import (
    NO_EFFECT,
    Folds,
    check_predicts_probabilities,
    is_number_of_folds,
    make_splits,
)
from rankprune.learners._sample_weights import warn_if_weights_are_lost


class Opinions(NamedTuple):
    """Each scorer's probabilities of every row, and the folds that they come from."""

    folds: Folds
    columns: FloatArray


@dataclass(frozen=True)
class Scored:
    """Out-of-fold probabilities and the rates estimated from them, with their folds.

    Attributes
    ----------
    opinions : ndarray of shape (n_rows, n_scorers)
        Probabilities from each scorer; ``scores`` is their mean.
    estimated, rates : NoiseRates
        Noise rates as estimated, and as used: 0 if the verdict is that the labels are clean.
    """

    folds: Folds
    opinions: FloatArray
    scores: FloatArray
    estimated: NoiseRates
    rates: NoiseRates
    verdict: Verdict | None


class RateBasedClassifier(DelegatingClassifier):
    """A classifier whose final fit depends on noise rates, known or estimated."""

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's convention)
        **DelegatingClassifier._parameter_constraints,
        "noise_estimator": [StrOptions(set(NOISE_ESTIMATORS)), callable, None],
    }

    rounds: int = 1
    verdict_: Verdict | ClassVerdict

    def __init__(
        self,
        estimator: Any = None,
        *,
        scorer: Any = None,
        pos_label: Any = None,
        positive_noise_rate: float | None = None,
        negative_noise_rate: float | None = None,
        noise_estimator: str | Callable[..., NoiseRates] | None = None,
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
        rows: Rows,
        probabilities: ArrayLike | None,
        generator: np.random.RandomState,
    ) -> Opinions:
        """Return the probabilities passed in, or each scorer's out-of-fold probabilities."""
        if isinstance(rows, FitRows):
            self._known_rates(rows.status)  # raises if rates are impossible, before any fit
        folds = self._folds(rows, generator, probabilities is None or self.rounds > 1)
        if probabilities is None:
            return Opinions(folds, self._score_folds(folds, rows))
        return Opinions(folds, _given_scores(rows, probabilities)[:, None])

    def _estimate(self, rows: FitRows, opinions: Opinions) -> Scored:
        """Return the mean probabilities, the noise rates and, for a committee, the verdict."""
        scores: FloatArray = opinions.folds.mean(opinions.columns)
        estimated = self._rates(rows.status, scores)
        verdict = self._verdict(rows.status, scores, opinions.columns, estimated)
        rates = answered_rates(verdict, estimated) if self._is_judged() else estimated
        return Scored(opinions.folds, opinions.columns, scores, estimated, rates, verdict)

    def _learn_rates(
        self,
        rows: FitRows,
        probabilities: ArrayLike | None,
        generator: np.random.RandomState,
        *,
        needs_scores: bool,
    ) -> None:
        """Set the rates, and the probabilities if the rates or the method need them."""
        known = self._known_rates(rows.status)
        if known is None or needs_scores:
            self._keep_scores(self._estimate(rows, self._score(rows, probabilities, generator)))
            return
        if probabilities is not None:
            _given_scores(rows, probabilities)
        self.noise_rates_ = known

    def _keep_scores(self, scored: Scored) -> None:
        """Set the attributes that follow from the scores."""
        self.noise_rates_ = scored.rates
        if scored.verdict is not None:
            self.verdict_ = scored.verdict
        self.probabilities_ = scored.scores

    def _is_named(self) -> bool:
        return isinstance(self.scorer, str)

    def _is_judged(self) -> bool:
        """Return whether the verdict decides: nothing is pruned if labels are clean."""
        return isinstance(self.scorer, str) and self.scorer == COMMITTEE

    def _has_own_scorer(self) -> bool:
        return self.scorer is not None and not self._is_named()

    def _panel(
        self, X: Any, groups: Any, counted: BoolArray, seed: int, n_classes: int = 2
    ) -> Panel:
        """Return the models that score the rows."""
        if not self._is_named():
            return Panel((self.scorer if self._has_own_scorer() else self._base(),))
        # Groups and the caller's own folds say that rows depend on each other.
        in_folds = groups is not None or not is_number_of_folds(self.cv)
        units = None if in_folds else copied_units(X, counted)
        return form_panel(
            self.scorer, self._base(), X, units, seed, in_folds=in_folds, n_classes=n_classes
        )

    def _refuse_unknown_scorer(self) -> None:
        if self._is_named() and self.scorer not in NAMED_SCORERS:
            raise ValueError(
                'scorer must be a classifier, "committee", "with-trees" or None, got '
                f"{self.scorer!r}. Pass a classifier that has predict_proba."
            )

    def scoring_folds(self, rows: Rows) -> Folds:
        """Return the folds that ``fit`` scores these rows in, unless it is given probabilities."""
        return self._folds(rows, private_random_state(self.random_state), is_scored=True)

    def _folds(self, rows: Rows, generator: np.random.RandomState, is_scored: bool) -> Folds:
        """Return the folds that score the rows, without splits if no scores are needed."""
        self._refuse_unknown_scorer()
        if not is_scored:
            return Folds((), rows.X, rows.labels, [], self.n_jobs, seed=0)
        first = self.scorer if self._has_own_scorer() else self._base()
        check_predicts_probabilities(first, "scorer" if self._has_own_scorer() else "estimator")
        if self._has_own_scorer():  # the estimator itself is checked at its final fit
            warn_if_weights_are_lost(first, rows.weight, NO_EFFECT)
        fold_seed, seed = draw_seed(generator), draw_seed(generator)
        n_classes = len(rows.labels.classes)
        panel = self._panel(rows.X, rows.groups, rows.status.counted, seed, n_classes)
        folds = self._folds_of(
            panel,
            rows.X,
            rows.labels,
            rows.groups,
            rows.weight,
            (fold_seed, seed),
            rows.status.left_alone,
        )
        self._log("scoring %d rows in %d folds", rows.n_rows, len(folds.splits))
        return folds

    def _folds_of(
        self,
        panel: Panel,
        X: Any,
        labels: Labels,
        groups: Any,
        weight: Weights,
        seeds: tuple[int, int],
        left_alone: BoolArray | None = None,
    ) -> Folds:
        """Return the folds in which a panel scores; the seeds are those of folds and models."""
        splits = make_splits(self.cv, X, labels, groups, weight, seeds[0], panel.units, left_alone)
        return Folds(
            panel.estimators,
            X,
            labels,
            splits,
            self.n_jobs,
            seeds[1],
            panel.out_of_bag,
            panel.times,
        )

    def _score_folds(self, folds: Folds, rows: Rows) -> NDArray[np.float64]:
        """Return the out-of-fold probabilities, with one column per scorer."""
        alone = rows.status.left_alone
        try:
            return folds.score_each(rows.weight, None if alone is None else ~alone)
        except (TypeError, ValueError) as error:
            if self._is_named():
                error.add_note(
                    f'scorer="{self.scorer}" fits extra trees to the same X as the estimator, or '
                    "to the output of all but the last step of its Pipeline: this must be numeric. "
                    "Put the preprocessing into a Pipeline."
                )
            raise

    def _known_rates(self, status: RowStatus) -> NoiseRates | None:
        """Return the rates if both are known, else None; raise ValueError for impossible rates."""
        known = self._known()
        n_positive, n_negative = status.masses()
        positive, negative = (0.0 if rate is None else rate for rate in known)
        observed = n_positive / (n_positive + n_negative)
        rates = NoiseRates.from_noise_rates(positive, negative, observed)
        if None in known:
            return None
        intervals = without_width(rates)
        return replace(rates, n_positive=n_positive, n_negative=n_negative, intervals=intervals)

    def _rates(self, status: RowStatus, scores: FloatArray) -> NoiseRates:
        inputs, known = status.inputs(scores), self._known_rates(status)
        if known is not None:
            warn_if_uninformative(sketch_of(inputs), known)
            return known
        positive, negative = self._known()
        return estimate_unknown_rates(
            inputs, self.noise_estimator, positive=positive, negative=negative
        )

    def _verdict(
        self, status: RowStatus, scores: FloatArray, opinions: FloatArray, estimated: NoiseRates
    ) -> Verdict | None:
        """Return the committee's verdict, or None if there is no committee or a rate is known."""
        if opinions.shape[1] == 1 or self._known() != (None, None):
            return None
        return judge(
            status.inputs(scores),
            self.noise_estimator,
            n_opinions=opinions.shape[1],
            estimated=estimated,
        )


def _given_scores(rows: Rows, probabilities: ArrayLike) -> FloatArray:
    """Return probabilities that were passed in: the positive label's, or a column per class."""
    if isinstance(rows, FitRows) and not is_matrix(probabilities):
        return validate_probabilities(probabilities, rows.n_rows)
    scores = validate_scores_of(rows.labels.codes, rows.labels.classes, probabilities)
    if isinstance(rows, FitRows):
        return np.ascontiguousarray(scores[:, rows.labels.positive_column])
    return scores
