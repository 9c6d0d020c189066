"""From judged rows to training: their right labels, and the noise rates of all other rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankprune.core import NoiseMatrix, NoiseRates
from rankprune.run._class_sentences import is_of_many

if TYPE_CHECKING:
    from rankprune.run._check_record import CheckRecord

# Numbers of labels; of two, whether they are the positive one.
LabelNumbers = NDArray[Any]

# The label error rates together stay below 1, and so does that of each of many labels.
MOST_FOUND = 0.98


def given_labels(run: CheckRecord) -> LabelNumbers:
    """Return the number of the label of each row; of two, whether it is the positive one."""
    return np.asarray(run.scores.label if is_of_many(run) else run.scores.is_positive)


def judged_labels(run: CheckRecord) -> tuple[NDArray[np.intp], LabelNumbers]:
    """Return the rows that people judged with a clear answer, in order, and their right labels."""
    judged, many = run.judged, is_of_many(run)
    answers = () if judged is None else judged.labels if many else judged.is_positive
    pairs = zip(() if judged is None else judged.rows, answers, strict=True)
    clear = sorted((row, right) for row, right in pairs if right is not None)
    return (
        np.array([row for row, _ in clear], dtype=np.intp),
        np.array([right for _, right in clear], dtype=np.intp if many else bool),
    )


def judged_mask(run: CheckRecord) -> NDArray[np.bool_]:
    """Return which labeled rows people judged with a clear answer."""
    mask = np.zeros(len(run.scores.rows), dtype=bool)
    mask[np.searchsorted(run.scores.rows, judged_labels(run)[0])] = True
    return mask


def judged_wrong(run: CheckRecord) -> NDArray[np.intp]:
    """Return the rows whose label people judged to be wrong."""
    rows, right = judged_labels(run)
    given = given_labels(run)[np.searchsorted(run.scores.rows, rows)]
    found: NDArray[np.intp] = rows[given != right]
    return found


def noise_of_rest(
    noise: NoiseRates | NoiseMatrix,
    labels: LabelNumbers,
    settled: NDArray[np.intp],
    right: LabelNumbers,
) -> NoiseRates | NoiseMatrix | None:
    """Return the noise of the rows whose right labels are not known; see `matrix_of_rest`."""
    if isinstance(noise, NoiseMatrix):
        return matrix_of_rest(noise, labels, settled, right)
    return rates_of_rest(noise, labels, settled, right)


def rates_of_rest(
    rates: NoiseRates,
    is_positive: NDArray[np.bool_],
    settled: NDArray[np.intp],
    right: NDArray[np.bool_],
) -> NoiseRates | None:
    """Return the rates of the rows whose right labels are not known.

    Parameters
    ----------
    rates : NoiseRates
        Rates of all rows.
    is_positive : ndarray of bool
        Given labels of all rows.
    settled : ndarray of int
        Places of the rows whose right labels are known.
    right : ndarray of bool
        These labels.

    Returns
    -------
    NoiseRates or None
        With as many wrong labels less as were found; None if the other rows have a single label.
    """
    is_open = np.ones(len(is_positive), dtype=bool)
    is_open[settled] = False
    n_open = int(is_open.sum())
    n_positive = int(is_positive[is_open].sum())
    if n_positive in (0, n_open):
        return None
    given = is_positive[settled]
    wrong = given != right
    shares = []
    for label, n_left, rate in (
        (True, n_positive, rates.positive_label_error_rate),
        (False, n_open - n_positive, rates.negative_label_error_rate),
    ):
        expected = rate * np.count_nonzero(is_positive == label)
        left = expected - np.count_nonzero(wrong & (given == label))
        shares.append(min(max(left / n_left, 0.0), MOST_FOUND))
    part = min(1.0, MOST_FOUND / max(sum(shares), MOST_FOUND))
    rest = NoiseRates.from_label_error_rates(
        part * shares[0], part * shares[1], n_positive / n_open
    )
    return replace(rest, reliable=rates.reliable)


def matrix_of_rest(
    matrix: NoiseMatrix,
    labels: NDArray[np.intp],
    settled: NDArray[np.intp],
    right: NDArray[np.intp],
) -> NoiseMatrix | None:
    """Return the noise of the rows whose right labels are not known, for more than two labels.

    Parameters
    ----------
    matrix : NoiseMatrix
        The noise of all rows.
    labels : ndarray of int
        Numbers of the given labels of all rows.
    settled : ndarray of int
        Places of the rows whose right labels are known.
    right : ndarray of int
        The numbers of these labels.

    Returns
    -------
    NoiseMatrix or None
        With as many wrong labels less as were found; None if the other rows have a single label.
    """
    k = len(matrix)
    is_open = np.ones(len(labels), dtype=bool)
    is_open[settled] = False
    n_open = np.bincount(labels[is_open], minlength=k)
    if np.count_nonzero(n_open) < 2:
        return None
    n_labels, shares = np.bincount(labels, minlength=k), matrix.label_shares
    rows = np.divide(n_labels, shares, out=np.zeros(k), where=shares > 0)
    left = matrix.joint * rows[:, None]
    np.subtract.at(left, (labels[settled], right), 1)
    np.fill_diagonal(left, 0.0)
    # The total of each label counts, even if more rows than expected were found in one cell.
    n_wrong = left.sum(axis=1).clip(0.0, MOST_FOUND * n_open)
    left = left.clip(0.0)
    cells = left.sum(axis=1)
    left *= np.divide(n_wrong, cells, out=np.zeros(k), where=cells > 0)[:, None]
    np.fill_diagonal(left, n_open - n_wrong)
    return replace(
        matrix, joint=left / n_open.sum(), n_labels=n_open, thresholds=None, intervals=None
    )
