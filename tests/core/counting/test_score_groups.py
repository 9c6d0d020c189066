"""Rows grouped by score: by hand, and that no row is lost."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankprune.core.counting._score_groups import group_scores, mid_ranks

row = st.tuples(st.booleans(), st.integers(0, 5).map(lambda k: k / 5), st.integers(0, 3))
rows = st.lists(row, min_size=1).filter(lambda rows: any(w for _, _, w in rows))


def test_five_rows_by_hand():
    """Two rows tie at .2 (from 1/5 to 3/5, so .4); .1 lies below them, the rest above."""
    labels = np.array([True, False, False, False, True])
    groups = group_scores(labels, np.array([0.2, 0.9, 0.1, 0.2, 0.95]), np.ones(5))
    assert groups.scores.tolist() == [0.1, 0.2, 0.9, 0.95]
    assert groups.positives.tolist() == [0, 1, 0, 1]
    assert groups.negatives.tolist() == [1, 1, 1, 0]
    assert groups.rows.tolist() == [1, 2, 1, 1]
    assert mid_ranks(groups.rows) == pytest.approx([0.1, 0.4, 0.7, 0.9])


def test_rows_of_weight_zero_are_left_out():
    groups = group_scores(
        np.array([True, False, True]), np.array([0.2, 0.9, 0.1]), np.array([2.0, 2.0, 0.0])
    )
    assert groups.scores.tolist() == [0.2, 0.9]
    assert mid_ranks(groups.rows) == pytest.approx([0.25, 0.75])


def test_float32_scores_are_not_merged():
    close = np.array([0.5, np.nextafter(np.float32(0.5), np.float32(1))], np.float32)
    assert len(group_scores(np.array([True, False]), close, np.ones(2)).scores) == 2


@given(rows)
def test_every_row_is_in_its_group(triples):
    labels = np.array([s for s, _, _ in triples])
    scores = np.array([p for _, p, _ in triples])
    weight = np.array([w for _, _, w in triples], float)
    groups = group_scores(labels, scores, weight)
    for score, positive, negative in zip(
        groups.scores, groups.positives, groups.negatives, strict=True
    ):
        assert positive == weight[labels & (scores == score)].sum()
        assert negative == weight[~labels & (scores == score)].sum()
        assert positive + negative > 0
    assert groups.rows.sum() == weight.sum()
    assert (np.diff(groups.scores) > 0).all()


@given(rows, st.integers(2, 6))
def test_coarser_groups_lose_no_row(triples, n_groups):
    labels = np.array([s for s, _, _ in triples])
    scores = np.array([p for _, p, _ in triples])
    groups = group_scores(labels, scores, np.array([w for _, _, w in triples], float))
    few = groups.coarser(n_groups)
    assert len(few.rows) <= n_groups
    assert few.positives.sum() == groups.positives.sum()
    assert few.negatives.sum() == groups.negatives.sum()
    assert (few.rows * few.scores).sum() == pytest.approx((groups.rows * groups.scores).sum())
    assert (np.diff(few.scores) > 0).all()


def test_mid_ranks_of_several_problems():
    found = mid_ranks(np.array([[1.0, 1.0], [3.0, 1.0]]))
    assert found.tolist() == [[0.25, 0.75], [0.375, 0.875]]
