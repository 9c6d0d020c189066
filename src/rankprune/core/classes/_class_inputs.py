"""The start of the data line for any number of classes: labels, classes and scores are checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankprune.core._blocks import blocks
from rankprune.core._inputs import (
    NEAR_ONE,
    BoolArray,
    FloatArray,
    as_array,
    one_dimensional,
    real_numbers,
    refuse_other_pos_label,
    validate_batch_labels,
    validate_sample_weight,
    values_of_labels,
)
from rankprune.core._label_values import (
    are_equal,
    is_container,
    is_missing,
    refuse_continuous,
    sorted_values,
)
from rankprune.core.classes._class_loops import BLOCK_CELLS, are_distributions, sum_to_one

Codes = NDArray[np.signedinteger[Any]]
Reals = NDArray[np.float64]

# Whole numbers over a smaller range than this are counted instead of sorted.
_COUNTED_RANGE = 1 << 16
# Whole numbers up to this are exact as float64.
_LARGEST_WHOLE = 1 << 53
_ADVICE = "Pass the result of predict_proba."
_ROW, _BATCH_ROW = "row {}", "row {} of a batch"


@dataclass(frozen=True)
class ClassInputs:
    """Labels as numbers of columns, the classes in the order of columns, scores and weights."""

    codes: Codes
    classes: NDArray[Any]
    probabilities: FloatArray
    sample_weight: Reals | None = None
    is_batch: bool = False

    def __len__(self) -> int:
        return len(self.codes)

    def rows(self, rows: NDArray[Any]) -> ClassInputs:
        """Return some of the rows, without weights."""
        return ClassInputs(self.codes[rows], self.classes, self.probabilities[rows])

    def slices(self, n_cells: int = BLOCK_CELLS) -> Iterator[slice]:
        """Yield the rows that are read at a time, with about so many scores."""
        size = block_rows(len(self.classes), n_cells)
        for start in range(0, len(self), size):
            yield slice(start, min(start + size, len(self)))

    def part(self, rows: slice) -> tuple[Codes, FloatArray]:
        """Return the labels and scores of some rows, not checked yet."""
        return self.codes[rows], self.probabilities[rows]

    def blocks(self) -> Iterator[tuple[slice, NDArray[np.intp], Reals]]:
        """Yield rows, their labels and their scores as float64; a bad row is an error."""
        for rows in self.slices():
            scores = np.ascontiguousarray(self.probabilities[rows], dtype=np.float64)
            if not are_distributions(scores):
                self.refuse_bad_rows(rows)
            yield rows, self.codes[rows].astype(np.intp), scores

    def refuse_bad_rows(self, rows: slice) -> None:
        """Raise an error that names the first of these rows that is no distribution."""
        scores = np.array(self.probabilities[rows], dtype=np.float64)
        _refuse_bad_rows(scores, rows.start, _BATCH_ROW if self.is_batch else _ROW)


def block_rows(n_classes: int, n_cells: int = BLOCK_CELLS) -> int:
    """Return how many rows are read at a time."""
    return max(1, n_cells // n_classes)


def is_matrix(probabilities: Any) -> bool:
    """Return whether there is a row of probabilities for each label."""
    if isinstance(probabilities, list | tuple):
        return bool(probabilities) and is_container(probabilities[0])
    return getattr(probabilities, "ndim", None) == 2


def validate_class_inputs(
    labels: ArrayLike,
    probabilities: ArrayLike,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> ClassInputs:
    """Return labels and scores, checked against each other; rows are checked as they are read."""
    values = values_of_labels(labels, "labels")
    scores = as_array(probabilities, "probabilities")
    _refuse_other_than_table(scores)
    codes, known = codes_of_labels(values, classes)
    refuse_other_columns(scores.shape[1], known, are_named=classes is not None)
    refuse_other_length(scores, len(codes))
    weight = validate_sample_weight(sample_weight, len(codes))
    return ClassInputs(codes, known, real_numbers(scores, "probabilities", _ADVICE), weight)


def validate_class_batch(
    labels: ArrayLike, probabilities: ArrayLike, classes: NDArray[Any], *, are_named: bool = True
) -> ClassInputs:
    """Return the labels and scores of a batch, which may be empty or lack labels of any class.

    The classes are those of the columns, named by the caller or collected from all labels.
    """
    found, codes, scores = validate_unnamed_batch(labels, probabilities)
    if not len(codes):
        return ClassInputs(codes, classes, np.zeros((0, len(classes))), is_batch=True)
    refuse_other_columns(scores.shape[1], classes, are_named=are_named)
    columns, strangers = _columns_of(found, classes)
    if strangers.size:
        if not are_named:
            more = np.array([*classes.tolist(), *[found[place] for place in strangers]])
            refuse_other_columns(scores.shape[1], more, are_named=False)
        raise _not_among(classes, found, codes, int(strangers[0]), "labels", _BATCH_ROW)
    return ClassInputs(_columns_of_rows(columns, codes, classes), classes, scores, is_batch=True)


def validate_unnamed_batch(
    labels: ArrayLike, probabilities: ArrayLike
) -> tuple[list[Any], Codes, FloatArray]:
    """Return the sorted labels of a batch, the number of each row's label, and the scores."""
    values, scores = validate_batch_labels(labels), as_array(probabilities, "probabilities")
    if len(values) or scores.size:
        _refuse_other_than_table(scores)
    refuse_other_length(scores, len(values))
    found, codes = _codes_of_batch(values)
    return found, codes, real_numbers(scores, "probabilities", _ADVICE)


