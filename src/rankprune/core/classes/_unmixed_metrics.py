"""Metrics on clean labels of any number of classes, from noisy ones and the transition.

The table of labels and predictions is the transition times the table of true classes and
predictions; its inverse undoes that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankprune.core.classes._class_inputs import ClassInputs

Reals = NDArray[np.float64]

# The largest number by which undoing the noise may multiply chance.
MOST_AMPLIFIED = 1e6
# Scores below this count as this in the log-loss.
_SMALLEST = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Term:
    """One ratio of sums over the table of true class and prediction.

    Attributes
    ----------
    name : {"accuracy", "error", "recall", "precision", "f1"}
    column : int
        Number of the class; not used by the first two.
    """

    name: str
    column: int = 0

    def tables(self, n_classes: int) -> tuple[Reals, Reals]:
        """Return how often each cell counts above and below the line."""
        top, bottom = np.zeros((2, n_classes, n_classes))
        if self.name in ("accuracy", "error"):
            right = np.eye(n_classes)
            return right if self.name == "accuracy" else 1 - right, bottom + 1
        if self.name in ("recall", "f1"):
            bottom[self.column] += 1
        if self.name in ("precision", "f1"):
            bottom[:, self.column] += 1
        top[self.column, self.column] = bottom[self.column, self.column]
        return top, bottom


@dataclass(frozen=True)
class Ratio:
    """A metric: the mean of some ratios."""

    terms: tuple[Term, ...]

    def value_and_gradient(self, cells: Reals) -> tuple[float, Reals | None]:
        """Return the metric and its gradient, or 0 and None if a denominator is not above 0."""
        value, gradient = 0.0, np.zeros_like(cells)
        for term in self.terms:
            top, bottom = term.tables(len(cells))
            whole = float((bottom * cells).sum())
            if whole <= 0:
                return 0.0, None
            ratio = float((top * cells).sum()) / whole
            value += ratio
            gradient += (top - ratio * bottom) / whole
        return value / len(self.terms), gradient / len(self.terms)

    def imagined(self, n_classes: int) -> Reals:
        """Return one row for and one against each term, spread over their cells."""
        found = np.zeros((n_classes, n_classes))
        for term in self.terms:
            top, bottom = term.tables(n_classes)
            is_for, is_against = top > 0, (bottom > 0) & (top == 0)
            found += is_for / is_for.sum() + is_against / is_against.sum()
        return found


def ratios_of(n_classes: int) -> dict[str, Ratio | tuple[Ratio, ...]]:
    """Return accuracy, error and macro F1, and one ratio per class of recall, precision and F1."""

    def by_class(name: str) -> tuple[Term, ...]:
        return tuple(Term(name, column) for column in range(n_classes))

    return {
        "accuracy": Ratio((Term("accuracy"),)),
        "error": Ratio((Term("error"),)),
        "macro_f1": Ratio(by_class("f1")),
        **{
            name: tuple(Ratio((term,)) for term in by_class(name))
            for name in ("recall", "precision", "f1")
        },
    }


def unmixed(transition: Reals) -> Reals:
    """Return the inverse of a transition: P(given | true), columns the true class."""
    try:
        inverse = np.linalg.inv(transition)
    except np.linalg.LinAlgError:
        inverse = np.full_like(transition, np.inf)
    if not np.abs(inverse).max() <= MOST_AMPLIFIED:
        raise ValueError(
            "noise_rates must have a transition that can be inverted: every true class must have "
            "its own mix of labels. Two classes of this one have the same. Merge them."
        )
    return np.asarray(inverse)


def corrected(
    ratio: Ratio, cells: Reals, inverse: Reals, n_rows: float, z: float
) -> tuple[float, float, float, float]:
    """Return the estimate, both ends of its interval, and the metric on the noisy labels.

    Parameters
    ----------
    ratio : Ratio
    cells : ndarray of shape (n_classes, n_classes)
        Share of rows by given label (rows) and prediction (columns).
    inverse : ndarray of shape (n_classes, n_classes)
    n_rows : float
    z : float
        Normal quantile of the interval.
    """
    value, _ = ratio.value_and_gradient(inverse @ cells)
    noisy, _ = ratio.value_and_gradient(cells)
    # Agresti and Coull: z**2 / 2 imagined rows for and against each term, as for two labels.
    imagined = z**2 / 2 * ratio.imagined(len(cells))
    n_smoothed = n_rows + float(imagined.sum())
    smoothed = (n_rows * cells + imagined) / n_smoothed
    middle, gradient = ratio.value_and_gradient(inverse @ smoothed)
    if gradient is None:
        return value, min(value, 0.0), max(value, 1.0), noisy
    slope = inverse.T @ gradient
    mean = float((smoothed * slope).sum())
    variance = (float((smoothed * slope**2).sum()) - mean**2) / n_smoothed
    half = z * max(variance, 0.0) ** 0.5
    low, high = min(max(middle - half, 0.0), 1.0), min(max(middle + half, 0.0), 1.0)
    return value, min(low, value), max(high, value), noisy


def corrected_log_loss(
    inputs: ClassInputs, inverse: Reals, z: float
) -> tuple[float, float, float, float]:
    """Return what the log-loss would be with true labels, its interval, and the noisy one."""
    total = square = noisy = 0.0
    for _, codes, scores in inputs.blocks():
        losses = -np.log(np.maximum(scores, _SMALLEST))
        values = np.einsum("ij,ij->i", losses, inverse.T[codes])
        total += float(values.sum())
        square += float(values @ values)
        noisy += float(losses[np.arange(len(codes)), codes].sum())
    n_rows = len(inputs)
    value = total / n_rows
    half = z * (max(square / n_rows - value**2, 0.0) / n_rows) ** 0.5
    return value, value - half, value + half, noisy / n_rows
