"""Whom to ask next is a question about rows: where would one more answer help most?"""

from __future__ import annotations

from typing import Any

import numpy as np

from rankprune.annotators._answers import Answers
from rankprune.annotators._consensus import Consensus, consensus
from rankprune.annotators._em import pooled_confusion
from rankprune.annotators._votes import Array
from rankprune.core._parameters import validate_count

# Pseudo-answers for each class that all annotators together are expected to give right.
_PRIOR = 1.0


def next_rows(answers: Answers, n: int, *, found: Consensus | None = None) -> list[Any]:
    """Return the ids of the rows where one more answer is expected to gain most.

    Parameters
    ----------
    answers : Answers
    n : int
        Number of rows.
    found : Consensus, default=None
        The consensus of these answers; by default ``consensus(answers)``.

    Returns
    -------
    list
        Ids, the largest gain first; rows that nobody has answered are among them. Fewer than `n` if
        there are fewer rows.

    Notes
    -----
    The gain is the expected growth of the probability that the label is right, after one answer
    of an average annotator. Where no single answer can change the label, the gain is 0, and
    rows with less confidence come first.

    Examples
    --------
    >>> from rankprune.annotators import Answers, next_rows
    >>> sure, open_ = [["a"] * 3, ["b"] * 3] * 20, [["a", "b", None], [None] * 3]
    >>> next_rows(Answers.from_wide(sure + open_), 2)
    [41, 40]
    """
    n = validate_count(n, "n", 100)
    if not isinstance(answers, Answers):
        raise TypeError(
            f"answers must be Answers, got {type(answers).__name__}. Pass Answers.from_long(...)."
        )
    found = consensus(answers) if found is None else found
    if found.rows != answers.rows or found.classes != answers.classes:
        raise ValueError(
            f"found must be the consensus of these answers, but it is about {len(found.rows)} rows "
            f"and {len(found.classes)} classes. Pass consensus(answers), or leave it out."
        )
    gain = expected_gain(answers, found.probabilities)
    # Rounded, so that gains that differ by rounding errors alone are ordered by confidence.
    order = np.lexsort((answers.per_row, found.confidence.round(12), -gain.round(12)))
    return [answers.rows[row] for row in order[:n]]


def expected_gain(answers: Answers, probabilities: Array) -> Array:
    """Return how much the confidence grows with one more answer, on average over answers."""
    k = len(answers.classes)
    counts = np.zeros((k, k))
    np.add.at(counts.T, answers.label, probabilities[answers.row])
    confusion = pooled_confusion((counts + _PRIOR * (np.eye(k) + 1 / k))[None])
    # Probability of each class together with each possible answer.
    after = np.stack([(probabilities * confusion[:, said]).max(axis=1) for said in range(k)])
    gain: Array = np.maximum(after.sum(axis=0) - probabilities.max(axis=1), 0.0)
    return gain
