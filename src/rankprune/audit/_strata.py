"""Strata of an audit: zones of suspicion within each label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankprune.core._inputs import (
    BoolArray,
    FloatArray,
    Inputs,
    validate_mask,
    validate_probabilities,
    validate_scores,
)
from rankprune.core._noise_rates import NoiseRates
from rankprune.core._parameters import validate_count
from rankprune.core._ranking import chances
from rankprune.core.counting._loops import prepared, score_bins
from rankprune.core.counting._sketch import sketch_of

Reals = NDArray[np.float64]

# Added to the expected standard deviation of every answer: no row is certain to be right.
_FLOOR = 0.05


@dataclass(frozen=True)
class Strata:
    """Strata of an audit: zones of suspicion within each label.

    Strata with the positive label come first, then those with the negative label; within a label,
    the most suspicious stratum comes first.

    Attributes
    ----------
    of_row : ndarray of int
        Number of the stratum of each row.
    sizes : tuple of int
        Number of rows in each stratum; no stratum is empty.
    is_positive : tuple of bool
        The label of each stratum; empty if there are more than two labels.
    suspect : tuple of bool or None
        Whether each stratum holds suspects (all of its rows) or other rows; None if unknown.
    expected : tuple of float or None
        Expected share of wrong labels in each stratum; None if unknown.
    groups : tuple of int
        If there are more than two labels: the number of each stratum's label, or group of labels.

    Examples
    --------
    >>> import numpy as np
    >>> from rankprune.audit import strata_of
    >>> labels = np.repeat([False, True], 50)
    >>> strata = strata_of(labels, np.arange(100) / 100, np.arange(100) % 50 >= 45, n_zones=2)
    >>> strata.sizes, strata.suspect
    ((5, 45, 5, 45), (True, False, True, False))
    """

    of_row: NDArray[np.intp]
    sizes: tuple[int, ...]
    is_positive: tuple[bool, ...]
    suspect: tuple[bool | None, ...]
    expected: tuple[float | None, ...]
    groups: tuple[int, ...] = ()

    @property
    def group(self) -> tuple[int, ...]:
        """Return the number of each stratum's label or group of labels; of two, 1 is positive."""
        return self.groups or tuple(map(int, self.is_positive))


def strata_of(
    is_positive: ArrayLike,
    suspicion: ArrayLike,
    suspect: ArrayLike | None = None,
    expected: ArrayLike | None = None,
    n_zones: int = 4,
) -> Strata:
    """Return strata by label and zones of suspicion.

    Parameters
    ----------
    is_positive : array-like of bool of shape (n_rows,)
        The given labels.
    suspicion : array-like of shape (n_rows,)
        Larger where a label is more likely wrong, on any scale. Rows with the same label and the
        same suspicion stay together.
    suspect : array-like of bool of shape (n_rows,), default=None
        Rows whose labels are likely wrong. They count as more suspicious than all others, and no
        stratum holds both.
    expected : array-like of shape (n_rows,), default=None
        Expected chance that each label is wrong. Zones then divide the sum of the standard
        deviations of the answers equally (Dalenius and Hodges); by default, zone k of n ends at
        the (k / n)**2 most suspicious rows of the label.
    n_zones : int, default=4
        Number of zones of each label, at least two if there are suspects and other rows. There are
        fewer if too many rows have the same suspicion.

    Returns
    -------
    Strata

    Examples
    --------
    >>> import numpy as np
    >>> from rankprune.audit import strata_of
    >>> strata_of(np.repeat([False, True], 80), np.arange(160)).sizes
    (5, 15, 25, 35, 5, 15, 25, 35)
    """
    positive = validate_mask(is_positive, np.size(is_positive), "is_positive", "positive labels")
    n_rows = len(positive)
    values = validate_scores(suspicion, n_rows, name="suspicion")
    marked = None if suspect is None else validate_mask(suspect, n_rows, "suspect", "suspects")
    chance = None if expected is None else validate_probabilities(expected, n_rows, name="expected")
    n_zones = validate_count(n_zones, "n_zones", 4)
    members = [(label, np.flatnonzero(positive == label)) for label in (True, False)]
    found = _divided(members, values, marked, chance, n_zones)
    return replace(found, is_positive=tuple(map(bool, found.groups)), groups=())


