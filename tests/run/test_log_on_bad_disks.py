"""The decision log on a full, failing or read-only disk: it is named, and nothing is lost."""

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace

import pytest

from rankprune.run import _decision_log, _sqlite_errors
from rankprune.run._decision_log import DecisionLog
from rankprune.run._decisions import Decision
from rankprune.run._directory import LOG_FILE
from rankprune.run._sqlite_errors import explaining

BASE = Decision(
    "00000001", 3, "hash", "review", None, "ann", "keep", "yes", 0.25, 1.5, "a note", "2026-01-01"
)
# Writes until that fails; what was acknowledged is there, and with more space the rest fits too.
FILL = """
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from rankprune.run._decision_log import DecisionLog
from rankprune.run._decisions import Decision
{before}
log = DecisionLog(Path(sys.argv[1]) / "review.sqlite")
{limit}
base = Decision("u", 3, "hash", "review", None, "ann", "keep", "yes", .25, 1.5, "n" * 2000, "t")
for number in range(10_000):
    one = replace(base, uid=f"{{number:08x}}", row=number)
    try:
        log.add(one)
    except OSError as error:
        print(number, error)
        break
assert [made.row for made in log.decisions("review")] == list(range(number))
{after}
log.add(one)
log.close()
assert len(DecisionLog(Path(sys.argv[1]) / "review.sqlite").decisions("review")) == number + 1
"""


