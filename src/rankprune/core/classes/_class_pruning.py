"""From the noise matrix to the rows that are dropped, ranked, with the label they should have."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankprune.core._auc import are_counts
from rankprune.core._blocks import blocks
from rankprune.core._inputs import BoolArray
from rankprune.core._label_values import are_equal
from rankprune.core._mass import mass_kept
from rankprune.core.classes._class_inputs import (
    ClassInputs,
    label_counts,
    validate_class_batch,
    validate_class_inputs,
)
from rankprune.core.classes._class_kernel import class_kernel_for
from rankprune.core.classes._class_loops import Codes, Counts
from rankprune.core.classes._noise_matrix import NoiseMatrix
from rankprune.core.classes._ratio_search import ClassCutoffs, RatioSearch
from rankprune.exceptions import ClassAlmostEmptiedWarning, warn_caller

Reals = NDArray[np.float64]

# At most _MIN_COPIED ratios or 1 / _COPIED_SHARE of the rows are copied, whichever is more.
_MIN_COPIED = 1 << 12
_COPIED_SHARE = 16
_MOST_CELLS = 1 << 16


@dataclass(frozen=True, eq=False)
class ClassPruning:
    """Which rows are dropped, and where in each class the pruning stops.

    Attributes
    ----------
    mask : ndarray of bool
        True means dropped.
    cutoffs : ndarray of shape (n_classes,)
        Margin of the last row pruned of each label: the highest such. NaN if no row is pruned.
        A margin is the logarithm of the score of the label over the best other score.
    n_pruned : ndarray of shape (n_classes,)
        Number of rows dropped of each label, or their mass if rows are weighted.
    classes : ndarray of shape (n_classes,)
    sample_weight : ndarray or None
        If rows are weighted: the weight that each row keeps, 0 for dropped rows and a part of the
        weight for a row at the cut-off.

    Examples
    --------
    >>> from rankprune import NoiseMatrix, prune_labels
    >>> matrix = NoiseMatrix([[0.25, 0.25, 0], [0, 0.25, 0], [0, 0, 0.25]], classes=[0, 1, 2])
    >>> scores = [[0.8, 0.1, 0.1], [0.3, 0.5, 0.2], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]
    >>> pruning = prune_labels([0, 0, 1, 2], scores, matrix)
    >>> pruning.mask.tolist(), pruning.n_pruned.tolist()
    ([False, True, False, False], [1, 0, 0])
    """

    mask: BoolArray
    cutoffs: Reals
    n_pruned: NDArray[Any]
    classes: NDArray[Any]
    sample_weight: Reals | None = None


@dataclass(frozen=True, eq=False)
class ClassSuspects:
    """Rows whose labels are likely wrong, most suspicious first, each with a better label.

    Attributes
    ----------
    rows : ndarray of int
        Row numbers.
    margins : ndarray of float
        Logarithm of the score of the label over that of the suggested one; the smaller, the more
        suspicious.
    suggested_labels : ndarray
        The other class with the largest score.
    suggested_probabilities : ndarray of float
        Its score.

    Examples
    --------
    >>> from rankprune import NoiseMatrix, rank_suspects
    >>> matrix = NoiseMatrix([[0.25, 0.25, 0], [0, 0.25, 0], [0, 0, 0.25]], classes=list("abc"))
    >>> scores = [[0.75, 0.125, 0.125], [0.25, 0.5, 0.25], [0.25, 0.75, 0], [0, 0.25, 0.75]]
    >>> suspects = rank_suspects(list("aabc"), scores, matrix)
    >>> suspects.rows.tolist(), suspects.suggested_labels.tolist(), suspects.margins.round(2)
    ([1], ['b'], array([-0.69]))
    """

    rows: NDArray[np.intp]
    margins: Reals
    suggested_labels: NDArray[Any]
    suggested_probabilities: Reals


def prune_classes(
    labels: ArrayLike,
    probabilities: ArrayLike,
    matrix: NoiseMatrix,
    classes: ArrayLike | None,
    sample_weight: ArrayLike | None = None,
) -> ClassPruning:
    """Return which rows to drop: of each label, as many as are wrong, with the lowest margins."""
    return prune_rows(inputs_for(labels, probabilities, matrix, classes, sample_weight), matrix)


def prune_rows(inputs: ClassInputs, matrix: NoiseMatrix) -> ClassPruning:
    """Return which of checked rows to drop; their columns are in the order of the matrix."""
    return _prune(inputs, ratios_of_rows(inputs), matrix)


def rank_classes(
    labels: ArrayLike,
    probabilities: ArrayLike,
    matrix: NoiseMatrix,
    classes: ArrayLike | None,
    sample_weight: ArrayLike | None = None,
) -> ClassSuspects:
    """Return the rows that `prune_classes` drops, the lowest margin first."""
    inputs = inputs_for(labels, probabilities, matrix, classes, sample_weight)
    ratios = ratios_of_rows(inputs)
    rows = np.flatnonzero(_prune(inputs, ratios, matrix).mask)
    rows = rows[np.argsort(ratios[rows], kind="stable")]
    few = inputs.rows(rows)
    suggested, found = best_others(few)
    return ClassSuspects(rows, np.log(ratios[rows]), inputs.classes[suggested], found)


def best_others(inputs: ClassInputs) -> tuple[NDArray[np.intp], Reals]:
    """Return the column with the largest score other than that of each row's label, and its score.

    Of columns that tie, the first.
    """
    suggested, found = np.zeros(len(inputs), dtype=np.intp), np.zeros(len(inputs))
    for part, codes, scores in inputs.blocks():
        others, places = scores.copy(), np.arange(len(codes))
        others[places, codes] = -1.0
        suggested[part] = others.argmax(axis=1)
        found[part] = others[places, suggested[part]]
    return suggested, found


def inputs_for(
    labels: ArrayLike,
    probabilities: ArrayLike,
    matrix: NoiseMatrix,
    classes: ArrayLike | None,
    sample_weight: ArrayLike | None = None,
) -> ClassInputs:
    """Return checked rows, whose columns are in the order of a matrix."""
    inputs = validate_class_inputs(
        labels, probabilities, matrix.classes if classes is None else classes, sample_weight
    )
    if classes is not None:
        refuse_other_classes(inputs.classes, matrix)
    return inputs


def refuse_other_classes(classes: NDArray[Any], matrix: NoiseMatrix) -> None:
    """Raise an error unless classes are those of a matrix, in the same order."""
    given, known = classes.tolist(), matrix.classes.tolist()
    if len(given) != len(known) or not all(map(are_equal, given, known)):
        raise ValueError(
            "classes must be those of noise_rates, in the same order, got "
            f"{given[:6]} for {known[:6]}. Leave it out, and pass the columns in the order of "
            "noise_rates.classes."
        )


def ratios_of_rows(inputs: ClassInputs) -> Reals:
    """Return how many times likelier each row's label is than the best other one.

    Ratios rank wrong labels better than differences where several classes share what is left of
    the score.
    """
    ratios = np.empty(len(inputs))
    kernel = class_kernel_for(inputs.probabilities.size)
    for rows in inputs.slices(kernel.BLOCK_CELLS):
        if not kernel.take_ratios(ratios[rows], *inputs.part(rows)):
            inputs.refuse_bad_rows(rows)
    return ratios


def rows_to_prune_by_class(matrix: NoiseMatrix, n_labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many rows of each label to prune; at least one of each is kept."""
    if not matrix.reliable:
        return np.zeros(len(n_labels), dtype=np.int64)
    rates = matrix.error_rates.tolist()
    counts = [round(rate * n) for rate, n in zip(rates, n_labels.tolist(), strict=True)]
    emptied = [k for k, n in enumerate(n_labels.tolist()) if 0 < n <= counts[k]]
    _warn_almost_emptied(matrix, emptied)
    for k in emptied:
        counts[k] = int(n_labels[k]) - 1
    return np.array(counts, dtype=np.int64)


