"""The displays: what they draw, on which axes, and from which inputs."""

import sys

import matplotlib
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from rankprune import NoiseMatrix, NoiseRates, flip_labels, out_of_fold_probabilities
from rankprune.core import make_gaussians
from rankprune.diagnostics import (
    CalibrationDisplay,
    NoiseMatrixDisplay,
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


JOINT = np.array([[0.3, 0.02, 0.0], [0.1, 0.28, 0.0004], [0.0, 0.0, 0.2996]])
PETS = NoiseMatrix(JOINT, classes=["cat", "dog", "owl"])


def shown_cells(ax):
    """Return the numbers that a heat map shows, by row and column."""
    return {
        (int(text.get_position()[1]), int(text.get_position()[0])): text.get_text()
        for text in ax.texts
    }


def names_of(axis):
    return [text.get_text() for text in axis.get_ticklabels()]


def test_a_heat_map_shows_wrong_labels_in_percent_of_all():
    _, ax = plt.subplots()
    display = NoiseMatrixDisplay.from_matrix(PETS, ax=ax)
    assert display.ax_ is ax
    # A share that rounds to nothing is coloured, and not written as if there were none.
    assert shown_cells(ax) == {(0, 1): "2.0", (1, 0): "10.0"}
    assert names_of(ax.xaxis) == names_of(ax.yaxis) == ["cat", "dog", "owl"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("true label", "given label")
    assert ax.get_title() == "Wrong labels, in % of all labels"
    assert ax.get_ylim() == (2.5, -0.5)
    (cells,) = ax.collections
    opacity = cells.get_facecolors()[:, 3]
    assert len(opacity) == 3 + 3
    assert opacity[1] == max(opacity) == 0.6
    assert opacity[2] < opacity[0]


def test_small_shares_have_two_decimals_and_clean_labels_no_cells():
    small = NoiseMatrix([[0.5, 0.004, 0], [0, 0.296, 0], [0, 0, 0.2]], [1, 2, 3], reliable=False)
    ax = NoiseMatrixDisplay.from_matrix(small).ax_
    assert shown_cells(ax) == {(0, 1): "0.40"}
    assert ax.get_title().endswith("(not reliable)")
    clean = NoiseMatrixDisplay.from_matrix(NoiseMatrix(np.eye(3) / 3, [1, 2, 3]))
    assert len(clean.ax_.collections[0].get_facecolors()) == 3
    assert not clean.ax_.texts


def of_pairs(n):
    """Return a matrix in which a label of every odd class should be the one before, the later
    the more often.
    """
    joint = np.eye(n)
    for k in range(1, n, 2):
        joint[k, k - 1] = k / n
    return NoiseMatrix(joint / joint.sum(), classes=np.arange(n))


def test_of_many_classes_the_most_confused_are_shown_in_their_order():
    matrix = of_pairs(60)
    display = NoiseMatrixDisplay.from_matrix(matrix)
    assert display.shown.tolist() == list(range(40, 60))
    assert names_of(display.ax_.yaxis) == [str(k) for k in range(40, 60)]
    assert len(display.ax_.texts) == 10
    assert display.ax_.get_title().endswith("; 20 of 60 labels")
    assert NoiseMatrixDisplay(matrix, max_classes=4).shown.tolist() == [56, 57, 58, 59]
    most = NoiseMatrixDisplay.from_matrix(matrix, max_classes=100)
    assert most.shown.tolist() == list(range(60))
    assert not most.ax_.texts
    darkest = 100 * matrix.joint[59, 58]
    assert most.ax_.get_title() == f"Wrong labels, in % of all labels; darkest: {darkest:.2g}"


def test_names_of_classes_are_text_that_fits():
    long = ["$x^2$ & more\nand more 1", "$x^2$ & more\nand more 2", "owl"]
    display = NoiseMatrixDisplay.from_matrix(PETS, display_labels=long)
    assert names_of(display.ax_.yaxis) == ["$x^2$ &…more 1", "$x^2$ &…more 2", "owl"]
    assert [text.get_rotation() for text in display.ax_.get_xticklabels()] == [0, 0, 0]
    display.figure_.canvas.draw()
    ten = NoiseMatrixDisplay.from_matrix(NoiseMatrix(np.eye(9) / 9, list("abcdefghi")))
    assert ten.ax_.get_xticklabels()[0].get_rotation() == 0
    names = ["classes", *list("bcdefghi")]
    ten = NoiseMatrixDisplay.from_matrix(ten.matrix, display_labels=names)
    assert ten.ax_.get_xticklabels()[0].get_rotation() == 90


@pytest.mark.parametrize(
    ("matrix", "options", "error", "words"),
    [
        (
            NoiseRates.from_noise_rates(0.1, 0.2, 0.5),
            {},
            TypeError,
            "matrix must be a NoiseMatrix, got NoiseRates. .* NoiseRateDisplay",
        ),
        (JOINT, {}, TypeError, "matrix must be a NoiseMatrix, got ndarray"),
        (PETS, {"max_classes": 1}, ValueError, "max_classes must be .* at least 2, got 1"),
        (PETS, {"max_classes": 2.5}, ValueError, "max_classes must be a whole number"),
        (PETS, {"display_labels": ["a"]}, ValueError, "for each of the 3 classes, got 1"),
    ],
)
def test_what_is_no_matrix_or_does_not_fit_it_is_an_error(matrix, options, error, words):
    with pytest.raises(error, match=words):
        NoiseMatrixDisplay.from_matrix(matrix, **options)


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
