"""What is counted of some rows, and the tables of given and true class that follow by counting."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune.core.classes._class_counts import (
    ClassCounts,
    ClassSums,
    ClassThresholds,
)
from rankprune.core.classes._class_inputs import ClassInputs, sorted_order
from rankprune.core.classes._noise_matrix import joint_of
from rankprune.core.classes._repeated_rows import repeated_parts, rows_behind

Reals = NDArray[np.float64]

# Two scores of a row with fewer bytes would take much memory, and save little time.
_MANY_BYTES = 256


@dataclass(frozen=True)
class Tally:
    """All that the estimators need to know of some rows; its size does not depend on their number.

    Its classes are in sorted order, so that the order of the columns changes no result. The counts
    are as informative as those of ``n_rows`` rows of weight 1.
    """

    sums: ClassSums
    counts: ClassCounts
    thresholds: ClassThresholds
    n_rows: float

    @classmethod
    def of(cls, inputs: ClassInputs) -> Tally:
        """Return the tally of rows, with the classes in sorted order."""
        parts = repeated_parts(inputs)
        best_two = _room_for_best_two(inputs)
        sums = reduce(
            ClassSums.merge, (ClassSums.of(rows, best_two).times(n) for n, rows in parts())
        )
        bounds = sums.thresholds()
        counts = reduce(
            ClassCounts.merge,
            (ClassCounts.of(rows, bounds, best_two).times(n) for n, rows in parts()),
        )
        return cls.of_counts(inputs.classes, sums, counts, bounds, rows_behind(inputs))

    @classmethod
    def of_counts(
        cls,
        classes: NDArray[Any],
        sums: ClassSums,
        counts: ClassCounts,
        thresholds: ClassThresholds,
        n_rows: float,
    ) -> Tally:
        """Return the tally of what was counted of classes in the order of the columns."""
        order = sorted_order(classes)
        return cls(
            sums.reordered(order), counts.reordered(order), thresholds.reordered(order), n_rows
        )

    def of_labeled_classes(self) -> Tally:
        """Return what is counted of the classes that have labels, to which all rows belong."""
        labeled = np.flatnonzero(self.sums.n_labels)
        if len(labeled) == len(self.sums.n_labels):
            return self
        return Tally(
            self.sums.reordered(labeled),
            self.counts.reordered(labeled),
            self.thresholds.reordered(labeled),
            self.n_rows,
        )

    @property
    def label_shares(self) -> Reals:
        """Return the share of rows with each label."""
        return np.asarray(self.sums.n_labels / self.sums.n_labels.sum())

    @property
    def rows_of_labels(self) -> NDArray[Any]:
        """Return the number of rows of weight 1 that those with each label are as good as."""
        mass = int(self.sums.n_labels.sum())
        return self.sums.n_labels if self.n_rows == mass else self.label_shares * self.n_rows

    def tells_apart(self) -> bool:
        """Return whether predictions agree with labels more often than by chance."""
        return self.counts.tells_apart(self.n_rows)

    @cached_property
    def confident_joint(self) -> Reals:
        """Return the joint if the noise of confident rows holds for all rows."""
        counts = self.counts.confident
        confident = counts.sum(axis=0)
        # A class without confident rows is assumed to keep its labels.
        transition = np.where(confident > 0, counts / np.maximum(confident, 1), np.eye(len(counts)))
        return joint_of(transition, self.label_shares)[0]


def confident_counts(tally: Tally) -> Reals:
    """Return the joint of the paper's estimator: the noise of confident rows holds for all rows."""
    return tally.confident_joint


def prediction_table(tally: Tally) -> Reals:
    """Return the joint of label and prediction, as if predictions were true."""
    return np.asarray(tally.counts.predicted / tally.sums.n_labels.sum())


def counts_and_table(tally: Tally) -> Reals:
    """Return the mean of `confident_counts` and `prediction_table`."""
    return (confident_counts(tally) + prediction_table(tally)) / 2


def _room_for_best_two(inputs: ClassInputs) -> Reals | None:
    """Return an array for two scores of each row, unless it would be large beside all scores."""
    scores = inputs.probabilities
    is_small = scores.itemsize * scores.shape[1] >= _MANY_BYTES
    # Rows with weights are counted in many parts.
    return np.empty((len(scores), 2)) if is_small and inputs.sample_weight is None else None
