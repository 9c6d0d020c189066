"""Expectation maximisation: annotators' error rates and the true labels explain each other.

The answers are a sparse matrix with one column for each pair of annotator and label. Each iteration
multiplies it twice: by the logarithms of the confusions, and transposed by the probabilities.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankprune.annotators._answers import Answers
from rankprune.annotators._votes import Array

# Every confusion keeps at least this share of pseudo-answers spread evenly.
_EVEN = 0.02
# Pseudo-rows of each class.
_CLASS_SMOOTHING = 1.0


@dataclass(frozen=True, eq=False)
class Fit:
    """What one run of the iterations found.

    Attributes
    ----------
    probabilities : ndarray of shape (n_rows, n_classes)
    confusion : ndarray of shape (n_annotators, n_classes, n_classes)
        P(answer | true class); the true class is the second axis.
    log_prior : ndarray of shape (n_classes,) or (n_rows, n_classes)
    log_likelihoods : tuple of float
        After each iteration, with the terms of the smoothing; they never fall.
    converged : bool
    """

    probabilities: Array
    confusion: Array
    log_prior: Array
    log_likelihoods: tuple[float, ...]
    converged: bool


# Returns the confusions of all annotators from their counts, and the logarithm of the smoothing.
MStep = Callable[[Array], tuple[Array, float]]
# Returns the logarithm of the prior of each class, per row or for all, and that of its smoothing.
PriorStep = Callable[[Array], tuple[Array, float]]


@dataclass(frozen=True, eq=False)
class Design:
    """The answers as a sparse matrix, and the true labels that are known."""

    matrix: sparse.csr_array
    transposed: sparse.csr_array
    shape: tuple[int, int, int]
    known: NDArray[np.intp]

    @classmethod
    def of(cls, answers: Answers, known: NDArray[np.intp], weight: Array | None = None) -> Design:
        """Return the design of answers; `known` holds the class of each row, or -1."""
        n, m, k = len(answers.rows), len(answers.annotators), len(answers.classes)
        values = np.ones(len(answers)) if weight is None else weight
        ends = np.concatenate([[0], np.cumsum(answers.per_row)])
        columns = answers.annotator * k + answers.label
        small = np.int32 if max(len(answers), n, m * k) < 2**31 else np.int64
        matrix = sparse.csr_array(
            (values, columns.astype(small), ends.astype(small)), shape=(n, m * k)
        )
        return cls(matrix, matrix.T.tocsr(), (n, m, k), known)

    def counts(self, probabilities: Array) -> Array:
        """Return the expected answers by annotator, true class and label."""
        _, m, k = self.shape
        found: Array = (self.transposed @ probabilities).reshape(m, k, k).transpose(0, 2, 1)
        return found

    def posterior(self, confusion: Array, log_prior: Array) -> tuple[Array, float]:
        """Return the probability of each class of each row, and the log-likelihood."""
        _, m, k = self.shape
        table = np.log(confusion).transpose(0, 2, 1).reshape(m * k, k)
        scores = self.matrix @ table
        scores += log_prior
        return normalised(scores, self.known)


def normalised(scores: Array, known: NDArray[np.intp]) -> tuple[Array, float]:
    """Return softmax(scores) with known classes inserted, and the log-likelihood."""
    rows = np.flatnonzero(known >= 0)
    fixed = scores[rows, known[rows]]
    top = scores.max(axis=1, keepdims=True)
    scores = np.exp(scores - top)
    total = scores.sum(axis=1, keepdims=True)
    log_totals = np.log(total) + top
    log_totals[rows, 0] = fixed
    scores /= total
    scores[rows] = 0.0
    scores[rows, known[rows]] = 1.0
    return scores, float(log_totals.sum())


def dawid_skene_step(target: Array, smoothing: float) -> MStep:
    """Return the step that gives each annotator a full confusion, smoothed towards a target.

    The target is one confusion for all annotators, or one for each; `smoothing` is the number of
    pseudo-answers for each true class.
    """
    prior = smoothing * ((1 - _EVEN) * target + _EVEN / target.shape[-1])

    def step(counts: Array) -> tuple[Array, float]:
        confusion = counts + prior
        confusion /= confusion.sum(axis=2, keepdims=True)
        return confusion, float((prior * np.log(confusion)).sum())

    return step


def one_coin_step(target: Array, smoothing: float) -> MStep:
    """Return the step that gives each annotator one accuracy, and equally likely errors.

    The target is one confusion for all annotators; its mean accuracy counts.
    """
    k = target.shape[-1]
    share = (1 - _EVEN) * float(np.trace(target)) / k + _EVEN / k
    right, wrong = smoothing * share, smoothing * (1 - share)

    def step(counts: Array) -> tuple[Array, float]:
        correct = np.einsum("mkk->m", counts) + right
        accuracy = correct / (counts.sum(axis=(1, 2)) + smoothing)
        confusion = np.repeat(((1 - accuracy) / (k - 1))[:, None], k * k, axis=1).reshape(-1, k, k)
        confusion[:, np.arange(k), np.arange(k)] = accuracy[:, None]
        return confusion, float((right * np.log(accuracy) + wrong * np.log(1 - accuracy)).sum())

    return step


def pooled_confusion(counts: Array) -> Array:
    """Return the confusion of all annotators together; the identity for classes never seen."""
    pooled = counts.sum(axis=0) + 1e-9 * np.eye(counts.shape[1])
    shares: Array = pooled / pooled.sum(axis=1, keepdims=True)
    return shares


def class_prior(probabilities: Array) -> tuple[Array, float]:
    """Return the logarithm of the share of each class, smoothed."""
    totals = probabilities.sum(axis=0) + _CLASS_SMOOTHING
    log_shares = np.log(totals / totals.sum())
    return log_shares, float(_CLASS_SMOOTHING * log_shares.sum())


def iterate(
    design: Design,
    start: Array,
    m_step: MStep,
    prior_step: PriorStep,
    *,
    max_iter: int,
    tol: float = 1e-6,
) -> Fit:
    """Alternate both steps until an answer gains less than `tol` of log-likelihood on average.

    Three rows, two annotators and two classes, ann answers 1, 1, 0 and bob 1, 0, 0. The start by
    votes gives P(1) = 1, 1/2, 0. Expected answers of ann when the truth is 1: 1.5 times 1, and 0
    times 0; when it is 0: 0.5 times 1, and 1 times 0. So, without smoothing, ann's confusion is
    [[2/3, 1/3], [0, 1]] and bob's [[1, 0], [1/3, 2/3]]. Both classes have a share of 1/2, so the
    second row has odds P(1) : P(0) = 1 * 1/3 : 1/3 * 1 and stays at 1/2.
    """
    probabilities, trace = start, []
    converged = False
    for _ in range(max_iter):
        confusion, smooth = m_step(design.counts(probabilities))
        log_prior, more = prior_step(probabilities)
        probabilities, likelihood = design.posterior(confusion, log_prior)
        trace.append(likelihood + smooth + more)
        if len(trace) > 1 and trace[-1] - trace[-2] <= tol * max(design.matrix.nnz, 1):
            converged = True
            break
    return Fit(probabilities, confusion, log_prior, tuple(trace), converged)
