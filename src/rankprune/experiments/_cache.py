"""Results of long computations, kept on disk so that interrupted experiments can resume."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune.storage._atomic import whole_file

Arrays = dict[str, NDArray[Any]]

_FOLDER: ContextVar[Path | None] = ContextVar("_FOLDER", default=None)


def data_directory() -> Path:
    """Return the folder of data sets and cached results: $RANKPRUNE_DATA or ~/.cache/rankprune."""
    return Path(os.environ.get("RANKPRUNE_DATA") or Path.home() / ".cache" / "rankprune")


def file_name(text: str) -> str:
    """Return a text for use in a file name: all but letters and digits become hyphens."""
    return "".join(c if c.isalnum() else "-" for c in text)


def cached(name: str, compute: Callable[[], Arrays]) -> Arrays:
    """Return the arrays cached under this name; compute and cache them if there are none."""
    path = (_FOLDER.get() or data_directory() / "experiments") / f"{name}.npz"
    if path.exists():
        with np.load(path, allow_pickle=False) as kept:
            return dict(kept)
    arrays = compute()
    write_arrays(path, arrays)
    return arrays


def write_arrays(path: Path, arrays: dict[str, NDArray[Any]]) -> None:
    """Write arrays to a file; the same arrays give the same bytes."""
    with whole_file(path) as part, part.open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]  # mypy reads the names as flags


@contextmanager
def empty_cache() -> Iterator[None]:
    """Use an empty, temporary cache inside the context, and delete it afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        token = _FOLDER.set(Path(folder))
        try:
            yield
        finally:
            _FOLDER.reset(token)


def forget(*prefixes: str) -> None:
    """Remove the cached arrays whose names start with one of the prefixes."""
    for prefix in prefixes:
        for path in (data_directory() / "experiments").glob(f"{prefix}*.npz"):
            path.unlink()
