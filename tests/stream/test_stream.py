"""Rows that need not be in memory: batches, files, memory maps and threads change no result."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankprune import NoiseRates, estimate_noise_rates, prune_labels, stream
from rankprune.core.counting import _state
from streamed_rows import assert_same, in_batches, noisy_rows


class TestSources:
    @pytest.mark.parametrize("n_jobs", [1, 2, 3])
    @pytest.mark.parametrize("size", [1, 7, 1000, 10_000])
    def test_any_batches_and_threads(self, rows, expected, size, n_jobs):
        part = slice(0, 300 if size == 1 else None)
        labels, scores = rows[0][part], rows[1][part]
        batches = in_batches(labels, scores, size)
        rates = estimate_noise_rates(labels, scores)
        assert stream.estimate_noise_rates(batches, n_jobs=n_jobs) == rates
        assert_same(
            stream.prune_labels(batches, n_jobs=n_jobs),
            (rates, prune_labels(labels, scores, rates)),
        )

    def test_two_arrays_and_memory_maps(self, rows, expected, tmp_path, monkeypatch):
        monkeypatch.setattr("rankprune.stream._sources._BATCH_ROWS", 999)
        assert_same(stream.prune_labels(rows, n_jobs=2), expected)
        maps = []
        for values, name in zip(rows, ("labels", "scores"), strict=True):
            values.tofile(tmp_path / name)
            maps.append(np.memmap(tmp_path / name, dtype=values.dtype, mode="r"))
        assert_same(stream.prune_labels(tuple(maps)), expected)

    def test_a_function_is_called_for_each_pass(self, rows, expected):
        calls = []

        def batches():
            calls.append(1)
            yield from in_batches(*rows, 1234)

        pruning = stream.prune_labels(batches)
        assert len(calls) == pruning.n_passes == 2
        assert_same(pruning, expected)

    def test_an_iterator_is_copied_for_rates_and_refused_for_masks(self, rows, expected):
        batches = in_batches(*rows, 700)
        assert stream.estimate_noise_rates(iter(batches)) == expected[0]
        with pytest.raises(TypeError, match="takes another pass; got an iterator"):
            stream.prune_labels(iter(batches))
        with pytest.raises(ValueError, match="at least one row"):
            stream.estimate_noise_rates(iter([]))

    def test_missing_texts_are_no_other_label(self):
        import pandas as pd

        for missing in (np.array(["a", None], object), pd.array(["a", None], dtype="string")):
            with pytest.raises(ValueError, match="labels must not be missing; row 1"):
                stream.estimate_noise_rates([(missing, [0.9, 0.1])], pos_label="a")

    def test_other_labels_have_a_positive_one(self, rows, expected):
        names = np.where(rows[0], "spam", "ham")
        batches = in_batches(names, rows[1], 800)
        assert_same(stream.prune_labels(batches, pos_label="spam"), expected)
        assert stream.estimate_noise_rates(iter(batches), pos_label="spam") == expected[0]
        names[4321] = "eggs"
        with pytest.raises(ValueError, match="two values, got 'spam', 'ham' and 'eggs'"):
            stream.estimate_noise_rates(in_batches(names, rows[1], 800), pos_label="spam")


class TestMasks:
    @given(st.integers(1, 9), st.integers(0, 6), st.integers(1, 3))
    def test_ties_go_in_the_order_of_rows(self, size, seed, n_jobs):
        labels, scores = noisy_rows(60, seed)
        scores = np.round(scores * 4) / 4
        rates = NoiseRates.from_label_error_rates(0.3, 0.2, observed_prevalence=labels.mean())
        pruning = stream.prune_labels(in_batches(labels, scores, size), rates, n_jobs=n_jobs)
        whole = prune_labels(labels, scores, rates)
        np.testing.assert_array_equal(pruning.mask(), whole.mask)
        np.testing.assert_array_equal(np.concatenate(list(pruning.masks())), whole.mask)

    def test_written_as_it_goes_or_into_a_place_of_ones_own(self, rows, expected, tmp_path):
        pruning = stream.prune_labels(in_batches(*rows, 800))
        place = pruning.write_mask(tmp_path / "mask.npy")
        np.testing.assert_array_equal(np.load(place), expected[1].mask)
        out = np.zeros(5000, dtype=bool)
        assert pruning.mask(out) is out
        np.testing.assert_array_equal(out, expected[1].mask)
        for wrong in (np.zeros(3, dtype=bool), np.zeros(5000), [False] * 5000):
            with pytest.raises(
                ValueError, match=r"out must be a writable boolean array .* for 5000 rows"
            ):
                pruning.mask(wrong)

    @pytest.mark.parametrize("n_jobs", [1, 2])
    @pytest.mark.parametrize("later", [4000, 5000])
    def test_other_rows_than_before_are_refused(self, rows, tmp_path, later, n_jobs):
        left = [4500, 4500]

        def batches():
            n_rows = left.pop(0) if left else later
            yield from in_batches(rows[0][:n_rows], rows[1][:n_rows], 1000)

        pruning = stream.prune_labels(batches, n_jobs=n_jobs)
        for ask in (pruning.mask, lambda: pruning.write_mask(tmp_path / "mask.npy")):
            with pytest.raises(ValueError, match=f"got 4500 rows before and {later} now"):
                ask()
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize("n_jobs", [2, 4])
    def test_whoever_makes_batches_may_reuse_memory(self, n_jobs):
        labels, scores = noisy_rows(40_000)

        def batches():
            given, values = np.empty(1000, dtype=bool), np.empty(1000)
            for start in range(0, 40_000, 1000):
                given[:] = labels[start : start + 1000]
                values[:] = scores[start : start + 1000]
                yield given, values

        pruning = stream.prune_labels(batches, n_jobs=n_jobs)
        rates = estimate_noise_rates(labels, scores)
        assert_same(pruning, (rates, prune_labels(labels, scores, rates)))

    def test_more_passes_where_bins_are_full(self, rows, expected, monkeypatch):
        monkeypatch.setattr(_state, "_MAX_COPIED", 3)
        pruning = stream.prune_labels(in_batches(*rows, 800), n_jobs=2)
        assert pruning.n_passes > 2
        assert_same(pruning, expected)

    @pytest.mark.parametrize("method", ["tight", "curve"])
    def test_other_estimators_drive_exact_cut_offs(self, rows, method):
        batches = in_batches(*rows, 800)
        pruning = stream.prune_labels(batches, method=method)
        assert pruning.noise_rates == stream.estimate_noise_rates(batches, method=method)
        whole = prune_labels(*rows, pruning.noise_rates)
        np.testing.assert_array_equal(pruning.mask(), whole.mask)


class TestErrors:
    def test_rows_that_change_between_passes(self, rows):
        left = [5000, 4000, 4000]

        def batches():
            n_rows = left.pop(0)
            yield rows[0][:n_rows], rows[1][:n_rows]

        with pytest.raises(ValueError, match="got 5000 rows in the first and 4000 later"):
            stream.prune_labels(batches)

    @pytest.mark.parametrize(
        "wrong", [[[1, 0, 1]], [None], [(1, 2, 3)], ([0, 1, 0], [0.1, 0.9, 0.2])]
    )
    def test_what_is_no_pair(self, wrong):
        with pytest.raises(TypeError, match=r"batches must give pairs \(labels, probabilities\)"):
            stream.estimate_noise_rates(wrong)

    def test_an_iterator_is_checked_batch_by_batch(self, rows):
        labels, scores = rows
        shifted = iter([(labels[:100], scores[:101]), (labels[100:], scores[101:])])
        with pytest.raises(ValueError, match="got 101 for 100 labels"):
            stream.estimate_noise_rates(shifted)
        unread = iter([rows])
        with pytest.raises(ValueError, match="n_jobs"):
            stream.estimate_noise_rates(unread, n_jobs=0)
        assert next(unread) is rows

    def test_the_others_stop_where_one_fails(self):
        drawn = []

        def batches():
            for number in range(500):
                drawn.append(number)
                yield [0, 1], [0.1, 2.0]

        with pytest.raises(ValueError, match="row 1 holds 2"):
            stream.estimate_noise_rates(batches, n_jobs=2)
        assert len(drawn) < 400

    @pytest.mark.parametrize("wrong", [7, "scores.parquet", None])
    def test_what_is_no_batches(self, wrong):
        with pytest.raises(TypeError, match=r"batches must be an iterable .*read_scores"):
            stream.estimate_noise_rates(wrong)

    def test_arrays_of_other_lengths(self, rows):
        with pytest.raises(ValueError, match="got 10 for 5000 labels"):
            stream.estimate_noise_rates((rows[0], rows[1][:10]))

    @pytest.mark.parametrize("n_jobs", [0, -1, 1.5, True, None])
    def test_jobs(self, rows, n_jobs):
        with pytest.raises(ValueError, match="n_jobs must be a whole number"):
            stream.estimate_noise_rates(rows, n_jobs=n_jobs)

    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_a_bad_row_is_named_in_any_thread(self, rows, n_jobs):
        scores = rows[1].copy()
        scores[4999] = 2
        with pytest.raises(ValueError, match="row 199 holds 2"):
            stream.estimate_noise_rates(in_batches(rows[0], scores, 400), n_jobs=n_jobs)

    def test_the_estimator_must_be_known(self, rows):
        with pytest.raises(ValueError, match="method must be one of"):
            stream.estimate_noise_rates(rows, method="guess")


def test_chance_is_said_once():
    labels, scores = np.arange(500) % 2, np.tile([0.5, 0.4], 250)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pruning = stream.prune_labels([(labels, scores)])
    assert len(caught) == 1
    assert not pruning.mask().any()
