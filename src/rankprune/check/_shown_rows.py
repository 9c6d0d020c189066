"""The candidates that a check shows, with some of their cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from rankprune.run._check_record import CheckRecord
from rankprune.run._findings import CandidateRow

# Maximum numbers of candidates and columns whose cells are stored, and of characters per cell.
MAX_SHOWN, MAX_COLUMNS, _MAX_CELL = 500, 40, 500

Cells = Callable[[NDArray[np.intp]], Sequence[Sequence[str | None]]]


def shown_rows(check: CheckRecord, cells: Cells | None = None) -> tuple[CandidateRow, ...]:
    """Return the most suspicious rows; ``cells`` reads their cells, given row positions."""
    return with_cells(tuple(islice(check.ranked(), MAX_SHOWN)), cells)


def with_cells(rows: Sequence[CandidateRow], cells: Cells | None) -> tuple[CandidateRow, ...]:
    """Return rows with their cells, truncated if long."""
    if cells is None:
        return tuple(rows)
    found = cells(np.asarray([row.row for row in rows], dtype=np.intp))
    return tuple(
        replace(row, cells=tuple(None if text is None else text[: _MAX_CELL + 1] for text in texts))
        for row, texts in zip(rows, found, strict=True)
    )
