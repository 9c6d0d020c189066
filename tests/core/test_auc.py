"""The guard against uninformative scores: the AUC, its bound, and the shortcuts to it."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankprune.core import _auc as _informative
from rankprune.core._auc import auc, is_informative

rows = st.lists(
    st.tuples(st.booleans(), st.integers(0, 6).map(lambda k: k / 6), st.integers(1, 3)),
    min_size=2,
    max_size=30,
).filter(lambda triples: len({s for s, _, _ in triples}) == 2)


def columns(triples):
    return tuple(np.array(column) for column in zip(*triples, strict=True))


def pairwise_auc(s, p, w):
    """Every pair of a positive and a negative, by hand."""
    won = total = 0.0
    for i in np.flatnonzero(s):
        for j in np.flatnonzero(~s):
            total += w[i] * w[j]
            won += w[i] * w[j] * ((p[i] > p[j]) + 0.5 * (p[i] == p[j]))
    return won / total


def bound_by_hand(s, p, w):
    n1, n0 = w[s].sum(), w[~s].sum()
    return pairwise_auc(s, p, w) - 1.6448536269514722 * math.sqrt((n1 + n0 + 1) / (12 * n1 * n0))


@given(rows)
def test_auc_equals_the_count_over_pairs(triples):
    s, p, w = columns(triples)
    assert auc(s, p) == pytest.approx(pairwise_auc(s, p, np.ones(len(s))), abs=1e-12)
    assert auc(s, p, w.astype(float)) == pytest.approx(pairwise_auc(s, p, w), abs=1e-12)


@given(rows)
def test_informative_means_a_lower_bound_above_one_half(triples):
    s, p, w = columns(triples)
    ones = np.ones(len(s))
    for weights, given_weights in ((ones, None), (w, w.astype(float))):
        bound = bound_by_hand(s, p, weights)
        if abs(bound - 0.5) > 1e-12:
            assert is_informative(s, p, given_weights) == (bound > 0.5)


@given(rows)
def test_whole_weights_count_as_repeated_rows(triples):
    s, p, w = columns(triples)
    assert is_informative(s, p, w.astype(float)) == is_informative(np.repeat(s, w), np.repeat(p, w))


def test_other_weights_count_by_their_effective_number():
    # Ten equal rows each: informative whatever the scale of the weights.
    s = np.repeat([True, False], 10)
    p = np.repeat([0.7, 0.3], 10)
    assert is_informative(s, p, np.full(20, 1e-6))
    # One row that carries all the weight counts for one.
    w = np.full(20, 1e-9)
    w[[0, 10]] = 0.5
    assert not is_informative(s, p, w)


def test_scores_within_one_bin_are_told_apart():
    rng = np.random.default_rng(0)
    s = rng.random(2000) < 0.5
    p = 0.5 + (rng.random(2000) + s) * 1e-10
    assert is_informative(s, p)
    assert not is_informative(~s, p)


def test_the_exact_auc_decides_where_bins_are_too_coarse(monkeypatch):
    s = np.array([True, False] * 50)
    # All in the range below 16 powers of two under the highest value, which share a bin.
    p = np.where(s, 2e-9, 1e-9)
    p[0] = 1.0
    calls = []
    monkeypatch.setattr(_informative, "auc", lambda *a: calls.append(1) or auc(*a))
    assert is_informative(s, p)
    assert calls == [1]


@pytest.mark.parametrize("informative", [True, False])
def test_a_sample_settles_clear_cases_only(monkeypatch, informative):
    monkeypatch.setattr(_informative, "_SAMPLE_ROWS", 200)
    rng = np.random.default_rng(1)
    s = rng.random(1000) < 0.3
    p = rng.random(1000) * 0.5 + 0.4 * s * informative
    seen = []
    original = _informative._auc_bounds
    monkeypatch.setattr(
        _informative, "_auc_bounds", lambda s, p: seen.append(len(s)) or original(s, p)
    )
    assert is_informative(s, p) == informative
    assert seen == ([200] if informative else [200, 1000])


@pytest.mark.parametrize(("n", "asked"), [(400, [400]), (401, [400, 401]), (800, [400, 800])])
def test_only_data_beyond_the_sample_size_are_sampled(monkeypatch, n, asked):
    monkeypatch.setattr(_informative, "_SAMPLE_ROWS", 400)
    rng = np.random.default_rng(2)
    seen = []
    original = _informative._auc_bounds
    monkeypatch.setattr(
        _informative, "_auc_bounds", lambda s, p: seen.append(len(s)) or original(s, p)
    )
    assert not is_informative(rng.random(n) < 0.5, rng.random(n))
    assert seen == asked


def test_bounds_count_ties_within_a_bin_against_and_for():
    s = np.array([True, False, True, False])
    p = np.array([0.9, 0.5, 0.5, 0.1])
    # Pairs won: (.9, .5), (.9, .1), (.5, .1); tied: (.5, .5).
    assert _informative._auc_bounds(s, p) == (0.75, 1.0)


def test_a_sample_without_both_classes_is_not_used(monkeypatch):
    monkeypatch.setattr(_informative, "_SAMPLE_ROWS", 4)
    s = np.arange(1000) >= 3
    assert is_informative(s, np.where(s, 0.9, 0.1))
    assert is_informative(~s, np.where(s, 0.1, 0.9))


def test_rows_in_a_regular_order_do_not_fool_the_sample(monkeypatch):
    monkeypatch.setattr(_informative, "_SAMPLE_ROWS", 1 << 10)
    i = np.arange(1 << 11)
    s = (i // 2) % 2 == 1
    # Every second row separates perfectly, the rest exactly the other way round.
    p = np.where(s, np.where(i % 2 == 0, 0.9, 0.0), np.where(i % 2 == 0, 0.1, 0.2))
    assert auc(s, p) == 0.5
    assert not is_informative(s, p)
