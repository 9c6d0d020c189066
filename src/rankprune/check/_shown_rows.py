"""The suspects that a check shows, with some of their cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from rankprune.run import LabelCheck
from rankprune.run._findings import SuspectRow

# Maximum numbers of suspects and columns whose cells are stored, and of characters per cell.
MAX_SHOWN, MAX_COLUMNS, _MAX_CELL = 500, 40, 500

Cells = Callable[[NDArray[np.intp]], Sequence[Sequence[str | None]]]


def shown_rows(check: LabelCheck, cells: Cells | None = None) -> tuple[SuspectRow, ...]:
    """Return the most suspicious rows; ``cells`` reads their cells, given row positions."""
    return with_cells(tuple(islice(check.ranked(), MAX_SHOWN)), cells)


def with_cells(suspects: Sequence[SuspectRow], cells: Cells | None) -> tuple[SuspectRow, ...]:
    """Return suspects with their cells, truncated if long."""
    if cells is None:
        return tuple(suspects)
    found = cells(np.asarray([suspect.row for suspect in suspects], dtype=np.intp))
    return tuple(
        replace(
            suspect, cells=tuple(None if text is None else text[: _MAX_CELL + 1] for text in texts)
        )
        for suspect, texts in zip(suspects, found, strict=True)
    )
