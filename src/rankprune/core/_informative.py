"""Whether the probabilities tell the given labels apart; rates from chance scores mean nothing."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rankprune.core._histogram import ScoreHistogram
from rankprune.core._inputs import BoolArray, FloatArray, count_true

# One-sided 95 % quantile of the normal distribution.
_Z = 1.6448536269514722


def is_informative(
    is_positive: BoolArray,
    probabilities: FloatArray,
    sample_weight: NDArray[np.float64] | None = None,
) -> bool:
    """Return whether the lower 95 % bound of the AUC against the given labels is above 1/2.

    The bound takes the variance of the AUC of chance scores (Mann and Whitney), which also holds
    for perfect scores of a handful of rows. Whole-number weights count as repeated rows, other
    weights as importance (Kish's effective number of rows).
    """
    if sample_weight is None:
        n_positive: float = count_true(is_positive)
        n_negative: float = len(is_positive) - n_positive
    else:
        n_positive = _effective_rows(sample_weight[is_positive])
        n_negative = _effective_rows(sample_weight[~is_positive])
    needed = 0.5 + _Z * math.sqrt((n_positive + n_negative + 1) / (12 * n_positive * n_negative))
    if sample_weight is None:
        # The bins settle almost every case in one pass; only a near tie is worth a sort.
        least, most = _auc_bounds(ScoreHistogram().update(is_positive, probabilities))
        if least > needed:
            return True
        if most <= needed:
            return False
    return auc(is_positive, probabilities, sample_weight) > needed


def auc(
    is_positive: BoolArray,
    probabilities: FloatArray,
    sample_weight: NDArray[np.float64] | None = None,
) -> float:
    """Return the chance that a positive label outranks a negative one, ties counting half."""
    if sample_weight is None:
        sample_weight = np.ones(len(is_positive))
    negative_scores = probabilities[~is_positive]
    order = np.argsort(negative_scores)
    negative_scores = negative_scores[order]
    cumulated = np.concatenate([[0.0], np.cumsum(sample_weight[~is_positive][order])])
    positive_scores, weight = probabilities[is_positive], sample_weight[is_positive]
    outranked = cumulated[np.searchsorted(negative_scores, positive_scores, side="left")]
    outranked += cumulated[np.searchsorted(negative_scores, positive_scores, side="right")]
    return float(outranked @ weight / (2 * weight.sum() * cumulated[-1]))


def _auc_bounds(histogram: ScoreHistogram) -> tuple[float, float]:
    negatives, positives = histogram.counts.astype(np.float64)
    pairs = positives.sum() * negatives.sum()
    at_or_below = np.cumsum(negatives)
    most = float(positives @ at_or_below / pairs)
    return most - float(positives @ negatives / pairs), most


def _effective_rows(weights: NDArray[np.float64]) -> float:
    total = float(weights.sum())
    if (weights == np.floor(weights)).all():
        return total
    return total**2 / float(weights @ weights)
