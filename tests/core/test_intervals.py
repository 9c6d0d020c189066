"""Intervals by resampling: what they contain, how rows are drawn, and what they cover."""

from functools import partial

import numpy as np
import pytest

from rankprune import (
    NoiseRates,
    ScoreSketch,
    flip_labels,
    noise_rate_intervals,
)
from rankprune.core import Interval, NoiseRateIntervals, _intervals
from rankprune.core._intervals import (
    drawn_weight,
    intervals_from,
    resampled_rates,
    resamples,
    row_intervals,
)
from rankprune.core._verdict_reasons import COVERAGE
from rankprune.exceptions import UninformativeProbabilitiesWarning

over_rows = partial(noise_rate_intervals, covers="rows")

TRUTH = np.repeat([0, 1], [600, 400])
LABELS = flip_labels(TRUTH, positive_noise_rate=0.2, negative_noise_rate=0.1, random_state=0)
SCORES = np.where(TRUTH == 1, 0.8, 0.1)


SIZES = (500.0, 500.0)


@pytest.mark.parametrize("method", ["confident-counts", "tight", "curve"])
def test_intervals_hold_the_truth_where_scores_are_perfect(method):
    found = over_rows(LABELS, SCORES, method=method, n_resamples=60, random_state=0)
    for name, rate in [("positive_noise_rate", 0.2), ("negative_noise_rate", 0.1)]:
        interval = getattr(found, name)
        assert interval.low < rate < interval.high
        assert interval.high - interval.low < 0.12
        assert interval.low <= interval.estimate <= interval.high
    assert found.estimated_prevalence.low < 0.4 < found.estimated_prevalence.high
    assert (found.level, found.n_resamples, found.reliable) == (0.95, 60, True)


def test_they_are_as_wide_as_the_binomial_distribution_says():
    found = over_rows(
        LABELS, SCORES, method="confident-counts", n_resamples=2000, random_state=0
    ).positive_noise_rate
    error = np.sqrt(0.2 * 0.8 / 400)
    assert (found.high - found.low) / (2 * 1.96 * error) == pytest.approx(1, abs=0.1)
    narrow = over_rows(
        LABELS, SCORES, method="confident-counts", n_resamples=2000, random_state=0, level=0.5
    ).positive_noise_rate
    assert (narrow.high - narrow.low) / (2 * 0.6745 * error) == pytest.approx(1, abs=0.15)


def test_percentiles_by_hand_and_the_estimate_is_always_inside():
    """Quartiles of 0, .1, .2, .3, .4 are .1 and .3; an estimate of .5 stretches the interval."""
    replicates = [NoiseRates.from_noise_rates(k / 10, 0.0, 0.5) for k in range(5)]
    rates = NoiseRates.from_noise_rates(0.2, 0.0, 0.5)
    found = intervals_from(rates, replicates, 0.5, "chance", sizes=SIZES)
    assert found.positive_noise_rate == Interval(0.2, 0.1, pytest.approx(0.3), "chance")
    far = intervals_from(
        NoiseRates.from_noise_rates(0.45, 0.0, 0.5), replicates, 0.5, "chance", sizes=SIZES
    )
    assert far.positive_noise_rate.high == 0.45
    assert far.positive_noise_rate.low == pytest.approx(0.1)
    assert far.n_resamples == 5


def test_resamples_that_all_agree_leave_the_uncertainty_of_the_rows():
    """No wrong label among n rows leaves up to 1 - .025^(1/n) possible (Clopper and Pearson)."""
    clean = NoiseRates.from_noise_rates(0.0, 0.0, 0.4)
    found = intervals_from(clean, [clean] * 9, 0.95, "chance", sizes=(12.0, 18.0))
    for name, n in (
        ("positive_noise_rate", 12),
        ("negative_noise_rate", 18),
        ("positive_label_error_rate", 12),
        ("negative_label_error_rate", 18),
    ):
        interval = getattr(found, name)
        assert (interval.estimate, interval.low) == (0, 0)
        assert interval.high == pytest.approx(1 - 0.025 ** (1 / n))
    assert found.estimated_prevalence.low < 0.25 < 0.5 < found.estimated_prevalence.high


def test_no_interval_of_an_estimated_rate_has_zero_width():
    truth = np.repeat([0, 1], 15)
    found = over_rows(truth, 0.1 + 0.8 * truth, n_resamples=20, random_state=0)
    assert all(interval.high - interval.low > 0.01 for _, interval in found.items())
    scores = np.where(np.arange(435) < 200, 0.9, 0.1)
    labels = (np.arange(435) < 200).astype(int)
    labels[[0, 1, 2, 300, 301, 302]] ^= 1
    found = over_rows(labels, scores, n_resamples=20, random_state=0)
    for name in ("positive_label_error_rate", "negative_label_error_rate"):
        assert getattr(found, name).high > 3 / 235


