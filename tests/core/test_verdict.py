"""Clean, noise found or cannot tell: on data where the answer is known, and rule by rule."""

import numpy as np
import pytest
from scipy.special import expit

from rankprune import NoiseRates, ScoreSketch, estimate_noise_rates, flip_labels
from rankprune.core import Interval, judge_labels
from rankprune.core._inputs import Inputs
from rankprune.core._verdict import _decide, are_enough, judge
from rankprune.core._verdict_reasons import too_few_rows, wrong_labels

TRUTH = np.repeat([0, 1], [700, 300])
GENERATOR = np.random.default_rng(0)
SEPARATE = expit(GENERATOR.normal(np.where(TRUTH == 1, 4, -4), 1))
OVERLAPPING = expit(GENERATOR.normal(np.where(TRUTH == 1, 0.5, -0.5), 1))
NOISY = flip_labels(TRUTH, positive_noise_rate=0.3, negative_noise_rate=0.05, random_state=0)


def test_separate_classes_with_right_labels_are_clean():
    verdict = judge_labels(TRUTH, SEPARATE)
    assert verdict.level == "clean"
    assert verdict.wrong_share.high < 0.01
    assert verdict.auc == pytest.approx(1, abs=1e-3)
    assert "fit the plain classifier" in verdict.reasons[1]
    assert verdict.n_opinions == 1


def test_flipped_labels_of_separate_classes_are_found():
    verdict = judge_labels(NOISY, SEPARATE)
    assert verdict.level == "noise found"
    # .3 of 300 positives and .05 of 700 negatives.
    assert verdict.wrong_share.low < 0.125 < verdict.wrong_share.high
    assert verdict.wrong_share.estimate == pytest.approx(0.125, abs=0.01)
    assert verdict.wrong_share == verdict.noise_rates.intervals.wrong_share
    assert verdict.clean_auc > 0.97 > verdict.auc
    assert verdict.noise_rates.positive_noise_rate == pytest.approx(0.3, abs=0.03)
    assert verdict.reasons[1].startswith("An estimated ")
    assert verdict.reasons[2].startswith("Only one model was used")


def test_overlap_leaves_it_open_and_says_what_would_settle_it():
    verdict = judge_labels(TRUTH, OVERLAPPING)
    assert verdict.level == "cannot tell"
    assert verdict.wrong_share.low == 0
    assert "look alike to these scores" in verdict.reasons[0]
    assert "A person who judges 25 rows" in verdict.reasons[1]


def test_chance_scores_leave_it_open_and_never_clean():
    verdict = judge_labels(TRUTH, np.random.default_rng(1).random(1000))
    assert verdict.level == "cannot tell"
    assert verdict.reasons[0].startswith("The probabilities do not tell the labels apart: the low")
    constant = judge_labels(TRUTH, np.full(1000, 0.3), method="confident-counts")
    assert constant.level == "cannot tell"
    assert "positive labels score no higher" in constant.reasons[0]


def test_the_mean_of_several_models_is_judged_once():
    seen = []

    def remember(labels, probabilities, *, sample_weight=None):
        seen.append(probabilities)
        return NoiseRates.from_noise_rates(0.2, 0.0, float(np.mean(labels)))

    several = np.column_stack([SEPARATE, SEPARATE**2])
    verdict = judge_labels(NOISY, several, method=remember)
    (scores,) = seen
    np.testing.assert_allclose(scores, several.mean(axis=1))
    assert verdict.n_opinions == 2
    assert verdict.noise_rates.positive_noise_rate == 0.2
    # The learned range is widened to hold the estimate of another method.
    assert verdict.wrong_share.low <= verdict.noise_rates.wrong_share <= verdict.wrong_share.high


def wrong(low, high):
    return Interval((low + high) / 2, low, high, "truth")


@pytest.mark.parametrize(
    ("low", "high", "level"),
    [
        (0.0, 0.05, "clean"),
        (0.01, 0.05, "clean"),
        (0.0101, 0.05, "noise found"),
        (0.0101, 0.6, "noise found"),
        (0.01, 0.0501, "cannot tell"),
        (0.0, 0.0501, "cannot tell"),
    ],
)
def test_the_limits_are_as_documented(low, high, level):
    rates = NoiseRates.from_noise_rates(0.1, 0.1, 0.5)
    assert _decide(None, rates, wrong(low, high))[0] == level
    assert _decide("why", rates, wrong(low, high))[0] == "cannot tell"