def _warn_almost_emptied(matrix: NoiseMatrix, emptied: list[int]) -> None:
    if not emptied:
        return
    names = matrix.classes[emptied].tolist()
    warn_caller(
        f"The rates would prune every row labeled {', '.join(map(repr, names[:6]))}"
        f"{', ...' if len(names) > 6 else ''}; the most believable row of each was kept. "
        "Check the rates, or use a stronger classifier.",
        ClassAlmostEmptiedWarning,
    )


def _prune(inputs: ClassInputs, ratios: Reals, matrix: NoiseMatrix) -> ClassPruning:
    if inputs.sample_weight is not None:
        return _prune_mass(inputs, inputs.sample_weight, ratios, matrix)
    return replace(prune_by_ratios(inputs.codes, ratios, matrix), classes=inputs.classes)


def prune_by_ratios(codes: Codes, ratios: Reals, matrix: NoiseMatrix) -> ClassPruning:
    """Return which rows to drop, given the column of each label in the matrix, and its ratio."""
    counts = rows_to_prune_by_class(matrix, label_counts(codes, len(matrix)))
    found = find_cutoffs(codes, ratios, counts)
    mask = np.empty(len(codes), dtype=bool)
    ClassMarker(found, matrix.classes).mark(mask, codes, ratios)
    return ClassPruning(mask, found.margins, counts, matrix.classes)


