"""The refined AUC: bounds that hold, narrow with every pass, and end exact."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankprune.core._auc import auc, auc_bounds
from rankprune.core.counting import _open_auc
from rankprune.core.counting._histogram import ScoreHistogram
from rankprune.core.counting._kernel import kernel_for
from rankprune.core.counting._open_auc import OpenAuc

SCORES = st.one_of(
    st.floats(0, 1),
    st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]),
    st.floats(0.5, 0.5 + 1e-7),
)


@st.composite
def rows(draw):
    """Labels of both values and scores, of which some bin holds both labels."""
    scores = draw(st.lists(SCORES, min_size=2, max_size=30))
    labels = draw(st.lists(st.booleans(), min_size=len(scores), max_size=len(scores)))
    return np.array([True, False, *labels]), np.array([0.5, 0.5, *scores])


def first_look(labels, scores, max_copied):
    histogram = ScoreHistogram().update(labels, scores)
    return OpenAuc.in_histogram(histogram, (scores.min(), scores.max()), max_copied)


def look_at(look, labels, scores, n_parts=2):
    """Return the refinement after a pass over the rows, in parts that are merged."""
    merged = look.empty()
    kernel = kernel_for(1)
    for part in np.array_split(np.arange(len(labels)), n_parts):
        one = look.empty()
        one.add_block(kernel, labels[part], kernel.prepared(scores[part]))
        merged = merged.merge(one)
    return merged


def exact_bounds(labels, scores):
    """Return the AUC with ties counted against it, and for it."""
    values = np.unique(scores)
    return auc_bounds(
        *(np.array([(scores[rows] == v).sum() for v in values]) for rows in (~labels, labels))
    )


@given(rows())
def test_rows_compared_one_by_one_give_exact_bounds(drawn):
    labels, scores = drawn
    look = look_at(first_look(labels, scores, max_copied=100), labels, scores)
    assert look.bounds() == pytest.approx(exact_bounds(labels, scores), abs=1e-12)


@given(rows(), st.integers(0, 3))
def test_bounds_hold_and_narrow_with_every_pass(drawn, max_copied):
    labels, scores = drawn
    least, most = auc_bounds(*ScoreHistogram().update(labels, scores).counts)
    exact = exact_bounds(labels, scores)
    look, looks = first_look(labels, scores, max_copied), 0
    while look is not None:
        look = look_at(look, labels, scores)
        looks += 1
        low, high = look.bounds()
        assert least - 1e-12 <= low <= exact[0] + 1e-12
        assert exact[1] - 1e-12 <= high <= most + 1e-12
        least, most = low, high
        look = look.closer(needed=(low + high) / 2)
    assert looks <= _open_auc._MAX_LOOKS


def crowd(n=400, seed=0):
    """Scores that crowd around two values, each of them a single bin of a finer histogram."""
    rng = np.random.default_rng(seed)
    labels = rng.random(n) < 0.5
    place = np.where(rng.random(n) < 0.5, 0.25, 0.75)
    return labels, place + (rng.random(n) + 0.3 * labels) * 1e-15 * 2**3


def test_few_rows_are_copied_and_many_are_counted_in_finer_bins():
    labels, scores = crowd()
    n_inside = len(labels)
    assert first_look(labels, scores, n_inside)._finer is None
    finer = first_look(labels, scores, n_inside - 1)._finer
    assert finer.precision == _open_auc.FINE
    assert (finer.lowest, finer.highest) == tuple(
        int(np.float64(v).view(np.int64)) for v in (scores.min(), scores.max())
    )


def test_the_bin_that_leaves_most_open_is_refined_next():
    labels, scores = crowd()
    # Fewer rows in the upper crowd, and one row above all: that bin leaves little open.
    keep = (scores < 0.5) | (np.arange(len(scores)) % 4 == 0)
    labels, scores = np.append(labels[keep], True), np.append(scores[keep], 0.9)
    look = look_at(first_look(labels, scores, max_copied=10), labels, scores)
    low, high = look.bounds()
    assert high - low > 0.1
    nearer = look.closer(needed=(low + high) / 2)
    assert all(0.25 <= np.int64(bits).view(np.float64) < 0.26 for bits in nearer._bounds)
    assert nearer._n_inside == (scores < 0.5).sum()
    # Each refinement divides a bin by 2**16, so a few of them tell the crowd apart.
    for _ in range(3):
        nearer = look_at(nearer, labels, scores)
        assert nearer._counts().sum() == look._counts().sum() == len(labels)
        narrowed = nearer.bounds()[1] - nearer.bounds()[0]
        nearer = nearer.closer(needed=(low + high) / 2)
        if nearer is None or nearer._bounds[0] > look._bounds[0] + 2**52:
            break
    assert narrowed < (high - low) / 2


def test_refinement_ends_when_nothing_is_open():
    labels, scores = crowd()
    look = look_at(first_look(labels, scores, max_copied=10), labels, scores)
    low, high = look.bounds()
    assert look.closer(needed=low - 1e-9) is None
    assert look.closer(needed=high) is None
    assert look.closer(needed=low) is not None
    # Copied rows are exact already.
    exact = look_at(first_look(labels, scores, max_copied=1000), labels, scores)
    assert exact.closer(needed=auc(labels, scores, None)) is None


def test_a_single_value_is_not_refined_again():
    labels, scores = np.arange(50) % 2 == 0, np.full(50, 0.5)
    scores[0] = 0.75
    look, looks = first_look(labels, scores, max_copied=10), []
    while look is not None:
        looks.append(look_at(look, labels, scores))
        low, high = looks[-1].bounds()
        look = looks[-1].closer(needed=(low + high) / 2)
    # The last refinement holds this value alone, before their maximum number is reached.
    assert len(looks) < _open_auc._MAX_LOOKS
    last = looks[-1]._finer
    (used,) = np.flatnonzero(last.counts.all(axis=0))
    assert last.bin_range(int(used))[1] == int(np.float64(0.5).view(np.int64)) + 1


def test_the_number_of_refinements_is_limited(monkeypatch):
    monkeypatch.setattr(_open_auc, "_MAX_LOOKS", 2)
    rng = np.random.default_rng(1)
    labels = rng.random(4000) < 0.5
    # From many powers of two, so that one refinement leaves many bits open.
    scores = 0.5 + 2.0 ** -rng.uniform(1, 50, 4000)
    look = look_at(first_look(labels, scores, max_copied=1), labels, scores)
    middle = sum(look.bounds()) / 2
    second = look.closer(needed=middle)
    assert second is not None
    assert second.empty()._n_looks == second._n_looks == 2
    assert look_at(second, labels, scores).closer(needed=middle) is None


def test_counts_outside_the_range_can_be_dropped_for_sending():
    labels, scores = crowd()
    look = first_look(labels, scores, max_copied=1000)
    sent = look_at(look, labels, scores)
    sent.forget()
    assert sent._below.shape == sent._above.shape == (2, 0)
    assert look.empty().merge(sent).bounds() == look_at(look, labels, scores).bounds()
