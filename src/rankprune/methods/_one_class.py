"""One-class SVM: a boundary around the labeled rows alone."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.svm import OneClassSVM
from sklearn.utils._param_validation import Interval

from rankprune.methods._pu import MAX_ITERATIONS, MarginPUClassifier, fit_slope


class OneClassPUClassifier(MarginPUClassifier):
    """Learn from the labeled positives alone, by a one-class SVM (Schoelkopf et al. 1999).

    Parameters
    ----------
    nu : float, default=0.1
        Share of the labeled rows that may lie outside the boundary, in (0, 1].
    kernel, gamma
        As in `sklearn.svm.OneClassSVM`; ``gamma="scale"`` depends on the labeled rows.
    pos_label : default=None
        As in `RankPruningClassifier`; it marks the labeled rows.

    Attributes
    ----------
    estimator_ : OneClassSVM
        Fitted to the labeled rows.
    classes_, n_features_in_, feature_names_in_
        As in `RankPruningClassifier`.

    Notes
    -----
    The unlabeled rows only set the scale of the probabilities, which are a sigmoid of the distance
    to the boundary.

    Use it if the unlabeled rows do not represent the data: it learns only from the labeled ones.
    Otherwise it wastes information: it ignores what separates the classes, and every wrong label
    stretches the boundary.

    References
    ----------
    B. Schoelkopf, R. C. Williamson, A. J. Smola, J. Shawe-Taylor and J. Platt: Support Vector
    Method for Novelty Detection. NIPS 1999.

    Examples
    --------
    >>> from rankprune import flip_labels
    >>> from rankprune.core import make_gaussians
    >>> from rankprune.methods import OneClassPUClassifier
    >>> X, truth = make_gaussians(1000, random_state=0)
    >>> y = flip_labels(truth, positive_noise_rate=0.5, negative_noise_rate=0, random_state=0)
    >>> bool(OneClassPUClassifier().fit(X, y).score(X, truth) > 0.95)
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's convention)
        "nu": [Interval(Real, 0, 1, closed="right")]
    }

    def __init__(
        self, nu: float = 0.1, *, kernel: Any = "rbf", gamma: Any = "scale", pos_label: Any = None
    ) -> None:
        self.nu = nu
        self.kernel = kernel
        self.gamma = gamma
        self.pos_label = pos_label

    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> OneClassPUClassifier:
        """Fit the boundary around the labeled rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Numeric features, preferably scaled.
        y, sample_weight
            As in `RankPruningClassifier.fit`; the positive label means labeled.

        Returns
        -------
        OneClassPUClassifier
            The object itself.
        """
        rows = self._read_numbers(X, y, sample_weight)
        is_labeled = rows.labels.is_positive
        labeled = np.flatnonzero(rows.status.counted & is_labeled)
        weight = None if rows.weight is None else rows.weight[labeled]
        machine = OneClassSVM(
            nu=self.nu, kernel=self.kernel, gamma=self.gamma, max_iter=MAX_ITERATIONS
        )
        machine.random_state = 0  # otherwise NumPy's global generator would advance
        machine.fit(rows.X[labeled], sample_weight=weight)
        scores = np.asarray(machine.decision_function(rows.X))
        n_labeled, n_unlabeled = rows.status.masses()
        balance = np.where(is_labeled, 1 / n_labeled, 1 / n_unlabeled)
        self.slope_ = fit_slope(scores, is_labeled, rows.status.mass * balance)
        self.estimator_ = machine
        return self