def test_the_clean_auc_is_the_unmixed_auc():
    verdict = judge_labels(NOISY, SEPARATE)
    rates = verdict.noise_rates
    kept = 1 - rates.positive_label_error_rate - rates.negative_label_error_rate
    assert verdict.clean_auc == pytest.approx(min(0.5 + (verdict.auc - 0.5) / kept, 1))


@pytest.mark.parametrize("scores", [SEPARATE, np.column_stack([SEPARATE, SEPARATE**2])])
def test_wrong_labels_of_weight_zero_do_not_count(scores):
    weighted = judge_labels(NOISY, scores, sample_weight=(NOISY == TRUTH).astype(float))
    assert weighted.level == "clean"
    assert weighted.auc == pytest.approx(1, abs=1e-3)
    assert weighted.noise_rates.n_positive == (NOISY & TRUTH).sum()


def test_the_positive_label_is_the_one_that_is_named():
    words = np.where(NOISY == 1, "ill", "well")
    assert judge_labels(words, SEPARATE, pos_label="ill").level == "noise found"
    assert judge_labels(words, SEPARATE).level == "cannot tell"  # "well" is larger
    one_column = judge_labels(words, SEPARATE[:, None], pos_label="ill")
    assert one_column.n_opinions == 1


def test_labels_that_are_all_wrong_leave_no_auc_to_estimate():
    def hopeless(labels, probabilities, *, sample_weight=None):
        observed = float(np.mean(labels))
        return NoiseRates.from_noise_rates(0.0, observed, observed)

    verdict = judge_labels(NOISY, SEPARATE, method=hopeless)
    assert verdict.noise_rates.positive_label_error_rate == 1
    assert judge_labels(TRUTH, 0.8 * TRUTH, method="confident-counts").clean_auc == 1
    assert verdict.clean_auc == 1


def test_the_wording_of_the_reasons():
    rates = NoiseRates.from_label_error_rates(0.25, 0.125, 0.5)
    settle = (
        "A person who judges 25 rows drawn at random would narrow it down; so may a better model."
    )
    assert _decide("it is so", rates, wrong(0.2, 0.3))[1] == (
        "The probabilities do not tell the labels apart: it is so.",
        settle,
    )
    assert _decide(None, rates, wrong(0.0, 0.0123))[1] == (
        "At most 1.2% of the labels are wrong, by the upper end of the 95% range; up to 5% counts "
        "as clean.",
        "Pruning would do more harm than good: fit the plain classifier.",
    )
    assert _decide(None, rates, wrong(0.0, 0.3))[1] == (
        "Anything up to 30.0% of the labels may be wrong (95% range): wrong labels and classes "
        "that overlap look alike to these scores.",
        settle,
    )
    assert "Anything between 1.0% and 30.0% of" in _decide(None, rates, wrong(0.01, 0.3))[1][0]
    assert _decide(None, rates, wrong(0.1, 0.25))[1] == (
        "Between 10.0% and 25.0% of the labels are wrong (95% range).",
        "An estimated 25.0% of the positive labels and 12.5% of the negative labels are wrong.",
    )
    assert judge_labels(NOISY, SEPARATE).reasons[2] == (
        "Only one model was used, and its weaknesses look like noise. Use several, such as the "
        "committee."
    )
    assert len(judge_labels(TRUTH, SEPARATE).reasons) == 2
    several = judge_labels(NOISY, np.column_stack([SEPARATE, SEPARATE**2]))
    assert len(several.reasons) == 2


@pytest.mark.parametrize("labels", [TRUTH, NOISY])
def test_fewer_than_100_rows_are_never_enough_to_tell(labels):
    few = slice(None, None, 33)
    verdict = judge_labels(labels[few], SEPARATE[few])
    assert verdict.level == "cannot tell"
    assert verdict.reasons == (
        "There are too few rows to tell: 31 rows, and a verdict needs at least 100.",
        "More rows would settle it, or a person who checks a random sample of them.",
    )


