"""The start of the data line: labels, probabilities and weights are checked here, once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankprune.core._blocks import blocks
from rankprune.core._label_values import are_equal as are_equal
from rankprune.core._label_values import (
    is_container,
    of_label_type,
    refuse_containers,
    refuse_missing_labels,
    refuse_single_class,
    two_classes,
    two_held_labels,
)
from rankprune.core._label_values import is_missing as is_missing
from rankprune.core._label_values import rows_equal_to as rows_equal_to
from rankprune.core._parameters import LARGEST

# Smallest positive weight; the largest is its inverse. Beyond them, squares would overflow.
_LIGHTEST = 1e-100
# Smallest share of the total weight of a class; a smaller one would be lost in rounding.
_LEAST_SHARE = 1e-12

BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.floating[Any]]

# How far the sum of a row of probabilities may be from 1.
NEAR_ONE = 1e-3


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

    @property
    def codes(self) -> NDArray[np.intp]:
        """Return the index of each row's label in ``classes``."""
        return np.asarray(self.is_positive == (self.positive_column == 1)).astype(np.intp)

    def __len__(self) -> int:
        return len(self.is_positive)


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
    given = of_label_type(given, "labels")
    refuse_missing_labels(given, "labels")
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
    return is_positive, real_numbers(numbers, "probabilities", "Pass predict_proba(X)[:, 1].")


def validate_batch_labels(labels: ArrayLike) -> NDArray[Any]:
    """Return the labels of a batch, of any values, after checking that none is missing."""
    values = as_array(labels, "labels")
    _refuse_other_shape(values, "labels")
    values = of_label_type(values, "labels")
    refuse_missing_labels(values, "labels")
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
    held = two_held_labels(labels)
    values = values_of_labels(labels, name) if held is None else held[1]
    weight = validate_sample_weight(sample_weight, len(values))
    counted = values if weight is None else values[weight > 0]
    if held is None:
        classes, is_second = two_classes(counted, name)
    else:
        classes, is_second = held
        refuse_single_class(classes[[not counted.all(), bool(counted.any())]], name)
    if pos_label is None:
        pos_label = classes[1]
    else:
        refuse_other_pos_label(pos_label, classes)
    if held is not None:
        is_second = is_second if are_equal(pos_label, classes[1]) else ~is_second
    elif weight is not None or pos_label != classes[1]:
        is_second = rows_equal_to(values, pos_label)
    if weight is not None:
        _refuse_lost_class(weight, is_second, classes, pos_label)
    return BinaryLabels(is_second, classes, pos_label), weight


def refuse_other_pos_label(pos_label: Any, classes: NDArray[Any]) -> None:
    """Raise an error unless the positive label is one of two."""
    if not any(are_equal(pos_label, value) for value in classes.tolist()):
        raise ValueError(
            f"pos_label must be one of the two label values {classes.tolist()}, got {pos_label!r}. "
            "Pass the class you want to detect, with the same type as in the labels."
        )


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
    if is_missing(unlabeled) or is_container(unlabeled):
        raise ValueError(
            f"unlabeled must be a single value that is not missing, got {unlabeled!r}. Fill the "
            "missing labels with a value of their own, such as -1, and pass that."
        )
    is_unlabeled = rows_equal_to(values_of_labels(labels, name), unlabeled)
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
    values = real_numbers(
        one_dimensional(values, name, "one P(positive) per row"),
        name,
        "Pass predict_proba(X)[:, 1].",
    )
    if n_rows is not None:
        _refuse_other_length(values, n_rows, name)
    return values


def validate_scores(scores: ArrayLike, n_rows: int, *, name: str = "scores") -> FloatArray:
    """Return scores of any scale as finite floats, one per row."""
    values = real_numbers(
        one_dimensional(as_array(scores, name), name, "one score per row"),
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
    values = real_numbers(
        one_dimensional(given, "sample_weight", "one weight per row"),
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
    values = one_dimensional(as_array(mask, name), name, "one boolean per row")
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
    reals: NDArray[np.float64] = real_numbers(values, "probabilities", advice).astype(np.float64)
    # Written so that NaN, which compares false, is caught too.
    wrong = ~((reals >= 0).all(axis=1) & (np.abs(reals.sum(axis=1) - 1) <= NEAR_ONE))
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
    values = of_label_type(values, name)
    if values.dtype == object:
        refuse_containers(values, name)
    return values


def validate_features(X: ArrayLike) -> NDArray[np.float64]:
    """Return a table of numbers as float64, small enough to be squared."""
    values = as_array(X, "X")
    if values.ndim != 2:
        raise ValueError(
            f"X must be two-dimensional, one row per label, got shape {values.shape}. Reshape it, "
            "e.g. with X.reshape(-1, 1) for a single feature."
        )
    rows: NDArray[np.float64] = real_numbers(values, "X", "Pass numbers.").astype(np.float64)
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
    choices = real_numbers(
        one_dimensional(as_array(values, name), name, "numbers to choose from"),
        name,
        "Pass a list such as [0.1, 1, 10].",
    )
    bad = np.flatnonzero(~((choices > 0) & (choices < np.inf)))
    if bad.size:
        raise ValueError(
            f"{name} must be finite and above 0, got {choices[bad[0]]:g}. Remove it from the list."
        )
    return [float(value) for value in choices]


def values_of_labels(labels: ArrayLike, name: str) -> NDArray[Any]:
    """Return labels of any values, one-dimensional and none of them missing."""
    if labels is None:
        raise ValueError(
            f"{name} must hold one label per row: Rank Pruning requires y to be passed, but the "
            "target y is None. Pass the given labels, right or wrong."
        )
    values = of_label_type(one_dimensional(as_array(labels, name), name, "one label per row"), name)
    refuse_missing_labels(values, name)
    return values


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


def one_dimensional(values: NDArray[Any], name: str, content: str) -> NDArray[Any]:
    """Return the values after checking that they are one-dimensional and not empty."""
    if values.ndim != 1:
        raise ValueError(
            f"{name} must be one-dimensional, {content}, got shape {values.shape}. "
            "Pass a single column, e.g. with ravel()."
        )
    if values.size == 0:
        raise ValueError(f"{name} must hold at least one row, got none. Check the selection.")
    return values


def real_numbers(values: NDArray[Any], name: str, advice: str) -> FloatArray:
    """Return real numbers of a native float type; those of float32 and float64 are not copied."""
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
