"""Histograms add up and ranks are exact on every kind of distribution."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankprune.core.counting import _selection
from rankprune.core.counting._exact_sums import value_of
from rankprune.core.counting._histogram import ScoreHistogram
from rankprune.core.counting._selection import value_of_rank

DISTRIBUTIONS = {
    "uniform": lambda rng, n: rng.random(n),
    "ties": lambda rng, n: rng.integers(0, 5, n) / 4,
    "one value": lambda _, n: np.full(n, 0.3),
    "one bin": lambda rng, n: 0.5 + rng.random(n) * 1e-9,
    "tiny": lambda rng, n: rng.random(n) * 1e-30,
    "subnormal": lambda rng, n: rng.random(n) * 1e-310,
    "skewed": lambda rng, n: rng.random(n) ** 40,
    "near one": lambda rng, n: 1 - rng.random(n) * 1e-12,
    "zeros and ones": lambda rng, n: rng.integers(0, 2, n).astype(float),
    "negative zero": lambda rng, n: np.where(rng.random(n) < 0.5, -0.0, rng.random(n)),
    "float32": lambda rng, n: rng.random(n).astype(np.float32),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize("label", [True, False])
def test_every_rank_equals_that_of_a_sort(name, label, monkeypatch):
    monkeypatch.setattr(_selection, "_MIN_COPIED", 8)  # so that small data need finer bins
    rng = np.random.default_rng(0)
    p = DISTRIBUTIONS[name](rng, 700)
    s = rng.random(700) < 0.4
    ordered = np.sort(p[s == label])
    histogram = ScoreHistogram().update(s, p)
    for rank in {1, 2, 57, len(ordered) // 2, len(ordered) - 1, len(ordered)}:
        found = value_of_rank(s, p, histogram, label, rank)
        assert found.value == ordered[rank - 1]
        assert found.n_below == (ordered < found.value).sum()
        assert found.n_equal == (ordered == found.value).sum()


def test_ranks_among_thousands_of_values_in_one_bin():
    rng = np.random.default_rng(1)
    p = 0.5 + rng.random(4000) * 1e-9
    s = np.ones(4000, dtype=bool)
    histogram = ScoreHistogram().update(s, p)
    ordered = np.sort(p)
    for rank in (1, 2, 500, 1999, 2000, 3999, 4000):
        assert value_of_rank(s, p, histogram, True, rank).value == ordered[rank - 1]


def test_finer_bins_are_cut_until_few_values_need_copying(monkeypatch):
    copied = []
    original = np.partition
    monkeypatch.setattr(
        _selection.np, "partition", lambda a, k: copied.append(len(a)) or original(a, k)
    )
    rng = np.random.default_rng(0)
    p = 0.5 + rng.random(500_000) * 1e-9
    s = np.ones(len(p), dtype=bool)
    histogram = ScoreHistogram().update(s, p)
    assert value_of_rank(s, p, histogram, True, 1000).value == np.sort(p)[999]
    assert copied[0] <= 500_000 // 64


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=50))
def test_bins_cover_all_values_in_order_and_add_up(pairs):
    p, s = np.array([p for p, _ in pairs]), np.array([s for _, s in pairs])
    half = len(p) // 2
    whole = ScoreHistogram().update(s, p)
    parts = ScoreHistogram().update(s[:half], p[:half])
    merged = parts.merge(ScoreHistogram().update(s[half:], p[half:]))
    assert (merged.counts == whole.counts).all()
    assert whole.counts.dtype == np.int64
    assert whole.counts.sum(axis=1).tolist() == [(~s).sum(), s.sum()]
    for index in np.flatnonzero(whole.counts.sum(axis=0)):
        low, high = (value_of(bits) for bits in whole.bin_range(int(index)))
        inside = (p >= low) & (p < high)
        assert (inside & s).sum() == whole.counts[1, index]
        assert (inside & ~s).sum() == whole.counts[0, index]


def test_the_default_range_has_256_bins_to_each_power_of_two():
    histogram = ScoreHistogram()
    assert histogram.counts.shape == (2, 16 * 256 + 1)
    assert value_of(histogram.bin_range(1)[0]) == 2.0**-16 * (1 + 1 / 256)
    assert value_of(histogram.bin_range(4096)[0]) == 1.0


def test_a_spanning_histogram_resolves_a_narrow_range():
    p = 0.5 + np.arange(5) * 1e-12
    histogram = ScoreHistogram.spanning(p).update(np.ones(5, dtype=bool), p)
    assert histogram.counts.max() == 1
    assert np.flatnonzero(histogram.counts[1])[-1] > 1000
    wide = ScoreHistogram.spanning(np.array([0.0, 1.0]))
    assert (wide.lowest, wide.highest) == (ScoreHistogram().lowest, ScoreHistogram().highest)
    assert ScoreHistogram.spanning(np.array([-0.0, 1e-300])).highest > 0
