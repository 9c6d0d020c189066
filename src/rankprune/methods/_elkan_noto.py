"""Elkan and Noto: from the probability of being labeled to that of being positive."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from rankprune._fitting import RandomState, private_random_state, refuse_without_weights
from rankprune._learners import RateBasedClassifier, Table, in_order_of_classes
from rankprune.core import NoiseRates, unlabeled_weights
from rankprune.exceptions import ClassAlmostEmptiedWarning, warn_caller
from rankprune.methods._pu import (
    labeled_and_unlabeled,
    read_pu,
    warn_if_positives_look_wrong,
)
from rankprune.probabilities import check_predicts_probabilities


def _weighs(method: str) -> Callable[[Any], bool]:
    # Without weighting, what the estimator says of labels is not what is predicted.
    return lambda self: self.weighting and _divides_or_has(method)(self)


def _divides_or_has(method: str) -> Callable[[Any], bool]:
    def check(self: ElkanNotoClassifier) -> bool:
        if self.weighting:
            getattr(self.estimator_ if hasattr(self, "estimator_") else self._base(), method)
        return True

    return check


class ElkanNotoClassifier(RateBasedClassifier):
    """Learn from positive and unlabeled rows (Elkan and Noto 2008; the paper's Elk08).

    Parameters
    ----------
    estimator : classifier with ``predict_proba``, default=None
        What is fitted; cloned. Logistic regression by default.
    scorer : classifier with ``predict_proba``, "committee" or None, default=None
        As in `RankPruningClassifier`.
    pos_label : default=None
        The label of the labeled rows; the larger of the two values by default.
    positive_noise_rate : float, default=None
        Share of the positives that are not labeled, 1 - c, where it is known.
    noise_estimator : str or callable, default="elkan-noto"
        How c is estimated: ``"elkan-noto"`` is the source's e1, the mean out-of-fold probability
        of the labeled rows, ``"elkan-noto-e2"`` and ``"elkan-noto-e3"`` are its other two; any
        other name or callable of `estimate_noise_rates` gives its positive noise rate.
    weighting : bool, default=False
        False divides the probabilities by c. True is the source's second method: the estimator is
        fitted again, to the labeled rows and to every unlabeled row twice, as a positive and as a
        negative, weighted by how probable each is.
    cv, n_jobs, random_state, verbose
        As in `RankPruningClassifier`.

    Attributes
    ----------
    label_frequency_ : float
        c, the share of positives that are labeled.
    estimator_, classes_, noise_rates_, n_features_in_, feature_names_in_
        As in `RankPruningClassifier`; the negative noise rate is 0.
    probabilities_ : ndarray of shape (n_rows,)
        Out-of-fold probabilities of being labeled, where any were needed.

    Notes
    -----
    If labels are drawn at random from the positives, P(s=1|x) = c P(y=1|x). So P(y=1|x) is
    g(x) / c, and an unlabeled row is positive with probability w = (1 - c) / c * g / (1 - g).

    Use it for positive and unlabeled rows whose labels are right and drawn at random: it costs one
    fit beyond the folds. It fails where labels are wrong or easy positives are labeled more often,
    and e1 and e2 are too small where the classes overlap.

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
        table = read_pu(self, self._read, X, y, sample_weight, groups)
        self._check_estimator()
        generator = private_random_state(self.random_state)
        self._learn_rates(table, probabilities, generator, needs_scores=self.weighting)
        if hasattr(self, "probabilities_"):
            warn_if_positives_look_wrong(self, table.doubt.inputs(self.probabilities_))
        rates = self.noise_rates_
        # Probabilities that tell nothing tell nothing of c either: they are left as they are.
        self.label_frequency_ = 1 - rates.positive_noise_rate if rates.reliable else 1.0
        rows, is_positive, weights = self._rows_to_fit(table)
        self._fit_estimator(table, rows, is_positive, weights, generator, "they have no effect")
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
        table = np.asarray(self.estimator_.predict_proba(X))
        if self.weighting:
            return table
        column = self._positive_column_
        positive = np.minimum(table[:, column] / self.label_frequency_, 1.0)
        return in_order_of_classes(positive, column)

    @available_if(_divides_or_has("predict_proba"))  # type: ignore[untyped-decorator]  # as below
    def predict_log_proba(self, X: Any) -> NDArray[np.floating[Any]]:
        """Return the logarithm of the probability of each class."""
        with np.errstate(divide="ignore"):  # of probability 0 it is minus infinity
            return np.asarray(np.log(self.predict_proba(X)))

    @available_if(_weighs("decision_function"))  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def decision_function(self, X: Any) -> NDArray[np.floating[Any]]:
        """Return the score of each row, above 0 for ``classes_[1]``; with ``weighting=True``."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.decision_function(X))

    def _known(self) -> tuple[float | None, float | None]:
        return self.positive_noise_rate, 0.0

    def _check_estimator(self) -> None:
        if self.weighting:
            refuse_without_weights(self._base(), "ElkanNotoClassifier with weighting=True")
        else:
            check_predicts_probabilities(self._base(), "estimator")

    def _rows_to_fit(
        self, table: Table
    ) -> tuple[NDArray[np.intp], NDArray[np.bool_], NDArray[np.float64] | None]:
        """Return every row once, or the unlabeled ones as positives and as negatives."""
        is_labeled = table.labels.is_positive
        self._positive_column_ = table.labels.positive_column
        if not self.weighting:
            rows = np.flatnonzero(table.doubt.counted)
            weights = None if table.weight is None else table.weight[rows]
            return rows, is_labeled[rows], weights
        labeled, unlabeled = labeled_and_unlabeled(table)
        scores = self.probabilities_[unlabeled]
        share = unlabeled_weights(scores, self.label_frequency_)
        if share.min() == 1:
            share[scores.argmin()] = 0.0
            warn_caller(
                "Every unlabeled row is as probable as a positive, so the least probable one was "
                "kept as the only negative. Use another noise_estimator, or a stronger estimator.",
                ClassAlmostEmptiedWarning,
            )
        rows = np.concatenate([labeled, unlabeled, unlabeled])
        weights = np.concatenate([np.ones(len(labeled)), share, 1 - share])
        if table.weight is not None:
            weights *= table.weight[rows]
        is_positive = np.arange(len(rows)) < len(labeled) + len(unlabeled)
        # Some estimators mind rows that weigh nothing.
        some = weights > 0
        return rows[some], is_positive[some], weights[some]
