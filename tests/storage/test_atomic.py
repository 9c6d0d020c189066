import os
import subprocess
import sys
import textwrap

import pytest

from rankprune.storage._atomic import (
    refuse_existing_file,
    refuse_same_file,
    refuse_unwritable,
    remove_unfinished,
    unfinished,
    whole_file,
    write_whole,
)


def test_a_file_is_written_whole_with_the_usual_permissions(tmp_path):
    write_whole(tmp_path / "new" / "a.txt", b"text")
    usual = tmp_path / "usual"
    usual.write_bytes(b"")
    assert (tmp_path / "new" / "a.txt").read_bytes() == b"text"
    assert (tmp_path / "new" / "a.txt").stat().st_mode == usual.stat().st_mode
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["a.txt"]


def test_a_failed_write_leaves_the_old_file_and_no_temporary_one(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"old")

    def fail():
        with whole_file(tmp_path / "a.txt") as part:
            part.write_bytes(b"half")
            raise OSError("no space left on device")

    with pytest.raises(OSError, match="no space"):
        fail()
    assert (tmp_path / "a.txt").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_a_process_killed_at_any_moment_of_a_write_leaves_the_old_or_the_new_file(tmp_path):
    """The process ends itself without warning at each system call of the write in turn."""
    script = textwrap.dedent(
        """
        import os, sys
        from pathlib import Path
        from rankprune.storage import _atomic
        moments = int(sys.argv[2])
        def counted(call):
            def wrapper(*args, **kwargs):
                global moments
                moments -= 1
                if moments == 0:
                    os.kill(os.getpid(), 9)
                return call(*args, **kwargs)
            return wrapper
        for name in ("fsync", "close", "open"):
            setattr(_atomic.os, name, counted(getattr(os, name)))
        for name in ("replace", "chmod", "write_bytes"):
            setattr(Path, name, counted(getattr(Path, name)))
        _atomic.write_whole(Path(sys.argv[1]), b"new" * 1000)
        """
    )
    path = tmp_path / "a.txt"
    outcomes = []
    for moment in range(1, 14):
        path.write_bytes(b"old")
        ended = subprocess.run([sys.executable, "-c", script, str(path), str(moment)], check=False)
        outcomes.append(ended.returncode)
        assert path.read_bytes() in (b"old", b"new" * 1000)
    assert outcomes[0] == -9
    assert outcomes[-1] == 0  # by then every moment has been tried


def test_an_output_that_is_the_input_is_refused_even_through_links(tmp_path):
    source = tmp_path / "a.csv"
    source.write_text("x")
    soft, hard = tmp_path / "soft.csv", tmp_path / "hard.csv"
    soft.symlink_to(source)
    os.link(source, hard)
    for output in (source, soft, hard):
        with pytest.raises(ValueError, match=r"must not be the input.*another name"):
            refuse_same_file(output, source)
    refuse_same_file(tmp_path / "other.csv", source)
    refuse_same_file(source, None)


def test_an_existing_file_is_replaced_only_with_force(tmp_path):
    path = tmp_path / "a.csv"
    refuse_existing_file(path, force=False)
    path.write_text("x")
    refuse_existing_file(path, force=True)
    with pytest.raises(FileExistsError, match=r"exists.*force=True"):
        refuse_existing_file(path, force=False)


def test_a_folder_that_cannot_be_written_to_is_refused_and_left_alone(tmp_path):
    refuse_unwritable(tmp_path / "a" / "b")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("x")
    with pytest.raises(OSError, match=r"cannot be written to.*Choose another folder"):
        refuse_unwritable(tmp_path / "file" / "run")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_unfinished_files_and_folders_are_removed(tmp_path):
    folder, file = tmp_path / "folder", tmp_path / "file"
    folder.mkdir()
    (folder / "inside").write_text("x")
    file.write_text("x")
    with unfinished(folder), unfinished(file):
        remove_unfinished()
    assert list(tmp_path.iterdir()) == []
    file.write_text("x")
    remove_unfinished()
    assert file.exists()
