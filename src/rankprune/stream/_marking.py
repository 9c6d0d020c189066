"""Masks of rows that are never all in memory, batch by batch."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankprune.storage._atomic import whole_file
from rankprune.stream._passes import thread_pool
from rankprune.stream._sources import Batch, MappedBatches


class BatchMarker(Protocol):
    """What marks the rows of batches."""

    @property
    def is_ordered(self) -> bool: ...

    def mark_batch(
        self, labels: ArrayLike, probabilities: ArrayLike, mask: NDArray[np.bool_] | None = None
    ) -> NDArray[np.bool_]: ...


class MarkedRows(ABC):
    """The masks of a pruning, for the classes of results."""

    n_rows: int
    _source: MappedBatches
    _n_jobs: int

    @abstractmethod
    def _marker(self) -> BatchMarker: ...

    def masks(self) -> Iterator[NDArray[np.bool_]]:
        """Yield the mask of each batch, True for rows to drop."""
        marker, n_rows = self._marker(), 0
        for labels, probabilities in self._source:
            mask = marker.mark_batch(labels, probabilities)
            n_rows += len(mask)
            yield mask
        self._refuse_other_rows(n_rows)

    def _refuse_other_rows(self, n_rows: int) -> None:
        if n_rows != self.n_rows:
            raise ValueError(
                f"batches must give the same rows when they are marked, got {self.n_rows} rows "
                f"before and {n_rows} now. Pass a list, or a function that starts over."
            )

    def mask(self, out: NDArray[np.bool_] | None = None) -> NDArray[np.bool_]:
        """Return the mask of all rows, one byte each, written to ``out`` if it is given."""
        mask = np.empty(self.n_rows, dtype=bool) if out is None else out
        shape, kind = getattr(mask, "shape", None), getattr(mask, "dtype", None)
        if shape != (self.n_rows,) or kind != np.dtype(bool) or not mask.flags.writeable:
            raise ValueError(
                f"out must be a writable boolean array with one element per row, got "
                f"shape {shape} of {kind} for {self.n_rows} rows. Pass "
                "np.empty(pruning.n_rows, dtype=bool)."
            )
        marker, n_rows = self._marker(), 0
        # Ties at a cut-off are resolved by the order of the rows, so one thread marks them.
        with thread_pool(1 if marker.is_ordered else self._n_jobs) as run:

            def mark(task: tuple[int, Batch]) -> None:
                place, (labels, probabilities) = task
                end = place + len(np.asanyarray(labels))
                if end <= self.n_rows:  # more rows than before are refused below
                    marker.mark_batch(labels, probabilities, mask[place:end])

            def tasks() -> Iterator[tuple[int, Batch]]:
                nonlocal n_rows
                for batch in self._source.held(self._n_jobs):
                    place, n_rows = n_rows, n_rows + len(np.asanyarray(batch[0]))
                    yield place, batch

            run(mark, tasks())
        self._refuse_other_rows(n_rows)
        return mask

    def write_mask(self, path: str | os.PathLike[str]) -> Path:
        """Write the mask to an npy file as it is computed, and return its path."""
        place = Path(path)
        with whole_file(place) as part, part.open("wb") as sink:
            header = {"descr": "|b1", "fortran_order": False, "shape": (self.n_rows,)}
            np.lib.format.write_array_header_1_0(sink, header)
            for mask in self.masks():
                sink.write(mask.tobytes())
        return place
