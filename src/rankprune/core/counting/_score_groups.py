"""Rows grouped by equal score, in score order: the input of estimators that rank rows.

A threshold lies between two distinct scores, so such an estimator needs nothing more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from rankprune.core._inputs import BoolArray, FloatArray

_TINY = 1e-9


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

    def coarser(self, n_groups: int) -> ScoreGroups:
        """Return at most so many groups, of rows in equal steps of the logit of their rank.

        Groups are small near both ends, where a rare class and the most confident rows are.
        """
        # The rank of a row with a tiny weight may round to 0 or 1, where the logit is infinite.
        places = logit(np.clip(mid_ranks(self.rows), _TINY, 1 - _TINY))
        # The lowest and the highest groups keep to themselves if there are enough others.
        steps = np.searchsorted(np.linspace(places[0], places[-1], n_groups), places)
        starts = np.append(0, np.flatnonzero(np.diff(steps)) + 1)
        rows = np.add.reduceat(self.rows, starts)
        return ScoreGroups(
            np.add.reduceat(self.rows * self.scores, starts) / rows,
            np.add.reduceat(self.positives, starts),
            np.add.reduceat(self.negatives, starts),
        )


def mid_ranks(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of rows below each group, plus half of those in it, along the last axis."""
    total = rows.sum(axis=-1, keepdims=True)
    return np.asarray((np.cumsum(rows, axis=-1) - rows / 2) / total)


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
