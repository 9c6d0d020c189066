"""File hashes, to detect changed files."""

from __future__ import annotations

import hashlib
from io import BufferedReader
from pathlib import Path


def file_sha256(file: Path | BufferedReader) -> str:
    """Return the SHA-256 hash of a file, given by its path or open for reading."""
    if isinstance(file, Path):
        with file.open("rb") as opened:
            return file_sha256(opened)
    file.seek(0)
    return hashlib.file_digest(file, "sha256").hexdigest()
