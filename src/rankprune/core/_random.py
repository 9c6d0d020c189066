"""Where chance comes from: the caller's ``random_state``, never NumPy's global generator."""

from __future__ import annotations

import numpy as np

RandomState = int | np.random.Generator | np.random.RandomState | None


def as_generator(random_state: RandomState) -> np.random.Generator:
    """Return a generator for a seed, a generator, NumPy's older kind, or None."""
    if isinstance(random_state, np.random.RandomState):
        # Seeded by a draw, so that the next call with the same object differs.
        return np.random.default_rng(random_state.randint(0, 2**32, dtype=np.uint32))
    return np.random.default_rng(random_state)
