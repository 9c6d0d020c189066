"""The paper's estimator: probabilities -> thresholds -> four confident counts -> noise rates.

Counting, whose cost grows with the data, is separate from the algebra of a dozen numbers, and
counts add up over batches.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rankprune.core._blocks import blocks, float_block
from rankprune.core._inputs import BoolArray, FloatArray
from rankprune.core._noise_rates import ConfidentCounts, NoiseRates
from rankprune.core._rate_algebra import possible_noise_rates
from rankprune.core.counting._exact_sums import exact_products, exact_sums, in_units, rounded_ratio
from rankprune.core.counting._kernel import Kernel, kernel_for


@dataclass(frozen=True)
class ClassSums:
    """Result of the first pass: the exact mass and summed probability of each class.

    All four are integers in units of 2**-1074 (see `_exact_sums`), so that merging batches in any
    order gives the same bits as one pass over all rows.
    """

    positive_mass: int = 0
    negative_mass: int = 0
    positive_sum: int = 0
    negative_sum: int = 0

    @classmethod
    def of(
        cls,
        is_positive: BoolArray,
        probabilities: FloatArray,
        sample_weight: NDArray[np.float64] | None = None,
    ) -> ClassSums:
        """Return the sums of a batch of rows."""
        if sample_weight is None:
            return cls._of_rows(is_positive, probabilities)
        mass = positive_mass = total = positive_sum = 0
        for rows in blocks(len(is_positive)):
            chosen = is_positive[rows].astype(np.float64)
            weights = sample_weight[rows]
            block_mass, block_positive_mass = exact_sums(weights, chosen)
            mass += block_mass
            positive_mass += block_positive_mass
            for part in exact_products(weights, float_block(probabilities, rows)):
                part_total, part_positive = exact_sums(part, chosen)
                total += part_total
                positive_sum += part_positive
        return cls(positive_mass, mass - positive_mass, positive_sum, total - positive_sum)

    @classmethod
    def _of_rows(cls, is_positive: BoolArray, probabilities: FloatArray) -> ClassSums:
        kernel, found = kernel_for(len(is_positive)), cls()
        for rows in blocks(len(is_positive)):
            values = kernel.prepared(probabilities[rows])
            found = found.merge(cls.of_block(kernel, is_positive[rows], values))
        return found

    @classmethod
    def of_block(cls, kernel: Kernel, is_positive: BoolArray, values: FloatArray) -> ClassSums:
        """Return the sums of a block of rows that the kernel has prepared."""
        n_positive, total, positive_sum = kernel.class_sums(is_positive, values)
        n_negative = len(is_positive) - n_positive
        return cls(in_units(n_positive), in_units(n_negative), positive_sum, total - positive_sum)

    def merge(self, other: ClassSums) -> ClassSums:
        """Return the sums over the rows of both."""
        return ClassSums(
            self.positive_mass + other.positive_mass,
            self.negative_mass + other.negative_mass,
            self.positive_sum + other.positive_sum,
            self.negative_sum + other.negative_sum,
        )

    def thresholds(self) -> tuple[float, float]:
        """Return LB_{y=1} and UB_{y=0}: the mean probability of each class."""
        return (
            rounded_ratio(self.positive_sum, self.positive_mass),
            rounded_ratio(self.negative_sum, self.negative_mass),
        )


def count_confident(
    is_positive: BoolArray,
    probabilities: FloatArray,
    thresholds: tuple[float, float],
    sample_weight: NDArray[np.float64] | None = None,
) -> ConfidentCounts:
    """Return the number (or mass) of rows at or beyond each threshold, by label (second pass)."""
    counts = np.zeros(4)
    if sample_weight is None:
        kernel = kernel_for(len(is_positive))
        for rows in blocks(len(is_positive)):
            values = kernel.prepared(probabilities[rows])
            counts += kernel.count_beyond(is_positive[rows], values, thresholds)
        return ConfidentCounts(*counts.tolist())
    for rows in blocks(len(is_positive)):
        labels, weights = is_positive[rows], sample_weight[rows]
        values = float_block(probabilities, rows)
        above, below = values >= thresholds[0], values <= thresholds[1]
        parts = (above & labels, above & ~labels, below & labels, below & ~labels)
        counts += [weights[part].sum() for part in parts]
    return ConfidentCounts(*counts.tolist())


def rates_from_counts(sums: ClassSums, counts: ConfidentCounts) -> NoiseRates:
    """Return the rates from Eq. 2 of the paper, and those that follow from them."""
    n_positive = rounded_ratio(sums.positive_mass, in_units(1))
    n_negative = rounded_ratio(sums.negative_mass, in_units(1))
    observed = rounded_ratio(sums.positive_mass, sums.positive_mass + sums.negative_mass)
    positive, negative, clipped = possible_noise_rates(
        _share(counts.positives_labeled_negative, counts.positives_labeled_positive),
        _share(counts.negatives_labeled_positive, counts.negatives_labeled_negative),
        observed,
    )
    positive_threshold, negative_threshold = sums.thresholds()
    return replace(
        NoiseRates.from_noise_rates(positive, negative, observed),
        positive_threshold=positive_threshold,
        negative_threshold=negative_threshold,
        counts=counts,
        n_positive=n_positive,
        n_negative=n_negative,
        clipped=clipped,
    )


def confident_counts(
    labels: BoolArray,
    probabilities: FloatArray,
    *,
    sample_weight: NDArray[np.float64] | None = None,
) -> NoiseRates:
    """Return the paper's estimate (Algorithm 1, Part 1) from checked labels and probabilities."""
    is_positive = labels.view(bool)
    sums = ClassSums.of(is_positive, probabilities, sample_weight)
    counts = count_confident(is_positive, probabilities, sums.thresholds(), sample_weight)
    return rates_from_counts(sums, counts)


def _share(wrong: float, right: float) -> float:
    # Some row always reaches the mean of its class, unless weights underflow.
    return wrong / (wrong + right) if wrong else 0.0
