"""Noise of any number of classes as a matrix: row i holds P(given label | true class i)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankprune.core._inputs import as_array
from rankprune.core._noise_rates import NoiseRates

# How far the sum of a row may be from 1, e.g. by rounding to six decimals.
_TOLERANCE = 1e-5
# The share of rows above an anchor: the source's guard against single extreme scores. In a class
# with few rows, all of them could be above it, so no more than half of its likely rows are.
_ABOVE_ANCHOR = 0.03


def validate_transition(transition: ArrayLike, n_classes: int) -> NDArray[np.float64]:
    """Return the matrix as reals, each row with a sum of 1, or raise ValueError."""
    matrix = as_array(transition, "transition")
    if matrix.shape != (n_classes, n_classes) or matrix.dtype.kind not in "biuf":
        raise ValueError(
            f"transition must be a matrix of {n_classes} x {n_classes} numbers, one row and one "
            f"column per class, got shape {matrix.shape} and type {matrix.dtype}."
        )
    matrix = matrix.astype(np.float64)
    sums = matrix.sum(axis=1)
    wrong = ~((matrix >= 0).all(axis=1) & (np.abs(sums - 1) <= _TOLERANCE))
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(
            f"transition must hold the probabilities of the given labels in each row, with a sum "
            f"of 1; row {row} is {matrix[row].tolist()}. Rows are true classes, columns given "
            "labels."
        )
    if not _tells_classes_apart(matrix):
        raise ValueError(
            "transition must have rows that differ, so that the given labels tell the true classes "
            f"apart, got {matrix.tolist()}."
        )
    return np.asarray(matrix / sums[:, None])


def transition_of_rates(rates: NoiseRates, positive_column: int) -> NDArray[np.float64]:
    """Return the matrix of two classes, the positive one at this row and column."""
    missed, false = rates.positive_noise_rate, rates.negative_noise_rate
    matrix = np.array([[1 - false, false], [missed, 1 - missed]])
    return matrix if positive_column == 1 else matrix[::-1, ::-1].copy()


def anchor_transition(probabilities: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the matrix estimated at one anchor row per class, from out-of-fold probabilities.

    Raises ValueError if the anchors do not tell the classes apart.

    Notes
    -----
    The anchor of a class is a row that nearly certainly belongs to it: the one at the 97th
    percentile of the probability of that label (Patrini et al. 2017, Section 3), or among the first
    half of the rows in which that label is the most probable, if these are few. If it does belong,
    the probabilities of the given labels at that row are the row of the matrix.
    """
    n_rows, n_classes = probabilities.shape
    likely = np.bincount(probabilities.argmax(axis=1), minlength=n_classes)
    above = np.minimum(round(_ABOVE_ANCHOR * (n_rows - 1)), likely // 2)
    order = np.argsort(probabilities, axis=0, kind="stable")
    matrix = probabilities[order[n_rows - 1 - above, np.arange(n_classes)]].astype(np.float64)
    matrix = np.asarray(matrix / matrix.sum(axis=1, keepdims=True))
    if not _tells_classes_apart(matrix):
        raise ValueError(
            "probabilities must tell the classes apart, but at the rows that are most certainly of "
            f"each class they are {matrix.round(3).tolist()}. Pass transition, or a better network."
        )
    return matrix


def _tells_classes_apart(matrix: NDArray[np.float64]) -> bool:
    return bool(np.linalg.cond(matrix) <= 1 / np.sqrt(np.finfo(float).eps))
