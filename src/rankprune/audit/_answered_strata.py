"""From the answers about the drawn rows of each stratum to shares of wrong labels with limits."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune.core import Interval
from rankprune.core._inputs import BoolArray
from rankprune.core._melded_intervals import Part
from rankprune.core._stratified_limits import total_at_most, total_limits

COVERS = "the random choice of rows, but not mistakes in the answers"


class AnsweredStrata:
    """Strata with the answers about the rows that were drawn from each.

    Attributes
    ----------
    sizes : sequence of int
        Number of rows in each stratum.
    suspects : sequence of bool
        Whether each stratum holds suspects.
    best, worst : list of Part
        The answers with unsure ones counted as right labels, and as wrong ones.
    likely : list of float
        Estimated number of wrong labels in each stratum.
    otherwise : sequence of float or None
        The share of wrong labels in each stratum, if none of its rows was drawn.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        suspects: Sequence[bool],
        stratum: NDArray[np.intp],
        is_wrong: BoolArray,
        is_sure: BoolArray,
        level: float,
        otherwise: Sequence[float] | None = None,
    ) -> None:
        def parts(marked: BoolArray, among: BoolArray | slice) -> list[Part]:
            drawn, wrong = (
                np.bincount(stratum[among][part], minlength=len(sizes)) for part in (..., marked)
            )
            counts = zip(sizes, drawn.tolist(), wrong.tolist(), strict=True)
            return [Part(*each) for each in counts]

        everything = slice(None)
        self.sizes, self.suspects, self._level = sizes, suspects, level
        self.best = parts(is_wrong, everything)
        self.worst = parts(is_wrong | ~is_sure, everything)
        self.likely = _totals(parts(is_wrong[is_sure], is_sure), suspects, otherwise)

    def share(self, chosen: Sequence[bool]) -> Interval | None:
        """Return the share of wrong labels in some of the strata, or None if they are empty."""
        n_chosen = sum_of(self.sizes, chosen)
        if not n_chosen:
            return None
        low, high = total_limits(_only(self.best, chosen), _only(self.worst, chosen), self._level)
        estimate = sum_of(self.likely, chosen) / n_chosen
        return clipped_interval(estimate, low / n_chosen, high / n_chosen)

    def whole(self) -> Interval:
        """Return the share of all labels that are wrong."""
        found = self.share([True] * len(self.sizes))
        assert found is not None  # there are rows
        return found

    def n_at_most(self, chosen: Sequence[bool]) -> int:
        """Return an upper limit of the number of wrong labels in some of the strata."""
        if not sum_of(self.sizes, chosen):
            return 0
        return int(total_at_most(_only(self.worst, chosen), self._level))


def clipped_interval(estimate: Any, low: float, high: float) -> Interval:
    """Return an interval, and the estimate within it."""
    return Interval(float(np.clip(estimate, low, high)), low, high, COVERS)


def sum_of(values: Sequence[Any], signs: Sequence[bool], wanted: bool = True) -> Any:
    """Return the sum over the strata, or pools of strata, with a sign."""
    return sum(one for one, sign in zip(values, signs, strict=True) if sign == wanted)


def _only(parts: Sequence[Part], chosen: Sequence[bool]) -> list[Part]:
    return [part for part, is_chosen in zip(parts, chosen, strict=True) if is_chosen]


def _totals(
    parts: list[Part], suspects: Sequence[bool], otherwise: Sequence[float] | None
) -> list[float]:
    """Return the estimated number of wrong rows in each stratum.

    Strata without answers take another rate if one is known; otherwise the rate of all suspects or
    of all others, or else 0.5.
    """
    totals = []
    for number, (part, suspect) in enumerate(zip(parts, suspects, strict=True)):
        if otherwise is not None and not part.drawn:
            totals.append(part.size * otherwise[number])
            continue
        same = [one for one, other in zip(parts, suspects, strict=True) if other == suspect]
        known = part if part.drawn else reduce(Part.together, same)
        totals.append(part.size * (known.wrong / known.drawn if known.drawn else 0.5))
    return totals
