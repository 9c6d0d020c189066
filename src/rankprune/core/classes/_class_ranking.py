"""The order in which people look at rows of many classes, and how likely each label is wrong."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankprune.core._inputs import BoolArray
from rankprune.core._ranking import Stretch, believable, scaled, stretches_of
from rankprune.core.classes._class_inputs import ClassInputs
from rankprune.core.classes._class_pruning import ratios_of_rows
from rankprune.core.classes._noise_matrix import NoiseMatrix

Reals = NDArray[np.float64]

# Margins are counted in bins of this width, and clipped to this many on each side.
_STEP, _N_BINS = 0.05, 300
# How fast the log-odds that a label is wrong fall along the margin; models are rarely as sure of
# their scores as they could be. With it, the shares along the list come out on half of the tables
# of the bank, and on the other half.
_STEEPNESS = 2.0


def margins_of(inputs: ClassInputs) -> Reals:
    """Return the logarithm of each row's score of its label over its best other score."""
    return np.asarray(np.log(ratios_of_rows(inputs)))


def order_by_margin(margins: Reals, mask: BoolArray) -> NDArray[np.intp]:
    """Return all rows, most suspicious first: those of a mask, then the rest; ties in row order."""
    return np.lexsort((margins, ~mask))


def chances_by_margin(margins: Reals, codes: NDArray[np.intp], matrix: NoiseMatrix) -> Reals:
    """Return how likely each label is wrong; the mean over a label is its error rate.

    Log-odds fall along the margin, and are moved alike for all rows of a label until they add up.
    """
    found = np.zeros(len(codes))
    bins = np.rint(margins / _STEP).clip(-_N_BINS, _N_BINS).astype(np.intp) + _N_BINS
    odds = -_STEEPNESS * _STEP * np.arange(-_N_BINS, _N_BINS + 1.0)
    for column, rate in enumerate(matrix.error_rates.tolist()):
        members = np.flatnonzero(codes == column)
        rows = np.bincount(bins[members], minlength=len(odds)).astype(np.float64)
        if len(members) and rate > 0:
            found[members] = scaled(odds, rows, rate)[bins[members]]
    return found


def stretches_by_chance(ordered: Reals, n_listed: int) -> tuple[Stretch, ...]:
    """Return the list in parts, given how likely each label is wrong, most suspicious first."""
    if n_listed == 0:
        return ()
    return stretches_of(np.ones(len(ordered)), believable(ordered), n_listed)
