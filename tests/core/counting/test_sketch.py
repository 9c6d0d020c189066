"""The sketch: its bins, the same in any batches and on either side, and what it refuses."""

import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankprune import ScoreSketch, estimate_noise_rates
from rankprune.core import NOISE_ESTIMATORS
from rankprune.core._auc import auc, needed_auc
from rankprune.core._inputs import Inputs
from rankprune.core.counting._bins import EDGES, MIDDLE, MIDDLES, N_BINS, bin_of
from rankprune.core.counting._kernel import kernel_for
from rankprune.core.counting._loops import score_bins
from rankprune.core.counting._sketch import given_sketch, sketch_of

EXTREME = [0.0, -0.0, 5e-324, 1e-300, 2.0**-33, 2.0**-32, 0.5, 1 - 2.0**-32, 1 - 2.0**-53, 1.0]
edge = st.sampled_from(EDGES.tolist())
near_an_edge = st.builds(np.nextafter, edge, st.sampled_from([0.0, 1.0])).map(float)
scores = st.one_of(st.floats(0, 1), edge, near_an_edge, st.sampled_from(EXTREME))


@st.composite
def rows(draw, dtypes=(np.float64, np.float32, np.float16)):
    """Labels, scores of one type, weights and positions to split them."""
    n_rows = draw(st.integers(0, 40))
    labels = draw(st.lists(st.booleans(), min_size=n_rows, max_size=n_rows))
    values = draw(st.lists(scores, min_size=n_rows, max_size=n_rows))
    weights = draw(st.lists(st.integers(0, 3), min_size=n_rows, max_size=n_rows))
    cuts = sorted(draw(st.lists(st.integers(0, n_rows), max_size=4)))
    dtype = draw(st.sampled_from(dtypes))
    return np.array(labels, bool), np.array(values, dtype), np.array(weights, int), cuts


def parts_of(cuts, *columns):
    return zip(*(np.split(column, cuts) for column in columns), strict=True)


class TestBins:
    def test_edges_are_multiples_of_a_power_of_two_and_symmetric(self):
        assert N_BINS % 2 == 1
        assert len(EDGES) == N_BINS - 1
        assert (np.diff(EDGES) > 0).all()
        assert all((Fraction(float(value)) * 2**40).denominator == 1 for value in EDGES)
        np.testing.assert_array_equal(EDGES, 1 - EDGES[::-1])

    def test_an_edge_belongs_to_the_bin_nearer_one_half(self):
        below, above = EDGES[EDGES < 0.5], EDGES[EDGES > 0.5]
        assert score_bins(below.copy()).tolist() == list(range(1, len(below) + 1))
        assert score_bins(above.copy()).tolist() == list(range(MIDDLE, N_BINS - 1))
        assert bin_of(0.5) == MIDDLE

    def test_every_middle_lies_in_its_bin(self):
        assert score_bins(MIDDLES.copy()).tolist() == list(range(N_BINS))

    @given(st.lists(scores, min_size=1))
    def test_bins_by_bits_are_those_by_comparison(self, values):
        given = np.array(values)
        found = score_bins(given)
        assert found.tolist() == [bin_of(value) for value in values]
        swapped = score_bins(1 - given)
        exact = 1 - (1 - given) == given
        assert (found[exact] + swapped[exact] == N_BINS - 1).all()

    @given(st.integers(0, N_BINS - 1), st.floats(0, 1))
    def test_a_range_of_bits_is_a_bin(self, index, value):
        low, high = ScoreSketch().bin_range(index)
        inside = low <= int(np.float64(value + 0.0).view(np.int64)) < high
        assert inside == (bin_of(value) == index)


