"""Confidence bounds of shares of rows: those of Clopper and Pearson, with weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from rankprune.core._auc import effective_rows
from rankprune.core._inputs import BoolArray


def row_weights(
    labels: BoolArray, sample_weight: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Return weights scaled to count rows, since the uncertainty depends on the number of rows."""
    if sample_weight is None:
        return np.ones(len(labels))
    scale = effective_rows(sample_weight) / float(sample_weight.sum())
    return np.asarray(sample_weight * scale)


def upper_bound(
    part: NDArray[np.float64], whole: NDArray[np.float64], level: float
) -> NDArray[np.float64]:
    """Return the upper bounds that true shares exceed with probability at most `level`."""
    rest = whole - part
    bound = np.ones(len(whole))
    some = rest > 0
    bound[some] = betaincinv(part[some] + 1, rest[some], 1 - level)
    return bound


def share_band(
    part: NDArray[np.float64], whole: NDArray[np.float64], level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the two-sided confidence band of shares."""
    tail = (1 - level) / 2
    return 1 - upper_bound(whole - part, whole, tail), upper_bound(part, whole, tail)
