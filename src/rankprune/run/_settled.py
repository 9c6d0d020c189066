"""From the log to labels: what people settled, who did, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune._label_check import LabelCheck
from rankprune.review._cards import row_hash
from rankprune.review._decisions import (
    DISAGREEMENT,
    UNSURE,
    Decision,
    Outcome,
    outcomes,
    standing,
)
from rankprune.review._store import Store
from rankprune.tables import Table


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
        Those of them whose label was another.
    n_unsure, n_disagreements, n_stale : int
        Rows that nobody was sure of, that people judge differently, and that have changed since
        they were judged; all of these stay as they are.
    decisions : tuple of Decision
        All that was said, also what was taken back.
    """

    rows: NDArray[np.intp]
    is_positive: NDArray[np.bool_]
    n_changed: int
    n_unsure: int
    n_disagreements: int
    n_stale: int
    decisions: tuple[Decision, ...]

    def trail(self, run: LabelCheck) -> Iterator[dict[str, Any]]:
        """Yield everything that was said, with what became of it, as values that JSON can hold."""
        stand = {one.uid for one in standing(self.decisions)}
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
                "stands": one.uid in stand,
                "given": None if was is None else _name(run, was),
                "settled": None if settled is None else _name(run, settled),
                "changed": settled is not None and settled != was,
            }


def settled_labels(run: LabelCheck, store: Store, table: Table) -> Settled:
    """Return the labels that people settled, of rows that are still what they were."""
    decisions = store.decisions("review")
    is_current = current_rows(run, table, decisions)
    found = outcomes(one for one in decisions if is_current(one))
    place = {int(row): i for i, row in enumerate(run.scores.rows)}
    labels: dict[int, bool] = {}
    counts = {UNSURE: 0, DISAGREEMENT: 0}
    # Rows of which nothing stands but what was said when they were others.
    stale = {one.row for one in standing(decisions)} - found.keys()
    for row, outcome in sorted(found.items()):
        if outcome.status in counts:
            counts[outcome.status] += 1
        elif (settled := _label(run, outcome)) is None:
            stale.add(row)
        else:
            labels[row] = settled
    return Settled(
        np.fromiter(labels, dtype=np.intp, count=len(labels)),
        np.fromiter(labels.values(), dtype=bool, count=len(labels)),
        sum(bool(run.scores.is_positive[place[row]]) != new for row, new in labels.items()),
        counts[UNSURE],
        counts[DISAGREEMENT],
        len(stale),
        tuple(decisions),
    )


def current_rows(
    run: LabelCheck, table: Table, decisions: Iterable[Decision]
) -> Callable[[Decision], bool]:
    """Return what tells whether a decision is about a row that is still what it was."""
    known = set(run.scores.rows.tolist())
    rows = sorted({one.row for one in decisions} & known)
    label = table.position(run.settings["label"])
    cells = table.cells(np.asarray(rows, dtype=np.intp), list(range(len(table.names))))
    hashes = {row: row_hash(part, label) for row, part in zip(rows, cells, strict=True)}
    return lambda one: hashes.get(one.row) == one.row_hash


def _label(run: LabelCheck, outcome: Outcome) -> bool | None:
    """Return the label that was meant: the one that was shown, or the other."""
    last = [one for one in outcome.decisions if one.answer == outcome.status][-1]
    if last.label not in (run.positive, run.negative):
        return None
    return (last.label == run.positive) == (last.answer == "keep")


def _name(run: LabelCheck, is_positive: bool) -> str:
    return run.positive if is_positive else run.negative
