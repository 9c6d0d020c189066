"""The sample of rows to judge, drawn at random within strata."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankprune.audit._strata import Strata, expected_wrong, strata_of
from rankprune.core import NoiseRates
from rankprune.core._inputs import (
    BoolArray,
    FloatArray,
    validate_probabilities,
)
from rankprune.core._noise_rates import validate_noise_rates

# Label and suspect of the strata of a draw without scores.
FOUR = ((True, True), (True, False), (False, True), (False, False))

# Expected standard deviations of the answers where no rates are known: half of the suspects and one
# other row in twenty are wrong. Rows are drawn in proportion to them.
_DEVIATIONS = (0.5, 0.22)
# The smallest share of the sample for suspects, and for each label.
_LEAST_SUSPECT, _LEAST_LABEL = 0.2, 0.25
# The same where chances of being wrong are known, which say better where to draw.
_FEWEST_SUSPECT, _FEWEST_LABEL = 0.05, 0.125
# As if at least so many rows of the sample were wrong, wherever they are drawn: no row is certain.
_LEAST_WRONG, _MOST_FLOOR = 3.0, 0.25
# Zones of each label in samples of fewer than so many rows, and in larger ones.
SMALL, FEW_ZONES, ZONES = 80, 3, 4


@dataclass(frozen=True)
class AuditSample:
    """Rows to judge, drawn at random from every stratum.

    Attributes
    ----------
    rows : ndarray of int
        Positions of the rows, counted from 0, in the random order in which to judge them.
    is_positive, suspect : ndarray of bool
        Their given labels, and whether they are suspects; hide both from the person who judges.
        If there are more than two labels, ``codes`` says which, and ``is_positive`` is False.
    stratum : ndarray of int
        The stratum that each row was drawn from.
    sizes : tuple of int
        Number of rows in each stratum.
    positive, negative : object
        The two label values; None if there are more.
    kinds : tuple of (bool, bool)
        Label of each stratum (True for the positive one), and whether it holds suspects. By
        default: suspects and others with the positive label, then with the negative label.
    classes : tuple
        If there are more than two labels: their values.
    codes : ndarray of int or None
        And the number of each row's given label among them.
    sizes_by_label : ndarray of shape (n_strata, n_classes) or None
        And the number of rows with each label in each stratum.

    Examples
    --------
    >>> import numpy as np
    >>> from rankprune import audit
    >>> labels = np.repeat(["no", "yes"], 500)
    >>> sample = audit.draw(labels, np.arange(1000) % 10 == 0, 100, random_state=0)
    >>> sample.drawn, sample.positive
    ((10, 40, 10, 40), 'yes')
    """

    rows: NDArray[np.intp]
    is_positive: BoolArray
    suspect: BoolArray
    stratum: NDArray[np.intp]
    sizes: tuple[int, ...]
    positive: Any
    negative: Any
    kinds: tuple[tuple[bool, bool], ...] = FOUR
    classes: tuple[Any, ...] = ()
    codes: NDArray[np.intp] | None = None
    sizes_by_label: NDArray[np.int64] | None = None

    @property
    def values(self) -> tuple[Any, ...]:
        """Return the label values; of two, the negative one comes first."""
        return self.classes or (self.negative, self.positive)

    @property
    def given(self) -> NDArray[np.intp]:
        """Return the number of each row's given label among ``values``."""
        return self.is_positive.astype(np.intp) if self.codes is None else self.codes

    @property
    def drawn(self) -> tuple[int, ...]:
        """Return the number of rows drawn from each stratum."""
        return tuple(np.bincount(self.stratum, minlength=len(self.sizes)).tolist())


