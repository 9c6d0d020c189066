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

Mode = Literal["review", "audit"]
Status = Literal["keep", "flip", "positive", "negative", "unsure", "disagreement"]

UNSURE, UNDO, DISAGREEMENT = "unsure", "undo", "disagreement"
# Possible answers: about the given label in a review, about the correct one in an audit.
ANSWERS: dict[str, tuple[str, ...]] = {
    "review": ("keep", "flip", UNSURE),
    "audit": ("positive", "negative", UNSURE),
}


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
        One of `ANSWERS`, or ``undo``.
    label : str or None
        The given label that was shown; None if it was hidden.
    score : float or None
        The probability of the positive label that was shown; None if it was hidden.
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

    status: Status
    decisions: tuple[Decision, ...]

    def by(self, reviewer: str) -> Decision | None:
        """Return this person's last decision about the row, or None."""
        own = [one for one in self.decisions if one.reviewer == reviewer]
        return own[-1] if own else None


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


def _status(made: Sequence[Decision]) -> Status:
    settling = [one for one in made if one.settles and one.answer != UNSURE]
    clear = settling[-1:] or [one for one in made if one.answer != UNSURE]
    # The same answer about a different given label means a different label.
    said = {(one.answer, one.label) for one in clear}
    if not said:
        return "unsure"
    return clear[-1].answer if len(said) == 1 else "disagreement"  # type: ignore[return-value]  # a clear one


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
                answers = of_row[a].answer, of_row[b].answer
                pairs.setdefault((a, b), {}).setdefault(one.row, answers)
    return [_agreement(names, list(rows.values())) for names, rows in sorted(pairs.items())]


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
