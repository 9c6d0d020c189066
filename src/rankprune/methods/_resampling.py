"""Drawing rows for ensembles: with replacement, in proportion to their weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankprune.learners._base import Weights


def draw_rows(
    rows: NDArray[np.intp], n_drawn: int, weight: Weights, generator: np.random.RandomState
) -> NDArray[np.intp]:
    """Return row numbers drawn with replacement; a row of weight 0 is never drawn."""
    # Equal weights must draw the same rows as no weights.
    weights = np.ones(len(rows)) if weight is None else weight[rows]
    chances = weights / weights.sum()
    return np.asarray(generator.choice(rows, n_drawn, p=chances))
