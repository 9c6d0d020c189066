"""Natarajan's two methods: a loss whose mean over the noise is the clean one, and two costs."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.parallel import Parallel, delayed

from rankprune._fitting import draw_seed, fit_rows, fresh_clone
from rankprune._learners import RateBasedClassifier, Table
from rankprune.core import (
    NOISE_ESTIMATORS,
    NoiseRates,
    label_dependent_weights,
    unbiased_loss_weights,
)
from rankprune.core._inputs import BoolArray
from rankprune.methods._reweighting import (
    ReweightingClassifier,
    WeightedRows,
    weigh_by_factors,
)
from rankprune.probabilities import Split, labels_to_fit, make_splits

_CROSS_VALIDATION = "cross-validation"
# Rates that are tried, as shares of the largest that the labels allow.
_SHARES = (0.0, 0.15, 0.3, 0.45, 0.6, 0.75, 0.9)
# Solvers of logistic regression that follow a sum of weighted losses wherever it leads.
_SOLVERS = ("lbfgs", "newton-cg", "newton-cholesky")


class _NatarajanClassifier(ReweightingClassifier):
    """What both methods share: rates may also be chosen by cross-validation."""

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's convention)
        **RateBasedClassifier._parameter_constraints,
        "noise_estimator": [StrOptions({*NOISE_ESTIMATORS, _CROSS_VALIDATION}), callable],
    }

    def _choose_rates(
        self, table: Table, probabilities: ArrayLike | None, generator: np.random.RandomState
    ) -> None:
        if self.noise_estimator == _CROSS_VALIDATION and None in self._known():
            self._known_rates(table.doubt)  # refuses what cannot be
            self.noise_rates_ = self._search_rates(table, generator)
        else:
            super()._choose_rates(table, probabilities, generator)

    def _search_rates(self, table: Table, generator: np.random.RandomState) -> NoiseRates:
        """Return the rates whose models tell held-out labels apart best, noisy as these are."""
        splits = make_splits(
            self.cv, table.X, table.labels, table.groups, table.weight, draw_seed(generator)
        )
        n_positive, n_negative = table.doubt.masses()
        observed = n_positive / (n_positive + n_negative)
        candidates = [
            NoiseRates.from_noise_rates(*pair, observed) for pair in self._candidates(observed)
        ]
        self._log("trying %d pairs of rates in %d folds", len(candidates), len(splits))
        seed = draw_seed(generator)
        predicted = Parallel(n_jobs=self.n_jobs)(
            delayed(_predict_fold)(
                fresh_clone(self._base(), seed), table, self._weighted_rows(table, rates), split
            )
            for rates in candidates
            for split in splits
        )
        scores = []
        for number in range(len(candidates)):
            parts = predicted[number * len(splits) : (number + 1) * len(splits)]
            scores.append(_balanced_accuracy(table, splits, parts))
        return candidates[int(np.argmax(scores))]

    def _candidates(self, observed: float) -> list[tuple[float, float]]:
        """Return pairs of noise rates that the labels allow, those with less noise first."""
        positive, negative = (
            [share * limit for share in _SHARES] if rate is None else [rate]
            for rate, limit in zip(self._known(), (1 - observed, observed), strict=True)
        )
        return sorted(product(positive, negative), key=sum)


class LabelDependentCostClassifier(_NatarajanClassifier):
    """Learn from noisy labels with one cost per label (Natarajan et al. 2013; the paper's Nat13).

    Parameters
    ----------
    estimator : classifier, default=None
        What is fitted, with weights; cloned. Logistic regression by default.
    scorer, pos_label, positive_noise_rate, negative_noise_rate
        As in `RankPruningClassifier`. Where both rates are known, no folds are fitted.
    noise_estimator : str or callable, default="curve"
        See ``method`` of `estimate_noise_rates`. ``"cross-validation"`` takes rates as parameters
        to be tuned, as the source does: those whose models tell held-out labels apart best, by
        balanced accuracy, since class-conditional noise leaves the order of models by it as it is.
        So it aims at balanced accuracy and not at few errors, which differs where a class is rare,
        and ``noise_rates_`` is then a setting and no estimate. Only the difference of the rates
        matters here, so one of those is 0.
    cv, n_jobs, random_state, verbose
        As in `RankPruningClassifier`.

    Attributes
    ----------
    estimator_, classes_, noise_rates_, verdict_, n_features_in_, feature_names_in_
        As in `RankPruningClassifier`.
    probabilities_ : ndarray of shape (n_rows,)
        Out-of-fold probabilities, where the rates were estimated from them.

    Notes
    -----
    With alpha = (1 - rho_1 + rho_0) / 2, positive labels weigh 1 - alpha and negative ones alpha.
    The clean classifier asks whether P(y=1|x) > 1/2, which is whether P(s=1|x) > alpha. The weights
    are about one half, so a penalty of the estimator counts about twice; its
    ``class_weight="balanced"`` would undo them.

    Use it where a simple, stable correction is wanted: it moves the threshold and depends on the
    rates through their difference alone, so symmetric noise needs none. It fails to clean up: the
    loss still pulls the model towards wrong labels, and its probabilities are not those of the
    clean labels.

    References
    ----------
    N. Natarajan, I. S. Dhillon, P. Ravikumar and A. Tewari: Learning with Noisy Labels. NIPS 2013,
    Section 3.2. A. K. Menon, B. van Rooyen, C. S. Ong and R. C. Williamson: Learning from
    Corrupted Binary Labels via Class-Probability Estimation. ICML 2015, for balanced accuracy.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from rankprune import flip_labels
    >>> from rankprune.methods import LabelDependentCostClassifier
    >>> X, truth = make_classification(2000, class_sep=3, random_state=0)
    >>> y = flip_labels(truth, positive_noise_rate=0.4, negative_noise_rate=0, random_state=0)
    >>> model = LabelDependentCostClassifier(negative_noise_rate=0, random_state=0).fit(X, y)
    >>> bool(model.score(X, truth) > 0.97)
    True
    """

    def _weighted_rows(self, table: Table, rates: NoiseRates) -> WeightedRows:
        doubt = table.doubt
        factors = label_dependent_weights(doubt.is_positive[doubt.doubted], rates)
        # In expectation this loss is the clean one times this, which a settled row must match.
        rest = 1 - rates.positive_noise_rate - rates.negative_noise_rate if rates.reliable else 1.0
        return weigh_by_factors(table, factors, settled=rest / 2)

    def _candidates(self, observed: float) -> list[tuple[float, float]]:
        pairs = super()._candidates(observed)
        # Pairs of the same difference are the same model: one of them is enough.
        return [pair for pair in pairs if 0 in pair] if self._known() == (None, None) else pairs


class UnbiasedLossClassifier(_NatarajanClassifier):
    """Learn from noisy labels by an unbiased loss (Natarajan et al. 2013, first method).

    Parameters
    ----------
    estimator : LogisticRegression or a Pipeline that ends in one, default=None
        What is fitted; cloned. The other label of each row has a negative weight, which few
        solvers follow: ``"lbfgs"``, ``"newton-cg"`` and ``"newton-cholesky"`` do.
    scorer, pos_label, positive_noise_rate, negative_noise_rate
        As in `RankPruningClassifier`. Where both rates are known, no folds are fitted.
    noise_estimator : str or callable, default="curve"
        As in `LabelDependentCostClassifier`; here ``"cross-validation"`` tries pairs of rates.
    cv, n_jobs, random_state, verbose
        As in `RankPruningClassifier`.

    Attributes
    ----------
    estimator_, classes_, noise_rates_, verdict_, n_features_in_, feature_names_in_
        As in `RankPruningClassifier`.
    probabilities_ : ndarray of shape (n_rows,)
        Out-of-fold probabilities, where the rates were estimated from them.

    Notes
    -----
    Each row is fitted twice: with its label at weight (1 - rho_other) / (1 - rho_1 - rho_0) and
    with the other label at -rho_own / (1 - rho_1 - rho_0), where rho_own is rho_1 for s=1 and
    rho_0 for s=0. Over the noise the mean of this loss is the clean loss, and of the logistic loss
    it is convex.

    Use it for linear models with rates that are known or well estimated: it needs no
    probabilities, only rates, and gives those of the clean labels. It fails with rates that are
    too high and with flexible models: a row whose label never occurs the other way round may earn
    an unlimited reward, which only regularisation stops.

    References
    ----------
    N. Natarajan, I. S. Dhillon, P. Ravikumar and A. Tewari: Learning with Noisy Labels. NIPS 2013,
    Section 3.1.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from rankprune import flip_labels
    >>> from rankprune.methods import UnbiasedLossClassifier
    >>> X, truth = make_classification(2000, class_sep=3, random_state=0)
    >>> y = flip_labels(truth, positive_noise_rate=0.3, negative_noise_rate=0.1, random_state=0)
    >>> model = UnbiasedLossClassifier(random_state=0).fit(X, y)
    >>> bool(model.score(X, truth) > 0.95)
    True
    """

    def _check_estimator(self) -> None:
        super()._check_estimator()
        base = self._base()
        last = base.steps[-1][1] if isinstance(base, Pipeline) else base
        # By type and not by instance: a subclass may solve another problem.
        if type(last) is not LogisticRegression:
            raise ValueError(
                "estimator must be LogisticRegression or a Pipeline that ends in one, since the "
                f"unbiased loss has negative weights and others fit these wrongly; got {base!r}. "
                "Use ImportanceReweightingClassifier for other estimators."
            )
        if last.solver not in _SOLVERS:
            raise ValueError(
                f"estimator must have a solver among {', '.join(_SOLVERS)}, since others fit "
                f"negative weights wrongly or not at all; got solver={last.solver!r}. Pass "
                'LogisticRegression(solver="lbfgs").'
            )

    def _weighted_rows(self, table: Table, rates: NoiseRates) -> WeightedRows:
        doubt, is_positive = table.doubt, table.labels.is_positive
        given, other = unbiased_loss_weights(is_positive[doubt.doubted], rates)
        rows, twice = np.flatnonzero(doubt.counted), np.flatnonzero(doubt.doubted)
        return WeightedRows(
            np.concatenate([rows, twice]),
            np.concatenate([is_positive[rows], ~is_positive[twice]]),
            np.concatenate([doubt.weigh(given)[rows], doubt.weigh(other)[twice]]),
        )


def _predict_fold(estimator: Any, table: Table, rows: WeightedRows, split: Split) -> BoolArray:
    """Return which test rows a model fitted to the training rows calls positive."""
    train, test = split
    used = np.isin(rows.rows, train)
    y = labels_to_fit(replace(table.labels, is_positive=rows.is_positive[used]))
    fit_rows(estimator, table.X, table.y, rows.rows[used], y, rows.weights[used])
    return np.asarray(estimator.predict(_safe_indexing(table.X, test)) == table.positive)


def _balanced_accuracy(table: Table, splits: list[Split], predicted: list[BoolArray]) -> float:
    is_positive = np.empty(table.n_rows, dtype=bool)
    for (_, test), part in zip(splits, predicted, strict=True):
        is_positive[test] = part
    doubted = table.doubt.doubted
    weight = None if table.weight is None else table.weight[doubted]
    return float(
        balanced_accuracy_score(
            table.labels.is_positive[doubted], is_positive[doubted], sample_weight=weight
        )
    )
