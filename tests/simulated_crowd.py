"""Small simulated crowds for the tests."""

import numpy as np

from rankprune.annotators import Answers


def crowd(accuracies, n_rows=200, n_classes=3, seed=0):
    """Return answers of everyone about every row, and the truth; errors are spread evenly."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_classes, n_rows)
    accuracies = np.asarray(accuracies)
    is_right = rng.random((n_rows, len(accuracies))) < accuracies
    shift = rng.integers(1, n_classes, is_right.shape)
    return np.where(is_right, truth[:, None], (truth[:, None] + shift) % n_classes), truth


def long(table, **kwargs):
    """Return the answers of a wide table of numbers as a long table."""
    n, m = np.shape(table)
    return Answers.from_long(
        np.repeat(np.arange(n), m), np.tile(np.arange(m), n), np.ravel(table), **kwargs
    )
