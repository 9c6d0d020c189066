"""Count exact copies of rows, which a model may have memorised or whose labels may conflict."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rankprune.learners._copies import Hashes, copies_in_training
from rankprune.learners._probabilities import Split
from rankprune.run._findings import Duplicates


def count_duplicates(
    hashes: Hashes, is_positive: NDArray[np.bool_], splits: Sequence[Split]
) -> Duplicates:
    """Return how many rows have an exact copy, one in another fold, or one with the other label."""
    _, group = np.unique(hashes, return_inverse=True)
    size = np.bincount(group)
    repeated = size[group] > 1
    positives = np.bincount(group, weights=is_positive)
    contradicting = (positives > 0) & (positives < size)
    return Duplicates(
        int(repeated.sum()),
        int(copies_in_training(group, splits).sum()),
        int((repeated & contradicting[group]).sum()),
    )
