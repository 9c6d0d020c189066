"""Atomic file writes: write to a temporary file, sync it, and rename it."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Files and folders to remove if this process ends before they are finished.
_UNFINISHED: set[Path] = set()


@contextmanager
def unfinished(path: Path) -> Iterator[None]:
    """Mark a file or folder as unfinished within the block; see `remove_unfinished`."""
    _UNFINISHED.add(path)
    try:
        yield
    finally:
        _UNFINISHED.discard(path)


def remove_unfinished() -> None:
    """Remove unfinished files and folders; for a process about to exit without cleanup."""
    for path in list(_UNFINISHED):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path; the file written there replaces ``path`` when the block ends.

    If the block fails or the process is killed, ``path`` is unchanged.
    """
    refuse_special_file(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    # Use the default permissions of a new file; tempfile would create a stricter one.
    os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    try:
        with unfinished(part):
            yield part
        with part.open("rb") as written:
            os.fsync(written.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file atomically, so that no reader ever sees part of it."""
    with whole_file(path) as part:
        part.write_bytes(content)


def _sync_folder(folder: Path) -> None:
    """Make a rename durable. Windows cannot open folders, and does not need this."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


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
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder):
            pass
    except OSError as error:
        reason = error.strerror or error
        raise OSError(f"{folder} cannot be written to: {reason}. Choose another folder.") from error
    finally:
        for path in missing:
            if path.is_dir() and not any(path.iterdir()):
                path.rmdir()
