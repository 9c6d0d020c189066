"""Files that are whole or not there: written beside their place, synced and renamed."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Files and folders that are not to outlive this process, should it end in the middle.
_UNFINISHED: set[Path] = set()


@contextmanager
def unfinished(path: Path) -> Iterator[None]:
    """Remember a file or folder to be removed, should the process be left while inside."""
    _UNFINISHED.add(path)
    try:
        yield
    finally:
        _UNFINISHED.discard(path)


def remove_unfinished() -> None:
    """Remove what is unfinished: the last thing that a process does which is left at once."""
    for path in list(_UNFINISHED):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a place to write to; what lies there afterwards takes the name at once.

    Whatever happens before that, the name holds what it held: the old file, or none.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    # With the permissions of any new file, which a temporary file would not have.
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
    """Write a file so that there is never half of it."""
    with whole_file(path) as part:
        part.write_bytes(content)


def _sync_folder(folder: Path) -> None:
    """Make a renaming last; where folders cannot be opened, as on Windows, nothing is needed."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def refuse_same_file(output: Path, *sources: Path | None) -> None:
    """Raise an error where writing would destroy what was read, also through a link."""
    for source in sources:
        if source is not None and output.exists() and source.exists() and output.samefile(source):
            raise ValueError(
                f"The output must not be the input, but {output} is the same file as {source}. "
                "Choose another name."
            )


def refuse_existing_file(path: Path, force: bool) -> None:
    """Raise an error where a file would be replaced without having been asked to."""
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists. Replace it with --force, or choose another name.")


def refuse_unwritable(folder: Path) -> None:
    """Raise an error where nothing can be written, and leave nothing behind."""
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder):
            pass
    except OSError as error:
        reason = error.strerror or error
        raise OSError(f"{folder} cannot be written to: {reason}. Choose another place.") from error
    finally:
        for place in missing:
            if place.is_dir() and not any(place.iterdir()):
                place.rmdir()
