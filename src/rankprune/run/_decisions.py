"""Reviewers' decisions about rows, and where each row stands: settled, unsure or disputed.

Decisions are only ever added. An undo names the decision it takes back; the others stand.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from rankprune.run._visible import visible

Mode = Literal["review", "audit"]

UNSURE, UNDO, DISAGREEMENT = "unsure", "undo", "disagreement"
# Possible answers about two labels: about the given label in a review, about the correct one in an
# audit. Among more labels, a clear answer names the correct one.
ANSWERS: dict[str, tuple[str, ...]] = {
    "review": ("keep", "flip", UNSURE),
    "audit": ("positive", "negative", UNSURE),
}
# An answer that names a label begins with this.
_NAMING = "="
# Characters of a label in a sentence about an answer.
_MAX_LABEL = 80


@dataclass(frozen=True)
class Decision:
    """One answer of one person about one row.

    Attributes
    ----------
    uid : str
        Identifier made by the page, so that a message that arrives twice counts once.
    row : int
        Position in the table, from 0.
    row_hash : str
        Hash of the row's cells except the label, so that a changed row is noticed.
    mode : {"review", "audit"}
    draw : int or None
        The sample of an audit that the row belongs to.
    reviewer : str
    answer : str
        One of `ANSWERS`, or ``undo``; among more than two labels, ``=`` and the name of the
        correct one.
    label : str or None
        The given label that was shown; None if it was hidden.
    score : float or None
        The probability of the positive label, or among more than two of the given one, that was
        shown; None if it was hidden.
    seconds : float
        Time spent on the row.
    note : str
    time : str
        In UTC, as ISO 8601.
    settles : bool
        Whether it settles a disagreement between others.
    undo_of : str or None
        The decision that it undoes.
    """

    uid: str
    row: int
    row_hash: str
    mode: Mode
    draw: int | None
    reviewer: str
    answer: str
    label: str | None
    score: float | None
    seconds: float
    note: str
    time: str
    settles: bool = False
    undo_of: str | None = None


@dataclass(frozen=True)
class Outcome:
    """Where a row stands after all decisions about it.

    Attributes
    ----------
    status : str
        The answer that settles it, ``unsure``, or ``disagreement``.
    decisions : tuple of Decision
        Decisions that stand, oldest first.
    """

    status: str
    decisions: tuple[Decision, ...]

    def by(self, reviewer: str) -> Decision | None:
        """Return this person's last decision about the row, or None."""
        own = [one for one in self.decisions if one.reviewer == reviewer]
        return own[-1] if own else None


def naming(label: str) -> str:
    """Return the answer that a label is the correct one."""
    return _NAMING + label


def named_label(answer: str) -> str | None:
    """Return the label that an answer names; None if it names none."""
    label = answer.removeprefix(_NAMING)
    return label if answer.startswith(_NAMING) and label else None


def answer_words(answer: str) -> str:
    """Return an answer as people read it."""
    label = named_label(answer)
    return answer if label is None else f"“{visible(label, _MAX_LABEL)}”"


def right_label(one: Decision, names: Sequence[str]) -> str | None:
    """Return the label that a decision takes for correct.

    Parameters
    ----------
    one : Decision
    names : sequence of str
        The labels of a run: of two, the negative one first.

    Returns
    -------
    str or None
        None if the person is unsure, or the answer is about labels that the run does not have.
    """
    named = one.label if one.answer == "keep" else named_label(one.answer)
    if len(names) == 2 and named is None:
        negative, positive = names
        other = {negative: positive, positive: negative}.get(str(one.label))
        return {"flip": other, "negative": negative, "positive": positive}.get(one.answer)
    return named if named in names else None


def _as_named(one: Decision) -> str:
    """Return the answer of a decision; to keep a label is to name it."""
    is_kept = one.answer == "keep" and one.label is not None
    return naming(str(one.label)) if is_kept else one.answer


def standing(decisions: Iterable[Decision]) -> list[Decision]:
    """Return the decisions that were not undone."""
    made = list(decisions)
    undone = {one.undo_of for one in made}
    return [one for one in made if one.answer != UNDO and one.uid not in undone]


def outcomes(decisions: Iterable[Decision]) -> dict[int, Outcome]:
    """Return where each judged row stands."""
    by_row: dict[int, list[Decision]] = {}
    for one in standing(decisions):
        by_row.setdefault(one.row, []).append(one)
    return {row: Outcome(_status(made), tuple(made)) for row, made in by_row.items()}


def _status(made: Sequence[Decision]) -> str:
    settling = [one for one in made if one.settles and one.answer != UNSURE]
    clear = settling[-1:] or [one for one in made if one.answer != UNSURE]
    said = {_meaning(one) for one in clear}
    if not said:
        return UNSURE
    return clear[-1].answer if len(said) == 1 else DISAGREEMENT


def _meaning(one: Decision) -> tuple[str, str | None]:
    """Return what is the same for decisions that take the same label for correct."""
    answer = _as_named(one)
    # To flip a different given label means a different label.
    return (answer, None if named_label(answer) else one.label)


@dataclass(frozen=True)
class Agreement:
    """How far two people agree on the rows that both judged.

    Attributes
    ----------
    reviewers : tuple of 2 str
    n_rows : int
    share : float
        Share of these rows with the same answer.
    kappa : float or None
        Cohen's kappa; None if both gave the same single answer to every row.
    """

    reviewers: tuple[str, str]
    n_rows: int
    share: float
    kappa: float | None


def agreements(decisions: Iterable[Decision]) -> list[Agreement]:
    """Return the agreement of each pair of people who judged some of the same rows.

    Answers count as they were when the second person first answered: later changes may be made
    with knowledge of the other answer.
    """
    said: dict[int, dict[str, Decision]] = {}
    pairs: dict[tuple[str, str], dict[int, tuple[str, str]]] = {}
    for one in decisions:
        of_row = said.setdefault(one.row, {})
        if one.answer == UNDO:
            if (known := of_row.get(one.reviewer)) and known.uid == one.undo_of:
                del of_row[one.reviewer]
        elif not one.settles:
            of_row[one.reviewer] = one
            for a, b in combinations(sorted(of_row), 2):
                answers = _compared(of_row[a], of_row[b])
                pairs.setdefault((a, b), {}).setdefault(one.row, answers)
    return [_agreement(names, list(rows.values())) for names, rows in sorted(pairs.items())]


def _compared(first: Decision, second: Decision) -> tuple[str, str]:
    """Return two answers to compare; one from when there were two labels names its label too."""
    if named_label(first.answer) or named_label(second.answer):
        return _as_named(first), _as_named(second)
    return first.answer, second.answer


def _agreement(names: tuple[str, str], answers: Sequence[tuple[str, str]]) -> Agreement:
    kinds = sorted({answer for pair in answers for answer in pair})
    table = np.zeros((len(kinds), len(kinds)))
    for a, b in answers:
        table[kinds.index(a), kinds.index(b)] += 1
    table /= len(answers)
    same = float(np.trace(table))
    chance = float(table.sum(axis=0) @ table.sum(axis=1))
    kappa = None if chance > 1 - 1e-12 else (same - chance) / (1 - chance)
    return Agreement(names, len(answers), same, kappa)


def row_hash(cells: Sequence[str | None], label: int) -> str:
    """Return a hash of a row's cells except the label."""
    rest = [cell for column, cell in enumerate(cells) if column != label]
    return hashlib.sha256(json.dumps(rest).encode()).hexdigest()[:32]
