"""Errors of SQLite, as errors that name the decision log and say what to do."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rankprune.exceptions import TableError

_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)
_CLOSED = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH)
# Extended codes hold the general one in their lowest byte.
_GENERAL = 0xFF


class Locked(OSError):
    """Another process keeps the log locked."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path} is locked: another program is writing to it. Wait until it has finished, or "
            "close it, and try again."
        )


@contextmanager
def explaining(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into errors about this log."""
    try:
        yield
    except sqlite3.ProgrammingError:
        # Our own mistake, whatever the file holds.
        raise
    except sqlite3.Error as error:
        raise _explained(path, error) from error
    except UnicodeDecodeError as error:
        # SQLite quotes damaged names in its messages.
        raise damaged(path, "it holds names that are not valid UTF-8") from error


def _explained(path: Path, error: sqlite3.Error) -> OSError | TableError:
    # Errors of the Python module itself, such as text that is not UTF-8, have no code.
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & _GENERAL
    if code in _BUSY:
        return Locked(path)
    if code == sqlite3.SQLITE_FULL:
        return OSError(
            f"{path} cannot be written to: the disk is full. Free some space, and try again."
        )
    if code == sqlite3.SQLITE_READONLY:
        return read_only(path)
    if code == sqlite3.SQLITE_IOERR:
        return OSError(
            f"{path} cannot be read or written: the disk reports an error "
            f"({error.sqlite_errorname}). Check the disk and its free space, and try again."
        )
    if code in _CLOSED:
        return OSError(
            f"{path} cannot be opened. Check that its folder exists and that you may write to both."
        )
    return damaged(path, str(error))


def read_only(path: Path) -> OSError:
    """Return the error about a log that cannot be written to."""
    return OSError(f"{path} is read-only. Copy the run directory, and use the copy.")


def damaged(path: Path, why: str) -> TableError:
    """Return the error about a log whose content is wrong."""
    return TableError(
        f"{path} is not a decision log, or it is damaged: {' '.join(why.split())}. Restore it from "
        "a copy, or move it elsewhere to start a new one."
    )