class TestSameRows:
    @given(rows())
    def test_in_any_batches_and_any_order(self, drawn):
        labels, values, _, cuts = drawn
        whole = ScoreSketch().update(labels, values)
        batches, merged = ScoreSketch(), ScoreSketch()
        for part_labels, part_values in parts_of(cuts, labels, values):
            batches.update(part_labels, part_values)
            merged = ScoreSketch().update(part_labels, part_values).merge(merged)
        assert whole == batches
        assert whole == merged
        assert ScoreSketch().update(labels[::-1], values[::-1]) == whole
        assert pickle.loads(pickle.dumps(whole)) == whole
        assert whole.merge(ScoreSketch()) == whole

    @given(rows(dtypes=[np.float64, np.float32]))
    def test_with_either_kind_of_loops(self, drawn):
        pytest.importorskip("numba")
        labels, values, _, _ = drawn
        kernel, counts = kernel_for(1 << 20), np.zeros((2, N_BINS), np.int64)
        if len(labels):
            total, positive = kernel.add_to_sketch(counts, labels, values)
            sketch = ScoreSketch().update(labels, values)
            assert sketch.counts.tolist() == counts.tolist()
            assert sketch.score_sums == (total - positive, positive)

    @given(rows())
    def test_a_weight_counts_rows(self, drawn):
        labels, values, weights, _ = drawn
        weighted = ScoreSketch().update(labels, values, weights)
        repeated = ScoreSketch().update(np.repeat(labels, weights), np.repeat(values, weights))
        assert weighted == repeated

    @given(rows())
    def test_swapping_the_classes_swaps_everything(self, drawn):
        labels, values, weights, _ = drawn
        for sketch in (
            ScoreSketch().update(labels, values),
            ScoreSketch().update(labels, values, weights * 0.37),
        ):
            swapped = sketch.swap()
            assert swapped.n_positive == pytest.approx(sketch.n_negative)
            assert swapped.counts.tolist() == sketch.counts[::-1, ::-1].tolist()
            assert swapped.swap().counts.tolist() == sketch.counts.tolist()
            assert swapped.swap().extremes == sketch.extremes
            assert swapped.swap().score_sums == pytest.approx(sketch.score_sums)
            assert swapped.effective_rows == pytest.approx(sketch.effective_rows[::-1])

    @given(rows(dtypes=[np.float64]))
    def test_swapping_the_sketch_is_swapping_the_rows(self, drawn):
        labels, values, _, _ = drawn
        values = np.round(values * 2**20) / 2**20  # 1 - value is exact
        sketch = ScoreSketch().update(~labels, 1 - values)
        assert sketch == ScoreSketch().update(labels, values).swap()

    @pytest.mark.parametrize("kind", [np.int64, np.int8, bool, float, object])
    def test_with_any_type_of_labels(self, kind):
        labels, values = np.tile([0, 1, 1], 50), np.linspace(0, 1, 150)
        expected = ScoreSketch().update(labels.astype(bool), values)
        assert ScoreSketch().update(labels.astype(kind), values) == expected
        assert ScoreSketch.from_rows(labels.astype(kind), values.astype(">f8")) == expected
        assert ScoreSketch.from_rows(np.array(["a", "b"])[labels], values) == expected
        swapped = ScoreSketch.from_rows(labels, values, pos_label=0)
        assert swapped == ScoreSketch().update(labels == 0, values)

    @pytest.mark.parametrize("name", sorted(set(NOISE_ESTIMATORS) - {"confident-counts"}))
    def test_rates_of_the_sketch_are_those_of_the_rows(self, name):
        labels, values = noisy_rows(3000)
        weight = np.random.default_rng(1).integers(0, 3, 3000).astype(float)
        for sample_weight in (None, weight, weight * 0.3):
            sketch = ScoreSketch.from_rows(labels, values, sample_weight=sample_weight)
            found = estimate_noise_rates(sketch, method=name)
            assert found == estimate_noise_rates(
                labels, values, method=name, sample_weight=sample_weight
            )

    def test_more_rows_than_a_block_holds(self):
        labels, values = noisy_rows(200_000)
        whole = ScoreSketch().update(labels, values)
        parts = ScoreSketch()
        for part in parts_of([10, 77_777], labels, values):
            parts.update(*part)
        assert whole == parts
        assert whole.score_sums[1] == sum(int(np.floor(v * 2**30 + 0.5)) for v in values[labels])


