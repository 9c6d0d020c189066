"""Rates and masks of rows that need not fit in memory: the same results, a batch at a time.

`rankprune.core.ConfidentState` holds what is known after each batch.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune.core import ConfidentState, Cutoffs, Marker, NoiseRates
from rankprune.core._parameters import validate_count
from rankprune.storage._atomic import whole_file
from rankprune.stream._passes import run_passes, thread_pool
from rankprune.stream._sources import Batch, Batches, MappedBatches, opened_batches


def estimate_noise_rates(
    batches: Batches, *, method: Any = None, pos_label: Any = None, n_jobs: int = 1
) -> NoiseRates:
    """Return how many labels are wrong in each class, from batches of labels and probabilities.

    Parameters
    ----------
    batches : iterable of (labels, probabilities), callable or tuple of two arrays
        The rows: a list or another iterable of batches, which may be empty or hold a single label;
        a function that returns such an iterable and is called for each pass; or two arrays or
        memory maps. An iterator, which can be read only once, is first copied to a temporary file.
        `read_scores` reads Parquet and Arrow files.
    method : str or callable, default=None
        As in `rankprune.estimate_noise_rates`, with the same default and the same result. A
        callable sees the bins of a `ScoreSketch` as rows with weights.
    pos_label : default=None
        The positive label, if labels are not 0 and 1.
    n_jobs : int, default=1
        Number of threads. Does not change the result.

    Returns
    -------
    NoiseRates

    Examples
    --------
    >>> import numpy as np
    >>> from rankprune import stream
    >>> rng = np.random.default_rng(0)
    >>> def batches():
    ...     for seed in range(10):
    ...         rng = np.random.default_rng(seed)
    ...         truth = rng.random(1000) < 0.5
    ...         labels = np.where(rng.random(1000) < 0.2, 0, truth)
    ...         yield labels, np.where(truth, 0.8, 0.0)
    >>> rates = stream.estimate_noise_rates(batches)
    >>> round(rates.positive_noise_rate, 2), round(rates.negative_noise_rate, 6)
    (0.2, 0.0)
    """
    jobs, state = validate_count(n_jobs, "n_jobs", 2), ConfidentState(method, prunes=False)
    with opened_batches(batches, pos_label) as source:
        return run_passes(source, state, jobs).rates()


@dataclass(frozen=True)
class StreamedPruning:
    """Which rows to drop, without holding them: the rates, the cut-offs, and the masks.

    Attributes
    ----------
    noise_rates : NoiseRates
    positive_cutoff, negative_cutoff : float or None
        As in `Pruning`.
    n_positive_pruned, n_negative_pruned : int
    n_rows, n_passes : int
        Number of rows, and of passes over them.

    Examples
    --------
    >>> from rankprune import NoiseRates, stream
    >>> rates = NoiseRates.from_label_error_rates(0.5, 0.0, observed_prevalence=0.5)
    >>> pruning = stream.prune_labels([([1, 0], [0.9, 0.1]), ([1, 0], [0.2, 0.3])], rates)
    >>> pruning.n_rows, pruning.positive_cutoff, pruning.mask().tolist()
    (4, 0.2, [False, False, True, False])
    """

    noise_rates: NoiseRates
    positive_cutoff: float | None
    negative_cutoff: float | None
    n_positive_pruned: int
    n_negative_pruned: int
    n_rows: int
    n_passes: int
    _cutoffs: Cutoffs = field(repr=False)
    _batches: Any = field(repr=False)
    _pos_label: Any = field(repr=False)
    _n_jobs: int = field(repr=False)

    def masks(self) -> Iterator[NDArray[np.bool_]]:
        """Yield the mask of each batch, True for rows to drop."""
        marker, n_rows = Marker(self._cutoffs), 0
        for labels, probabilities in MappedBatches(self._batches, self._pos_label):
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
        marker, source = Marker(self._cutoffs), MappedBatches(self._batches, self._pos_label)
        n_rows = 0
        # Ties at a cut-off are resolved by the order of the rows, so one thread marks them.
        with thread_pool(1 if marker.is_ordered else self._n_jobs) as run:

            def mark(task: tuple[int, Batch]) -> None:
                place, (labels, probabilities) = task
                end = place + len(np.asanyarray(labels))
                if end <= self.n_rows:  # more rows than before are refused below
                    marker.mark_batch(labels, probabilities, mask[place:end])

            def tasks() -> Iterator[tuple[int, Batch]]:
                nonlocal n_rows
                for batch in source.held(self._n_jobs):
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


def prune_labels(
    batches: Batches,
    noise_rates: NoiseRates | None = None,
    *,
    method: Any = None,
    pos_label: Any = None,
    n_jobs: int = 1,
) -> StreamedPruning:
    """Return which rows to drop, from batches of labels and probabilities.

    Counts, cut-offs and masks are those of `rankprune.prune_labels` on all rows at once, whatever
    the batches.

    Parameters
    ----------
    batches, method, pos_label, n_jobs
        As in `estimate_noise_rates`, except that an iterator is refused: the mask needs a second
        pass.
    noise_rates : NoiseRates, default=None
        Known or estimated rates. By default they are estimated in the same passes.

    Returns
    -------
    StreamedPruning

    Examples
    --------
    >>> import numpy as np
    >>> from rankprune import NoiseRates, stream
    >>> rates = NoiseRates.from_label_error_rates(0.25, 0.25, observed_prevalence=0.5)
    >>> batches = [([1, 1, 1, 1, 0], [0.9, 0.2, 0.7, 0.8, 0.1]), ([0, 0, 0], [0.6, 0.3, 0.2])]
    >>> pruning = stream.prune_labels(batches, rates)
    >>> pruning.positive_cutoff, pruning.negative_cutoff
    (0.2, 0.6)
    >>> [mask.nonzero()[0].tolist() for mask in pruning.masks()]
    [[1], [0]]
    """
    if isinstance(batches, Iterator):
        raise TypeError(
            "batches must be readable more than once, because marking rows takes another pass; got "
            f"an iterator ({type(batches).__name__}). Pass a list, or a function that returns it."
        )
    jobs = validate_count(n_jobs, "n_jobs", 2)
    with opened_batches(batches, pos_label) as source:
        state = run_passes(source, ConfidentState(method, noise_rates=noise_rates), jobs)
    cutoffs = state.cutoffs()
    parts = (cutoffs.positive, cutoffs.negative)
    n_positive, n_negative = (0 if part is None else part.n_pruned for part in parts)
    return StreamedPruning(
        state.rates(),
        *cutoffs.values,
        n_positive,
        n_negative,
        state.n_rows,
        state.n_pass - 1,
        cutoffs,
        batches,
        pos_label,
        jobs,
    )
