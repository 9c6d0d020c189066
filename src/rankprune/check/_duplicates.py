"""Count exact copies of rows, which a model may have memorised or whose labels may conflict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune.learners._copies import Hashes, copies_in_training
from rankprune.learners._probabilities import Split
from rankprune.run._findings import Duplicates


def count_duplicates(hashes: Hashes, labels: NDArray[Any], splits: Sequence[Split]) -> Duplicates:
    """Return how many rows have an exact copy, one in another fold, or one with another label."""
    _, group = np.unique(hashes, return_inverse=True)
    size = np.bincount(group)
    repeated = size[group] > 1
    # The labels of a group differ if any differs from that of its first row.
    first = np.empty(len(size), dtype=np.intp)
    first[group[::-1]] = np.arange(len(group))[::-1]
    contradicting = np.bincount(group, weights=labels != labels[first[group]]) > 0
    return Duplicates(
        int(repeated.sum()),
        int(copies_in_training(group, splits).sum()),
        int((repeated & contradicting[group]).sum()),
    )
