"""The lists of a check after people judged rows: suspects, ranks and weights of the other rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rankprune.core._inputs import BoolArray
from rankprune.run._findings import CandidateRow
from rankprune.run._rows_to_judge import RowsToJudge

if TYPE_CHECKING:
    from rankprune.run._check_record import CheckRecord

# As many of the first rows of the list keep their cells as in the check itself.
_MAX_SHOWN = 500


@dataclass(frozen=True)
class Lists:
    """Suspects, ranks and weights of all rows of a check."""

    suspect: BoolArray
    rank: NDArray[np.int64]
    weight: NDArray[np.float64]


def lists_of(
    check: CheckRecord,
    found: RowsToJudge,
    is_open: BoolArray,
    mask: BoolArray,
    ordered: NDArray[np.intp],
    weight: NDArray[np.float64] | None,
) -> Lists:
    """Return the lists with new suspects; judged rows come after all others.

    Parameters
    ----------
    check : LabelCheck or ClassCheck
        Before the rows were judged.
    found : RowsToJudge
    is_open : ndarray of bool
        Which of these rows nobody has judged.
    mask : ndarray of bool
        Which rows among the open ones are suspects.
    ordered : ndarray of int
        The open rows, most suspicious first.
    weight : ndarray of float or None
        Their correction weights; None if all rows count alike.
    """
    n_rows = len(check.scores.rows)
    suspect, weights = np.zeros(n_rows, dtype=bool), np.ones(n_rows)
    rank = np.array(check.scores.rank, dtype=np.int64)
    open_places = found.places[is_open]
    suspect[open_places] = mask
    rank[open_places[ordered]] = np.arange(1, len(ordered) + 1)
    judged_places = found.places[~is_open]
    rank[judged_places] = np.arange(len(ordered) + 1, len(found.places) + 1)
    if weight is not None:
        weights[open_places] = weight
        weights[suspect] = 0.0
    return Lists(suspect, rank, weights)


def candidates_of(before: CheckRecord, after: CheckRecord) -> tuple[CandidateRow, ...]:
    """Return the first rows of the list, with the cells that were stored."""
    cells = {row.row: row.cells for row in before.candidates}
    return tuple(
        replace(row, cells=cells.get(row.row, ()))
        for row, _ in zip(after.ranked(), range(_MAX_SHOWN), strict=False)
    )
