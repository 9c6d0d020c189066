"""Labels of any number of classes, checked before there are any scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankprune.core._inputs import (
    BinaryLabels,
    validate_sample_weight,
    validate_weighted_labels,
    values_of_labels,
)
from rankprune.core._label_values import MoreThanTwoClasses
from rankprune.core.classes._class_inputs import sorted_codes


@dataclass(frozen=True)
class ClassLabels:
    """Checked labels of more than two classes: the index of each in the sorted ``classes``."""

    codes: NDArray[np.intp]
    classes: NDArray[Any]

    def __len__(self) -> int:
        return len(self.codes)


Labels = BinaryLabels | ClassLabels


def validate_any_labels(
    labels: ArrayLike,
    sample_weight: ArrayLike | None,
    *,
    pos_label: Any = None,
    name: str = "labels",
) -> tuple[Labels, NDArray[np.float64] | None]:
    """Return checked labels of two or more classes, and weights; ``pos_label`` is one of two.

    Only rows of positive weight determine the classes. A value that occurs only in rows of weight
    zero does not count: such rows get the first class.
    """
    try:
        return validate_weighted_labels(labels, sample_weight, pos_label=pos_label, name=name)
    except MoreThanTwoClasses:
        pass
    values = values_of_labels(labels, name)
    weight = validate_sample_weight(sample_weight, len(values))
    found, codes = sorted_codes(values, name)
    counts = np.bincount(codes, weights=None if weight is None else weight > 0)
    numbers = np.cumsum(counts > 0) - 1
    return ClassLabels(np.where(counts > 0, numbers, 0)[codes], found[counts > 0]), weight
