"""The displays: what they draw, on which axes, and from which inputs."""

import sys

import matplotlib
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from rankprune import flip_labels, out_of_fold_probabilities
from rankprune.core import make_gaussians
from rankprune.diagnostics import (
    CalibrationDisplay,
    NoiseRateDisplay,
    ProbabilityDisplay,
    SeparabilityDisplay,
)

matplotlib.use("Agg")
from matplotlib import pyplot as plt

X, TRUTH = make_gaussians(600, random_state=0)
LABELS = flip_labels(TRUTH, positive_noise_rate=0.3, negative_noise_rate=0.1, random_state=0)
SCORES = LogisticRegression().fit(X, LABELS).predict_proba(X)[:, 1]


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_separability_draws_both_curves_with_bands():
    display = SeparabilityDisplay.from_predictions(LABELS, SCORES)
    assert len(display.ax_.lines) == len(display.ax_.collections) == 2
    assert display.figure_ is display.ax_.figure
    assert display.ax_.get_xlim() == (0, 1)
    assert texts(display.ax_)[0].startswith("positive noise rate")


def test_displays_draw_on_given_axes():
    _, ax = plt.subplots()
    assert SeparabilityDisplay.from_predictions(LABELS, SCORES, ax=ax).ax_ is ax
    assert len(plt.get_fignums()) == 1


def test_probabilities_show_both_labels_and_the_cutoffs():
    display = ProbabilityDisplay.from_predictions(LABELS, SCORES)
    assert texts(display.ax_) == [
        "labeled negative",
        "labeled positive",
        "negative labels pruned from here up",
        "positive labels pruned from here down",
    ]
    heights = sum(patch.get_height() for patch in display.ax_.patches)
    assert heights == len(LABELS)
    weighted = ProbabilityDisplay.from_predictions(LABELS, SCORES, sample_weight=[2] * len(LABELS))
    assert sum(patch.get_height() for patch in weighted.ax_.patches) == 2 * len(LABELS)


def test_probabilities_show_the_given_thresholds():
    display = ProbabilityDisplay(
        SCORES[LABELS == 1], SCORES[LABELS == 0], positive_threshold=0.7, negative_threshold=0.2
    ).plot()
    assert [line.get_xdata()[0] for line in display.ax_.lines] == [0.2, 0.7]
    assert texts(display.ax_)[2:] == [
        "UB: confidently negative up to here",
        "LB: confidently positive from here",
    ]


def test_calibration_shows_each_bin_and_the_line_of_perfect_calibration():
    display = CalibrationDisplay.from_predictions(LABELS, SCORES, n_bins=5)
    line, bins = display.ax_.lines[:2]
    assert list(line.get_xdata()) == list(line.get_ydata()) == [0, 1]
    np.testing.assert_array_equal(bins.get_xdata(), display.calibration.mean_probability)
    np.testing.assert_array_equal(bins.get_ydata(), display.calibration.share_positive)
    assert len(bins.get_xdata()) == 5
    assert texts(display.ax_) == ["perfect calibration", "given labels"]
    made = CalibrationDisplay.from_estimator(LogisticRegression(), X, LABELS, random_state=0)
    assert made.calibration.rows.sum() == len(LABELS)


def test_labels_differ_by_shape_and_not_only_by_colour():
    bars = ProbabilityDisplay.from_predictions(LABELS, SCORES).ax_.patches
    assert {bar.get_hatch() for bar in bars} == {None, "///"}
    curves = SeparabilityDisplay.from_predictions(LABELS, SCORES).ax_.lines
    assert {curve.get_linestyle() for curve in curves} == {"-", "--"}
    rates = NoiseRateDisplay.from_predictions(LABELS, SCORES, n_resamples=20).ax_.lines
    assert {line.get_marker() for line in rates} == {"None", "o", "s", "D"}


def test_no_cutoff_is_drawn_if_nothing_is_pruned():
    display = ProbabilityDisplay(np.array([0.9]), np.array([0.1])).plot(bins=10)
    assert not display.ax_.lines


def test_rates_show_five_intervals_and_what_they_cover():
    truth = NoiseRateDisplay.from_predictions(LABELS, SCORES)
    assert "intervals of the truth, for noise\nlike that" in truth.ax_.get_xlabel()
    display = NoiseRateDisplay.from_predictions(
        LABELS, SCORES, covers="rows", n_resamples=20, random_state=0
    )
    labels = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert labels[3] == "true positives\nlabeled negative"
    assert labels[4] == "labels\nthat are wrong"
    assert len(display.ax_.lines) == 10
    assert "do not cover the model's bias" in display.ax_.get_xlabel()
    assert (
        display.ax_.texts[3].get_text() == f"{display.intervals.positive_noise_rate.estimate:.1%}"
    )
    display.figure_.canvas.draw()
    assert display.ax_.get_xticklabels()[0].get_text().endswith("%")


@pytest.mark.parametrize("display", [SeparabilityDisplay, ProbabilityDisplay, NoiseRateDisplay])
def test_an_estimator_is_scored_out_of_fold(display):
    options = {"n_resamples": 3} if display is NoiseRateDisplay else {}
    drawn = display.from_estimator(LogisticRegression(), X, LABELS, random_state=0, **options)
    assert drawn.ax_.get_title()


def test_one_seed_decides_folds_and_draws_and_weights_reach_the_folds():
    options = {
        "random_state": 0,
        "sample_weight": np.arange(600) % 2,
        "groups": np.arange(600) // 2,
    }
    first, second = (
        NoiseRateDisplay.from_estimator(LogisticRegression(), X, LABELS, n_resamples=3, **options)
        for _ in range(2)
    )
    assert first.intervals == second.intervals
    drawn = ProbabilityDisplay.from_estimator(LogisticRegression(), X, LABELS, **options)
    scores = out_of_fold_probabilities(LogisticRegression(), X, LABELS, **options)
    assert drawn.positive.tolist() == scores[LABELS == 1].tolist()


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"Install rankprune\[plot\]"):
        SeparabilityDisplay.from_predictions(LABELS, SCORES)
