"""Liu, Dai, Li, Lee and Yu: a support vector machine with a cost for each kind of mistake."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.svm import SVC
from sklearn.utils._param_validation import Interval

from rankprune.core._inputs import Inputs, validate_choices
from rankprune.core._parameters import LARGEST
from rankprune.learners._cloning import RandomState, draw_seed, private_random_state
from rankprune.learners._probabilities import make_splits
from rankprune.methods._pu import (
    MAX_ITERATIONS,
    MarginPUClassifier,
    best_by_criterion,
    fit_slope,
    probability_of,
    warn_if_positives_look_wrong,
)


class BiasedSVMClassifier(MarginPUClassifier):
    """Learn from positive and unlabeled rows by a biased SVM (Liu et al. 2003).

    Parameters
    ----------
    positive_cost, negative_cost : float, default=None
        Costs of a mistake on a labeled and on an unlabeled row (C+ and C-). By default, the pair
        with the best `pu_criterion` out of fold.
    negative_costs : sequence of float, default=(0.01, 0.1, 1.0)
        Values of ``negative_cost`` to try.
    cost_ratios : sequence of float, default=(1.0, 3.0, 10.0, 30.0, 100.0)
        Values of ``positive_cost / negative_cost`` to try.
    kernel, gamma
        As in `sklearn.svm.SVC`; the kernel is linear by default.
    pos_label, cv, n_jobs, random_state, verbose
        As in `RankPruningClassifier`; the positive label marks the labeled rows. The folds also
        set the scale of the probabilities.

    Attributes
    ----------
    positive_cost_, negative_cost_ : float
        The costs that were used.
    estimator_ : SVC
        Fitted to classes 0 (unlabeled) and 1 (labeled).
    classes_, n_features_in_, feature_names_in_
        As in `RankPruningClassifier`.

    Notes
    -----
    Minimises ``|w|^2 / 2`` + C+ (mistakes on labeled rows) + C- (mistakes on unlabeled rows).
    Usually C+ > C-, since labeled rows are assumed to be positive and unlabeled rows may be either.
    Probabilities are a sigmoid of the distance to the boundary, and one half on the boundary.

    Use it for small data with correct positive labels, where a margin beats a likelihood (text,
    few rows). It is slow with many rows, since its running time grows at least quadratically, and
    it suffers most from wrong positive labels: then the criterion may even favor predicting every
    row positive.

    References
    ----------
    B. Liu, Y. Dai, X. Li, W. S. Lee and P. S. Yu: Building Text Classifiers Using Positive and
    Unlabeled Examples. ICDM 2003.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from rankprune import flip_labels
    >>> from rankprune.methods import BiasedSVMClassifier
    >>> X, truth = make_classification(300, class_sep=3, random_state=0)
    >>> y = flip_labels(truth, positive_noise_rate=0.5, negative_noise_rate=0, random_state=0)
    >>> model = BiasedSVMClassifier(random_state=0).fit(X, y)
    >>> bool(model.score(X, truth) > 0.9)
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's convention)
        **MarginPUClassifier._parameter_constraints,
        "positive_cost": [Interval(Real, 0, LARGEST, closed="right"), None],
        "negative_cost": [Interval(Real, 0, LARGEST, closed="right"), None],
        "negative_costs": ["array-like"],
        "cost_ratios": ["array-like"],
    }

    def __init__(
        self,
        positive_cost: float | None = None,
        negative_cost: float | None = None,
        *,
        negative_costs: Sequence[float] = (0.01, 0.1, 1.0),
        cost_ratios: Sequence[float] = (1.0, 3.0, 10.0, 30.0, 100.0),
        kernel: Any = "linear",
        gamma: Any = "scale",
        pos_label: Any = None,
        cv: Any = 3,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.positive_cost = positive_cost
        self.negative_cost = negative_cost
        self.negative_costs = negative_costs
        self.cost_ratios = cost_ratios
        self.kernel = kernel
        self.gamma = gamma
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
    ) -> BiasedSVMClassifier:
        """Choose the costs, and fit the SVM.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Numeric features, preferably scaled.
        y, sample_weight, groups
            As in `RankPruningClassifier.fit`; the positive label means labeled.

        Returns
        -------
        BiasedSVMClassifier
            The object itself.
        """
        rows = self._read_numbers(X, y, sample_weight, groups)
        generator = private_random_state(self.random_state)
        seed = draw_seed(generator)
        splits = make_splits(self.cv, rows.X, rows.labels, rows.groups, rows.weight, seed)
        is_labeled = rows.labels.is_positive
        costs = self._candidates()
        weights = [rows.status.mass * np.where(is_labeled, *pair) for pair in costs]
        self._log("trying %d pairs of costs in %d folds", len(costs), len(splits))
        models = [(self._machine(), weight) for weight in weights]
        best, scores = best_by_criterion(models, rows, splits, self.n_jobs)
        self.positive_cost_, self.negative_cost_ = costs[best]
        counted = np.flatnonzero(rows.status.counted)
        self.slope_ = fit_slope(scores[counted], is_labeled[counted], weights[best][counted])
        warn_if_positives_look_wrong(
            self, Inputs(is_labeled, probability_of(scores, self.slope_), rows.weight)
        )
        self.estimator_ = self._machine().fit(
            rows.X[counted],
            is_labeled[counted].astype(np.intp),
            sample_weight=weights[best][counted],
        )
        return self

    def _candidates(self) -> list[tuple[float, float]]:
        """Return pairs of costs (labeled, unlabeled) to choose from."""
        ratios = validate_choices(self.cost_ratios, "cost_ratios")
        if self.positive_cost is not None:
            if self.negative_cost is not None:
                return [(float(self.positive_cost), float(self.negative_cost))]
            return [(float(self.positive_cost), self.positive_cost / ratio) for ratio in ratios]
        given = self.negative_costs if self.negative_cost is None else [self.negative_cost]
        costs = validate_choices(given, "negative_costs")
        return [(cost * ratio, cost) for cost, ratio in product(costs, ratios)]

    def _machine(self) -> SVC:
        # The costs are weights; a cost of 1 leaves them as they are.
        # The seed has no effect, but without one NumPy's global generator would advance.
        return SVC(
            C=1.0,
            kernel=self.kernel,
            gamma=self.gamma,
            max_iter=MAX_ITERATIONS,
            random_state=0,
        )
