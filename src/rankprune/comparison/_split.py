"""Training rows and test rows, the same for every method."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.utils import _safe_indexing

from rankprune.core._inputs import BinaryLabels, count_true
from rankprune.learners._probabilities import check_rows

# One part out of this many is held out if no test rows are given.
_N_PARTS = 4


@dataclass(frozen=True)
class Split:
    """Training rows and test rows; ``description`` states what the test rows are."""

    X: Any
    labels: BinaryLabels
    true_labels: NDArray[np.bool_] | None
    groups: Any
    X_test: Any
    test_labels: NDArray[np.bool_]
    is_trusted: bool
    description: str


def split_rows(
    X: Any,
    labels: BinaryLabels,
    truth: NDArray[np.bool_] | None,
    test: tuple[Any, ArrayLike] | None,
    groups: Any,
    seed: int,
) -> Split:
    """Return the rows of a comparison; without test rows, a quarter is held out."""
    if test is not None:
        if not isinstance(test, tuple) or len(test) != 2:
            raise ValueError(
                f"test must be a pair (X, labels), got {type(test).__name__}. Pass "
                "(X_test, y_test) with correct labels."
            )
        test_labels = match_labels(test[1], labels, "the labels of test")
        X_test, _ = check_rows(test[0], test_labels, None)
        description = f"Measured on {len(test_labels)} test rows with trusted labels."
        return Split(X, labels, truth, groups, X_test, test_labels, True, description)
    is_positive = labels.is_positive
    train, held = _hold_out(is_positive, groups, seed)
    kind = "noisy" if truth is None else "trusted"
    return Split(
        _safe_indexing(X, train),
        replace(labels, is_positive=is_positive[train]),
        None if truth is None else truth[train],
        None if groups is None else _safe_indexing(groups, train),
        _safe_indexing(X, held),
        is_positive[held] if truth is None else truth[held],
        truth is not None,
        f"Measured on {len(held)} held-out rows with {kind} labels.",
    )


def _hold_out(
    is_positive: NDArray[np.bool_], groups: Any, seed: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the training rows and a quarter held out for testing; no group is in both."""
    smallest = min(count_true(is_positive), count_true(~is_positive))
    n_groups = smallest if groups is None else len(set(np.asarray(groups).tolist()))
    if min(smallest, n_groups) < _N_PARTS:
        raise ValueError(
            "test must be given if a quarter of the rows cannot be held out, which takes "
            f"{_N_PARTS} rows of each class and {_N_PARTS} groups; got {smallest} and "
            f"{n_groups}. Pass test=(X_test, y_test)."
        )
    if groups is None:
        splitter = StratifiedKFold(_N_PARTS, shuffle=True, random_state=seed)
    else:
        splitter = StratifiedGroupKFold(_N_PARTS, shuffle=True, random_state=seed)
    train, held = next(splitter.split(is_positive, is_positive, groups))
    return train, held


def match_labels(values: ArrayLike, labels: BinaryLabels, name: str) -> NDArray[np.bool_]:
    """Return which of the true or test labels are positive; their values must be those of y."""
    given = np.asarray(values)
    unknown = set(given.ravel().tolist()) - set(labels.classes.tolist())
    if given.ndim != 1 or unknown:
        raise ValueError(
            f"{name} must hold the values of y, {labels.classes.tolist()}, one per row; got "
            f"{sorted(map(str, unknown))[:3] or f'shape {given.shape}'}. Map them to "
            "the same values first."
        )
    return np.asarray(given == labels.pos_label)
