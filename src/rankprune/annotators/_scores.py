"""A classifier as one more witness: its out-of-fold scores become a prior for each row."""

from __future__ import annotations

import numpy as np

from rankprune.annotators._em import PriorStep
from rankprune.annotators._votes import Array

# Scores closer to 0 are treated alike: no single classifier is that certain.
_LEAST = 1e-4
# Strength of the pull towards a slope of 0 and towards equal classes, in rows.
_RIDGE = 1.0
_STEPS = 2


def score_prior(scores: Array) -> PriorStep:
    """Return the step that calibrates scores to the probabilities of the true classes.

    P(class) is proportional to ``score ** slope * factor[class]``: a slope below 1 makes an
    overconfident classifier more modest, and 0 ignores it. Each call improves slope and factors by
    Newton's method, so the likelihood never falls.
    """
    log_scores = np.log(np.clip(scores, _LEAST, 1.0))
    log_scores -= log_scores.mean(axis=1, keepdims=True)
    k = scores.shape[1]
    state: Array = np.zeros(k + 1)

    def value(at: Array, targets: Array) -> tuple[float, Array]:
        logits = at[0] * log_scores + at[1:]
        logits -= logits.max(axis=1, keepdims=True)
        logits -= np.log(np.exp(logits).sum(axis=1, keepdims=True))
        return float((targets * logits).sum() - 0.5 * _RIDGE * (at**2).sum()), logits

    def step(probabilities: Array) -> tuple[Array, float]:
        nonlocal state
        best, logits = value(state, probabilities)
        for _ in range(_STEPS):
            move = _newton(state, np.exp(logits), probabilities, log_scores)
            for _ in range(20):
                found, new_logits = value(state + move, probabilities)
                if found >= best:
                    state, best, logits = state + move, found, new_logits
                    break
                move /= 2
        return logits, -0.5 * _RIDGE * float((state**2).sum())

    return step


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