def strata_of_groups(
    group: NDArray[np.intp],
    suspicion: FloatArray,
    suspect: BoolArray | None,
    expected: FloatArray | None,
    n_zones: int,
) -> Strata:
    """Return strata by zones of suspicion within each group of labels, given its number by row."""
    members = [(number, np.flatnonzero(group == number)) for number in np.unique(group).tolist()]
    return _divided(members, suspicion, suspect, expected, n_zones)


def _divided(
    members: Sequence[tuple[int, NDArray[np.intp]]],
    values: FloatArray,
    marked: BoolArray | None,
    chance: FloatArray | None,
    n_zones: int,
) -> Strata:
    """Return strata of rows that are divided into groups, each with its number."""
    of_row = np.zeros(len(values), dtype=np.intp)
    kinds: list[tuple[int, bool | None]] = []
    for number, rows in members:
        # Most suspicious first, suspects before all others.
        keys = (-values[rows],) if marked is None else (-values[rows], ~marked[rows])
        rows = rows[np.lexsort(keys)]
        weight = _weights(len(rows), None if chance is None else chance[rows])
        for is_suspect, part, n_parts in _sides(
            None if marked is None else marked[rows], weight, n_zones
        ):
            zone = zones(values[rows[part]], weight[part], n_parts)
            of_row[rows[part]] = len(kinds) + zone
            kinds += [(number, is_suspect)] * (int(zone[-1]) + 1)
    sizes = np.bincount(of_row, minlength=len(kinds))
    means = None if chance is None else np.bincount(of_row, chance, minlength=len(kinds)) / sizes
    return Strata(
        of_row,
        tuple(sizes.tolist()),
        (),
        tuple(is_suspect for _, is_suspect in kinds),
        (None,) * len(kinds) if means is None else tuple(means.tolist()),
        tuple(number for number, _ in kinds),
    )


def expected_wrong(
    is_positive: BoolArray, probabilities: FloatArray, noise_rates: NoiseRates
) -> Reals:
    """Return the model's chance that each label is wrong."""
    of_bin = chances(sketch_of(Inputs(is_positive, probabilities, None)), noise_rates)
    return np.asarray(of_bin[is_positive.astype(np.intp), score_bins(prepared(probabilities))])


def deviations(chance: FloatArray) -> Reals:
    """Return the expected standard deviation of every answer, given the chance of a wrong label."""
    return np.asarray(np.sqrt(chance * (1 - chance)) + _FLOOR, dtype=np.float64)


def _weights(n_rows: int, chance: FloatArray | None) -> Reals:
    """Return what each row of a label, most suspicious first, counts for the ends of zones."""
    return np.diff(np.sqrt(np.arange(n_rows + 1))) if chance is None else deviations(chance)


def _sides(
    suspect: BoolArray | None, weight: Reals, n_zones: int
) -> list[tuple[bool | None, slice, int]]:
    """Return suspects and other rows of a label, as far as there are any, and their zones."""
    n_rows = len(weight)
    if suspect is None:
        return [(None, slice(n_rows), n_zones)] if n_rows else []
    n_suspects = int(suspect.sum())
    if n_suspects in (0, n_rows):
        return [(n_suspects > 0, slice(n_rows), n_zones)] if n_rows else []
    share = float(weight[:n_suspects].sum() / weight.sum())
    first = min(max(round(n_zones * share), 1), max(n_zones - 1, 1))
    return [
        (True, slice(n_suspects), first),
        (False, slice(n_suspects, n_rows), max(n_zones - first, 1)),
    ]


def zones(suspicion: FloatArray, weight: Reals, n_zones: int) -> NDArray[np.intp]:
    """Return the zone of each row, most suspicious first; zones are of about equal weight."""
    is_next = np.append(False, suspicion[1:] != suspicion[:-1])
    tied = np.cumsum(is_next)
    mass = np.bincount(tied, weight)
    middle = np.cumsum(mass) - mass / 2
    # Numbered without gaps, because ties can leave zones empty.
    zone = np.unique(np.floor(n_zones * middle / mass.sum()), return_inverse=True)[1]
    return np.asarray(zone[tied], dtype=np.intp)