def noisy_rows(n_rows):
    generator = np.random.default_rng(0)
    truth = generator.random(n_rows) < 0.4
    values = np.clip(generator.normal(0.3 + 0.4 * truth, 0.15), 0, 1)
    return np.where(generator.random(n_rows) < 0.1, ~truth, truth), values


class TestWhatIsInIt:
    def test_six_rows_by_hand(self):
        sketch = ScoreSketch().update([1, 1, 0, 0, 0, 1], [0.75, 0.5, 0.25, 0.5, 0.0, 1.0])
        assert (sketch.n_negative, sketch.n_positive, sketch.n_rows) == (3, 3, 6)
        assert sketch.counts[1, [MIDDLE, N_BINS - 1]].tolist() == [1, 1]
        assert sketch.counts[0, [0, MIDDLE]].tolist() == [1, 1]
        assert sketch.score_sums == (3 * 2**28, 9 * 2**28)
        assert sketch.mean_scores == (0.25, 0.75)
        assert sketch.extremes == (0.0, 1.0)
        assert sketch.masses == sketch.effective_rows == (3.0, 3.0)
        assert sketch.in_counts
        assert sketch.groups().rows.tolist() == [1, 1, 2, 1, 1]
        # Eight pairs are in order and one ties.
        assert sketch.auc() == pytest.approx(8.5 / 9)
        assert sketch.auc_bounds() == pytest.approx((8 / 9, 1.0))
        assert repr(sketch) == "ScoreSketch(n_negative=3, n_positive=3, extremes=(0.0, 1.0))"

    def test_none_at_all(self):
        sketch = ScoreSketch()
        assert (sketch.n_rows, sketch.extremes, sketch.score_sums) == (0, (1.0, 0.0), (0, 0))
        assert np.isnan(sketch.mean_scores).all()

    def test_its_size_is_fixed(self):
        few, many = (ScoreSketch().update(*noisy_rows(n)) for n in (10, 100_000))
        assert len(few.to_bytes()) < len(many.to_bytes()) + 64 < 128 * 1024

    def test_the_auc_is_that_of_the_rows_up_to_ties_in_bins(self):
        labels, values = noisy_rows(5000)
        sketch = ScoreSketch.from_rows(labels, values)
        assert sketch.auc() == pytest.approx(auc(labels, values), abs=1e-4)
        least, most = sketch.auc_bounds()
        assert least <= auc(labels, values) <= most
        assert sketch.needed_auc() == needed_auc(labels.sum(), (~labels).sum())

    def test_rows_that_describe_it_give_it_again(self):
        labels, values = noisy_rows(500)
        sketch = ScoreSketch.from_rows(labels, values)
        again = sketch_of(sketch.as_inputs())
        assert again.counts.tolist() == sketch.counts.tolist()

    def test_drawn_bins_have_the_scores_in_their_middle(self):
        label, bins = np.array([0, 1, 1]), np.array([3, MIDDLE, N_BINS - 1])
        sketch = ScoreSketch.of_bins(label, bins, np.array([2, 0, 5]))
        assert sketch == ScoreSketch().update([0, 0, 1, 1, 1, 1, 1], MIDDLES[[3, 3] + [-1] * 5])

    def test_fractional_weights_count_by_their_effective_number(self):
        labels, values = noisy_rows(400)
        weight = np.random.default_rng(2).random(400) + 0.5
        sketch = ScoreSketch.from_rows(labels, values, sample_weight=weight)
        assert not sketch.in_counts
        kish = [w.sum() ** 2 / (w @ w) for w in (weight[~labels], weight[labels])]
        assert sketch.effective_rows == pytest.approx(kish)
        assert sketch.groups().rows.sum() == pytest.approx(weight.sum() ** 2 / (weight @ weight))
        assert sketch.n_rows == pytest.approx(weight.sum())
        assert sketch.mean_scores[1] == pytest.approx(
            np.average(values[labels], weights=weight[labels])
        )
        merged = sketch.merge(ScoreSketch().update(labels, values))
        both = np.concatenate([weight, np.ones(400)])
        assert merged.effective_rows[1] == pytest.approx(
            both[np.tile(labels, 2)].sum() ** 2 / (both[np.tile(labels, 2)] ** 2).sum()
        )

    def test_rows_without_weight_are_not_there(self):
        sketch = ScoreSketch().update([1, 0, 1], [0.2, 0.5, 0.9], [0.0, 0.5, 0.0])
        assert sketch.extremes == (0.5, 0.5)
        assert sketch == ScoreSketch().update([0], [0.5], [0.5])
        nothing = ScoreSketch().update([1], [0.2], [0.0])
        assert nothing.n_rows == 0


