"""From rows of many classes to matrix and cut-offs in passes over batches, with a mergeable state.

As `ConfidentState` is for two labels: rows need not be in memory or on one machine.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankprune.core.classes._class_counts import ClassCounts, ClassSums, ClassThresholds
from rankprune.core.classes._class_inputs import validate_class_batch, validate_classes
from rankprune.core.classes._class_kernel import class_kernel_for
from rankprune.core.classes._class_pruning import (
    ratios_of_rows,
    refuse_other_classes,
    rows_to_prune_by_class,
)
from rankprune.core.classes._estimate import matrix_of_tally
from rankprune.core.classes._matrix_estimators import find_matrix_estimator
from rankprune.core.classes._noise_matrix import NoiseMatrix
from rankprune.core.classes._ratio_search import ClassCutoffs, RatioSearch
from rankprune.core.classes._tally import Tally

# Number of ratios that a state may hold besides its counts: 10 MiB.
_MAX_COPIED = 1 << 20


class ClassState:
    """State of a few passes over rows of many classes: limited in size, and mergeable.

    Feed it all rows in any batches, get the state of the next pass from `after_pass`, and repeat
    until `is_done`. States of the same pass that were fed different rows can be merged.

    Parameters
    ----------
    classes : array-like of shape (n_classes,)
        The label value of each column.
    method : str, default=None
        The estimator for more than two classes, as in `estimate_noise_rates`.
    noise_matrix : NoiseMatrix, default=None
        Known noise; if given, nothing is estimated.
    prunes : bool, default=True
        Whether to find cut-offs in addition to the matrix.
    are_named : bool, default=True
        False if the classes were collected from the labels, which errors then say.

    Examples
    --------
    >>> import numpy as np
    >>> from rankprune.core import ClassState
    >>> scores = 0.8 * np.eye(3)[[0, 1, 2, 0, 1, 2]] + 0.2 / 3
    >>> state = ClassState(["a", "b", "c"])
    >>> while not state.is_done:
    ...     for labels in (list("abcabc"), list("abcbbc")):
    ...         state = state.update(labels, scores)
    ...     state = state.after_pass()
    >>> state.matrix().joint.round(3).tolist()[1]
    [0.083, 0.333, 0.0]
    >>> state.cutoffs().n_pruned.tolist()
    [0, 1, 0]

    Notes
    -----
    The first pass sums the scores of each label, the second counts rows beyond the thresholds that
    follow and bins their ratios. Further ones, usually one, look into the bins that hold the
    cut-offs. All sums are whole numbers, so neither order nor batches matter.
    """

    def __init__(
        self,
        classes: ArrayLike,
        method: str | None = None,
        *,
        noise_matrix: NoiseMatrix | None = None,
        prunes: bool = True,
        are_named: bool = True,
    ) -> None:
        find_matrix_estimator(method)
        self.classes = validate_classes(classes)
        if noise_matrix is not None:
            refuse_other_classes(self.classes, noise_matrix)
        self.n_pass, self.n_rows = 1, 0
        self._method, self._are_named, self._matrix = method, are_named, noise_matrix
        self._thresholds: ClassThresholds | None = None
        self._ranks = np.zeros(len(self.classes), dtype=np.int64)
        # What a pass collects: first sums, then counts, unless the noise is known, and ratios.
        self._n_seen = 0
        self._sums: ClassSums | None = None
        self._counts: ClassCounts | None = None
        self._search = RatioSearch(len(self.classes)) if prunes else None

    @property
    def is_done(self) -> bool:
        """Return whether no further pass is needed."""
        if self._matrix is None or self.n_pass == 1:
            return False
        return self._search is None or self._search.is_done

    @property
    def _is_first_of_two(self) -> bool:
        """Return whether this pass only finds the thresholds for counting."""
        return self._matrix is None and self._thresholds is None

    def update(self, labels: ArrayLike, probabilities: ArrayLike) -> ClassState:
        """Add a batch of rows to the pass, and return the state itself."""
        if self.is_done:
            raise ValueError(
                "The state is done and accepts no more rows. Start another with ClassState()."
            )
        inputs = validate_class_batch(
            labels, probabilities, self.classes, are_named=self._are_named
        )
        if self._is_first_of_two:
            self._sums = _merged(self._sums, ClassSums.of(inputs))
        elif self._matrix is None and self._thresholds is not None:
            self._counts = _merged(self._counts, ClassCounts.of(inputs, self._thresholds))
        if self._search is not None and not self._is_first_of_two:
            kernel = class_kernel_for(len(inputs))
            self._search.add(kernel, inputs.codes, ratios_of_rows(inputs))
        self._n_seen += len(inputs)
        return self

    def empty(self) -> ClassState:
        """Return a state of the same pass that has seen no rows yet, for another worker."""
        other = copy(self)
        other._n_seen = 0
        if self._is_first_of_two:
            other._sums = None
        other._counts = None
        other._search = self._search and self._search.empty()
        return other

    def forget(self) -> ClassState:
        """Drop the results of earlier passes and return the state, ready to be sent and merged."""
        if not self._is_first_of_two:
            self._sums = None
        return self

    def merge(self, other: ClassState) -> ClassState:
        """Return the state for the rows of both states, which must be of the same pass."""
        mine, theirs = ((one.n_pass, one._method, one.classes.tolist()) for one in (self, other))
        if mine != theirs:
            raise ValueError(
                f"states must be of the same pass, method and classes to merge, got {mine} and "
                f"{theirs}. Merge all of a pass before after_pass, and start the next from empty() "
                "copies."
            )
        merged = self.empty()
        merged._n_seen = self._n_seen + other._n_seen
        if self._is_first_of_two:
            merged._sums = _merged(self._sums, other._sums)
        merged._counts = _merged(self._counts, other._counts)
        if self._search is not None and other._search is not None:
            merged._search = self._search.merge(other._search)
        return merged

    def after_pass(self) -> ClassState:
        """Return the state for the next pass; call this once all rows were fed in this one."""
        self._refuse_other_rows()
        following = self.empty()
        following.n_pass, following.n_rows = self.n_pass + 1, self._n_seen
        if self._is_first_of_two:
            assert self._sums is not None
            following._sums, following._thresholds = self._sums, self._sums.thresholds()
            return following
        if self._matrix is None:
            following._matrix = self._counted_matrix()
        if self._search is not None:
            if self._search.n_pass == 1:
                n_labels = self._search.n_labels
                following._ranks = rows_to_prune_by_class(following.matrix(), n_labels)
            following._search = self._search.after_pass(following._ranks, _MAX_COPIED)
        return following

    def matrix(self) -> NoiseMatrix:
        """Return the noise matrix."""
        if self._matrix is None:
            raise ValueError(
                "The matrix is not known yet. Feed all rows again after after_pass, until is_done."
            )
        return self._matrix

    def cutoffs(self) -> ClassCutoffs:
        """Return the cut-offs at which pruning stops."""
        if self._search is None or not self.is_done:
            raise ValueError(
                "The cut-offs are not known. Feed all rows again after after_pass, until is_done, "
                "to a state that prunes."
            )
        return self._search.cutoffs(self._ranks)

    def _counted_matrix(self) -> NoiseMatrix:
        assert self._sums is not None
        assert self._counts is not None
        assert self._thresholds is not None
        tally = Tally.of_counts(
            self.classes, self._sums, self._counts, self._thresholds, float(self._n_seen)
        )
        return matrix_of_tally(tally, self.classes, self._method)

    def _refuse_other_rows(self) -> None:
        if not self._n_seen:
            raise ValueError("batches must hold at least one row, got none. Check the selection.")
        if self.n_pass > 1 and self._n_seen != self.n_rows:
            raise ValueError(
                f"Every pass must see the same rows, got {self.n_rows} rows in the first and "
                f"{self._n_seen} later. Feed all of them again, or start over."
            )


def _merged(one: Any, other: Any) -> Any:
    """Return the sums or counts of the rows of both; None has no rows."""
    if one is None or other is None:
        return other if one is None else one
    return one.merge(other)
