"""Files that are whole or not there: written beside their place, synced and renamed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a place to write to; what lies there afterwards takes the name at once.

    Whatever happens before that, the name holds what it held: the old file, or none.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    os.close(handle)
    part = Path(name)
    try:
        yield part
        part.chmod(0o666 & ~_umask())
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


def _umask() -> int:
    """Return the mask of a new file's permissions, which can only be read by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def refuse_same_file(output: Path, source: Path | None) -> None:
    """Raise an error where writing would destroy what was read, also through a link."""
    if source is not None and output.exists() and source.exists() and output.samefile(source):
        raise ValueError(
            f"The output must not be the input, but {output} is the same file as {source}. Choose "
            "another name."
        )