def test_a_label_error_rate_known_to_be_zero_has_no_width():
    clean = NoiseRates.from_noise_rates(0.0, 0.0, 0.4)
    found = intervals_from(clean, [clean] * 3, 0.95, "chance", (None, 0.0), sizes=SIZES)
    assert found.negative_noise_rate.high == found.positive_label_error_rate.high == 0
    assert found.positive_noise_rate.high > 0 < found.negative_label_error_rate.high
    found = intervals_from(clean, [clean] * 3, 0.95, "chance", (0.0, None), sizes=SIZES)
    assert found.positive_noise_rate.high == found.negative_label_error_rate.high == 0
    assert found.negative_noise_rate.high > 0 < found.positive_label_error_rate.high


def test_the_same_seed_draws_the_same_rows():
    first, second, other = (
        over_rows(LABELS, SCORES, n_resamples=5, random_state=seed) for seed in (1, 1, 2)
    )
    assert first == second
    assert first != other
    state = np.random.get_state()[1].copy()
    over_rows(LABELS, SCORES, n_resamples=2)
    assert (np.random.get_state()[1] == state).all()


def test_known_rates_stay_and_impossible_ones_are_lowered():
    sketch = ScoreSketch.from_rows(LABELS, SCORES)
    rates = NoiseRates.from_noise_rates(0.2, 0.1, float(LABELS.mean()))
    found = row_intervals(
        sketch,
        "confident-counts",
        rates,
        known=(0.2, 0.1),
        level=0.95,
        n_resamples=20,
        random_state=0,
    )
    assert found.positive_noise_rate.low == found.positive_noise_rate.high == 0.2
    assert found.positive_label_error_rate.low < found.positive_label_error_rate.high
    assert resampled_rates(rates, None, None) is rates
    assert resampled_rates(rates, 0.3, None).positive_noise_rate == 0.3
    assert resampled_rates(rates, None, 0.05).negative_noise_rate == 0.05
    assert resampled_rates(rates, None, 0.05).positive_noise_rate == rates.positive_noise_rate
    assert resampled_rates(rates, 0.9, None).positive_noise_rate <= 1 - rates.observed_prevalence


def draws(is_positive, weight, n=200, **kwargs):
    return np.array(list(resamples(is_positive, weight, n, np.random.default_rng(0), **kwargs)))


def test_rows_are_drawn_as_often_as_there_are_rows():
    is_positive = np.arange(10) < 5
    drawn = draws(is_positive, None)
    assert (drawn.sum(axis=1) == 10).all()
    assert drawn.mean() == pytest.approx(1)
    # Poisson-like: about 37 % of the rows are left out.
    assert (drawn == 0).mean() == pytest.approx(0.9**10, abs=0.03)


def test_whole_weights_are_drawn_row_by_row_and_others_stay_together():
    is_positive = np.array([True, True, False, False])
    counted = draws(is_positive, np.array([3.0, 0.0, 2.0, 1.0]))
    assert (counted.sum(axis=1) == 6).all()
    assert (counted[:, 1] == 0).all()
    assert counted.mean(axis=0) == pytest.approx([3, 0, 2, 1], abs=0.4)
    weight = np.array([1.5, 0.0, 0.5, 2.5])
    whole = draws(is_positive, weight)
    assert (whole.sum(axis=1) == 3).all()
    assert (whole[:, 1] == 0).all()
    assert drawn_weight(weight, np.array([2, 0, 1, 0])).tolist() == [3, 0, 0.5, 0]
    assert drawn_weight(np.array([3.0, 2.0]), np.array([4, 1])).tolist() == [4, 1]
    assert drawn_weight(None, np.array([4, 1])).tolist() == [4, 1]


@pytest.mark.parametrize("method", ["tight", "curve"])
def test_equal_weights_of_any_size_change_no_interval_much(method):
    """A row drawn twice must not lower the effective number of rows if weights are not counts."""
    generator = np.random.default_rng(0)
    scores = 1 / (1 + np.exp(-generator.normal(3.0 * TRUTH[::5] - 1.5, 1)))
    plain, whole, fractions = (
        over_rows(
            LABELS[::5],
            scores,
            method=method,
            sample_weight=None if w is None else np.full(200, w),
            n_resamples=100,
            random_state=0,
        ).positive_noise_rate
        for w in (None, 1.0, 0.999)
    )
    for found in (whole, fractions):
        assert found.estimate == pytest.approx(plain.estimate)
        assert found.low == pytest.approx(plain.low, abs=0.04)
        assert found.high == pytest.approx(plain.high, abs=0.04)


def test_every_resample_holds_rows_of_both_classes():
    rare = np.arange(30) == 0
    assert draws(rare, None)[:, 0].min() >= 1
    few = np.arange(30) < 4
    assert ((draws(few, None, least=3)[:, :4] > 0).sum(axis=1) >= 3).all()
    assert ((draws(~few, None, least=3)[:, :4] > 0).sum(axis=1) >= 3).all()
    doubted = np.arange(30) != 1
    assert draws(np.arange(30) < 2, None, doubted=doubted)[:, 0].min() >= 1
    assert draws(np.arange(30) >= 2, None, doubted=doubted)[:, 0].min() >= 1


