"""The sketch of labels and scores: counts of each label in fixed bins of the score.

What estimators, intervals, the verdict and diagnostics need of the rows is here, in one pass and in
a fixed size. Sketches of different rows merge, so the rows need not be in memory or in one place.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankprune.core._auc import MAX_COUNT, are_counts, needed_auc
from rankprune.core._blocks import blocks, float_block
from rankprune.core._inputs import (
    BoolArray,
    FloatArray,
    Inputs,
    refuse_improbable,
    validate_batch,
    validate_labeled_numbers,
    validate_sample_weight,
)
from rankprune.core.counting._bins import EDGES, MIDDLE, MIDDLES, N_BINS
from rankprune.core.counting._exact_sums import bits_of
from rankprune.core.counting._kernel import kernel_for
from rankprune.core.counting._loops import extremes, in_score_units, score_bins
from rankprune.core.counting._score_groups import ScoreGroups

# Scores are summed as whole numbers of this unit, 2**-30, so that the order does not matter.
UNITS = 1 << 30
# Extremes are kept to one part in this, so that 1 - extreme is exact and swapping can be undone.
_PARTS = 2.0**53
# By how much rounding may enlarge a sum of fractional weights.
_ROUNDED_UP = 1 + 1e-9
_MAGIC, _VERSION = b"rankprune score sketch\n", 1
_Sum = int | float


class ScoreSketch:
    """Counts of each label in fixed bins of the score: all that rates need of the rows.

    Its size does not depend on the number of rows (about 62 KiB). Without weights, or with weights
    that count rows, it does not depend on their order or on batches either.

    Attributes
    ----------
    counts : ndarray of shape (2, 3969)
        Number (or mass) of rows with the negative and with the positive label in each bin.
    score_sums : tuple of two int or float
        Sum of the scores of the negative and of the positive labels, in units of 2**-30. Each
        score is rounded to that unit.
    extremes : tuple of two float
        Smallest and largest score, to one part in 2**53; (1, 0) without rows.

    Notes
    -----
    For every halving of the distance to 0 or 1 there are 64 bins, down to 2**-32, and all edges are
    whole multiples of 2**-40. A score on an edge belongs to the bin nearer 1/2.

    Examples
    --------
    >>> from rankprune import ScoreSketch, estimate_noise_rates
    >>> first = ScoreSketch().update([1, 1, 0, 0] * 30, [0.875, 0.75, 0.25, 0.125] * 30)
    >>> second = ScoreSketch().update([1, 0] * 30, [0.03125, 0.2] * 30)
    >>> both = first.merge(second)
    >>> both.n_rows, both.extremes
    (180, (0.03125, 0.875))
    >>> round(estimate_noise_rates(both, method="curve").negative_noise_rate, 2)
    0.25
    """

    def __init__(self) -> None:
        self.counts: NDArray[np.float64] = np.zeros((2, N_BINS))
        self.score_sums: tuple[_Sum, _Sum] = (0, 0)
        self.extremes = (1.0, 0.0)
        # Sums of the squares of the weights; None as long as weights count rows.
        self._squares: NDArray[np.float64] | None = None

    @classmethod
    def from_rows(
        cls,
        labels: ArrayLike,
        probabilities: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        pos_label: Any = None,
    ) -> ScoreSketch:
        """Return the sketch of rows with any two labels.

        Parameters
        ----------
        labels, probabilities, sample_weight, pos_label
            As in `estimate_noise_rates`.

        Examples
        --------
        >>> from rankprune import ScoreSketch
        >>> ScoreSketch.from_rows(["no", "yes", "yes"], [0.2, 0.9, 0.7]).n_positive
        2
        """
        return sketch_of(
            validate_labeled_numbers(
                labels, probabilities, sample_weight=sample_weight, pos_label=pos_label
            )
        )

    @classmethod
    def from_counts(cls, rows: Iterable[Any]) -> ScoreSketch:
        """Return the sketch that the rows of `rankprune.sql.sketch_query` describe.

        Parameters
        ----------
        rows : iterable of (label, bin, n_rows, score_sum, lowest, highest)
            Label 0 or 1, number of the bin, number of rows, sum of the scores in units of 2**-30,
            and the smallest and the largest score of these rows. Several rows may describe the same
            label and bin.

        Examples
        --------
        >>> from rankprune import ScoreSketch
        >>> ScoreSketch.from_counts([(1, 1984, 10, 5 * 2**30, 0.5, 0.5)]).n_positive
        10
        """
        try:
            given = iter(rows)
        except TypeError as error:
            raise TypeError(
                f"rows must be the rows of a query, got {type(rows).__name__}. Pass e.g. "
                "cursor.fetchall()."
            ) from error
        sketch = cls()
        sums = [0, 0]
        for number, row in enumerate(given):
            label, index, n_rows, score_sum, lowest, highest = _checked_row(number, row)
            sketch.counts[label, index] += n_rows
            sums[label] += score_sum
            sketch._see(lowest, highest)
        sketch.score_sums = (sums[0], sums[1])
        return sketch

    @classmethod
    def of_bins(
        cls, label: NDArray[np.intp], bins: NDArray[np.intp], n_rows: NDArray[np.int64]
    ) -> ScoreSketch:
        """Return the sketch of rows whose scores are the middles of their bins."""
        some = n_rows > 0
        label, bins, n_rows = label[some], bins[some], n_rows[some]
        sketch = cls()
        sketch.counts[label, bins] = n_rows
        units = in_score_units(MIDDLES)
        negative, positive = (int(total) for total in sketch.counts @ units)
        sketch.score_sums = (negative, positive)
        sketch._see(float(MIDDLES[bins.min()]), float(MIDDLES[bins.max()]))
        return sketch

    @property
    def n_positive(self) -> int | float:
        """Return the number (or mass) of rows with the positive label."""
        return self._number(float(self.counts[1].sum()))

    @property
    def n_negative(self) -> int | float:
        """Return the number (or mass) of rows with the negative label."""
        return self._number(float(self.counts[0].sum()))

    @property
    def n_rows(self) -> int | float:
        """Return the number (or mass) of all rows."""
        return self.n_negative + self.n_positive

    @property
    def masses(self) -> tuple[float, float]:
        """Return the number (or mass) of rows with the negative and with the positive label."""
        negative, positive = self.counts.sum(axis=1).tolist()
        return negative, positive

    @property
    def in_counts(self) -> bool:
        """Return whether the rows are counted, rather than weighted by other numbers."""
        return self._squares is None and float(self.counts.sum()) <= MAX_COUNT

    @property
    def mean_scores(self) -> tuple[float, float]:
        """Return the mean score of the negative and of the positive labels."""
        sizes = self.masses
        negative, positive = (
            min(max(total / (size * UNITS), 0.0), 1.0) if size else math.nan
            for total, size in zip(self.score_sums, sizes, strict=True)
        )
        return negative, positive

    @property
    def effective_rows(self) -> tuple[float, float]:
        """Return the effective number of rows of each label: their count, or Kish's."""
        masses = self.counts.sum(axis=1)
        if not self.in_counts:
            squares = np.asarray(self._squares if self._squares is not None else masses)
            masses = masses * masses / np.where(squares > 0, squares, 1.0)
        return float(masses[0]), float(masses[1])

    def update(
        self,
        labels: ArrayLike,
        probabilities: ArrayLike,
        sample_weight: ArrayLike | None = None,
    ) -> ScoreSketch:
        """Add a batch of rows with labels 0 and 1, and return the sketch itself.

        A batch that is refused does not change the sketch.
        """
        is_positive, values = validate_batch(labels, probabilities)
        weight = None
        if sample_weight is not None and len(is_positive):
            weight = validate_sample_weight(sample_weight, len(is_positive), may_vanish=True)
        self.take(is_positive, values, weight)
        return self

    def merge(self, other: ScoreSketch) -> ScoreSketch:
        """Return the sketch of the rows of both."""
        if not isinstance(other, ScoreSketch):
            raise TypeError(
                f"other must be a ScoreSketch, got {type(other).__name__}. Add rows with update, "
                "or read stored bytes with ScoreSketch.from_bytes."
            )
        merged = ScoreSketch()
        merged.counts = self.counts + other.counts
        merged.score_sums = (
            self.score_sums[0] + other.score_sums[0],
            self.score_sums[1] + other.score_sums[1],
        )
        merged.extremes = self.extremes
        merged._see(*other.extremes)
        if self._squares is not None or other._squares is not None:
            merged._squares = self._square_sums() + other._square_sums()
        return merged

    def swap(self) -> ScoreSketch:
        """Return the sketch with the labels swapped and every score replaced by 1 - score."""
        swapped = ScoreSketch()
        swapped.counts = np.ascontiguousarray(self.counts[::-1, ::-1])
        negative, positive = self.score_sums
        # Sums of fractional weights are rounded: scores of 1 may add up to more than their mass.
        swapped.score_sums = (
            max(self.n_positive * UNITS - positive, 0),
            max(self.n_negative * UNITS - negative, 0),
        )
        swapped.extremes = (1 - self.extremes[1], 1 - self.extremes[0])
        if self._squares is not None:
            swapped._squares = self._squares[::-1].copy()
        return swapped

    def groups(self) -> ScoreGroups:
        """Return the rows grouped by bin, as estimators that rank rows use them.

        Weights that are no counts are scaled to the effective number of rows.
        """
        used = np.flatnonzero(self.counts.any(axis=0))
        negatives, positives = self.counts[:, used]
        if not self.in_counts:
            total, squares = float(self.counts.sum()), float(self._square_sums().sum())
            scale = total / squares
            negatives, positives = negatives * scale, positives * scale
        return ScoreGroups(MIDDLES[used], positives, negatives)

    def as_inputs(self) -> Inputs:
        """Return one row for each label and bin that is not empty, weighted by its rows."""
        label, used = np.nonzero(self.counts)
        return Inputs(label.astype(bool), MIDDLES[used], self.counts[label, used])

    def auc(self) -> float:
        """Return the chance that a positive label outranks a negative one; a bin counts half."""
        least, most = self.auc_bounds()
        return (least + most) / 2

    def auc_bounds(self) -> tuple[float, float]:
        """Return the AUC with all rows that share a bin counted against it, and for it."""
        negatives, positives = self.counts
        pairs = float(positives.sum()) * float(negatives.sum())
        most = float(positives @ np.cumsum(negatives)) / pairs
        return most - float(positives @ negatives) / pairs, most

    def needed_auc(self) -> float:
        """Return the value that the AUC of informative scores must exceed."""
        negative, positive = self.effective_rows
        return needed_auc(positive, negative)

    def bin_range(self, index: int) -> tuple[int, int]:
        """Return the first bit pattern of a bin's scores and the first one beyond it."""
        # Below 1/2 the lower edge of a bin belongs to it, above 1/2 the upper one.
        low = 0 if index == 0 else bits_of(EDGES[index - 1]) + (index > MIDDLE)
        last = N_BINS - 1
        high = bits_of(1.0) + 1 if index == last else bits_of(EDGES[index]) + (index >= MIDDLE)
        return low, high

    def to_bytes(self) -> bytes:
        """Return the sketch as bytes, to be stored or sent.

        Examples
        --------
        >>> from rankprune import ScoreSketch
        >>> sketch = ScoreSketch().update([0, 1], [0.2, 0.9])
        >>> ScoreSketch.from_bytes(sketch.to_bytes()) == sketch
        True
        """
        header = {
            "version": _VERSION,
            "n_bins": N_BINS,
            "score_sums": [_text(total) for total in self.score_sums],
            "extremes": [value.hex() for value in self.extremes],
            "squares": None
            if self._squares is None
            else [float(value).hex() for value in self._squares],
        }
        line = json.dumps(header).encode() + b"\n"
        return _MAGIC + line + self.counts.astype("<f8").tobytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> ScoreSketch:
        """Return the sketch that `to_bytes` wrote."""
        try:
            return cls._read(bytes(data))
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
            raise ValueError(
                f"data must be what ScoreSketch.to_bytes returns, got other bytes: {error}. "
                "Write the sketch again."
            ) from error

    @classmethod
    def _read(cls, data: bytes) -> ScoreSketch:
        if not data.startswith(_MAGIC):
            raise ValueError("they do not begin as a sketch does")
        line, _, body = data[len(_MAGIC) :].partition(b"\n")
        header = json.loads(line)
        if header["version"] != _VERSION or header["n_bins"] != N_BINS:
            raise ValueError(f"version {header['version']} is not version {_VERSION}")
        counts = np.frombuffer(body, dtype="<f8").astype(np.float64)
        sketch = cls()
        sketch.counts = counts.reshape(2, N_BINS)
        negative, positive = map(_sum_of, header["score_sums"])
        lowest, highest = map(float.fromhex, header["extremes"])
        sketch.score_sums, sketch.extremes = (negative, positive), (lowest, highest)
        if header["squares"] is not None:
            squares = [float.fromhex(text) for text in header["squares"]]
            sketch._squares = np.array([squares[0], squares[1]])
        if not sketch._is_possible():
            raise ValueError("they hold numbers that no rows have")
        return sketch

    def _is_possible(self) -> bool:
        """Return whether there can be rows with these counts, sums and extremes."""
        squares = self._square_sums()
        # Written so that NaN, which compares false, is caught too.
        if not all(((part >= 0) & (part < np.inf)).all() for part in (self.counts, squares)):
            return False
        if self._squares is None:
            are_whole = (self.counts == np.floor(self.counts)).all()
            if not (are_whole and all(isinstance(total, int) for total in self.score_sums)):
                return False
        masses, (lowest, highest) = self.masses, self.extremes
        largest = UNITS if self._squares is None else UNITS * _ROUNDED_UP
        if not any(masses):
            return self.score_sums == (0, 0) and (lowest, highest) == (1.0, 0.0)
        return 0 <= lowest <= highest <= 1 and all(
            0 <= total <= mass * largest
            for total, mass in zip(self.score_sums, masses, strict=True)
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ScoreSketch) and self.to_bytes() == other.to_bytes()

    __hash__ = None  # type: ignore[assignment]  # it can change

    def __repr__(self) -> str:
        return (
            f"ScoreSketch(n_negative={self.n_negative:g}, n_positive={self.n_positive:g}, "
            f"extremes={self.extremes})"
        )

    def take(
        self,
        is_positive: BoolArray,
        values: FloatArray,
        weight: NDArray[np.float64] | None = None,
    ) -> None:
        """Add checked labels and weights, and scores whose range is checked here."""
        if weight is None:
            taken = _counted(is_positive, values)
        else:
            taken = _weighed(is_positive, values, weight)
        merged = self.merge(taken)
        self.counts, self.score_sums = merged.counts, merged.score_sums
        self.extremes, self._squares = merged.extremes, merged._squares

    def _see(self, lowest: float, highest: float) -> None:
        self.extremes = (min(self.extremes[0], lowest), max(self.extremes[1], highest))

    def _square_sums(self) -> NDArray[np.float64]:
        return self.counts.sum(axis=1) if self._squares is None else self._squares

    def _number(self, mass: float) -> int | float:
        return int(mass) if self._squares is None else mass


