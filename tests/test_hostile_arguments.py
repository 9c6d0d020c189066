"""Arguments of wrong kinds and sizes are refused in words that name them."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB

from rankprune import (
    NoiseRates,
    RankPruningClassifier,
    audit,
    check_labels,
    estimate_noise_rates,
    flip_labels,
    noise_rate_intervals,
    stream,
)
from rankprune.core import (
    ConfidentCounts,
    ConfidentState,
    add_uniform_rows,
    expected_noise_rates,
    gaussian_posterior,
    ideal_thresholds,
    importance_weights,
    make_gaussians,
    perfect_probabilities,
    unlabeled_weights,
)
from rankprune.core._inputs import validate_features, validate_labels, validate_probabilities
from rankprune.core._label_values import are_equal, is_missing, rows_equal_to
from rankprune.diagnostics import CalibrationDisplay, calibration, diagnose, separability_curve
from rankprune.methods import BaggingPUClassifier
from rankprune.metrics import clean_metrics, clean_scorer

LABELS, SCORES = [1, 1, 0, 0], [0.9, 0.4, 0.6, 0.1]
RATES = NoiseRates.from_noise_rates(0.1, 0.1, 0.5)
SAMPLE = audit.draw(LABELS, [True, False, True, False], 4, random_state=0)
HUGE = 10**400


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: validate_labels([[1], [1, 2]]), "labels must be an array of single values, but"),
        (lambda: validate_labels(np.ma.masked), "labels must not be missing; row 0 is masked"),
        (
            lambda: validate_labels(np.array([[1], 0, (2,)], dtype=object)),
            r"labels must be single values; row 0 holds \[1\]",
        ),
        (
            lambda: validate_labels(np.array([np.inf, 1.0], dtype=object)),
            "labels must not be missing; row 0 holds inf",
        ),
        (lambda: validate_labels(LABELS, pos_label=pd.NA), "pos_label must be one of"),
        (lambda: validate_labels(LABELS, pos_label=np.array([1])), "pos_label must be one of"),
        *(
            (call, r"method must be one of .* got array\(\[0.3, 0.2\]\)")
            for call in (
                lambda: estimate_noise_rates(LABELS, SCORES, method=np.array([0.3, 0.2])),
                lambda: noise_rate_intervals(LABELS, SCORES, method=np.array([0.3, 0.2])),
                lambda: ConfidentState(method=np.array([0.3, 0.2])),
            )
        ),
        (lambda: validate_probabilities([HUGE, 0.1], 2), "probabilities must be real numbers"),
        (
            lambda: validate_probabilities(np.array([np.complex128(0.5), 0.1], dtype=object), 2),
            "probabilities must be real numbers, got dtype object",
        ),
        (
            lambda: validate_probabilities(np.array([1e4000, 0.1], dtype=np.longdouble), 2),
            "row 0 holds inf",
        ),
        (lambda: NoiseRates.from_noise_rates(HUGE, 0, 0.5), r"must lie in \[0, 1\), got inf"),
        (lambda: NoiseRates.from_noise_rates(-HUGE, 0, 0.5), r"must lie in \[0, 1\), got -inf"),
        (
            lambda: NoiseRates.from_noise_rates(np.timedelta64(3, "D"), 0, 0.5),
            "positive_noise_rate must be a number",
        ),
        (lambda: ideal_thresholds(3), "rates must be NoiseRates, got int"),
        (lambda: perfect_probabilities([2.0], RATES), r"posterior must lie in \[0, 1\]; row 0"),
        (
            lambda: expected_noise_rates(LABELS, SCORES, RATES, 0.5),
            r"thresholds must be two finite numbers, got 0.5. Pass the positive and",
        ),
        (
            lambda: expected_noise_rates(LABELS, SCORES, RATES, (0.5, np.nan)),
            "thresholds must be two finite numbers",
        ),
        (lambda: make_gaussians(2.5), "n_rows must be a whole number of at least 1, got 2.5"),
        (
            lambda: make_gaussians(5, separability=np.inf),
            r"separability must be a number from -1e\+100 to 1e\+100, got inf. Pass e.g. 4",
        ),
        (lambda: gaussian_posterior([1.0]), r"X must be two-dimensional, .* got shape \(1,\)"),
        (lambda: validate_features([[1.0], [np.nan]]), "X must hold numbers .* row 1 holds nan"),
        (lambda: validate_features([["a"]]), "X must be real numbers, got dtype <U1"),
        (
            lambda: add_uniform_rows([[1.0]], LABELS, share=1),
            "X must have one row per label, got 1 rows for 4 labels",
        ),
        (
            lambda: add_uniform_rows([[1.0]] * 4, LABELS, share=Decimal("nan")),
            "share must be a finite number of at least 0",
        ),
        (
            lambda: flip_labels(
                LABELS, positive_noise_rate=0.1, negative_noise_rate=0.1, exact="no"
            ),
            "exact must be True or False, got 'no'",
        ),
        (lambda: clean_scorer(np.zeros(2), RATES), "metric must be one of"),
        (
            lambda: clean_metrics(LABELS, np.array([[1], 0, 1, 0], dtype=object), RATES),
            r"predictions must be single values; row 0 holds \[1\]",
        ),
        (
            lambda: audit.compare_errors(SAMPLE, LABELS, [1], LABELS),
            r"before must have one label per row, got shape \(1,\) for 4 labels",
        ),
        (
            lambda: audit.estimate(SAMPLE, [np.zeros(2), 0, 1, 1]),
            r"answers must be 1, 0 or None; answer 0 is array",
        ),
        (
            lambda: stream.estimate_noise_rates([(LABELS, SCORES)], pos_label=(1, 2)),
            "labels must hold two values",
        ),
        (
            lambda: stream.estimate_noise_rates([([[1]], [0.5])], pos_label=1),
            r"labels must be one-dimensional in every batch, got shape \(1, 1\)",
        ),
        (
            lambda: ConfidentState().update(np.array([(1,)], dtype=[("a", int)]), [0.5]),
            "labels must be numbers, booleans or strings",
        ),
        (
            lambda: RankPruningClassifier(0.5).fit([[1.0]] * 4, LABELS),
            "estimator must have fit, got 0.5. Pass a classifier",
        ),
        (
            lambda: RankPruningClassifier(GaussianNB()).fit([[1.0]] * 4, [[1], [1, 2], 0, 1]),
            "y must be an array of single values",
        ),
        (
            lambda: check_labels(None, LABELS, probabilities=SCORES, rounds="two"),
            "rounds must be a whole number of at least 1, got 'two'",
        ),
        (lambda: check_labels(3, LABELS, probabilities=SCORES), "at least 1 dimension"),
        (lambda: diagnose(LABELS, pd.Series(list("abab"))), "probabilities must be real numbers"),
    ],
)
def test_values_are_refused(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: audit.estimate("sample", LABELS), "sample must be an AuditSample, got str"),
        (lambda: audit.estimate(SAMPLE, 3), "answers must be a sequence of labels, got int"),
        (
            lambda: audit.plan(LABELS, SCORES, RATES, [True] * 4, sizes=3),
            "sizes must be a sequence of sizes, got int",
        ),
        (lambda: stream.read_scores(None, "s", "g"), "path must be the path of a file, got None"),
        (lambda: stream.read_scores("a", 1, "g"), "label must be the name of a column, got int"),
        (lambda: stream.estimate_noise_rates(lambda: 3), "must return an iterable .* got int"),
        (lambda: stream.estimate_noise_rates(np.array(1)), "batches must be an iterable"),
        (
            lambda: NoiseRates(0, 0, 0, 0, 0.5, 0.5, counts={}),
            "counts must be ConfidentCounts or None, got dict",
        ),
        (
            lambda: CalibrationDisplay.from_predictions(LABELS, SCORES, ax=3),
            "ax must be axes of matplotlib or None, got int",
        ),
    ],
)
def test_types_are_refused(call, message):
    with pytest.raises(TypeError, match=message):
        call()


def test_labels_of_objects_are_compared_one_by_one():
    values = np.array([1, pd.NA, np.zeros(2), "a", HUGE], dtype=object)
    assert rows_equal_to(values, 1).tolist() == [True, False, False, False, False]
    assert rows_equal_to(np.array([1.0, 2.0]), [1.0, 2.0]).tolist() == [False, False]
    assert rows_equal_to(np.array([1.0]), HUGE).tolist() == [False]
    assert [are_equal(1, 1), are_equal([1], [1]), are_equal(1, np.zeros(2))] == [True, False, False]
    assert [is_missing(value) for value in (None, np.nan, pd.NA, 0, np.zeros(2))] == [
        *(True, True, True, False, False)
    ]


def test_numbers_of_any_type_are_accepted():
    assert NoiseRates.from_noise_rates(Fraction(1, 4), 0, 0.5).positive_noise_rate == 0.25
    curve = separability_curve(LABELS, SCORES, level=Fraction(19, 20), n_points=10**30)
    assert np.isfinite(curve.positive.high).all()
    assert len(calibration(LABELS, SCORES, n_bins=10**30).rows) == 4
    counts = ConfidentCounts(1, 0, 0, 1)
    assert NoiseRates(0, 0, 0, 0, 0.5, 0.5, counts=counts).counts is counts
    flipped = flip_labels([1, HUGE], positive_noise_rate=0.9, negative_noise_rate=0, random_state=0)
    assert flipped.tolist() == [1, 1]


def test_a_class_that_weighs_almost_nothing_is_refused_by_name():
    """The difference of two sums would be 0, and every rate a division by 0."""
    weight = [1e-60, 1e-60, 1e60, 1e60]
    with pytest.raises(ValueError, match="sample_weight must give each class at least 1e-12"):
        estimate_noise_rates(LABELS, SCORES, method="tight", sample_weight=weight)
    weight = [1e-5, 1e-5, 1e5, 1e5]
    side = separability_curve(LABELS, SCORES, sample_weight=weight).positive
    assert np.isfinite(side.share_of_class).all()


def test_tiny_probabilities_and_frequencies_give_finite_weights():
    assert importance_weights([1, 0], [5e-324, 0.5], RATES).tolist() == [0.0, 1.0]
    assert unlabeled_weights([0.0, 5e-324, 0.5], 1e-320).tolist()[::2] == [0.0, 1.0]


def test_metrics_of_almost_certain_intervals_are_finite():
    found = clean_metrics([1, 0] * 9, [1, 0] * 9, RATES, level=1 - 1e-16)
    assert all(one.low <= one.value <= one.high <= 2 for one in found.values())


def test_expected_rates_without_a_confident_row_are_the_true_rates():
    found = expected_noise_rates(LABELS, SCORES, RATES, (0.95, 0.05))
    assert found.positive_noise_rate == pytest.approx(0.1)
    assert found.negative_noise_rate == pytest.approx(0.1)


class Undecided(GaussianNB):
    """Predicts no number."""

    def predict_proba(self, X):
        return np.full((len(X), 2), np.nan)


def test_bags_refuse_estimators_that_predict_no_number():
    model = BaggingPUClassifier(Undecided(), n_estimators=2, random_state=0)
    with pytest.raises(ValueError, match=r"in \[0, 1\]; Undecided gave nan for row 0. Check its"):
        model.fit([[0.0], [1.0], [2.0], [3.0]] * 3, LABELS * 3).predict_proba([[0.0]])
