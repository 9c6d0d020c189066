"""Many logistic regressions fitted at once, for experiments that reuse the same rows.

Noise experiments fit the same rows hundreds of times with different labels. Fitted together, the
models need only matrix products, and in coordinates in which the loss is nearly spherical, only a
few of them.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

_log = logging.getLogger("rankprune")

_HISTORY = 10
# The curvature that a row adds to the loss of a typical model, p (1 - p).
_CURVATURE = 0.05
_ROWS_AT_ONCE = 4096
# The share of the expected decrease that a step must achieve, and how often it may be halved.
_SUFFICIENT = 1e-4
_MAX_HALVINGS = 20

Matrix = NDArray[np.float32]


@dataclass(frozen=True)
class LogisticModels:
    """Coefficients of many models, one column each; the last row holds the intercepts."""

    coefficients: Matrix

    def probabilities(self, X: Matrix) -> Matrix:
        """Return the probability of the positive label, one column per model."""
        scores = X @ self.coefficients[:-1] + self.coefficients[-1]
        return np.asarray(expit(scores), np.float32)


@dataclass(frozen=True)
class RoundRows:
    """Rows in coordinates in which a logistic loss curves equally in every direction.

    The penalty is transformed too, so every minimum stays the same; a solver reaches it in tens of
    steps instead of hundreds.

    Attributes
    ----------
    rows : float32 array of shape (n_rows, n_features + 1)
        The centred, rotated and scaled rows; the last column is constant, for the intercept.
    centre : array of shape (n_features,)
        Mean of the original rows.
    back : array of shape (n_features, n_features)
        Matrix that converts coefficients to those of the original rows.
    scales : array of shape (n_features + 1,)
        Divisors of the columns.
    """

    rows: Matrix
    centre: NDArray[np.float64]
    back: NDArray[np.float64]
    scales: NDArray[np.float64]

    @classmethod
    def of(cls, X: Matrix, *, C: float = 1.0) -> RoundRows:
        """Return rows in coordinates that suit models with this C."""
        centre = X.mean(axis=0, dtype=np.float64)
        centred = X - centre.astype(np.float32)
        variances, axes = np.linalg.eigh((centred.T @ centred).astype(np.float64))
        scales = np.sqrt(_CURVATURE * np.append(np.maximum(variances, 0), len(X)) + 1 / C)
        back = axes / scales[:-1]
        rows = np.empty((len(X), len(scales)), np.float32)
        np.matmul(centred, back.astype(np.float32), out=rows[:, :-1])
        rows[:, -1] = 1 / scales[-1]
        return cls(rows, centre, back, scales)

    def take(self, chosen: NDArray[np.intp]) -> RoundRows:
        """Return some of the rows, in the same coordinates."""
        return replace(self, rows=self.rows[chosen])

    def models(self, coefficients: Matrix) -> LogisticModels:
        """Return models that take the original rows."""
        slopes = self.back @ coefficients[:-1]
        intercepts = coefficients[-1] / self.scales[-1] - self.centre @ slopes
        return LogisticModels(np.vstack([slopes, intercepts]).astype(np.float32))


def fit_logistic_models(
    X: Matrix | RoundRows,
    is_positive: NDArray[np.bool_],
    *,
    weights: Matrix | None = None,
    C: float = 1.0,
    tol: float = 1e-5,
    max_iter: int = 500,
) -> LogisticModels:
    """Return one logistic regression per column of labels, all on the same rows.

    Loss and penalty are those of scikit-learn's `LogisticRegression`, with an L2 penalty on all but
    the intercept. A fit stops when the gradient of the mean loss is small: its length, rather than
    its largest component as in scikit-learn, must be at most `tol`.

    Parameters
    ----------
    X : float32 array of shape (n_rows, n_features), or RoundRows for this C
    is_positive : bool array of shape (n_rows, n_models)
    weights : float32 array of shape (n_rows, n_models), default=None
        A weight of 0 leaves a row out of one model.
    C, tol, max_iter
        As in `LogisticRegression`.
    """
    table = X if isinstance(X, RoundRows) else RoundRows.of(X, C=C)
    total = (
        np.full(is_positive.shape[1], len(table.rows), np.float64)
        if weights is None
        else weights.sum(axis=0, dtype=np.float64)
    )
    penalty = 1 / (C * table.scales**2)
    penalty[-1] = 0.0
    problem = _Problem(table.rows, is_positive, weights, total, penalty[:, None], table.scales)
    return table.models(_minimize(problem, tol=tol, max_iter=max_iter))


@dataclass(frozen=True)
class _Problem:
    rows: Matrix
    is_positive: NDArray[np.bool_]
    weights: Matrix | None
    total: NDArray[np.float64]
    penalty: NDArray[np.float64]
    scales: NDArray[np.float64]

    def loss_and_gradient(
        self, coefficients: Matrix, models: NDArray[np.intp]
    ) -> tuple[NDArray[np.float64], Matrix]:
        """Return the mean penalised loss of these models and its gradient."""
        loss = np.zeros(len(models))
        gradient = np.zeros_like(coefficients)
        for start in range(0, len(self.rows), _ROWS_AT_ONCE):
            block = slice(start, start + _ROWS_AT_ONCE)
            scores = self.rows[block] @ coefficients
            labels = self.is_positive[block][:, models]
            signed = np.where(labels, scores, -scores)
            losses = np.log1p(np.exp(-np.abs(signed))) + np.maximum(-signed, 0)
            residuals = expit(scores) - labels
            if self.weights is not None:
                weights = self.weights[block][:, models]
                losses *= weights
                residuals *= weights
            loss += losses.sum(axis=0, dtype=np.float64)
            gradient += self.rows[block].T @ residuals
        penalised = self.penalty * coefficients
        loss += 0.5 * (penalised * coefficients).sum(axis=0)
        gradient += penalised.astype(np.float32)
        total = self.total[models]
        return loss / total, (gradient / total).astype(np.float32)


def _minimize(problem: _Problem, *, tol: float, max_iter: int) -> Matrix:
    """Return the coefficients that minimise each loss; every model has its own L-BFGS steps."""
    n_models = problem.is_positive.shape[1]
    result = np.zeros((problem.rows.shape[1], n_models), np.float32)
    models = np.arange(n_models)
    current = result.copy()
    loss, gradient = problem.loss_and_gradient(current, models)
    steps: list[Matrix] = []
    changes: list[Matrix] = []
    for iteration in range(max_iter):
        # A rotation keeps lengths, so undoing the scales gives the original gradient's length.
        undone = problem.scales[:, None] * gradient
        open_ = np.sqrt(_dots(undone, undone)) > tol
        if not open_.all():
            result[:, models] = current
            models, current = models[open_], current[:, open_]
            loss, gradient = loss[open_], gradient[:, open_]
            steps = [step[:, open_] for step in steps]
            changes = [change[:, open_] for change in changes]
        if not len(models):
            break
        if iteration % 20 == 0:
            _log.info("iteration %d: %d of %d models open", iteration, len(models), n_models)
        direction = _direction(gradient, steps, changes)
        taken, new_loss, new_gradient = _search(problem, models, current, loss, gradient, direction)
        steps.append(taken * direction)
        changes.append(new_gradient - gradient)
        current = current + steps[-1]
        loss, gradient = new_loss, new_gradient
        del steps[:-_HISTORY], changes[:-_HISTORY]
    if len(models):
        _log.warning("%d of %d models did not converge", len(models), n_models)
    result[:, models] = current
    return result


def _dots(left: NDArray[np.floating[Any]], right: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    return np.asarray(np.einsum("ij,ij->j", left, right, dtype=np.float64))


def _direction(gradient: Matrix, steps: list[Matrix], changes: list[Matrix]) -> Matrix:
    """Return the quasi-Newton direction of every model from its last steps."""
    if not steps:
        # The first step has no scale yet, so its length is at most 1.
        size = np.sqrt(_dots(gradient, gradient))
        return (-gradient / np.maximum(size, 1)).astype(np.float32)
    direction = -gradient
    # A step without curvature (in float32) carries no information and is skipped.
    curvatures = [_dots(step, change) for step, change in zip(steps, changes, strict=True)]
    inverses = [np.where(c > 0, 1 / np.where(c > 0, c, 1), 0) for c in curvatures]
    shares = []
    for step, change, inverse in zip(
        reversed(steps), reversed(changes), reversed(inverses), strict=True
    ):
        share = (inverse * _dots(step, direction)).astype(np.float32)
        direction -= share * change
        shares.append(share)
    scale = _dots(changes[-1], changes[-1])
    usable = (curvatures[-1] > 0) & (scale > 0)
    direction *= np.where(usable, curvatures[-1] / np.where(usable, scale, 1), 1).astype(np.float32)
    for step, change, inverse, share in zip(
        steps, changes, inverses, reversed(shares), strict=True
    ):
        direction += (share - (inverse * _dots(change, direction)).astype(np.float32)) * step
    return direction


def _search(
    problem: _Problem,
    models: NDArray[np.intp],
    current: Matrix,
    loss: NDArray[np.float64],
    gradient: Matrix,
    direction: Matrix,
) -> tuple[Matrix, NDArray[np.float64], Matrix]:
    """Return step lengths that lower every loss enough, and the losses and gradients there."""
    expected = _dots(gradient, direction)
    length = np.ones(len(models), np.float32)
    new_loss, new_gradient = problem.loss_and_gradient(current + direction, models)
    for _ in range(_MAX_HALVINGS):
        # Near the minimum, a decrease lost in rounding counts as enough.
        slack = 1e-7 * np.abs(loss)
        short = np.flatnonzero(new_loss > loss + _SUFFICIENT * length * expected + slack)
        if not len(short):
            break
        length[short] /= 2
        new_loss[short], new_gradient[:, short] = problem.loss_and_gradient(
            current[:, short] + length[short] * direction[:, short], models[short]
        )
    return length, new_loss, new_gradient
