"""From labels and the noise matrix to correction weights; and, in simulation, to wrong labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankprune.core._inputs import values_of_labels
from rankprune.core._random import RandomState, as_generator
from rankprune.core.classes._class_inputs import codes_of_labels
from rankprune.core.classes._noise_matrix import NoiseMatrix, validate_transition


def correction_weights_by_class(labels: ArrayLike, matrix: NoiseMatrix) -> NDArray[np.float64]:
    """Return 1 / (1 - noise rate) of the class that each label names."""
    codes, _ = codes_of_labels(values_of_labels(labels, "labels"), matrix.classes)
    return np.asarray(class_weights_of(matrix)[codes])


def class_weights_of(matrix: NoiseMatrix) -> NDArray[np.float64]:
    """Return the weight of a row of each class; 1 if the matrix is not reliable.

    A class none of whose true rows kept its label has no row to weigh, and gets weight 1.
    """
    kept = 1 - matrix.noise_rates
    if not matrix.reliable:
        return np.ones(len(kept))
    return np.divide(1.0, kept, out=np.ones(len(kept)), where=kept > 0)


def flip_by_transition(
    true_labels: ArrayLike,
    transition: ArrayLike,
    classes: ArrayLike | None,
    *,
    exact: bool,
    random_state: RandomState,
) -> NDArray[Any]:
    """Return labels drawn from the columns of a transition, by true class."""
    values = values_of_labels(true_labels, "true_labels")
    codes, known = codes_of_labels(values, classes, "true_labels")
    k = len(known)
    table = validate_transition(transition, k)
    generator = as_generator(random_state)
    flipped = codes.astype(np.intp)
    for true in range(k):
        members = np.flatnonzero(codes == true)
        if exact:
            counts = _rounded(table[:, true] * len(members), true)
            flipped[generator.permutation(members)] = np.repeat(np.arange(k), counts)
        else:
            flipped[members] = generator.choice(k, len(members), p=table[:, true])
    return known[flipped]


def _rounded(expected: NDArray[np.float64], true: int) -> NDArray[np.intp]:
    """Return whole numbers with the same sum; what rounding leaves stays in the true class."""
    counts = np.round(expected).astype(np.intp)
    counts[true] = 0
    n_rows = round(float(expected.sum()))
    # Rounding up may ask for more rows than there are: the largest numbers give way.
    while counts.sum() > n_rows:
        counts[counts.argmax()] -= 1
    counts[true] = n_rows - counts.sum()
    return counts
