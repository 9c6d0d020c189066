"""Names of files that programs and records can hold: valid UTF-8."""

from __future__ import annotations

import os
from pathlib import Path


def readable_name(path: str | Path) -> str:
    """Return a path with each byte that is not valid UTF-8 written out, as in ``t\\xff.csv``."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def refuse_undecodable(path: str | Path) -> None:
    """Raise an error if a path is not valid UTF-8: no JSON, HTML or SQL could hold it."""
    try:
        os.path.abspath(path).encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            "Names of files and folders must be valid UTF-8, but this one is not: "
            f"{readable_name(os.path.abspath(path))}. Rename it."
        ) from error
