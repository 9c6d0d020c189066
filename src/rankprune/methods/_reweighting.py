"""Base class of the methods that keep every row and correct the noise by weights."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankprune.core import NoiseRates
from rankprune.core._inputs import BoolArray
from rankprune.learners._base import FitRows
from rankprune.learners._cloning import private_random_state
from rankprune.learners._rate_based import RateBasedClassifier
from rankprune.learners._sample_weights import refuse_without_weights


class WeightedRows(NamedTuple):
    """Numbers of the rows to fit, with the label and weight of each; a row may occur twice."""

    rows: NDArray[np.intp]
    is_positive: BoolArray
    weights: NDArray[np.float64]


class ReweightingClassifier(RateBasedClassifier):
    """A classifier that fits every row, with weights that follow from the noise rates."""

    # Whether the weights need probabilities even if the rates are known.
    _weighs_by_scores = False

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        probabilities: ArrayLike | None = None,
        trusted: ArrayLike | None = None,
    ) -> Self:
        """Estimate the noise, and fit the estimator with weights that correct it.

        Parameters
        ----------
        X, y, sample_weight, groups, probabilities
            As in `RankPruningClassifier.fit`.
        trusted : array-like of bool of shape (n_rows,), default=None
            Rows whose labels a person has checked: they do not count in the noise rates, and their
            weights are not corrected for noise.

        Returns
        -------
        object
            The object itself.
        """
        rows = self._read(X, y, sample_weight, groups, trusted)
        self._check_estimator()
        generator = private_random_state(self.random_state)
        self._choose_rates(rows, probabilities, generator)
        weighted = self._weighted_rows(rows, self.noise_rates_)
        self._fit_estimator(rows, *weighted, generator, "the weights have no effect")
        return self

    def _check_estimator(self) -> None:
        """Raise ValueError if the method cannot use the estimator."""
        refuse_without_weights(self._base(), type(self).__name__)

    def _choose_rates(
        self, rows: FitRows, probabilities: ArrayLike | None, generator: np.random.RandomState
    ) -> None:
        """Set the noise rates that the weights follow from."""
        self._learn_rates(rows, probabilities, generator, needs_scores=self._weighs_by_scores)

    def _weighted_rows(self, rows: FitRows, rates: NoiseRates) -> WeightedRows:
        """Return the rows, labels and weights that the estimator is fitted to."""
        raise NotImplementedError  # defined by each method


def weigh_by_factors(
    rows: FitRows, factors: NDArray[np.float64], settled: float = 1.0
) -> WeightedRows:
    """Return the rows of positive weight, once each, with factors as in `RowStatus.weigh`."""
    weights = rows.status.weigh(factors, settled)
    kept = np.flatnonzero(weights > 0)
    return WeightedRows(kept, rows.labels.is_positive[kept], weights[kept])
