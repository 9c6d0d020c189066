"""From noise rates to cut-offs to the rows that are dropped, and the ranking of these suspects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankprune.core._histogram import ScoreHistogram
from rankprune.core._inputs import (
    BoolArray,
    FloatArray,
    Inputs,
    blocks,
    count_true,
    float_block,
    validate_inputs,
)
from rankprune.core._noise_rates import NoiseRates, validate_noise_rates
from rankprune.core._selection import value_of_rank
from rankprune.exceptions import ClassAlmostEmptiedWarning, warn_caller

# A residue of a row's weight below this share is rounding, not mass that stays.
_NO_RESIDUE = 1e-9


@dataclass(frozen=True)
class Pruning:
    """Which rows are dropped, and where in each class the pruning stops.

    Attributes
    ----------
    mask : ndarray of bool
        True means dropped.
    positive_cutoff, negative_cutoff : float or None
        Probability of the last row pruned among the positive labels (the highest such) and among
        the negative labels (the lowest such). None where none is pruned.
    n_positive_pruned, n_negative_pruned : float
        Rows dropped of each label; their mass where rows are weighted.
    sample_weight : ndarray or None
        Where rows are weighted: the weight that stays on each row, 0 on dropped ones and a part
        of its weight on a row at the cut-off.

    Notes
    -----
    The cut-offs are the paper's k_1 and k_0 (Section 3.3).
    """

    mask: BoolArray
    positive_cutoff: float | None
    negative_cutoff: float | None
    n_positive_pruned: float
    n_negative_pruned: float
    sample_weight: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class Suspects:
    """Rows whose labels are likely wrong, most suspicious first.

    Attributes
    ----------
    rows : ndarray of int
        Row numbers.
    margins : ndarray of float
        How far the probability of each lies beyond the cut-off of its label, 0 at the cut-off.
    """

    rows: NDArray[np.intp]
    margins: NDArray[np.float64]


def prune_labels(
    labels: ArrayLike,
    probabilities: ArrayLike,
    noise_rates: NoiseRates,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> Pruning:
    """Return which rows to drop: in each class as many as are wrong, least confident first.

    Parameters
    ----------
    labels, probabilities, sample_weight, pos_label
        As in `estimate_noise_rates`.
    noise_rates : NoiseRates
        Estimated or known. Rates with ``reliable=False`` prune nothing.

    Returns
    -------
    Pruning
        Without weights exactly ``round(label_error_rate * n)`` rows of each label; with weights
        that share of the mass, where the row at the boundary keeps the rest of its weight. Rows
        that tie at a cut-off go in the order in which they stand. One row of each label stays.

    Notes
    -----
    Step 2.1 of Algorithm 1: pi_1 |P~| positive labels with the lowest and pi_0 |N~| negative
    labels with the highest probability. The filter ``g(x) >= k_1`` printed in Section 3.3 would
    keep the row at the cut-off and so remove one fewer.

    Examples
    --------
    >>> from rankprune import NoiseRates, prune_labels
    >>> rates = NoiseRates.from_label_error_rates(0.25, 0.25, observed_prevalence=0.5)
    >>> labels = [1, 1, 1, 1, 0, 0, 0, 0]
    >>> probabilities = [0.9, 0.2, 0.7, 0.8, 0.1, 0.6, 0.3, 0.2]
    >>> pruning = prune_labels(labels, probabilities, rates)
    >>> pruning.mask.nonzero()[0].tolist(), pruning.positive_cutoff, pruning.negative_cutoff
    ([1, 5], 0.2, 0.6)
    """
    inputs = validate_inputs(
        labels, probabilities, sample_weight=sample_weight, pos_label=pos_label
    )
    validate_noise_rates(noise_rates)
    shares = (
        (noise_rates.positive_label_error_rate, noise_rates.negative_label_error_rate)
        if noise_rates.reliable
        else (0.0, 0.0)
    )
    if inputs.sample_weight is None:
        return _prune_rows(inputs.is_positive, inputs.probabilities, shares)
    return _prune_mass(inputs, inputs.sample_weight, shares)


def rank_suspects(
    labels: ArrayLike,
    probabilities: ArrayLike,
    noise_rates: NoiseRates,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> Suspects:
    """Return the rows that `prune_labels` drops, most suspicious first.

    Parameters
    ----------
    labels, probabilities, noise_rates, sample_weight, pos_label
        As in `prune_labels`.

    Returns
    -------
    Suspects
        Ordered by the margin to the cut-off of their own label, which makes suspects of the two
        labels comparable however unequal the noise; ties in the order of the rows.

    Examples
    --------
    >>> from rankprune import NoiseRates, rank_suspects
    >>> rates = NoiseRates.from_label_error_rates(0.5, 0.25, observed_prevalence=0.5)
    >>> labels = [1, 1, 1, 1, 0, 0, 0, 0]
    >>> probabilities = [0.9, 0.5, 0.25, 0.8, 0.1, 0.6, 0.3, 0.2]
    >>> suspects = rank_suspects(labels, probabilities, rates)
    >>> suspects.rows.tolist(), suspects.margins.tolist()
    ([2, 1, 5], [0.25, 0.0, 0.0])
    """
    inputs = validate_inputs(
        labels, probabilities, sample_weight=sample_weight, pos_label=pos_label
    )
    pruning = prune_labels(
        inputs.is_positive, inputs.probabilities, noise_rates, sample_weight=inputs.sample_weight
    )
    rows = np.flatnonzero(pruning.mask)
    scores = inputs.probabilities[rows].astype(np.float64)
    margins = np.where(
        inputs.is_positive[rows],
        (pruning.positive_cutoff or 0.0) - scores,
        scores - (pruning.negative_cutoff or 0.0),
    )
    order = np.argsort(-margins, kind="stable")
    return Suspects(rows[order], margins[order])


def _prune_rows(
    is_positive: BoolArray, probabilities: FloatArray, shares: tuple[float, float]
) -> Pruning:
    n_positive = count_true(is_positive)
    n_negative = len(is_positive) - n_positive
    positive_count = _leave_one(round(shares[0] * n_positive), n_positive, "positive")
    negative_count = _leave_one(round(shares[1] * n_negative), n_negative, "negative")
    mask = np.zeros(len(is_positive), dtype=bool)
    if not positive_count and not negative_count:
        return Pruning(mask, None, None, 0, 0)
    histogram = ScoreHistogram.spanning(probabilities).update(is_positive, probabilities)
    # A label that loses no row gets a cut-off that no probability lies beyond.
    positive_cutoff, positive_ties = -1.0, 0
    if positive_count:
        found = value_of_rank(is_positive, probabilities, histogram, True, positive_count)
        positive_cutoff, positive_ties = found.value, positive_count - found.n_below
    negative_cutoff, negative_ties = 2.0, 0
    if negative_count:
        rank = n_negative - negative_count + 1
        found = value_of_rank(is_positive, probabilities, histogram, False, rank)
        n_above = n_negative - found.n_below - found.n_equal
        negative_cutoff, negative_ties = found.value, negative_count - n_above
    for rows in blocks(len(mask)):
        values, labels, marked = float_block(probabilities, rows), is_positive[rows], mask[rows]
        np.less(values, positive_cutoff, out=marked)
        marked &= labels
        marked |= (values > negative_cutoff) & ~labels
        if positive_ties:
            tied = (values == positive_cutoff) & labels
            positive_ties -= _mark_first(marked, tied, positive_ties)
        if negative_ties:
            tied = (values == negative_cutoff) & ~labels
            negative_ties -= _mark_first(marked, tied, negative_ties)
    return Pruning(
        mask,
        positive_cutoff if positive_count else None,
        negative_cutoff if negative_count else None,
        positive_count,
        negative_count,
    )


def _mark_first(marked: BoolArray, tied: BoolArray, count: int) -> int:
    """Mark the first ``count`` tied rows of a block and return how many there were to mark."""
    chosen = np.flatnonzero(tied)[:count]
    marked[chosen] = True
    return len(chosen)


def _prune_mass(
    inputs: Inputs, sample_weight: NDArray[np.float64], shares: tuple[float, float]
) -> Pruning:
    kept = sample_weight.copy()
    cutoffs: list[float | None] = []
    masses: list[float] = []
    for label, share, name in ((True, shares[0], "positive"), (False, shares[1], "negative")):
        members = np.flatnonzero((inputs.is_positive == label) & (sample_weight > 0))
        scores = inputs.probabilities[members] if label else -inputs.probabilities[members]
        members = members[np.argsort(scores, kind="stable")]
        # What stays on each row of all the mass up to it, were the share taken from the front.
        left = np.cumsum(sample_weight[members])
        left -= share * left[-1]
        left[left < _NO_RESIDUE * sample_weight[members]] = 0
        if left[-1] == 0:
            _warn_almost_emptied(name)
            left[-1] = sample_weight[members[-1]]
        kept[members] = np.minimum(left, sample_weight[members])
        touched = members[kept[members] < sample_weight[members]]
        cutoffs.append(float(inputs.probabilities[touched[-1]]) if touched.size else None)
        masses.append(float((sample_weight[members] - kept[members]).sum()))
    mask = (kept == 0) & (sample_weight > 0)
    return Pruning(mask, cutoffs[0], cutoffs[1], masses[0], masses[1], kept)


def _leave_one(count: int, n_rows: int, name: str) -> int:
    if count < n_rows:
        return count
    _warn_almost_emptied(name)
    return n_rows - 1


def _warn_almost_emptied(name: str) -> None:
    warn_caller(
        f"The rates ask for pruning every row with a {name} label; its most confident row was "
        "kept. Check the rates, or use a stronger classifier.",
        ClassAlmostEmptiedWarning,
    )
