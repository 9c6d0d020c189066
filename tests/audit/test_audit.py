"""The blind audit: which rows are drawn, what the answers show, and how often that is true."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankprune import NoiseRates, audit
from rankprune.audit import compare_errors, draw, estimate, plan
from rankprune.audit._sample import FOUR, allocate, stratum_of
from rankprune.audit._strata import Strata


def table(n=2000, wrong=0.1, seed=0):
    """Return labels, suspects and the truth; three quarters of the suspects are wrong."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    is_wrong = rng.random(n) < wrong
    suspects = np.where(is_wrong, rng.random(n) < 0.75, rng.random(n) < 0.25 * wrong)
    return np.where(is_wrong, 1 - truth, truth), suspects, truth


class TestDraw:
    def test_the_same_seed_draws_the_same_rows_in_the_same_order(self):
        labels, suspects, _ = table()
        one, again = (draw(labels, suspects, random_state=3) for _ in range(2))
        assert one.rows.tolist() == again.rows.tolist()
        assert one.rows.tolist() != draw(labels, suspects, random_state=4).rows.tolist()

    def test_rows_are_distinct_and_keep_their_label_and_stratum(self):
        labels, suspects, _ = table()
        sample = draw(labels, suspects, 150, random_state=0)
        assert len(set(sample.rows.tolist())) == 150
        assert (sample.is_positive == (labels == 1)[sample.rows]).all()
        assert (sample.suspect == suspects[sample.rows]).all()
        assert sum(sample.sizes) == 2000
        assert sum(sample.drawn) == 150
        kinds = [(1, True), (1, False), (0, True), (0, False)]
        assert sample.sizes == tuple(
            int(((labels == label) & (suspects == suspect)).sum()) for label, suspect in kinds
        )

    def test_every_row_of_a_stratum_is_equally_likely_at_every_position(self):
        labels, suspects, _ = table(60)
        positions = np.zeros((60, 20))
        for seed in range(2000):
            rows = draw(labels, suspects, 20, random_state=seed).rows
            positions[rows, np.arange(20)] += 1
        sample = draw(labels, suspects, 20, random_state=0)
        kind = stratum_of(labels == 1, suspects)
        expected = 2000 * np.asarray(sample.drawn) / np.maximum(sample.sizes, 1)
        assert np.abs(positions.sum(axis=1) - expected[kind]).max() < 5 * np.sqrt(2000 * 0.25)
        halves = positions[:, :10].sum(axis=1), positions[:, 10:].sum(axis=1)
        assert np.abs(halves[0] - halves[1]).max() < 5 * np.sqrt(2000 * 0.25)

    def test_labels_of_any_two_values_are_kept_as_they_are(self):
        labels = np.asarray(["spam", "ham"] * 50)
        sample = draw(labels, np.zeros(100, dtype=bool), 10, pos_label="ham", random_state=0)
        assert (sample.positive, sample.negative) == ("ham", "spam")
        assert type(draw([0, 1] * 9, [False] * 18, 3).positive) is int

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (([0, 1, 1], [True, False, True], 4), "n must be at most the number of rows, 3, got 4"),
            (([0, 1, 1], [True, False, True], 0), "n must be a whole number of at least 1, got 0"),
            (([0, 1, 1], [1, 0, 1], 2), "suspects must be a boolean array, got dtype int64. Mark"),
            (([0, 1, 1], [True], 2), "suspects must have one value per label, got 1 for 3"),
            (([1, 1, 1], [True] * 3, 2), "labels must hold two classes"),
        ],
    )
    def test_impossible_draws_are_refused(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            draw(*arguments)


def allocated(sizes, n):
    labels, suspects = zip(*FOUR, strict=True)
    return allocate(Strata(np.empty(0, int), tuple(sizes), labels, suspects, (None,) * 4), n)


class TestAllocation:
    @given(st.lists(st.integers(0, 10**6), min_size=4, max_size=4), st.integers(1, 500))
    def test_exactly_the_requested_number_of_rows_is_drawn(self, sizes, n):
        n = min(n, sum(sizes))
        drawn = allocated(sizes, n)
        assert drawn.sum() == n
        assert (drawn <= sizes).all()
        assert (drawn >= 0).all()

    def test_suspects_are_drawn_more_often_and_both_labels_equally(self):
        drawn = allocated([500, 4500, 500, 4500], 200)
        assert drawn.tolist() == [20, 80, 20, 80]
        drawn = allocated([2000, 3000, 2000, 3000], 200)
        assert drawn.tolist() == [60, 40, 60, 40]

    def test_rare_suspects_get_a_fifth_and_a_rare_label_gets_a_quarter(self):
        drawn = allocated([60, 4940, 60, 4940], 200)
        assert drawn[[0, 2]].sum() == 40
        drawn = allocated([100, 300, 100, 49500], 200)
        assert drawn[:2].sum() == 50

    def test_rows_that_one_stratum_lacks_are_drawn_from_the_others(self):
        assert allocated([3, 500, 0, 500], 103).tolist() == [3, 50, 0, 50]
        assert allocated([3, 5, 0, 1], 9).tolist() == [3, 5, 0, 1]


class TestEstimate:
    def test_by_hand_when_every_row_is_judged(self):
        """Ten rows: of six positives two are wrong, of four negatives one; two wrong suspects."""
        labels = [1, 1, 1, 1, 1, 1, 0, 0, 0, 0]
        truth = [0, 0, 1, 1, 1, 1, 1, 0, 0, 0]
        suspects = [True, False, True, False, False, False, True, False, False, False]
        sample = draw(labels, suspects, 10, random_state=0)
        found = estimate(sample, np.asarray(truth)[sample.rows])
        expected = {
            "wrong_share": 3 / 10,
            "positive_label_error_rate": 2 / 6,
            "negative_label_error_rate": 1 / 4,
            "positive_noise_rate": 1 / 5,
            "negative_noise_rate": 2 / 5,
            "suspect_precision": 2 / 3,
            "missed_share": 1 / 7,
        }
        assert {name: interval.estimate for name, interval in found.items()} == pytest.approx(
            expected
        )
        for _, interval in found.items():
            assert interval.low == pytest.approx(interval.high)
        assert found.missed_at_most == 1
        assert (found.n_rows, found.n_drawn, found.n_unsure) == (10, 10, 0)

    def test_rows_count_for_the_rows_they_were_drawn_from(self):
        labels, suspects, truth = table(20_000)
        sample = draw(labels, suspects, 4000, random_state=1)
        found = estimate(sample, truth[sample.rows])
        wrong = labels != truth
        assert found.wrong_share.estimate == pytest.approx(wrong.mean(), abs=0.01)
        assert found.suspect_precision.estimate == pytest.approx(wrong[suspects].mean(), abs=0.03)
        rates = NoiseRates.from_true_labels(truth, labels)
        for name in ("positive_noise_rate", "negative_label_error_rate"):
            assert getattr(found, name).estimate == pytest.approx(getattr(rates, name), abs=0.02)

    @pytest.mark.parametrize("wrong", [0.02, 0.1, 0.3])
    def test_intervals_contain_the_truth_as_often_as_promised(self, wrong):
        labels, suspects, truth = table(2000, wrong)
        is_wrong = labels != truth
        true = {
            **NoiseRates.from_true_labels(truth, labels).to_dict(),
            "wrong_share": is_wrong.mean(),
            "suspect_precision": is_wrong[suspects].mean(),
            "missed_share": is_wrong[~suspects].mean(),
        }
        held = dict.fromkeys([*audit.AuditEstimate.__dataclass_fields__], 0)
        for seed in range(150):
            sample = draw(labels, suspects, 100, random_state=seed)
            found = estimate(sample, truth[sample.rows])
            for name, interval in found.items():
                held[name] += interval.low - 1e-9 <= true[name] <= interval.high + 1e-9
            held["missed_at_most"] += is_wrong[~suspects].sum() <= found.missed_at_most
        # With 95 % intervals, fewer than 134 of 150 happens by chance once in three hundred.
        counted = [name for name in held if name in true or name == "missed_at_most"]
        assert min(held[name] for name in counted) >= 134

    def test_unsure_answers_widen_the_interval_to_both_sides(self):
        labels, suspects, truth = table()
        sample = draw(labels, suspects, 200, random_state=0)
        answers = [int(answer) for answer in truth[sample.rows]]
        sure = estimate(sample, answers)
        answers[::10] = [None] * 20
        unsure = estimate(sample, answers)
        assert unsure.n_unsure == 20
        for name, interval in sure.items():
            wider = getattr(unsure, name)
            assert wider.low <= interval.low
            assert wider.high >= interval.high
            assert wider.low <= wider.estimate <= wider.high
        assert unsure.missed_at_most > sure.missed_at_most

    def test_nan_counts_as_a_missing_answer(self):
        labels, suspects, truth = table(100)
        sample = draw(labels, suspects, 20, random_state=0)
        answers = truth[sample.rows].astype(float)
        answers[0] = np.nan
        assert estimate(sample, answers).n_unsure == 1

    def test_without_answers_almost_anything_is_possible(self):
        labels, suspects, _ = table(100)
        sample = draw(labels, suspects, 20, random_state=0)
        found = estimate(sample, [None] * 20)
        assert found.wrong_share.low == 0
        assert found.wrong_share.high > 0.9
        assert found.missed_at_most > 80

    def test_a_stratum_without_answers_takes_the_rate_of_the_other_label(self):
        labels, suspects, truth = table()
        sample = draw(labels, suspects, 200, random_state=0)
        answers = [
            None if stratum == 1 else int(answer)
            for stratum, answer in zip(sample.stratum, truth[sample.rows], strict=True)
        ]
        found = estimate(sample, answers)
        assert found.missed_share.estimate == pytest.approx(
            (labels != truth)[~suspects].mean(), abs=0.03
        )

    def test_swapping_the_labels_swaps_the_rates(self):
        labels, suspects, truth = table(600)
        sample = draw(labels, suspects, 100, random_state=0)
        turned = audit.AuditSample(
            sample.rows,
            ~sample.is_positive,
            sample.suspect,
            sample.stratum ^ 2,
            (*sample.sizes[2:], *sample.sizes[:2]),
            sample.negative,
            sample.positive,
        )
        one, other = (estimate(each, truth[sample.rows]) for each in (sample, turned))
        for name, interval in one.items():
            swapped = name
            if name.startswith(("positive", "negative")):
                rest = name.split("_", 1)[1]
                swapped = f"{'negative' if name.startswith('positive') else 'positive'}_{rest}"
            mirrored = getattr(other, swapped)
            assert mirrored.estimate == pytest.approx(interval.estimate)
            assert (mirrored.low, mirrored.high) == pytest.approx(
                (interval.low, interval.high), abs=0.004
            )

    def test_no_suspects_give_no_precision_and_only_suspects_no_missed_share(self):
        labels, _, truth = table(200)
        none = draw(labels, np.zeros(200, dtype=bool), 50, random_state=0)
        found = estimate(none, truth[none.rows])
        assert found.suspect_precision is None
        assert found.missed_share.estimate == pytest.approx(found.wrong_share.estimate)
        every = draw(labels, np.ones(200, dtype=bool), 50, random_state=0)
        found = estimate(every, truth[every.rows])
        assert found.missed_share is None
        assert found.missed_at_most == 0
        assert "suspect precision: " in str(found)
        assert "missed share" not in str(found)

    def test_strata_drawn_at_different_rates_are_not_pooled(self):
        labels = np.asarray([1] * 300 + [0] * 9700)
        suspects = np.zeros(10_000, dtype=bool)
        truth = labels.copy()
        truth[:150] = 0
        sample = draw(labels, suspects, 200, random_state=0)
        found = estimate(sample, truth[sample.rows])
        assert found.wrong_share.estimate == pytest.approx(0.015, abs=0.006)
        assert found.wrong_share.low < 0.015 < found.wrong_share.high < 0.06

    @pytest.mark.parametrize(
        ("answers", "message"),
        [
            ([1] * 19, "answers must have one answer for each of the 20 rows .* got 19"),
            (
                [1] * 19 + [2],
                "answers must be 1, 0 or None; answer 19 is 2. Pass the correct label",
            ),
        ],
    )
    def test_impossible_answers_are_refused(self, answers, message):
        labels, suspects, _ = table(100)
        sample = draw(labels, suspects, 20, random_state=0)
        with pytest.raises(ValueError, match=message):
            estimate(sample, answers)

    def test_the_level_is_checked(self):
        labels, suspects, truth = table(100)
        sample = draw(labels, suspects, 20, random_state=0)
        with pytest.raises(ValueError, match="level must lie strictly between 0 and 1, got 95"):
            estimate(sample, truth[sample.rows], level=95)


class TestPlan:
    def scores(self, labels, truth):
        rates = NoiseRates.from_true_labels(truth, labels)
        perfect = np.where(truth == 1, 1 - rates.positive_noise_rate, rates.negative_noise_rate)
        return perfect, rates

    def test_larger_samples_give_narrower_intervals(self):
        labels, suspects, truth = table()
        probabilities, rates = self.scores(labels, truth)
        planned = plan(labels, probabilities, rates, suspects)
        assert list(planned) == [50, 100, 200, 500]
        widths = [found.wrong_share.high - found.wrong_share.low for found in planned.values()]
        assert sorted(widths, reverse=True) == widths
        assert planned[200].n_drawn == 200

    def test_a_plan_expects_the_models_share_of_wrong_labels(self):
        labels, suspects, truth = table()
        probabilities, rates = self.scores(labels, truth)
        found = plan(labels, probabilities, rates, suspects)[500]
        assert found.wrong_share.estimate == pytest.approx(rates.wrong_share, abs=0.02)

    def test_sizes_above_the_number_of_rows_are_left_out(self):
        labels, suspects, truth = table(120)
        probabilities, rates = self.scores(labels, truth)
        assert list(plan(labels, probabilities, rates, suspects)) == [50, 100]


class TestCompareErrors:
    def test_by_hand_when_every_row_is_judged(self):
        labels = np.asarray([1, 1, 0, 0, 0, 0, 0, 0])
        truth = np.asarray([1, 0, 0, 0, 0, 0, 0, 0])
        suspects = labels == 1
        sample = draw(labels, suspects, 8, random_state=0)
        before, after = labels[sample.rows], truth[sample.rows]
        found = compare_errors(sample, truth[sample.rows], before, after)
        assert found == pytest.approx((1 / 8, 0, -1 / 8, -1 / 8))

    def test_rows_count_for_those_they_were_drawn_from(self):
        labels, suspects, truth = table(20_000)
        rng = np.random.default_rng(0)
        before = np.where(rng.random(20_000) < 0.2, 1 - truth, truth)
        after = np.where(suspects, 1 - truth, truth)
        sample = draw(labels, suspects, 2000, random_state=0)
        found = compare_errors(sample, truth[sample.rows], before[sample.rows], after[sample.rows])
        assert found[0] == pytest.approx(0.2, abs=0.03)
        assert found[1] == pytest.approx(suspects.mean(), abs=1e-9)
        assert found[2] < found[1] - found[0] < found[3]

    def test_the_interval_contains_the_truth_as_often_as_promised(self):
        labels, suspects, truth = table(3000)
        rng = np.random.default_rng(0)
        before = np.where(rng.random(3000) < 0.12, 1 - truth, truth)
        after = np.where(rng.random(3000) < 0.08, 1 - truth, truth)
        true = (after != truth).mean() - (before != truth).mean()
        held = 0
        for seed in range(300):
            sample = draw(labels, suspects, 200, random_state=seed)
            rows = sample.rows
            found = compare_errors(sample, truth[rows], before[rows], after[rows])
            held += found[2] <= true <= found[3]
        assert held >= 275

    def test_a_comparison_without_answers_is_refused(self):
        labels, suspects, _ = table(100)
        sample = draw(labels, suspects, 20, random_state=0)
        with pytest.raises(ValueError, match="all of them are None"):
            compare_errors(sample, [None] * 20, [1] * 20, [1] * 20)

    def test_rows_without_an_answer_are_left_out(self):
        labels, suspects, truth = table(400)
        sample = draw(labels, suspects, 100, random_state=0)
        answers = [int(answer) for answer in truth[sample.rows]]
        after = np.asarray(answers)
        after[:5] = 1 - after[:5]
        answers[:5] = [None] * 5
        assert compare_errors(sample, answers, after, after)[1] == 0
