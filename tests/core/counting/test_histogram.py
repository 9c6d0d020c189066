"""Histograms of scores: the ranges of bins, and the values that represent them."""

from itertools import pairwise

import numpy as np
import pytest

from rankprune.core.counting._histogram import ScoreHistogram


@pytest.fixture
def eight():
    """From 1/4 to 1 in nine bins, the last of them for 1 itself."""
    lowest, highest = (int(np.float64(v).view(np.int64)) for v in (0.25, 1.0))
    return ScoreHistogram(lowest, highest, precision=3)


def test_ranges_of_bins_meet(eight):
    ranges = [eight.bin_range(index) for index in range(9)]
    assert ranges[0][0] == 0
    assert all(one[1] == other[0] for one, other in pairwise(ranges))
    assert np.int64(ranges[0][1]).view(np.float64) == 0.3125
