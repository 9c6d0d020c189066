"""How far several reviewers of a run agree, and what their answers together say."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rankprune.annotators import consensus
from rankprune.core import Interval
from rankprune.run._check_record import CheckRecord
from rankprune.run._decisions import (
    DISAGREEMENT,
    Agreement,
    Outcome,
    agreements,
    outcomes,
    right_label,
)
from rankprune.run._reviewers_answers import answers_of, current_decisions
from rankprune.run._settled import Settled

# Least confidence of a consensus that may settle a disagreement.
SURE = 0.9


@dataclass(frozen=True)
class Reviewer:
    """One reviewer.

    Attributes
    ----------
    name : str
    n_settled, n_overruled : int
        Number of settled disagreements with an answer of this person, and of those in which it
        did not prevail.
    accuracy : Interval
        Share of correct answers, by the consensus.
    """

    name: str
    n_settled: int
    n_overruled: int
    accuracy: Interval


@dataclass(frozen=True)
class Reviewers:
    """What several reviewers of a run say together.

    Attributes
    ----------
    agreements : tuple of Agreement
        Of each pair that judged some of the same rows.
    n_settled : int
        Number of disagreements that were settled.
    likely : tuple of (row, label, confidence)
        Open disagreements, with the label of the consensus; rows are positions in the table.
    reviewers : tuple of Reviewer
    method : str
        The method of the consensus.
    doubts : tuple of str
        Why its confidence is not a probability; none if it is one.
    """

    agreements: tuple[Agreement, ...]
    n_settled: int
    likely: tuple[tuple[int, str, float], ...]
    reviewers: tuple[Reviewer, ...]
    method: str
    doubts: tuple[str, ...]


def compare_reviewers(run: CheckRecord, folder: Path, table: Any = None) -> Reviewers | None:
    """Return how far reviewers agree; None if no two of them have judged the same row."""
    decisions = current_decisions(run, folder, table)
    pairs = agreements(decisions)
    answers = answers_of(run, decisions)
    if not pairs or not len(answers):
        return None
    found = consensus(answers)
    stands = outcomes(decisions)
    settled = {row: label for row, one in stands.items() if (label := _settled(run, one))}
    place = {row: i for i, row in enumerate(found.rows)}
    taken, overruled = Counter[str](), Counter[str]()
    labels = zip(answers.row, answers.annotator, answers.label, strict=True)
    for row, who, label in labels:
        right = settled.get(answers.rows[row])
        if right is not None:
            taken[answers.annotators[who]] += 1
            overruled[answers.annotators[who]] += right != answers.classes[label]
    return Reviewers(
        agreements=tuple(pairs),
        n_settled=len(settled),
        likely=tuple(
            (row, str(found.labels[place[row]]), float(found.confidence[place[row]]))
            for row, one in sorted(stands.items())
            if one.status == DISAGREEMENT and row in place
        ),
        reviewers=tuple(
            Reviewer(
                str(one.annotator), taken[one.annotator], overruled[one.annotator], one.accuracy
            )
            for one in found.annotators
        ),
        method=found.method,
        doubts=found.doubts,
    )


def settle_by_consensus(run: CheckRecord, settled: Settled, found: Reviewers | None) -> Settled:
    """Return the settled labels with those of open disagreements that the consensus is sure of.

    None is, unless the answers can tell how often each reviewer errs: three a row can, two cannot.
    """
    if found is None or found.doubts:
        return settled
    labels = dict(zip(settled.rows.tolist(), settled.codes.tolist(), strict=True))
    # An audit may have settled a row on which reviewers disagree.
    likely = [one for one in found.likely if one[0] not in labels]
    sure = {row: label for row, label, confidence in likely if confidence >= SURE}
    labels |= {row: run.classes.index(label) for row, label in sure.items()}
    given = dict(zip(run.scores.rows.tolist(), run.given_codes.tolist(), strict=True))
    rows = sorted(labels)
    return replace(
        settled,
        rows=np.array(rows, dtype=np.intp),
        codes=np.array([labels[row] for row in rows], dtype=np.intp),
        n_changed=sum(given[row] != labels[row] for row in rows),
        n_disagreements=settled.n_disagreements - len(sure),
        by_consensus=frozenset(sure),
    )


def _settled(run: CheckRecord, outcome: Outcome) -> str | None:
    """Return the label of a disagreement that was settled; None for other rows."""
    clear = [
        (one, label)
        for one in outcome.decisions
        if (label := right_label(one, run.classes)) is not None
    ]
    blind = {label for one, label in clear if not one.settles}
    settling = [label for one, label in clear if one.settles]
    return settling[-1] if settling and len(blind) > 1 else None