def find_cutoffs(codes: Codes, ratios: Reals, ranks: Counts) -> ClassCutoffs:
    """Return the ratio of a rank among the rows of each label, the smallest being of rank 1."""
    kernel, limit = class_kernel_for(len(codes)), max(_MIN_COPIED, len(codes) // _COPIED_SHARE)
    search = RatioSearch(len(ranks), min(len(codes), _MOST_CELLS))
    while not search.is_done:
        search = search.add(kernel, codes, ratios).after_pass(ranks, limit)
    return search.cutoffs(ranks)


class ClassMarker:
    """Marks the rows up to the cut-off of their label, batch by batch; of tied rows, the first.

    Parameters
    ----------
    cutoffs : ClassCutoffs
    classes : array-like of shape (n_classes,)
        The label value of each column.

    Examples
    --------
    >>> import numpy as np
    >>> from rankprune.core import ClassCutoffs, ClassMarker
    >>> cutoffs = ClassCutoffs(np.array([0.5, np.nan]), *np.array([[2, 0], [1, 0], [2, 0]]))
    >>> marker = ClassMarker(cutoffs, ["a", "b"])  # of two rows at a ratio of 0.5, one goes
    >>> marker.mark(mask := np.empty(3, bool), np.array([0, 0, 1]), np.array([0.5, 0.25, 0.5]))
    >>> mask.tolist()
    [True, True, False]
    >>> marker.mark_batch(["a", "b"], [[1, 0], [0.5, 0.5]]).tolist()
    [False, False]
    """

    def __init__(self, cutoffs: ClassCutoffs, classes: ArrayLike) -> None:
        self._classes = np.asarray(classes)
        is_split = cutoffs.n_ties < cutoffs.n_equal
        values = np.where(cutoffs.n_pruned > 0, cutoffs.values, 0.0)
        self._limits = np.where(is_split, values, np.nextafter(values, np.inf))
        self._values = np.where(is_split, values, np.nan)
        self._left = {int(k): int(cutoffs.n_ties[k]) for k in np.flatnonzero(is_split)}

    @property
    def is_ordered(self) -> bool:
        """Return whether batches must come in row order, because only some tied rows are pruned."""
        return bool(self._left)

    def mark_batch(
        self, labels: ArrayLike, probabilities: ArrayLike, mask: BoolArray | None = None
    ) -> BoolArray:
        """Return the mask of a batch, written into ``mask`` if it is given."""
        inputs = validate_class_batch(labels, probabilities, self._classes)
        mask = np.empty(len(inputs), dtype=bool) if mask is None else mask
        self.mark(mask, inputs.codes, ratios_of_rows(inputs))
        return mask

    def mark(self, mask: BoolArray, codes: Codes, ratios: Reals) -> None:
        """Fill the mask of a batch of rows."""
        kernel = class_kernel_for(len(codes))
        for rows in blocks(len(codes)):
            marked, labels, values = mask[rows], codes[rows], ratios[rows]
            kernel.mark_below(marked, self._limits, labels, values)
            if not any(self._left.values()):
                continue
            tied = np.flatnonzero(values == self._values.take(labels))
            for label in np.unique(labels[tied]).tolist():
                first = tied[labels[tied] == label][: self._left[label]]
                marked[first] = True
                self._left[label] -= len(first)


def _prune_mass(
    inputs: ClassInputs, sample_weight: Reals, ratios: Reals, matrix: NoiseMatrix
) -> ClassPruning:
    """Prune a whole number of rows if weights count rows, otherwise mass without rounding."""
    k = len(inputs.classes)
    masses = np.bincount(inputs.codes, sample_weight, k)
    if are_counts(sample_weight):
        targets = rows_to_prune_by_class(matrix, masses.astype(np.int64)).astype(np.float64)
    else:
        targets = matrix.error_rates * masses * matrix.reliable
    kept, cutoffs, emptied = sample_weight.copy(), np.full(k, np.nan), []
    for column in np.flatnonzero(targets).tolist():
        members = np.flatnonzero((inputs.codes == column) & (sample_weight > 0))
        members = members[np.argsort(ratios[members], kind="stable")]
        kept[members], is_emptied = mass_kept(sample_weight[members], float(targets[column]))
        emptied += [column] * is_emptied
        touched = members[kept[members] < sample_weight[members]]
        if touched.size:
            cutoffs[column] = np.log(ratios[touched[-1]])
    _warn_almost_emptied(matrix, emptied)
    mask = (kept == 0) & (sample_weight > 0)
    n_pruned = np.bincount(inputs.codes, sample_weight - kept, k)
    return ClassPruning(mask, cutoffs, n_pruned, inputs.classes, kept)
