"""Copies: annotators who repeat each other's errors count once."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from rankprune.annotators._answers import Answers
from rankprune.annotators._votes import Array

# Pairs of annotators with fewer shared rows are not judged.
MIN_SHARED = 20
# Share of equal answers from which a pair is looked at.
_ALIKE = 0.9
# Standard deviations above the agreement that independent errors explain.
_Z = 4.0
# Copies disagree at most this many times as often as independent annotators would.
_LEAST_GAP = 0.5
# Pairs of answers to compare; of larger tables, evenly spaced rows are compared.
_MAX_PAIRS = 20_000_000


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of annotators who answered enough of the same rows.

    Attributes
    ----------
    first, second : ndarray of shape (n_pairs,)
    shared, equal : ndarray of shape (n_pairs,)
        Numbers of rows that both answered, and to which both gave the same answer.
    """

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    shared: Array
    equal: Array


def count_pairs(answers: Answers) -> Pairs:
    """Return how often the annotators of each pair gave the same answer."""
    per_row = answers.per_row.astype(float)
    step = max(1, int(np.ceil((per_row**2).sum() / _MAX_PAIRS)))
    used = answers.row % step == 0
    row, who, label = answers.row[used], answers.annotator[used], answers.label[used]
    m, k = len(answers.annotators), len(answers.classes)
    by_row = sparse.csr_array((np.ones(len(row)), (who, row)), shape=(m, len(answers.rows)))
    by_cell = sparse.csr_array(
        (np.ones(len(row)), (who, row * k + label)), shape=(m, len(answers.rows) * k)
    )
    both = sparse.triu(by_row @ by_row.T, 1).tocoo()
    enough = both.data >= MIN_SHARED
    first, second = both.row[enough].astype(np.intp), both.col[enough].astype(np.intp)
    alike = sparse.csr_array(by_cell @ by_cell.T)
    equal = np.asarray(alike[first, second]).ravel() if first.size else np.empty(0)
    return Pairs(first, second, both.data[enough], equal)


def groups_alike(answers: Answers, pairs: Pairs) -> NDArray[np.intp]:
    """Return the leader of each annotator: in each group of similar ones, who answered most."""
    m = len(answers.annotators)
    alike = pairs.equal >= _ALIKE * pairs.shared
    links = sparse.csr_array(
        (np.ones(int(alike.sum())), (pairs.first[alike], pairs.second[alike])), shape=(m, m)
    )
    _, group = connected_components(links, directed=False)
    order = np.lexsort((np.arange(m), -answers.per_annotator))
    leader = np.full(m, -1, dtype=np.intp)
    for who in order:
        if leader[group[who]] < 0:
            leader[group[who]] = who
    found: NDArray[np.intp] = leader[group]
    return found


def without(answers: Answers, dropped: NDArray[np.bool_]) -> Answers:
    """Return the answers without those of some annotators."""
    kept = ~dropped[answers.annotator]
    return replace(
        answers,
        row=answers.row[kept],
        annotator=answers.annotator[kept],
        label=answers.label[kept],
        seconds=None,
    )


def confirmed(answers: Answers, leader: NDArray[np.intp], probabilities: Array) -> NDArray[np.intp]:
    """Return whom each annotator copies, or the annotator: those alike only by chance stand alone.

    `probabilities` are those of a fit to the leaders alone, so that no group confirms itself.
    """
    k = len(answers.classes)
    source = np.arange(len(leader))
    for who in np.flatnonzero(leader != source):
        mine = answers.annotator == who
        theirs = answers.annotator == leader[who]
        rows, own, other = np.intersect1d(
            answers.row[mine], answers.row[theirs], return_indices=True
        )
        if len(rows) < MIN_SHARED:
            continue
        own_labels = answers.label[mine][own]
        is_equal = own_labels == answers.label[theirs][other]
        truth = probabilities[rows]
        confusion = np.full((k, k), 0.5 / k)
        np.add.at(confusion.T, own_labels, truth)
        confusion /= confusion.sum(axis=1, keepdims=True)
        expected = (truth * confusion[:, answers.label[theirs][other]].T).sum(axis=1)
        spread = np.sqrt((expected * (1 - expected)).sum())
        excess = is_equal.sum() - expected.sum()
        if excess > _Z * spread and (~is_equal).sum() < _LEAST_GAP * (1 - expected).sum():
            source[who] = leader[who]
    return source


def copy_weights(answers: Answers, source: NDArray[np.intp]) -> Array | None:
    """Return the weight of each answer: those of one group about one row weigh 1 together."""
    if (source == np.arange(len(source))).all():
        return None
    cell = answers.row * len(source) + source[answers.annotator]
    _, inverse, counts = np.unique(cell, return_inverse=True, return_counts=True)
    weights: Array = 1.0 / counts[inverse]
    return weights
