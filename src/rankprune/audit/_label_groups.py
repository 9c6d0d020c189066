"""Groups of labels that share strata, so that many labels do not need too many strata."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankprune.audit._strata import Strata, deviations, strata_of_groups, zones

Reals = NDArray[np.float64]
Codes = NDArray[np.intp]

# As many labels at most have strata of their own; of more, those with similar error rates share.
_MOST_GROUPS = 12
# Zones of suspicion within each group, and strata in all if there are many groups.
_ZONES, _FEWEST_ZONES, _MOST_STRATA = 4, 3, 40
# A label that shares strata gets its own when this many standard deviations more of its rows were
# judged than by chance: an audit was about it.
_BEYOND = 2.0


@dataclass(frozen=True)
class LabelGroups:
    """Strata of rows with more than two labels, by groups of labels and zones of suspicion.

    Attributes
    ----------
    strata : Strata
    of_label : ndarray of int of shape (n_classes,)
        The number of each label's group; -1 for a label without rows.
    rows : ndarray of int of shape (n_strata, n_classes)
        Number of rows with each label in each stratum.
    """

    strata: Strata
    of_label: Codes
    rows: NDArray[np.int64]

    @property
    def shared(self) -> NDArray[np.bool_]:
        """Return which labels share strata with others."""
        known = self.of_label >= 0
        return np.asarray(known & (np.bincount(self.of_label[known])[self.of_label] > 1))

    def weights(self, label: int | None) -> Reals:
        """Return what each stratum counts in the share of all labels, or of one label."""
        rows = self.rows.sum(axis=1) if label is None else self.rows[:, label]
        return np.asarray(rows / max(int(rows.sum()), 1))


def group_labels(codes: Codes, chances: Reals, n_classes: int, own: Collection[int]) -> LabelGroups:
    """Return strata by label, or by groups of labels if there are many, and by suspicion.

    Parameters
    ----------
    codes : ndarray of int of shape (n_rows,)
        Numbers of the given labels.
    chances : ndarray of shape (n_rows,)
        The model's chance that each label is wrong.
    n_classes : int
    own : collection of int
        Labels that have strata of their own in any case.
    """
    of_label = _groups(codes, chances, n_classes, own)
    n_groups = int(of_label.max()) + 1
    n_zones = min(max(_MOST_STRATA // n_groups, _FEWEST_ZONES), _ZONES)
    strata = strata_of_groups(of_label[codes], chances, None, chances, n_zones)
    return LabelGroups(strata, of_label, rows_by_label(strata, codes, n_classes))


def labels_asked_about(groups: LabelGroups, codes: Codes, judged: Codes) -> list[int]:
    """Return labels that share strata, but have more judged rows than they would have by chance.

    Parameters
    ----------
    groups : LabelGroups
    codes : ndarray of int of shape (n_rows,)
    judged : ndarray of int
        Where the judged rows are among these.
    """
    sizes = np.array(groups.strata.sizes)
    judged_of = np.bincount(groups.strata.of_row[judged], minlength=len(sizes))
    expected = (judged_of / sizes) @ groups.rows
    found = np.bincount(codes[judged], minlength=len(groups.of_label))
    chance = _BEYOND * np.sqrt(np.maximum(expected, 1.0))
    return np.flatnonzero(groups.shared & (found > expected + chance)).tolist()


def rows_by_label(strata: Strata, codes: Codes, n_classes: int) -> NDArray[np.int64]:
    """Return the number of rows with each label in each stratum."""
    n_strata = len(strata.sizes)
    cells = np.bincount(strata.of_row * n_classes + codes, minlength=n_strata * n_classes)
    return cells.reshape(n_strata, n_classes).astype(np.int64)


def _groups(codes: Codes, chances: Reals, n_classes: int, own: Collection[int]) -> Codes:
    """Return the number of each label's group; labels with similar error rates share one.

    Numbers follow the error rates, so that the order of the classes changes nothing.
    """
    sizes = np.bincount(codes, minlength=n_classes)
    rates = np.bincount(codes, chances, n_classes) / np.maximum(sizes, 1)
    order = np.lexsort((-sizes, -rates))
    order = order[sizes[order] > 0]
    is_alone = np.ones(len(order), dtype=bool)
    if len(order) > _MOST_GROUPS:
        is_alone = np.isin(order, list(own))
    found = np.full(n_classes, -1, dtype=np.intp)
    alone, others = order[is_alone], order[~is_alone]
    found[alone] = np.arange(len(alone))
    if len(others):
        weight = np.asarray(np.bincount(codes, deviations(chances), n_classes)[others], float)
        found[others] = len(alone) + zones(-rates[others], weight, _MOST_GROUPS)
    return found
