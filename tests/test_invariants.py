"""What must not change an estimate: the order of rows, weights for repetition, names of classes."""

import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankprune import NoiseRates, prune_labels
from rankprune.core import NOISE_ESTIMATORS, estimate_noise_rates
from rankprune.diagnostics import calibration, separability_curve

RATE_NAMES = (
    "positive_noise_rate",
    "negative_noise_rate",
    "positive_label_error_rate",
    "negative_label_error_rate",
    "observed_prevalence",
    "estimated_prevalence",
)
METHODS = sorted(NOISE_ESTIMATORS)
# These sum floats in the order of rows, so that the last digits depend on it.
SUMMED = {"elkan-noto", "elkan-noto-e2"}
# A curve is fitted by iterations that end at a tolerance: the same rows in another form may end
# at a slightly different curve.
FITTED = 2e-3
# These look at positive labels alone: with the classes swapped, they answer another question.
ONE_SIDED = {"elkan-noto", "elkan-noto-e2", "elkan-noto-e3"}


@st.composite
def rows(draw, n_most=60):
    """Labels of both classes, and scores with ties that lean towards the labels."""
    n = draw(st.integers(4, n_most))
    labels = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    labels[:2] = True, False
    grid = draw(st.lists(st.integers(0, 64), min_size=n, max_size=n))
    lean = draw(st.integers(0, 64))
    return labels, np.clip(np.array(grid) + np.where(labels, lean, 0), 0, 64) / 64


def estimate(method, labels, scores, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few rows are rarely informative
        found = estimate_noise_rates(labels, scores, method=method, **more)
    return np.array([getattr(found, name) for name in RATE_NAMES])


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=25)
@given(rows(), st.integers(0, 2**32))
def test_the_order_of_rows_does_not_change_rates(method, drawn, seed):
    labels, scores = drawn
    order = np.random.default_rng(seed).permutation(len(labels))
    before, after = estimate(method, *drawn), estimate(method, labels[order], scores[order])
    if method in SUMMED:
        np.testing.assert_allclose(after, before, rtol=0, atol=1e-12)
    else:
        np.testing.assert_array_equal(after, before)


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=25)
@given(rows(30), st.data())
def test_whole_weights_count_as_repeated_rows(method, drawn, data):
    labels, scores = drawn
    times = np.array(
        data.draw(st.lists(st.integers(0, 3), min_size=len(labels), max_size=len(labels)))
    )
    times[:2] = 1
    weighted = estimate(method, labels, scores, sample_weight=times)
    repeated = estimate(method, np.repeat(labels, times), np.repeat(scores, times))
    np.testing.assert_allclose(weighted, repeated, rtol=0, atol=1e-12)


@pytest.mark.parametrize("method", sorted(set(METHODS) - ONE_SIDED))
@settings(max_examples=25)
@given(rows())
def test_swapping_the_classes_swaps_the_rates(method, drawn):
    labels, scores = drawn
    given_, swapped = estimate(method, labels, scores), estimate(method, ~labels, 1 - scores)
    expected = given_[[1, 0, 3, 2, 4, 5]]
    expected[4:] = 1 - expected[4:]
    tolerance = FITTED if method == "curve" else 1e-9
    np.testing.assert_allclose(swapped, expected, rtol=0, atol=tolerance)


@given(rows(), st.floats(0, 0.4), st.floats(0, 0.4), st.integers(0, 2**32))
def test_reordered_rows_without_ties_are_pruned_alike(drawn, positive, negative, seed):
    labels, scores = drawn
    # Every score differs, so no cut-off falls between equal ones.
    scores = np.argsort(np.argsort(scores, kind="stable")) / len(scores)
    rates = NoiseRates.from_label_error_rates(positive, negative, 0.5)
    order = np.random.default_rng(seed).permutation(len(labels))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mask = prune_labels(labels, scores, rates).mask
        reordered = prune_labels(labels[order], scores[order], rates).mask
    assert (reordered == mask[order]).all()


@given(rows(), st.floats(0.01, 0.99))
def test_bands_hold_the_shares_they_belong_to(drawn, level):
    found = calibration(*drawn, level=level)
    assert (found.low <= found.share_positive).all()
    assert (found.share_positive <= found.high).all()
    curve = separability_curve(*drawn, level=level)
    for side in (curve.positive, curve.negative):
        assert (side.low <= side.noise_rate).all()
        assert (side.noise_rate <= side.high).all()


@pytest.mark.parametrize("method", METHODS)
def test_memory_per_row_stays_below_the_documented_limit(method):
    n = 200_000
    generator = np.random.default_rng(0)
    labels = (generator.random(n) < 0.5).astype(np.int8)
    scores = np.clip(0.2 + 0.6 * labels + generator.normal(0, 0.1, n), 0, 1)
    estimate_noise_rates(labels, scores, method=method)  # what is imported counts once
    tracemalloc.start()
    estimate_noise_rates(labels, scores, method=method)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak / n < documented_limits()[method]


def documented_limits():
    """Read the table of bytes per row in docs/scale.md, one row of methods and their limit."""
    page = (Path(__file__).parents[1] / "docs" / "scale.md").read_text()
    table = page.split("| estimator | bytes per row, at most |")[1].split("\n\n")[0]
    limits = {}
    for line in table.splitlines()[2:]:
        names, limit = line.strip("| ").split(" | ")
        limits |= dict.fromkeys(names.replace("`", "").split(", "), float(limit))
    return limits
