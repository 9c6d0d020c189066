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
    validate_labels,
    validate_mask,
    validate_probabilities,
)
from rankprune.core._noise_rates import validate_noise_rates
from rankprune.core._parameters import validate_count
from rankprune.core._random import RandomState, as_generator

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
_SMALL, _FEW_ZONES, _ZONES = 80, 3, 4


@dataclass(frozen=True)
class AuditSample:
    """Rows to judge, drawn at random from every stratum.

    Attributes
    ----------
    rows : ndarray of int
        Positions of the rows, counted from 0, in the random order in which to judge them.
    is_positive, suspect : ndarray of bool
        Their given labels, and whether they are suspects; hide both from the person who judges.
    stratum : ndarray of int
        The stratum that each row was drawn from.
    sizes : tuple of int
        Number of rows in each stratum.
    positive, negative : object
        The two label values.
    kinds : tuple of (bool, bool)
        Label of each stratum (True for the positive one), and whether it holds suspects. By
        default: suspects and others with the positive label, then with the negative label.

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

    @property
    def drawn(self) -> tuple[int, ...]:
        """Return the number of rows drawn from each stratum."""
        return tuple(np.bincount(self.stratum, minlength=len(self.sizes)).tolist())


def draw(
    labels: ArrayLike,
    suspects: ArrayLike,
    n: int = 200,
    *,
    probabilities: ArrayLike | None = None,
    noise_rates: NoiseRates | None = None,
    pos_label: Any = None,
    random_state: RandomState = None,
) -> AuditSample:
    """Return a random sample of rows to judge without seeing label or score.

    Suspects are drawn more often than other rows, because more of them are wrong. If there are
    enough such rows, at least a fifth of the sample are suspects, and at least a quarter have each
    label (with noise rates, at least a twentieth and an eighth). The number of rows is fixed before
    any is judged, so the intervals of `estimate` are valid.

    Parameters
    ----------
    labels : array-like of shape (n_rows,)
        Given labels, of any two values.
    suspects : array-like of bool of shape (n_rows,)
        Rows whose labels are likely wrong, such as ``prune_mask_`` of a classifier.
    n : int, default=200
        Number of rows to draw.
    probabilities : array-like of shape (n_rows,), default=None
        Out-of-fold probability of the positive label. Suspects and other rows are then divided
        further, by how suspicious they are, which makes the intervals narrower.
    noise_rates : NoiseRates, default=None
        The model's estimate of how many labels are wrong, used with ``probabilities`` alone. It
        decides where to divide, and how many rows to draw where. The intervals of `estimate` are
        valid even if it is wrong.
    pos_label : default=None
        The positive label; by default the last of the two values in sorted order.
    random_state : int, Generator, RandomState or None, default=None
        Decides which rows are drawn and in which order.

    Returns
    -------
    AuditSample

    Examples
    --------
    >>> import numpy as np
    >>> from rankprune import audit
    >>> labels = np.repeat([0, 1], 500)
    >>> suspects = np.arange(1000) % 10 == 0
    >>> sample = audit.draw(labels, suspects, 100, random_state=0)
    >>> len(sample.rows), sample.sizes, sample.drawn
    (100, (50, 450, 50, 450), (10, 40, 10, 40))
    """
    read = validate_labels(labels, pos_label=pos_label)
    is_positive, n_rows = read.is_positive, len(read.is_positive)
    suspect = validate_mask(suspects, n_rows, "suspects", "suspects")
    if validate_count(n, "n", 200) > n_rows:
        raise ValueError(f"n must be at most the number of rows, {n_rows}, got {n}. Draw fewer.")
    strata = Divided(is_positive, suspect, probabilities, noise_rates).strata(n)
    rows = draw_rows(strata, allocate(strata, n), as_generator(random_state))
    other = read.classes[read.classes != read.pos_label][0]
    return AuditSample(
        rows,
        is_positive[rows],
        suspect[rows],
        strata.of_row[rows],
        strata.sizes,
        _plain(read.pos_label),
        _plain(other),
        kinds_of(strata),
    )


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


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
            n_zones = _FEW_ZONES if n < _SMALL else _ZONES
            return strata_of(
                self._is_positive, self._suspicion, self._suspect, self._expected, n_zones
            )
        of_row = stratum_of(self._is_positive, self._suspect)
        sizes = np.bincount(of_row, minlength=4)
        labels, suspects = zip(*FOUR, strict=True)
        return Strata(of_row, tuple(sizes.tolist()), labels, suspects, (None,) * 4)


def kinds_of(strata: Strata) -> tuple[tuple[bool, bool], ...]:
    """Return the label of each stratum, and whether it holds suspects."""
    return tuple(
        (label, bool(suspect))
        for label, suspect in zip(strata.is_positive, strata.suspect, strict=True)
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
    positives = np.asarray(strata.is_positive)
    least_suspect, least_label = _LEAST_SUSPECT, _LEAST_LABEL
    share: FloatArray = rows * np.where(suspects, *_DEVIATIONS)
    if None not in strata.expected:
        least_suspect, least_label = _FEWEST_SUSPECT, _FEWEST_LABEL
        floor = min(_LEAST_WRONG / n, _MOST_FLOOR)
        wrong = np.clip(np.asarray(strata.expected, dtype=np.float64), floor, 1 - floor)
        share = rows * np.sqrt(wrong * (1 - wrong))
    share = _with_minimum(share, suspects, least_suspect)
    for label in (positives, ~positives):
        share = _with_minimum(share, label, least_label)
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
