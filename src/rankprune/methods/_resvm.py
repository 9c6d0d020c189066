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

from rankprune._fitting import RandomState, private_random_state
from rankprune.methods._pu import NumericPUClassifier, labeled_and_unlabeled
from rankprune.methods._resampling import draw_rows

# Rows that a machine draws by default of each kind, where there are as many.
_ROWS = 200


class RESVMClassifier(NumericPUClassifier):
    """Learn from positive and unlabeled rows by a robust ensemble of SVMs (Claesen et al. 2015).

    Parameters
    ----------
    n_estimators : int, default=50
        Machines that vote.
    n_positive, n_unlabeled : int, default=None
        Labeled and unlabeled rows that each machine draws, with replacement. By default as many as
        there are, 200 at most.
    C : float, default=1.0
        Cost of a mistake on an unlabeled row.
    positive_weight : float, default=1.0
        Cost of all mistakes on labeled rows, relative to that of all on unlabeled ones: a labeled
        row costs ``C * positive_weight * n_unlabeled / n_positive``.
    kernel : str or callable, default="rbf"
        As in `sklearn.svm.SVC`.
    gamma : float, "scale" or "auto", default="scale"
        As in `sklearn.svm.SVC`.
    pos_label : default=None
        The label of the labeled rows; the larger of the two values by default.
    n_jobs : int, default=None
        Machines fitted at the same time. Does not change the result.
    random_state : int, RandomState or None, default=None
        Draws the rows.
    verbose : int, default=0
        As in `RankPruningClassifier`.

    Attributes
    ----------
    estimators_ : list of SVC
        Fitted to classes 0 (unlabeled) and 1 (labeled).
    classes_, n_features_in_, feature_names_in_
        As in `RankPruningClassifier`.

    Notes
    -----
    The probability of a row is the share of the machines that call it positive. Resampling makes
    the share of wrong labels vary between machines, in both sets of rows, and a majority is
    right more often than one.

    Use it for few rows with a boundary that is not linear, also where some labeled rows are wrong.
    It has five parameters and hangs on them: search them with ``RESVMClassifier.search_space`` and
    `pu_criterion`. It fails where positives are many among the unlabeled rows, and its votes are
    no calibrated probabilities.

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
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "n_positive": [Interval(Integral, 1, None, closed="left"), None],
        "n_unlabeled": [Interval(Integral, 1, None, closed="left"), None],
        "C": [Interval(Real, 0, None, closed="neither")],
        "positive_weight": [Interval(Real, 0, None, closed="neither")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
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
        """Return distributions of the five parameters for `RandomizedSearchCV`.

        Parameters
        ----------
        n_positive, n_unlabeled : int
            Labeled and unlabeled rows that there are.

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
        """Fit the machines, each to rows of its own.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Numbers, best scaled.
        y : array-like of shape (n_rows,)
            The positive label where a row is labeled, the other one where it is not.
        sample_weight : array-like of shape (n_rows,), default=None
            Rows are drawn as often as their weights say.

        Returns
        -------
        RESVMClassifier
            The object itself.
        """
        table = self._read_numbers(X, y, sample_weight)
        generator = private_random_state(self.random_state)
        labeled, unlabeled = labeled_and_unlabeled(table)
        n_positive = self.n_positive or min(len(labeled), _ROWS)
        n_unlabeled = self.n_unlabeled or min(len(unlabeled), _ROWS)
        cost = self.C * self.positive_weight * n_unlabeled / n_positive
        machine = {
            "C": 1.0,
            "class_weight": {0: self.C, 1: cost},
            "kernel": self.kernel,
            "gamma": self.gamma,
            "random_state": 0,  # or NumPy's global generator would move
        }
        draws = [
            np.concatenate(
                [
                    draw_rows(labeled, n_positive, table.weight, generator),
                    draw_rows(unlabeled, n_unlabeled, table.weight, generator),
                ]
            )
            for _ in range(self.n_estimators)
        ]
        self._log("fitting %d machines to %d rows each", len(draws), n_positive + n_unlabeled)
        y_drawn = np.repeat([1, 0], [n_positive, n_unlabeled])
        self.estimators_ = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit_machine)(machine, table.X[rows], y_drawn) for rows in draws
        )
        return self

    def _positive_probability(self, X: Any) -> NDArray[np.float64]:
        X = self._numbers(X)
        votes = [machine.decision_function(X) > 0 for machine in self.estimators_]
        return np.asarray(np.mean(votes, axis=0))


def _fit_machine(parameters: dict[str, Any], X: Any, y: NDArray[np.intp]) -> SVC:
    return SVC(**parameters).fit(X, y)
