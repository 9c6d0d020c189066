"""Compiled loops do what those in NumPy do, to the bit, in blocks of any size."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rankprune import estimate_noise_rates, prune_labels, rank_suspects
from rankprune.core.classes import _class_loops as loops
from rankprune.core.classes._class_counts import ClassThresholds
from rankprune.core.classes._class_kernel import class_kernel_for
from rankprune.core.counting import _kernel
from rankprune.exceptions import UninformativeProbabilitiesWarning

BAD = {
    "negative": lambda row: np.concatenate([[-0.2, row[1] + row[0] + 0.2], row[2:]]),
    "not a number": lambda row: np.full_like(row, np.nan),
    "infinite": lambda row: np.full_like(row, np.inf),
    "infinite, of both signs": lambda row: np.concatenate([[np.inf, -np.inf], row[2:]]),
    "too large": lambda row: row + 0.5,
    "too small": lambda row: row / 2,
    "huge": lambda row: np.full_like(row, 1e300),
    "sums of bits that wrap": lambda row: np.full_like(row, 2.0**1000),
}


def rows(seed, n_rows, n_classes, *, tied=True, dtype=np.float64):
    """Return labels and scores, many of them equal or zero, and of either zero."""
    random = np.random.default_rng(seed)
    codes = random.integers(0, n_classes, n_rows).astype(np.int16)
    parts = (
        random.integers(0, 4, (n_rows, n_classes)) if tied else random.random((n_rows, n_classes))
    )
    parts[np.arange(n_rows), random.integers(0, n_classes, n_rows)] += 1
    scores = (parts / parts.sum(axis=1, keepdims=True)).astype(dtype)
    scores[(scores == 0) & (random.random(scores.shape) < 0.5)] = -0.0
    return codes, scores


def summed(kernel, codes, scores, best_two=None):
    k = scores.shape[1]
    sums = loops.Sums(*np.zeros((4, k), np.int64), np.ones(k), np.zeros(k))
    assert kernel.add_sums(sums, best_two, codes, scores)
    return sums


def counted(kernel, rule, codes, scores, best_two=None):
    k = scores.shape[1]
    sizes = (k * k, k * k, 2 * loops.N_SURE, loops.N_APART, 2 * k)
    tables = loops.Tables(*(np.zeros(size, np.int64) for size in sizes))
    kernel.add_counts(tables, rule, best_two, codes, scores)
    return tables


def assert_same(one, other):
    for mine, theirs in zip(one, other, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.fixture
def compiled():
    pytest.importorskip("numba")
    from rankprune.core.classes import _compiled_class_loops

    return _compiled_class_loops


class TestKernels:
    @settings(deadline=None)
    @given(
        st.integers(0, 10**6),
        st.integers(1, 40),
        st.sampled_from([2, 3, 5, 10, loops._LONG_ROWS + 3]),
        st.booleans(),
        st.sampled_from([np.float32, np.float64]),
        st.booleans(),
    )
    @example(0, 5, 3, True, np.float64, True)
    def test_every_loop_over_scores(self, seed, n_rows, k, tied, dtype, sort):
        pytest.importorskip("numba")
        from rankprune.core.classes import _compiled_class_loops as compiled

        codes, scores = rows(seed, n_rows, k, tied=tied, dtype=dtype)
        codes[::3] = scores.argmax(axis=1)[::3]
        best_two, ratios = np.empty((2, n_rows, 2)), np.empty((2, n_rows))
        sums = summed(loops, codes, scores)
        for kernel, best, found in zip((loops, compiled), best_two, ratios, strict=True):
            assert_same(sums, summed(kernel, codes, scores))
            assert_same(sums, summed(kernel, codes, scores, best))
            assert kernel.take_ratios(found, codes, scores)
        assert_same(best_two[:1], best_two[1:])
        assert_same(ratios[:1], ratios[1:])
        random = np.random.default_rng(seed)
        own = np.where(random.random(k) < 0.2, [np.inf], random.choice([0.0, 0.25, 0.5, 1e-310], k))
        place = np.arange(k) if sort else random.permutation(k)
        rule = ClassThresholds(own, own * random.choice([0.5, 1.0], k)).rule(place)
        tables = counted(loops, rule, codes, scores)
        for kernel in (loops, compiled):
            assert_same(tables, counted(kernel, rule, codes, scores))
            assert_same(tables, counted(kernel, rule, codes, scores, best_two[0]))
        assert (ratios[0] > 2.0**-20).all()
        assert (ratios[0] < 2.0**20).all()

    @settings(deadline=None)
    @given(st.integers(0, 10**6), st.integers(1, 60), st.integers(2, 6), st.integers(0, 52))
    def test_every_loop_over_ratios(self, seed, n_rows, k, shift):
        pytest.importorskip("numba")
        from rankprune.core.classes import _compiled_class_loops as compiled

        random = np.random.default_rng(seed)
        codes = random.integers(0, k, n_rows).astype(np.int16)
        ratios = random.choice([1e-6, 0.5, 1.0, 1.5, 1.5000001, 1e6], n_rows)
        lows = random.choice(np.array([0.5, 1.0, 1.5]).view(np.int64), k)
        lows[random.random(k) < 0.2] = np.iinfo(np.int64).max
        grid = loops.Grid(lows, shift, int(random.integers(1, 9)))
        counts, masks = np.zeros((2, k * grid.n_bins), np.int64), np.empty((2, n_rows), bool)
        limits = random.choice([0.0, 1.0, 1.5], k)
        inside = []
        for i, kernel in enumerate((loops, compiled)):
            kernel.count_ratios(counts[i], grid, codes, ratios)
            inside.append(kernel.rows_inside(grid, codes, ratios))
            kernel.mark_below(masks[i], limits, codes, ratios)
        np.testing.assert_array_equal(counts[0], counts[1])
        np.testing.assert_array_equal(inside[0], inside[1])
        np.testing.assert_array_equal(masks[0], masks[1])
        assert counts[0].sum() == len(inside[0])
        assert masks[0].tolist() == (ratios < limits[codes]).tolist()

    @pytest.mark.parametrize("what", BAD)
    @pytest.mark.parametrize("k", [3, 60])
    def test_rows_that_are_no_distributions(self, compiled, what, k):
        codes, scores = rows(0, 40, k, tied=False)
        scores[7] = BAD[what](scores[7])
        for kernel in (loops, compiled):
            sums = loops.Sums(*np.zeros((4, k), np.int64), np.ones(k), np.zeros(k))
            assert not kernel.add_sums(sums, np.empty((40, 2)), codes, scores)
            assert not kernel.take_ratios(np.empty(40), codes, scores)

    def test_sums_within_a_thousandth_of_one(self, compiled):
        codes = np.zeros(1, np.int16)
        for total, is_fine in ((0.999, True), (1.001, True), (0.99899, False), (1.00101, False)):
            scores = np.full((1, 3), total / 3)
            for kernel in (loops, compiled):
                assert kernel.take_ratios(np.empty(1), codes, scores) is is_fine

    def test_rows_that_changed_are_counted_somewhere(self, compiled):
        rule = ClassThresholds(np.full(3, 0.5), np.full(3, 0.5)).rule(np.arange(3))
        for value in (np.nan, np.inf, -7.0, 1e300):
            tables = counted(compiled, rule, np.zeros(1, np.int16), np.full((1, 3), value))
            assert tables.predicted.sum() == tables.sure.sum() == 1


def test_they_are_used_once_they_are_worth_it(compiled, monkeypatch):
    assert class_kernel_for(10) is loops
    assert class_kernel_for(1 << 20) is compiled  # numba is loaded by now
    monkeypatch.setattr(_kernel, "_compiled", lambda module: None)
    assert class_kernel_for(1 << 20) is loops


def noisy(n_rows, k, dtype=np.float64):
    codes, scores = rows(1, n_rows, k, tied=False, dtype=dtype)
    codes[np.arange(n_rows) % 3 > 0] = scores.argmax(axis=1)[np.arange(n_rows) % 3 > 0]
    return codes, scores


@pytest.mark.filterwarnings("ignore::rankprune.exceptions.ClassAlmostEmptiedWarning")
@pytest.mark.parametrize("k", [4, 60])
@pytest.mark.parametrize("block", [1, 17])
def test_blocks_change_nothing(compiled, monkeypatch, k, block):
    labels, scores = noisy(400, k)
    matrix = estimate_noise_rates(labels, scores)
    expected = prune_labels(labels, scores, matrix)
    assert expected.mask.any()
    for kernel in (loops, compiled):
        monkeypatch.setattr(kernel, "BLOCK_CELLS", block * k)
    for worth_it in (1, 1 << 40):
        monkeypatch.setattr(_kernel, "_WORTH_CALLING", worth_it)
        assert estimate_noise_rates(labels, scores) == matrix
        found = prune_labels(labels, scores, matrix)
        np.testing.assert_array_equal(found.mask, expected.mask)
        np.testing.assert_array_equal(found.cutoffs, expected.cutoffs)


def test_other_layouts_give_the_same(compiled, monkeypatch):
    codes, scores = noisy(300, 5, np.float32)
    classes = [2, 0, 1, 4, 3]
    labels = np.array(classes)[codes]
    monkeypatch.setattr(_kernel, "_WORTH_CALLING", 1)
    expected = estimate_noise_rates(labels, scores, classes=classes)
    ranked = rank_suspects(labels, scores, expected)
    wide = np.repeat(scores, 2, axis=1)
    for values in (
        np.asfortranarray(scores),
        wide[:, ::2],
        scores.astype(">f4"),
        scores.astype("O"),
    ):
        assert estimate_noise_rates(labels, values, classes=classes) == expected
        np.testing.assert_array_equal(rank_suspects(labels, values, expected).rows, ranked.rows)


@pytest.mark.parametrize("worth_it", [1, 1 << 40])
def test_a_bad_row_is_named(compiled, monkeypatch, worth_it):
    monkeypatch.setattr(_kernel, "_WORTH_CALLING", worth_it)
    labels, scores = noisy(300, 4)
    matrix = estimate_noise_rates(labels, scores)
    scores[[207, 290]] = np.nan
    message = "sum to 1 in each row .* row 207 holds nan in column 0"
    for call in (estimate_noise_rates, lambda *rows: prune_labels(*rows, matrix)):
        with pytest.raises(ValueError, match=message):
            call(labels, scores)


def test_a_class_whose_scores_are_all_zero_is_finite():
    labels = np.array([0, 1, 2] * 20)
    scores = np.eye(3)[labels] * 0.8 + [0.1, 0.1, 0]
    scores[labels == 2] = [0.5, 0.5, -0.0]
    matrix = estimate_noise_rates(labels, scores)
    assert np.isfinite(matrix.joint).all()
    scores[labels == 2] = [0.5, 0.5, 1e-310]
    assert estimate_noise_rates(labels, scores).joint.sum() == pytest.approx(1)


def test_labels_that_are_all_tied_are_told_apart_from_none():
    with pytest.warns(UninformativeProbabilitiesWarning):
        assert not estimate_noise_rates([0, 1, 2] * 5, np.full((15, 3), 1 / 3)).reliable
