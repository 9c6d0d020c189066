"""Who judges which row next, where each row stands, and how much is done."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from statistics import median
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rankprune.review._cards import Rows
from rankprune.run._class_sentences import is_of_many
from rankprune.run._decision_log import DecisionLog, Draw
from rankprune.run._decisions import (
    DISAGREEMENT,
    UNSURE,
    Decision,
    Mode,
    Outcome,
    agreements,
    answer_words,
    named_label,
    outcomes,
    right_label,
    standing,
)
from rankprune.run._visible import visible

if TYPE_CHECKING:
    from rankprune.review._batches import Batches

Show = Literal["open", "unsure", "disagreement", "decided"]
SHOWN: tuple[str, ...] = ("open", UNSURE, DISAGREEMENT, "decided")

# Seconds for which a row is reserved for the person it was shown to.
_LEASE = 600.0
# Seconds for which a reader waits for another one who reads the log.
_READ_WAIT = 0.05
# Number of recent decisions over which flips, and the pace, are counted.
_RECENT, _PACE = 25, 50
# Below this share of flips, wrong labels are running out.
_FEW_FLIPS = 0.2


@dataclass(frozen=True)
class Filter:
    """Which rows to show.

    Attributes
    ----------
    show : {"open", "unsure", "disagreement", "decided"}
    label : int or None
        Number of the given label; None for all.
    least, most : float
        Limits of how sure the model is that the label is wrong.
    column, value : int and str, or None
        Subgroup.
    """

    show: Show = "open"
    label: int | None = None
    least: float = 0.0
    most: float = 1.0
    column: int | None = None
    value: str | None = None


class ReviewQueue:
    """The rows to judge, the people who judge them, and the log of their decisions.

    Parameters
    ----------
    rows : Rows
    log : DecisionLog
    mode : {"review", "audit"}
    order : sequence of int
        The rows to judge, in this order.
    draws : sequence of Draw
        The batches of the audit so far, or its one sample; ``order`` has their rows.
    overlap : float
        Share of the rows that two people judge, each without seeing the other's answer.
    """

    def __init__(
        self,
        rows: Rows,
        log: DecisionLog,
        mode: Mode,
        order: Sequence[int],
        *,
        draws: Sequence[Draw] = (),
        overlap: float = 0.0,
    ) -> None:
        self.rows, self.log, self.mode, self.overlap = rows, log, mode, overlap
        self._are_many = is_of_many(rows.run)
        self.draws: list[Draw] = []
        self.order: list[int] = []
        # Of each row, its place in the order, and the id of its draw.
        self._places: dict[int, int] = {}
        self._draw_of: dict[int, int | None] = {}
        self._twice: set[int] = set()
        self._leases: dict[int, tuple[str, float]] = {}
        # One for what is kept in memory, never held while the log or the table is read.
        self._lock, self._reading = threading.Lock(), threading.Lock()
        # Set for audits.
        self.batches: Batches | None = None
        self._last = 0
        self._outcomes: dict[int, Outcome] = {}
        self._made: list[Decision] = []
        for draw in draws:
            self._append([row for row, *_ in draw.rows], draw)
        if not draws:
            self._append(order, None)
        log.patiently(self._read_news)

    def add(self, draws: Sequence[Draw]) -> None:
        """Add the batches that were drawn since; their rows are judged from now on."""
        with self._reading:
            known = {draw.id for draw in self.draws}
            for draw in draws:
                if draw.id not in known:
                    self._append([row for row, *_ in draw.rows], draw)
            # Another process may have saved answers about these rows before they were known here.
            self.log.patiently(self._read_all)

    def _append(self, rows: Sequence[int], draw: Draw | None) -> None:
        self.rows.read(rows)
        n_twice = round(self.overlap * len(rows))
        with self._lock:
            # Spread evenly over the ranking, and the same after every start.
            self._twice |= {rows[i * len(rows) // n_twice] for i in range(n_twice)}
            self._places |= {row: place for place, row in enumerate(rows, len(self.order))}
            if draw is not None:
                self._draw_of |= dict.fromkeys(rows, draw.id)
                self.draws.append(draw)
            self.order += rows

    # ---- for the page

    def next_cards(
        self, reviewer: str, wanted: Filter, besides: Sequence[int], count: int
    ) -> list[dict[str, Any]]:
        """Return the next rows to judge, and reserve them for this person for a while."""
        self._refresh()
        held, now = set(besides), time.monotonic()
        found = []
        with self._lock:
            for row in self._matching(reviewer, wanted):
                if row in held or (wanted.show == "open" and self._is_taken(reviewer, row, now)):
                    continue
                self._leases[row] = (reviewer, now + _LEASE)
                found.append(row)
                if len(found) == count:
                    break
        return [self.card(reviewer, row) for row in found]

    def number(self, row: int) -> int:
        """Return the number of a row that people see.

        In an audit it is the position in the sample: in a sorted table, the position in the table
        may reveal the label.
        """
        return self._places[row] + 1 if self.mode == "audit" else row + 1

    def row(self, number: int) -> int | None:
        """Return the row with a number, or None if it may not be shown."""
        if self.mode == "audit":
            return self.order[number - 1] if 0 < number <= len(self.order) else None
        return number - 1 if self.rows.place(number - 1) is not None else None

    def find(self, text: str) -> int | None:
        """Return the row with this name or number, or None if it may not be shown."""
        row = self.rows.find(text)
        if row is None and text.isascii() and text.isdigit() and len(text) < 16:
            row = self.row(int(text))
        is_shown = row is not None and (self.mode == "review" or row in self._places)
        return row if is_shown else None

    def card(self, reviewer: str, row: int) -> dict[str, Any]:
        """Return what the page shows about a row."""
        with self._lock:
            outcome = self._outcomes.get(row)
            is_open = self._is_shown(reviewer, row, "open")
        own = None if outcome is None else outcome.by(reviewer)
        card: dict[str, Any] = {
            "row": self.number(row),
            "name": self.rows.name(row),
            "fields": [asdict(field) for field in self.rows.fields(row)],
            "more": self.rows.n_more,
            "mine": None if own is None else {"answer": self._chosen(own), "note": own.note},
            "disagreement": outcome is not None and outcome.status == DISAGREEMENT,
            "said": [],
        }
        # People who still have to judge the row do not see the answers of others.
        if outcome is not None and outcome.status in (DISAGREEMENT, UNSURE) and not is_open:
            card["said"] = [
                {
                    "reviewer": visible(one.reviewer, 60),
                    "answer": answer_words(one.answer),
                    "note": visible(one.note, 2000),
                }
                for one in outcome.decisions
                if one.reviewer != reviewer
            ]
        if self.mode == "review":
            card |= self.rows.opinion(row)
        elif self._are_many:
            card["choices"] = self.rows.choices()
        return card

    def _chosen(self, one: Decision) -> str | int | None:
        """Return an answer as the page sends it: among many labels, the number of a label."""
        if not self._are_many or one.answer == UNSURE:
            return one.answer
        names = self.rows.run.classes
        label = right_label(one, names)
        return None if label is None else names.index(label)

    def decide(
        self, uid: str, reviewer: str, row: int, answer: str, *, seconds: float, note: str
    ) -> None:
        """Save an answer.

        Raises `Conflict` if someone else was first, and `Locked` if the log cannot be written.
        """
        self._refresh()
        with self._lock:
            outcome = self._outcomes.get(row)
        own = None if outcome is None else outcome.by(reviewer)
        # A third person settles a disagreement; the first two may only change their answers.
        settles = outcome is not None and (
            own.settles if own is not None else outcome.status == DISAGREEMENT
        )
        blind = self.mode == "audit"
        place = self.rows.place(row)
        self.log.add(
            Decision(
                uid,
                row,
                self.rows.hash(row),
                self.mode,
                self._draw_of.get(row),
                reviewer,
                answer,
                None if blind else self.rows.label(row),
                None if blind else float(self.rows.run.scores.probability[place]),
                seconds,
                note,
                _now(),
                settles,
            ),
            self._needed(row),
        )
        self._refresh()

    def undo(self, uid: str, reviewer: str) -> int | None:
        """Undo this person's last answer, and return its row, or None if there is none."""
        self._refresh()
        with self._lock:
            known = [one for one in self._made if one.uid == uid]
            own = [one for one in standing(self._made) if one.reviewer == reviewer]
        if known:
            return known[0].row
        if not own:
            return None
        undone = self.log.undo(uid, own[-1].uid, reviewer, 0.0, _now())
        self._refresh()
        return undone.row

    def progress(self, reviewer: str) -> dict[str, Any]:
        """Return how much is done, for this person."""
        self._refresh()
        with self._lock:
            return self._progress(reviewer)

    def _progress(self, reviewer: str) -> dict[str, Any]:
        rows = self._current_rows()
        left = sum(self._is_shown(reviewer, row, "open") for row in rows)
        stand = standing(self._made)
        pace = [one.seconds for one in stand if one.reviewer == reviewer][-_PACE:]
        found: dict[str, Any] = {
            "total": len(rows),
            "done": len(rows) - left,
            "left": left,
            "minutes_left": round(left * median(pace) / 60, 1) if len(pace) >= 5 else None,
            "unsure": self._count(UNSURE),
            "disagreements": self._count(DISAGREEMENT),
            "agreement": [asdict(one) for one in agreements(self._made)],
        }
        if self.mode == "audit":
            found["batch"] = len(self.draws)
            found["missing"] = self._n_missing()
        if self.mode == "review":
            # In an audit this would reveal how many labels are wrong.
            recent = [one for one in stand if one.answer != UNSURE][-_RECENT:]
            n_flips = sum(_changes_label(one) for one in recent)
            found["recent"] = {
                "n": len(recent),
                "flips": n_flips,
                "running_out": len(recent) == _RECENT and n_flips < _FEW_FLIPS * _RECENT,
            }
        return found

    def n_missing(self) -> int:
        """Return how many rows of the audit still have to be judged."""
        self._refresh()
        with self._lock:
            return self._n_missing()

    def _n_missing(self) -> int:
        return sum(self._is_missing(row) for row in self.order)

    def _is_missing(self, row: int) -> bool:
        outcome = self._outcomes.get(row)
        judges = set() if outcome is None else {one.reviewer for one in outcome.decisions}
        return len(judges) < self._needed(row)

    def state(self) -> tuple[str, ...]:
        """Return what changes with every answer and every batch."""
        self._refresh()
        with self._lock:
            return (*(one.uid for one in self._made), *(str(draw.id) for draw in self.draws))

    def _current_rows(self) -> list[int]:
        """Return the rows of the current batch, and those that were left open in earlier ones."""
        first = len(self.order) - (len(self.draws[-1].rows) if self.draws else len(self.order))
        return [*filter(self._is_missing, self.order[:first]), *self.order[first:]]

    def summary(self) -> dict[str, int]:
        """Return how many rows there are, how many were judged, and with what outcome."""
        self._refresh()
        with self._lock:
            found = Counter[str](self._kind(row, one) for row, one in self._outcomes.items())
        return {"rows": len(self.order), "judged": found.total(), **found}

    # ---- inside

    def _kind(self, row: int, outcome: Outcome) -> str:
        """Return what became of a row: among many labels, whether a clear answer keeps its own."""
        label = named_label(outcome.status)
        if label is None or self.mode == "audit":
            return outcome.status
        return "keep" if label == self.rows.label(row) else "relabel"

    def _matching(self, reviewer: str, wanted: Filter) -> Iterator[int]:
        every = wanted == Filter(wanted.show)
        # Rows that were found by name are not queued, but may be unsure or disputed.
        others = [] if wanted.show == "open" else sorted(self._outcomes.keys() - self._places)
        for row in [*self.order, *others]:
            if self._is_shown(reviewer, row, wanted.show) and (every or self._passes(row, wanted)):
                yield row

    def _is_shown(self, reviewer: str, row: int, show: Show) -> bool:
        outcome = self._outcomes.get(row)
        if outcome is None:
            return show == "open"
        if show == "open":
            judges = {one.reviewer for one in outcome.decisions}
            return reviewer not in judges and len(judges) < self._needed(row)
        if show == "decided":
            return outcome.status not in (UNSURE, DISAGREEMENT)
        return outcome.status == show

    def _is_taken(self, reviewer: str, row: int, now: float) -> bool:
        """Return whether enough people have judged the row or have it reserved."""
        holder, until = self._leases.get(row, (reviewer, 0.0))
        outcome = self._outcomes.get(row)
        judges = set() if outcome is None else {one.reviewer for one in outcome.decisions}
        is_held = holder != reviewer and until > now
        return is_held and len(judges | {holder}) >= self._needed(row)

    def _passes(self, row: int, wanted: Filter) -> bool:
        column = wanted.column
        if column is not None and (self.rows.cell(row, column) or "") != wanted.value:
            return False
        of_label = wanted.label is None or wanted.label == self.rows.code(row)
        return of_label and wanted.least <= self.rows.doubt(row) <= wanted.most

    def _needed(self, row: int) -> int:
        return 2 if row in self._twice else 1

    def _count(self, status: str) -> int:
        return sum(outcome.status == status for outcome in self._outcomes.values())

    def _refresh(self) -> None:
        """Read what is new in the log; if that takes time, what was read before must do."""
        if not self._reading.acquire(timeout=_READ_WAIT):
            return
        try:
            self._read_news()
        except OSError:
            # Locked, or the disk is not there at the moment. A write reports it.
            return
        finally:
            self._reading.release()

    def _read_all(self) -> None:
        """Read all decisions again; only one thread may do so at a time."""
        last, found = self.log.news(self.mode, self._ids(), 0)
        made = self._current(found)
        with self._lock:
            self._last, self._made, self._outcomes = last, made, outcomes(made)

    def _read_news(self) -> None:
        """Add the decisions that are not known yet; only one thread may do so at a time."""
        last, found = self.log.news(self.mode, self._ids(), self._last)
        new = self._current(found)
        self._last = last
        if not new:
            return
        with self._lock:
            self._made += new
            rows = {one.row for one in new}
            now = outcomes(one for one in self._made if one.row in rows)
            for row in rows:
                self._leases.pop(row, None)
                self._outcomes.pop(row, None)
            self._outcomes |= now

    def _ids(self) -> list[int | None]:
        return [draw.id for draw in self.draws] or [None]

    def _current(self, made: list[Decision]) -> list[Decision]:
        """Return the decisions about rows that have not changed since."""
        known = [one for one in made if self.rows.place(one.row) is not None]
        self.rows.read([one.row for one in known])
        return [one for one in known if self.rows.hash(one.row) == one.row_hash]


def _changes_label(one: Decision) -> bool:
    """Return whether an answer says that the label that was shown is wrong."""
    return one.answer == "flip" or named_label(one.answer) not in (None, one.label)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def most_suspicious(rows: Rows, limit: int) -> list[int]:
    """Return the rows on the list to look at, most suspicious first."""
    return [int(row) for row in np.asarray(rows.run.candidate_rows())[:limit]]
