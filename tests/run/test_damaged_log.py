"""A damaged decision log: every command gets an error that names the file, or the right data."""

import random
import sqlite3
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from rankprune.exceptions import TableError
from rankprune.run._decision_log import DecisionLog, Draw
from rankprune.run._decisions import Decision
from rankprune.run._directory import LOG_FILE
from rankprune.run._settled import merge_decisions, read_settled
from reviewed_run import uid

BASE = Decision(
    "00000001", 3, "hash", "review", None, "ann", "keep", "yes", 0.25, 1.5, "a note", "2026-01-01"
)
DRAW = Draw(
    *(None, "sha", (2, 3, 4, 5), "yes", "no", ((7, True, False), (1, False, True)), "t"),
    method="model",
    about="yes",
    kinds=((True, True), (True, False), (False, True), (False, False)),
    strata=(1, 2),
)
COLUMNS = {
    "decisions": [
        "uid",
        "row",
        "row_hash",
        "mode",
        "draw",
        "reviewer",
        "answer",
        "label",
        "score",
        "seconds",
        "note",
        "time",
        "settles",
        "undo_of",
    ],
    "draws": [
        *("time", "scores", "sizes", "positive", "negative"),
        *("method", "about", "batch", "kinds"),
    ],
    "drawn": ["draw", "place", "row", "is_positive", "suspect", "stratum"],
}
MAY_BE_NULL = {"draw", "label", "score", "undo_of", "about"}
BAD = {
    "row": ["'seven'", "-1", "1.5", "x'00'", "1e300"],
    "mode": ["'other'", "'audit'"],
    "draw": ["'one'", "x'00'"],
    "answer": ["'maybe'", "'positive'", "'='"],
    "score": ["2", "-1e-9", "1e999", "'high'"],
    "seconds": ["'long'", "1e999", "x'00'"],
    "settles": ["2", "'yes'", "-1"],
    "sizes": ["''", "'2 3 4'", "'2 3 4 five'", "'1 0 0 1'", "'0 3 0 5'", "9"],
    "is_positive": ["2", "'yes'"],
    "suspect": ["2", "'yes'"],
    "method": ["'other'", "1"],
    "about": ["'maybe'", "1"],
    "batch": ["0", "2", "1.5", "'one'"],
    "kinds": ["''", "'11 10 01'", "'11 10 01 22'", "'01 01 01 01'", "9"],
    "stratum": ["4", "-1", "-2", "0.5", "'first'"],
    "place": ["5", "'first'", "-1"],
}


def make(path):
    """Write a log, and return what it holds."""
    content, held = _made()
    path.write_bytes(content)
    return held


@cache
def _made():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log"
        held = _write(path)
        return path.read_bytes(), held


def _write(path):
    with DecisionLog(path) as log:
        log.keep_draw(DRAW)
        for number in range(12):
            log.add(replace(BASE, uid=f"{number:08x}", row=number % 8, note="x" * 90 * number))
        log.add(replace(BASE, uid="a0000001", mode="audit", draw=1, answer="positive", label=None))
        return read(log)


def read(log):
    return log.decisions("review"), log.decisions("audit", 1), log.last_draw()


def use(path):
    """Read and write a log in all ways; return what was read."""
    with DecisionLog(path) as log:
        found = read(log)
        log.add(replace(BASE, uid="bbbbbbbb", row=99))
        log.undo("cccccccc", "bbbbbbbb", "ann", 0.0, "t")
        log.merge([replace(BASE, uid="dddddddd", row=99)], lambda _: True)
        log.keep_draw(DRAW)
    return found


def refuses(path):
    """Return whether a log is refused, by an error that names it and says what to do."""
    try:
        use(path)
    except (TableError, OSError) as error:
        return str(path) in str(error) and "Restore it from a copy, or move" in str(error)
    return False


def change(path, *statements):
    """Change a log against its own rules."""
    other = sqlite3.connect(path, isolation_level=None)
    for table in COLUMNS:
        for verb in ("update", "delete"):
            other.execute(f"DROP TRIGGER {table}_{verb}")
    for sql in statements:
        other.execute(sql)
    other.close()


def without_rules(table):
    """Return statements that leave a table with its rows, but without any constraints."""
    return (
        f"CREATE TABLE other AS SELECT * FROM {table}",
        f"DROP TABLE {table}",
        f"ALTER TABLE other RENAME TO {table}",
    )


def test_a_log_can_be_used_in_all_these_ways(tmp_path):
    wanted = make(tmp_path / "log")
    change(tmp_path / "log")
    assert use(tmp_path / "log") == wanted


@pytest.mark.parametrize("table", COLUMNS)
def test_each_missing_table_is_reported(tmp_path, table):
    make(tmp_path / "log")
    change(tmp_path / "log", f"DROP TABLE {table}")
    assert refuses(tmp_path / "log")


