"""Many logistic regressions at once: each equals that of scikit-learn."""

import logging

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from rankprune.experiments._logistic import RoundRows, fit_logistic_models

PIXELS, DIGITS = load_digits(return_X_y=True)
X = (PIXELS / 16).astype(np.float32)
LABELS = np.column_stack([digit == DIGITS for digit in range(10)])


@pytest.mark.parametrize("C", [1.0, 0.1])
def test_models_equal_those_of_scikit_learn(C):
    models = fit_logistic_models(X, LABELS, C=C, tol=1e-6, max_iter=1000)
    for digit in range(10):
        single = LogisticRegression(C=C, tol=1e-6, max_iter=1000).fit(X, LABELS[:, digit])
        found = models.probabilities(X)[:, digit]
        assert found == pytest.approx(single.predict_proba(X)[:, 1], abs=2e-3)


def test_a_weight_of_zero_leaves_a_row_out_of_one_model():
    weights = np.ones(LABELS.shape, np.float32)
    weights[:900, 0] = 0
    weights[:, 1] = 3
    models = fit_logistic_models(X, LABELS, weights=weights, tol=1e-6, max_iter=1000)
    rest = LogisticRegression(tol=1e-6, max_iter=1000).fit(X[900:], LABELS[900:, 0])
    tripled = LogisticRegression(C=3, tol=1e-6, max_iter=1000).fit(X, LABELS[:, 1])
    found = models.probabilities(X)
    assert found[:, 0] == pytest.approx(rest.predict_proba(X)[:, 1], abs=2e-3)
    assert found[:, 1] == pytest.approx(tripled.predict_proba(X)[:, 1], abs=2e-3)


def test_the_solver_stops_at_max_iter_and_logs_its_progress(caplog):
    with caplog.at_level(logging.INFO, logger="rankprune"):
        short = fit_logistic_models(X, LABELS, max_iter=3)
    assert "iteration 0: 10 of 10 models open" in caplog.text
    assert "10 of 10 models did not converge" in caplog.text
    long = fit_logistic_models(X, LABELS, max_iter=200)
    assert not np.allclose(short.coefficients, long.coefficients)


def test_coordinates_do_not_change_the_models():
    """A fold in the coordinates of all rows gives the same models as in its own."""
    fold = np.arange(0, len(X), 2)
    whole = RoundRows.of(X)
    shared = fit_logistic_models(whole.take(fold), LABELS[fold], tol=1e-6)
    own = fit_logistic_models(X[fold], LABELS[fold], tol=1e-6)
    assert shared.probabilities(X) == pytest.approx(own.probabilities(X), abs=2e-3)


def test_round_rows_have_equal_curvature_in_all_directions():
    rows = RoundRows.of(X).rows.astype(np.float64)
    curvature = 0.05 * rows.T @ rows
    # 1, except in directions in which the rows hardly differ, where the penalty dominates.
    assert np.linalg.eigvalsh(curvature).max() == pytest.approx(1, abs=0.02)
    assert curvature == pytest.approx(np.diag(np.diag(curvature)), abs=1e-4)
