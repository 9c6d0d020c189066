"""Ids and labels of any type become codes: positions in the list of their distinct values."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune.core._inputs import as_array, is_missing

Codes = NDArray[np.intp]
MISSING = -1


def as_column(values: Any, name: str) -> NDArray[Any]:
    """Return a one-dimensional array whose values keep their types."""
    if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
        raise TypeError(
            f"{name} must be a sequence of values, got {type(values).__name__}. Pass a list or an "
            "array."
        )
    if isinstance(values, list | tuple) and len({type(value) for value in values}) > 1:
        # NumPy would turn [1, "1"] into two equal texts.
        column = np.empty(len(values), dtype=object)
        column[:] = values
        return column
    column = as_array(values, name)
    if column.ndim != 1:
        raise ValueError(
            f"{name} must be one-dimensional, one value per answer, got shape {column.shape}. "
            "Pass a single column."
        )
    return column


def distinct(values: NDArray[Any], name: str) -> tuple[tuple[Any, ...], Codes]:
    """Return the distinct values in order, and the code of each value; missing ones have -1."""
    if values.dtype.kind in "biuUSf":
        there = ~np.isnan(values) if values.dtype.kind == "f" else np.ones(len(values), dtype=bool)
        found, inverse = np.unique(values[there], return_inverse=True)
        codes = np.full(len(values), MISSING, dtype=np.intp)
        codes[there] = inverse
        return tuple(found.tolist()), codes
    known: dict[Any, int] = {}
    listed = values.tolist()
    codes = np.fromiter((_numbered(one, known, name) for one in listed), np.intp, len(listed))
    order = in_order(list(known))
    place = np.empty(len(known) + 1, dtype=np.intp)
    place[[known[value] for value in order]] = np.arange(len(known))
    place[-1] = MISSING
    return tuple(order), place[codes]


def codes_in(values: NDArray[Any], known: Sequence[Any], name: str, among: str) -> Codes:
    """Return the position of each value among known ones; missing values have -1."""
    found, codes = distinct(values, name)
    places = {value: place for place, value in enumerate(known)}
    unknown = [value for value in found if value not in places]
    if unknown:
        raise ValueError(
            f"{name} must be among {among}, got {unknown[0]!r}. Check its spelling and its type, "
            f"or add it to {among}."
        )
    return np.array([*(places[value] for value in found), MISSING], dtype=np.intp)[codes]


def in_order(values: list[Any]) -> list[Any]:
    """Return distinct values sorted: numbers, then other types by name; unsortable ones as is."""
    try:
        return sorted(values, key=_sort_key)
    except TypeError:
        return values


def _sort_key(value: Any) -> tuple[str, Any]:
    return ("" if isinstance(value, Real) else type(value).__name__, value)


def _numbered(value: Any, known: dict[Any, int], name: str) -> int:
    """Return the number of a value in order of appearance, or -1 if it is missing."""
    if is_missing(value):
        return MISSING
    if not isinstance(value, Hashable):
        raise ValueError(f"{name} must be single values, got {value!r}. Pass numbers or strings.")
    return known.setdefault(value, len(known))
