"""Pruning by weight: how much of each row's weight is left."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# A remainder below this share of a row's weight is rounding error, not weight to keep.
_NO_RESIDUE = 1e-9


def mass_kept(weights: NDArray[np.float64], target: float) -> tuple[NDArray[np.float64], bool]:
    """Return what is left of weights after removing a mass from the first of them.

    And whether nothing would be left; the last row then keeps its weight.
    """
    # The mass up to each row that is left after removing the target from the front.
    left = np.cumsum(weights) - target
    left[left < _NO_RESIDUE * weights] = 0
    is_emptied = bool(left[-1] == 0)
    if is_emptied:
        left[-1] = weights[-1]
    return np.minimum(left, weights), is_emptied
