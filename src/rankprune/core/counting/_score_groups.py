"""Rows grouped by equal score, in score order: the input of estimators that rank rows.

A threshold lies between two distinct scores, so such an estimator needs nothing more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankprune.core._inputs import BoolArray, FloatArray


@dataclass(frozen=True)
class ScoreGroups:
    """Distinct scores in ascending order, with the rows of each label that have them.

    Attributes
    ----------
    scores : ndarray
        Distinct scores.
    positives, negatives : ndarray
        Number (or mass) of rows by given label; at least one of the two is above 0.
    """

    scores: NDArray[np.float64]
    positives: NDArray[np.float64]
    negatives: NDArray[np.float64]

    @property
    def rows(self) -> NDArray[np.float64]:
        """Return the number (or mass) of rows with each score, of both labels."""
        return self.positives + self.negatives

    def mid_ranks(self) -> NDArray[np.float64]:
        """Return the share of rows below each score, plus half of those at it."""
        rows = self.rows
        return np.asarray((np.cumsum(rows) - rows / 2) / rows.sum())

    def in_bins(
        self, bins: NDArray[np.intp], values: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return the rows, the positive rows and the mean value of each bin that is not empty."""
        starts = np.append(0, np.flatnonzero(np.diff(bins)) + 1)
        rows = np.add.reduceat(self.rows, starts)
        means = np.add.reduceat(self.rows * values, starts) / rows
        return rows, np.add.reduceat(self.positives, starts), means


def group_scores(
    is_positive: BoolArray, probabilities: FloatArray, rows: NDArray[np.float64]
) -> ScoreGroups:
    """Return the rows grouped by score; rows of weight 0 are left out."""
    if not rows.all():
        counted = rows > 0
        is_positive, probabilities = is_positive[counted], probabilities[counted]
        rows = rows[counted]
    order = np.argsort(probabilities)
    scores = np.asarray(probabilities[order], dtype=np.float64)
    starts = np.append(0, np.flatnonzero(scores[1:] > scores[:-1]) + 1)
    sorted_rows, is_positive = rows[order], is_positive[order]
    return ScoreGroups(
        scores[starts],
        np.add.reduceat(np.where(is_positive, sorted_rows, 0.0), starts),
        np.add.reduceat(np.where(is_positive, 0.0, sorted_rows), starts),
    )