def sketch_of(inputs: Inputs) -> ScoreSketch:
    """Return the sketch of checked labels and weights; the range of the scores is checked here."""
    sketch = ScoreSketch()
    sketch.take(inputs.is_positive, inputs.probabilities, inputs.sample_weight)
    return sketch


def given_probabilities(probabilities: ArrayLike | None) -> ArrayLike:
    """Return the probabilities, which may be missing only beside a sketch."""
    if probabilities is None:
        raise TypeError(
            "probabilities must be given with labels, got None. Pass predict_proba(X)[:, 1], or a "
            "ScoreSketch instead of labels."
        )
    return probabilities


def given_sketch(
    labels: ArrayLike | ScoreSketch, probabilities: ArrayLike | None, **arguments: Any
) -> ScoreSketch:
    """Return the sketch that was given instead of labels, or that of the rows."""
    if not isinstance(labels, ScoreSketch):
        return ScoreSketch.from_rows(labels, given_probabilities(probabilities), **arguments)
    if any(argument is not None for argument in (probabilities, *arguments.values())):
        raise ValueError(
            "labels must be given row by row if probabilities, sample_weight or pos_label are "
            "given too, got a ScoreSketch, which holds all of these. Pass the sketch alone."
        )
    negative, positive = labels.masses
    if not (negative > 0 and positive > 0):
        raise ValueError(
            "labels must hold two classes, but the sketch has "
            f"{negative:g} negative and {positive:g} positive labels. Add rows of both classes."
        )
    return labels


