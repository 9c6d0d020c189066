"""Algorithm 1 written down as plainly as NumPy allows: what the fast version must equal."""

from __future__ import annotations

from fractions import Fraction

import numpy as np


def thresholds(labels, probabilities):
    """Means of the two classes as exact fractions, rounded once."""
    exact = [Fraction(float(p)) for p in probabilities]
    means = []
    for label in (1, 0):
        values = [p for p, s in zip(exact, labels, strict=True) if s == label]
        means.append(float(sum(values) / len(values)))
    return tuple(means)


def counts(labels, probabilities):
    lower, upper = thresholds(labels, probabilities)
    s, p = np.asarray(labels) == 1, np.asarray(probabilities, dtype=float)
    return (
        int((s & (p >= lower)).sum()),
        int((~s & (p >= lower)).sum()),
        int((s & (p <= upper)).sum()),
        int((~s & (p <= upper)).sum()),
    )


def mask(labels, probabilities, pi1, pi0):
    """Sort each class, drop as many as are wrong; sorting is stable, so ties go by row."""
    labels, p = np.asarray(labels), np.asarray(probabilities, dtype=float)
    dropped = np.zeros(len(labels), dtype=bool)
    positives, negatives = np.flatnonzero(labels == 1), np.flatnonzero(labels == 0)
    n_positive = min(round(pi1 * len(positives)), len(positives) - 1)
    n_negative = min(round(pi0 * len(negatives)), len(negatives) - 1)
    dropped[positives[np.argsort(p[positives], kind="stable")[:n_positive]]] = True
    dropped[negatives[np.argsort(-p[negatives], kind="stable")[:n_negative]]] = True
    return dropped
