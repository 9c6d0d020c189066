"""A file under another name: one that its reader expects, or one that means only this file."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

from rankprune.storage._claims import temporary_folder

# Where Linux names the open files of a process.
_OPEN_FILES = Path("/proc/self/fd")


def link_or_copy(path: Path, alias: Path) -> None:
    """Make a file available under another name: a symbolic link, or a copy if that fails."""
    try:
        alias.symlink_to(path.resolve())
    except OSError:  # no support for symbolic links, or no permission
        shutil.copyfile(path, alias)


@contextmanager
def opened_literally(path: Path) -> Iterator[tuple[BufferedReader, Path]]:
    """Yield an open file, and a path that leads to the same open file whatever its name.

    Names may hold wildcards, which DuckDB would expand, or bytes that are not valid UTF-8. On
    Linux the path leads to the very file that was opened, even if another one replaces it.
    """
    with path.open("rb") as file:
        if _OPEN_FILES.is_dir():
            yield file, _OPEN_FILES / str(file.fileno())
            return
        with temporary_folder() as folder:
            alias = folder / f"file{path.suffix}"
            link_or_copy(path, alias)
            yield file, alias
