"""Rows a block at a time, so that long arrays need little memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Number of rows per block: large enough to hide Python's overhead, small enough to stay in cache.
BLOCK_ROWS = 1 << 16


def blocks(n_rows: int) -> Iterator[slice]:
    """Yield slices that cover ``n_rows`` rows in order, a cache-sized block at a time."""
    for start in range(0, n_rows, BLOCK_ROWS):
        yield slice(start, min(start + BLOCK_ROWS, n_rows))


def float_block(values: NDArray[np.floating[Any]], rows: slice) -> NDArray[np.float64]:
    """Return some rows as float64, so that float32 input is compared without being rounded."""
    return np.asarray(values[rows], dtype=np.float64)
