"""Values of labels: which are missing or equal, and which two classes they make.

Part of the checks of inputs.
"""

from __future__ import annotations

from collections.abc import Sized
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune.core._blocks import blocks

BoolArray = NDArray[np.bool_]


class MoreThanTwoClasses(ValueError):
    """Labels of more than two classes, where there must be two."""


def is_missing(value: Any) -> bool:
    """Return whether a single value is missing: None, NaN, NaT or pandas.NA."""
    # NaN and NaT differ from themselves; pandas.NA refuses to be compared at all.
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True
    except ValueError:  # an array has no truth value, but it is there
        return False


def are_equal(one: Any, other: Any) -> bool:
    """Return whether two single values are equal; values that cannot be compared are not."""
    if is_container(one):
        return False
    try:
        with np.errstate(over="ignore"):
            return bool(one == other)
    except (OverflowError, TypeError, ValueError):
        return False


def rows_equal_to(values: NDArray[Any], value: Any) -> BoolArray:
    """Return which rows hold a value; objects that cannot be compared do not."""
    try:
        with np.errstate(over="ignore"):
            found = np.asarray(values == value, dtype=bool)
        if found.shape == values.shape and not is_container(value):
            return found
    except (OverflowError, TypeError, ValueError):
        pass  # some objects cannot be compared: one by one
    return np.fromiter((are_equal(value, one) for one in values), bool, len(values))


def is_container(value: Any) -> bool:
    """Return whether a value holds others, such as a list."""
    return isinstance(value, Sized) and not isinstance(value, str | bytes)


def _is_no_label(value: Any) -> bool:
    return is_missing(value) or (isinstance(value, float | np.floating) and np.isinf(value))


def of_label_type(values: NDArray[Any], name: str) -> NDArray[Any]:
    """Return label values of a dtype that can be compared, variable-width text as objects."""
    if values.dtype.kind not in "biufUOT":
        complex_note = "Complex data not supported. " if values.dtype.kind == "c" else ""
        raise ValueError(
            f"{name} must be numbers, booleans or strings, got dtype {values.dtype}. {complex_note}"
            "Convert them, e.g. with astype(str)."
        )
    return values.astype(object, copy=False) if values.dtype.kind in "OT" else values


def refuse_missing_labels(values: NDArray[Any], name: str) -> None:
    """Raise an error that names the first missing label."""
    if values.dtype.kind == "f":
        missing = ~np.isfinite(values)
    elif values.dtype.kind == "O":
        if _are_labels(values):
            return
        refuse_containers(values, name)
        missing = np.fromiter((_is_no_label(value) for value in values), bool, len(values))
    else:
        return
    rows = np.flatnonzero(missing)
    if rows.size:
        raise ValueError(
            f"{name} must not be missing; row {rows[0]} holds {values[rows].tolist()[0]!r} "
            f"({rows.size} missing in all). Leave these rows out, or label them."
        )


def _are_labels(values: NDArray[Any]) -> bool:
    """Return whether objects are surely labels: each different one is looked at once."""
    different: set[Any] = set()
    try:
        for rows in blocks(len(values)):
            different.update(values[rows].tolist())
        return not any(is_container(value) or _is_no_label(value) for value in different)
    except (OverflowError, TypeError, ValueError):  # such as lists, which are not hashed
        return False


def refuse_containers(values: NDArray[Any], name: str) -> None:
    """Raise an error that names the first label that is a list or the like."""
    for row, value in enumerate(values.tolist()):
        if is_container(value):
            raise ValueError(
                f"{name} must be single values; row {row} holds {value!r}. Pass one label per row."
            )


def two_held_labels(labels: Any) -> tuple[NDArray[Any], BoolArray] | None:
    """Return the classes of labels held as objects or categories, and which rows have the second.

    Objects are looked up a block at a time, without copying or comparing all of them; of categories
    only the codes are read. None for all other labels, and for those that must be refused.
    """
    try:
        held = getattr(labels, "array", labels)  # that of a Series of pandas
        kind = getattr(getattr(held, "dtype", None), "kind", None)
        is_masked = isinstance(held, np.ma.MaskedArray)
        if kind not in ("O", "T") or is_masked or getattr(held, "ndim", 0) != 1:
            return None
        with np.errstate(over="ignore"):  # as in two_classes
            found = _two_categories(held) if hasattr(held, "codes") else _two_objects(held)
            if found is None:
                return None
            (first, second), is_second = found
            low, high = min(first, second), max(first, second)
            # As in _two_values: numbers or strings get their own dtype.
            return np.array([low, high]), is_second if high is second else ~is_second
    except (OverflowError, TypeError, ValueError):
        return None


class _NumberOf(dict[Any, int]):
    """The numbers of labels, from 0 on, in the order in which they are first seen."""

    def __init__(self, most: int) -> None:
        self._most = most

    def __missing__(self, label: Any) -> int:
        if len(self) == self._most or _is_no_label(label) or is_container(label):
            raise ValueError("no label, or too many")
        return self.setdefault(label, len(self))


def _numbered(held: Any, most: int, dtype: type) -> tuple[list[Any], NDArray[Any]]:
    """Return the different labels in the order in which they are first seen, and their numbers."""
    numbers = _NumberOf(most)
    codes: NDArray[Any] = np.empty(len(held), dtype=dtype)
    for rows in blocks(len(held)):
        block = np.asarray(held[rows], dtype=object).tolist()
        codes[rows] = np.fromiter(map(numbers.__getitem__, block), dtype, len(block))
    return list(numbers), codes


