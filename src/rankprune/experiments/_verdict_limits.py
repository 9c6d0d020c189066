"""The limits of the verdict: searched on one half of the data families, reported on the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from rankprune.core._verdict import CLEAN_SHARE, NOISY_SHARE
from rankprune.experiments import _training
from rankprune.experiments._flip_chances import CLEAN
from rankprune.experiments._table import Table
from rankprune.experiments._training import Collection

Bools = NDArray[np.bool_]
Reals = NDArray[np.float64]

# Lower ends below 1 % are reported as 0, so no lower limit differs from the first.
_NOISY_LIMITS = (0.01, 0.015, 0.02, 0.03, 0.05)
_CLEAN_LIMITS = (0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.15)
# What a choice may cost: false alarms on clean labels, where scores separate the classes and
# elsewhere; and tables that it calls clean though more than this share of their labels is wrong.
_SEPARATED, _ALARMS_SEPARATED, _ALARMS = 0.98, 0.05, 0.2
_NOT_CLEAN, _CALLED_CLEAN = 0.02, 0.05
_NOISY = 0.1


@dataclass(frozen=True)
class Decisions:
    """What two limits do on some problems.

    Attributes
    ----------
    alarms_separated, alarms : float
        Share of clean tables with noise found, where scores separate the classes and elsewhere.
    found : float
        Share of tables with at least 10 % wrong labels with noise found.
    clean : float
        Share of clean tables called clean.
    not_clean : tuple of float
        Share of the tables called clean with more than 2 % and with more than 5 % wrong labels.
    """

    alarms_separated: float
    alarms: float
    found: float
    clean: float
    not_clean: tuple[float, float]

    @property
    def is_allowed(self) -> bool:
        """Return whether mistakes are rare enough."""
        return (
            self.alarms_separated <= _ALARMS_SEPARATED
            and self.alarms <= _ALARMS
            and self.not_clean[0] <= _CALLED_CLEAN
        )

    @property
    def use(self) -> float:
        """Return how often the verdict is the one that is wanted."""
        return self.found + self.clean


def decisions(
    problems: Collection, low: Reals, high: Reals, limits: tuple[float, float]
) -> Decisions:
    """Return what two limits do, given the ends of the ranges of the total."""
    noisy = low > limits[0]
    clean = ~noisy & (high <= limits[1])
    wrong, separated = problems.truth[:, 4], problems.true_auc > _SEPARATED
    is_clean = problems.kind == CLEAN
    return Decisions(
        _share(noisy, is_clean & separated),
        _share(noisy, is_clean & ~separated),
        _share(noisy, wrong >= _NOISY),
        _share(clean, is_clean),
        (_share(wrong > _NOT_CLEAN, clean), _share(wrong > CLEAN_SHARE, clean)),
    )


def _share(values: Bools, chosen: Bools) -> float:
    return float(values[chosen].mean()) if chosen.any() else 0.0


def searched_limits(problems: Collection, low: Reals, high: Reals) -> tuple[float, float]:
    """Return the limits of most use among those that are allowed; the strictest if none is."""
    found = {
        limits: decisions(problems, low, high, limits)
        for limits in product(_NOISY_LIMITS, _CLEAN_LIMITS)
    }
    allowed = [limits for limits, one in found.items() if one.is_allowed]
    strictest = (_NOISY_LIMITS[-1], _CLEAN_LIMITS[0])
    return max(allowed, key=lambda limits: found[limits].use, default=strictest)


def limits_table(problems: Collection, low: Reals, high: Reals) -> Table:
    """Return the table of limits that are searched on one half and reported on the other."""
    rows = [
        [chosen, *(f"{limit:.1%}" for limit in limits), *_cells(one)]
        for chosen, limits, one in _both_ways(problems, low, high)
    ]
    return Table(
        "The limits of the verdict",
        "Both limits are searched on the problems of one half of the data families, among those "
        f"with at most {_ALARMS_SEPARATED:.0%} false alarms on clean labels where the AUC is above "
        f"{_SEPARATED:g}, at most {_ALARMS:.0%} elsewhere, and at most {_CALLED_CLEAN:.0%} of the "
        f"tables called clean with more than {_NOT_CLEAN:.0%} wrong labels: those with which most "
        "clean tables are called clean and most noise is found. What they do is reported on the "
        "other half.",
        (
            "limits",
            "noise above",
            "clean up to",
            f"alarms, AUC above {_SEPARATED:g}",
            "alarms elsewhere",
            f"noise found, {_NOISY:.0%} and more wrong",
            "clean tables called clean",
            f"called clean, more than {_NOT_CLEAN:.0%} / {CLEAN_SHARE:.0%} wrong",
        ),
        rows,
    )


def _both_ways(
    problems: Collection, low: Reals, high: Reals
) -> Iterator[tuple[str, tuple[float, float], Decisions]]:
    fold_of = _training.folds()
    fold = np.array([fold_of[family] for family in problems.family.tolist()])
    is_first = fold < _training.N_FOLDS / 2
    for own, other, name in ((is_first, ~is_first, "first"), (~is_first, is_first, "second")):
        limits = searched_limits(problems.select(own), low[own], high[own])
        rest = problems.select(other), low[other], high[other]
        yield f"searched on the {name} half", limits, decisions(*rest, limits)
        ours = (NOISY_SHARE, CLEAN_SHARE)
        yield "those of the package, same problems", ours, decisions(*rest, ours)


def _cells(one: Decisions) -> list[str]:
    shares = (one.alarms_separated, one.alarms, one.found, one.clean)
    return [
        *(f"{share:.1%}" for share in shares),
        " / ".join(f"{share:.1%}" for share in one.not_clean),
    ]
