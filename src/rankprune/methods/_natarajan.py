"""Natarajan's two methods: an unbiased estimate of the clean loss, and a cost for each label."""

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

from rankprune.core import (
    NOISE_ESTIMATORS,
    NoiseRates,
    label_dependent_weights,
    unbiased_loss_weights,
)
from rankprune.core._inputs import BoolArray
from rankprune.learners._base import FitRows
from rankprune.learners._class_order import labels_to_fit
from rankprune.learners._cloning import draw_seed, fresh_clone
from rankprune.learners._probabilities import Split, make_splits
from rankprune.learners._rate_based import RateBasedClassifier
from rankprune.learners._sample_weights import fit_rows
from rankprune.methods._reweighting import (
    ReweightingClassifier,
    WeightedRows,
    weigh_by_factors,
)

_CROSS_VALIDATION = "cross-validation"
# Rates to try, as shares of the largest that the labels allow.
_SHARES = (0.0, 0.15, 0.3, 0.45, 0.6, 0.75, 0.9)
# Solvers of logistic regression that handle negative weights.
_SOLVERS = ("lbfgs", "newton-cg", "newton-cholesky")


class _NatarajanClassifier(ReweightingClassifier):
    """Base class of both methods: rates may also be chosen by cross-validation."""

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's convention)
        **RateBasedClassifier._parameter_constraints,
        "noise_estimator": [StrOptions({*NOISE_ESTIMATORS, _CROSS_VALIDATION}), callable, None],
    }

    def _choose_rates(
        self, rows: FitRows, probabilities: ArrayLike | None, generator: np.random.RandomState
    ) -> None:
        if self.noise_estimator == _CROSS_VALIDATION and None in self._known():
            self._known_rates(rows.status)  # raises if rates are impossible
            self.noise_rates_ = self._search_rates(rows, generator)
        else:
            super()._choose_rates(rows, probabilities, generator)

    def _search_rates(self, rows: FitRows, generator: np.random.RandomState) -> NoiseRates:
        """Return the rates whose models have the best balanced accuracy on held-out labels."""
        splits = make_splits(
            self.cv, rows.X, rows.labels, rows.groups, rows.weight, draw_seed(generator)
        )
        n_positive, n_negative = rows.status.masses()
        observed = n_positive / (n_positive + n_negative)
        candidates = [
            NoiseRates.from_noise_rates(*pair, observed) for pair in self._candidates(observed)
        ]
        self._log("trying %d pairs of rates in %d folds", len(candidates), len(splits))
        seed = draw_seed(generator)
        predicted = Parallel(n_jobs=self.n_jobs)(
            delayed(_predict_fold)(
                fresh_clone(self._base(), seed), rows, self._weighted_rows(rows, rates), split
            )
            for rates in candidates
            for split in splits
        )
        scores = []
        for number in range(len(candidates)):
            parts = predicted[number * len(splits) : (number + 1) * len(splits)]
            scores.append(_balanced_accuracy(rows, splits, parts))
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
        The classifier to fit, which must take ``sample_weight``; cloned. Logistic regression by
        default.
    scorer, pos_label, positive_noise_rate, negative_noise_rate
        As in `RankPruningClassifier`. If both rates are known, no folds are fitted.
    noise_estimator : str or callable, default="learned"
        See ``method`` of `estimate_noise_rates`. ``"cross-validation"`` tunes the rates, as the
        source does: it picks those whose models have the best balanced accuracy on held-out labels,
        since class-conditional noise does not change the order of models by balanced accuracy. So
        it optimises balanced accuracy rather than the error rate, which makes a difference if a
        class is rare, and ``noise_rates_`` is then a setting, not an estimate. Only the difference
        of the rates matters here, so if neither is known, one of the two is 0.
    cv, n_jobs, random_state, verbose
        As in `RankPruningClassifier`.

    Attributes
    ----------
    estimator_, classes_, noise_rates_, verdict_, n_features_in_, feature_names_in_
        As in `RankPruningClassifier`.
    probabilities_ : ndarray of shape (n_rows,)
        Out-of-fold probabilities, if the rates were estimated from them.

    Notes
    -----
    With alpha = (1 - rho_1 + rho_0) / 2, positive labels have weight 1 - alpha and negative labels
    weight alpha. The clean classifier predicts the positive class if P(y=1|x) > 1/2, which is
    equivalent to P(s=1|x) > alpha. The weights are about one half, so a penalty of the estimator
    counts about twice; its ``class_weight="balanced"`` would cancel the correction.

    Use it for a simple, stable correction: it moves the threshold and depends only on the
    difference of the rates, so symmetric noise needs no correction. It does not remove the noise:
    the loss still pulls the model towards wrong labels, and its probabilities are not those of
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

    def _weighted_rows(self, rows: FitRows, rates: NoiseRates) -> WeightedRows:
        status = rows.status
        factors = label_dependent_weights(status.is_positive[status.doubted], rates)
        # In expectation this loss is the clean loss times rest / 2; trusted rows get that factor.
        rest = 1 - rates.positive_noise_rate - rates.negative_noise_rate if rates.reliable else 1.0
        return weigh_by_factors(rows, factors, settled=rest / 2)

    def _candidates(self, observed: float) -> list[tuple[float, float]]:
        pairs = super()._candidates(observed)
        # Pairs with the same difference give the same model, so one of them is enough.
        return [pair for pair in pairs if 0 in pair] if self._known() == (None, None) else pairs


