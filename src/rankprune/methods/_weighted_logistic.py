"""Lee and Liu: logistic regression with the same total weight for labeled and unlabeled rows."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.linear_model import LogisticRegression
from sklearn.utils._param_validation import Interval

from rankprune.core._inputs import Inputs, validate_choices
from rankprune.core._parameters import LARGEST
from rankprune.learners._cloning import RandomState, draw_seed, private_random_state
from rankprune.learners._probabilities import make_splits
from rankprune.methods._pu import (
    MarginPUClassifier,
    best_by_criterion,
    probability_of,
    warn_if_positives_look_wrong,
)


class WeightedLogisticPUClassifier(MarginPUClassifier):
    """Learn from positive and unlabeled rows by weighted logistic regression (Lee and Liu 2003).

    Parameters
    ----------
    C : float, default=None
        Inverse strength of the L2 penalty. By default, the value in ``Cs`` with the best
        `pu_criterion` out of fold.
    Cs : sequence of float, default=(0.0001, 0.001, 0.01, 0.1, 1.0, 10.0, 100.0)
        Values of ``C`` to try.
    max_iter : int, default=1000
        Maximum number of iterations of logistic regression.
    pos_label, cv, n_jobs, random_state, verbose
        As in `RankPruningClassifier`; the positive label marks the labeled rows.

    Attributes
    ----------
    C_ : float
        The inverse strength that was used.
    n_iter_ : int
        Number of iterations of the final fit.
    estimator_ : LogisticRegression
        Fitted to classes 0 (unlabeled) and 1 (labeled).
    classes_, n_features_in_, feature_names_in_
        As in `RankPruningClassifier`.

    Notes
    -----
    Unlabeled rows are treated as negatives. Each labeled row is weighted by the share of unlabeled
    rows and each unlabeled row by the share of labeled rows, so that both kinds have the same total
    weight. If labels are drawn at random from the positives, the rows with positive scores are then
    those that are likelier among the positives than among all rows.

    Use it for a fast linear model of rare positives if recall matters: it needs no noise rate. Its
    probabilities are not those of the classes, and it is a poor choice if positives are common: a
    row is predicted positive if P(y=1|x) is above P(y=1), whether that is small or large.

    References
    ----------
    W. S. Lee and B. Liu: Learning with Positive and Unlabeled Examples Using Weighted Logistic
    Regression. ICML 2003.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from rankprune import flip_labels
    >>> from rankprune.methods import WeightedLogisticPUClassifier
    >>> X, truth = make_classification(2000, class_sep=3, random_state=0)
    >>> y = flip_labels(truth, positive_noise_rate=0.7, negative_noise_rate=0, random_state=0)
    >>> model = WeightedLogisticPUClassifier(random_state=0).fit(X, y)
    >>> bool(model.score(X, truth) > 0.95)
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's convention)
        **MarginPUClassifier._parameter_constraints,
        "C": [Interval(Real, 0, LARGEST, closed="right"), None],
        "Cs": ["array-like"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        C: float | None = None,
        *,
        Cs: Sequence[float] = (0.0001, 0.001, 0.01, 0.1, 1.0, 10.0, 100.0),
        max_iter: int = 1000,
        pos_label: Any = None,
        cv: Any = 3,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.C = C
        self.Cs = Cs
        self.max_iter = max_iter
        self.pos_label = pos_label
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
    ) -> WeightedLogisticPUClassifier:
        """Choose the penalty, and fit logistic regression with balanced weights.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Numeric features.
        y, sample_weight, groups
            As in `RankPruningClassifier.fit`; the positive label means labeled.

        Returns
        -------
        WeightedLogisticPUClassifier
            The object itself.
        """
        rows = self._read_numbers(X, y, sample_weight, groups)
        generator = private_random_state(self.random_state)
        is_labeled = rows.labels.is_positive
        n_labeled, n_unlabeled = rows.status.masses()
        n_rows = n_labeled + n_unlabeled
        weights = rows.status.mass * np.where(is_labeled, n_unlabeled / n_rows, n_labeled / n_rows)
        choices = validate_choices(self.Cs if self.C is None else [self.C], "Cs")
        self.C_ = choices[0]
        if self.C is None:
            seed = draw_seed(generator)
            splits = make_splits(self.cv, rows.X, rows.labels, rows.groups, rows.weight, seed)
            models = [(self._logistic(C), weights) for C in choices]
            self._log("trying %d penalties in %d folds", len(models), len(splits))
            best, decisions = best_by_criterion(models, rows, splits, self.n_jobs)
            self.C_ = choices[best]
            scores = probability_of(decisions, 1.0)
            warn_if_positives_look_wrong(self, Inputs(is_labeled, scores, rows.weight))
        counted = np.flatnonzero(rows.status.counted)
        self.slope_ = 1.0  # scores of logistic regression are log-odds
        model = self._logistic(self.C_).fit(
            rows.X[counted], is_labeled[counted].astype(np.intp), sample_weight=weights[counted]
        )
        self.n_iter_ = int(model.n_iter_[0])
        self.estimator_ = model
        return self

    def _logistic(self, C: float) -> LogisticRegression:
        return LogisticRegression(C=C, max_iter=self.max_iter)
