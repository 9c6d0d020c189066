"""What the methods share that keep every row and let weights undo the noise."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankprune._fitting import private_random_state, refuse_without_weights
from rankprune._learners import RateBasedClassifier, Table
from rankprune.core import NoiseRates
from rankprune.core._inputs import BoolArray


class WeightedRows(NamedTuple):
    """Rows to fit, by number and perhaps twice, with the labels and weights they have there."""

    rows: NDArray[np.intp]
    is_positive: BoolArray
    weights: NDArray[np.float64]


class ReweightingClassifier(RateBasedClassifier):
    """One that fits every row, with weights that follow from the noise rates."""

    # Whether the weights need probabilities even where the rates are known.
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
        """Estimate the noise, and fit the estimator with weights that undo it.

        Parameters
        ----------
        X, y, sample_weight, groups, probabilities
            As in `RankPruningClassifier.fit`.
        trusted : array-like of bool of shape (n_rows,), default=None
            Rows whose labels a person settled: they keep their own weight.

        Returns
        -------
        object
            The object itself.
        """
        table = self._read(X, y, sample_weight, groups, trusted)
        self._check_estimator()
        generator = private_random_state(self.random_state)
        self._choose_rates(table, probabilities, generator)
        rows = self._weighted_rows(table, self.noise_rates_)
        self._fit_estimator(table, *rows, generator, "the weights have no effect")
        return self

    def _check_estimator(self) -> None:
        """Refuse an estimator that the method cannot work with."""
        refuse_without_weights(self._base(), type(self).__name__)

    def _choose_rates(
        self, table: Table, probabilities: ArrayLike | None, generator: np.random.RandomState
    ) -> None:
        """Set the rates by which rows are weighed."""
        self._learn_rates(table, probabilities, generator, needs_scores=self._weighs_by_scores)

    def _weighted_rows(self, table: Table, rates: NoiseRates) -> WeightedRows:
        """Return what the estimator is fitted to."""
        raise NotImplementedError  # each method's own


def weigh_by_factors(
    table: Table, factors: NDArray[np.float64], settled: float = 1.0
) -> WeightedRows:
    """Return the rows that weigh anything, once each, with factors as in `Doubt.weigh`."""
    weights = table.doubt.weigh(factors, settled)
    rows = np.flatnonzero(weights > 0)
    return WeightedRows(rows, table.labels.is_positive[rows], weights[rows])