class UnbiasedLossClassifier(_NatarajanClassifier):
    """Learn from noisy labels by an unbiased loss (Natarajan et al. 2013, first method).

    Parameters
    ----------
    estimator : LogisticRegression or a Pipeline that ends in one, default=None
        The classifier to fit; cloned. The other label of each row gets a negative weight, which
        few solvers handle: ``"lbfgs"``, ``"newton-cg"`` and ``"newton-cholesky"`` do.
    scorer, pos_label, positive_noise_rate, negative_noise_rate, cv, n_jobs, random_state, verbose
        As in `LabelDependentCostClassifier`.
    noise_estimator : str or callable, default="learned"
        As in `LabelDependentCostClassifier`; here ``"cross-validation"`` tries pairs of rates.

    Attributes
    ----------
    estimator_, classes_, noise_rates_, probabilities_, verdict_, n_features_in_, feature_names_in_
        As in `LabelDependentCostClassifier`.

    Notes
    -----
    Each row is fitted twice: with its label at weight (1 - rho_other) / (1 - rho_1 - rho_0) and
    with the other label at -rho_own / (1 - rho_1 - rho_0), where rho_own is rho_1 for s=1 and
    rho_0 for s=0. The expectation of this loss over the noise is the clean loss; with the logistic
    loss it is convex.

    Use it for linear models with rates that are known or well estimated: it needs only rates, and
    its probabilities are those of clean labels. It fails with rates that are too high and with
    flexible models: the negative weights may reward a row without limit unless regularisation
    prevents it.

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
        # Not isinstance: a subclass may solve a different problem.
        if type(last) is not LogisticRegression:
            raise ValueError(
                "estimator must be LogisticRegression or a Pipeline that ends in one, since the "
                f"unbiased loss has negative weights that others cannot fit; got {base!r}. "
                "Use ImportanceReweightingClassifier for other estimators."
            )
        if last.solver not in _SOLVERS:
            raise ValueError(
                f"estimator must use one of the solvers {', '.join(_SOLVERS)}, since others cannot "
                f"fit negative weights; got solver={last.solver!r}. Pass "
                'LogisticRegression(solver="lbfgs").'
            )

    def _weighted_rows(self, rows: FitRows, rates: NoiseRates) -> WeightedRows:
        status, is_positive = rows.status, rows.labels.is_positive
        given, other = unbiased_loss_weights(is_positive[status.doubted], rates)
        once, twice = np.flatnonzero(status.counted), np.flatnonzero(status.doubted)
        return WeightedRows(
            np.concatenate([once, twice]),
            np.concatenate([is_positive[once], ~is_positive[twice]]),
            np.concatenate([status.weigh(given)[once], status.weigh(other)[twice]]),
        )


def _predict_fold(estimator: Any, rows: FitRows, fitted: WeightedRows, split: Split) -> BoolArray:
    """Return which test rows a model fitted to the training rows predicts to be positive."""
    train, test = split
    used = np.isin(fitted.rows, train)
    y = labels_to_fit(replace(rows.labels, is_positive=fitted.is_positive[used]))
    fit_rows(estimator, rows.X, rows.y, fitted.rows[used], y, fitted.weights[used])
    return np.asarray(estimator.predict(_safe_indexing(rows.X, test)) == rows.positive)


def _balanced_accuracy(rows: FitRows, splits: list[Split], predicted: list[BoolArray]) -> float:
    is_positive = np.empty(rows.n_rows, dtype=bool)
    for (_, test), part in zip(splits, predicted, strict=True):
        is_positive[test] = part
    doubted = rows.status.doubted
    weight = None if rows.weight is None else rows.weight[doubted]
    return float(
        balanced_accuracy_score(
            rows.labels.is_positive[doubted], is_positive[doubted], sample_weight=weight
        )
    )
