"""Random numbers come from the caller's ``random_state``, never NumPy's global generator."""

from __future__ import annotations

import numpy as np

RandomState = int | np.random.Generator | np.random.RandomState | None


def as_generator(random_state: RandomState) -> np.random.Generator:
    """Return a Generator from a seed, a Generator, a legacy RandomState, or None."""
    if isinstance(random_state, np.random.RandomState):
        # Seeded by a draw, so that the next call with the same object gives other numbers.
        return np.random.default_rng(random_state.randint(0, 2**32, dtype=np.uint32))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "random_state must be an int of at least 0, a Generator, a RandomState or None, got "
            f"{random_state!r}. Pass an int for reproducible results."
        ) from error
