"""The mergeable state: the rates, cut-offs and masks of arrays, however rows are split."""

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankprune import NoiseRates, estimate_noise_rates, prune_labels
from rankprune.core import ConfidentState, Marker
from rankprune.core._auc import auc
from rankprune.core.counting import _state
from rankprune.core.counting._bins import N_BINS
from rankprune.core.counting._kernel import _compiled, kernel_for
from rankprune.core.estimators._registry import EXACT, NOISE_ESTIMATORS
from rankprune.exceptions import (
    ClassAlmostEmptiedWarning,
    UninformativeProbabilitiesWarning,
)

SCORES = {
    "spread": st.floats(0, 1),
    "ties": st.sampled_from([0.0, 0.1, 0.5, 0.5, 0.9, 1.0]),
    "constant": st.just(0.3),
    "one bin": st.floats(0.5, 0.5 + 1e-12),
    "subnormal": st.floats(0, 1e-300),
    "extreme": st.sampled_from([0.0, -0.0, 5e-324, 2.0**-80, 2.0**-150, 1 - 2.0**-53, 1.0]),
}


@st.composite
def rows(draw):
    """Labels of both values and scores of one kind, with positions to split them."""
    n_rows = draw(st.integers(4, 40))
    labels = draw(st.lists(st.booleans(), min_size=n_rows, max_size=n_rows))
    labels[:2] = [True, False]
    kind = draw(st.sampled_from(sorted(SCORES)))
    scores = draw(st.lists(SCORES[kind], min_size=n_rows, max_size=n_rows))
    # Sometimes informative scores, so that not all of them are random.
    if draw(st.booleans()):
        ranked = sorted(scores)
        places = np.argsort(np.argsort(labels, kind="stable"), kind="stable")
        scores = [ranked[place] for place in places]
    dtype = draw(st.sampled_from([np.float64, np.float32]))
    cuts = sorted(draw(st.lists(st.integers(0, n_rows), max_size=4)))
    return np.array(labels), np.clip(np.array(scores, dtype=dtype), 0, 1), cuts


def gone_over(batches, merged=False, **asked):
    """Feed batches until the state is done: one after the other, or to one state each."""
    state = ConfidentState(**asked)
    while not state.is_done:
        if merged:
            parts = [pickle.loads(pickle.dumps(state.empty())).update(*batch) for batch in batches]
            for part in reversed(parts):
                state = state.merge(part)
        else:
            for batch in batches:
                state.update(*batch)
        state = state.after_pass()
    return state


def cut(labels, scores, cuts):
    return list(zip(np.split(labels, cuts), np.split(scores, cuts), strict=True))


def marked(state, batches):
    marker = Marker(state.cutoffs())
    return np.concatenate([marker.mark_batch(*batch) for batch in batches])