class Divided:
    """Rows as they are divided into strata: in four, or by zones of suspicion."""

    def __init__(
        self,
        is_positive: BoolArray,
        suspect: BoolArray,
        probabilities: ArrayLike | None,
        noise_rates: NoiseRates | None,
    ) -> None:
        self._is_positive, self._suspect = is_positive, suspect
        self._suspicion = self._expected = None
        if noise_rates is not None:
            validate_noise_rates(noise_rates)
            if probabilities is None:
                raise ValueError(
                    "probabilities must be given with noise_rates, got None. Pass "
                    "predict_proba(X)[:, 1], or leave both out."
                )
        if probabilities is not None:
            values = validate_probabilities(probabilities, len(is_positive))
            self._suspicion = np.where(is_positive, 1 - values, values)
            if noise_rates is not None:
                self._expected = expected_wrong(is_positive, values, noise_rates)

    def strata(self, n: int) -> Strata:
        """Return the strata for a sample of some size: more of them for larger ones."""
        if self._suspicion is not None:
            n_zones = FEW_ZONES if n < SMALL else ZONES
            return strata_of(
                self._is_positive, self._suspicion, self._suspect, self._expected, n_zones
            )
        of_row = stratum_of(self._is_positive, self._suspect)
        sizes = np.bincount(of_row, minlength=4)
        labels, suspects = zip(*FOUR, strict=True)
        return Strata(of_row, tuple(sizes.tolist()), labels, suspects, (None,) * 4)


def kinds_of(strata: Strata) -> tuple[tuple[bool, bool], ...]:
    """Return the label of each stratum, and whether it holds suspects."""
    labels = strata.is_positive or (False,) * len(strata.sizes)
    return tuple(
        (label, bool(suspect)) for label, suspect in zip(labels, strata.suspect, strict=True)
    )


def stratum_of(is_positive: BoolArray, suspect: BoolArray) -> NDArray[np.intp]:
    """Return which of the four strata, 0 to 3, each row belongs to."""
    return 2 * (~is_positive).astype(np.intp) + ~suspect


def draw_rows(
    strata: Strata, wanted: Sequence[int] | NDArray[np.intp], generator: np.random.Generator
) -> NDArray[np.intp]:
    """Return so many random rows of each stratum, in random order."""
    rows = np.concatenate(
        [
            generator.choice(np.flatnonzero(strata.of_row == number), count, replace=False)
            for number, count in enumerate(wanted)
        ]
    )
    generator.shuffle(rows)
    return rows


def allocate(strata: Strata, n: int) -> NDArray[np.intp]:
    """Return how many rows to draw from each stratum: more where answers are less certain."""
    rows = np.asarray(strata.sizes, dtype=np.float64)
    suspects = np.asarray([bool(suspect) for suspect in strata.suspect])
    group = np.asarray(strata.group)
    least_suspect, least_label = _LEAST_SUSPECT, _LEAST_LABEL
    share: FloatArray = rows * np.where(suspects, *_DEVIATIONS)
    if None not in strata.expected:
        least_suspect, least_label = _FEWEST_SUSPECT, _FEWEST_LABEL
        floor = min(_LEAST_WRONG / n, _MOST_FLOOR)
        wrong = np.clip(np.asarray(strata.expected, dtype=np.float64), floor, 1 - floor)
        share = rows * np.sqrt(wrong * (1 - wrong))
    share = _with_minimum(share, suspects, least_suspect)
    for number in sorted(set(strata.group), reverse=True):
        share = _with_minimum(share, group == number, least_label)
    wanted = np.zeros(len(rows))
    while (left := n - wanted.sum()) > 1e-9:
        # Rows that one stratum cannot supply are drawn from the others.
        open_ = np.where(wanted < rows, np.maximum(share, 1e-12), 0.0)
        wanted = np.minimum(rows, wanted + left * open_ / open_.sum())
    whole = np.floor(wanted + 1e-9).astype(np.intp)
    rounded_up = np.argsort(whole - wanted, kind="stable")[: n - int(whole.sum())]
    whole[rounded_up] += 1
    return whole


def _with_minimum(share: FloatArray, part: BoolArray, least: float) -> FloatArray:
    """Return shares in which a part, unless it is empty, has at least a given share."""
    inside, outside = share[part].sum(), share[~part].sum()
    if inside == 0 or inside >= least * (inside + outside):
        return share
    return np.asarray(np.where(part, share * least / inside, share * (1 - least) / outside))
