"""Bounds of shares, against the distribution they invert."""

import numpy as np
import pytest
from scipy.stats import beta, binom

from rankprune.core._shares import row_weights, share_band, upper_bound


def test_the_upper_bound_is_that_of_clopper_and_pearson():
    part, whole = np.array([0.0, 3.0, 10.0]), np.array([10.0, 10.0, 10.0])
    bound = upper_bound(part, whole, 0.05)
    assert bound == pytest.approx([*beta.ppf(0.95, [1, 4], [10, 7]), 1.0])
    # At the bound, so few have exactly the probability of the level.
    assert binom.cdf([0, 3], 10, bound[:2]) == pytest.approx([0.05, 0.05])


def test_the_band_has_both_tails_and_mirrors():
    low, high = share_band(np.array([0.0, 3.0, 10.0]), np.full(3, 10.0), 0.9)
    assert low == pytest.approx([0.0, beta.ppf(0.05, 3, 8), beta.ppf(0.05, 10, 1)])
    assert high == pytest.approx([beta.ppf(0.95, 1, 10), beta.ppf(0.95, 4, 7), 1.0])


def test_weights_count_rows():
    assert row_weights(np.ones(3, bool), None).tolist() == [1, 1, 1]
    assert row_weights(np.ones(3, bool), np.array([1.0, 2.0, 3.0])).tolist() == [1, 2, 3]
    # Two rows of weight one half are two rows.
    assert row_weights(np.ones(2, bool), np.array([0.5, 0.5])).tolist() == [1, 1]
