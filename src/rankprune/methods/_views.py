"""Two views of the same rows: which columns each one holds, checked to be a partition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import _num_samples

from rankprune.core._inputs import as_array
from rankprune.exceptions import AssumptionWarning, warn_caller

# The positions of a view's columns, or a function that returns the view.
View = NDArray[np.intp] | Callable[[Any], Any]

_SHOWN = 5


def resolve_views(views: Any, X: Any, generator: np.random.RandomState) -> tuple[View, View]:
    """Return the two views of X as positions of columns, or as functions."""
    if views is None:
        order = generator.permutation(_n_columns(X, at_least=2))
        half = (len(order) + 1) // 2
        return np.sort(order[:half]), np.sort(order[half:])
    if not isinstance(views, list | tuple) or len(views) != 2:
        raise ValueError(
            f"views must be a pair of views or None, got {views!r}. Pass e.g. two lists of columns."
        )
    first, second = (_resolve(view, f"views[{number}]", X) for number, view in enumerate(views))
    if not (callable(first) or callable(second)):
        _check_partition(first, second, X)
    return first, second


def as_columns(X: Any, views: Any) -> Any:
    """Return X in a form whose columns can be selected, unless both views are functions of it."""
    (X,) = indexable(X)
    if isinstance(views, list | tuple) and len(views) == 2 and all(map(callable, views)):
        return X
    table = X if hasattr(X, "shape") else as_array(X, "X")
    if len(table.shape) != 2:
        raise ValueError(
            f"X must have rows and columns, got shape {table.shape}. Reshape your data, e.g. with "
            "X.reshape(1, -1) for a single row, or pass two functions as views."
        )
    return table


def take_view(X: Any, view: View, number: int) -> Any:
    """Return one view of the rows of X."""
    if not callable(view):
        return _safe_indexing(X, view, axis=1)
    part = view(X)
    try:
        (part,) = indexable(part)
        n_rows = _num_samples(part)
    except TypeError as error:
        raise ValueError(
            f"views[{number}] must return rows, got {type(part).__name__}. Return an array, a "
            "data frame, a sparse matrix or a list."
        ) from error
    if n_rows != _num_samples(X):
        raise ValueError(
            f"views[{number}] must return one row per row of X, got {n_rows} for "
            f"{_num_samples(X)} rows. Select columns, not rows."
        )
    return part


def _n_columns(X: Any, at_least: int = 1) -> int:
    n_columns = int(X.shape[1])
    if n_columns < at_least:
        raise ValueError(
            f"X must have columns for two views; it has {n_columns} feature(s) (shape={X.shape}) "
            f"while a minimum of {at_least} is required. Pass two functions of X as views, or use "
            "a method that needs one view."
        )
    return n_columns


def _resolve(view: Any, name: str, X: Any) -> View:
    if callable(view):
        return view  # type: ignore[no-any-return]
    n_columns = _n_columns(X)
    if isinstance(view, slice):
        columns = _of_slice(view, name, n_columns)
    else:
        given = (
            [view] if isinstance(view, str | Integral) else as_array(view, name).ravel().tolist()
        )
        kinds = {_kind_of(value) for value in given}
        if len(kinds) > 1 or "other" in kinds:
            raise ValueError(
                f"{name} must hold column names, positions or booleans, all of one kind, got "
                f"{_shown(given)}. Pass e.g. ['title', 'text'] or [0, 1]."
            )
        columns = _of_list(given, kinds.pop(), name, X) if given else np.zeros(0, dtype=np.intp)
    if not columns.size:
        raise ValueError(
            f"{name} must hold at least one column, got {view!r}, which holds none. Give each view "
            "some columns, or pass views=None for random halves."
        )
    values, counts = np.unique(columns, return_counts=True)
    if (counts > 1).any():
        twice = _labels(values[counts > 1], X)
        raise ValueError(f"{name} must hold each column once, but repeats {_shown(twice)}.")
    return columns


def _kind_of(value: Any) -> str:
    kinds = (("name", str), ("boolean", bool), ("position", Integral))
    return next((kind for kind, types in kinds if isinstance(value, types)), "other")


def _of_list(given: Sequence[Any], kind: str, name: str, X: Any) -> NDArray[np.intp]:
    if kind == "name":
        return _of_names(given, name, X)
    return _of_mask(given, name, X) if kind == "boolean" else _of_positions(given, name, X)


def _of_slice(view: slice, name: str, n_columns: int) -> NDArray[np.intp]:
    try:
        return np.arange(n_columns, dtype=np.intp)[view]
    except TypeError as error:
        raise ValueError(
            f"{name} must be a slice of positions, got {view!r}. Pass a list of column names."
        ) from error


def _of_names(given: Sequence[str], name: str, X: Any) -> NDArray[np.intp]:
    if not hasattr(X, "columns"):
        raise ValueError(
            f"{name} holds column names, but X is of type {type(X).__name__}, which has none. Pass "
            "a data frame, or positions of columns."
        )
    names = list(X.columns)
    unknown = [one for one in given if one not in names]
    if unknown:
        raise ValueError(
            f"{name} must hold columns of X, which lacks {_shown(unknown)}. Its columns are "
            f"{_shown(names)}."
        )
    return np.array([names.index(one) for one in given], dtype=np.intp)


def _of_mask(given: Sequence[bool], name: str, X: Any) -> NDArray[np.intp]:
    if len(given) != _n_columns(X):
        raise ValueError(
            f"{name} must hold one boolean per column of X, got {len(given)} for "
            f"{_n_columns(X)} columns. Pass positions to select a few."
        )
    return np.flatnonzero(given)


def _of_positions(given: Sequence[int], name: str, X: Any) -> NDArray[np.intp]:
    n_columns = _n_columns(X)
    outside = [int(one) for one in given if not -n_columns <= one < n_columns]
    if outside:
        raise ValueError(
            f"{name} must hold positions from 0 to {n_columns - 1}, got {_shown(outside)}. Check "
            "that the views were made for this table."
        )
    return np.array([int(one) % n_columns for one in given], dtype=np.intp)


def _check_partition(first: NDArray[np.intp], second: NDArray[np.intp], X: Any) -> None:
    shared = np.intersect1d(first, second)
    if shared.size:
        raise ValueError(
            f"views must not share columns; both hold {_shown(_labels(shared, X))}. Leave each "
            "column in one view: two classifiers that see the same repeat each other's mistakes."
        )
    left_out = np.setdiff1d(np.arange(_n_columns(X)), np.concatenate([first, second]))
    if left_out.size:
        warn_caller(
            f"views should hold every column of X; {_shown(_labels(left_out, X))} will not be "
            "used. Add what is missing to a view, or drop it from X.",
            AssumptionWarning,
        )


def _labels(columns: NDArray[np.intp], X: Any) -> list[Any]:
    """Return the names of columns, or their positions if they have no names."""
    names = list(X.columns) if hasattr(X, "columns") else list(range(_n_columns(X)))
    return [names[column] for column in columns.tolist()]


def _shown(values: Sequence[Any]) -> str:
    """Return the first few values, separated by commas."""
    more = f" and {len(values) - _SHOWN} more" if len(values) > _SHOWN else ""
    return ", ".join(map(repr, values[:_SHOWN])) + more
