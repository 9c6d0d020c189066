"""The ratio of a rank among the rows of each label is that of sorted rows, in any batches."""

import pickle
from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankprune.core.classes import _class_loops as loops
from rankprune.core.classes._class_pruning import ClassMarker, find_cutoffs
from rankprune.core.classes._ratio_search import RatioSearch


@st.composite
def ratios_and_ranks(draw):
    """Draw labels, ratios of which many may tie, and a rank or none for each label."""
    random = np.random.default_rng(draw(st.integers(0, 10**6)))
    k, n = draw(st.integers(2, 6)), draw(st.integers(1, 80))
    codes = random.integers(0, k, n).astype(np.int16)
    kinds = [
        random.choice([1.0, 1.0 + 2.0**-52, 3.0], n),
        random.lognormal(0, 2, n).clip(1e-6, 1e6),
        np.full(n, 0.7),
        random.choice([1e-6 / 1.001, 1.001e6], n),
    ]
    ratios = kinds[draw(st.integers(0, len(kinds) - 1))]
    sizes = np.bincount(codes, minlength=k)
    return codes, ratios, random.integers(0, sizes + 1)


def by_sorting(codes, ratios, ranks):
    mask, values = np.zeros(len(codes), dtype=bool), np.full(len(ranks), np.nan)
    for label, rank in enumerate(ranks.tolist()):
        members = np.flatnonzero(codes == label)
        first = members[np.argsort(ratios[members], kind="stable")][:rank]
        mask[first] = True
        if rank:
            values[label] = ratios[first[-1]]
    return mask, values


def searched(batches, ranks, limit, n_cells=1 << 10):
    search = RatioSearch(len(ranks), n_cells)
    while not search.is_done:
        parts = [search.empty().add(loops, *batch) for batch in batches]
        merged = pickle.loads(pickle.dumps(reduce(RatioSearch.merge, parts)))
        search = merged.after_pass(ranks, limit)
    return search


@settings(deadline=None)
@given(ratios_and_ranks(), st.data())
def test_any_batches_and_any_memory_give_what_sorting_gives(drawn, data):
    codes, ratios, ranks = drawn
    mask, values = by_sorting(*drawn)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(codes)), max_size=3)))
    batches = list(zip(np.split(codes, cuts), np.split(ratios, cuts), strict=True))
    limit, n_cells = data.draw(st.sampled_from([0, 5, 1000])), data.draw(st.sampled_from([1, 1000]))
    found = searched(batches, ranks, limit, n_cells).cutoffs(ranks)
    np.testing.assert_array_equal(found.values, values)
    np.testing.assert_array_equal(found.margins, np.log(values))
    marker = ClassMarker(found, np.arange(len(ranks)))
    masks = [np.empty(len(batch[0]), dtype=bool) for batch in batches]
    for part, batch in zip(masks, batches, strict=True):
        marker.mark(part, *batch)
    np.testing.assert_array_equal(np.concatenate(masks), mask)
    assert marker.is_ordered == bool((found.n_ties < found.n_equal).any())
    np.testing.assert_array_equal(found.n_pruned, ranks)
    whole = find_cutoffs(codes, ratios, ranks)
    for name in vars(found):
        np.testing.assert_array_equal(getattr(whole, name), getattr(found, name))


def test_many_equal_ratios_need_no_more_than_three_passes():
    codes = np.zeros(1000, np.int16)
    search = searched([(codes, np.full(1000, 1.25))], np.array([300, 0]), limit=10)
    assert search.n_pass - 1 == 2
    cutoffs = search.cutoffs(np.array([300, 0]))
    assert cutoffs.n_ties.tolist() == [300, 0]
    assert cutoffs.n_equal.tolist() == [1000, 0]


@pytest.mark.parametrize("limit", [0, 1000])
def test_rows_that_change_between_passes_are_refused(limit):
    codes, ratios = np.zeros(50, np.int16), np.linspace(1, 2, 50)
    ranks = np.array([20, 0])
    search = RatioSearch(2, 64).add(loops, codes, ratios).after_pass(ranks, limit)
    with pytest.raises(ValueError, match="same rows in every pass"):
        search.add(loops, codes[:3], ratios[:3]).after_pass(ranks, limit)
    with pytest.raises(ValueError, match="same rows in every pass"):
        search.empty().after_pass(ranks, limit)


def test_many_classes_have_few_bins_each():
    search = RatioSearch(100_000, 1 << 10)
    codes, ratios = np.arange(100_000, dtype=np.int32), np.linspace(0.5, 2, 100_000)
    ranks = np.ones(100_000, dtype=np.int64)
    while not search.is_done:
        search = search.add(loops, codes, ratios).after_pass(ranks, 10**6)
    np.testing.assert_array_equal(search.cutoffs(ranks).values, ratios)