class TestBytes:
    @given(rows())
    def test_they_give_the_sketch_again(self, drawn):
        labels, values, weights, _ = drawn
        for sketch in (
            ScoreSketch().update(labels, values, weights),
            ScoreSketch().update(labels, values, weights * 0.7),
        ):
            assert ScoreSketch.from_bytes(sketch.to_bytes()) == sketch
        assert sketch != "a sketch"

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda data: data[3:], "do not begin as a sketch does"),
            (lambda data: data[:-8], "cannot reshape"),
            (lambda data: data.replace(b'"version": 1', b'"version": 9'), "version 9 is not"),
            (lambda data: data.replace(b'"n_bins": 3969', b'"n_bins": 5'), "is not version"),
            (lambda data: data.replace(b'"score_sums"', b'"other"'), "score_sums"),
            (lambda data: data[:-8] + b"\xff" * 8, "numbers that no rows have"),
            (lambda data: data[:-1] + b"\xc0", "numbers that no rows have"),
            (lambda data: data.replace(b'"squares": null', b'"squares": 3'), "not iterable"),
            (lambda data: data.replace(b"null", b'["inf", "0x1p+0"]'), "that no rows have"),
            (lambda data: data.replace(b'["268435456"', b'["-1"'), "that no rows have"),
            (lambda data: data.replace(b'["268435456"', b'["1073741825"'), "no rows have"),
            (lambda data: data.replace(b'["268435456"', b'["0x1p+3"'), "no rows have"),
            (lambda data: data.replace(b'["268435456", ', b"["), "not enough values"),
            (lambda data: data.replace(b"0x1.0000000000000p-2", b"0x1p+1"), "no rows have"),
            (lambda data: data.replace(b"0x1.0000000000000p-2", b"nan"), "no rows have"),
            (lambda data: data.replace(b'["0x1.0000000000000p-2", ', b"["), "not enough values"),
            (lambda data: data[:-8] + np.float64(0.5).tobytes(), "no rows have"),
            (lambda data: data[: -16 * N_BINS] + bytes(16 * N_BINS), "no rows have"),
        ],
    )
    def test_others_are_refused(self, change, message):
        sketch = ScoreSketch().update([0, 1], [0.25, 1.0])
        with pytest.raises(ValueError, match=message):
            ScoreSketch.from_bytes(change(sketch.to_bytes()))

    def test_sums_that_rounding_made_too_large_survive_swapping(self):
        weight = np.random.default_rng(0).random((50, 1000))
        for weights in weight:
            sketch = ScoreSketch().update(np.arange(1000) % 2, np.ones(1000), weights)
            assert ScoreSketch.from_bytes(sketch.to_bytes()) == sketch
            swapped = sketch.swap()
            assert min(swapped.score_sums) >= 0
            assert ScoreSketch.from_bytes(swapped.to_bytes()) == swapped