def _two_objects(held: Any) -> tuple[list[Any], BoolArray] | None:
    found, codes = _numbered(held, 2, bool)
    return (found, codes) if len(found) == 2 else None


def _two_categories(held: Any) -> tuple[list[Any], BoolArray] | None:
    found = _two_values(held.codes) if len(held) else None
    if found is None or found[0][0] < 0:  # the code of missing values
        return None
    categories = of_label_type(np.asarray(held.categories), "labels")
    values = [categories[code] for code in found[0].tolist()]
    return None if any(map(_is_no_label, values)) else (values, found[1])


def two_classes(values: NDArray[Any], name: str) -> tuple[NDArray[Any], BoolArray]:
    """Return the two sorted values and which rows have the second."""
    try:
        with np.errstate(over="ignore"):  # NumPy rounds to compare numbers of different types
            found = _two_values(values)
            if found is not None:
                return found
            classes = np.unique(values)
    except (OverflowError, TypeError, ValueError):
        raise _unsortable(values, name) from None
    refuse_continuous(values, classes, name)
    refuse_single_class(classes, name)
    shown = ", ".join(map(repr, classes[:5].tolist())) + (", ..." if len(classes) > 5 else "")
    raise MoreThanTwoClasses(
        f"{name} must hold two classes, got {len(classes)}: {shown}. Only binary "
        "classification is supported. The type of the target is multiclass. "
        "RankPruningClassifier takes any number of classes, and so does estimate_noise_rates with "
        "a column of probabilities per class; for other classifiers, use "
        "sklearn.multiclass.OneVsRestClassifier, or pass labels == value."
    )


def sorted_values(values: NDArray[Any], name: str) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the different values in sorted order, and the number of each row's value."""
    numbers = None
    try:
        with np.errstate(over="ignore"):  # as in two_classes
            if values.dtype.kind in "OU":  # looked up, because they take long to compare
                different, numbers = _numbered(values, len(values), np.int32)
                values = np.array(different, dtype=values.dtype)
            found, codes = np.unique(values, return_inverse=True)
    except (OverflowError, TypeError, ValueError):
        raise _unsortable(values, name) from None
    codes = codes if numbers is None else codes[numbers]
    # Numbers or strings held as objects get their own dtype.
    return np.array(found.tolist()) if found.dtype == object else found, codes


def _unsortable(values: NDArray[Any], name: str) -> ValueError:
    kinds = sorted({type(value).__name__ for value in values})
    return ValueError(
        f"{name} must be of one type that can be sorted, got {', '.join(kinds)}. "
        "Convert them, e.g. with astype(str)."
    )


def refuse_continuous(values: NDArray[Any], classes: NDArray[Any], name: str) -> None:
    """Raise an error if more than two classes are no whole numbers."""
    if values.dtype.kind == "f" and len(classes) > 2 and (classes != np.round(classes)).any():
        raise ValueError(
            f"{name} must hold classes, got continuous values such as {classes.tolist()[0]!r}. "
            "Unknown label type: continuous. Cut the values at a threshold, or use a regressor."
        )


def _two_values(values: NDArray[Any]) -> tuple[NDArray[Any], BoolArray] | None:
    """Return the two classes and which rows have the larger one, or None if there are not two.

    Comparing blocks of rows with two values takes less time and memory than sorting all of them.
    """
    first = values[0]
    other = None
    for rows in blocks(len(values)):
        differs = np.asarray(values[rows] != first, dtype=bool)
        if differs.any():
            other = values[rows][differs.argmax()]
            break
    if other is None:
        return None
    low, high = min(first, other), max(first, other)
    # Numbers or strings held as objects get their own dtype.
    classes = np.array([low, high], dtype=None if values.dtype == object else values.dtype)
    # Labels of one byte that are already 0 and 1 are checked without a copy.
    is_view = values.dtype.itemsize == 1 and low == 0 and high == 1
    is_high = values.view(bool) if is_view else np.empty(len(values), dtype=bool)
    n_found = 0
    for rows in blocks(len(values)):
        block = values[rows]
        n_found += int(np.count_nonzero(np.asarray(block == low, dtype=bool)))
        matches = np.asarray(block == high, dtype=bool)
        n_found += int(np.count_nonzero(matches))
        if not is_view:
            is_high[rows] = matches
    return (classes, is_high) if n_found == len(values) else None


def refuse_single_class(classes: NDArray[Any], name: str) -> None:
    """Raise an error if there is one class only."""
    if len(classes) == 1:
        raise ValueError(
            f"{name} must hold two classes, got one class only: {classes.tolist()}. "
            "Pass rows of both classes."
        )


def short_name(value: Any, most: int) -> str:
    """Return a label value on one line; of a long one, which may differ in its end only, both ends.

    Examples
    --------
    >>> from rankprune.core._label_values import short_name
    >>> short_name("a rather long name 17", 12)
    'a rath…me 17'
    """
    name = " ".join(str(value).split())
    return (
        name if len(name) <= most else f"{name[: most // 2]}…{name[len(name) - (most - 1) // 2 :]}"
    )