def _codes_of_batch(values: NDArray[Any]) -> tuple[list[Any], Codes]:
    if not len(values):
        return [], np.zeros(0, dtype=np.int16)
    found, codes = sorted_codes(values, "labels")
    return found.tolist(), codes


def validate_batch_of_two(
    labels: ArrayLike, probabilities: ArrayLike, classes: NDArray[Any], column: int
) -> tuple[BoolArray, FloatArray]:
    """Return which rows of a batch have the label of a column, and its scores."""
    inputs = validate_class_batch(labels, probabilities, classes)
    for _ in inputs.blocks():  # checks the rows
        pass
    return np.asarray(inputs.codes == column), inputs.probabilities[:, column]


def collected_classes(batches: Iterable[ArrayLike], n_columns: int) -> tuple[NDArray[Any], int]:
    """Return the sorted labels of batches, one for each column, and how many batches were read.

    Stop reading once there are as many labels as columns.
    """
    seen: dict[Any, None] = {}
    n_read = 0
    for labels in batches:
        n_read += 1
        seen.update(dict.fromkeys(_codes_of_batch(validate_batch_labels(labels))[0]))
        if len(seen) >= n_columns:
            break
    if not seen:
        raise ValueError("batches must hold at least one row, got none. Check the selection.")
    values = np.array([*seen, None], dtype=object)[:-1]
    known = sorted_values(values, "labels")[0]
    refuse_continuous(known, known, "labels")
    refuse_other_columns(n_columns, known, are_named=False)
    return known, n_read


def validate_scores_of(codes: Codes, classes: NDArray[Any], probabilities: ArrayLike) -> FloatArray:
    """Return the scores of checked labels, one column per class, after checking every row."""
    scores = as_array(probabilities, "probabilities")
    _refuse_other_than_table(scores)
    if scores.shape[1] != len(classes):
        raise _other_columns(
            scores.shape[1], classes, "classes", "Pass the columns in their sorted order."
        )
    refuse_other_length(scores, len(codes))
    inputs = ClassInputs(codes, classes, real_numbers(scores, "probabilities", _ADVICE))
    for _ in inputs.blocks():
        pass
    return inputs.probabilities


