"""The log of reviewers' decisions in a run directory: an append-only SQLite file."""

from __future__ import annotations

import math
import os
import shutil
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from rankprune.audit import AuditSample
from rankprune.audit._sample import FOUR, stratum_of
from rankprune.exceptions import TableError
from rankprune.run._decisions import (
    ANSWERS,
    UNDO,
    UNSURE,
    Decision,
    Mode,
    Outcome,
    answer_words,
    named_label,
    outcomes,
)
from rankprune.run._judged_rows import METHODS, Method
from rankprune.run._sqlite_errors import Locked, damaged, explaining, read_only
from rankprune.storage._atomic import write_whole
from rankprune.storage._claims import Claim, temporary_folder

_T = TypeVar("_T")

SCHEMA = 2
_FIRST_SCHEMA = 1
# Marks the file as ours.
_APPLICATION = 0x52414E4B
# Seconds to wait while another process writes, in all, and between two attempts.
PATIENCE = 5.0
_PAUSE = 0.01

# Instead of the number of a stratum: label and suspect tell which of four it is.
_BY_LABEL_AND_SUSPECT = -1

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
    negative TEXT NOT NULL,
    method TEXT NOT NULL,
    about TEXT,
    batch INTEGER NOT NULL,
    kinds TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS drawn (
    draw INTEGER NOT NULL,
    place INTEGER NOT NULL,
    row INTEGER NOT NULL,
    is_positive INTEGER NOT NULL,
    suspect INTEGER NOT NULL,
    stratum INTEGER NOT NULL,
    PRIMARY KEY (draw, place)
);
"""
_GUARDS = "".join(
    f"CREATE TRIGGER IF NOT EXISTS {table}_{verb} BEFORE {verb} ON {table} "
    f"BEGIN SELECT raise(ABORT, '{table} are only ever added'); END;"
    for table in ("decisions", "draws", "drawn")
    for verb in ("update", "delete")
)

# What the first release did not store: it drew one sample, from four strata.
_SINCE_FIRST = (
    "ALTER TABLE draws ADD COLUMN method TEXT NOT NULL DEFAULT 'design'",
    "ALTER TABLE draws ADD COLUMN about TEXT",
    "ALTER TABLE draws ADD COLUMN batch INTEGER NOT NULL DEFAULT 1",
    "ALTER TABLE draws ADD COLUMN kinds TEXT NOT NULL DEFAULT '11 10 01 00'",
    f"ALTER TABLE drawn ADD COLUMN stratum INTEGER NOT NULL DEFAULT {_BY_LABEL_AND_SUSPECT}",
    f"PRAGMA user_version = {SCHEMA}",
)

# Label and suspect of strata, as they are stored, in the order of `FOUR`.
_KINDS = ("11", "10", "01", "00")
_COLUMNS = tuple(field.name for field in fields(Decision))
_OF_DRAW = "time, scores, sizes, positive, negative, method, about, batch, kinds"
_INSERT = f"INSERT INTO decisions ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"
_OF_ROW = "WHERE mode = ? AND row = ? AND draw IS ? ORDER BY id"


class Conflict(Exception):
    """Another reviewer was first; nothing was written."""

    def __init__(self, first: Decision) -> None:
        super().__init__(f"{first.reviewer} answered {answer_words(first.answer)}")
        self.first = first


@dataclass(frozen=True)
class Draw:
    """Rows that were drawn for an audit: one of its batches, or a sample of a fixed size.

    Attributes
    ----------
    id : int or None
        None before it is saved.
    scores : str
        `LabelCheck.scores_key` of the check that it was drawn from.
    sizes : tuple of int
        Sizes of the strata.
    positive, negative : str
        The two labels; empty if there are more.
    rows : tuple of (row, is_positive, suspect)
        In the order in which they are shown.
    time : str
    method : {"model", "design"}
        Whether it is a batch, or a sample of a fixed size.
    about : str or None
        The label whose errors it is about; None for those of both.
    batch : int
        Number of the batch, from 1. A batch 1 begins a new audit; answers about earlier draws no
        longer count.
    kinds : tuple of (bool, bool)
        Label of each stratum, and whether it holds suspects, as in `AuditSample`.
    strata : tuple of int
        The stratum of each row; empty where label and suspect tell which of four it is.
    """

    id: int | None
    scores: str
    sizes: tuple[int, ...]
    positive: str
    negative: str
    rows: tuple[tuple[int, bool, bool], ...]
    time: str
    method: Method = "design"
    about: str | None = None
    batch: int = 1
    kinds: tuple[tuple[bool, bool], ...] = FOUR
    strata: tuple[int, ...] = ()

    def sample(self) -> AuditSample:
        """Return the sample that answers are about."""
        rows, is_positive, suspect = (np.asarray(part) for part in zip(*self.rows, strict=True))
        strata = np.asarray(self.strata, dtype=np.intp)
        return AuditSample(
            rows,
            is_positive,
            suspect,
            strata if self.strata else stratum_of(is_positive, suspect),
            self.sizes,
            self.positive,
            self.negative,
            self.kinds,
        )


@dataclass(frozen=True)
class Merged:
    """How many decisions of another log were new, already known, and about different rows."""

    n_new: int
    n_known: int
    n_foreign: int


class DecisionLog:
    """An open log; its methods may be called from any thread.

    When `add` returns, the decision is on disk. Writes take turns, and a write gives up with
    `Locked` when it has waited for `PATIENCE` seconds, for its turn and for other processes.
    Reads use a second connection, and never wait for a write of this process.
    """

    def __init__(self, path: Path, *, must_exist: bool = False) -> None:
        if must_exist and not path.is_file():
            raise TableError(
                f"{path} does not exist: no row has been reviewed yet. Review some rows first."
            )
        self.path = path
        self._must_exist = must_exist
        self._turn, self._reading = threading.Lock(), threading.Lock()
        self._is_ending = threading.Event()
        self._copy = None if not path.exists() or _is_writable(path) else _copied(path)
        self._place = path if self._copy is None else self._copy.path / path.name
        self._files = ExitStack()
        if self._copy is not None:
            self._files.callback(self._copy.close)
        try:
            self._writer, self._reader = self.patiently(self._open)
        except BaseException:
            self._files.close()
            raise

    def close(self) -> None:
        """Close the file, after the write that is under way."""
        self.stop_waiting()
        with self._turn, self._reading:
            self._files.close()

    def stop_waiting(self) -> None:
        """Let everyone who waits for another process give up now."""
        self._is_ending.set()

    def __enter__(self) -> DecisionLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self) -> tuple[sqlite3.Connection, sqlite3.Connection]:
        """Return a connection for writing and one for reading."""
        with explaining(self.path), ExitStack() as files:
            writer = files.enter_context(closing(_connected(self._place)))
            self._prepare(writer)
            reader = files.enter_context(closing(_connected(self._place)))
            # From now on, no other process can take the log for itself alone.
            reader.execute("SELECT 1 FROM sqlite_master").fetchall()
            self._files.push(files.pop_all())
        return writer, reader

    def _prepare(self, connection: sqlite3.Connection) -> None:
        run = connection.execute
        # Before the version is read: another process may be creating the tables right now.
        is_new = not run("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()
        (schema,) = run("PRAGMA user_version").fetchone()
        (application,) = run("PRAGMA application_id").fetchone()
        if is_new and self._must_exist:
            raise TableError(
                f"{self.path} is empty: no row has been reviewed yet. Review some rows first."
            )
        if not is_new and application != _APPLICATION:
            raise TableError(f"{self.path} belongs to another program. Move it elsewhere.")
        if not is_new and schema not in (_FIRST_SCHEMA, SCHEMA):
            raise TableError(
                f"{self.path} has schema {schema}, and this version reads only schema {SCHEMA} and "
                "earlier ones. Use the version of rankprune that wrote the file."
            )
        ((found, *_),) = run("PRAGMA integrity_check(1)").fetchall()
        if found != "ok":
            raise damaged(self.path, found)
        run("PRAGMA journal_mode = WAL")
        # Every commit reaches the disk before it is acknowledged.
        run("PRAGMA synchronous = FULL")
        if is_new:
            _create(connection)
        elif schema == _FIRST_SCHEMA:
            if self._copy is None:
                _keep_copy(connection, self.path)
            _bring_up_to_date(connection)

    def refuse_unwritable(self) -> None:
        """Raise an error if the log can only be read, so that no answer could be saved."""
        if self._copy is not None:
            raise read_only(self.path)

    def patiently(self, work: Callable[[], _T], until: float | None = None) -> _T:
        """Return what the work returns; try again while another process keeps the log locked.

        Parameters
        ----------
        work : callable
            Raises `Locked` at once.
        until : float, default=None
            When to give up, by the monotonic clock (default: `PATIENCE` seconds from now).
        """
        until = time.monotonic() + PATIENCE if until is None else until
        while True:
            try:
                return work()
            except Locked:
                if time.monotonic() >= until or self._is_ending.wait(_PAUSE):
                    raise

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Run one write transaction when it is this thread's turn."""
        self.refuse_unwritable()
        until = time.monotonic() + PATIENCE
        if not self._turn.acquire(timeout=PATIENCE):
            raise Locked(self.path)
        try:
            self.patiently(lambda: self._run("BEGIN IMMEDIATE"), until)
            with explaining(self.path):
                yield self._writer
            self.patiently(lambda: self._run("COMMIT"), until)
        except BaseException:
            with suppress(sqlite3.Error):
                # SQLite has taken back the transaction itself after some errors.
                self._writer.execute("ROLLBACK")
            raise
        finally:
            self._turn.release()

    def _run(self, sql: str) -> None:
        with explaining(self.path):
            self._writer.execute(sql)

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
            If another process kept the log locked.
        """
        with self._writing() as connection:
            known = self._read(connection, "WHERE uid = ?", (decision.uid,))
            if known:
                if (known[0].row, known[0].answer) != (decision.row, decision.answer):
                    raise ValueError("uid already belongs to another decision")
                return known[0]
            made = self._read(connection, _OF_ROW, (decision.mode, decision.row, decision.draw))
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

    def undo(self, uid: str, undo_of: str, reviewer: str, seconds: float, time: str) -> Decision:
        """Undo a decision of this person, and return what was written.

        Raises KeyError if there is no such decision, or it was undone before.
        """
        with self._writing() as connection:
            known = self._read(connection, "WHERE uid = ?", (uid,))
            if known:
                return known[0]
            made = self._read(connection, "WHERE uid = ? OR undo_of = ?", (undo_of, undo_of))
            if len(made) != 1 or made[0].reviewer != reviewer or made[0].answer == UNDO:
                raise KeyError(undo_of)
            (target,) = made
            undone = replace(
                target, uid=uid, answer=UNDO, undo_of=undo_of, note="", seconds=seconds, time=time
            )
            connection.execute(_INSERT, astuple(undone))
        return undone

    def decisions(self, mode: Mode, *draws: int | None) -> list[Decision]:
        """Return all decisions of a review, or of some draws of an audit, oldest first."""
        return self.patiently(lambda: self.news(mode, draws or (None,))[1])

    def news(
        self, mode: Mode, draws: Collection[int | None] = (None,), after: int = 0
    ) -> tuple[int, list[Decision]]:
        """Return the number of the last decision, and those that are new, oldest first.

        Parameters
        ----------
        mode, draws
            As in `decisions`.
        after : int, default=0
            The number of the last decision that is known.

        Raises
        ------
        Locked
            At once, if the file cannot be read at this moment.
        """
        with self._reading, explaining(self.path):
            found = self._reader.execute(
                f"SELECT id, {', '.join(_COLUMNS)} FROM decisions WHERE id > ? ORDER BY id",
                (after,),
            ).fetchall()
        last = found[-1][0] if found else after
        # Chosen after they were checked, so that damage never hides a decision.
        made = [self._decision(row) for _, *row in found]
        return last, [one for one in made if one.mode == mode and one.draw in draws]

    def keep_draw(self, draw: Draw, after: int | None = None) -> Draw:
        """Save rows that were drawn for an audit, and return them with their id.

        Parameters
        ----------
        draw : Draw
        after : int, default=None
            The id of the last known draw, or 0 without any. If another process has saved
            one since, that one is returned and nothing is saved.
        """
        values = (
            *(draw.time, draw.scores, _joined(draw.sizes), draw.positive, draw.negative),
            *(draw.method, draw.about, draw.batch, " ".join(map(_kind, draw.kinds))),
        )
        strata = draw.strata or (_BY_LABEL_AND_SUSPECT,) * len(draw.rows)
        with self._writing() as connection:
            last = connection.execute("SELECT coalesce(max(id), 0) FROM draws").fetchone()[0]
            if after is None or last == after:
                cursor = connection.execute(
                    f"INSERT INTO draws ({_OF_DRAW}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", values
                )
                number = int(cursor.lastrowid or 0)
                connection.executemany(
                    "INSERT INTO drawn VALUES (?, ?, ?, ?, ?, ?)",
                    [
                        (number, place, *row, stratum)
                        for place, (row, stratum) in enumerate(zip(draw.rows, strata, strict=True))
                    ],
                )
                return replace(draw, id=number)
        found = self.last_draw()
        assert found is not None  # another process saved it
        return found

    def last_draw(self) -> Draw | None:
        """Return the latest draw, or None."""
        found = self.last_draws()
        return found[-1] if found else None

    def last_draws(self) -> list[Draw]:
        """Return the draws of the latest audit: its batches so far, or its one sample."""
        return self.patiently(self._last_draws)

    def _last_draws(self) -> list[Draw]:
        with self._reading, explaining(self.path):
            run = self._reader.execute
            found = run(f"SELECT id, {_OF_DRAW} FROM draws ORDER BY id").fetchall()
            rows = run(
                "SELECT draw, place, row, is_positive, suspect, stratum FROM drawn "
                "ORDER BY draw, place"
            ).fetchall()
        draws: list[Draw] = []
        for one in found:
            try:
                draw = _draw(one, [row for number, *row in rows if number == one[0]])
                draws = [] if draw.batch == 1 else draws
                _refuse_other_audit(draw, draws)
            except (ValueError, AttributeError, TypeError) as error:
                raise damaged(self.path, f"the sample no. {one[0]} makes no sense") from error
            draws.append(draw)
        return draws

    def merge(self, theirs: list[Decision], is_current: Callable[[Decision], bool]) -> Merged:
        """Add the decisions of another log, except those about rows that differ in this table."""
        ours = [one for one in theirs if is_current(one)]
        with self._writing() as connection:
            known = {uid for (uid,) in connection.execute("SELECT uid FROM decisions")}
            new = [one for one in ours if one.uid not in known]
            connection.executemany(_INSERT, [astuple(one) for one in new])
        return Merged(len(new), len(ours) - len(new), len(theirs) - len(ours))

    def _read(
        self, connection: sqlite3.Connection, tail: str, values: tuple[object, ...]
    ) -> list[Decision]:
        found = connection.execute(f"SELECT {', '.join(_COLUMNS)} FROM decisions {tail}", values)
        return [self._decision(row) for row in found.fetchall()]

    def _decision(self, row: Sequence[Any]) -> Decision:
        """Return a decision as it is stored, unless its values make no sense."""
        made = Decision(*row)
        if not _makes_sense(made):
            raise damaged(self.path, f"the decision {made.uid!r} makes no sense")
        return replace(made, settles=bool(made.settles))


def _connected(place: Path) -> sqlite3.Connection:
    # SQLite does not wait for locks itself: how long depends on when a caller began to wait.
    return sqlite3.connect(place, timeout=0, isolation_level=None, check_same_thread=False)


def _create(connection: sqlite3.Connection) -> None:
    """Create all tables or none."""
    connection.executescript(
        f"BEGIN IMMEDIATE; {_TABLES} {_GUARDS} PRAGMA user_version = {SCHEMA}; "
        f"PRAGMA application_id = {_APPLICATION}; COMMIT;"
    )


def _keep_copy(connection: sqlite3.Connection, path: Path) -> None:
    """Copy a log of the first release before it changes, so that this release can still read it."""
    place = path.with_name(f"{path.stem}.schema-{_FIRST_SCHEMA}{path.suffix}")
    if not place.exists():
        write_whole(place, connection.serialize())


def _bring_up_to_date(connection: sqlite3.Connection) -> None:
    """Add what the first release did not store, all of it or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    (schema,) = connection.execute("PRAGMA user_version").fetchone()
    # Another process may have done it meanwhile.
    for sql in _SINCE_FIRST if schema == _FIRST_SCHEMA else ():
        connection.execute(sql)
    connection.execute("COMMIT")