@pytest.mark.parametrize(
    ("table", "column"), [(table, column) for table in COLUMNS for column in COLUMNS[table]]
)
def test_each_missing_column_is_reported(tmp_path, table, column):
    make(tmp_path / "log")
    change(tmp_path / "log", f"ALTER TABLE {table} RENAME COLUMN {column} TO gone")
    assert refuses(tmp_path / "log")


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        (table, column, value)
        for table in COLUMNS
        for column in COLUMNS[table]
        for value in ("NULL", "x'ff00'", *BAD.get(column, ()))
        if not (value == "NULL" and column in MAY_BE_NULL)
    ],
)
@pytest.mark.parametrize("has_rules", [True, False])
def test_each_impossible_value_is_reported(tmp_path, table, column, value, has_rules):
    make(tmp_path / "log")
    rules = () if has_rules else without_rules(table)
    where = "WHERE rowid = (SELECT max(rowid) FROM decisions WHERE mode = 'review')"
    which = where if table == "decisions" else "WHERE rowid = 1"
    ignore = "PRAGMA ignore_check_constraints = ON"
    try:
        change(tmp_path / "log", *rules, ignore, f"UPDATE {table} SET {column} = {value} {which}")
    except sqlite3.IntegrityError:
        assert has_rules
        return
    assert refuses(tmp_path / "log")


def test_a_truncated_or_scrambled_file_is_refused_or_read_without_other_errors(tmp_path):
    path = tmp_path / "log"
    wanted = make(path)
    whole = path.read_bytes()
    rng = random.Random(0)
    said = []
    for turn in range(300):
        content = bytearray(whole)
        if turn % 4 == 0:
            del content[rng.randrange(1, len(content)) :]
        for _ in range(rng.choice((0, 1, 8, 64)) if turn % 4 == 0 else rng.choice((1, 2, 8, 64))):
            content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        for name in ("log", "log-wal", "log-shm"):
            (tmp_path / name).unlink(missing_ok=True)
        path.write_bytes(content)
        try:
            found = use(path)
        except (TableError, OSError) as error:
            said.append(str(error))
            continue
        # SQLite does not notice a changed letter; everything else is as it was.
        assert [one.row for one in found[0]] == [one.row for one in wanted[0]]
        assert [one.answer for one in found[0]] == [one.answer for one in wanted[0]]
    assert len(said) > 100
    assert all(str(path) in one for one in said)


@pytest.fixture
def judged(open_queue, run):
    """A run whose first suspects were judged."""
    queue = open_queue()
    for row in queue.order[:6]:
        queue.decide(uid(), "ann", row, "flip", seconds=1.0, note="")
    queue.log.close()
    return run


def spoil_index(path):
    """Damage a page that is not needed for reading decisions in their order."""
    other = sqlite3.connect(path)
    (page,) = other.execute(
        "SELECT rootpage FROM sqlite_master WHERE name = 'decisions_of_row'"
    ).fetchone()
    (size,) = other.execute("PRAGMA page_size").fetchone()
    other.close()
    with path.open("r+b") as file:
        file.seek((page - 1) * size + size - 40)
        file.write(b"\xff" * 30)


def test_a_damaged_log_is_noticed_before_labels_are_exported_or_merged(
    judged, check, folder, tmp_path
):
    table = folder / "people.csv"
    good = tmp_path / "good.sqlite"
    good.write_bytes((judged / LOG_FILE).read_bytes())
    assert len(read_settled(judged, check, table).rows) == 6
    spoil_index(judged / LOG_FILE)
    for work in (
        lambda: read_settled(judged, check, table),
        lambda: merge_decisions(judged, check, good, table),
        lambda: merge_decisions(tmp_path, check, judged, table),
    ):
        with pytest.raises(TableError, match=r"review.sqlite .* or it is damaged: .*Restore"):
            work()


@pytest.mark.parametrize(
    "words",
    [
        ("export", "--reviewed", "-o", "out.csv"),
        ("train", "--reviewed", "-o", "out.skops"),
        ("review", "--reviewer", "ann"),
        ("audit", "--n", "20"),
        ("audit", "--estimate"),
    ],
)
def test_every_command_names_the_damaged_log(command, judged, folder, words, monkeypatch):
    monkeypatch.chdir(folder)
    spoil_index(judged / LOG_FILE)
    name, *rest = words
    code, _, err = command(name, judged, *rest, "--table", folder / "people.csv")
    assert code == 2
    assert "review.sqlite" in err
    assert "damaged" in err
    assert not list(folder.glob("out.*"))


def test_a_sample_of_rows_that_were_not_checked_is_refused(command, run, folder, drawn):
    other = sqlite3.connect(run / LOG_FILE)
    other.execute("DROP TRIGGER drawn_update")
    other.execute("UPDATE drawn SET row = 4000000000000000000 WHERE place = 7")
    other.commit()
    other.close()
    for words in (("--estimate",), ("--reviewer", "ann")):
        code, _, err = command("audit", run, *words, "--table", folder / "people.csv")
        assert code == 2
        assert "its sample has rows that were not checked" in err
