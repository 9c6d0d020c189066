"""The loops to use: those in NumPy, or the compiled ones once loading them pays off."""

from __future__ import annotations

import importlib
import sys
from functools import cache
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from rankprune.core._inputs import BoolArray, FloatArray
from rankprune.core.counting import _loops
from rankprune.core.counting._loops import Grid

# Loading the compiled loops takes about as long as NumPy takes for this many values.
_WORTH_LOADING = 100_000_000
# Fewer values than this are not worth a call of the compiled loops, even once they are loaded.
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
    """Number of values that NumPy has processed so far."""

    n_values = 0


def kernel_for(n_rows: int) -> Kernel:
    """Return the loops over rows of two labels to use for this many of them."""
    compiled = compiled_if_worth_it("rankprune.core.counting._compiled", n_rows)
    return cast(Kernel, _loops if compiled is None else compiled)


def compiled_if_worth_it(module: str, n_values: int) -> Any | None:
    """Return a module of compiled loops if they are worth using for this many values.

    They need numba. They are loaded once NumPy has spent about as long as loading takes, or
    immediately if numba is already loaded; the results are the same.
    """
    _Seen.n_values += n_values
    is_loaded = "numba" in sys.modules or _Seen.n_values >= _WORTH_LOADING
    return _compiled(module) if n_values >= _WORTH_CALLING and is_loaded else None


@cache
def _compiled(module: str) -> Any | None:
    try:
        return importlib.import_module(module)
    except ImportError:  # numba is missing, or does not support this NumPy yet
        return None