class TestSameAsArrays:
    @pytest.mark.parametrize("method", [EXACT, None])
    @given(drawn=rows(), merged=st.booleans())
    def test_in_any_batches_and_merged_in_any_order(self, method, drawn, merged):
        labels, scores, cuts = drawn
        batches = cut(labels, scores, cuts)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = estimate_noise_rates(labels, scores, method=method)
            pruning = prune_labels(labels, scores, expected)
            state = gone_over(batches, merged, method=method)
        assert state.rates() == expected
        assert state.cutoffs().values == (pruning.positive_cutoff, pruning.negative_cutoff)
        np.testing.assert_array_equal(marked(state, batches), pruning.mask)

    @given(rows(), st.floats(0, 1), st.floats(0, 1))
    def test_with_known_rates(self, drawn, positive, negative):
        labels, scores, cuts = drawn
        observed = labels.mean()
        rates = NoiseRates.from_noise_rates(
            0.99 * positive * (1 - observed), 0.99 * negative * observed, observed
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ClassAlmostEmptiedWarning)
            pruning = prune_labels(labels, scores, rates)
            state = gone_over(cut(labels, scores, cuts), noise_rates=rates)
        assert state.rates() is rates
        np.testing.assert_array_equal(marked(state, [(labels, scores)]), pruning.mask)

    @pytest.mark.parametrize("limit", [4, 64, 1 << 20])
    @pytest.mark.parametrize("crowd", [1.0, 1e-9, 1e-14])
    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    @pytest.mark.parametrize("method", [EXACT, None])
    def test_where_bins_are_crowded(self, monkeypatch, limit, crowd, dtype, method):
        monkeypatch.setattr(_state, "_MAX_COPIED", limit)
        labels, scores = noisy_rows(3000)
        scores = (0.5 + (scores - 0.5) * crowd).astype(dtype)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UninformativeProbabilitiesWarning)
            expected = estimate_noise_rates(labels, scores, method=method)
            state = gone_over(cut(labels, scores, [10, 500, 1700]), merged=True, method=method)
        assert state.rates() == expected
        np.testing.assert_array_equal(
            marked(state, [(labels, scores)]), prune_labels(labels, scores, expected).mask
        )

    @pytest.mark.parametrize("method", [EXACT, None])
    def test_larger_than_a_block(self, method):
        labels, scores = noisy_rows(200_000)
        state = gone_over([(labels, scores)], method=method)
        assert state.rates() == estimate_noise_rates(labels, scores, method=method)
        assert state.n_rows == 200_000
        assert state.n_pass == 3  # two passes, and the state after them

    @pytest.mark.parametrize("method", sorted(set(NOISE_ESTIMATORS) - {EXACT}))
    def test_every_estimator_sees_the_same_sketch(self, method):
        labels, scores = noisy_rows(2000)
        found = gone_over(cut(labels, scores, [700]), method=method).rates()
        assert found == estimate_noise_rates(labels, scores, method=method)

    def test_a_callable_sees_bins_as_rows_with_weights(self):
        labels, scores = noisy_rows(2000)
        seen = []

        def count(labels, probabilities, *, sample_weight=None):
            seen.append(sample_weight.sum())
            return NoiseRates.from_noise_rates(0.1, 0.1, np.average(labels, weights=sample_weight))

        assert gone_over([(labels, scores)], method=count).rates().positive_noise_rate == 0.1
        assert seen == [2000]


def noisy_rows(n_rows):
    rng = np.random.default_rng(0)
    truth = rng.random(n_rows) < 0.3
    labels = np.where(truth, rng.random(n_rows) >= 0.3, rng.random(n_rows) < 0.1)
    return labels, np.where(truth, rng.beta(5, 2, n_rows), rng.beta(2, 5, n_rows))


