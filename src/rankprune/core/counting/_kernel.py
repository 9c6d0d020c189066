"""The loops to use: those in NumPy, or the compiled ones once loading them pays off."""

from __future__ import annotations

import importlib
import sys
from functools import cache
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from rankprune.core._inputs import BoolArray, FloatArray
from rankprune.core.counting import _loops
from rankprune.core.counting._loops import Grid

# Loading the compiled loops takes about as long as NumPy takes for this many rows.
_WORTH_LOADING = 100_000_000
# Fewer rows than this are not worth a call of the compiled loops, even once they are loaded.
_WORTH_CALLING = 1 << 14


class Kernel(Protocol):
    """The loops over a block of rows; see `_loops` for what each returns."""

    def prepared(self, values: FloatArray) -> FloatArray: ...

    def extremes(self, values: FloatArray) -> tuple[float, float]: ...

    def class_sums(self, is_positive: BoolArray, values: FloatArray) -> tuple[int, int, int]: ...

    def add_to_histogram(
        self, counts: NDArray[np.int64], grid: Grid, is_positive: BoolArray, values: FloatArray
    ) -> None: ...

    def add_to_sketch(
        self, counts: NDArray[np.int64], is_positive: BoolArray, values: FloatArray
    ) -> tuple[int, int]: ...

    def count_beyond(
        self, is_positive: BoolArray, values: FloatArray, thresholds: tuple[float, float]
    ) -> tuple[int, int, int, int]: ...

    def values_between(
        self, is_positive: BoolArray, values: FloatArray, label: bool, low: float, high: float
    ) -> NDArray[np.float64]: ...

    def mark_beyond(
        self,
        mask: BoolArray,
        is_positive: BoolArray,
        values: FloatArray,
        cutoffs: tuple[float, float],
    ) -> None: ...


class _Seen:
    """Number of rows that NumPy has processed so far."""

    n_rows = 0


def kernel_for(n_rows: int) -> Kernel:
    """Return the loops to use for this many rows.

    The compiled ones need numba. They are loaded once NumPy has spent about as long as loading
    takes, or immediately if numba is already loaded; the results are the same.
    """
    _Seen.n_rows += n_rows
    if n_rows >= _WORTH_CALLING and ("numba" in sys.modules or _Seen.n_rows >= _WORTH_LOADING):
        compiled = _compiled()
        if compiled is not None:
            return compiled
    return cast(Kernel, _loops)


@cache
def _compiled() -> Kernel | None:
    try:
        return cast(Kernel, importlib.import_module("rankprune.core.counting._compiled"))
    except ImportError:  # numba is missing, or does not support this NumPy yet
        return None