class TestCounts:
    def test_rows_of_a_query_by_hand(self):
        found = ScoreSketch.from_counts(
            [
                (1, MIDDLE, 2, 2 * 2**29, 0.5, 0.5),
                (0, 0, 1, 0, 0.0, 0.0),
                (1, MIDDLE, 1, 2**29, 0.5, 0.5),
            ]
        )
        assert found == ScoreSketch().update([1, 1, 0, 1], [0.5, 0.5, 0.0, 0.5])

    @pytest.mark.parametrize(
        ("row", "message"),
        [
            ((1, -1, 7, 0, None, None), "row 0 holds"),
            ((1, -1, 7, 0, 0.0, 0.0), "7 rows of the table have other values"),
            ((2, 0, 1, 0, 0.0, 0.0), "must hold label 0 or 1"),
            ((1, N_BINS, 1, 0, 0.0, 0.0), f"a bin below {N_BINS}"),
            ((1, 0, 1, 0, 0.5, 0.2), "scores in"),
            ((1, 0, -1, 0, 0.5, 0.6), "row 0 holds"),
            ((1, 0, 1), "must hold label, bin, number of rows"),
            (("a", 0, 1, 0, 0.5, 0.6), "Pass the result of the query unchanged"),
        ],
    )
    def test_other_rows_are_refused(self, row, message):
        with pytest.raises(ValueError, match=message):
            ScoreSketch.from_counts([row])


class TestErrors:
    @pytest.mark.parametrize("bad", [np.nan, -0.1, 1.0000001, np.inf])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_a_score_out_of_range_is_named_and_changes_nothing(self, bad, weighted):
        sketch = ScoreSketch().update([0, 1], [0.25, 0.75])
        before = sketch.to_bytes()
        weight = [1.0, 0.5, 1.0] if weighted else None
        with pytest.raises(ValueError, match=r"probabilities must .*row 1 holds"):
            sketch.update([0, 1, 1], [0.5, bad, 0.5], weight)
        assert sketch.to_bytes() == before

    @pytest.mark.parametrize(
        ("labels", "message"),
        [([0, 2], "must be 0 or 1"), ([0], "2"), ([0, np.nan], "must not be missing")],
    )
    def test_other_labels_are_refused(self, labels, message):
        with pytest.raises(ValueError, match=message):
            ScoreSketch().update(labels, [0.1, 0.2])

    def test_only_sketches_merge(self):
        with pytest.raises(TypeError, match="other must be a ScoreSketch, got bytes"):
            ScoreSketch().merge(ScoreSketch().to_bytes())

    def test_labels_need_probabilities(self):
        with pytest.raises(TypeError, match="probabilities must be given with labels"):
            given_sketch([0, 1], None)

    @pytest.mark.parametrize("name", ["probabilities", "sample_weight", "pos_label"])
    def test_a_sketch_stands_alone(self, name):
        sketch = ScoreSketch().update([0, 1], [0.25, 0.75])
        assert given_sketch(sketch, None) is sketch
        given = {"probabilities": None, name: [0.5, 0.5]}
        with pytest.raises(ValueError, match="Pass the sketch alone"):
            given_sketch(sketch, **given)
        with pytest.raises(ValueError, match="Pass the sketch alone"):
            estimate_noise_rates(sketch, **given)

    def test_a_sketch_of_one_class_has_no_rates(self):
        with pytest.raises(ValueError, match="2 negative and 0 positive labels"):
            estimate_noise_rates(ScoreSketch().update([0, 0], [0.25, 0.75]))

    def test_the_estimator_of_the_paper_needs_rows(self):
        sketch = ScoreSketch().update([0, 1], [0.25, 0.75])
        with pytest.raises(ValueError, match="compares each score with exact means"):
            estimate_noise_rates(sketch, method="confident-counts")

    def test_it_has_no_hash_since_it_can_change(self):
        with pytest.raises(TypeError, match="unhashable"):
            hash(ScoreSketch())


def test_the_sketch_of_checked_rows():
    inputs = Inputs(np.array([True, False]), np.array([0.75, 0.25]), None)
    assert sketch_of(inputs) == ScoreSketch().update([1, 0], [0.75, 0.25])
