"""Strata of an audit: zones of suspicion within each label, on either side of the cut."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankprune import NoiseRates
from rankprune.audit import draw, estimate, plan, strata_of
from rankprune.audit._sample import Divided, allocate


def table(n=2000, seed=0):
    """Return labels, probabilities, suspects, the truth and the rates; flips follow the scores."""
    rng = np.random.default_rng(seed)
    chance = rng.beta(0.5, 0.5, n)
    truth = (rng.random(n) < chance).astype(int)
    labels = np.where(rng.random(n) < 0.1, 1 - truth, truth)
    probabilities = 0.1 + 0.8 * chance
    suspects = np.abs(labels - probabilities) > 0.8
    return labels, probabilities, suspects, truth, NoiseRates.from_true_labels(truth, labels)


class TestStrata:
    def test_by_hand_most_suspicious_first_and_positive_labels_before_negative_ones(self):
        """Ten rows; of each label, zone 1 of 2 ends at the quarter that is most suspicious."""
        strata = strata_of([True] * 4 + [False] * 4, [1, 4, 2, 3, 5, 6, 8, 7], n_zones=2)
        assert strata.of_row.tolist() == [1, 0, 1, 1, 3, 3, 2, 3]
        assert strata.sizes == (1, 3, 1, 3)
        assert strata.is_positive == (True, True, False, False)
        assert strata.suspect == strata.expected == (None,) * 4

    def test_zones_divide_the_sum_of_the_expected_deviations(self):
        expected = np.repeat([0.5, 0.0], [40, 440])
        strata = strata_of(
            np.ones(480, dtype=bool), expected + np.arange(480)[::-1], None, expected, 2
        )
        # 40 rows at .55 and 40 at .05, against 400 at .05, up to one row.
        assert strata.sizes == pytest.approx((80, 400), abs=45)
        deviation = np.sqrt(expected * (1 - expected)) + 0.05
        sums = np.bincount(strata.of_row, deviation)
        assert sums == pytest.approx([deviation.sum() / 2] * 2, abs=0.6)
        assert strata.expected[0] == pytest.approx(20 / strata.sizes[0])

    def test_rows_with_the_same_suspicion_stay_together(self):
        strata = strata_of(np.ones(100, dtype=bool), np.arange(100) // 30)
        assert sum(strata.sizes) == 100
        for value in range(4):
            assert len(set(strata.of_row[np.arange(100) // 30 == value])) == 1
        assert strata_of(np.arange(10) < 5, np.zeros(10)).sizes == (5, 5)

    @given(st.data())
    def test_no_stratum_is_empty_or_holds_both_suspects_and_others(self, data):
        n = data.draw(st.integers(1, 40))
        lists = [
            np.asarray(data.draw(st.lists(values, min_size=n, max_size=n)))
            for values in (st.booleans(), st.integers(0, 5), st.booleans(), st.floats(0, 1))
        ]
        labels, suspicion, suspect, expected = lists
        n_zones = data.draw(st.integers(1, 5))
        strata = strata_of(labels, suspicion, suspect, expected, n_zones)
        assert strata.sizes == tuple(np.bincount(strata.of_row, minlength=len(strata.sizes)))
        assert min(strata.sizes) > 0
        assert len(strata.sizes) <= 2 * max(n_zones, 2)
        assert (np.asarray(strata.is_positive)[strata.of_row] == labels).all()
        assert (np.asarray(strata.suspect)[strata.of_row] == suspect).all()
        assert strata.is_positive == tuple(sorted(strata.is_positive, reverse=True))
        order = np.lexsort((-suspicion, ~suspect, ~labels))
        assert (np.diff(strata.of_row[order]) >= 0).all()

    def test_a_label_without_rows_has_no_stratum(self):
        for suspect in (None, np.ones(3, dtype=bool)):
            assert set(strata_of(np.ones(3, dtype=bool), [1, 2, 3], suspect).is_positive) == {True}

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (
                ([1, 0], [1, 2]),
                "is_positive must be a boolean array, got dtype int64. Mark positive",
            ),
            (([True, False], [1, np.nan]), "suspicion must be finite; row 1 holds nan"),
            (([True, False], [1]), "suspicion must have one value per"),
            (([True, False], [1, 2], [1, 0]), "suspect must be a boolean array, got dtype int64"),
            (([True, False], [1, 2], None, [0, 2]), "expected must lie in"),
            (
                ([True, False], [1, 2], None, None, 0),
                "n_zones must be a whole number of at least 1",
            ),
        ],
    )
    def test_impossible_arguments_are_refused(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            strata_of(*arguments)


class TestDrawnFromZones:
    def test_the_sample_knows_its_strata(self):
        labels, probabilities, suspects, _, rates = table()
        for n, least in ((50, 5), (200, 7)):
            sample = draw(
                labels, suspects, n, probabilities=probabilities, noise_rates=rates, random_state=0
            )
            assert len(sample.sizes) == len(sample.kinds) >= least
            assert sum(sample.sizes) == len(labels)
            assert sum(sample.drawn) == n == len(set(sample.rows.tolist()))
            kinds = np.asarray(sample.kinds)[sample.stratum]
            assert (kinds[:, 0] == sample.is_positive).all()
            assert (kinds[:, 1] == sample.suspect).all()

    @pytest.mark.parametrize(
        ("scores", "error", "message"),
        [
            (
                {"noise_rates": 0.1, "probabilities": [0.5] * 4},
                TypeError,
                "must be NoiseRates, got",
            ),
            (
                {"noise_rates": NoiseRates.from_noise_rates(0.1, 0.1, 0.5)},
                ValueError,
                "probabilities must be given with noise_rates, got None. Pass",
            ),
            ({"probabilities": [0.5] * 3}, ValueError, "probabilities must have one value per"),
            ({"probabilities": [0.5, 2, 0, 0]}, ValueError, "probabilities must lie in"),
        ],
    )
    def test_impossible_scores_are_refused(self, scores, error, message):
        with pytest.raises(error, match=message):
            draw([0, 1, 0, 1], [True, False, False, False], 2, **scores)

    def test_without_rates_zones_are_quantiles_of_suspicion(self):
        labels, probabilities, suspects, truth, _ = table()
        sample = draw(labels, suspects, 100, probabilities=probabilities, random_state=0)
        assert len(sample.sizes) == 8
        found = estimate(sample, truth[sample.rows])
        assert found.wrong_share.low < (labels != truth).mean() < found.wrong_share.high

    def test_the_least_suspicious_of_each_label_are_drawn_too(self):
        labels, probabilities, suspects, _, rates = table(20_000)
        for n in (25, 50, 200):
            strata = Divided(labels == 1, suspects, probabilities, rates).strata(n)
            drawn = allocate(strata, n)
            lasts = [strata.is_positive.index(False) - 1, len(drawn) - 1]
            assert min(drawn[lasts]) >= 2
            assert min(drawn) >= 1

    @pytest.mark.parametrize("n", [25, 100])
    def test_intervals_hold_and_are_narrower_than_those_of_four_strata(self, n):
        labels, probabilities, suspects, truth, rates = table()
        wrong = (labels != truth).mean()
        held, widths = 0, {True: 0.0, False: 0.0}
        for seed in range(60):
            for has_zones in (True, False):
                scores = {"probabilities": probabilities, "noise_rates": rates}
                sample = draw(
                    labels, suspects, n, random_state=seed, **(scores if has_zones else {})
                )
                found = estimate(sample, truth[sample.rows]).wrong_share
                widths[has_zones] += found.high - found.low
                held += has_zones and found.low <= wrong <= found.high
        # With 95 % intervals, fewer than 52 of 60 happens by chance once in a hundred.
        assert held >= 52
        assert widths[True] < widths[False]

    def test_intervals_hold_where_wrong_labels_hide_from_the_model(self):
        labels, probabilities, suspects, _, rates = table()
        trust = np.abs(labels - probabilities)
        truth = np.where(np.argsort(np.argsort(trust)) < 200, 1 - labels, labels)
        held = 0
        for seed in range(60):
            sample = draw(
                labels,
                suspects,
                50,
                probabilities=probabilities,
                noise_rates=rates,
                random_state=seed,
            )
            found = estimate(sample, truth[sample.rows]).wrong_share
            held += found.low <= 0.1 <= found.high
        assert held >= 52

    def test_a_stratum_without_answers_takes_the_rate_of_its_side_of_the_cut(self):
        labels, probabilities, suspects, truth, rates = table()
        sample = draw(
            labels, suspects, 200, probabilities=probabilities, noise_rates=rates, random_state=0
        )
        last = len(sample.sizes) - 1
        answers = [
            None if stratum == last else int(answer)
            for stratum, answer in zip(sample.stratum, truth[sample.rows], strict=True)
        ]
        found = estimate(sample, answers)
        assert found.n_unsure == sample.drawn[last]
        assert found.missed_share.low <= found.missed_share.estimate <= found.missed_share.high

    def test_a_plan_uses_the_zones(self):
        labels, probabilities, suspects, _, rates = table()
        planned = plan(labels, probabilities, rates, suspects, sizes=(25, 200))
        assert planned[200].n_drawn == 200
        assert planned[200].wrong_share.estimate == pytest.approx(rates.wrong_share, abs=0.02)
        widths = [found.wrong_share.high - found.wrong_share.low for found in planned.values()]
        assert widths[0] > 2 * widths[1]
