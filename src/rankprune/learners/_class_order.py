"""Labels in the form that estimators accept, and their output in the order of ``classes_``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune.core.classes._class_labels import Labels


def classes_to_fit(classes: NDArray[Any]) -> NDArray[Any]:
    """Return the classes as values that scikit-learn's classifiers accept."""
    # scikit-learn reads fractions as a regression target.
    is_fractional = classes.dtype.kind == "f" and bool((classes != np.round(classes)).any())
    return np.arange(len(classes)) if is_fractional else classes


def labels_to_fit(labels: Labels) -> NDArray[Any]:
    """Return the label of every row as one of `classes_to_fit`."""
    return np.asarray(classes_to_fit(labels.classes)[labels.codes])


def fitted_labels(predicted: NDArray[Any], classes: NDArray[Any]) -> NDArray[Any]:
    """Return an estimator's predictions as values of ``classes``."""
    return predicted if classes_to_fit(classes) is classes else np.asarray(classes[predicted])


def in_class_order(values: Any, estimator: Any, classes: NDArray[Any]) -> NDArray[Any]:
    """Return an estimator's columns, or its single score per row, in the order of ``classes``.

    If an estimator keeps its ``classes_`` in another order, columns are moved and, with two
    classes, single scores change sign. An estimator without ``classes_`` is assumed to sort them,
    and columns that are not one per class, such as those of pairs of classes, are left alone.
    """
    in_order: NDArray[Any] = np.asarray(values)
    own, known = list(getattr(estimator, "classes_", ())), list(classes_to_fit(classes))
    if own == known or in_order.shape[1:] not in ((), (len(known),)):
        return in_order
    if own == known[::-1]:
        return np.asarray(-in_order if in_order.ndim == 1 else in_order[:, ::-1])
    if in_order.ndim == 1 or len(own) != len(known) or set(own) != set(known):
        return in_order
    return np.asarray(in_order[:, [own.index(value) for value in known]])


def columns_of(
    table: NDArray[np.float64],
    estimator: Any,
    classes: NDArray[Any],
    trained: NDArray[np.intp],
) -> NDArray[np.float64]:
    """Return a column for each of ``classes``, zero if the estimator was not trained on any row."""
    found = in_class_order(table, estimator, classes[trained])
    if len(trained) == len(classes):
        return found
    columns = np.zeros((len(found), len(classes)))
    columns[:, trained] = found
    return columns


def both_columns(positive: NDArray[np.float64], positive_column: int) -> NDArray[np.float64]:
    """Return the probability of each class, in the order of ``classes_``."""
    columns = [1 - positive, positive]
    return np.column_stack(columns if positive_column == 1 else columns[::-1])
