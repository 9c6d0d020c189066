"""Whether the probabilities tell the given labels apart; rates from chance scores mean nothing."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rankprune.core._inputs import BoolArray, FloatArray, count_true
from rankprune.core.counting._histogram import ScoreHistogram

# Scores with at least this AUC separate the classes so well that remaining errors are noise.
SEPARATED_AUC = 0.85
# Scores or a feature with at least this AUC predict the labels so well that they may leak them.
TELLING_AUC = 0.995
# One-sided 95 % quantile of the normal distribution.
_Z = 1.6448536269514722
# Largest sum of weights that count rows; above it, floats cannot hold every whole number.
MAX_COUNT = 2.0**53
# A sample of this many rows settles most cases: a lead of five standard errors leaves no doubt.
_SAMPLE_ROWS = 1 << 17
_Z_SAMPLE = 5.0


def is_informative(
    is_positive: BoolArray,
    probabilities: FloatArray,
    sample_weight: NDArray[np.float64] | None = None,
) -> bool:
    """Return whether the lower 95 % bound of the AUC against the given labels is above 1/2.

    The bound uses the variance of the AUC of random scores (Mann and Whitney), which is also valid
    for a handful of rows with perfect scores. Whole-number weights count as repeated rows, other
    weights as importance (Kish's effective number of rows).
    """
    if sample_weight is not None:
        n_positive = effective_rows(sample_weight[is_positive])
        n_negative = effective_rows(sample_weight[~is_positive])
        needed = needed_auc(n_positive, n_negative)
        return auc(is_positive, probabilities, sample_weight) > needed
    if len(is_positive) > _SAMPLE_ROWS:
        # Sampled at random because rows may be sorted, and with a fixed seed so that repeated
        # calls agree.
        rows = np.random.default_rng(0).integers(0, len(is_positive), _SAMPLE_ROWS)
        sampled, scores = is_positive[rows], probabilities[rows]
        n_positive = count_true(sampled)
        if 0 < n_positive < len(sampled):
            least, _ = _auc_bounds(sampled, scores)
            if least > needed_auc(n_positive, len(sampled) - n_positive, _Z_SAMPLE):
                return True
    n_positive = count_true(is_positive)
    needed = needed_auc(n_positive, len(is_positive) - n_positive)
    least, most = _auc_bounds(is_positive, probabilities)
    if least <= needed < most:  # the bins are too coarse to decide
        return auc(is_positive, probabilities) > needed
    return least > needed


def auc(
    is_positive: BoolArray,
    probabilities: FloatArray,
    sample_weight: NDArray[np.float64] | None = None,
) -> float:
    """Return the chance that a positive label outranks a negative one, ties counting half."""
    weight = np.ones(len(is_positive)) if sample_weight is None else sample_weight
    won = outranked_shares(
        probabilities[is_positive], probabilities[~is_positive], weight[~is_positive]
    )
    return float(np.average(won, weights=weight[is_positive]))


def outranked_shares(
    scores: FloatArray, others: FloatArray, weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the share of the weight of the others that each score outranks, ties counting half."""
    order = np.argsort(others)
    others = others[order]
    cumulated = np.concatenate([[0.0], np.cumsum(weight[order])])
    below = cumulated[np.searchsorted(others, scores, side="left")]
    at_most = cumulated[np.searchsorted(others, scores, side="right")]
    return np.asarray((below + at_most) / (2 * cumulated[-1]))


def needed_auc(n_positive: float, n_negative: float, z: float = _Z) -> float:
    """Return the value that the AUC of informative scores must exceed."""
    return 0.5 + z * math.sqrt((n_positive + n_negative + 1) / (12 * n_positive * n_negative))


def _auc_bounds(is_positive: BoolArray, probabilities: FloatArray) -> tuple[float, float]:
    """Return the lowest and the highest AUC, with rows in the same bin counted as ties."""
    histogram = ScoreHistogram.spanning(probabilities).update(is_positive, probabilities)
    return auc_bounds(*histogram.counts)


def auc_bounds(negatives: NDArray[np.int64], positives: NDArray[np.int64]) -> tuple[float, float]:
    """Return the AUC from the rows per bin, with all ties counted against it, and for it."""
    pairs = float(positives.sum()) * float(negatives.sum())
    most = float(positives @ np.cumsum(negatives, dtype=np.float64)) / pairs
    return most - float(positives @ negatives.astype(np.float64)) / pairs, most


def effective_rows(weights: NDArray[np.float64]) -> float:
    """Return the effective number of rows: the sum of weights that are counts, else Kish's."""
    return float(weights.sum()) if are_counts(weights) else kish_rows(weights)


def are_counts(weights: NDArray[np.float64]) -> bool:
    """Return whether the weights are counts: whole numbers whose sum a float holds exactly."""
    return bool((weights == np.floor(weights)).all()) and float(weights.sum()) <= MAX_COUNT


def kish_rows(weights: NDArray[np.float64]) -> float:
    """Return the number of equally weighted rows that are as informative as these (Kish)."""
    return float(weights.sum() ** 2 / (weights @ weights))
