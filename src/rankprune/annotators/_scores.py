"""A classifier as one more witness: its out-of-fold scores become a prior for each row."""

from __future__ import annotations

import numpy as np

from rankprune.annotators._votes import Array

# Scores closer to 0 are treated alike: no single classifier is that certain.
_LEAST = 1e-4
# Strength of the pull towards a slope of 0 and towards equal classes, in rows.
_RIDGE = 1.0
_STEPS = 2


class ScorePrior:
    """The step that calibrates scores to the probabilities of the true classes.

    P(class) is proportional to ``score ** slope * factor[class]``: a slope below 1 makes an
    overconfident classifier more modest, and 0 ignores it. Each call improves slope and factors by
    Newton's method, so the likelihood never falls.
    """

    def __init__(self, scores: Array) -> None:
        self._log_scores = _log(scores)
        self._state: Array = np.zeros(scores.shape[1] + 1)

    def __call__(self, probabilities: Array) -> tuple[Array, float]:
        """Return the log-probabilities of the classes of each row, and that of the smoothing."""
        best, logits = self._value(self._state, probabilities)
        for _ in range(_STEPS):
            move = _newton(self._state, np.exp(logits), probabilities, self._log_scores)
            for _ in range(20):
                found, new_logits = self._value(self._state + move, probabilities)
                if found >= best:
                    self._state, best, logits = self._state + move, found, new_logits
                    break
                move /= 2
        return logits, -0.5 * _RIDGE * float((self._state**2).sum())

    def of(self, scores: Array) -> Array:
        """Return the log-probabilities of the classes of other rows."""
        return _logits(self._state, _log(scores))

    def _value(self, at: Array, targets: Array) -> tuple[float, Array]:
        logits = _logits(at, self._log_scores)
        return float((targets * logits).sum() - 0.5 * _RIDGE * (at**2).sum()), logits


def _log(scores: Array) -> Array:
    log_scores: Array = np.log(np.clip(scores, _LEAST, 1.0))
    log_scores -= log_scores.mean(axis=1, keepdims=True)
    return log_scores


def _logits(at: Array, log_scores: Array) -> Array:
    logits: Array = at[0] * log_scores + at[1:]
    logits -= logits.max(axis=1, keepdims=True)
    logits -= np.log(np.exp(logits).sum(axis=1, keepdims=True))
    return logits


def _newton(at: Array, shares: Array, targets: Array, log_scores: Array) -> Array:
    """Return Newton's step for slope and factors."""
    k = shares.shape[1]
    rest = targets - shares
    gradient = np.concatenate([[(rest * log_scores).sum()], rest.sum(axis=0)]) - _RIDGE * at
    mean = (shares * log_scores).sum(axis=1, keepdims=True)
    weighted = shares * (log_scores - mean)
    hessian = np.empty((k + 1, k + 1))
    hessian[0, 0] = (weighted * log_scores).sum()
    hessian[0, 1:] = hessian[1:, 0] = weighted.sum(axis=0)
    hessian[1:, 1:] = np.diag(shares.sum(axis=0)) - shares.T @ shares
    hessian += _RIDGE * np.eye(k + 1)
    return np.asarray(np.linalg.solve(hessian, gradient), dtype=np.float64)
