"""Atomic writes: a file is written under another name, synced to the disk, and renamed."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rankprune.storage._claims import PART, TEMPORARY, new_part, sweep

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_REFUSED = (errno.EROFS, errno.EACCES, errno.EPERM)
# What libraries say instead of an error number.
_FULL_WORDS = ("No space left", "File too large", "quota exceeded", "database or disk is full")


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path; the file written there replaces ``path`` when the block ends.

    If the block fails or the process is killed, ``path`` is unchanged.
    """
    refuse_special_file(path)
    with naming_file(path), made_folder(path.parent):
        sweep(path.parent)
        with new_part(path.parent) as part:
            yield part
            sync(part)
            part.replace(path)
            sync(path.parent)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file atomically, so that no reader ever sees part of it."""
    with whole_file(path) as part:
        part.write_bytes(content)


def sync(path: Path) -> None:
    """Make what was written to a file, or renamed in a folder, survive a loss of power."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except PermissionError:
        # Windows does not open folders, and does not need this.
        if os.name == "posix":
            raise
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def made_folder(folder: Path) -> Iterator[None]:
    """Create a folder if it is missing, and remove it again if the block fails and it is empty."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in missing:
            sync(path.parent)
        yield
    except BaseException:
        for path in missing:
            with suppress(OSError):
                path.rmdir()
        raise


@contextmanager
def naming_file(path: Path) -> Iterator[None]:
    """Let errors of the system say which file could not be written, and what to do."""
    try:
        yield
    except OSError as error:
        # The block may also read other files.
        is_here = error.filename is None or str(error.filename).startswith(str(path.parent))
        if is_here and error.errno in (*_FULL, *_REFUSED, errno.EIO):
            raise write_error(path, error) from error
        raise


def write_error(path: Path, error: Exception) -> OSError:
    """Return an error that says that a file could not be written, why, and what to do."""
    if PART.fullmatch(path.parent.name):
        # Files of a run wait in an unfinished folder before they take their places.
        path = path.parent.parent / path.name
    number = getattr(error, "errno", None)
    if number in _FULL or any(word in str(error) for word in _FULL_WORDS):
        is_temporary = TEMPORARY.fullmatch(path.name)
        other = "set TMPDIR to another folder" if is_temporary else "choose another place"
        reason = f"the disk is full. Free some space, or {other}"
    elif number in _REFUSED:
        reason = f"{os.strerror(number)}. Choose a folder in which files can be written"
    else:
        reason = os.strerror(number) if number else str(error).splitlines()[0].rstrip(".")
    return OSError(f"{path} cannot be written: {reason}.")


def refuse_same_file(output: Path, *sources: Path | None) -> None:
    """Raise an error if the output is one of the input files, directly or through a link."""
    for source in sources:
        if source is not None and output.exists() and source.exists() and output.samefile(source):
            raise ValueError(
                f"The output must not be the input, but {output} is the same file as {source}. "
                "Choose another name."
            )


def refuse_special_file(path: Path) -> None:
    """Raise an error if a device, a pipe or a folder would be replaced, also through a link."""
    if path.exists() and not path.is_file():
        kind = "folder" if path.is_dir() else "device or a pipe"
        raise FileExistsError(
            f"{path} is a {kind}, which is never replaced. Choose a regular file."
        )


def refuse_existing_file(path: Path, force: bool) -> None:
    """Raise an error if the file exists, unless ``force`` is set; special files always do."""
    refuse_special_file(path)
    if path.exists() and not force:
        raise FileExistsError(
            f"{path} already exists. Pass force=True to replace it, or choose another name."
        )


def refuse_unwritable(folder: Path) -> None:
    """Raise an error if a folder cannot be written to, without leaving a file or folder behind."""
    try:
        # A folder is made when there is something to write; until then its parent is tried.
        place = next(path for path in (folder, *folder.parents) if path.exists())
        sweep(place)
        with new_part(place):
            pass
    except OSError as error:
        reason = error.strerror or error
        raise OSError(f"{folder} cannot be written to: {reason}. Choose another folder.") from error