def run_child(program, folder, *before):
    done = subprocess.run(
        [*before, sys.executable, "-c", program, str(folder)],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def may_mount():
    """Return whether this user may mount a file system that only one process sees."""
    if shutil.which("unshare") is None:
        return False
    words = ["unshare", "-m", "sh", "-c", "mount -t tmpfs none /mnt"]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


needs_mount = pytest.mark.skipif(not may_mount(), reason="mounting is not permitted")


@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
def test_a_file_that_cannot_grow_is_reported_and_loses_nothing(tmp_path):
    program = FILL.format(
        before="import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)",
        limit="resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))",
        after="resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, resource.RLIM_INFINITY))",
    )
    number, said = run_child(program, tmp_path).split(maxsplit=1)
    assert int(number) > 1
    assert said.strip() == (
        f"{tmp_path / LOG_FILE} cannot be read or written: the disk reports an error "
        "(SQLITE_IOERR_WRITE). Check the disk and its free space, and try again."
    )


@needs_mount
def test_a_full_disk_is_reported_and_loses_nothing(tmp_path):
    program = FILL.format(
        before="filler = Path(sys.argv[1]) / 'filler'; filler.write_bytes(bytes(500_000))",
        limit="",
        after="filler.unlink()",
    )
    mount = f"mount -t tmpfs -o size=1m none '{tmp_path}' && exec \"$@\""
    said = run_child(program, tmp_path, "unshare", "-m", "sh", "-c", mount, "sh")
    assert said.split(maxsplit=1)[1].strip() == (
        f"{tmp_path / LOG_FILE} cannot be written to: the disk is full. Free some space, and try "
        "again."
    )


@needs_mount
def test_a_new_log_on_a_full_disk_is_reported(tmp_path):
    program = """
import sys
from contextlib import closing
from pathlib import Path
from rankprune.run._decision_log import DecisionLog
path = Path(sys.argv[1]) / "review.sqlite"
try:
    (path.parent / "filler").write_bytes(bytes(2_000_000))
except OSError:
    pass
try:
    DecisionLog(path)
except OSError as error:
    print(error)
(path.parent / "filler").unlink()
DecisionLog(path).close()
"""
    mount = f"mount -t tmpfs -o size=1m none '{tmp_path}' && exec \"$@\""
    said = run_child(program, tmp_path, "unshare", "-m", "sh", "-c", mount, "sh")
    assert f"{tmp_path / LOG_FILE} cannot be" in said
    assert "try again" in said


@needs_mount
def test_a_log_on_a_read_only_disk_is_read_but_not_written(tmp_path):
    with DecisionLog(tmp_path / LOG_FILE) as log:
        log.add(BASE)
    program = """
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from rankprune.run._decision_log import DecisionLog
log = DecisionLog(Path(sys.argv[1]) / "review.sqlite")
(made,) = log.decisions("review")
try:
    log.add(replace(made, uid="00000002"))
except OSError as error:
    print(error)
try:
    DecisionLog(Path(sys.argv[1]) / "new.sqlite")
except OSError as error:
    print(error)
"""
    mount = f"mount --bind '{tmp_path}' '{tmp_path}' && mount -o remount,ro,bind '{tmp_path}'"
    words = ("unshare", "-m", "sh", "-c", f'{mount} && exec "$@"', "sh")
    first, second = run_child(program, tmp_path, *words).splitlines()
    assert first == f"{tmp_path / LOG_FILE} is read-only. Copy the run directory, and use the copy."
    assert second == (
        f"{tmp_path / 'new.sqlite'} cannot be opened. Check that its folder exists and that you "
        "may write to both."
    )


def test_a_folder_in_place_of_the_log_cannot_be_opened(command, run, folder):
    (run / LOG_FILE).mkdir()
    with pytest.raises(OSError, match=r"review.sqlite cannot be opened. Check that its folder"):
        DecisionLog(run / LOG_FILE)
    code, _, err = command("review", run, "--table", folder / "people.csv")
    assert code == 2
    assert "review.sqlite cannot be opened" in err


def failing(code, name, kind=sqlite3.OperationalError):
    error = kind("what SQLite calls it")
    error.sqlite_errorcode, error.sqlite_errorname = code, name
    return error


@pytest.mark.parametrize(
    ("code", "kind", "says"),
    [
        (sqlite3.SQLITE_BUSY_SNAPSHOT, _sqlite_errors.Locked, "is locked"),
        (sqlite3.SQLITE_PROTOCOL, _sqlite_errors.Locked, "is locked"),
        (sqlite3.SQLITE_FULL, OSError, "the disk is full"),
        (sqlite3.SQLITE_READONLY_DIRECTORY, OSError, "is read-only"),
        (sqlite3.SQLITE_IOERR_FSYNC, OSError, "the disk reports an error"),
        (sqlite3.SQLITE_CANTOPEN_FULLPATH, OSError, "cannot be opened"),
        (sqlite3.SQLITE_CORRUPT_INDEX, _sqlite_errors.TableError, "is damaged"),
        (sqlite3.SQLITE_NOTADB, _sqlite_errors.TableError, "is not a decision log"),
        (sqlite3.SQLITE_TOOBIG, _sqlite_errors.TableError, "is damaged"),
    ],
)
def test_each_error_of_sqlite_names_the_file(tmp_path, code, kind, says):
    with pytest.raises(kind, match=says) as caught, explaining(tmp_path / LOG_FILE):
        raise failing(code, "SQLITE_NAME")
    assert str(caught.value).startswith(str(tmp_path / LOG_FILE))


def test_wrong_calls_of_sqlite_are_not_blamed_on_the_file(tmp_path):
    log = DecisionLog(tmp_path / LOG_FILE)
    log.close()
    with pytest.raises(sqlite3.ProgrammingError):
        log.add(replace(BASE, uid="00000002"))


def test_decisions_are_not_merged_into_a_log_that_is_locked_or_read_only(
    command, run, folder, tmp_path, monkeypatch
):
    monkeypatch.setattr(_decision_log, "PATIENCE", 0.05)
    with DecisionLog(tmp_path / "theirs.sqlite") as log:
        log.add(BASE)
    DecisionLog(run / LOG_FILE).close()
    words = ("export", run, "--merge", tmp_path / "theirs.sqlite", "-o", tmp_path / "out.csv")
    words = (*words, "--table", folder / "people.csv")
    with closing(sqlite3.connect(run / LOG_FILE, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        code, _, err = command(*words)
    assert (code, "review.sqlite is locked: another program is writing to it" in err) == (2, True)
    monkeypatch.setattr(_decision_log, "_is_writable", lambda path: path.parent != run)
    code, _, err = command(*words)
    assert (code, "review.sqlite is read-only. Copy the run directory" in err) == (2, True)
    assert not (tmp_path / "out.csv").exists()
