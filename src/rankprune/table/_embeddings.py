"""Embeddings passed with a table: one vector per row."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune.exceptions import TableError
from rankprune.storage._names import refuse_undecodable


def read_embeddings(embeddings: Any, n_rows: int) -> NDArray[np.float64] | None:
    """Return the embeddings of a table, one vector per row, or None if there are none."""
    if embeddings is None:
        return None
    if isinstance(embeddings, str | Path):
        refuse_undecodable(embeddings)
        embeddings = _read_array(Path(embeddings))
    vectors = np.asarray(embeddings, dtype=np.float64)
    if vectors.ndim != 2 or len(vectors) != n_rows:
        raise TableError(
            f"embeddings must hold one row of numbers for each of the {n_rows} rows of the "
            f"table, got an array of shape {vectors.shape}. Check that both have the same rows "
            "in the same order."
        )
    if not np.isfinite(vectors).all():
        raise TableError("embeddings must be finite, but some are NaN or infinite. Replace them.")
    return vectors


def _read_array(path: Path) -> NDArray[Any]:
    """Return the array of numbers in an npy file."""
    if not path.is_file():
        raise TableError(f"embeddings must be an npy file; {path} does not exist.")
    try:
        found = np.load(path, allow_pickle=False)
        if not isinstance(found, np.ndarray) or found.dtype.kind not in "fiub":
            raise TypeError("no array of numbers")
    except OSError:
        raise
    except Exception as error:  # a broken header fails in many ways
        raise TableError(
            f"embeddings must be an npy file of numbers; {path} cannot be read as one. Write it "
            "with numpy.save."
        ) from error
    return found


def array_sha256(values: NDArray[np.float64]) -> str:
    """Return the SHA-256 hash of an array of numbers, to detect changes."""
    return hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()
