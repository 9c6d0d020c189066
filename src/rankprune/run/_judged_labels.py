"""From judged rows to training: their right labels, and the noise rates of all other rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rankprune.core import NoiseRates

if TYPE_CHECKING:
    from rankprune.run._label_check import LabelCheck

# The label error rates together stay below 1.
MOST_FOUND = 0.98


def judged_labels(run: LabelCheck) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the rows that people judged with a clear answer, in order, and their right labels."""
    judged = run.judged
    pairs = [] if judged is None else zip(judged.rows, judged.is_positive, strict=True)
    clear = sorted((row, right) for row, right in pairs if right is not None)
    return (
        np.array([row for row, _ in clear], dtype=np.intp),
        np.array([right for _, right in clear], dtype=bool),
    )


def judged_mask(run: LabelCheck) -> NDArray[np.bool_]:
    """Return which labeled rows people judged with a clear answer."""
    mask = np.zeros(len(run.scores.rows), dtype=bool)
    mask[np.searchsorted(run.scores.rows, judged_labels(run)[0])] = True
    return mask


def judged_wrong(run: LabelCheck) -> NDArray[np.intp]:
    """Return the rows whose label people judged to be wrong."""
    rows, right = judged_labels(run)
    given = run.scores.is_positive[np.searchsorted(run.scores.rows, rows)]
    found: NDArray[np.intp] = rows[given != right]
    return found


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
