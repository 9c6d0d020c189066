"""Unfinished files and folders: claimed by the process that makes them, swept if it was killed.

A claim is a lock of the operating system, which ends with its process in whatever way that ends. So
what nobody claims was left by a process that was killed, and what another process still works on is
never removed. Where the system has no such locks, nothing is swept.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
import tempfile
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # pragma: no cover (Windows)
    fcntl = None  # type: ignore[assignment]

PART = re.compile(r"\.rankprune-[0-9a-f]{8}\.part")
TEMPORARY = re.compile(r"rankprune-[0-9a-f]{16}")
# Neither links nor pipes are followed.
_OPEN = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
# Paths claimed by this process.
_CLAIMED: set[Path] = set()


class Claim:
    """A file or folder that this process works on.

    It is removed when the claim is closed or no longer referenced, unless it was `kept`.

    Parameters
    ----------
    path : Path
        Created here; it must not exist.
    mode : int
        Permissions before the umask.
    is_folder : bool
    """

    def __init__(self, path: Path, mode: int, *, is_folder: bool) -> None:
        self._handle = _claimed(path, mode, is_folder)
        self._claim(path)

    def _claim(self, path: Path) -> None:
        self.path = path
        _CLAIMED.add(path)
        self._finish = weakref.finalize(self, _finish, path, self._handle)

    def close(self) -> None:
        """End the claim, and remove the file or folder."""
        self._finish()

    def rename(self, path: Path) -> None:
        """Give the file or folder another name."""
        self.path.rename(path)
        self._finish.detach()
        _CLAIMED.discard(self.path)
        self._claim(path)

    def keep(self) -> None:
        """End the claim without removing anything."""
        if self._finish.detach() is not None:
            _release(self.path, self._handle)

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.close()


def new_part(folder: Path) -> Claim:
    """Return a new file in a folder, with the permissions that new files have."""
    return Claim(folder / f".rankprune-{secrets.token_hex(4)}.part", 0o666, is_folder=False)


def new_part_folder(folder: Path) -> Claim:
    """Return a new folder in a folder, with the permissions that new folders have."""
    return Claim(folder / f".rankprune-{secrets.token_hex(4)}.part", 0o777, is_folder=True)


def temporary_folder() -> Claim:
    """Return a new folder for temporary files that only this user can read."""
    name = f"rankprune-{secrets.token_hex(8)}"
    return Claim(Path(tempfile.gettempdir()) / name, 0o700, is_folder=True)


def sweep(folder: Path) -> None:
    """Remove the unfinished files that killed processes left in a folder."""
    _sweep(folder, PART)


def sweep_temporary() -> None:
    """Remove the temporary folders that killed processes of this user left."""
    _sweep(Path(tempfile.gettempdir()), TEMPORARY)


def remove_claimed() -> None:
    """Remove what this process has not finished; for a process about to exit without cleanup."""
    for path in list(_CLAIMED):
        _remove(path)


def remove_abandoned(path: Path) -> bool:
    """Remove a file or folder if no process claims it; return whether it was removed."""
    try:
        handle = os.open(path, _OPEN)
    except OSError:
        return False
    try:
        if os.fstat(handle).st_uid != os.geteuid() or not _lock(handle):
            return False
        _remove(path)
    finally:
        os.close(handle)
    return True


@contextmanager
def locked(folder: Path, patience: float) -> Iterator[None]:
    """Keep other processes from entering such a block for the same folder.

    Raises BlockingIOError if another process stays in it for longer than ``patience`` seconds.
    Where the folder cannot be locked, nobody waits.
    """
    try:
        handle = os.open(folder, os.O_RDONLY)
    except PermissionError:  # Windows does not open folders
        yield
        return
    try:
        end = time.monotonic() + patience
        while not _lock(handle, default=True):
            if time.monotonic() >= end:
                raise BlockingIOError(
                    f"Another process is writing to {folder}. Try again when it has finished."
                )
            time.sleep(0.02)
        yield
    finally:
        os.close(handle)


def _claimed(path: Path, mode: int, is_folder: bool) -> int | None:
    """Create a file or folder, claim it, and return the open handle that holds the claim."""
    while True:
        if is_folder:
            path.mkdir(mode)
        handle = None
        try:
            handle = _opened_new(path, mode, is_folder)
            if handle is None:
                return None
            _lock(handle, wait=True)
            # Another process may have swept it before it was claimed.
            if os.path.samestat(path.lstat(), os.fstat(handle)):
                return handle
        except FileNotFoundError:
            # Some folders, such as /proc, never take a new file.
            if not path.parent.exists() or (handle is None and not is_folder):
                raise
        except BaseException:
            if handle is not None or is_folder:
                _remove(path)
            raise
        if handle is not None:
            os.close(handle)


def _opened_new(path: Path, mode: int, is_folder: bool) -> int | None:
    if not is_folder:
        return os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode)
    try:
        return os.open(path, os.O_RDONLY)
    except PermissionError:  # Windows does not open folders
        return None


def _lock(handle: int, *, wait: bool = False, default: bool = False) -> bool:
    """Lock an open file; return whether that worked, or ``default`` if there are no locks."""
    if fcntl is None:  # pragma: no cover (Windows)
        return default
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return default
    return True


def _sweep(folder: Path, pattern: re.Pattern[str]) -> None:
    with suppress(OSError), os.scandir(folder) as entries:
        for name in [entry.name for entry in entries if pattern.fullmatch(entry.name)]:
            remove_abandoned(folder / name)


def _finish(path: Path, handle: int | None) -> None:
    """Remove a file or folder, then end the claim."""
    _remove(path)
    _release(path, handle)


def _release(path: Path, handle: int | None) -> None:
    _CLAIMED.discard(path)
    if handle is not None:
        os.close(handle)


def _remove(path: Path) -> None:
    with suppress(OSError):
        if stat.S_ISDIR(path.lstat().st_mode):
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()
