"""A second name for a file, with the extension that its reader expects."""

from __future__ import annotations

import shutil
from pathlib import Path


def link_or_copy(path: Path, alias: Path) -> None:
    """Make a file available under another name: a symbolic link, or a copy if that fails."""
    try:
        alias.symlink_to(path.resolve())
    except OSError:  # no support for symbolic links, or no permission
        shutil.copyfile(path, alias)
