"""Rates and masks of rows that need not be in memory: the same results, a batch at a time."""

from rankprune.stream._pruning import (
    StreamedClassPruning,
    StreamedPruning,
    estimate_noise_rates,
    prune_labels,
)
from rankprune.stream._sources import read_scores

__all__ = [
    "StreamedClassPruning",
    "StreamedPruning",
    "estimate_noise_rates",
    "prune_labels",
    "read_scores",
]
