"""From noise rates to cut-offs to the rows that are dropped, and the ranking of these suspects."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankprune.core._auc import are_counts
from rankprune.core._blocks import blocks
from rankprune.core._inputs import (
    BoolArray,
    FloatArray,
    Inputs,
    count_true,
    validate_batch,
    validate_inputs,
)
from rankprune.core._mass import mass_kept
from rankprune.core._noise_rates import NoiseRates, validate_noise_rates
from rankprune.core.classes._class_inputs import (
    column_for_two,
    is_matrix,
    refuse_for_two_labels,
)
from rankprune.core.classes._class_pruning import prune_classes, rank_classes
from rankprune.core.classes._noise_matrix import NoiseMatrix
from rankprune.core.counting._histogram import ScoreHistogram
from rankprune.core.counting._kernel import kernel_for
from rankprune.core.counting._selection import Ranked, value_of_rank
from rankprune.exceptions import ClassAlmostEmptiedWarning, warn_caller


@dataclass(frozen=True)
class Pruning:
    """Which rows are dropped, and where in each class the pruning stops.

    Attributes
    ----------
    mask : ndarray of bool
        True means dropped.
    positive_cutoff, negative_cutoff : float or None
        Probability of the last row pruned among the positive labels (the highest such) and among
        the negative labels (the lowest such). None if no row is pruned.
    n_positive_pruned, n_negative_pruned : float
        Number of rows dropped of each label, or their mass if rows are weighted.
    sample_weight : ndarray or None
        If rows are weighted: the weight that each row keeps, 0 for dropped rows and a part of the
        weight for a row at the cut-off.

    Notes
    -----
    The cut-offs are the paper's k_1 and k_0 (Section 3.3).

    Examples
    --------
    >>> from rankprune import NoiseRates, prune_labels
    >>> rates = NoiseRates.from_label_error_rates(0.5, 0.0, observed_prevalence=0.5)
    >>> pruning = prune_labels([1, 1, 0, 0], [0.9, 0.2, 0.3, 0.1], rates)
    >>> pruning.mask.tolist(), pruning.positive_cutoff, pruning.n_negative_pruned
    ([False, True, False, False], 0.2, 0)
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
        Distance of each probability beyond the cut-off of its label, 0 at the cut-off.

    Examples
    --------
    >>> from rankprune import NoiseRates, rank_suspects
    >>> rates = NoiseRates.from_label_error_rates(0.6, 0.2, observed_prevalence=0.5)
    >>> suspects = rank_suspects([1, 1, 1, 0, 0, 0], [0.9, 0.25, 0.5, 0.7, 0.1, 0.1], rates)
    >>> suspects.rows.tolist(), suspects.margins.tolist()
    ([1, 2, 3], [0.25, 0.0, 0.0])
    """

    rows: NDArray[np.intp]
    margins: NDArray[np.float64]


@dataclass(frozen=True)
class Cutoff:
    """Where the pruning of one label stops.

    Attributes
    ----------
    value : float
        Probability of the last row pruned.
    n_pruned : int
        Number of rows pruned.
    n_ties, n_equal : int
        Number of pruned rows, and of all rows of the label, whose probability equals ``value``.

    Examples
    --------
    >>> from rankprune import NoiseRates
    >>> from rankprune.core import ConfidentState
    >>> rates = NoiseRates.from_label_error_rates(0.5, 0.0, observed_prevalence=0.8)
    >>> state = ConfidentState(noise_rates=rates)
    >>> while not state.is_done:
    ...     state = state.update([1, 1, 1, 1, 0], [0.9, 0.2, 0.3, 0.3, 0.1]).after_pass()
    >>> state.cutoffs().positive  # of the two rows at 0.3 one goes
    Cutoff(value=0.3, n_pruned=2, n_ties=1, n_equal=2)
    """

    value: float
    n_pruned: int
    n_ties: int
    n_equal: int


@dataclass(frozen=True)
class Cutoffs:
    """The cut-off of each label, or None if no row of that label is pruned.

    Examples
    --------
    >>> from rankprune.core import Cutoff, Cutoffs
    >>> Cutoffs(positive=Cutoff(0.3, n_pruned=2, n_ties=1, n_equal=2), negative=None).values
    (0.3, None)
    """

    positive: Cutoff | None
    negative: Cutoff | None

    @property
    def values(self) -> tuple[float | None, float | None]:
        """Return the probability of the last row pruned of each label, or None if none is."""
        return (
            None if self.positive is None else self.positive.value,
            None if self.negative is None else self.negative.value,
        )


def pruned_shares(noise_rates: NoiseRates) -> tuple[float, float]:
    """Return the shares of the positive and of the negative labels to prune."""
    if not noise_rates.reliable:
        return 0.0, 0.0
    return noise_rates.positive_label_error_rate, noise_rates.negative_label_error_rate


def rows_to_prune(shares: tuple[float, float], sizes: tuple[int, int]) -> tuple[int, int]:
    """Return how many positive and negative labels to prune; at least one of each is kept."""
    positive, negative = (round(share * size) for share, size in zip(shares, sizes, strict=True))
    return _leave_one(positive, sizes[0], "positive"), _leave_one(negative, sizes[1], "negative")


def rank_of(label: bool, count: int, size: int) -> int:
    """Return the rank (1 is the smallest) of the last of ``count`` pruned rows of a label."""
    return count if label else size - count + 1


def cutoff_of(found: Ranked, label: bool, count: int, size: int) -> Cutoff:
    """Return the cut-off at the value found for its rank."""
    n_beyond = found.n_below if label else size - found.n_below - found.n_equal
    return Cutoff(found.value, count, count - n_beyond, found.n_equal)


class Marker:
    """Marks the rows beyond the cut-offs, batch by batch; of tied rows, the first are pruned.

    Examples
    --------
    >>> from rankprune.core import Cutoff, Cutoffs, Marker
    >>> marker = Marker(Cutoffs(Cutoff(0.3, n_pruned=2, n_ties=1, n_equal=2), None))
    >>> marker.mark_batch([1, 1, 0], [0.2, 0.3, 0.9]).tolist()
    [True, True, False]
    >>> marker.mark_batch([1, 1], [0.3, 0.9]).tolist()  # the one that tied has gone before
    [False, False]
    """

    def __init__(self, cutoffs: Cutoffs) -> None:
        self._ties: dict[bool, int] = {}
        self._values: dict[bool, float] = {}
        limits = []
        # A label without pruned rows gets a cut-off that no probability is beyond.
        for label, cutoff, nowhere in (
            (True, cutoffs.positive, -1.0),
            (False, cutoffs.negative, 2.0),
        ):
            if cutoff is None:
                limits.append(nowhere)
            elif cutoff.n_ties == cutoff.n_equal:
                limits.append(math.nextafter(cutoff.value, 2.0 if label else -1.0))
            else:
                limits.append(cutoff.value)
                self._ties[label], self._values[label] = cutoff.n_ties, cutoff.value
        self._limits = (limits[0], limits[1])

    @property
    def is_ordered(self) -> bool:
        """Return whether batches must come in row order, because only some tied rows are pruned."""
        return bool(self._ties)

    def mark_batch(
        self, labels: ArrayLike, probabilities: ArrayLike, mask: BoolArray | None = None
    ) -> BoolArray:
        """Return the mask of a batch with labels 0 and 1, written into ``mask`` if it is given."""
        is_positive, values = validate_batch(labels, probabilities)
        mask = np.empty(len(is_positive), dtype=bool) if mask is None else mask
        self.mark(mask, is_positive, values)
        return mask

    def mark(self, mask: BoolArray, is_positive: BoolArray, probabilities: FloatArray) -> None:
        """Fill the mask of a batch of rows."""
        kernel = kernel_for(len(mask))
        for rows in blocks(len(mask)):
            values, labels, marked = (
                kernel.prepared(probabilities[rows]),
                is_positive[rows],
                mask[rows],
            )
            kernel.mark_beyond(marked, labels, values, self._limits)
            for label, left in self._ties.items():
                if left:
                    tied = np.flatnonzero((values == self._values[label]) & (labels == label))[
                        :left
                    ]
                    marked[tied] = True
                    self._ties[label] -= len(tied)


def prune_labels(
    labels: ArrayLike,
    probabilities: ArrayLike,
    noise_rates: NoiseRates | NoiseMatrix,
    *,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> Pruning | Any:
    """Return which rows to drop: in each class, as many as are wrong, least confident first.

    Parameters
    ----------
    labels, probabilities, classes, sample_weight, pos_label
        As in `estimate_noise_rates`. With a matrix, ``classes`` are its own by default.
    noise_rates : NoiseRates or NoiseMatrix
        Estimated or known; a matrix for more than two classes. Rates with ``reliable=False``
        prune nothing.

    Returns
    -------
    Pruning or ClassPruning
        Exactly ``round(label_error_rate * n)`` rows of each label are dropped. With a matrix, a
        `ClassPruning` of those whose label is the least likely, compared with the best other
        class. Whole-number weights
        count rows, so weights of 1 change nothing; with other weights, that share of the mass is
        dropped, without rounding. The row at the boundary keeps the rest of its weight. Rows that
        tie at a cut-off are dropped in row order. At least one row of each label is kept.

    Notes
    -----
    Step 2.1 of Algorithm 1: ``pi_1 |P~|`` positive labels with the lowest and ``pi_0 |N~|``
    negative ones with the highest probability. The filter ``g(x) >= k_1`` printed in Section 3.3
    would keep the row at the cut-off and so remove one fewer.

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
    if isinstance(noise_rates, NoiseMatrix):
        refuse_for_two_labels(pos_label=pos_label)
        return prune_classes(labels, probabilities, noise_rates, classes, sample_weight)
    if classes is not None or is_matrix(probabilities):
        validate_noise_rates(noise_rates)
        probabilities = column_for_two(labels, probabilities, classes, pos_label)
    inputs = validate_inputs(
        labels, probabilities, sample_weight=sample_weight, pos_label=pos_label
    )
    validate_noise_rates(noise_rates)
    shares = pruned_shares(noise_rates)
    if inputs.sample_weight is None:
        return _prune_rows(inputs.is_positive, inputs.probabilities, shares)
    return _prune_mass(inputs, inputs.sample_weight, shares)


