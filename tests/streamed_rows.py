"""Rows for tests of streams, and what streaming must give."""

import numpy as np


def noisy_rows(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.random(n_rows) < 0.3
    labels = np.where(truth, rng.random(n_rows) >= 0.3, rng.random(n_rows) < 0.1)
    return labels, np.where(truth, rng.beta(5, 2, n_rows), rng.beta(2, 5, n_rows))


def in_batches(labels, scores, size):
    cuts = range(size, len(labels), size)
    return list(zip(np.split(labels, cuts), np.split(scores, cuts), strict=True))


def assert_same(pruning, expected):
    rates, whole = expected
    assert pruning.noise_rates == rates
    assert (pruning.positive_cutoff, pruning.negative_cutoff) == (
        whole.positive_cutoff,
        whole.negative_cutoff,
    )
    assert (pruning.n_positive_pruned, pruning.n_negative_pruned) == (
        whole.n_positive_pruned,
        whole.n_negative_pruned,
    )
    np.testing.assert_array_equal(np.concatenate(list(pruning.masks())), whole.mask)
    np.testing.assert_array_equal(pruning.mask(), whole.mask)
