"""The separability curve: worked by hand, its bands, and flat or rising ends."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import beta

from rankprune import flip_labels
from rankprune.diagnostics import separability_curve


def test_eight_rows_by_hand():
    """From the top: .9, .9 (two positives), .8, .8 (one of each), .2, .2 (one of each), .1, .1."""
    labels = [0, 0, 0, 1, 0, 1, 1, 1]
    scores = [0.1, 0.1, 0.2, 0.2, 0.8, 0.8, 0.9, 0.9]
    curve = separability_curve(labels, scores, level=0.9)
    side = curve.positive
    assert side.noise_rate == pytest.approx([0, 1 / 4, 2 / 6, 4 / 8])
    assert side.share_of_class == pytest.approx([0.5, 1, 1.5, 2])
    # Thresholds are the middles of bins.
    assert side.threshold == pytest.approx([0.9, 0.8, 0.2, 0.1], abs=0.004)
    assert side.low == pytest.approx([0, *beta.ppf(0.05, [1, 2, 4], [4, 5, 5])])
    assert side.high == pytest.approx(beta.ppf(0.95, [1, 2, 3, 5], [2, 3, 4, 4]))
    assert side.flat is None
    assert curve.negative.noise_rate == pytest.approx([0, 1 / 4, 2 / 6, 4 / 8])
    assert curve.negative.threshold == pytest.approx([0.1, 0.2, 0.8, 0.9], abs=0.004)


def test_the_most_certain_rows_come_first_with_one_threshold_per_value():
    curve = separability_curve([0, 1, 0, 1], [0.1, 0.9, 0.9, 0.2])
    assert curve.positive.threshold == pytest.approx([0.9, 0.2, 0.1], abs=0.004)
    assert curve.positive.noise_rate == pytest.approx([0.5, 1 / 3, 0.5])


def test_noise_keeps_the_curve_flat_and_overlap_makes_it_rise():
    generator = np.random.default_rng(0)
    truth = np.repeat([0, 1], 2000)
    noisy = flip_labels(truth, positive_noise_rate=0.3, negative_noise_rate=0.1, random_state=0)
    separate = expit(generator.normal(8.0 * truth - 4, 1))
    overlapping = expit(generator.normal(2.0 * truth - 1, 1))
    flat = separability_curve(noisy, separate)
    assert (flat.positive.flat, flat.negative.flat) == (True, True)
    inside = flat.positive.share_of_class < 0.9
    assert flat.positive.noise_rate[inside][5:].max() < 0.4
    rising = separability_curve(truth, overlapping)
    assert (rising.positive.flat, rising.negative.flat) == (False, False)


def test_points_are_thinned_and_weights_count():
    scores = np.linspace(0, 1, 5000)
    labels = scores > 0.5
    curve = separability_curve(labels, scores, n_points=20)
    assert len(curve.positive.noise_rate) <= 20
    assert curve.positive.share_of_class[-1] == pytest.approx(2)
    twice = separability_curve(
        [0, 1, 0, 1], [0.1, 0.9, 0.9, 0.2], sample_weight=[1, 2, 1, 0]
    ).positive
    assert twice.noise_rate == pytest.approx([1 / 3, 1 / 2])


def test_a_bad_level_or_number_of_points_is_refused():
    with pytest.raises(ValueError, match="level must lie strictly between 0 and 1"):
        separability_curve([0, 1], [0.1, 0.9], level=2)
    for n_points in (0, 2.5, True):
        with pytest.raises(ValueError, match="n_points must be a whole number of at least 1"):
            separability_curve([0, 1], [0.1, 0.9], n_points=n_points)
