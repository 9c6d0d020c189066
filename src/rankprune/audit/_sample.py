"""The sample of rows to judge, drawn at random within four strata."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankprune.core._inputs import BoolArray, FloatArray, validate_labels, validate_mask
from rankprune.core._parameters import validate_count
from rankprune.core._random import RandomState, as_generator

# Strata, in the order of all tuples below: suspects and others labeled positive, then suspects and
# others labeled negative.

# Expected standard deviations of the answers: half of the suspects and one other row in twenty are
# wrong. Rows are drawn in proportion to them.
_DEVIATIONS = (0.5, 0.22)
# The smallest share of the sample for suspects, and for each label.
_LEAST_SUSPECT, _LEAST_LABEL = 0.2, 0.25


@dataclass(frozen=True)
class AuditSample:
    """Rows to judge, drawn at random from suspects and others of each label.

    Attributes
    ----------
    rows : ndarray of int
        Positions of the rows, counted from 0, in the random order in which to judge them.
    is_positive, suspect : ndarray of bool
        Their given labels, and whether they are suspects; hide both from the person who judges.
    sizes : tuple of 4 ints
        Number of rows in each of the four strata they were drawn from: suspects and others with
        the positive label, then with the negative label.
    positive, negative : object
        The two label values.

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
    sizes: tuple[int, ...]
    positive: Any
    negative: Any

    @property
    def stratum(self) -> NDArray[np.intp]:
        """Return the stratum, 0 to 3, that each row was drawn from."""
        return stratum_of(self.is_positive, self.suspect)

    @property
    def drawn(self) -> tuple[int, ...]:
        """Return the number of rows drawn from each stratum."""
        return tuple(np.bincount(self.stratum, minlength=4).tolist())


def draw(
    labels: ArrayLike,
    suspects: ArrayLike,
    n: int = 200,
    *,
    pos_label: Any = None,
    random_state: RandomState = None,
) -> AuditSample:
    """Return a random sample of rows to judge without seeing label or score.

    Suspects are drawn more often than other rows, because more of them are wrong. If there are
    enough such rows, at least a fifth of the sample are suspects, and at least a quarter have each
    label. The number of rows is fixed before any is judged, so the intervals of `estimate` are
    valid.

    Parameters
    ----------
    labels : array-like of shape (n_rows,)
        Given labels, of any two values.
    suspects : array-like of bool of shape (n_rows,)
        Rows whose labels are likely wrong, such as ``prune_mask_`` of a classifier.
    n : int, default=200
        Number of rows to draw.
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
    generator = as_generator(random_state)
    stratum = stratum_of(is_positive, suspect)
    sizes = np.bincount(stratum, minlength=4)
    rows = np.concatenate(
        [
            generator.choice(np.flatnonzero(stratum == number), wanted, replace=False)
            for number, wanted in enumerate(allocate(sizes, n))
        ]
    )
    generator.shuffle(rows)
    other = read.classes[read.classes != read.pos_label][0]
    return AuditSample(
        rows,
        is_positive[rows],
        suspect[rows],
        tuple(sizes.tolist()),
        _plain(read.pos_label),
        _plain(other),
    )


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def stratum_of(is_positive: BoolArray, suspect: BoolArray) -> NDArray[np.intp]:
    """Return the stratum, 0 to 3, of each row."""
    return 2 * (~is_positive).astype(np.intp) + ~suspect


def allocate(sizes: NDArray[np.intp], n: int) -> NDArray[np.intp]:
    """Return how many rows to draw from each stratum: more where answers are less certain."""
    rows = np.asarray(sizes, dtype=np.float64)
    suspects, positives = np.asarray([True, False] * 2), np.asarray([True, True, False, False])
    share: FloatArray = rows * np.where(suspects, *_DEVIATIONS)
    share = _with_minimum(share, suspects, _LEAST_SUSPECT)
    for label in (positives, ~positives):
        share = _with_minimum(share, label, _LEAST_LABEL)
    wanted = np.zeros(4)
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
