"""Votes: how many answers of each class a row has, and what follows from counting alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankprune.annotators._answers import Answers

Array = NDArray[np.float64]


def count_votes(answers: Answers, weight: Array | None = None) -> Array:
    """Return the weight of the answers for each class, of shape (n_rows, n_classes)."""
    shape = (len(answers.rows), len(answers.classes))
    cell = answers.row * shape[1] + answers.label
    return np.bincount(cell, weight, minlength=shape[0] * shape[1]).reshape(shape).astype(float)


def vote_shares(votes: Array) -> Array:
    """Return the share of each class among a row's answers; without answers, among all answers."""
    totals = votes.sum(axis=1, keepdims=True)
    overall = votes.sum(axis=0)
    overall = overall / overall.sum() if overall.any() else np.full(len(overall), 1 / len(overall))
    shares: Array = np.where(totals > 0, votes / np.maximum(totals, 1e-300), overall)
    return shares


def majority(votes: Array) -> Array:
    """Return the vote shares, with ties moved slightly towards the class that is more frequent."""
    shares = vote_shares(votes)
    tie = 1e-9 * votes.sum(axis=0) / max(votes.sum(), 1.0)
    moved: Array = shares + tie
    moved /= moved.sum(axis=1, keepdims=True)
    return moved
