"""Histograms of scores: the ranges of bins, and the values that represent them."""

from itertools import pairwise

import numpy as np
import pytest

from rankprune.core.counting._histogram import COARSE, ScoreHistogram


@pytest.fixture
def eight():
    """From 1/4 to 1 in nine bins, the last of them for 1 itself."""
    lowest, highest = (int(np.float64(v).view(np.int64)) for v in (0.25, 1.0))
    return ScoreHistogram(lowest, highest, precision=3)


def test_a_bin_is_represented_by_the_value_in_its_middle(eight):
    # Four bins for each power of two. Whatever lies below the range counts in the first.
    edges = [0, 0.3125, 0.375, 0.4375, 0.5, 0.625, 0.75, 0.875, 1.0]
    expected = [(low + high) / 2 for low, high in pairwise(edges)]
    assert eight.middles().tolist() == [*expected, 1.0]
    assert eight.middles().dtype == np.float64


def test_rows_of_bins_have_a_label_a_score_and_a_count(eight):
    labels = np.array([True, False, False, True, False, True])
    scores = np.array([0.3, 0.3, 0.1, 0.9, 0.9, 1.0])
    is_positive, middles, counts = eight.update(labels, scores).as_rows()
    assert is_positive.tolist() == [False, False, True, True, True]
    assert middles.tolist() == [0.15625, 0.9375, 0.15625, 0.9375, 1.0]
    assert counts.tolist() == [2.0, 1.0, 1.0, 1.0, 1.0]
    assert counts.dtype == np.float64


def test_ranges_of_bins_meet(eight):
    ranges = [eight.bin_range(index) for index in range(9)]
    assert ranges[0][0] == 0
    assert all(one[1] == other[0] for one, other in pairwise(ranges))
    assert np.int64(ranges[0][1]).view(np.float64) == 0.3125


def test_a_deep_histogram_has_more_bins():
    deep, usual = ScoreHistogram.deep(), ScoreHistogram()
    assert deep.precision > usual.precision == COARSE
    assert deep.counts.shape[1] > 4096 * 32 > usual.counts.shape[1]
    # 4,096 bins to each power of two.
    low, high = deep.bin_range(int(np.searchsorted(deep.middles(), 0.6)))
    width = np.int64(high).view(np.float64) - np.int64(low).view(np.float64)
    assert width == 0.5 / 4096
