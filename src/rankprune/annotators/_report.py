"""Annotators who need a second look: those who agree with nobody, copy, or answer too fast."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune.annotators._answers import Answers
from rankprune.annotators._consensus import Consensus, consensus
from rankprune.annotators._copies import count_pairs
from rankprune.annotators._votes import Array, count_votes
from rankprune.core._shares import share_band

# Annotators with fewer answers are not judged.
MIN_ANSWERS = 20
# Share of one label from which it counts as the only one.
_ONE_LABEL = 0.95
# Answers in less than this share of the median time of all annotators are too fast.
_FAST = 0.25
_LEVEL = 0.99


@dataclass(frozen=True)
class Remark:
    """Why an annotator needs a second look.

    Attributes
    ----------
    annotator : object
        The id.
    kind : {"agrees with nobody", "one label", "copies", "too fast"}
    detail : str
        The figures behind it.

    Examples
    --------
    >>> from rankprune.annotators import Remark
    >>> print(Remark("bob", "one label", "100% of 50 answers are 'no'"))
    bob: one label (100% of 50 answers are 'no')
    """

    annotator: Any
    kind: str
    detail: str

    def __str__(self) -> str:
        return f"{self.annotator}: {self.kind} ({self.detail})"


def annotator_report(answers: Answers, *, found: Consensus | None = None) -> list[Remark]:
    """Return remarks about annotators who need a second look.

    Parameters
    ----------
    answers : Answers
        With `seconds`, annotators that are too fast are reported too.
    found : Consensus, default=None
        The consensus of these answers with ``method="auto"``, which is computed by default.

    Returns
    -------
    list of Remark
        In the order of ``answers.annotators``. Annotators with fewer than 20 answers are judged
        only if they are copies.

    Notes
    -----
    An annotator agrees with nobody if even the upper 99% limit of the agreement with others on
    the same rows is below what chance gives, or no higher and with 100 answers or more. One label
    is reported if at least 95% of the answers are equal, and of the others' answers on the same
    rows clearly fewer. Too fast means a median time below a quarter of that of all annotators.

    Examples
    --------
    >>> from rankprune.annotators import Answers, annotator_report
    >>> rows = [["a", "a", "a"], ["b", "b", "a"]] * 30
    >>> answers = Answers.from_wide(rows, annotators=["ann", "bob", "cyd"])
    >>> for remark in annotator_report(answers):
    ...     print(remark)
    cyd: one label (100% of 60 answers are 'a', of others' answers 50%)
    """
    if not isinstance(answers, Answers):
        raise TypeError(
            f"answers must be Answers, got {type(answers).__name__}. Pass Answers.from_long(...)."
        )
    found = consensus(answers) if found is None else found
    told: list[list[Remark]] = [[] for _ in answers.annotators]
    for who, kind, detail in (
        *_strangers(answers),
        *_one_label(answers),
        *_copiers(answers, found),
        *_hasty(answers),
    ):
        told[who].append(Remark(answers.annotators[who], kind, detail))
    return [remark for remarks in told for remark in remarks]


_Found = list[tuple[int, str, str]]


def _others(answers: Answers) -> Array:
    """Return the other answers about the row of each answer, as counts of each class."""
    others = count_votes(answers)[answers.row]
    others[np.arange(len(answers)), answers.label] -= 1
    return others


def _strangers(answers: Answers) -> _Found:
    others = _others(answers)
    n_others = others.sum(axis=1)
    same = others[np.arange(len(answers)), answers.label] / np.maximum(n_others, 1)
    judged = n_others > 0
    m = len(answers.annotators)
    n = np.bincount(answers.annotator, judged, m).astype(float)
    agreed = np.bincount(answers.annotator, same * judged, m).astype(float)
    overall = np.bincount(answers.label, minlength=len(answers.classes)) / len(answers)
    # What an annotator with the same habits would reach without looking at the row.
    chance = np.bincount(answers.annotator, overall[answers.label] * judged, minlength=m)
    found = []
    for who in np.flatnonzero(n >= MIN_ANSWERS):
        limit = float(share_band(agreed[[who]], n[[who]], _LEVEL)[1][0])
        expected = chance[who] / n[who]
        if limit < expected or (n[who] >= 100 and agreed[who] / n[who] <= expected):
            share = agreed[who] / n[who]
            detail = f"{share:.0%} agreement on {n[who]:.0f} rows, {expected:.0%} by chance"
            found.append((int(who), "agrees with nobody", detail))
    return found


def _one_label(answers: Answers) -> _Found:
    m, k = len(answers.annotators), len(answers.classes)
    counts = np.bincount(answers.annotator * k + answers.label, minlength=m * k).reshape(m, k)
    others = np.zeros((m, k))
    np.add.at(others, answers.annotator, _others(answers))
    found = []
    for who in np.flatnonzero(counts.sum(axis=1) >= MIN_ANSWERS):
        label, n = int(counts[who].argmax()), int(counts[who].sum())
        n_others = others[who].sum()
        share = counts[who, label] / n
        rest = others[who, label] / n_others if n_others else float("nan")
        part, whole = np.array([float(counts[who, label])]), np.array([float(n)])
        own_low = float(share_band(part, whole, _LEVEL)[0][0])
        # On rows that nobody else answered, nothing shows that other labels are right.
        if share >= _ONE_LABEL and rest < own_low:
            value = repr(answers.classes[label])
            detail = f"{share:.0%} of {n} answers are {value}, of others' answers {rest:.0%}"
            found.append((int(who), "one label", detail))
    return found


def _copiers(answers: Answers, found: Consensus) -> _Found:
    pairs = count_pairs(answers)
    places = {annotator: who for who, annotator in enumerate(answers.annotators)}
    agreement = {
        frozenset((int(a), int(b))): f"{int(equal)} of {int(shared)} answers are equal"
        for a, b, shared, equal in zip(
            pairs.first, pairs.second, pairs.shared, pairs.equal, strict=True
        )
    }
    return [
        (
            places[one.annotator],
            "copies",
            f"{one.copies}: {agreement[frozenset((places[one.annotator], places[one.copies]))]}",
        )
        for one in found.annotators
        if one.copies is not None
    ]


def _hasty(answers: Answers) -> _Found:
    if answers.seconds is None:
        return []
    medians = _medians(answers, answers.seconds)
    typical = float(np.median(medians[~np.isnan(medians)])) if (~np.isnan(medians)).any() else 0.0
    return [
        (int(who), "too fast", f"median {medians[who]:.1f} s, {typical:.1f} s for all")
        for who in np.flatnonzero(medians < _FAST * typical)
    ]


def _medians(answers: Answers, seconds: Array) -> NDArray[np.float64]:
    """Return each annotator's median time; NaN with fewer than 20 known times."""
    medians = np.full(len(answers.annotators), np.nan)
    for who in range(len(medians)):
        times = seconds[(answers.annotator == who) & ~np.isnan(seconds)]
        if len(times) >= MIN_ANSWERS:
            medians[who] = np.median(times)
    return medians