def test_rows_are_counted_by_their_weight():
    ten = slice(None, None, 100)
    weighted = judge_labels(TRUTH[ten], SEPARATE[ten], sample_weight=np.full(10, 10))
    assert weighted.level == "clean"
    weighted = judge_labels(TRUTH[ten], SEPARATE[ten], sample_weight=np.full(10, 9))
    assert "90 rows" in weighted.reasons[0]
    weight = np.where(np.arange(1000) % 100 == 0, 1.5, 0.0)
    assert "10 rows" in judge_labels(TRUTH, SEPARATE, sample_weight=weight).reasons[0]
    assert too_few_rows(1.7, 100).startswith("There are too few rows to tell: 1 row, and")


@pytest.mark.parametrize(
    ("n_positive", "level"), [(1, "cannot tell"), (19, "cannot tell"), (20, "clean")]
)
def test_fewer_than_20_rows_of_a_label_are_never_enough_to_tell(n_positive, level):
    labels = np.arange(1000) < n_positive
    scores = np.where(labels, 0.9, 0.1)
    verdict = judge_labels(labels, scores)
    assert verdict.level == level
    assert judge_labels(~labels, 1 - scores).level == level
    if level == "cannot tell":
        rows = "1 row" if n_positive == 1 else f"{n_positive} rows"
        assert verdict.reasons == (
            f"There are too few positive labels to tell: {rows}, and a verdict needs at least 20 "
            "with each label.",
            "More rows would settle it, or a person who checks a random sample of them.",
        )
        assert "few negative labels" in judge_labels(~labels, 1 - scores).reasons[0]


def test_rows_of_a_label_are_counted_by_their_weight():
    labels = np.arange(1000) < 10
    scores = np.where(labels, 0.9, 0.1)
    assert judge_labels(labels, scores, sample_weight=np.where(labels, 2, 1)).level == "clean"
    # A scale is no evidence: ten rows stay ten.
    halves = judge_labels(labels, scores, sample_weight=np.where(labels, 2.5, 1.5))
    assert "10 rows" in halves.reasons[0]


def test_the_reasons_show_the_rates_that_are_passed():
    estimated = estimate_noise_rates(NOISY, SEPARATE, method="confident-counts")
    inputs = Inputs(NOISY == 1, SEPARATE, None)
    verdict = judge(inputs, "curve", estimated=estimated)
    assert verdict.noise_rates is estimated
    assert verdict.reasons[1] == wrong_labels(
        estimated.positive_label_error_rate, estimated.negative_label_error_rate
    )


def test_rates_without_a_range_get_the_one_of_the_scores():
    known = NoiseRates.from_noise_rates(0.2, 0.0, float(np.mean(NOISY)))
    sketch = ScoreSketch.from_rows(NOISY, SEPARATE)
    assert judge(sketch, estimated=known) == judge(sketch)
    assert judge(sketch) == judge(Inputs(NOISY == 1, SEPARATE, None))


def test_it_reads_as_a_list_of_reasons():
    verdict = judge_labels(NOISY, SEPARATE)
    lines = str(verdict).splitlines()
    assert lines[0] == "noise found"
    assert lines[1:] == [f"- {reason}" for reason in verdict.reasons]


def test_bad_columns_are_refused():
    with pytest.raises(ValueError, match="probabilities must"):
        judge_labels(TRUTH, np.full((1000, 2), 1.5))
    with pytest.raises(ValueError, match=r"columns that add up to 1 are those of the two classes"):
        judge_labels(TRUTH, np.column_stack([1 - SEPARATE, SEPARATE]))
    assert judge_labels(TRUTH, np.full((1000, 2), 0.5)).level == "cannot tell"
    with pytest.raises(ValueError, match="probabilities must not be missing; row 0 is masked"):
        judge_labels(TRUTH, np.ma.masked_less(np.column_stack([SEPARATE] * 2), 0.5))
    with pytest.raises(ValueError, match="probabilities must be one-dimensional"):
        judge_labels(TRUTH, np.empty((1000, 0)))


@pytest.mark.parametrize(
    ("negative", "positive", "enough"),
    [(80, 20, True), (20, 80, True), (79.5, 20, False), (981, 19.5, False), (19, 81, False)],
)
def test_rows_of_both_labels_must_be_enough(negative, positive, enough):
    assert are_enough(negative, positive) == enough
