"""A second name for a file, so that readers find it under the ending they expect."""

from __future__ import annotations

import shutil
from pathlib import Path


def link_or_copy(path: Path, alias: Path) -> None:
    """Make a file available under another name: by a link, or as a copy if links are impossible."""
    try:
        alias.symlink_to(path.resolve())
    except OSError:  # a file system without links
        shutil.copyfile(path, alias)
