"""What a fit says about each annotator: accuracy and confusion, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune.annotators._answers import Answers
from rankprune.annotators._votes import Array
from rankprune.core import Interval
from rankprune.core._shares import share_band

COVERS = "the choice of rows and doubt about their labels, but not errors that annotators share"
CANNOT_TELL = "nothing: the answers cannot tell, for the reasons in the doubts of the consensus"


@dataclass(frozen=True)
class Annotator:
    """One annotator: how many answers, how good, and which errors.

    Attributes
    ----------
    annotator : object
        The id.
    n_answers : int
    accuracy : Interval
        Share of correct answers.
    confusion : tuple of tuple of Interval
        ``confusion[t][a]``: share of the answers ``classes[a]`` about rows whose true class is
        ``classes[t]``. The noise rates are off the diagonal.
    worst : tuple of (true class, answer, share)
        The most frequent errors, at most three, as shares of the rows of the true class; only those
        expected in at least one answer.
    copies : object or None
        The annotator whose answers this one repeats, if any.

    Examples
    --------
    >>> from rankprune.annotators import Answers, consensus
    >>> answers = Answers.from_wide([["a", "a", "a"], ["b", "b", "a"], ["b", "b", "b"]] * 40)
    >>> third = consensus(answers).annotators[2]
    >>> third.n_answers, [(true, said) for true, said, share in third.worst]
    (120, [('b', 'a')])
    """

    annotator: Any
    n_answers: int
    accuracy: Interval
    confusion: tuple[tuple[Interval, ...], ...]
    worst: tuple[tuple[Any, Any, float], ...]
    copies: Any = None

    def __str__(self) -> str:
        errors = "; ".join(f"{true} as {said}: {share:.0%}" for true, said, share in self.worst)
        copied = "" if self.copies is None else f"; copies {self.copies}"
        return (
            f"{self.annotator}: {self.n_answers} answers, accuracy {self.accuracy}"
            + (f"; {errors}" if errors else "")
            + copied
        )


def annotator_table(
    answers: Answers,
    probabilities: Array,
    source: NDArray[np.intp],
    *,
    level: float,
    is_known: bool,
) -> tuple[Annotator, ...]:
    """Return the annotators in the order of `answers.annotators`; `source` is whom each copies.

    The number of answers behind each share is reduced by what doubt about the true labels costs
    (Louis 1982): an answer about a row of probability p carries no information if p is 1/2.
    """
    m, k = len(answers.annotators), len(answers.classes)
    cell = answers.annotator * k + answers.label
    truth = probabilities[answers.row]
    doubt = truth * (1 - truth)
    counts, doubts = (
        np.stack([np.bincount(cell, of[:, t], m * k).astype(float) for t in range(k)], axis=1)
        .reshape(m, k, k)
        .transpose(0, 2, 1)
        for of in (truth, doubt)
    )
    cells = _bands(counts, counts.sum(axis=2, keepdims=True), doubts, level)
    correct = np.einsum("mkk->m", counts)
    n = answers.per_annotator.astype(float)
    own = truth[np.arange(len(answers)), answers.label]
    own_doubt = np.bincount(answers.annotator, own * (1 - own), m).astype(float)
    # An answer that is certainly wrong or right carries full information about accuracy.
    whole = _band(correct, n, own_doubt, own_doubt * 0, level, both=True)
    found = []
    for who in range(m):
        shares = counts[who] / np.maximum(counts[who].sum(axis=1, keepdims=True), 1e-300)

        found.append(
            Annotator(
                annotator=answers.annotators[who],
                n_answers=int(n[who]),
                accuracy=_interval(*(float(part[who]) for part in whole), is_known=is_known),
                confusion=tuple(
                    tuple(
                        _interval(*(float(part[who, t, a]) for part in cells), is_known=is_known)
                        for a in range(k)
                    )
                    for t in range(k)
                ),
                worst=_worst(counts[who], shares, answers.classes),
                copies=None if source[who] == who else answers.annotators[source[who]],
            )
        )
    return tuple(found)


def _bands(part: Array, whole: Array, doubts: Array, level: float) -> tuple[Array, Array, Array]:
    """Return shares of each confusion with their limits."""
    whole = np.broadcast_to(whole, part.shape)
    other = np.broadcast_to(doubts.sum(axis=2, keepdims=True), part.shape) - doubts
    flat = _band(part.ravel(), whole.ravel(), doubts.ravel(), other.ravel(), level)
    estimate, low, high = (values.reshape(part.shape) for values in flat)
    return estimate, low, high


def _band(
    part: Array, whole: Array, doubt: Array, other: Array, level: float, *, both: bool = False
) -> tuple[Array, Array, Array]:
    """Return shares and limits; `doubt` is that of the answers counted, `other` of the rest."""
    some = whole > 0
    share = np.where(some, part / np.where(some, whole, 1.0), 0.5)
    inner = np.clip(share, 0.5 / np.maximum(whole, 1.0), 1 - 0.5 / np.maximum(whole, 1.0))
    if both:
        lost = doubt / (inner * (1 - inner))
    else:
        lost = doubt * (1 - inner) / inner + other * inner / (1 - inner)
    size = np.clip(whole - lost, 1e-6, None)
    low, high = share_band(share * size, size, level)
    low, high = (np.where(size > 1e-3, limit, end) for limit, end in ((low, 0.0), (high, 1.0)))
    return share, np.minimum(low, share), np.maximum(high, share)


def _interval(estimate: float, low: float, high: float, *, is_known: bool) -> Interval:
    if is_known:
        return Interval(estimate, low, high, COVERS)
    return Interval(estimate, 0.0, 1.0, CANNOT_TELL)


def _worst(counts: Array, shares: Array, classes: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the errors with the largest shares of their true class."""
    errors = np.where((counts >= 1) & ~np.eye(len(classes), dtype=bool), shares, 0.0)
    order = np.argsort(-errors, axis=None, kind="stable")[:3]
    cells = [np.unravel_index(place, errors.shape) for place in order]
    return tuple(
        (classes[true], classes[said], float(errors[true, said]))
        for true, said in cells
        if errors[true, said] > 0
    )
