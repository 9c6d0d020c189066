"""The start of the data line: labels, probabilities and weights are checked here, once."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sized
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankprune.core._parameters import LARGEST

# Number of rows per block: large enough to hide Python's overhead, small enough to stay in cache.
BLOCK_ROWS = 1 << 16
# Smallest positive weight; the largest is its inverse. Beyond them, squares would overflow.
_LIGHTEST = 1e-100
# Smallest share of the total weight of a class; a smaller one would be lost in rounding.
_LEAST_SHARE = 1e-12

BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.floating[Any]]

# How far the sum of a row of probabilities may be from 1.
_NEAR_ONE = 1e-3


def blocks(n_rows: int) -> Iterator[slice]:
    """Yield slices that cover ``n_rows`` rows in order, a cache-sized block at a time."""
    for start in range(0, n_rows, BLOCK_ROWS):
        yield slice(start, min(start + BLOCK_ROWS, n_rows))


def float_block(values: FloatArray, rows: slice) -> NDArray[np.float64]:
    """Return some rows as float64, so that float32 input is compared without being rounded."""
    return np.asarray(values[rows], dtype=np.float64)


def count_true(mask: BoolArray) -> int:
    """Return the number of True values as a Python integer."""
    return int(np.count_nonzero(mask))


@dataclass(frozen=True)
class BinaryLabels:
    """Checked labels: which rows are positive, and the two values in sorted order."""

    is_positive: BoolArray
    classes: NDArray[Any]
    pos_label: Any

    @property
    def positive_column(self) -> int:
        """Return the index of the positive label in ``classes``."""
        return int(self.classes[1] == self.pos_label)


@dataclass(frozen=True)
class Inputs:
    """Checked labels, probabilities and weights of the same length."""

    is_positive: BoolArray
    probabilities: FloatArray
    sample_weight: NDArray[np.float64] | None


def validate_inputs(
    labels: ArrayLike,
    probabilities: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> Inputs:
    """Return labels, probabilities and weights, checked one by one and against each other."""
    checked, weight = validate_weighted_labels(labels, sample_weight, pos_label=pos_label)
    n_rows = len(checked.is_positive)
    return Inputs(checked.is_positive, validate_probabilities(probabilities, n_rows), weight)


def validate_labeled_numbers(
    labels: ArrayLike,
    probabilities: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> Inputs:
    """Return labels, probabilities and weights as `validate_inputs` does, but in any range.

    For passes over the rows that check the range as they go.
    """
    checked, weight = validate_weighted_labels(labels, sample_weight, pos_label=pos_label)
    numbers = _probability_numbers(probabilities, len(checked.is_positive), "probabilities")
    return Inputs(checked.is_positive, numbers, weight)


def validate_batch(labels: ArrayLike, probabilities: ArrayLike) -> tuple[BoolArray, FloatArray]:
    """Return the labels (0 or 1) and the numbers of a batch; the range is not checked yet.

    A batch may be empty, or hold only one of the two labels.
    """
    given, numbers = as_array(labels, "labels"), as_array(probabilities, "probabilities")
    for values, name in ((given, "labels"), (numbers, "probabilities")):
        _refuse_other_shape(values, name)
    _refuse_other_length(numbers, len(given), "probabilities")
    given = _of_label_type(given, "labels")
    _refuse_missing_labels(given, "labels")
    is_positive = given
    if not given.size:
        is_positive = np.zeros(0, dtype=bool)
    elif given.dtype.kind in "iu" and given.dtype.itemsize == 1:
        if given.view(np.uint8).max() > 1:
            _refuse_other_labels(given)
        is_positive = given.view(bool)
    elif given.dtype != bool:
        is_positive = np.asarray(given == 1, dtype=bool)
        if not (is_positive | np.asarray(given == 0, dtype=bool)).all():
            _refuse_other_labels(given)
    return is_positive, _real_numbers(numbers, "probabilities", "Pass predict_proba(X)[:, 1].")


def validate_batch_labels(labels: ArrayLike) -> NDArray[Any]:
    """Return the labels of a batch, of any values, after checking that none is missing."""
    values = as_array(labels, "labels")
    _refuse_other_shape(values, "labels")
    values = _of_label_type(values, "labels")
    _refuse_missing_labels(values, "labels")
    return values


def _refuse_other_shape(values: NDArray[Any], name: str) -> None:
    if values.ndim != 1:
        raise ValueError(
            f"{name} must be one-dimensional in every batch, got shape {values.shape}. Pass a "
            "single column."
        )


def _refuse_other_labels(given: NDArray[Any]) -> None:
    row = int(np.flatnonzero(~np.asarray((given == 0) | (given == 1), dtype=bool))[0])
    raise ValueError(
        f"labels must be 0 or 1 in every batch; row {row} of a batch holds "
        f"{given.tolist()[row]!r}. For other labels, name the positive one with pos_label."
    )


def validate_weighted_labels(
    labels: ArrayLike,
    sample_weight: ArrayLike | None,
    *,
    pos_label: Any = None,
    name: str = "labels",
) -> tuple[BinaryLabels, NDArray[np.float64] | None]:
    """Return checked labels and weights.

    Only rows of positive weight determine the two classes; a value that occurs only in rows of
    weight zero does not count.
    """
    held = _two_held_labels(labels)
    values = _label_values(labels, name) if held is None else held[1]
    weight = validate_sample_weight(sample_weight, len(values))
    counted = values if weight is None else values[weight > 0]
    if held is None:
        classes, is_second = _two_classes(counted, name)
    else:
        classes, is_second = held
        _refuse_single_class(classes[[not counted.all(), bool(counted.any())]], name)
    if pos_label is None:
        pos_label = classes[1]
    elif not any(are_equal(pos_label, value) for value in classes.tolist()):
        raise ValueError(
            f"pos_label must be one of the two label values {classes.tolist()}, got {pos_label!r}. "
            "Pass the class you want to detect, with the same type as in the labels."
        )
    if held is not None:
        is_second = is_second if are_equal(pos_label, classes[1]) else ~is_second
    elif weight is not None or pos_label != classes[1]:
        is_second = rows_equal_to(values, pos_label)
    if weight is not None:
        _refuse_lost_class(weight, is_second, classes, pos_label)
    return BinaryLabels(is_second, classes, pos_label), weight


def _refuse_lost_class(
    weight: NDArray[np.float64], is_positive: BoolArray, classes: NDArray[Any], pos_label: Any
) -> None:
    """Raise an error if one class weighs so little that its share would vanish by rounding."""
    total, positive = float(weight.sum()), float(weight[is_positive].sum())
    negative = float(weight[~is_positive].sum())
    if min(positive, negative) >= _LEAST_SHARE * total:
        return
    is_lighter = classes == pos_label if positive < negative else classes != pos_label
    raise ValueError(
        f"sample_weight must give each class at least {_LEAST_SHARE:g} of the total weight; rows "
        f"labeled {classes[is_lighter].tolist()[0]!r} have {min(positive, negative) / total:.2g} "
        "of it. Reduce the largest weights."
    )


def validate_unlabeled(labels: ArrayLike, unlabeled: Any, *, name: str = "labels") -> BoolArray:
    """Return which rows hold the value that marks unlabeled rows; some must, and some must not."""
    if is_missing(unlabeled) or _is_container(unlabeled):
        raise ValueError(
            f"unlabeled must be a single value that is not missing, got {unlabeled!r}. Fill the "
            "missing labels with a value of their own, such as -1, and pass that."
        )
    is_unlabeled = rows_equal_to(_label_values(labels, name), unlabeled)
    if not is_unlabeled.any():
        raise ValueError(
            f"{name} must hold rows marked {unlabeled!r}, which means unlabeled, got none. Check "
            "the value and its type; without such rows, fit the estimator itself."
        )
    if is_unlabeled.all():
        raise ValueError(
            f"{name} must hold labeled rows of two classes, but all rows are marked {unlabeled!r}, "
            "which means unlabeled. Label a few of each class."
        )
    return is_unlabeled


def validate_labels(
    labels: ArrayLike, *, pos_label: Any = None, name: str = "labels"
) -> BinaryLabels:
    """Return the labels as a boolean array with their two values."""
    return validate_weighted_labels(labels, None, pos_label=pos_label, name=name)[0]


def validate_probabilities(
    probabilities: ArrayLike, n_rows: int | None, *, name: str = "probabilities"
) -> FloatArray:
    """Return the probabilities as a float array of ``n_rows`` values (if given) in [0, 1]."""
    values = _probability_numbers(probabilities, n_rows, name)
    for rows in blocks(len(values)):
        block = values[rows]
        # Written so that NaN, which compares false, is caught too.
        if not (block.min() >= 0 and block.max() <= 1):
            refuse_improbable(values, name)
    return values


def _probability_numbers(probabilities: ArrayLike, n_rows: int | None, name: str) -> FloatArray:
    """Return one probability per row as a float array, before its range is checked."""
    values = as_array(probabilities, name)
    if values.ndim == 2:
        raise ValueError(
            f"{name} must be one-dimensional, one P(positive) per row, got shape {values.shape}. "
            "Pass one column: predict_proba(X)[:, 1] if the positive class is classes_[1]."
        )
    values = _real_numbers(
        _one_dimensional(values, name, "one P(positive) per row"),
        name,
        "Pass predict_proba(X)[:, 1].",
    )
    if n_rows is not None:
        _refuse_other_length(values, n_rows, name)
    return values


def validate_scores(scores: ArrayLike, n_rows: int, *, name: str = "scores") -> FloatArray:
    """Return scores of any scale as finite floats, one per row."""
    values = _real_numbers(
        _one_dimensional(as_array(scores, name), name, "one score per row"),
        name,
        "Pass predict_proba(X)[:, 1] or decision_function(X).",
    )
    _refuse_other_length(values, n_rows, name)
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise ValueError(
            f"{name} must be finite; row {bad[0]} holds {values[bad[0]]:g}. Find out why the model "
            "gives no score there, or leave the row out."
        )
    return values


def validate_sample_weight(
    sample_weight: ArrayLike | None, n_rows: int, *, may_vanish: bool = False
) -> NDArray[np.float64] | None:
    """Return the weights as finite, non-negative float64, or None if none were given.

    All of them may be 0 only if ``may_vanish``, as in one batch of many.
    """
    if sample_weight is None:
        return None
    given = as_array(sample_weight, "sample_weight")
    values = _real_numbers(
        _one_dimensional(given, "sample_weight", "one weight per row"),
        "sample_weight",
        "Pass one number per row, or None.",
    ).astype(np.float64)
    _refuse_other_length(values, n_rows, "sample_weight")
    bad = np.flatnonzero(~((values >= 0) & (values < np.inf)))
    if bad.size:
        raise ValueError(
            f"sample_weight must be finite and not negative; row {bad[0]} holds "
            f"{values[bad[0]]}. A weight of 0 leaves a row out."
        )
    bad = np.flatnonzero((values > 0) & ((values < _LIGHTEST) | (values > 1 / _LIGHTEST)))
    if bad.size:
        raise ValueError(
            f"sample_weight must be 0 or lie between {_LIGHTEST:g} and {1 / _LIGHTEST:g}; row "
            f"{bad[0]} holds {values[bad[0]]}. Divide the weights by their mean."
        )
    if not may_vanish and not values.any():
        raise ValueError(
            "sample_weight must be above 0 for some row; all weights are zero. "
            "Pass None to weight all rows equally."
        )
    return values


def validate_trusted(trusted: ArrayLike | None, n_rows: int) -> BoolArray:
    """Return a boolean array that marks the rows whose labels a person has settled."""
    if trusted is None:
        return np.zeros(n_rows, dtype=bool)
    return validate_mask(trusted, n_rows, "trusted", "settled rows")


def validate_mask(mask: ArrayLike, n_rows: int, name: str, marked: str) -> BoolArray:
    """Return a mask, checked to be a boolean array with one value per row."""
    values = _one_dimensional(as_array(mask, name), name, "one boolean per row")
    if values.dtype != bool:
        raise ValueError(
            f"{name} must be a boolean array, got dtype {values.dtype}. Mark {marked} with True, "
            "the others with False."
        )
    _refuse_other_length(values, n_rows, name)
    return values


def validate_class_probabilities(
    probabilities: ArrayLike, n_rows: int, n_classes: int
) -> NDArray[np.float64]:
    """Return the probability of every class, one row per label."""
    values = as_array(probabilities, "probabilities")
    advice = "Pass the result of predict_proba."
    if values.shape != (n_rows, n_classes):
        raise ValueError(
            f"probabilities must have {n_rows} rows and {n_classes} columns, one per class in the "
            f"order of classes_, got shape {values.shape}. {advice}"
        )
    reals: NDArray[np.float64] = _real_numbers(values, "probabilities", advice).astype(np.float64)
    # Written so that NaN, which compares false, is caught too.
    wrong = ~((reals >= 0).all(axis=1) & (np.abs(reals.sum(axis=1) - 1) <= _NEAR_ONE))
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(
            f"probabilities must be at least 0 and have a sum of 1 in each row; row {row} holds "
            f"{reals[row].tolist()}. {advice}"
        )
    return reals


def validate_predictions(
    predictions: ArrayLike, n_rows: int, name: str, advice: str = "Pass what predict(X) returns."
) -> NDArray[Any]:
    """Return labels of any values, one per row, such as predicted ones."""
    values = as_array(predictions, name)
    if values.shape != (n_rows,):
        raise ValueError(
            f"{name} must have one label per row, got shape {values.shape} for {n_rows} labels. "
            f"{advice}"
        )
    values = _of_label_type(values, name)
    if values.dtype == object:
        _refuse_containers(values, name)
    return values


def validate_features(X: ArrayLike) -> NDArray[np.float64]:
    """Return a table of numbers as float64, small enough to be squared."""
    values = as_array(X, "X")
    if values.ndim != 2:
        raise ValueError(
            f"X must be two-dimensional, one row per label, got shape {values.shape}. Reshape it, "
            "e.g. with X.reshape(-1, 1) for a single feature."
        )
    rows: NDArray[np.float64] = _real_numbers(values, "X", "Pass numbers.").astype(np.float64)
    # Written so that NaN, which compares false, is caught too.
    bad = np.argwhere(~(np.abs(rows) <= LARGEST))
    if len(bad):
        raise ValueError(
            f"X must hold numbers from {-LARGEST:g} to {LARGEST:g}; row {bad[0][0]} holds "
            f"{rows[tuple(bad[0])]:g}. Leave the row out, or scale the feature."
        )
    return rows


def validate_choices(values: Any, name: str) -> list[float]:
    """Return a non-empty list of positive numbers to choose from."""
    choices = _real_numbers(
        _one_dimensional(as_array(values, name), name, "numbers to choose from"),
        name,
        "Pass a list such as [0.1, 1, 10].",
    )
    bad = np.flatnonzero(~((choices > 0) & (choices < np.inf)))
    if bad.size:
        raise ValueError(
            f"{name} must be finite and above 0, got {choices[bad[0]]:g}. Remove it from the list."
        )
    return [float(value) for value in choices]


def _label_values(labels: ArrayLike, name: str) -> NDArray[Any]:
    if labels is None:
        raise ValueError(
            f"{name} must hold one label per row: Rank Pruning requires y to be passed, but the "
            "target y is None. Pass the given labels, right or wrong."
        )
    values = _of_label_type(
        _one_dimensional(as_array(labels, name), name, "one label per row"), name
    )
    _refuse_missing_labels(values, name)
    return values


def _of_label_type(values: NDArray[Any], name: str) -> NDArray[Any]:
    """Return label values of a dtype that can be compared, variable-width text as objects."""
    if values.dtype.kind not in "biufUOT":
        complex_note = "Complex data not supported. " if values.dtype.kind == "c" else ""
        raise ValueError(
            f"{name} must be numbers, booleans or strings, got dtype {values.dtype}. {complex_note}"
            "Convert them, e.g. with astype(str)."
        )
    return values.astype(object, copy=False) if values.dtype.kind in "OT" else values


def as_array(values: Any, name: str) -> NDArray[Any]:
    """Return the values as an array, after checking that none is masked."""
    if np.ma.is_masked(values):
        row = int(np.argwhere(np.atleast_1d(np.ma.getmaskarray(values)))[0][0])
        raise ValueError(
            f"{name} must not be missing; row {row} is masked. Leave masked rows out, or fill them."
        )
    try:
        return np.asarray(values)
    except (OverflowError, TypeError, ValueError) as error:
        raise ValueError(
            f"{name} must be an array of single values, but NumPy cannot convert "
            f"{type(values).__name__}: {error} Pass one value per row."
        ) from error


def _one_dimensional(values: NDArray[Any], name: str, content: str) -> NDArray[Any]:
    if values.ndim != 1:
        raise ValueError(
            f"{name} must be one-dimensional, {content}, got shape {values.shape}. "
            "Pass a single column, e.g. with ravel()."
        )
    if values.size == 0:
        raise ValueError(f"{name} must hold at least one row, got none. Check the selection.")
    return values


def _real_numbers(values: NDArray[Any], name: str, advice: str) -> FloatArray:
    if values.dtype.kind == "f" and values.dtype.itemsize in (4, 8):
        # Code that reads the bits of a float would misread bytes in a foreign order.
        return values if values.dtype.isnative else values.astype(values.dtype.newbyteorder("="))
    is_complex = values.dtype.kind == "O" and any(map(np.iscomplexobj, values.ravel().tolist()))
    if values.dtype.kind in "biufO" and not is_complex:
        try:
            with np.errstate(over="ignore"):  # beyond the range of float64 is infinite
                return values.astype(np.float64)
        except (OverflowError, TypeError, ValueError):
            pass  # objects that are no numbers, or too large: reported below
    raise ValueError(f"{name} must be real numbers, got dtype {values.dtype}. {advice}")


def _refuse_other_length(values: NDArray[Any], n_rows: int, name: str) -> None:
    if len(values) != n_rows:
        raise ValueError(
            f"{name} must have one value per label, got {len(values)} for {n_rows} labels. "
            "Check that both come from the same rows."
        )


def refuse_improbable(values: FloatArray, name: str) -> None:
    """Raise an error that names the first value outside [0, 1]."""
    row = int(np.flatnonzero(~((values >= 0) & (values <= 1)))[0])
    if math.isnan(values[row]):
        advice = "Find out why the model gives no score there, or leave the row out."
    else:
        advice = "Pass predict_proba(X)[:, 1], not decision scores."
    # In full: 1 + 1e-9 must not be shown as 1.
    shown = repr(float(values[row])).removesuffix(".0")
    raise ValueError(f"{name} must lie in [0, 1]; row {row} holds {shown}. {advice}")


def _refuse_missing_labels(values: NDArray[Any], name: str) -> None:
    if values.dtype.kind == "f":
        missing = ~np.isfinite(values)
    elif values.dtype.kind == "O":
        _refuse_containers(values, name)
        missing = np.fromiter((_is_no_label(value) for value in values), bool, len(values))
    else:
        return
    rows = np.flatnonzero(missing)
    if rows.size:
        raise ValueError(
            f"{name} must not be missing; row {rows[0]} holds {values[rows].tolist()[0]!r} "
            f"({rows.size} missing in all). Leave these rows out, or label them."
        )


def _refuse_containers(values: NDArray[Any], name: str) -> None:
    for row, value in enumerate(values.tolist()):
        if _is_container(value):
            raise ValueError(
                f"{name} must be single values; row {row} holds {value!r}. Pass one label per row."
            )


def _is_container(value: Any) -> bool:
    return isinstance(value, Sized) and not isinstance(value, str | bytes)


def _is_no_label(value: Any) -> bool:
    return is_missing(value) or (isinstance(value, float | np.floating) and np.isinf(value))


def is_missing(value: Any) -> bool:
    """Return whether a single value is missing: None, NaN, NaT or pandas.NA."""
    # NaN and NaT differ from themselves; pandas.NA refuses to be compared at all.
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True
    except ValueError:  # an array has no truth value, but it is there
        return False


def rows_equal_to(values: NDArray[Any], value: Any) -> BoolArray:
    """Return which rows hold a value; objects that cannot be compared do not."""
    try:
        with np.errstate(over="ignore"):
            found = np.asarray(values == value, dtype=bool)
        if found.shape == values.shape and not _is_container(value):
            return found
    except (OverflowError, TypeError, ValueError):
        pass  # some objects cannot be compared: one by one
    return np.fromiter((are_equal(value, one) for one in values), bool, len(values))


def are_equal(one: Any, other: Any) -> bool:
    """Return whether two single values are equal; values that cannot be compared are not."""
    if _is_container(one):
        return False
    try:
        with np.errstate(over="ignore"):
            return bool(one == other)
    except (OverflowError, TypeError, ValueError):
        return False


def _two_classes(values: NDArray[Any], name: str) -> tuple[NDArray[Any], BoolArray]:
    """Return the two sorted values and which rows have the second."""
    try:
        with np.errstate(over="ignore"):  # NumPy rounds to compare numbers of different types
            found = _two_values(values)
            if found is not None:
                return found
            classes = np.unique(values)
    except (OverflowError, TypeError, ValueError):
        kinds = sorted({type(value).__name__ for value in values})
        raise ValueError(
            f"{name} must be of one type that can be sorted, got {', '.join(kinds)}. "
            "Convert them, e.g. with astype(str)."
        ) from None
    if values.dtype.kind == "f" and len(classes) > 2 and (classes != np.round(classes)).any():
        raise ValueError(
            f"{name} must hold two classes, got continuous values such as {classes.tolist()[0]!r}. "
            "Unknown label type: continuous. Cut the values at a threshold, or use a regressor."
        )
    _refuse_single_class(classes, name)
    shown = ", ".join(map(repr, classes[:5].tolist())) + (", ..." if len(classes) > 5 else "")
    raise ValueError(
        f"{name} must hold two classes, got {len(classes)}: {shown}. Only binary "
        "classification is supported. The type of the target is multiclass. Wrap the "
        "classifier in sklearn.multiclass.OneVsRestClassifier, or pass labels == value."
    )


def _refuse_single_class(classes: NDArray[Any], name: str) -> None:
    if len(classes) == 1:
        raise ValueError(
            f"{name} must hold two classes, got one class only: {classes.tolist()}. "
            "Pass rows of both classes."
        )


class _NumberOf(dict[Any, int]):
    """The numbers 0 and 1 of two labels, in the order in which they are first seen."""

    def __missing__(self, label: Any) -> int:
        if len(self) == 2 or _is_no_label(label) or _is_container(label):
            raise ValueError("not one of two labels")
        return self.setdefault(label, len(self))


def _two_held_labels(labels: Any) -> tuple[NDArray[Any], BoolArray] | None:
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
        with np.errstate(over="ignore"):  # as in _two_classes
            found = _two_categories(held) if hasattr(held, "codes") else _two_objects(held)
            if found is None:
                return None
            (first, second), is_second = found
            low, high = min(first, second), max(first, second)
            # As in _two_values: numbers or strings get their own dtype.
            return np.array([low, high]), is_second if high is second else ~is_second
    except (OverflowError, TypeError, ValueError):
        return None


def _two_objects(held: Any) -> tuple[list[Any], BoolArray] | None:
    numbers = _NumberOf()
    codes = np.empty(len(held), dtype=bool)
    for rows in blocks(len(held)):
        block = np.asarray(held[rows], dtype=object).tolist()
        codes[rows] = np.fromiter(map(numbers.__getitem__, block), bool, len(block))
    return (list(numbers), codes) if len(numbers) == 2 else None


def _two_categories(held: Any) -> tuple[list[Any], BoolArray] | None:
    found = _two_values(held.codes) if len(held) else None
    if found is None or found[0][0] < 0:  # the code of missing values
        return None
    categories = _of_label_type(np.asarray(held.categories), "labels")
    values = [categories[code] for code in found[0].tolist()]
    return None if any(map(_is_no_label, values)) else (values, found[1])


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
        n_found += count_true(np.asarray(block == low, dtype=bool))
        matches = np.asarray(block == high, dtype=bool)
        n_found += count_true(matches)
        if not is_view:
            is_high[rows] = matches
    return (classes, is_high) if n_found == len(values) else None
