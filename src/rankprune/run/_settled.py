"""From the decision log to labels: which ones reviewers settled, who did, and why.

Rows that people judged for an audit are settled too. Where the two disagree, the later one counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune.run._check_record import CheckRecord
from rankprune.run._checked_table import open_checked
from rankprune.run._decision_log import DecisionLog, Merged
from rankprune.run._decisions import (
    DISAGREEMENT,
    UNSURE,
    Decision,
    Outcome,
    outcomes,
    row_hash,
    standing,
)
from rankprune.run._directory import LOG_FILE
from rankprune.run._judged_labels import judged_labels
from rankprune.run._label_check import LabelCheck
from rankprune.table import Table


@dataclass(frozen=True)
class Settled:
    """The rows whose labels people settled.

    Attributes
    ----------
    rows : ndarray of int
        Positions in the table, in its order.
    is_positive : ndarray of bool
        Their labels as settled.
    n_changed : int
        How many of them had the other label before.
    n_judged : int
        How many of them have the label that people gave for an audit, and no other decision.
    n_overruled : int
        How many have a label for which a review and an audit disagree; the later answer counts.
    n_unsure, n_disagreements, n_stale : int
        Rows that nobody was sure of, that reviewers judge differently, and that have changed since
        they were judged; all of these keep their labels.
    decisions : tuple of Decision
        All decisions, including those that were undone.
    stale : frozenset of str
        The uids of those about rows that have changed since.
    by_consensus : frozenset of int
        Rows on which reviewers disagree, settled by the consensus of their answers.
    """

    rows: NDArray[np.intp]
    is_positive: NDArray[np.bool_]
    n_changed: int
    n_unsure: int
    n_disagreements: int
    n_stale: int
    decisions: tuple[Decision, ...]
    stale: frozenset[str]
    n_judged: int = 0
    n_overruled: int = 0
    by_consensus: frozenset[int] = frozenset()

    def trail(self, run: LabelCheck) -> Iterator[dict[str, Any]]:
        """Yield every decision and what became of it, as values that JSON can hold."""
        stand = {one.uid for one in standing(self.decisions)}
        # Answers of an audit count where the run remembers them.
        known = set() if run.judged is None else set(run.judged.rows)
        labels = dict(zip(self.rows.tolist(), self.is_positive.tolist(), strict=True))
        place = {int(row): i for i, row in enumerate(run.scores.rows)}
        for one in self.decisions:
            settled = labels.get(one.row)
            given = place.get(one.row)
            name = None if run.scores.ids is None or given is None else run.scores.ids[given]
            was = None if given is None else bool(run.scores.is_positive[given])
            yield {
                **asdict(one),
                "row": one.row + 1,
                "id": None if name is None else str(name),
                "stands": one.uid in stand and (one.mode == "review" or one.row in known),
                "stale": one.uid in self.stale,
                "given": None if was is None else _name(run, was),
                "settled": None if settled is None else _name(run, settled),
                "changed": settled is not None and settled != was,
                **({"consensus": True} if one.row in self.by_consensus else {}),
            }


def read_settled(folder: Path, run: LabelCheck, table: Any = None) -> Settled:
    """Return the labels that reviewers settled in a run directory.

    Parameters
    ----------
    folder : Path
        The run directory.
    run : LabelCheck
        The check that was loaded from it.
    table : path or data frame, default=None
        The checked table, if it is no longer at its original path.
    """
    path = folder / LOG_FILE
    with open_checked(run, table) as opened:
        if not path.is_file() and len(judged_labels(run)[0]):
            # Rows that were judged in Python.
            return settled_labels(run, None, opened)
        with DecisionLog(path, must_exist=True) as log:
            return settled_labels(run, log, opened)


def merge_decisions(folder: Path, run: LabelCheck, other: Path, table: Any = None) -> Merged:
    """Add the reviewers' decisions of another log to the log of a run directory.

    Parameters
    ----------
    folder, run, table
        As in `read_settled`.
    other : Path
        The other log, or the run directory that holds it.
    """
    path = other / LOG_FILE if other.is_dir() else other
    with DecisionLog(path, must_exist=True) as log:
        theirs = log.decisions("review")
    with open_checked(run, table) as opened:
        is_current = current_rows(run, opened, theirs)
    with DecisionLog(folder / LOG_FILE) as log:
        return log.merge(theirs, is_current)


def settled_labels(run: LabelCheck, log: DecisionLog | None, table: Table) -> Settled:
    """Return the labels that reviewers settled, for rows that have not changed since.

    Rows that the run remembers as judged for an audit are among them. If a review says something
    else about such a row, the later answer counts; the review does if there is no log of the
    audit's answers. An unsure or disputed review changes nothing about an answer of the audit.
    """
    decisions = [] if log is None else log.decisions("review")
    audited = [] if log is None or run.judged is None else _audit_decisions(log)
    is_current = current_rows(run, table, decisions)
    found = outcomes(one for one in decisions if is_current(one))
    place = {int(row): i for i, row in enumerate(run.scores.rows)}
    labels: dict[int, bool] = {}
    # Rows whose only standing decisions are about other cells.
    stale = {one.row for one in standing(decisions)} - found.keys()
    for row, outcome in sorted(found.items()):
        if outcome.status in (UNSURE, DISAGREEMENT):
            continue
        if (settled := _label(run, outcome)) is None:
            stale.add(row)
        else:
            labels[row] = settled
    answered = outcomes(audited)
    n_judged = n_overruled = 0
    for row, right in zip(*(part.tolist() for part in judged_labels(run)), strict=True):
        reviewed = labels.get(row)
        n_judged += reviewed is None
        n_overruled += reviewed not in (None, right)
        if row not in answered:
            audited.append(_unlogged(row, right))
        if reviewed is None or (row in answered and _last(found[row]) < _last(answered[row])):
            labels[row] = right
    labels = dict(sorted(labels.items()))
    return Settled(
        np.fromiter(labels, dtype=np.intp, count=len(labels)),
        np.fromiter(labels.values(), dtype=bool, count=len(labels)),
        sum(bool(run.scores.is_positive[place[row]]) != new for row, new in labels.items()),
        sum(found[row].status == UNSURE for row in found.keys() - labels.keys()),
        sum(found[row].status == DISAGREEMENT for row in found.keys() - labels.keys()),
        len(stale - labels.keys()),
        (*decisions, *audited),
        frozenset(one.uid for one in decisions if one.row in stale or not is_current(one)),
        n_judged,
        n_overruled,
    )


def _audit_decisions(log: DecisionLog) -> list[Decision]:
    """Return the decisions of the latest audit, whose answers the run remembers."""
    draws = [draw.id for draw in log.last_draws()]
    return log.decisions("audit", *draws) if draws else []


def _last(outcome: Outcome) -> str:
    """Return when the answer that settles a row was last given."""
    return max(one.time for one in outcome.decisions if one.answer == outcome.status)


def _unlogged(row: int, right: bool) -> Decision:
    """Return an answer about a judged row that no log holds, such as one given in Python."""
    answer = "positive" if right else "negative"
    note = "judged outside of the page"
    return Decision("", row, "", "audit", None, "", answer, None, None, 0.0, note, "")


def current_rows(
    run: CheckRecord, table: Table, decisions: Iterable[Decision]
) -> Callable[[Decision], bool]:
    """Return a function that tells whether a decision is about a row that has not changed."""
    known = set(run.scores.rows.tolist())
    rows = sorted({one.row for one in decisions} & known)
    label = table.position(str(run.settings.label))
    cells = table.cells(np.asarray(rows, dtype=np.intp), list(range(len(table.names))))
    hashes = {row: row_hash(part, label) for row, part in zip(rows, cells, strict=True)}
    return lambda one: hashes.get(one.row) == one.row_hash


def _label(run: LabelCheck, outcome: Outcome) -> bool | None:
    """Return the settled label: the one that was shown, or the other."""
    last = [one for one in outcome.decisions if one.answer == outcome.status][-1]
    if last.label not in (run.positive, run.negative):
        return None
    return (last.label == run.positive) == (last.answer == "keep")


def _name(run: LabelCheck, is_positive: bool) -> str:
    return run.positive if is_positive else run.negative