def test_a_class_that_cannot_be_drawn_ends_with_an_error():
    with pytest.raises(ValueError, match=r"^the labels must hold enough rows of each class for r"):
        draws(np.arange(300) < 60, None, least=60)


def test_a_sketch_whose_classes_cannot_be_drawn_ends_with_an_error(monkeypatch):
    monkeypatch.setattr(_intervals, "_MAX_DRAWS", 0)
    with pytest.raises(ValueError, match=r"^the labels must hold enough rows of each class for r"):
        over_rows(LABELS, SCORES, n_resamples=2)


def test_each_interval_names_what_it_covers():
    found = over_rows(LABELS, SCORES, n_resamples=3, random_state=0)
    assert [name for name, _ in found.items()] == [
        "wrong_share",
        "positive_noise_rate",
        "negative_noise_rate",
        "positive_label_error_rate",
        "negative_label_error_rate",
        "estimated_prevalence",
    ]
    assert {interval.covers for _, interval in found.items()} == {"rows"}
    assert found.covers == "rows"
    assert COVERAGE["rows"].endswith("not the error of the model behind them")
    assert len(set(COVERAGE.values())) == len(COVERAGE) == 4
    lines = str(found).splitlines()
    assert lines[1].startswith("positive noise rate: 20.0% (")
    assert lines[-1] == f"95% intervals, covering {COVERAGE['rows']}"


def test_chance_scores_give_unreliable_intervals():
    scores = np.random.default_rng(0).random(200)
    with pytest.warns(UninformativeProbabilitiesWarning):
        found = over_rows(np.tile([0, 1], 100), scores, n_resamples=3, random_state=0)
    assert isinstance(found, NoiseRateIntervals)
    assert not found.reliable
    assert str(found).endswith("not reliable: the probabilities do not tell the labels apart")


def test_huge_weights_are_drawn_too():
    found = over_rows(
        LABELS, SCORES, sample_weight=np.full(1000, 1e18), n_resamples=3, random_state=0
    )
    assert found.positive_noise_rate.estimate == pytest.approx(0.2)
    assert 0.1 < found.positive_noise_rate.low <= found.positive_noise_rate.high < 0.3


@pytest.mark.parametrize("random_state", [-1, "abc", 1.5])
def test_an_invalid_seed_is_refused(random_state):
    with pytest.raises(ValueError, match=r"^random_state must be an int of at least 0, .* reprod"):
        over_rows(LABELS, SCORES, random_state=random_state)


@pytest.mark.parametrize("level", [0, 1, -0.5, "95 %", None])
def test_an_invalid_level_is_refused(level):
    with pytest.raises(ValueError, match=r"^level must lie strictly between 0 and 1, got .* 0\.95"):
        over_rows(LABELS, SCORES, level=level)


@pytest.mark.parametrize("n_resamples", [0, 2.5, True, "many"])
def test_an_invalid_number_of_resamples_is_refused(n_resamples):
    with pytest.raises(ValueError, match=r"^n_resamples must be a whole number of at least 1, got"):
        over_rows(LABELS, SCORES, n_resamples=n_resamples)


def test_weights_of_whole_numbers_are_rows_and_others_are_not():
    """Ten rows of weight 2 are twenty rows; scaled weights change nothing."""
    labels = np.tile([1, 1, 0, 0, 1], 8)
    scores = np.tile([0.9, 0.2, 0.1, 0.8, 0.7], 8) + np.linspace(0, 0.05, 40)
    asked = {"n_resamples": 40, "random_state": 0, "method": "confident-counts"}

    def width(**more):
        found = over_rows(labels, scores, **asked, **more).positive_noise_rate
        return found.high - found.low

    plain = width()
    assert width(sample_weight=np.full(40, 9)) < 0.6 * plain
    assert width(sample_weight=np.full(40, 0.5)) == pytest.approx(plain, rel=0.5)


def test_the_positive_label_is_the_one_that_was_named():
    labels, scores = np.tile([1, 1, 1, 0, 0], 20), np.tile([0.9, 0.8, 0.1, 0.2, 0.1], 20)
    asked = {"n_resamples": 20, "random_state": 0, "method": "confident-counts"}
    found = over_rows(labels, scores, **asked)
    swapped = over_rows(labels, 1 - scores, pos_label=0, **asked)
    assert swapped.negative_noise_rate.estimate == pytest.approx(found.positive_noise_rate.estimate)
    assert found.positive_noise_rate.estimate != pytest.approx(found.negative_noise_rate.estimate)
    assert over_rows(labels, scores, random_state=0).n_resamples == 200


@pytest.mark.parametrize("method", [None, "tight", "scott"])
def test_a_sketch_has_the_intervals_of_its_rows(method):
    generator = np.random.default_rng(0)
    labels = generator.random(800) < 0.4
    scores = np.clip(generator.normal(0.3 + 0.4 * labels, 0.2), 0, 1)
    asked = {"method": method, "n_resamples": 20, "random_state": 0}
    expected = over_rows(labels, scores, **asked)
    assert over_rows(ScoreSketch.from_rows(labels, scores), **asked) == expected