class TestPasses:
    def test_rates_alone_take_no_search(self):
        state = gone_over([noisy_rows(1000)], prunes=False)
        assert state.cutoffs().values == (None, None)
        assert state.rates().positive_noise_rate > 0.1

    def test_uninformative_scores_prune_nothing(self):
        labels = np.array([0, 1, 0, 1, 1, 0])
        for method, scores, reason in (
            (EXACT, [0.1, 0.2, 0.5, 0.4, 0.6, 0.3], "AUC"),
            (EXACT, [0.6, 0.2, 0.5, 0.4, 0.1, 0.3], "no higher on average"),
            (None, [0.6, 0.2, 0.5, 0.4, 0.1, 0.3], "AUC"),
        ):
            with pytest.warns(UninformativeProbabilitiesWarning, match=reason):
                state = gone_over([(labels, scores)], method=method)
            assert not state.rates().reliable
            assert state.cutoffs().values == (None, None)

    @pytest.mark.parametrize("limit", [10, 1 << 20])
    def test_bins_too_coarse_for_the_auc_are_refined(self, monkeypatch, limit):
        monkeypatch.setattr(_state, "_MAX_COPIED", limit)
        labels, scores = noisy_rows(2000)
        scores = 0.5 + scores * 1e-6  # all in one bin
        batches = cut(labels, scores, [400])
        assert gone_over(batches, merged=True, method=EXACT).rates().reliable
        with pytest.warns(UninformativeProbabilitiesWarning):
            turned = gone_over([(labels, 1 - scores)], method=EXACT)
        assert not turned.rates().reliable

    @pytest.mark.parametrize("outliers", [False, True])
    def test_a_crowded_bin_is_refined_until_the_auc_is_clear(self, monkeypatch, outliers):
        monkeypatch.setattr(_state, "_MAX_COPIED", 100)
        labels, scores = noisy_rows(2000)
        scores = 0.5 + scores * 1e-13
        if outliers:
            scores[:4], labels[:4] = [0.01, 0.99, 0.01, 0.99], [False, False, True, True]
        state = gone_over(cut(labels, scores, [400]), merged=True, method=EXACT)
        expected = estimate_noise_rates(labels, scores, method="confident-counts")
        assert state.rates() == expected
        assert expected.reliable

    def test_equal_scores_are_not_refined_forever(self, monkeypatch):
        monkeypatch.setattr(_state, "_MAX_COPIED", 10)
        labels = np.tile([True, False], 500)
        scores = np.where(np.arange(1000) < 990, 0.5, 0.5 + 1e-15)
        with pytest.warns(UninformativeProbabilitiesWarning):
            state = gone_over([(labels, scores)], method=EXACT)
        assert not state.rates().reliable

    def test_scores_that_share_a_bin_tie(self):
        labels, scores = noisy_rows(2000)
        with pytest.warns(UninformativeProbabilitiesWarning, match="equal to within 1%"):
            state = gone_over([(labels, 0.5 + scores * 1e-6)])
        assert not state.rates().reliable

    def test_the_refined_auc_is_exact(self):
        labels, scores = noisy_rows(500)
        scores = 0.5 + scores * 1e-6
        state = ConfidentState(EXACT).update(labels, scores).after_pass().update(labels, scores)
        least, most = state._doubt.bounds()
        assert (least + most) / 2 == pytest.approx(auc(labels, scores), abs=1e-12)

    def test_a_rank_outside_the_search_costs_a_pass_but_no_error(self, monkeypatch):
        labels, scores = noisy_rows(3000)
        expected = gone_over([(labels, scores)], method=EXACT)
        monkeypatch.setattr(
            ConfidentState, "_possible_ranks", lambda _: iter([(True, (1, 1)), (False, (1, 1))])
        )
        state = gone_over([(labels, scores)], method=EXACT)
        assert state.n_pass == expected.n_pass + 1
        assert state.cutoffs() == expected.cutoffs()

    def test_empty_batches_and_integers_count(self):
        labels, scores = noisy_rows(1000)
        expected = gone_over([(labels, scores)]).rates()
        empty = ([], [])
        for values in (labels.astype(np.int8), labels.astype(float), labels.tolist()):
            assert gone_over([empty, (values, scores), empty]).rates() == expected


