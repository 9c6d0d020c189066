"""Claesen et al.: an ensemble of SVMs on resamples of the labeled and of the unlabeled rows."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import loguniform, randint
from sklearn.svm import SVC
from sklearn.utils._param_validation import Interval
from sklearn.utils.parallel import Parallel, delayed

from rankprune.core._parameters import LARGEST
from rankprune.learners._cloning import RandomState, private_random_state
from rankprune.methods._pu import MAX_ITERATIONS, NumericPUClassifier, labeled_and_unlabeled
from rankprune.methods._resampling import draw_rows

# Largest number of labeled and of unlabeled rows that each SVM draws by default.
_ROWS = 200


class RESVMClassifier(NumericPUClassifier):
    """Learn from positive and unlabeled rows by a robust ensemble of SVMs (Claesen et al. 2015).

    Parameters
    ----------
    n_estimators : int, default=50
        Number of SVMs that vote.
    n_positive, n_unlabeled : int, default=None
        Numbers of labeled and unlabeled rows that each SVM draws, with replacement. By default as
        many as there are, but at most 200.
    C : float, default=1.0
        Cost of a mistake on an unlabeled row.
    positive_weight : float, default=1.0
        Total cost of mistakes on labeled rows, relative to that on unlabeled rows: a labeled row
        costs ``C * positive_weight * n_unlabeled / n_positive``.
    kernel, gamma
        As in `sklearn.svm.SVC`.
    pos_label, n_jobs, random_state, verbose
        As in `RankPruningClassifier`; the positive label marks the labeled rows, ``n_jobs`` SVMs
        are fitted at the same time, and ``random_state`` draws the rows.

    Attributes
    ----------
    estimators_ : list of SVC
        Fitted to classes 0 (unlabeled) and 1 (labeled).
    classes_, n_features_in_, feature_names_in_
        As in `RankPruningClassifier`.

    Notes
    -----
    The probability of a row is the share of the SVMs that predict it to be positive. Resampling
    makes the share of wrong labels vary between SVMs, in both sets of rows, and a majority is right
    more often than a single SVM.

    Use it for few rows and a nonlinear boundary, even if some labeled rows are wrong. It is
    sensitive to its five numeric parameters: tune them with ``RESVMClassifier.search_space`` and
    `pu_criterion`. It fails if many unlabeled rows are positive, and its votes are not calibrated
    probabilities.

    References
    ----------
    M. Claesen, F. De Smet, J. A. K. Suykens and B. De Moor: A Robust Ensemble Approach to Learn
    from Positive and Unlabeled Data Using SVM Base Models. Neurocomputing 160, 2015.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.metrics import make_scorer
    >>> from sklearn.model_selection import RandomizedSearchCV
    >>> from rankprune import flip_labels
    >>> from rankprune.methods import RESVMClassifier, pu_criterion
    >>> X, truth = make_classification(600, class_sep=3, random_state=0)
    >>> y = flip_labels(truth, positive_noise_rate=0.5, negative_noise_rate=0, random_state=0)
    >>> search = RandomizedSearchCV(
    ...     RESVMClassifier(n_estimators=10, random_state=0),
    ...     RESVMClassifier.search_space(n_positive=y.sum(), n_unlabeled=(y == 0).sum()),
    ...     n_iter=3,
    ...     scoring=make_scorer(pu_criterion),
    ...     random_state=0,
    ... ).fit(X, y)
    >>> bool(search.best_estimator_.score(X, truth) > 0.9)
    True
    """

    _model_attribute = "estimators_"
    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's convention)
        **NumericPUClassifier._parameter_constraints,
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "n_positive": [Interval(Integral, 1, None, closed="left"), None],
        "n_unlabeled": [Interval(Integral, 1, None, closed="left"), None],
        "C": [Interval(Real, 0, LARGEST, closed="right")],
        "positive_weight": [Interval(Real, 0, LARGEST, closed="right")],
    }

    def __init__(
        self,
        n_estimators: int = 50,
        *,
        n_positive: int | None = None,
        n_unlabeled: int | None = None,
        C: float = 1.0,
        positive_weight: float = 1.0,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        pos_label: Any = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.n_positive = n_positive
        self.n_unlabeled = n_unlabeled
        self.C = C
        self.positive_weight = positive_weight
        self.kernel = kernel
        self.gamma = gamma
        self.pos_label = pos_label
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @staticmethod
    def search_space(n_positive: int, n_unlabeled: int) -> dict[str, Any]:
        """Return distributions of the five numeric parameters for `RandomizedSearchCV`.

        Parameters
        ----------
        n_positive, n_unlabeled : int
            Numbers of labeled and unlabeled rows in the data.

        Returns
        -------
        dict of str to distribution
        """
        return {
            "n_estimators": randint(20, 101),
            "n_positive": randint(min(20, n_positive), min(n_positive, 500) + 1),
            "n_unlabeled": randint(min(20, n_unlabeled), min(n_unlabeled, 1000) + 1),
            "C": loguniform(1e-2, 1e2),
            "positive_weight": loguniform(0.2, 10),
        }

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> RESVMClassifier:
        """Fit the SVMs, each to its own sample of rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Numeric features, preferably scaled.
        y : array-like of shape (n_rows,)
            As in `RankPruningClassifier.fit`; the positive label means labeled.
        sample_weight : array-like of shape (n_rows,), default=None
            Rows are drawn in proportion to their weights.

        Returns
        -------
        RESVMClassifier
            The object itself.
        """
        rows = self._read_numbers(X, y, sample_weight)
        generator = private_random_state(self.random_state)
        labeled, unlabeled = labeled_and_unlabeled(rows)
        n_positive = self.n_positive or min(len(labeled), _ROWS)
        n_unlabeled = self.n_unlabeled or min(len(unlabeled), _ROWS)
        cost = self.C * self.positive_weight * n_unlabeled / n_positive
        machine = {
            "C": 1.0,
            "class_weight": {0: self.C, 1: cost},
            "kernel": self.kernel,
            "gamma": self.gamma,
            "max_iter": MAX_ITERATIONS,
            "random_state": 0,  # otherwise NumPy's global generator would advance
        }
        draws = [
            np.concatenate(
                [
                    draw_rows(labeled, n_positive, rows.weight, generator),
                    draw_rows(unlabeled, n_unlabeled, rows.weight, generator),
                ]
            )
            for _ in range(self.n_estimators)
        ]
        self._log("fitting %d machines to %d rows each", len(draws), n_positive + n_unlabeled)
        y_drawn = np.repeat([1, 0], [n_positive, n_unlabeled])
        self.estimators_ = Parallel(n_jobs=self.n_jobs)(
            delayed(SVC(**machine).fit)(rows.X[drawn], y_drawn) for drawn in draws
        )
        return self

    def _positive_probability(self, X: Any) -> NDArray[np.float64]:
        X = self._numbers(X)
        votes = [machine.decision_function(X) > 0 for machine in self.estimators_]
        return np.asarray(np.mean(votes, axis=0))
