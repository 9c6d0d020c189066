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
from rankprune.run._class_sentences import is_of_many
from rankprune.run._decision_log import DecisionLog, Merged
from rankprune.run._decisions import (
    DISAGREEMENT,
    UNSURE,
    Decision,
    Outcome,
    naming,
    outcomes,
    right_label,
    row_hash,
    standing,
)
from rankprune.run._directory import LOG_FILE
from rankprune.run._judged_labels import judged_codes
from rankprune.table import Table


@dataclass(frozen=True)
class Settled:
    """The rows whose labels people settled.

    Attributes
    ----------
    rows : ndarray of int
        Positions in the table, in its order.
    codes : ndarray of int
        The numbers of their labels as settled, their places in the classes of the run.
    n_changed : int
        How many of them had another label before.
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
    codes: NDArray[np.intp]
    n_changed: int
    n_unsure: int
    n_disagreements: int
    n_stale: int
    decisions: tuple[Decision, ...]
    stale: frozenset[str]
    n_judged: int = 0
    n_overruled: int = 0
    by_consensus: frozenset[int] = frozenset()

    @property
    def is_positive(self) -> NDArray[np.bool_]:
        """Return whether each of these rows has the positive label of two."""
        return np.asarray(self.codes == 1)

    def trail(self, run: CheckRecord) -> Iterator[dict[str, Any]]:
        """Yield every decision and what became of it, as values that JSON can hold."""
        stand = {one.uid for one in standing(self.decisions)}
        # Answers of an audit count where the run remembers them.
        known = set() if run.judged is None else set(run.judged.rows)
        labels = dict(zip(self.rows.tolist(), self.codes.tolist(), strict=True))
        place = {int(row): i for i, row in enumerate(run.scores.rows)}
        codes = run.given_codes
        for one in self.decisions:
            settled = labels.get(one.row)
            given = place.get(one.row)
            name = None if run.scores.ids is None or given is None else run.scores.ids[given]
            was = None if given is None else int(codes[given])
            yield {
                **asdict(one),
                "row": one.row + 1,
                "id": None if name is None else str(name),
                "stands": one.uid in stand and (one.mode == "review" or one.row in known),
                "stale": one.uid in self.stale,
                "given": None if was is None else run.classes[was],
                "settled": None if settled is None else run.classes[settled],
                "changed": settled is not None and settled != was,
                **({"consensus": True} if one.row in self.by_consensus else {}),
            }


def read_settled(folder: Path, run: CheckRecord, table: Any = None) -> Settled:
    """Return the labels that reviewers settled in a run directory.

    Parameters
    ----------
    folder : Path
        The run directory.
    run : LabelCheck or ClassCheck
        The check that was loaded from it.
    table : path or data frame, default=None
        The checked table, if it is no longer at its original path.
    """
    path = folder / LOG_FILE
    with open_checked(run, table) as opened:
        if not path.is_file() and len(judged_codes(run)[0]):
            # Rows that were judged in Python.
            return settled_labels(run, None, opened)
        with DecisionLog(path, must_exist=True) as log:
            return settled_labels(run, log, opened)


def merge_decisions(folder: Path, run: CheckRecord, other: Path, table: Any = None) -> Merged:
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


def settled_labels(run: CheckRecord, log: DecisionLog | None, table: Table) -> Settled:
    """Return the labels that reviewers settled, for rows that have not changed since.

    Rows that the run remembers as judged for an audit are among them. If a review says something
    else about such a row, the later answer counts; the review does if there is no log of the
    audit's answers. An unsure or disputed review changes nothing about an answer of the audit.
    """
    decisions = [] if log is None else log.decisions("review")
    audited = [] if log is None or run.judged is None else _audit_decisions(log)
    is_current = current_rows(run, table, decisions)
    found = outcomes(one for one in decisions if is_current(one))
    given = dict(zip(run.scores.rows.tolist(), run.given_codes.tolist(), strict=True))
    labels: dict[int, int] = {}
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
    for row, right in zip(*(part.tolist() for part in judged_codes(run)), strict=True):
        reviewed = labels.get(row)
        n_judged += reviewed is None
        n_overruled += reviewed not in (None, right)
        if row not in answered:
            audited.append(_unlogged(run, row, right))
        if reviewed is None or (row in answered and _last(found[row]) < _last(answered[row])):
            labels[row] = right
    labels = dict(sorted(labels.items()))
    return Settled(
        np.fromiter(labels, dtype=np.intp, count=len(labels)),
        np.fromiter(labels.values(), dtype=np.intp, count=len(labels)),
        sum(given[row] != new for row, new in labels.items()),
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


def _unlogged(run: CheckRecord, row: int, right: int) -> Decision:
    """Return an answer about a judged row that no log holds, such as one given in Python."""
    answer = naming(run.classes[right]) if is_of_many(run) else ("negative", "positive")[right]
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


def _label(run: CheckRecord, outcome: Outcome) -> int | None:
    """Return the number of the settled label; None if the run does not have that label."""
    last = [one for one in outcome.decisions if one.answer == outcome.status][-1]
    label = right_label(last, run.classes)
    return None if label is None else run.classes.index(label)