class TestErrors:
    @pytest.mark.parametrize(
        ("labels", "scores", "message"),
        [
            ([0, 2], [0.1, 0.2], r"must be 0 or 1 in every batch; row 1 of a batch holds 2"),
            (np.array([0, -1], np.int8), [0.1, 0.2], r"row 1 of a batch holds"),
            ([0, 1], [0.1], "probabilities must have one value per label, got 1 for 2"),
            ([[0, 1]], [0.1], "labels must be one-dimensional in every batch"),
            ([0, 1], [[0.1, 0.2]], "probabilities must be one-dimensional in every batch"),
            ([0, 1], [0.1, 1.5], r"probabilities must lie in \[0, 1\]; row 1 holds 1.5"),
            ([0, 1], [np.nan, 0.5], r"row 0 holds nan"),
            ([0, 1], ["a", "b"], "probabilities must be real numbers"),
        ],
    )
    def test_a_bad_batch_is_refused(self, labels, scores, message):
        with pytest.raises(ValueError, match=message):
            ConfidentState(EXACT).update(labels, scores)

    def test_a_bad_value_is_found_by_compiled_loops_too(self):
        scores = np.full(100_000, 0.5)
        for bad in (np.nan, -0.1, 1.1, np.inf, -np.inf):
            scores[70_000] = bad
            for method in (EXACT, None):
                with pytest.raises(ValueError, match="row 70000 holds"):
                    ConfidentState(method).update(np.arange(100_000) % 2, scores)

    def test_both_labels_and_some_rows_are_needed(self):
        with pytest.raises(ValueError, match="at least one row"):
            ConfidentState(EXACT).after_pass()
        with pytest.raises(ValueError, match="none of 2 rows is negative"):
            ConfidentState(EXACT).update([1, 1], [0.5, 0.6]).after_pass()

    def test_results_are_refused_before_they_are_known(self):
        state = ConfidentState(EXACT).update([0, 1], [0.1, 0.9])
        with pytest.raises(ValueError, match="Feed all rows again"):
            state.rates()
        with pytest.raises(ValueError, match="until is_done"):
            state.cutoffs()

    def test_every_pass_sees_the_same_rows(self):
        labels, scores = noisy_rows(100)
        state = ConfidentState(EXACT).update(labels, scores).after_pass()
        with pytest.raises(ValueError, match="got 100 rows in the first and 0 later"):
            state.after_pass()
        state.update(labels, scores).update(labels, scores)
        with pytest.raises(ValueError, match="got 100 rows in the first and 200 later"):
            state.after_pass()

    def test_a_state_that_is_done_takes_no_rows(self):
        labels, scores = noisy_rows(500)
        with pytest.raises(ValueError, match="done and accepts no more rows"):
            gone_over([(labels, scores)]).update(labels, scores)

    def test_a_batch_that_is_refused_leaves_nothing_behind(self):
        labels, scores = noisy_rows(100_000)
        bad = scores.copy()
        bad[-1] = np.nan
        state = ConfidentState(EXACT)
        with pytest.raises(ValueError, match="row 99999 holds nan"):
            state.update(labels, bad)
        assert state.n_rows == 0
        state = state.update(labels, scores).after_pass().update(labels, scores).after_pass()
        assert state.rates() == estimate_noise_rates(labels, scores, method="confident-counts")

    def test_missing_labels_are_called_missing(self):
        for missing in ([0, 1, np.nan], [0, 1, None], np.ma.array([0, 1, 1], mask=[0, 0, 1])):
            with pytest.raises(ValueError, match="labels must not be missing; row 2"):
                ConfidentState(EXACT).update(missing, [0.1, 0.2, 0.3])

    def test_a_state_to_send_back_is_small_and_merges(self):
        labels, scores = noisy_rows(5000)
        state = ConfidentState(EXACT).update(labels, 0.5 + scores * 1e-6).after_pass()
        sent = pickle.dumps(state.empty().update(labels, 0.5 + scores * 1e-6).forget())
        merged = state.merge(pickle.loads(sent)).after_pass()
        assert merged.rates().reliable
        plain = ConfidentState(EXACT).update(labels, scores).after_pass()
        sent = pickle.dumps(plain.empty().update(labels, scores).forget())
        assert len(sent) < 200_000
        rates = plain.merge(pickle.loads(sent)).after_pass().rates()
        assert rates == estimate_noise_rates(labels, scores, method="confident-counts")
        first = ConfidentState(EXACT).update(labels, scores)
        assert first.forget().merge(ConfidentState(EXACT)).after_pass().n_rows == 5000

    def test_what_the_first_pass_counted_is_not_sent_again(self):
        labels, scores = noisy_rows(5000)
        first = ConfidentState(EXACT).update(labels, scores)
        before = first._histogram.counts.copy()
        assert (first.forget()._histogram.counts == before).all()
        second = first.after_pass().empty().update(labels, scores)
        assert second._histogram.counts.shape[1] > 100
        assert second.forget()._histogram.counts.shape == (2, 2)

    def test_states_of_two_passes_do_not_merge(self):
        labels, scores = noisy_rows(100)
        state = ConfidentState(EXACT).update(labels, scores)
        with pytest.raises(ValueError, match=r"same pass and method to merge, got 1 .* and 2"):
            state.merge(state.after_pass())