def _counted(is_positive: BoolArray, values: FloatArray) -> ScoreSketch:
    kernel, sketch = kernel_for(len(is_positive)), ScoreSketch()
    counts = np.zeros((2, N_BINS), dtype=np.int64)
    total = positive = 0
    for rows in blocks(len(is_positive)):
        block = kernel.prepared(values[rows])
        lowest, highest = kernel.extremes(block)
        _refuse_outside(lowest, highest, values)
        sketch._see(_rounded(lowest), _rounded(highest))
        sums = kernel.add_to_sketch(counts, is_positive[rows], block)
        total, positive = total + sums[0], positive + sums[1]
    sketch.counts = counts.astype(np.float64)
    sketch.score_sums = (total - positive, positive)
    return sketch


def _weighed(
    is_positive: BoolArray, values: FloatArray, weight: NDArray[np.float64]
) -> ScoreSketch:
    sketch = ScoreSketch()
    counted = are_counts(weight)
    sums: list[_Sum] = [0, 0]
    squares = np.zeros(2)
    for rows in blocks(len(is_positive)):
        block, weights, labels = float_block(values, rows), weight[rows], is_positive[rows]
        _refuse_outside(*extremes(block), values)
        some = weights > 0
        block, weights, labels = block[some], weights[some], labels[some]
        if not len(block):
            continue
        sketch._see(*map(_rounded, extremes(block)))
        for label in (0, 1):
            chosen = labels if label else ~labels
            scores, mass = block[chosen], weights[chosen]
            sketch.counts[label] += np.bincount(score_bins(scores), mass, N_BINS)
            sums[label] += _weighted_sum(in_score_units(scores), mass, counted)
            squares[label] += float(mass @ mass)
    sketch.score_sums = (sums[0], sums[1])
    if not counted:
        sketch._squares = squares
    return sketch


