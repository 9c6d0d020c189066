"""What a process has not finished is its own until it ends, and swept afterwards."""

import errno
import gc
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from rankprune.storage import _claims
from rankprune.storage._claims import (
    Claim,
    locked,
    new_part,
    new_part_folder,
    remove_abandoned,
    remove_claimed,
    sweep,
    sweep_temporary,
    temporary_folder,
)

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs locks of open files")

KILLED = """
import os, sys
from pathlib import Path
from rankprune.storage import _claims
made = [_claims.new_part(Path(sys.argv[1])), _claims.new_part_folder(Path(sys.argv[1]))]
(made[1].path / "inside").write_text("x")
made.append(_claims.temporary_folder())
print("made", flush=True)
sys.stdin.read(1)
os.kill(os.getpid(), 9)
"""


@pytest.fixture
def other_process(tmp_path, monkeypatch):
    """Another process that works on two files and a temporary folder until it is killed."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    (tmp_path / "work").mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path / "work")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(temporary)},
    ) as process:
        assert process.stdout.readline() == b"made\n"
        yield process
        process.kill()


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_what_a_living_process_works_on_stays_and_what_a_killed_one_left_is_swept(
    other_process, tmp_path
):
    work, temporary = tmp_path / "work", tmp_path / "temporary"
    (work / ".rankprune-zz.part").write_text("another name")
    (work / "mine.part").write_text("somebody else's")
    before = names(work), names(temporary)
    assert [len(found) for found in before] == [4, 1]
    sweep(work)
    sweep_temporary()
    assert (names(work), names(temporary)) == before
    other_process.communicate(b"x")
    assert other_process.returncode == -9
    assert (names(work), names(temporary)) == before
    sweep(work)
    sweep_temporary()
    assert (names(work), names(temporary)) == ([".rankprune-zz.part", "mine.part"], [])


def test_a_claim_of_this_process_is_not_swept_either_and_ends_with_its_block(tmp_path):
    with new_part(tmp_path) as file, new_part_folder(tmp_path) as folder:
        sweep(tmp_path)
        assert file.is_file()
        assert folder.is_dir()
    assert names(tmp_path) == []


def test_a_claim_that_nobody_refers_to_is_removed(tmp_path):
    claim = new_part_folder(tmp_path)
    assert names(tmp_path) == [claim.path.name]
    del claim
    gc.collect()
    assert names(tmp_path) == []


def test_what_is_kept_stays_under_its_new_name(tmp_path):
    claim = new_part_folder(tmp_path)
    claim.rename(tmp_path / "finished")
    claim.keep()
    claim.keep()
    claim.close()
    remove_claimed()
    assert names(tmp_path) == ["finished"]


def test_a_process_that_ends_at_once_removes_what_it_has_not_finished(tmp_path):
    file, folder = new_part(tmp_path), new_part_folder(tmp_path)
    (folder.path / "inside").write_text("x")
    remove_claimed()
    assert names(tmp_path) == []
    file.close()
    folder.close()


def test_temporary_folders_are_private(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with temporary_folder() as folder:
        assert folder.stat().st_mode & 0o777 == 0o700


def test_links_and_pipes_are_never_followed(tmp_path):
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "file").write_text("x")
    (tmp_path / ".rankprune-00000000.part").symlink_to(victim)
    sweep(tmp_path)
    assert (victim / "file").exists()
    os.mkfifo(tmp_path / ".rankprune-00000001.part")
    sweep(tmp_path)
    assert names(victim) == ["file"]


def test_files_of_other_users_stay(tmp_path, monkeypatch):
    path = tmp_path / ".rankprune-00000000.part"
    path.write_text("x")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert not remove_abandoned(path)
    monkeypatch.undo()
    assert remove_abandoned(path)
    assert not remove_abandoned(path)


def test_a_file_that_is_swept_before_it_is_claimed_is_made_again(tmp_path, monkeypatch):
    swept = []
    real = _claims._lock

    def sweeps_first(handle, **how):
        if not swept:
            swept.append(names(tmp_path))
            for name in swept[0]:
                _claims._remove(tmp_path / name)
        return real(handle, **how)

    monkeypatch.setattr(_claims, "_lock", sweeps_first)
    for make in (new_part, new_part_folder):
        swept.clear()
        with make(tmp_path) as path:
            assert [path.name] == swept[0] == names(tmp_path)


def test_no_claim_is_left_by_an_error(tmp_path, monkeypatch):
    def fail(*_, **__):
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(_claims, "_lock", fail)
    for make in (new_part, new_part_folder):
        with pytest.raises(OSError, match="broken"):
            make(tmp_path)
    assert names(tmp_path) == []
    with pytest.raises(FileNotFoundError):
        new_part(tmp_path / "missing")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="other systems have no such folder")
@pytest.mark.parametrize("make", [new_part, new_part_folder])
def test_a_folder_that_never_takes_new_files_is_not_tried_for_ever(make):
    with pytest.raises(OSError, match="No such file"):
        make(Path("/proc"))


def test_without_locks_nothing_is_swept_and_nothing_waits(tmp_path, monkeypatch):
    def unsupported(*_):
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr(_claims.fcntl, "flock", unsupported)
    with new_part(tmp_path) as part:
        sweep(tmp_path)
        assert part.exists()
    with locked(tmp_path, 0), locked(tmp_path, 0):
        pass


def test_a_folder_that_cannot_be_opened_is_used_without_a_claim(tmp_path, monkeypatch):
    """As on Windows."""
    real = os.open

    def refuse_folders(path, *rest):
        if os.path.isdir(path):
            raise PermissionError(errno.EACCES, "a folder")
        return real(path, *rest)

    monkeypatch.setattr(os, "open", refuse_folders)
    with new_part_folder(tmp_path) as folder, locked(tmp_path, 0):
        assert folder.is_dir()
        monkeypatch.undo()
    assert names(tmp_path) == []


def test_only_one_at_a_time_is_in_a_locked_folder(tmp_path):
    with locked(tmp_path, 0):
        with pytest.raises(BlockingIOError, match=r"Another process is writing to .*Try again"):
            locked(tmp_path, 0.05).__enter__()
        entered = threading.Event()

        def wait():
            with locked(tmp_path, 60):
                entered.set()

        thread = threading.Thread(target=wait)
        thread.start()
        assert not entered.is_set()
    thread.join()
    assert entered.is_set()


def test_a_claim_needs_a_new_name(tmp_path):
    (tmp_path / "a").write_text("x")
    (tmp_path / "b").mkdir()
    for name, is_folder in (("a", False), ("b", True)):
        with pytest.raises(FileExistsError):
            Claim(tmp_path / name, 0o777, is_folder=is_folder)
    assert names(tmp_path) == ["a", "b"]
