"""Bounds of shares, against the distribution they invert."""

import numpy as np
import pytest
from scipy.stats import beta, binom

from rankprune.core._shares import quick_upper_bound, share_band, upper_bound


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


@pytest.mark.parametrize("level", [1e-4, 0.2])
def test_the_quick_bound_is_close_to_the_exact_one(level):
    for whole in np.unique(np.geomspace(1, 1e6, 80).round()):
        part = np.unique(np.append(np.geomspace(1, whole, 40).round(), [0.0, whole]))
        all_rows = np.full(len(part), whole)
        found = quick_upper_bound(part, all_rows, level)
        np.testing.assert_allclose(found, upper_bound(part, all_rows, level), rtol=0.03)
    # A fraction of a row bounds nothing, whatever its size.
    assert quick_upper_bound(np.array([1e-9]), np.array([1e-8]), level).tolist() == [1.0]