def _refuse_outside(lowest: float, highest: float, values: FloatArray) -> None:
    # Written so that NaN, which compares false, is caught too.
    if not (lowest >= 0 and highest <= 1):
        refuse_improbable(values, "probabilities")


def _weighted_sum(units: NDArray[np.float64], mass: NDArray[np.float64], counted: bool) -> _Sum:
    """Return the sum of the products, without rounding where the weights count rows."""
    if not counted:
        return float(units @ mass)
    return sum(map(int.__mul__, map(int, units.tolist()), map(int, mass.tolist())))


def _rounded(value: float) -> float:
    return float(np.rint(value * _PARTS) / _PARTS) + 0.0


def _text(total: _Sum) -> str:
    return str(total) if isinstance(total, int) else total.hex()


def _sum_of(text: str) -> _Sum:
    return float.fromhex(text) if "x" in text else int(text)


def _checked_row(number: int, row: Any) -> tuple[int, int, int, int, float, float]:
    """Return the cells of a row of counts as numbers."""
    try:
        label, index, n_rows, score_sum, lowest, highest = row
        if any(cell is np.ma.masked for cell in (label, index, n_rows, score_sum, lowest, highest)):
            raise ValueError("a cell is masked")
        label, index, n_rows, score_sum = map(_whole, (label, index, n_rows, score_sum))
        lowest, highest = _rounded(float(lowest)), _rounded(float(highest))
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"rows must hold label, bin, number of rows, sum, lowest and highest score; row "
            f"{number} holds {row!r}. Pass the result of the query unchanged, not a data frame, "
            "which rounds large sums."
        ) from error
    if index < 0:
        raise ValueError(
            f"rows must describe labels of 0 and 1 and probabilities in [0, 1]; {n_rows} rows of "
            "the table have other values, or none. Leave them out of the table, or fix them."
        )
    is_possible = label in (0, 1) and index < N_BINS and 0 <= lowest <= highest <= 1
    if not (is_possible and 0 <= n_rows <= MAX_COUNT and 0 <= score_sum <= n_rows * UNITS):
        raise ValueError(
            f"rows must hold label 0 or 1, a bin below {N_BINS}, scores in [0, 1] and their sum; "
            f"row {number} holds {row!r}. Pass the result of the query unchanged."
        )
    return label, index, n_rows, score_sum, lowest, highest


def _whole(value: Any) -> int:
    """Return a whole number; refuse a float that has a fraction or may have been rounded."""
    whole = int(value)
    if isinstance(value, float) and not (whole == value and abs(whole) <= MAX_COUNT):
        raise ValueError(f"{value!r} is not a whole number that a float holds exactly.")
    return whole
