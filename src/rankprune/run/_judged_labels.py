"""From judged rows to training: their right labels, and the noise rates of all other rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rankprune.core import NoiseMatrix, NoiseRates
from rankprune.run._class_sentences import is_of_many

if TYPE_CHECKING:
    from rankprune.run._check_record import CheckRecord
    from rankprune.run._label_check import LabelCheck

# The label error rates together stay below 1, and so does that of each of many labels.
MOST_FOUND = 0.98


def judged_codes(run: CheckRecord) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows that people judged with a clear answer, in order, and their right labels.

    Labels are numbers: their places in the classes of the run.
    """
    judged = run.judged
    if judged is None:
        return np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp)
    answers = judged.labels if is_of_many(run) else judged.is_positive
    pairs = zip(judged.rows, answers, strict=True)
    clear = np.array(
        sorted((row, int(right)) for row, right in pairs if right is not None), dtype=np.intp
    ).reshape(-1, 2)
    return clear[:, 0], clear[:, 1]


def judged_labels(run: LabelCheck) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return `judged_codes` of two labels, of which the positive one has the number 1."""
    rows, codes = judged_codes(run)
    return rows, codes == 1


def judged_mask(run: CheckRecord) -> NDArray[np.bool_]:
    """Return which labeled rows people judged with a clear answer."""
    mask = np.zeros(len(run.scores.rows), dtype=bool)
    mask[np.searchsorted(run.scores.rows, judged_codes(run)[0])] = True
    return mask


def judged_wrong(run: CheckRecord) -> NDArray[np.intp]:
    """Return the rows whose label people judged to be wrong."""
    rows, right = judged_codes(run)
    given = run.given_codes[np.searchsorted(run.scores.rows, rows)]
    found: NDArray[np.intp] = rows[given != right]
    return found


def noise_of_rest(
    noise: NoiseRates | NoiseMatrix,
    codes: NDArray[np.intp],
    settled: NDArray[np.intp],
    right: NDArray[np.intp],
) -> NoiseRates | NoiseMatrix | None:
    """Return the noise of the rows whose right labels are not known; see `matrix_of_rest`."""
    if isinstance(noise, NoiseMatrix):
        return matrix_of_rest(noise, codes, settled, right)
    return rates_of_rest(noise, codes == 1, settled, right == 1)


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
    codes: NDArray[np.intp],
    settled: NDArray[np.intp],
    right: NDArray[np.intp],
) -> NoiseMatrix | None:
    """Return the noise of the rows whose right labels are not known, for more than two labels.

    Parameters
    ----------
    matrix : NoiseMatrix
        The noise of all rows.
    codes : ndarray of int
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
    is_open = np.ones(len(codes), dtype=bool)
    is_open[settled] = False
    n_open = np.bincount(codes[is_open], minlength=k)
    if np.count_nonzero(n_open) < 2:
        return None
    n_labels, shares = np.bincount(codes, minlength=k), matrix.label_shares
    rows = np.divide(n_labels, shares, out=np.zeros(k), where=shares > 0)
    left = matrix.joint * rows[:, None]
    np.subtract.at(left, (codes[settled], right), 1)
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
