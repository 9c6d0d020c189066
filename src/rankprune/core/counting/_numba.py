"""What all compiled loops share: how a function is compiled, and the bits of a float."""

from __future__ import annotations

from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic


def jit(function: Any) -> Any:
    """Return a function that is compiled on its first call, and cached on disk if possible."""
    try:
        return numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # neither the package's folder nor the user's cache is writable
        return numba.njit(nogil=True)(function)


@intrinsic
def float_bits(_context: Any, _value: Any) -> Any:
    """Return the bits of a float64 as an integer."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), generate


@intrinsic
def bits_float(_context: Any, _bits: Any) -> Any:
    """Return the float64 that has these bits."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), generate