def classes_or_column(
    labels: ArrayLike,
    probabilities: Any,
    classes: ArrayLike | None,
    *,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> ClassInputs | FloatArray:
    """Return checked rows of many classes, or for two the column of the positive label."""
    if not is_matrix(probabilities):
        raise column_with_classes(probabilities)
    inputs = validate_class_inputs(labels, probabilities, classes, sample_weight)
    if len(inputs.classes) == 2 or inputs.sample_weight is not None:
        for _ in inputs.blocks():  # checks the rows, whatever their weight
            pass
    if len(inputs.classes) == 2:
        column = positive_column(inputs.classes, pos_label)
        return np.ascontiguousarray(inputs.probabilities[:, column])
    refuse_for_two_labels(pos_label=pos_label)
    return inputs


def column_with_classes(probabilities: Any) -> ValueError:
    """Return the error that classes are named, but there is no column for each."""
    return ValueError(
        "classes must be None unless probabilities have one column per class, got probabilities "
        f"of shape {as_array(probabilities, 'probabilities').shape}. Pass all of predict_proba(X), "
        "or leave classes out."
    )


def rates_for_matrix(classes: NDArray[Any]) -> TypeError:
    """Return the error that rates of two classes are given for more."""
    return TypeError(
        f"noise_rates must be a NoiseMatrix for {len(classes)} classes, got NoiseRates. Pass what "
        "estimate_noise_rates returns for the same probabilities."
    )


def positive_column(classes: NDArray[Any], pos_label: Any) -> int:
    """Return the column of the positive one of two classes, by default the last in sorted order."""
    order = sorted_order(classes)
    if pos_label is None:
        return int(order[-1])
    refuse_other_pos_label(pos_label, classes[order])
    return [are_equal(pos_label, value) for value in classes.tolist()].index(True)


def column_for_two(
    labels: ArrayLike, probabilities: Any, classes: ArrayLike | None, pos_label: Any
) -> FloatArray:
    """Return the column of the positive label, after checking that there are two classes."""
    found = classes_or_column(labels, probabilities, classes, pos_label=pos_label)
    if isinstance(found, ClassInputs):
        raise rates_for_matrix(found.classes)
    return found


def refuse_for_two_labels(**values: Any) -> None:
    """Raise an error for an argument that more than two classes cannot have."""
    for name, value in values.items():
        if value is not None:
            raise ValueError(
                f"{name} must be None for more than two classes, got a value. Leave it out; it is "
                "for two labels alone, and a noise matrix describes every class."
            )


def _refuse_other_than_table(scores: NDArray[Any]) -> None:
    if scores.ndim != 2:
        raise ValueError(
            "probabilities must be two-dimensional, one column per class, got shape "
            f"{scores.shape}. {_ADVICE}"
        )


def refuse_other_length(scores: NDArray[Any], n_rows: int) -> None:
    """Raise an error unless there is a row of scores for each label."""
    if len(scores) != n_rows:
        raise ValueError(
            f"probabilities must have one row per label, got {len(scores)} rows for {n_rows} "
            "labels. Check that both come from the same rows."
        )


def refuse_other_columns(n_columns: int, known: NDArray[Any], *, are_named: bool) -> None:
    """Raise an error unless there are two or more classes, and a column for each.

    Classes are named by the caller, or are all labels.
    """
    if len(known) < 2:
        raise ValueError(
            f"labels must hold at least two classes, got one class only: {known.tolist()}. "
            "Pass rows of other classes too."
        )
    if n_columns != len(known):
        origin = "classes" if are_named else "different labels"
        advice = (
            "Pass one class per column, in their order."
            if are_named
            else "Name the class of each column with classes, such as classes=model.classes_."
        )
        raise _other_columns(n_columns, known, origin, advice)


def _other_columns(n_columns: int, classes: NDArray[Any], origin: str, advice: str) -> ValueError:
    return ValueError(
        f"probabilities must have one column per class, got {n_columns} columns for "
        f"{len(classes)} {origin}: {_shown(classes)}. {advice}"
    )


def sorted_order(classes: NDArray[Any]) -> NDArray[np.intp]:
    """Return the columns in the sorted order of their classes."""
    try:
        return np.argsort(classes, kind="stable")
    except TypeError:
        kinds = sorted({type(value).__name__ for value in classes.tolist()})
        raise ValueError(
            f"classes must be of one type that can be sorted, got {', '.join(kinds)}. Convert "
            "them, e.g. with astype(str)."
        ) from None


def validate_classes(classes: ArrayLike) -> NDArray[Any]:
    """Return the classes in the given order; a class that is missing or repeated is an error."""
    values = one_dimensional(as_array(classes, "classes"), "classes", "one value per class")
    seen = values.tolist()
    for value in [] if values.dtype.kind in "biuU" else seen:
        if is_missing(value) or is_container(value):
            raise ValueError(
                f"classes must be single values that are not missing, got {value!r}. Pass the "
                "label value of each column, such as model.classes_."
            )
    if len(seen) < 2:
        raise ValueError(
            f"classes must hold at least two values, got {seen}. Pass the label value of each "
            "column, such as model.classes_."
        )
    if len(set(seen)) < len(seen):
        first = next(one for i, one in enumerate(seen) if one in seen[:i])
        raise ValueError(
            f"classes must be different from each other, got {first!r} more than once. Pass the "
            "label value of each column once."
        )
    return values


def codes_of_labels(
    values: NDArray[Any], classes: ArrayLike | None, name: str = "labels"
) -> tuple[Codes, NDArray[Any]]:
    """Return the number of each label's class, and the classes in the order of columns."""
    known = None if classes is None else validate_classes(classes)
    found, codes = sorted_codes(values, name)
    if known is None:
        refuse_continuous(values, found, name)
        return codes, found
    columns, strangers = _columns_of(found.tolist(), known)
    if strangers.size:
        raise _not_among(known, found.tolist(), codes, int(strangers[0]), name, _ROW)
    return _columns_of_rows(columns, codes, known), known


def _columns_of(found: list[Any], known: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the column of each value, and which values have none."""
    column_of = {value: column for column, value in enumerate(known.tolist())}
    columns = np.array([column_of.get(value, -1) for value in found], dtype=np.intp)
    return columns, np.flatnonzero(columns < 0)


def _columns_of_rows(columns: NDArray[np.intp], codes: Codes, known: NDArray[Any]) -> Codes:
    if (columns == np.arange(len(columns))).all():
        return codes
    return columns.astype(_code_type(len(known))).take(codes)


def _not_among(
    known: NDArray[Any],
    found: list[Any],
    codes: Codes,
    stranger: int,
    name: str,
    name_of_row: str,
) -> ValueError:
    row = name_of_row.format(int(np.flatnonzero(codes == stranger)[0]))
    return ValueError(
        f"{name} must be among classes {_shown(known)}; {row} holds {found[stranger]!r}. "
        "Add it to classes, together with its column, or leave these rows out."
    )


def sorted_codes(values: NDArray[Any], name: str) -> tuple[NDArray[Any], Codes]:
    """Return the different values in sorted order, and the number of each row's value."""
    counted = _counted_codes(values)
    if counted is not None:
        return counted
    found, codes = sorted_values(values, name)
    return found, codes.astype(_code_type(len(found)))


def _counted_codes(values: NDArray[Any]) -> tuple[NDArray[Any], Codes] | None:
    """Return the same of whole numbers over a small range, without sorting them, or else None."""
    if values.dtype.kind not in "biuf":
        return None
    low, high = values.min(), values.max()
    if (
        not -_LARGEST_WHOLE <= low <= high <= _LARGEST_WHOLE
        or int(high) - int(low) >= _COUNTED_RANGE
    ):
        return None
    width, low = int(high) - int(low) + 1, int(low)
    codes, counts = np.empty(len(values), dtype=_code_type(width)), np.zeros(width, dtype=np.int64)
    for rows in blocks(len(values)):
        block = values[rows]
        whole = block.astype(np.int64)
        if values.dtype.kind == "f" and (whole != block).any():
            return None
        whole -= low
        codes[rows] = whole
        counts += np.bincount(whole, minlength=width)
    found = np.flatnonzero(counts)
    if len(found) < width:
        number = np.zeros(width, dtype=_code_type(len(found)))
        number[found] = np.arange(len(found))
        codes = number.take(codes)
    return (found + low).astype(values.dtype), codes


def label_counts(codes: NDArray[np.integer[Any]], n_classes: int) -> NDArray[np.int64]:
    """Return the number of rows with each code, without converting all codes at once."""
    counts = np.zeros(n_classes, dtype=np.int64)
    for rows in blocks(len(codes)):
        counts += np.bincount(codes[rows], minlength=n_classes)
    return counts


def _code_type(n_classes: int) -> Any:
    return np.int16 if n_classes <= np.iinfo(np.int16).max else np.int32


def _refuse_bad_rows(scores: Reals, start: int, name_of_row: str) -> None:
    """Raise an error that names the first row that is no distribution over the classes."""
    sums = scores.sum(axis=1)
    # Written so that NaN, which compares false, is caught too.
    bad = ~((scores >= 0).all(axis=1) & sum_to_one(scores.T))
    row = int(bad.argmax())
    value = scores[row]
    if not np.isfinite(value).all():
        column = int((~np.isfinite(value)).argmax())
        what = f"holds {value[column]:g} in column {column}"
        advice = "Find out why the model gives no score there, or leave the row out."
    elif value.min() < 0:
        column = int((value < 0).argmax())
        what = f"holds {value[column]:.6g} in column {column}"
        advice = "Pass predict_proba(X), not decision scores."
    else:
        what = f"has a sum of {sums[row]:.6g}"
        advice = "Pass predict_proba(X), or divide each row by its sum."
    raise ValueError(
        f"probabilities must be at least 0 and sum to 1 in each row (within {NEAR_ONE:g}); "
        f"{name_of_row.format(start + row)} {what}. {advice}"
    )


def _shown(classes: NDArray[Any]) -> str:
    values = classes.tolist()
    return ", ".join(map(repr, values[:6])) + (", ..." if len(values) > 6 else "")
