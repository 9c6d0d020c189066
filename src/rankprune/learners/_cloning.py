"""Seeded clones: the caller's objects are never fitted, global random state is never used."""

from __future__ import annotations

import copy
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils import get_tags

RandomState = int | np.random.RandomState | None

_MAX_SEED = np.iinfo(np.int32).max


def default_estimator() -> LogisticRegression:
    """Return the classifier that is fitted if no estimator is given."""
    return LogisticRegression(max_iter=1000)


def private_random_state(random_state: RandomState) -> np.random.RandomState:
    """Return a new generator, so that neither NumPy's global one nor the caller's advances."""
    if isinstance(random_state, np.random.RandomState):
        return copy.deepcopy(random_state)
    is_seed = isinstance(random_state, Integral) and not isinstance(random_state, np.timedelta64)
    if random_state is None or (is_seed and 0 <= random_state < 2**32):
        return np.random.RandomState(random_state)
    raise ValueError(
        "random_state must be an int from 0 to 2**32 - 1, a RandomState or None, got "
        f"{random_state!r}. Pass an int for reproducible results."
    )


def draw_seed(generator: np.random.RandomState) -> int:
    """Return a seed to pass where scikit-learn would otherwise use the global generator."""
    return int(generator.randint(_MAX_SEED))


def fresh_clone(estimator: Any, seed: int) -> Any:
    """Return an unfitted clone in which every ``random_state=None`` is replaced by the seed."""
    cloned = clone(estimator)
    parameters = cloned.get_params(deep=True)
    replaced = {
        name: seed
        for name, value in parameters.items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    }
    # Splitters are not estimators: their seed is an attribute.
    for name, value in parameters.items():
        if hasattr(value, "split") and hasattr(value, "get_n_splits"):
            replaced[name] = seeded_splitter(value, seed)
    return cloned.set_params(**replaced) if replaced else cloned


def seeded_splitter(splitter: Any, seed: int) -> Any:
    """Return a copy of a splitter; it gets the seed if it shuffles without one."""
    splitter = copy.deepcopy(splitter)
    if getattr(splitter, "shuffle", True) and getattr(splitter, "random_state", 0) is None:
        splitter.random_state = seed
    return splitter


def copy_input_tags(tags: Any, estimator: Any) -> Any:
    """Return the tags of a meta-estimator, with the input tags of its estimator."""
    tags.input_tags = get_tags(estimator).input_tags
    tags.input_tags.pairwise = False  # rows of a kernel matrix are dropped, its columns are not
    return tags


def forget_results(estimator: Any) -> None:
    """Delete the results of an earlier fit, so that a failed fit leaves no model behind."""
    for name in [name for name in vars(estimator) if name.endswith("_")]:
        delattr(estimator, name)
