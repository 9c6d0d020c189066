"""From checked rows of any number of classes to the noise matrix with its ranges."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune.core.classes._class_inputs import ClassInputs, sorted_order
from rankprune.core.classes._matrix_estimators import find_matrix_estimator
from rankprune.core.classes._matrix_ranges import intervals_of
from rankprune.core.classes._noise_matrix import NoiseMatrix
from rankprune.core.classes._tally import Tally
from rankprune.exceptions import UninformativeProbabilitiesWarning, warn_caller


def estimate_noise_matrix(inputs: ClassInputs, method: Any = None) -> NoiseMatrix:
    """Return the noise matrix of checked rows, with a warning if scores say nothing of labels."""
    find_matrix_estimator(method)
    return matrix_of_tally(Tally.of(inputs), inputs.classes, method)


def matrix_of_tally(tally: Tally, classes: NDArray[Any], method: Any = None) -> NoiseMatrix:
    """Return the noise matrix of a tally, with its classes in the order of the columns."""
    reliable = tally.tells_apart()
    if not reliable:
        _warn_uninformative()
    order = sorted_order(classes)
    confident = tally.counts.confident.sum(axis=0)
    matrix = NoiseMatrix(
        find_matrix_estimator(method)(tally),
        classes[order],
        thresholds=tally.thresholds.own,
        n_labels=tally.rows_of_labels,
        uncounted=tuple(classes[order][confident == 0].tolist()),
        reliable=reliable,
    )
    matrix = replace(matrix, intervals=intervals_of(tally, matrix))
    return _reordered(matrix, np.argsort(order))


def warn_if_labels_are_not_told_apart(inputs: ClassInputs) -> None:
    """Warn if scores say nothing of labels, although the noise matrix is known."""
    if not Tally.of(inputs).tells_apart():
        _warn_uninformative()


def _warn_uninformative() -> None:
    warn_caller(
        "The probabilities do not tell the labels apart: predictions agree with labels no more "
        "often than by chance. A noise matrix estimated from them is not reliable and prunes "
        "nothing; a known one would prune almost at random. Use a stronger classifier or more "
        "rows, or check the order of the columns against classes.",
        UninformativeProbabilitiesWarning,
    )


def known_matrix(matrix: NoiseMatrix, classes: NDArray[Any]) -> NoiseMatrix:
    """Return a matrix that was passed in, with its classes in this order; they must be the same."""
    known, wanted = matrix.classes.tolist(), classes.tolist()
    if len(known) != len(wanted) or set(known) != set(wanted):
        odd = [value for value in (*wanted, *known) if value not in known or value not in wanted]
        raise ValueError(
            f"noise_matrix must have the classes of the labels; {odd[0]!r} is not in both. Build "
            "it with classes=np.unique(y), or leave out the rows of other labels."
        )
    place = {value: number for number, value in enumerate(known)}
    return _reordered(matrix, np.array([place[value] for value in wanted]))


def _reordered(matrix: NoiseMatrix, order: NDArray[np.intp]) -> NoiseMatrix:
    """Return the matrix with its classes in another order."""
    ranges = matrix.intervals
    return replace(
        matrix,
        joint=matrix.joint[np.ix_(order, order)],
        classes=matrix.classes[order],
        thresholds=None if matrix.thresholds is None else matrix.thresholds[order],
        n_labels=None if matrix.n_labels is None else matrix.n_labels[order],
        intervals=ranges
        and replace(ranges, error_rates=tuple(ranges.error_rates[k] for k in order)),
    )