def _makes_sense(made: Decision) -> bool:
    """Return whether the values of a decision have the right types and are possible."""
    texts = (made.uid, made.row_hash, made.reviewer, made.answer, made.note, made.time)
    optional = (made.label, made.undo_of)
    score = 0.0 if made.score is None else made.score
    return (
        all(isinstance(text, str) for text in texts)
        and all(text is None or isinstance(text, str) for text in optional)
        and isinstance(made.row, int)
        and made.row >= 0
        and (made.draw is None if made.mode == "review" else isinstance(made.draw, int))
        and made.mode in ANSWERS
        and (made.answer in (*ANSWERS[made.mode], UNDO) or named_label(made.answer) is not None)
        and isinstance(score, float)
        and 0 <= score <= 1
        and isinstance(made.seconds, float)
        and math.isfinite(made.seconds)
        and made.settles in (0, 1)
    )


def _draw(found: Sequence[Any], rows: Sequence[Sequence[Any]]) -> Draw:
    """Return a draw as it is stored; raises an error of values or types if it cannot be one."""
    number, made, scores, sizes, positive, negative, method, about, batch, kinds = found
    texts = (scores, positive, negative, made)
    counts = tuple(int(size) for size in sizes.split())
    labels = tuple(_KINDS.index(kind) for kind in kinds.split())
    of_strata = tuple(FOUR[label] for label in labels)
    strata = tuple(stratum for *_, stratum in rows)
    is_of_many = positive == negative == ""
    is_by_four = of_strata == FOUR and set(strata) == {_BY_LABEL_AND_SUSPECT}
    drawn = Counter(
        FOUR.index((is_positive, suspect)) if is_by_four else stratum
        for _, _, is_positive, suspect, stratum in rows
    )
    is_possible = (
        all(isinstance(text, str) for text in texts)
        and method in METHODS
        and (about in (None, positive, negative) or (is_of_many and isinstance(about, str)))
        and isinstance(batch, int)
        and batch > 0
        and [place for place, *_ in rows] == list(range(len(rows)))
        and all(isinstance(row, int) and row >= 0 for _, row, *_ in rows)
        and all((is_positive, suspect) in FOUR for _, _, is_positive, suspect, _ in rows)
        and all(isinstance(stratum, int) for stratum in strata)
        and (is_by_four or all(0 <= stratum < len(of_strata) for stratum in strata))
        and (is_by_four or all(of_strata[one[-1]][0] == one[2] for one in rows))
        and len(counts) == len(of_strata)
        and all(drawn[i] <= count for i, count in enumerate(counts))
        and 0 < len(rows) == sum(drawn[i] for i in range(len(counts)))
    )
    if not is_possible:
        raise ValueError
    return Draw(
        number,
        scores,
        counts,
        positive,
        negative,
        tuple((row, bool(is_positive), bool(suspect)) for _, row, is_positive, suspect, _ in rows),
        made,
        method,
        about,
        batch,
        of_strata,
        () if is_by_four else strata,
    )


def _refuse_other_audit(draw: Draw, earlier: Sequence[Draw]) -> None:
    """Raise an error if a batch cannot follow the earlier ones of its audit."""
    known = {row for one in earlier for row, *_ in one.rows}
    rows = {row for row, *_ in draw.rows}
    of_audit = {(one.scores, one.method) for one in (*earlier, draw)}
    if draw.batch != len(earlier) + 1 or len(of_audit) > 1 or known & rows:
        raise ValueError


def _kind(kind: tuple[bool, bool]) -> str:
    return _KINDS[FOUR.index(kind)]


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


def _is_writable(path: Path) -> bool:
    """Return whether SQLite can open a log in place; even reading writes beside it."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def _copied(path: Path) -> Claim:
    """Return a temporary folder with a copy of a read-only log."""
    folder = temporary_folder()
    for part in (path, path.with_name(f"{path.name}-wal")):
        if part.exists():
            shutil.copyfile(part, folder.path / part.name)
    return folder
