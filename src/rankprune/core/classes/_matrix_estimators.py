"""From tables of counts to the noise matrix: the estimators for any number of classes, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune.core.classes._class_summaries import summaries_of
from rankprune.core.classes._matrix_model import shipped_model
from rankprune.core.classes._tally import (
    Tally,
    confident_counts,
    counts_and_table,
    prediction_table,
)

Reals = NDArray[np.float64]

# The two counted joints may differ by this much in L1, and up to twice as much in part.
_COUNTS_AGREE = 0.01
# The network has seen no more classes than this, and finds too few wrong labels among more.
_MOST_CLASSES = 30
_MOST_LOG_ODDS, _HALVINGS = 25.0, 60


def learned(tally: Tally) -> Reals:
    """Return the joint with as many of the counted wrong labels as a network takes for real.

    The network has learned from problems with known labels how many labels are wrong. The mean of
    the counts is scaled down to that. Where rows are counted alike, confident or not, the scores
    separate the classes, and the counts are used as they are. With more classes than the network
    has seen, the mean of the counts is.
    """
    if np.count_nonzero(tally.sums.n_labels) > _MOST_CLASSES:
        return counts_and_table(tally)
    share = shipped_model().total.shares(summaries_of(tally)[None])
    return handed_over(tally, float(share[0]))


def handed_over(tally: Tally, wrong_share: float) -> Reals:
    """Return the joint with a share of wrong labels, if as many are counted and counts differ."""
    counted, mean = confident_counts(tally), counts_and_table(tally)
    gap = float(np.abs(counted - prediction_table(tally)).sum())
    part = min(max(2 - gap / _COUNTS_AGREE, 0.0), 1.0)
    # The limit makes errors on families left out smaller where classes overlap, and a bit larger
    # where they separate; see docs/classes.md.
    wrong_share = min(wrong_share, 1 - float(np.trace(mean)))
    return part * counted + (1 - part) * with_wrong_share(mean, wrong_share)


def with_wrong_share(joint: Reals, wrong_share: float) -> Reals:
    """Return the joint with the odds of all wrong labels multiplied, so that their share is right.

    The shares of labels stay, and so do the proportions of the true classes of the wrong labels.
    """
    shares = joint.sum(axis=1)
    wrong = np.where(np.eye(len(joint), dtype=bool), 0.0, joint)
    counted = wrong.sum(axis=1)
    rates = np.divide(counted, shares, out=np.zeros(len(joint)), where=shares > 0)
    low, high = -_MOST_LOG_ODDS, _MOST_LOG_ODDS
    for _ in range(_HALVINGS):
        factor = np.exp((low + high) / 2)
        moved = rates * factor / (1 - rates + rates * factor)
        too_few = shares @ moved < wrong_share
        low, high = ((low + high) / 2, high) if too_few else (low, (low + high) / 2)
    scale = np.divide(moved, rates, out=np.zeros(len(joint)), where=rates > 0)
    found = wrong * scale[:, None]
    found[np.diag_indices(len(joint))] = (shares - found.sum(axis=1)).clip(0)
    return np.asarray(found)


MATRIX_ESTIMATORS: dict[str, Callable[[Tally], Reals]] = {
    "confident-counts": confident_counts,
    "prediction-table": prediction_table,
    "counts-and-table": counts_and_table,
    "learned": learned,
}
# Chosen by its error on data families that were left out; see the tables in docs/classes.md.
DEFAULT_MATRIX_ESTIMATOR = "learned"


def find_matrix_estimator(method: Any) -> Callable[[Tally], Reals]:
    """Return the estimator of that name, or the default one."""
    if method is None:
        return MATRIX_ESTIMATORS[DEFAULT_MATRIX_ESTIMATOR]
    if not isinstance(method, str) or method not in MATRIX_ESTIMATORS:
        raise ValueError(
            f"method must be one of {sorted(MATRIX_ESTIMATORS)} for more than two classes, got "
            f"{method!r}. Other estimators are for two labels."
        )
    return MATRIX_ESTIMATORS[method]
