"""Count exact copies of rows, which a model may have memorised or whose labels may conflict."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankprune.learners._probabilities import Split
from rankprune.run._findings import Duplicates

Hashes = NDArray[np.uint64]


def count_duplicates(
    hashes: Hashes, is_positive: NDArray[np.bool_], splits: Sequence[Split]
) -> Duplicates:
    """Return how many rows have an exact copy, one in another fold, or one with the other label."""
    _, group = np.unique(hashes, return_inverse=True)
    size = np.bincount(group)
    repeated = size[group] > 1
    positives = np.bincount(group, weights=is_positive)
    contradicting = (positives > 0) & (positives < size)
    fold_of = np.zeros(len(hashes))
    for fold, (_, test) in enumerate(splits):
        fold_of[test] = fold
    first, last = np.full(len(size), np.inf), np.full(len(size), -np.inf)
    np.minimum.at(first, group, fold_of)
    np.maximum.at(last, group, fold_of)
    return Duplicates(
        int(repeated.sum()),
        int((repeated & (first < last)[group]).sum()),
        int((repeated & contradicting[group]).sum()),
    )


def hash_rows(X: Any) -> Hashes:
    """Return a hash for each row; rows with equal features have equal hashes."""
    if sparse.issparse(X):
        matrix = sparse.csr_matrix(X, dtype=np.float64, copy=True)
        matrix.sum_duplicates()
        ends = matrix.indptr
        return _hashed(
            (matrix.data[a:b].tobytes(), matrix.indices[a:b].tobytes())
            for a, b in pairwise(ends.tolist())
        )
    rows = X if isinstance(X, list) else np.asarray(X)
    if isinstance(rows, list) or rows.dtype.kind not in "biuf" or rows.ndim == 1:
        return _hashed(str(row) for row in (rows if isinstance(rows, list) else rows.tolist()))
    flat = rows.reshape(len(rows), -1)
    # Adding 0.0 turns minus zero into zero; large integers would lose digits as floats.
    numbers = flat.astype(np.int64) if rows.dtype.kind in "biu" else flat.astype(np.float64) + 0.0
    generator = np.random.default_rng(0)
    total = np.zeros(len(numbers), dtype=np.uint64)
    for column in range(numbers.shape[1]):
        bits = np.ascontiguousarray(numbers[:, column]).view(np.uint64)
        factor = np.uint64(2 * int(generator.integers(0, 2**63)) + 1)
        total = (total ^ (bits * factor >> np.uint64(29)) ^ bits) * factor
    return total


def _hashed(values: Any) -> Hashes:
    return np.asarray([hash(value) & (2**64 - 1) for value in values], dtype=np.uint64)