def rank_suspects(
    labels: ArrayLike,
    probabilities: ArrayLike,
    noise_rates: NoiseRates | NoiseMatrix,
    *,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> Suspects | Any:
    """Return the rows that `prune_labels` drops, most suspicious first.

    Parameters
    ----------
    labels, probabilities, noise_rates, classes, sample_weight, pos_label
        As in `prune_labels`.

    Returns
    -------
    Suspects or ClassSuspects
        With a matrix, a `ClassSuspects` with a suggested label for each row, ordered by how
        many times likelier it is than the given one. Otherwise ordered by the margin to the cut-off
        of their own label, which makes suspects of the two labels comparable even if the noise is
        unequal; ties are in row order.

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
    if isinstance(noise_rates, NoiseMatrix):
        refuse_for_two_labels(pos_label=pos_label)
        return rank_classes(labels, probabilities, noise_rates, classes, sample_weight)
    if classes is not None or is_matrix(probabilities):
        validate_noise_rates(noise_rates)
        probabilities = column_for_two(labels, probabilities, classes, pos_label)
    inputs = validate_inputs(
        labels, probabilities, sample_weight=sample_weight, pos_label=pos_label
    )
    pruning = prune_labels(
        inputs.is_positive, inputs.probabilities, noise_rates, sample_weight=inputs.sample_weight
    )
    cutoffs = (pruning.positive_cutoff, pruning.negative_cutoff)
    return order_pruned(inputs.is_positive, inputs.probabilities, pruning.mask, cutoffs)


def order_pruned(
    is_positive: BoolArray,
    probabilities: FloatArray,
    mask: BoolArray,
    cutoffs: tuple[float | None, float | None],
) -> Suspects:
    """Return the rows of a mask, ordered by their margin to the cut-off of their label."""
    rows = np.flatnonzero(mask)
    scores = probabilities[rows].astype(np.float64)
    positive, negative = (cutoff or 0.0 for cutoff in cutoffs)
    margins = np.where(is_positive[rows], positive - scores, scores - negative)
    order = np.argsort(-margins, kind="stable")
    return Suspects(rows[order], margins[order])


def cutoffs_of_mask(
    is_positive: BoolArray, probabilities: FloatArray, mask: BoolArray
) -> tuple[float | None, float | None]:
    """Return the score of the last pruned row of each label, or None if none is pruned."""
    positive, negative = mask & is_positive, mask & ~is_positive
    return (
        float(probabilities[positive].max()) if positive.any() else None,
        float(probabilities[negative].min()) if negative.any() else None,
    )


def _prune_rows(
    is_positive: BoolArray, probabilities: FloatArray, shares: tuple[float, float]
) -> Pruning:
    n_positive = count_true(is_positive)
    sizes = (n_positive, len(is_positive) - n_positive)
    counts = rows_to_prune(shares, sizes)
    mask = np.zeros(len(is_positive), dtype=bool)
    cutoffs = Cutoffs(None, None)
    if any(counts):
        histogram = ScoreHistogram().update(is_positive, probabilities)
        cutoffs = Cutoffs(
            *(
                cutoff_of(
                    value_of_rank(
                        is_positive, probabilities, histogram, label, rank_of(label, count, size)
                    ),
                    label,
                    count,
                    size,
                )
                if count
                else None
                for label, count, size in zip((True, False), counts, sizes, strict=True)
            )
        )
        Marker(cutoffs).mark(mask, is_positive, probabilities)
    return Pruning(mask, *cutoffs.values, *counts)


def _prune_mass(
    inputs: Inputs, sample_weight: NDArray[np.float64], shares: tuple[float, float]
) -> Pruning:
    kept = sample_weight.copy()
    cutoffs: list[float | None] = []
    masses: list[float] = []
    targets = _mass_to_prune(inputs.is_positive, sample_weight, shares)
    for label, target, name in ((True, targets[0], "positive"), (False, targets[1], "negative")):
        members = np.flatnonzero((inputs.is_positive == label) & (sample_weight > 0))
        scores = inputs.probabilities[members] if label else -inputs.probabilities[members]
        members = members[np.argsort(scores, kind="stable")]
        kept[members], is_emptied = mass_kept(sample_weight[members], target)
        if is_emptied:
            _warn_almost_emptied(name)
        touched = members[kept[members] < sample_weight[members]]
        cutoffs.append(float(inputs.probabilities[touched[-1]]) if touched.size else None)
        masses.append(float((sample_weight[members] - kept[members]).sum()))
    mask = (kept == 0) & (sample_weight > 0)
    return Pruning(mask, cutoffs[0], cutoffs[1], masses[0], masses[1], kept)


def _mass_to_prune(
    is_positive: BoolArray, sample_weight: NDArray[np.float64], shares: tuple[float, float]
) -> tuple[float, float]:
    """Return the mass of each label to prune; a whole number if weights count rows."""
    positive, negative = (float(sample_weight[rows].sum()) for rows in (is_positive, ~is_positive))
    if are_counts(sample_weight):
        return rows_to_prune(shares, (int(positive), int(negative)))
    return shares[0] * positive, shares[1] * negative


def _leave_one(count: int, n_rows: int, name: str) -> int:
    if count < n_rows:
        return count
    _warn_almost_emptied(name)
    return n_rows - 1


def _warn_almost_emptied(name: str) -> None:
    warn_caller(
        f"The rates would prune every row with a {name} label; the most confident row was kept. "
        "Check the rates, or use a stronger classifier.",
        ClassAlmostEmptiedWarning,
    )
