"""Pruning: exact counts, exact cut-offs, stable ties, mass with weights; and the suspects."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import plain
from rankprune import NoiseRates, correction_weights, prune_labels, rank_suspects
from rankprune.core import _blocks
from rankprune.core._pruning import cutoffs_of_mask, order_pruned
from rankprune.exceptions import ClassAlmostEmptiedWarning

probability = st.integers(0, 10).map(lambda k: k / 10) | st.floats(0, 1)
rows = st.lists(st.tuples(st.booleans(), probability), min_size=2, max_size=40).filter(
    lambda pairs: len({s for s, _ in pairs}) == 2
)


def rates_of(pi1, pi0, observed=0.5):
    """Rates with these label error rates; the noise rates do not matter for pruning."""
    base = NoiseRates.from_noise_rates(0, 0, observed)
    return replace(base, positive_label_error_rate=pi1, negative_label_error_rate=pi0)


def columns(pairs):
    return np.array([s for s, _ in pairs]), np.array([p for _, p in pairs])


def prune(s, p, pi1, pi0, **more):
    with warnings.catch_warnings():
        # Rates up to 1 cause it; a separate test checks the warning.
        warnings.simplefilter("ignore", ClassAlmostEmptiedWarning)
        return prune_labels(s, p, rates_of(pi1, pi0), **more)


@given(rows, st.floats(0, 1), st.floats(0, 1), st.sampled_from([3, 64]))
def test_the_mask_equals_that_of_a_stable_sort(pairs, pi1, pi0, block_rows):
    s, p = columns(pairs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_blocks, "BLOCK_ROWS", block_rows)
        pruning = prune(s, p, pi1, pi0)
    mask = plain.mask(s, p, pi1, pi0)
    assert pruning.mask.tolist() == mask.tolist()
    assert pruning.n_positive_pruned == (mask & s).sum()
    assert pruning.n_negative_pruned == (mask & ~s).sum()
    assert pruning.positive_cutoff == (p[mask & s].max() if (mask & s).any() else None)
    assert pruning.negative_cutoff == (p[mask & ~s].min() if (mask & ~s).any() else None)
    assert pruning.sample_weight is None


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["spread", "ties", "one bin", "skewed", "constant"])
def test_large_masks_equal_those_of_a_stable_sort(kind, dtype):
    rng = np.random.default_rng(5)
    n = 200_000
    p = {
        "spread": rng.random(n),
        "ties": np.round(rng.random(n), 2),
        "one bin": 0.5 + rng.random(n) * 1e-6,
        "skewed": rng.random(n) ** 30,
        "constant": np.full(n, 0.25),
    }[kind].astype(dtype)
    s = rng.random(n) < 0.2 + 0.3 * p
    pruning = prune(s, p, 0.31, 0.07)
    assert (pruning.mask == plain.mask(s, p, 0.31, 0.07)).all()


def test_pruning_counts_round_as_python_does():
    s, p = np.array([True] * 5 + [False] * 5), np.arange(10) / 10
    assert prune(s, p, 0.5, 0.1).n_positive_pruned == 2  # round(2.5) == 2
    assert prune(s, p, 0.3, 0.1).n_positive_pruned == 2  # round(1.5) == 2
    assert prune(s, p, 0.3, 0.11).n_negative_pruned == 1


def test_ties_go_in_the_order_of_the_rows():
    s = np.array([True] * 4 + [False] * 4)
    pruning = prune(s, np.full(8, 0.5), 0.5, 0.25)
    assert pruning.mask.tolist() == [True, True, False, False, True, False, False, False]
    assert (pruning.positive_cutoff, pruning.negative_cutoff) == (0.5, 0.5)


def test_many_ties_go_in_the_order_of_the_rows_with_weights_too():
    s, p = np.arange(200) % 2 == 0, np.repeat([0.5, 0.25], 100)
    pruning = prune(s, p, 0.75, 0.25, sample_weight=np.ones(200))
    assert (pruning.mask == plain.mask(s, p, 0.75, 0.25)).all()
    suspects = rank_suspects(s, p, rates_of(0.75, 0.25))
    for margin in (0.25, 0.0):
        assert (np.diff(suspects.rows[suspects.margins == margin]) > 0).all()


def test_the_last_row_of_a_class_stays_and_of_counted_rows_one():
    """A fractional weight belongs to one row; a weight of 5 is five rows, of which one stays."""
    s, p = np.array([True] * 4 + [False]), [0.4, 0.3, 0.2, 0.1, 0.5]
    for weight, left in (
        ([5.5, 4, 3, 2, 1], [5.5, 0, 0, 0, 1]),
        ([5, 4, 3, 2, 1], [1, 0, 0, 0, 1]),
    ):
        with pytest.warns(ClassAlmostEmptiedWarning):
            pruning = prune_labels(s, p, rates_of(1, 0), sample_weight=weight)
        assert pruning.sample_weight.tolist() == left


@given(rows, st.randoms(use_true_random=False), st.floats(0, 0.9), st.floats(0, 0.9))
def test_permuting_the_rows_permutes_the_mask_apart_from_ties(pairs, random, pi1, pi0):
    s, p = columns(pairs)
    order = list(range(len(s)))
    random.shuffle(order)
    pruning = prune(s, p, pi1, pi0)
    shuffled = prune(s[order], p[order], pi1, pi0)
    assert shuffled.positive_cutoff == pruning.positive_cutoff
    assert shuffled.negative_cutoff == pruning.negative_cutoff
    tied = np.where(s, p == pruning.positive_cutoff, p == pruning.negative_cutoff)
    assert (shuffled.mask == pruning.mask[order])[~tied[order]].all()
    assert shuffled.mask.sum() == pruning.mask.sum()


@given(rows, st.floats(0, 0.9), st.floats(0, 0.9))
def test_a_monotone_transformation_leaves_the_mask_alone(pairs, pi1, pi0):
    s, p = columns(pairs)
    transformed = np.argsort(np.argsort(np.unique(p)))[np.searchsorted(np.unique(p), p)]
    transformed = (transformed / len(p)) ** 3
    assert (prune(s, transformed, pi1, pi0).mask == prune(s, p, pi1, pi0).mask).all()


def test_nothing_is_pruned_at_zero_rates_or_on_unreliable_ones():
    s, p = np.array([True, False] * 5), np.linspace(0, 1, 10)
    for rates in (rates_of(0, 0), replace(rates_of(0.5, 0.5), reliable=False)):
        for weight in (None, np.ones(10)):
            pruning = prune_labels(s, p, rates, sample_weight=weight)
            assert not pruning.mask.any()
            assert (pruning.positive_cutoff, pruning.negative_cutoff) == (None, None)
            assert (pruning.n_positive_pruned, pruning.n_negative_pruned) == (0, 0)


def test_one_side_alone_is_pruned():
    s, p = np.array([True, True, False, False]), np.array([0.1, 0.9, 0.8, 0.2])
    pruning = prune_labels(s, p, rates_of(0.5, 0.0))
    assert pruning.mask.tolist() == [True, False, False, False]
    assert (pruning.positive_cutoff, pruning.negative_cutoff) == (0.1, None)
    pruning = prune_labels(s, p, rates_of(0.0, 0.5))
    assert pruning.mask.tolist() == [False, False, True, False]
    assert (pruning.positive_cutoff, pruning.negative_cutoff) == (None, 0.8)


@pytest.mark.parametrize("weight", [None, [1.0, 2.0, 1.0, 2.0]])
def test_a_class_is_never_emptied(weight):
    s, p = np.array([True, True, False, False]), np.array([0.1, 0.9, 0.8, 0.2])
    with pytest.warns(ClassAlmostEmptiedWarning) as warned:
        pruning = prune_labels(s, p, rates_of(1.0, 1.0), sample_weight=weight)
    assert ["positive label" in str(w.message) for w in warned] == [True, False]
    assert "every row with a negative label" in str(warned[1].message)
    assert pruning.mask.tolist() == [True, False, True, False]
    if weight:
        # A weight of 2 is two rows, of which one stays.
        assert pruning.sample_weight.tolist() == [0, 1, 0, 1]


def test_a_class_is_never_emptied_of_fractional_mass():
    s, p = np.array([True, True, False, False]), np.array([0.1, 0.9, 0.8, 0.2])
    with pytest.warns(ClassAlmostEmptiedWarning) as warned:
        pruning = prune_labels(s, p, rates_of(1.0, 1.0), sample_weight=[0.5, 2.5, 0.5, 2.5])
    assert [str(one.message).partition(" label;")[0] for one in warned] == [
        "The rates would prune every row with a positive",
        "The rates would prune every row with a negative",
    ]
    assert pruning.mask.tolist() == [True, False, True, False]
    assert pruning.sample_weight.tolist() == [0, 2.5, 0, 2.5]


def test_mass_is_pruned_and_the_boundary_row_keeps_the_rest():
    """Positive mass 2, a share of 3/8 is .75: the row at .1 (weight .5) goes, half of the next one.

    Negative mass 3, a sixth is .5: half of the row at .9 (weight 1).
    """
    s = np.array([True, True, True, False, False])
    p = np.array([0.1, 0.3, 0.8, 0.9, 0.2])
    w = np.array([0.5, 0.5, 1.0, 1.0, 2.0])
    pruning = prune_labels(s, p, rates_of(0.375, 1 / 6), sample_weight=w)
    assert pruning.mask.tolist() == [True, False, False, False, False]
    assert pruning.sample_weight == pytest.approx([0, 0.25, 1, 0.5, 2])
    assert (pruning.n_positive_pruned, pruning.n_negative_pruned) == pytest.approx((0.75, 0.5))
    assert (pruning.positive_cutoff, pruning.negative_cutoff) == (0.3, 0.9)


@given(rows, st.data(), st.floats(0, 1), st.floats(0, 1))
def test_a_weight_of_two_equals_the_row_twice(pairs, data, pi1, pi0):
    s, p = columns(pairs)
    w = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(s), max_size=len(s))))
    owner = np.repeat(np.arange(len(s)), w)
    if len(set(s[owner].tolist())) < 2:
        return
    weighted = prune(s, p, pi1, pi0, sample_weight=w)
    repeated = prune(s[owner], p[owner], pi1, pi0)
    kept = np.bincount(owner, weights=~repeated.mask, minlength=len(s))
    assert weighted.sample_weight.tolist() == kept.tolist()
    assert weighted.mask.tolist() == ((kept == 0) & (w > 0)).tolist()
    assert weighted.positive_cutoff == repeated.positive_cutoff
    assert weighted.negative_cutoff == repeated.negative_cutoff
    assert weighted.n_positive_pruned == repeated.n_positive_pruned
    assert weighted.n_negative_pruned == repeated.n_negative_pruned


@pytest.mark.parametrize("dtype", [float, np.float32, int, bool])
def test_weights_of_one_prune_the_same_rows_as_no_weights(dtype):
    """Of 7 positive labels .4 is 2.8 and of 5 negative ones .3 is 1.5: 3 and 2 rows."""
    s = np.array([1] * 7 + [0] * 5)
    p = np.random.default_rng(0).random(12)
    plain = prune_labels(s, p, rates_of(0.4, 0.3))
    weighted = prune_labels(s, p, rates_of(0.4, 0.3), sample_weight=np.ones(12, dtype))
    assert plain.mask.sum() == 5
    assert weighted.mask.tolist() == plain.mask.tolist()
    assert (weighted.positive_cutoff, weighted.negative_cutoff) == (
        plain.positive_cutoff,
        plain.negative_cutoff,
    )
    suspects = rank_suspects(s, p, rates_of(0.4, 0.3), sample_weight=np.ones(12, dtype))
    assert suspects.rows.tolist() == rank_suspects(s, p, rates_of(0.4, 0.3)).rows.tolist()


def test_a_remainder_from_rounding_is_ignored():
    s, p = np.array([True] * 10 + [False]), np.arange(11) / 20
    # 0.3 * 10 is 3.0000000000000004 below and 0.7 * 10 is 7 from rounding above.
    for share, count in ((0.3, 3), (0.7, 7), (0.1 + 0.2, 3)):
        for weight in (1e-12, 1.0, 1e12):
            pruning = prune_labels(s, p, rates_of(share, 0), sample_weight=np.full(11, weight))
            assert pruning.mask.sum() == count
            assert pruning.sample_weight == pytest.approx(~pruning.mask * weight)


def test_suspects_are_ordered_by_their_margin_to_the_cutoff():
    s = np.array([1, 1, 1, 1, 0, 0, 0, 0])
    p = np.array([0.5, 0.9, 0.1, 0.4, 0.95, 0.6, 0.1, 0.7])
    suspects = rank_suspects(s, p, rates_of(0.75, 0.75))
    # Cut-offs: .5 among positives (rows 2, 3, 0), .6 among negatives (rows 4, 7, 5).
    assert suspects.rows.tolist() == [2, 4, 3, 7, 0, 5]
    assert suspects.margins == pytest.approx([0.4, 0.35, 0.1, 0.1, 0, 0])
    assert suspects.margins.dtype == np.float64


def test_suspects_are_the_pruned_rows_in_either_labelling():
    rng = np.random.default_rng(0)
    s, p = rng.integers(0, 2, 50), rng.random(50).astype(np.float32)
    weight = rng.integers(0, 3, 50)
    for more in ({}, {"sample_weight": weight}):
        suspects = rank_suspects(s, p, rates_of(0.3, 0.2), **more)
        mask = prune_labels(s, p, rates_of(0.3, 0.2), **more).mask
        assert sorted(suspects.rows) == np.flatnonzero(mask).tolist()
        assert (np.diff(suspects.margins) <= 0).all()
    swapped = rank_suspects(s, 1 - p, rates_of(0.2, 0.3), pos_label=0)
    assert swapped.rows.tolist() == rank_suspects(s, p, rates_of(0.3, 0.2)).rows.tolist()
    none = rank_suspects(s, p, rates_of(0, 0))
    assert none.rows.size == none.margins.size == 0
    only_negative = rank_suspects(s, p, rates_of(0, 0.2))
    assert (s[only_negative.rows] == 0).all()
    assert only_negative.margins[-1] == 0


def test_correction_weights_undo_the_loss_of_each_class():
    rates = NoiseRates.from_noise_rates(0.5, 0.2, observed_prevalence=0.4)
    assert correction_weights(["n", "p", "n"], rates).tolist() == [1.25, 2, 1.25]
    assert correction_weights(["n", "p"], rates, pos_label="n").tolist() == [2, 1.25]
    unreliable = replace(rates, reliable=False)
    assert correction_weights([0, 1], unreliable).tolist() == [1, 1]
    with pytest.raises(ValueError, match="labels must hold two classes"):
        correction_weights([1, 1], rates)


def test_input_may_be_read_only():
    s, p, w = np.array([1, 0, 1, 0]), np.array([0.2, 0.8, 0.9, 0.1]), np.ones(4)
    for array in (s, p, w):
        array.flags.writeable = False
    assert prune_labels(s, p, rates_of(0.5, 0.5)).mask.tolist() == [True, True, False, False]
    assert prune_labels(s, p, rates_of(0.5, 0.5), sample_weight=w).mask.sum() == 2


def test_the_cut_offs_of_a_mask_are_those_of_the_pruning():
    s = np.array([True, True, True, False, False, False])
    p = np.array([0.2, 0.4, 0.9, 0.7, 0.6, 0.1])
    mask = np.array([True, True, False, True, True, False])
    assert cutoffs_of_mask(s, p, mask) == (0.4, 0.6)
    assert cutoffs_of_mask(s, p, mask & s) == (0.4, None)
    assert cutoffs_of_mask(s, p, mask & ~s) == (None, 0.6)
    assert {type(value) for value in cutoffs_of_mask(s, p.astype(np.float32), mask)} == {float}
    rates = rates_of(2 / 3, 2 / 3)
    pruning = prune_labels(s, p, rates)
    found = cutoffs_of_mask(s, p, pruning.mask)
    assert found == (pruning.positive_cutoff, pruning.negative_cutoff)


def test_rows_of_a_mask_are_ordered_by_their_margin_and_equal_margins_by_row():
    s = np.array([True, True, False, False])
    p = np.array([0.25, 0.25, 0.75, 0.5], dtype=np.float32)
    suspects = order_pruned(s, p, np.ones(4, dtype=bool), (0.5, 0.5))
    assert suspects.rows.tolist() == [0, 1, 2, 3]
    assert suspects.margins.tolist() == [0.25, 0.25, 0.25, 0.0]
    assert suspects.margins.dtype == np.float64
    # Without a cut-off the scores themselves are the margins.
    assert order_pruned(s, p, ~s, (None, None)).margins.tolist() == [0.75, 0.5]
