"""The log of reviewers' decisions in a run directory: an append-only SQLite file."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path

from rankprune.exceptions import TableError
from rankprune.run._decisions import UNDO, UNSURE, Decision, Mode, Outcome, outcomes

LOG_FILE = "review.sqlite"
SCHEMA = 1
# Marks the file as ours.
_APPLICATION = 0x52414E4B
# Seconds to wait while another process writes.
PATIENCE = 5.0

_TABLES = """
CREATE TABLE IF NOT EXISTS decisions (
    id INTEGER PRIMARY KEY,
    uid TEXT NOT NULL UNIQUE,
    row INTEGER NOT NULL,
    row_hash TEXT NOT NULL,
    mode TEXT NOT NULL CHECK (mode IN ('review', 'audit')),
    draw INTEGER,
    reviewer TEXT NOT NULL,
    answer TEXT NOT NULL,
    label TEXT,
    score REAL,
    seconds REAL NOT NULL,
    note TEXT NOT NULL,
    time TEXT NOT NULL,
    settles INTEGER NOT NULL,
    undo_of TEXT
);
CREATE INDEX IF NOT EXISTS decisions_of_row ON decisions (mode, row);
CREATE TABLE IF NOT EXISTS draws (
    id INTEGER PRIMARY KEY,
    time TEXT NOT NULL,
    scores TEXT NOT NULL,
    sizes TEXT NOT NULL,
    positive TEXT NOT NULL,
    negative TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS drawn (
    draw INTEGER NOT NULL,
    place INTEGER NOT NULL,
    row INTEGER NOT NULL,
    is_positive INTEGER NOT NULL,
    suspect INTEGER NOT NULL,
    PRIMARY KEY (draw, place)
);
"""
_GUARDS = "".join(
    f"CREATE TRIGGER IF NOT EXISTS {table}_{verb} BEFORE {verb} ON {table} "
    f"BEGIN SELECT raise(ABORT, '{table} are only ever added'); END;"
    for table in ("decisions", "draws", "drawn")
    for verb in ("update", "delete")
)

_COLUMNS = tuple(field.name for field in fields(Decision))
_INSERT = f"INSERT INTO decisions ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"
_OF_ROW = "WHERE mode = ? AND row = ? AND draw IS ? ORDER BY id"


class Locked(Exception):
    """Another process held the log for longer than `PATIENCE`."""


class Conflict(Exception):
    """Another reviewer was first; nothing was written."""

    def __init__(self, first: Decision) -> None:
        super().__init__(f"{first.reviewer} answered {first.answer}")
        self.first = first


@dataclass(frozen=True)
class Draw:
    """An audit's sample as it was drawn.

    Attributes
    ----------
    id : int or None
        None before it is saved.
    scores : str
        SHA-256 of the scores (labels, suspects, probabilities) that it was drawn from.
    sizes : tuple of int
        Sizes of the strata.
    positive, negative : str
        The two labels.
    rows : tuple of (row, is_positive, suspect)
        In the order in which they are shown.
    time : str
    """

    id: int | None
    scores: str
    sizes: tuple[int, ...]
    positive: str
    negative: str
    rows: tuple[tuple[int, bool, bool], ...]
    time: str


@dataclass(frozen=True)
class Merged:
    """How many decisions of another log were new, already known, and about different rows."""

    n_new: int
    n_known: int
    n_foreign: int


class DecisionLog:
    """An open log; its methods may be called from any thread.

    When `add` returns, the decision is on disk.
    """

    def __init__(self, path: Path, *, must_exist: bool = False) -> None:
        if must_exist and not path.is_file():
            raise TableError(
                f"{path} does not exist: no row has been reviewed yet. Review some rows first."
            )
        self.path = path
        self._lock = threading.Lock()
        self._copy = None if not path.exists() or _is_writable(path) else _copied(path)
        place = path if self._copy is None else Path(self._copy.name) / path.name
        self._connection = sqlite3.connect(
            place, timeout=PATIENCE, isolation_level=None, check_same_thread=False
        )
        try:
            self._prepare()
        except sqlite3.DatabaseError as error:
            self.close()
            raise TableError(f"{path} is not a decision log: {error}.") from error
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self._connection.close()
        if self._copy is not None:
            self._copy.cleanup()

    def __enter__(self) -> DecisionLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _prepare(self) -> None:
        run = self._connection.execute
        # Before the version is read: another process may be creating the tables right now.
        is_new = not run("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()
        (schema,) = run("PRAGMA user_version").fetchone()
        (application,) = run("PRAGMA application_id").fetchone()
        if not is_new and application != _APPLICATION:
            raise TableError(f"{self.path} belongs to another program. Move it elsewhere.")
        if not is_new and schema != SCHEMA:
            raise TableError(
                f"{self.path} has schema {schema}, and this version reads only schema {SCHEMA}. "
                "Use the version of rankprune that wrote the file."
            )
        run("PRAGMA journal_mode = WAL")
        # Every commit reaches the disk before it is acknowledged.
        run("PRAGMA synchronous = FULL")
        if is_new:
            self._create()

    def _create(self) -> None:
        """Create all tables or none."""
        self._connection.executescript(
            f"BEGIN IMMEDIATE; {_TABLES} {_GUARDS} PRAGMA user_version = {SCHEMA}; "
            f"PRAGMA application_id = {_APPLICATION}; COMMIT;"
        )

    def refuse_unwritable(self) -> None:
        """Raise an error if the log can only be read, so that no answer could be saved."""
        if self._copy is not None:
            raise OSError(f"{self.path} is read-only. Copy the run directory, and use the copy.")

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Run one write transaction."""
        with self._lock:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException as error:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                if isinstance(error, sqlite3.OperationalError) and _is_busy(error):
                    raise Locked from error
                raise

    def add(self, decision: Decision, n_needed: int = 1) -> Decision:
        """Write a decision, and return it as stored.

        A decision that arrives twice is written once. It replaces an earlier answer of the same
        person for the row.

        Parameters
        ----------
        decision : Decision
        n_needed : int, default=1
            Number of people who may give a clear answer for the row.

        Raises
        ------
        Conflict
            If that many others have done so, or someone else has settled the disagreement.
        ValueError
            If another decision has the same uid.
        Locked
        """
        with self._writing() as connection:
            known = self._read("WHERE uid = ?", (decision.uid,))
            if known:
                if (known[0].row, known[0].answer) != (decision.row, decision.answer):
                    raise ValueError("uid already belongs to another decision")
                return known[0]
            made = self._read(_OF_ROW, (decision.mode, decision.row, decision.draw))
            # Decisions about other cells are about another row.
            same = [one for one in made if one.row_hash == decision.row_hash]
            found = outcomes(same).get(decision.row)
            _refuse_conflict(decision, found, n_needed)
            own = None if found is None else _own(found, decision)
            if own is not None:
                undone = replace(
                    decision, uid=f"{decision.uid}/undo", answer=UNDO, undo_of=own.uid, note=""
                )
                connection.execute(_INSERT, astuple(undone))
            connection.execute(_INSERT, astuple(decision))
        return decision

    def find(self, uid: str) -> Decision | None:
        """Return the decision with this uid, or None."""
        with self._lock:
            found = self._read("WHERE uid = ?", (uid,))
        return found[0] if found else None

    def undo(self, uid: str, undo_of: str, reviewer: str, seconds: float, time: str) -> Decision:
        """Undo a decision of this person, and return what was written.

        Raises KeyError if there is no such decision, or it was undone before.
        """
        with self._writing() as connection:
            known = self._read("WHERE uid = ?", (uid,))
            if known:
                return known[0]
            made = self._read("WHERE uid = ? OR undo_of = ?", (undo_of, undo_of))
            if len(made) != 1 or made[0].reviewer != reviewer or made[0].answer == UNDO:
                raise KeyError(undo_of)
            (target,) = made
            undone = replace(
                target, uid=uid, answer=UNDO, undo_of=undo_of, note="", seconds=seconds, time=time
            )
            connection.execute(_INSERT, astuple(undone))
        return undone

    def decisions(self, mode: Mode, draw: int | None = None) -> list[Decision]:
        """Return all decisions of a review, or of one sample of an audit, oldest first."""
        with self._lock:
            if mode == "review":
                return self._read("WHERE mode = 'review' ORDER BY id")
            return self._read("WHERE mode = 'audit' AND draw = ? ORDER BY id", (draw,))

    def of_row(self, mode: Mode, row: int, draw: int | None = None) -> list[Decision]:
        """Return all decisions about one row, oldest first."""
        with self._lock:
            return self._read(_OF_ROW, (mode, row, draw))

    def version(self) -> int:
        """Return a number that changes when another process writes."""
        with self._lock:
            (number,) = self._connection.execute("PRAGMA data_version").fetchone()
        return int(number)

    def is_whole(self) -> bool:
        """Return whether SQLite finds the file undamaged."""
        with self._lock:
            found = self._connection.execute("PRAGMA integrity_check").fetchall()
        return bool(found == [("ok",)])

    def keep_draw(self, draw: Draw) -> Draw:
        """Save an audit's sample, and return it with its id."""
        with self._writing() as connection:
            cursor = connection.execute(
                "INSERT INTO draws (time, scores, sizes, positive, negative) "
                "VALUES (?, ?, ?, ?, ?)",
                (draw.time, draw.scores, _joined(draw.sizes), draw.positive, draw.negative),
            )
            number = int(cursor.lastrowid or 0)
            connection.executemany(
                "INSERT INTO drawn VALUES (?, ?, ?, ?, ?)",
                [(number, place, *row) for place, row in enumerate(draw.rows)],
            )
        return replace(draw, id=number)

    def last_draw(self) -> Draw | None:
        """Return the latest sample, or None."""
        with self._lock:
            run = self._connection.execute
            found = run(
                "SELECT id, scores, sizes, positive, negative, time FROM draws ORDER BY id DESC"
            ).fetchone()
            if found is None:
                return None
            number, scores, sizes, positive, negative, time = found
            rows = run(
                "SELECT row, is_positive, suspect FROM drawn WHERE draw = ? ORDER BY place",
                (number,),
            ).fetchall()
        return Draw(
            number,
            scores,
            tuple(int(size) for size in sizes.split()),
            positive,
            negative,
            tuple((row, bool(is_positive), bool(suspect)) for row, is_positive, suspect in rows),
            time,
        )

    def merge(self, theirs: list[Decision], is_current: Callable[[Decision], bool]) -> Merged:
        """Add the decisions of another log, except those about rows that differ in this table."""
        ours = [one for one in theirs if is_current(one)]
        with self._writing() as connection:
            known = {uid for (uid,) in connection.execute("SELECT uid FROM decisions")}
            new = [one for one in ours if one.uid not in known]
            connection.executemany(_INSERT, [astuple(one) for one in new])
        return Merged(len(new), len(ours) - len(new), len(theirs) - len(ours))

    def _read(self, tail: str, values: tuple[object, ...] = ()) -> list[Decision]:
        found = self._connection.execute(
            f"SELECT {', '.join(_COLUMNS)} FROM decisions {tail}", values
        ).fetchall()
        made = [Decision(*row) for row in found]
        return [replace(one, settles=bool(one.settles)) for one in made]


def _refuse_conflict(decision: Decision, found: Outcome | None, n_needed: int) -> None:
    if found is None:
        return
    others = [
        one for one in found.decisions if one.reviewer != decision.reviewer and one.answer != UNSURE
    ]
    if decision.settles:
        settled = [one for one in found.decisions if one.settles and one.answer != UNSURE]
        if settled and settled[-1].reviewer != decision.reviewer:
            raise Conflict(settled[-1])
        return
    if len({one.reviewer for one in others}) >= n_needed:
        raise Conflict(others[0])


def _own(found: Outcome, decision: Decision) -> Decision | None:
    own = [
        one
        for one in found.decisions
        if one.reviewer == decision.reviewer and one.settles == decision.settles
    ]
    return own[-1] if own else None


def _joined(numbers: tuple[int, ...]) -> str:
    return " ".join(map(str, numbers))


def _is_busy(error: sqlite3.OperationalError) -> bool:
    return "locked" in str(error) or "busy" in str(error)


def _is_writable(path: Path) -> bool:
    """Return whether SQLite can open a log in place; even reading writes beside it."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def _copied(path: Path) -> tempfile.TemporaryDirectory[str]:
    """Return a temporary folder with a copy of a read-only log."""
    folder = tempfile.TemporaryDirectory(prefix="rankprune-")
    for part in (path, path.with_name(f"{path.name}-wal")):
        if part.exists():
            shutil.copyfile(part, Path(folder.name) / part.name)
    return folder
