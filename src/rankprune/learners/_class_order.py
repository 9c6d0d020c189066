"""Labels in the form that estimators accept, and their output in the order of ``classes_``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune.core._inputs import BinaryLabels


def classes_to_fit(classes: NDArray[Any]) -> NDArray[Any]:
    """Return the two classes as values that scikit-learn's classifiers accept."""
    # scikit-learn reads fractions as a regression target.
    is_fractional = classes.dtype.kind == "f" and bool((classes != np.round(classes)).any())
    return np.arange(2) if is_fractional else classes


def labels_to_fit(labels: BinaryLabels) -> NDArray[Any]:
    """Return the label of every row as one of `classes_to_fit`."""
    is_second = labels.is_positive == (labels.positive_column == 1)
    return np.asarray(classes_to_fit(labels.classes)[is_second.astype(np.intp)])


def fitted_labels(predicted: NDArray[Any], classes: NDArray[Any]) -> NDArray[Any]:
    """Return an estimator's predictions as values of ``classes``."""
    return predicted if classes_to_fit(classes) is classes else np.asarray(classes[predicted])


def in_class_order(values: Any, estimator: Any, classes: NDArray[Any]) -> NDArray[Any]:
    """Return an estimator's columns, or its single score per row, in the order of ``classes``.

    If an estimator keeps its ``classes_`` in the opposite order, columns are swapped and single
    scores change sign. An estimator without ``classes_`` is assumed to sort them.
    """
    in_order: NDArray[Any] = np.asarray(values)
    own = list(getattr(estimator, "classes_", ()))
    if own != list(classes_to_fit(classes)[::-1]):
        return in_order
    return np.asarray(-in_order if in_order.ndim == 1 else in_order[:, ::-1])


def both_columns(positive: NDArray[np.float64], positive_column: int) -> NDArray[np.float64]:
    """Return the probability of each class, in the order of ``classes_``."""
    columns = [1 - positive, positive]
    return np.column_stack(columns if positive_column == 1 else columns[::-1])
