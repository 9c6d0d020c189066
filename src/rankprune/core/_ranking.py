"""The order in which people look at rows, and how many of them are likely wrong along it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from rankprune.core._inputs import BoolArray, FloatArray
from rankprune.core._noise_rates import NoiseRates
from rankprune.core.counting._bins import MIDDLES
from rankprune.core.counting._sketch import ScoreSketch

Reals = NDArray[np.float64]

# Where the list of rows to look at is divided; after the last number, every doubling.
_ENDS = (10, 50, 100, 200, 500, 1000)
# Share of the labels that look certain to be wrong and are right, on the bank of data sets.
_DOUBT = 0.12
_TINY = 1e-12
_STEPS = 60


@dataclass(frozen=True)
class Stretch:
    """A part of the list of rows to look at, and how many of its labels are likely wrong.

    Attributes
    ----------
    first, last : int
        Ranks of its first and last row; the most suspicious row has rank 1.
    expected_wrong : float
        Expected number of wrong labels among its rows.
    """

    first: int
    last: int
    expected_wrong: float

    @property
    def n_rows(self) -> int:
        """Return the number of rows."""
        return self.last - self.first + 1


def rank_of_cutoffs(rates: NoiseRates, n_positive: int, n_negative: int) -> tuple[int, int]:
    """Return how many rows of each label lie at or beyond the cut-offs that rank all rows.

    As many as are estimated to be wrong, and at least one, so that both labels have a cut-off.
    """
    positive = round(rates.positive_label_error_rate * n_positive)
    negative = round(rates.negative_label_error_rate * n_negative)
    return min(max(positive, 1), n_positive), min(max(negative, 1), n_negative)


def ranking_cutoffs(
    is_positive: BoolArray, probabilities: FloatArray, rates: NoiseRates
) -> tuple[float, float]:
    """Return the positive and the negative cut-off from which all rows are ranked."""
    positives, negatives = probabilities[is_positive], probabilities[~is_positive]
    first, last = rank_of_cutoffs(rates, len(positives), len(negatives))
    return (
        float(np.partition(positives, first - 1)[first - 1]),
        float(np.partition(negatives, len(negatives) - last)[len(negatives) - last]),
    )


def order_rows(
    is_positive: BoolArray,
    probabilities: FloatArray,
    mask: BoolArray,
    cutoffs: tuple[float, float],
) -> NDArray[np.intp]:
    """Return all rows, most suspicious first: the rows of a mask, then the rest.

    Both parts are ordered by the margin to the cut-off of their label; ties are in row order.
    """
    scores = probabilities.astype(np.float64)
    margins = np.where(is_positive, cutoffs[0] - scores, scores - cutoffs[1])
    return np.lexsort((-margins, ~mask))


def expected_stretches(
    sketch: ScoreSketch, rates: NoiseRates, cutoffs: tuple[float, float], n_listed: int
) -> tuple[Stretch, ...]:
    """Return the list of rows to look at in parts, with the expected number of wrong labels.

    Parameters
    ----------
    sketch : ScoreSketch
        Of the scores that rank the rows.
    rates : NoiseRates
    cutoffs : tuple of two float
        As in `order_rows`.
    n_listed : int
        Number of rows on the list.
    """
    if n_listed == 0:
        return ()
    margins = np.concatenate([MIDDLES - cutoffs[1], cutoffs[0] - MIDDLES])
    order = np.argsort(-margins, kind="stable")
    rows = sketch.counts.ravel()[order]
    wrong = rows * believable(chances(sketch, rates)).ravel()[order]
    return stretches_of(rows, wrong, n_listed)


def stretches_of(rows: Reals, wrong: Reals, n_listed: int) -> tuple[Stretch, ...]:
    """Return a list in parts, given the rows along it and how many of them are likely wrong."""
    reached, expected = (np.concatenate([[0.0], np.cumsum(part)]) for part in (rows, wrong))
    ends = [end for end in _ENDS if end < n_listed]
    while ends and ends[-1] >= _ENDS[-1] and 2 * ends[-1] < n_listed:
        ends.append(2 * ends[-1])
    ends.append(n_listed)
    until = np.interp(ends, reached, expected)
    before = np.concatenate([[0.0], until[:-1]])
    starts = [1, *(end + 1 for end in ends[:-1])]
    return tuple(
        Stretch(first, last, float(count))
        for first, last, count in zip(starts, ends, until - before, strict=True)
    )


def chances(sketch: ScoreSketch, rates: NoiseRates) -> Reals:
    """Return how likely a label is wrong, by label and bin; their mean is the label error rate.

    By Bayes' rule from the share of positive labels along the scores, as if noise depended on the
    class alone; the odds of all rows with a label are then multiplied alike until they add up.
    """
    negatives, positives = sketch.counts
    share = _rising(positives, negatives + positives)
    spread = 1 - rates.positive_noise_rate - rates.negative_noise_rate
    is_true = np.clip((share - rates.negative_noise_rate) / spread, 0.0, 1.0)
    wrong_positive = rates.negative_noise_rate * (1 - is_true)
    right_positive = (1 - rates.positive_noise_rate) * is_true
    wrong_negative = rates.positive_noise_rate * is_true
    right_negative = (1 - rates.negative_noise_rate) * (1 - is_true)
    return np.stack(
        [
            _scaled(wrong_negative, right_negative, negatives, rates.negative_label_error_rate),
            _scaled(wrong_positive, right_positive, positives, rates.positive_label_error_rate),
        ]
    )


def believable(chance: Reals) -> Reals:
    """Return chances as they turn out: the more certain a label looks wrong, the less so."""
    return chance * (1 - _DOUBT * chance)


def _scaled(wrong: Reals, right: Reals, rows: Reals, share: float) -> Reals:
    """Return wrong / (wrong + right) with the odds multiplied until the mean is a share."""
    return scaled(np.log(wrong + _TINY) - np.log(right + _TINY), rows, share)


def scaled(odds: Reals, rows: Reals, share: float) -> Reals:
    """Return chances with these log-odds, moved alike until their mean over rows is a share."""
    if share == 0:
        return np.zeros(len(rows))
    low, high = -60.0, 60.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        found = expit(odds + middle)
        if found @ rows < share * rows.sum():
            low = middle
        else:
            high = middle
    return np.asarray(found)


def _rising(positives: Reals, rows: Reals) -> Reals:
    """Return the share of positive labels in each bin, made non-decreasing by pooling neighbors."""
    used = np.flatnonzero(rows)
    masses: list[float] = []
    sums: list[float] = []
    sizes: list[int] = []
    for mass, total in zip(rows[used].tolist(), positives[used].tolist(), strict=True):
        size = 1
        while sums and sums[-1] * mass >= total * masses[-1]:
            mass, total, size = mass + masses.pop(), total + sums.pop(), size + sizes.pop()
        masses.append(mass)
        sums.append(total)
        sizes.append(size)
    shares = np.repeat(np.array(sums) / np.array(masses), sizes)
    return np.asarray(np.interp(np.arange(len(rows)), used, shares))
