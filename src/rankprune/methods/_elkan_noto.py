"""Elkan and Noto: from the probability of being labeled to that of being positive."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from rankprune.core import NoiseRates, unlabeled_weights
from rankprune.exceptions import ClassAlmostEmptiedWarning, warn_caller
from rankprune.learners._base import FitRows, estimator_has
from rankprune.learners._class_order import both_columns
from rankprune.learners._cloning import RandomState, private_random_state
from rankprune.learners._probabilities import check_predicts_probabilities
from rankprune.learners._rate_based import RateBasedClassifier
from rankprune.learners._sample_weights import refuse_without_weights
from rankprune.methods._pu import (
    labeled_and_unlabeled,
    read_pu,
    warn_if_positives_look_wrong,
)


def _weighs(method: str) -> Callable[[Any], bool]:
    # Without weighting, the estimator's scores are of labels, not of the predicted classes.
    return lambda self: self.weighting and _divides_or_has(method)(self)


def _divides_or_has(method: str) -> Callable[[Any], bool]:
    def check(self: ElkanNotoClassifier) -> bool:
        return not self.weighting or estimator_has(method)(self)

    return check


class ElkanNotoClassifier(RateBasedClassifier):
    """Learn from positive and unlabeled rows (Elkan and Noto 2008; the paper's Elk08).

    Parameters
    ----------
    estimator : classifier with ``predict_proba``, default=None
        The classifier to fit; cloned. Logistic regression by default.
    scorer, pos_label
        As in `RankPruningClassifier`; the positive label marks the labeled rows.
    positive_noise_rate : float, default=None
        Share of the positives that are not labeled, 1 - c, if it is known.
    noise_estimator : str or callable, default="elkan-noto"
        How c is estimated: ``"elkan-noto"`` is the source's e1, the mean out-of-fold probability
        of the labeled rows, ``"elkan-noto-e2"`` and ``"elkan-noto-e3"`` are its other two; any
        other name or callable of `estimate_noise_rates` gives its positive noise rate.
    weighting : bool, default=False
        False divides the probabilities by c. True is the source's second method: the estimator is
        fitted to the labeled rows once and to the unlabeled rows twice, as positives and as
        negatives, each weighted by its probability.
    cv, n_jobs, random_state, verbose
        As in `RankPruningClassifier`.

    Attributes
    ----------
    label_frequency_ : float
        c, the share of positives that are labeled.
    estimator_, classes_, noise_rates_, n_features_in_, feature_names_in_
        As in `RankPruningClassifier`; the negative noise rate is 0.
    probabilities_ : ndarray of shape (n_rows,)
        Out-of-fold probabilities of being labeled, if any were needed.

    Notes
    -----
    If labels are drawn at random from the positives, P(s=1|x) = c P(y=1|x). So P(y=1|x) is
    g(x) / c, and an unlabeled row is positive with probability w = (1 - c) / c * g / (1 - g).

    Use it for positive and unlabeled rows whose labels are correct and drawn at random: it costs
    one fit in addition to the folds. It fails if labels are wrong or easy positives are labeled
    more often, and e1 and e2 are too small if the classes overlap.

    References
    ----------
    C. Elkan and K. Noto: Learning Classifiers from Only Positive and Unlabeled Data. KDD 2008.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from rankprune import flip_labels
    >>> from rankprune.methods import ElkanNotoClassifier
    >>> X, truth = make_classification(2000, class_sep=3, random_state=0)
    >>> y = flip_labels(truth, positive_noise_rate=0.7, negative_noise_rate=0, random_state=0)
    >>> model = ElkanNotoClassifier(random_state=0).fit(X, y)
    >>> round(model.label_frequency_, 1)
    0.3
    >>> bool(model.score(X, truth) > 0.95)
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's convention)
        **RateBasedClassifier._parameter_constraints,
        "weighting": ["boolean"],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        scorer: Any = None,
        pos_label: Any = None,
        positive_noise_rate: float | None = None,
        noise_estimator: str | Callable[..., NoiseRates] = "elkan-noto",
        weighting: bool = False,
        cv: Any = 3,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.scorer = scorer
        self.pos_label = pos_label
        self.positive_noise_rate = positive_noise_rate
        self.noise_estimator = noise_estimator
        self.weighting = weighting
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
    ) -> ElkanNotoClassifier:
        """Estimate how often positives are labeled, and fit the estimator.

        Parameters
        ----------
        X, y, sample_weight, groups, probabilities
            As in `RankPruningClassifier.fit`; the positive label means labeled.

        Returns
        -------
        ElkanNotoClassifier
            The object itself.
        """
        rows = read_pu(self, self._read, X, y, sample_weight, groups)
        self._check_estimator()
        generator = private_random_state(self.random_state)
        self._learn_rates(rows, probabilities, generator, needs_scores=self.weighting)
        if hasattr(self, "probabilities_"):
            warn_if_positives_look_wrong(self, rows.status.inputs(self.probabilities_))
        rates = self.noise_rates_
        # Uninformative probabilities do not determine c either, so they are not divided.
        self.label_frequency_ = 1 - rates.positive_noise_rate if rates.reliable else 1.0
        chosen, is_positive, weights = self._rows_to_fit(rows)
        self._fit_estimator(
            rows, chosen, is_positive, weights, generator, "the weights have no effect"
        )
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the more probable label of each row."""
        check_is_fitted(self)
        if self.weighting:
            return super().predict(X)
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    @available_if(_divides_or_has("predict_proba"))  # type: ignore[untyped-decorator]  # as below
    def predict_proba(self, X: Any) -> NDArray[np.floating[Any]]:
        """Return the probability of each class, in the order of ``classes_``."""
        check_is_fitted(self)
        columns = self._in_order(self.estimator_.predict_proba(X))
        if self.weighting:
            return columns
        column = self._positive_column_
        positive = np.minimum(columns[:, column] / self.label_frequency_, 1.0)
        return both_columns(positive, column)

    @available_if(_divides_or_has("predict_proba"))  # type: ignore[untyped-decorator]  # as below
    def predict_log_proba(self, X: Any) -> NDArray[np.floating[Any]]:
        """Return the logarithm of the probability of each class."""
        with np.errstate(divide="ignore"):  # the logarithm of 0 is minus infinity
            return np.asarray(np.log(self.predict_proba(X)))

    @available_if(_weighs("decision_function"))  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def decision_function(self, X: Any) -> NDArray[np.floating[Any]]:
        """Return the score of each row, above 0 for ``classes_[1]``; needs ``weighting=True``."""
        check_is_fitted(self)
        return self._in_order(self.estimator_.decision_function(X))

    def _known(self) -> tuple[float | None, float | None]:
        return self.positive_noise_rate, 0.0

    def _check_estimator(self) -> None:
        if self.weighting:
            refuse_without_weights(self._base(), "ElkanNotoClassifier with weighting=True")
        else:
            check_predicts_probabilities(self._base(), "estimator")

    def _rows_to_fit(
        self, rows: FitRows
    ) -> tuple[NDArray[np.intp], NDArray[np.bool_], NDArray[np.float64] | None]:
        """Return the rows, labels and weights to fit; with weighting, unlabeled rows twice."""
        is_labeled = rows.labels.is_positive
        self._positive_column_ = rows.labels.positive_column
        if not self.weighting:
            counted = np.flatnonzero(rows.status.counted)
            weights = None if rows.weight is None else rows.weight[counted]
            return counted, is_labeled[counted], weights
        labeled, unlabeled = labeled_and_unlabeled(rows)
        scores = self.probabilities_[unlabeled]
        share = unlabeled_weights(scores, self.label_frequency_)
        if share.min() == 1:
            share[scores.argmin()] = 0.0
            warn_caller(
                "Every unlabeled row is as probable as a positive, so only the least probable one "
                "was kept as a negative. Use another noise_estimator, or a stronger estimator.",
                ClassAlmostEmptiedWarning,
            )
        chosen = np.concatenate([labeled, unlabeled, unlabeled])
        weights = np.concatenate([np.ones(len(labeled)), share, 1 - share])
        if rows.weight is not None:
            weights *= rows.weight[chosen]
        is_positive = np.arange(len(chosen)) < len(labeled) + len(unlabeled)
        # Some estimators refuse weights of 0.
        some = weights > 0
        return chosen[some], is_positive[some], weights[some]
