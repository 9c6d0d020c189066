import errno
import os
import re
from pathlib import Path

import pytest

from rankprune.storage._atomic import (
    refuse_existing_file,
    refuse_same_file,
    refuse_unwritable,
    sync,
    whole_file,
    write_error,
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


def test_what_a_process_left_that_was_killed_while_it_tried_to_write_is_removed(tmp_path):
    left = tmp_path / ".rankprune-0123abcd.part"
    left.write_bytes(b"")
    refuse_unwritable(tmp_path / "a" / "b")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "the disk is full. Free some space, or choose another place."),
        (errno.EFBIG, "the disk is full. Free some space, or choose another place."),
        (errno.EROFS, "Read-only file system. Choose a folder in which files can be written."),
        (errno.EIO, "Input/output error."),
    ],
)
def test_a_failed_write_names_the_file_and_the_next_step(tmp_path, monkeypatch, number, words):
    def fail(_):
        raise OSError(number, "system")

    monkeypatch.setattr(os, "fsync", fail)
    path = tmp_path / "new" / "a.txt"
    with pytest.raises(OSError, match=re.escape(f"{path} cannot be written: {words}")):
        write_whole(path, b"text")
    assert list(tmp_path.iterdir()) == []


def test_errors_of_other_files_keep_their_words(tmp_path):
    def read_other():
        with whole_file(tmp_path / "a.txt"):
            raise PermissionError(errno.EACCES, "Permission denied", "/other/file")

    with pytest.raises(PermissionError, match="/other/file"):
        read_other()


def test_what_libraries_say_about_a_full_disk_is_understood():
    error = write_error(Path("a.parquet"), ValueError("IO Error: No space left on device\nmore"))
    assert str(error).startswith("a.parquet cannot be written: the disk is full.")
    error = write_error(Path("a.parquet"), ValueError("something else.\nmore"))
    assert str(error) == "a.parquet cannot be written: something else."


def test_a_file_in_an_unfinished_folder_has_the_name_of_its_place():
    error = write_error(Path("run/.rankprune-0123abcd.part/a.csv"), ValueError("quota exceeded"))
    assert str(error).startswith(f"{Path('run/a.csv')} cannot be written: the disk is full.")


def test_a_full_temporary_folder_is_named():
    error = write_error(Path("/tmp") / f"rankprune-{16 * '0'}", OSError(errno.ENOSPC, "full"))
    assert str(error).endswith(
        "the disk is full. Free some space, or set TMPDIR to another folder."
    )


def test_folders_are_not_synced_where_they_cannot_be_opened(tmp_path, monkeypatch):
    """As on Windows."""

    def refuse(*_):
        raise PermissionError(errno.EACCES, "a folder")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(PermissionError):
        sync(tmp_path)
    monkeypatch.setattr(os, "name", "nt")
    sync(tmp_path)
