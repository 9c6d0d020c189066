"""Results of long computations, kept on disk so that an interrupted experiment goes on."""

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

from rankprune._files import whole_file

Arrays = dict[str, NDArray[Any]]

_ELSEWHERE: ContextVar[Path | None] = ContextVar("_ELSEWHERE", default=None)


def data_directory() -> Path:
    """Return where data sets and cached results lie: $RANKPRUNE_DATA or ~/.cache/rankprune."""
    return Path(os.environ.get("RANKPRUNE_DATA") or Path.home() / ".cache" / "rankprune")


def file_name(text: str) -> str:
    """Return a text as part of a file name."""
    return "".join(c if c.isalnum() else "-" for c in text)


def cached(name: str, compute: Callable[[], Arrays]) -> Arrays:
    """Return the arrays kept under this name; compute and keep them if there are none."""
    path = (_ELSEWHERE.get() or data_directory() / "experiments") / f"{name}.npz"
    if path.exists():
        with np.load(path, allow_pickle=False) as kept:
            return dict(kept)
    arrays = compute()
    with whole_file(path) as part, part.open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]  # names are taken for flags
    return arrays


@contextmanager
def kept_elsewhere() -> Iterator[None]:
    """Measure anew inside: nothing that was kept before is seen, and nothing is kept after."""
    with tempfile.TemporaryDirectory() as folder:
        token = _ELSEWHERE.set(Path(folder))
        try:
            yield
        finally:
            _ELSEWHERE.reset(token)


def forget(*prefixes: str) -> None:
    """Remove the arrays whose names begin so."""
    for prefix in prefixes:
        for path in (data_directory() / "experiments").glob(f"{prefix}*.npz"):
            path.unlink()
