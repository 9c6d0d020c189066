"""Clean, noise found or cannot tell: on data where the answer is known, and rule by rule."""

import numpy as np
import pytest
from scipy.special import expit

from rankprune import NoiseRates, flip_labels
from rankprune.core import judge_labels
from rankprune.core._verdict import _affected_share, _decide

TRUTH = np.repeat([0, 1], [700, 300])
GENERATOR = np.random.default_rng(0)
SEPARATE = expit(GENERATOR.normal(np.where(TRUTH == 1, 4, -4), 1))
OVERLAPPING = expit(GENERATOR.normal(np.where(TRUTH == 1, 0.5, -0.5), 1))
NOISY = flip_labels(TRUTH, positive_noise_rate=0.3, negative_noise_rate=0.05, random_state=0)


def test_separate_classes_with_right_labels_are_clean():
    verdict = judge_labels(TRUTH, SEPARATE)
    assert verdict.level == "clean"
    assert verdict.affected_share < 0.01
    assert verdict.auc == pytest.approx(1, abs=1e-3)
    assert "fit the plain classifier" in verdict.reasons[1]
    assert verdict.n_opinions == 1


def test_flipped_labels_of_separate_classes_are_found():
    verdict = judge_labels(NOISY, SEPARATE)
    assert verdict.level == "noise found"
    # pi1 = .05 * 700 / (.05 * 700 + .7 * 300) = 1/7, so 1 - (6/7)(.7) = .4 is touched.
    assert verdict.affected_share == pytest.approx(0.4, abs=0.03)
    assert verdict.clean_auc > 0.97 > verdict.auc
    assert verdict.noise_rates.positive_noise_rate == pytest.approx(0.3, abs=0.03)
    assert "overlap does not explain it" in verdict.reasons[2]
    assert "One model was heard" in verdict.reasons[3]


def test_overlap_leaves_it_open_and_says_what_would_decide():
    noisy = flip_labels(TRUTH, positive_noise_rate=0.4, negative_noise_rate=0.2, random_state=0)
    verdict = judge_labels(noisy, OVERLAPPING)
    assert verdict.level == "cannot tell"
    assert "a clean but hard problem looks the same" in verdict.reasons[1]
    assert "A better model would decide it, or people" in verdict.reasons[2]


def test_chance_scores_leave_it_open_and_never_clean():
    verdict = judge_labels(TRUTH, np.random.default_rng(1).random(1000))
    assert verdict.level == "cannot tell"
    assert verdict.reasons[0].startswith("The probabilities do not tell the labels apart: the low")
    constant = judge_labels(TRUTH, np.full(1000, 0.3), method="confident-counts")
    assert constant.level == "cannot tell"
    assert "positive labels score no higher" in constant.reasons[0]


def test_the_smaller_class_is_the_one_that_is_looked_at():
    """Of 10 % positives none is flipped, of 90 % negatives one in nine: then pi1 = 1/2."""
    assert _affected_share(NoiseRates.from_noise_rates(0.0, 1 / 9, 0.2)) == pytest.approx(0.5)
    assert _affected_share(NoiseRates.from_noise_rates(1 / 9, 0.0, 0.8)) == pytest.approx(0.5)
    # pi1 = (.05 * .7) / (.05 * .7 + .8 * .3) = 7 / 55, so 1 - (48 / 55) * .8 is touched.
    both = NoiseRates.from_noise_rates(0.2, 0.05, 0.05 * 0.7 + 0.8 * 0.3)
    assert _affected_share(both) == pytest.approx(1 - 48 / 55 * 0.8)


def test_the_mildest_opinion_counts_be_it_a_model_or_the_mean():
    shares = iter([0.3, 0.2, 0.4])

    def opinion(labels, probabilities, *, sample_weight=None):
        return NoiseRates.from_noise_rates(next(shares), 0.0, float(np.mean(labels)))

    several = np.column_stack([SEPARATE, SEPARATE**2])
    assert judge_labels(NOISY, several, method=opinion).affected_share == pytest.approx(0.2)
    shares = iter([0.1, 0.2, 0.4])
    verdict = judge_labels(NOISY, several, method=opinion)
    assert verdict.affected_share == pytest.approx(0.1)
    assert verdict.noise_rates.positive_noise_rate == 0.1


def test_a_second_opinion_can_clear_the_labels():
    weak = expit(GENERATOR.normal(np.where(TRUTH == 1, 0.7, -0.7), 1))
    assert judge_labels(TRUTH, weak, method="confident-counts").level != "clean"
    both = judge_labels(TRUTH, np.column_stack([weak, SEPARATE]), method="confident-counts")
    assert both.level == "clean"
    assert both.n_opinions == 2
    assert both.auc > judge_labels(TRUTH, weak).auc


@pytest.mark.parametrize(
    ("affected", "clean_auc", "level"),
    [
        (0.05, 0.99, "clean"),
        (0.05, 0.6, "clean"),
        (0.0501, 0.85, "noise found"),
        (0.0501, 0.849, "cannot tell"),
    ],
)
def test_the_limits_are_where_they_are_said_to_be(affected, clean_auc, level):
    rates = NoiseRates.from_noise_rates(0.1, 0.1, 0.5)
    assert _decide(None, affected, 0.8, clean_auc, rates)[0] == level
    assert _decide("why", affected, 0.8, clean_auc, rates)[0] == "cannot tell"


def test_what_clean_labels_would_give_is_the_unmixed_auc():
    verdict = judge_labels(NOISY, SEPARATE)
    rates = verdict.noise_rates
    kept = 1 - rates.positive_label_error_rate - rates.negative_label_error_rate
    assert verdict.clean_auc == pytest.approx(min(0.5 + (verdict.auc - 0.5) / kept, 1))


def test_weights_and_other_labels_are_taken():
    weight = np.ones(1000)
    words = np.where(NOISY == 1, "ill", "well")
    plain, weighted = (
        judge_labels(words, 1 - SEPARATE, sample_weight=w, pos_label="well") for w in (None, weight)
    )
    assert plain.level == weighted.level == "noise found"
    assert plain.auc == pytest.approx(weighted.auc)


def test_it_reads_as_a_list_of_reasons():
    verdict = judge_labels(NOISY, SEPARATE)
    lines = str(verdict).splitlines()
    assert lines[0] == "noise found"
    assert lines[1:] == [f"- {reason}" for reason in verdict.reasons]


def test_bad_columns_are_refused():
    with pytest.raises(ValueError, match="probabilities must"):
        judge_labels(TRUTH, np.full((1000, 2), 1.5))
    with pytest.raises(ValueError, match=r"two columns that add up to 1 are those of both classes"):
        judge_labels(TRUTH, np.column_stack([1 - SEPARATE, SEPARATE]))
    assert judge_labels(TRUTH, np.full((1000, 2), 0.5)).level == "cannot tell"
    with pytest.raises(ValueError, match="probabilities must not be missing; row 0 is masked"):
        judge_labels(TRUTH, np.ma.masked_less(np.column_stack([SEPARATE] * 2), 0.5))
    with pytest.raises(ValueError, match="probabilities must be one-dimensional"):
        judge_labels(TRUTH, np.empty((1000, 0)))