class TestKernels:
    """Compiled loops do what those in NumPy do, to the bit."""

    @given(rows())
    def test_every_loop(self, drawn):
        pytest.importorskip("numba")
        from rankprune.core.counting import _compiled as compiled
        from rankprune.core.counting import _loops as loops

        labels, scores, _ = drawn
        values, raw = loops.prepared(scores), compiled.prepared(scores)
        assert compiled.extremes(raw) == loops.extremes(values)
        assert compiled.class_sums(labels, raw) == loops.class_sums(labels, values)
        tiny = np.ldexp(values, -80)  # bits beyond 2**-72, but not beyond 2**-144
        assert compiled.class_sums(labels, tiny) == loops.class_sums(labels, tiny)
        counts = np.zeros((2, 2, N_BINS), np.int64)
        found = loops.add_to_sketch(counts[0], labels, values)
        assert compiled.add_to_sketch(counts[1], labels, raw) == found
        np.testing.assert_array_equal(counts[0], counts[1])
        counts = np.zeros((2, 2, 4097), np.int64)
        grid = (4607182418800017408 - (16 << 52), 44, (4607182418800017408 - (16 << 52)) >> 44)
        loops.add_to_histogram(counts[0], grid, labels, values)
        compiled.add_to_histogram(counts[1], grid, labels, raw)
        np.testing.assert_array_equal(counts[0], counts[1])
        low, high = sorted((float(values[0]), float(values[1])))
        for threshold in ((low, high), (high, low)):
            found = compiled.count_beyond(labels, raw, threshold)
            assert found == loops.count_beyond(labels, values, threshold)
            masks = np.ones((2, len(labels)), dtype=bool)
            loops.mark_beyond(masks[0], labels, values, threshold)
            compiled.mark_beyond(masks[1], labels, raw, threshold)
            np.testing.assert_array_equal(masks[0], masks[1])
        for label in (True, False):
            np.testing.assert_array_equal(
                compiled.values_between(labels, raw, label, low, high),
                loops.values_between(labels, values, label, low, high),
            )

    def test_they_are_used_once_they_are_worth_it(self, monkeypatch):
        pytest.importorskip("numba")
        from rankprune.core.counting import _compiled as compiled
        from rankprune.core.counting import _kernel
        from rankprune.core.counting import _loops as loops

        assert kernel_for(10) is loops
        assert kernel_for(1 << 20) is compiled  # numba is loaded by now
        monkeypatch.setattr(_kernel, "sys", type("NoNumba", (), {"modules": {}}))
        monkeypatch.setattr(_kernel._Seen, "n_values", 0)
        assert kernel_for(1 << 20) is loops
        monkeypatch.setattr(_kernel._Seen, "n_values", 10**8)
        assert kernel_for(1 << 20) is compiled

    def test_other_byte_orders_and_strides_are_read_alike(self):
        labels, scores = noisy_rows(40_000)
        strided = np.repeat(scores, 2)[::2]
        for method in (EXACT, None):
            expected = gone_over([(labels, scores)], method=method).rates()
            for values in (scores.astype(">f8"), strided, scores.astype(object)):
                assert gone_over([(labels, values)], method=method).rates() == expected
                assert estimate_noise_rates(labels, values, method=method) == expected

    def test_without_a_cache_it_is_compiled_again(self, monkeypatch):
        pytest.importorskip("numba")
        from rankprune.core.counting import _numba as compiling

        def njit(**options):
            if options.get("cache"):
                raise RuntimeError("no locator available")
            return lambda function: function

        monkeypatch.setattr(compiling.numba, "njit", njit)
        assert compiling.jit(len) is len

    def test_without_numba_numpy_does_it(self, monkeypatch):
        import sys

        from rankprune.core.counting import _kernel
        from rankprune.core.counting import _loops as loops

        _compiled.cache_clear()
        monkeypatch.setitem(sys.modules, "rankprune.core.counting._compiled", None)
        assert _kernel.kernel_for(10**9) is loops
        _compiled.cache_clear()
