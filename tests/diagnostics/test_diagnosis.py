"""Calibration, and the diagnosis that includes it."""

import numpy as np
import pytest
from scipy.special import expit

from rankprune import flip_labels
from rankprune.diagnostics import calibration, diagnose

TRUTH = np.repeat([0, 1], 500)
NOISY = flip_labels(TRUTH, positive_noise_rate=0.2, negative_noise_rate=0.1, random_state=0)
SEPARATE = expit(np.random.default_rng(0).normal(8.0 * TRUTH - 4, 1))


def test_calibration_by_hand():
    """Bins of two rows: .1 and .3 (no positive), .6 and .8 (one), so off by .2 and .2."""
    found = calibration([0, 0, 1, 0], [0.1, 0.3, 0.6, 0.8], n_bins=2)
    assert found.mean_probability == pytest.approx([0.2, 0.7], abs=0.004)
    assert found.share_positive == pytest.approx([0, 0.5])
    assert found.rows.tolist() == [2, 2]
    assert found.error == pytest.approx(0.2, abs=0.004)
    assert found.low[0] == 0
    assert found.high[1] > 0.9


def test_ties_share_a_bin_and_weights_count():
    assert len(calibration([0, 1, 1, 0], [0.5] * 4, n_bins=10).rows) == 1
    found = calibration([0, 1, 1], [0.2, 0.8, 0.4], sample_weight=[1, 3, 0], n_bins=2)
    assert found.rows.tolist() == [1, 3]
    assert found.error == pytest.approx(0.2, abs=0.004)


@pytest.mark.parametrize("n_bins", [0, 1.5, True])
def test_a_bad_number_of_bins_is_refused(n_bins):
    with pytest.raises(ValueError, match="n_bins must be a whole number of at least 1"):
        calibration([0, 1], [0.1, 0.9], n_bins=n_bins)


def test_noise_explains_what_the_scores_contradict():
    found = diagnose(NOISY, SEPARATE)
    assert found.verdict.level == "noise found"
    assert found.contradicted == pytest.approx(0.15, abs=0.01)
    assert found.explained_by_noise == pytest.approx(0.15, abs=0.03)
    assert found.left_to_overlap < 0.03
    text = str(found)
    assert "separability curve: positive end flat, negative end flat" in text
    assert "left to overlap or a weak model:" in text


def test_overlap_is_what_noise_does_not_explain():
    truth = np.repeat(TRUTH, 4)
    scores = expit(np.random.default_rng(0).normal(2.0 * truth - 1, 1))
    found = diagnose(truth, scores)
    assert found.left_to_overlap > 0.08
    assert "rising, which suggests overlap" in str(found)


def test_several_columns_few_rows_and_weights():
    both = np.column_stack([SEPARATE, SEPARATE])
    assert diagnose(NOISY, both).verdict.n_opinions == 2
    assert diagnose(NOISY, both).contradicted == diagnose(NOISY, SEPARATE).contradicted
    few = diagnose([0, 0, 0, 0, 1, 1, 1, 1], [0.1, 0.1, 0.2, 0.2, 0.8, 0.8, 0.9, 0.9])
    assert "too few rows to say" in str(few)
    weighted = diagnose(NOISY, SEPARATE, sample_weight=np.where(NOISY == TRUTH, 1, 0))
    assert weighted.contradicted < 0.01
