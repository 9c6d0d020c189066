"""The paper's estimator: probabilities -> thresholds -> four confident counts -> noise rates.

Counting, which is as large as the data, is kept apart from the algebra of a dozen numbers, and
what is counted adds up over batches.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rankprune.core._exact_sums import exact_products, exact_sums, in_units, rounded_ratio
from rankprune.core._inputs import BoolArray, FloatArray, blocks, count_true, float_block
from rankprune.core._noise_rates import ConfidentCounts, NoiseRates, possible_noise_rates


@dataclass(frozen=True)
class ClassSums:
    """What the first pass leaves: mass and summed probability of each class, exact.

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
        mass = positive_mass = total = positive_sum = 0
        for rows in blocks(len(is_positive)):
            chosen = is_positive[rows].astype(np.float64)
            values = float_block(probabilities, rows)
            if sample_weight is None:
                mass += in_units(len(chosen))
                positive_mass += in_units(int(chosen.sum()))
                block_total, block_positive_sum = exact_sums(values, chosen, exponent=0)
                total += block_total
                positive_sum += block_positive_sum
            else:
                weights = sample_weight[rows]
                block_mass, block_positive_mass = exact_sums(weights, chosen)
                mass += block_mass
                positive_mass += block_positive_mass
                for part in exact_products(weights, values):
                    part_total, part_positive = exact_sums(part, chosen)
                    total += part_total
                    positive_sum += part_positive
        return cls(positive_mass, mass - positive_mass, positive_sum, total - positive_sum)

    def merge(self, other: ClassSums) -> ClassSums:
        """Return the sums over the rows of both."""
        return ClassSums(
            self.positive_mass + other.positive_mass,
            self.negative_mass + other.negative_mass,
            self.positive_sum + other.positive_sum,
            self.negative_sum + other.negative_sum,
        )

    def thresholds(self) -> tuple[float, float]:
        """Return LB_{y=1} and UB_{y=0}: the mean probability of either class."""
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
    """Return the second pass: rows (or mass) beyond each threshold, by label. Both inclusive."""
    positive_threshold, negative_threshold = thresholds
    counts = np.zeros(4)
    for rows in blocks(len(is_positive)):
        labels = is_positive[rows]
        values = float_block(probabilities, rows)
        weights = None if sample_weight is None else sample_weight[rows]
        above, below = values >= positive_threshold, values <= negative_threshold
        counts += [
            _mass(above & labels, weights),
            _mass(above & ~labels, weights),
            _mass(below & labels, weights),
            _mass(below & ~labels, weights),
        ]
    return ConfidentCounts(*counts.tolist())


def rates_from_counts(sums: ClassSums, counts: ConfidentCounts) -> NoiseRates:
    """Return the algebra: Eq. 2 of the paper and the rates that follow from it."""
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
    # Some row always reaches the mean of its class, unless weights make it underflow.
    return wrong / (wrong + right) if wrong else 0.0


def _mass(part: BoolArray, weights: NDArray[np.float64] | None) -> float:
    return count_true(part) if weights is None else float(weights[part].sum())
