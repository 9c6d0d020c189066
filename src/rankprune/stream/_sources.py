"""Rates and masks of rows that need not be in memory: the same results, a batch at a time.

The state that goes over the batches is `rankprune.core.ConfidentState`; here are the sources of
batches, the passes over them, and the mask written as it goes.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankprune._files import whole_file
from rankprune._spooling import link
from rankprune._sql import sql_name, sql_text
from rankprune.core import ConfidentState, Cutoffs, Marker, NoiseRates
from rankprune.core._inputs import validate_batch, validate_batch_labels, validate_count

__all__ = ["StreamedPruning", "estimate_noise_rates", "prune_labels", "read_scores"]

Batch = tuple[ArrayLike, ArrayLike]
Batches = Iterable[Batch] | Callable[[], Iterable[Batch]] | tuple[ArrayLike, ArrayLike]

# Rows of arrays and files that are handled together.
_BATCH_ROWS = 1 << 20
_EXACT = "confident-counts"


def estimate_noise_rates(
    batches: Batches, *, method: Any = _EXACT, pos_label: Any = None, n_jobs: int = 1
) -> NoiseRates:
    """Return how many labels are wrong in each class, from batches of labels and probabilities.

    Parameters
    ----------
    batches : iterable of (labels, probabilities), callable or tuple of two arrays
        The rows: a list or any other iterable of batches, which may hold no rows or one label
        only; a function that returns such an iterable, anew for each pass; or two arrays, also
        memory maps. An iterator that can be gone over once is copied to a temporary file first.
        `read_scores` reads Parquet and Arrow files.
    method : str or callable, default="confident-counts"
        The noise estimator, as in `rankprune.estimate_noise_rates`. The paper's is exact; others
        see scores to within one part in 4,096, from 2**-32 on.
    pos_label : default=None
        The positive label, where labels are not 0 and 1.
    n_jobs : int, default=1
        Threads that go over batches at the same time. They change no result.

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
    >>> round(rates.positive_noise_rate, 2), rates.negative_noise_rate
    (0.2, 0.0)
    """
    jobs, state = validate_count(n_jobs, "n_jobs", 2), ConfidentState(method, prunes=False)
    with _opened(batches, pos_label) as source:
        return _gone_over(source, state, jobs).rates()


@dataclass(frozen=True)
class StreamedPruning:
    """Which rows to drop, told without holding them: the rates, the cut-offs, and how to mark rows.

    Attributes
    ----------
    noise_rates : NoiseRates
    positive_cutoff, negative_cutoff : float or None
        As in `Pruning`.
    n_positive_pruned, n_negative_pruned : int
    n_rows, n_passes : int
        Rows in all, and how often they were gone over.

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
        """Yield the mask of one batch after the other, True for rows to drop."""
        marker, n_rows = Marker(self._cutoffs), 0
        for labels, probabilities in _Mapped(self._batches, self._pos_label):
            mask = marker.mark_batch(labels, probabilities)
            n_rows += len(mask)
            yield mask
        self._refuse_other_rows(n_rows)

    def _refuse_other_rows(self, n_rows: int) -> None:
        if n_rows != self.n_rows:
            raise ValueError(
                f"batches must give the same rows when they are marked, got {self.n_rows} rows "
                f"before and {n_rows} now. Pass a list, or a function that starts anew."
            )

    def mask(self, out: NDArray[np.bool_] | None = None) -> NDArray[np.bool_]:
        """Return the mask of all rows, one byte each, in an array or a memory map of one's own."""
        mask = np.empty(self.n_rows, dtype=bool) if out is None else out
        shape, kind = getattr(mask, "shape", None), getattr(mask, "dtype", None)
        if shape != (self.n_rows,) or kind != np.dtype(bool) or not mask.flags.writeable:
            raise ValueError(
                f"out must be a boolean array of one place per row that can be written, got "
                f"shape {shape} of {kind} for {self.n_rows} rows. Pass "
                "np.empty(pruning.n_rows, dtype=bool)."
            )
        marker, source = Marker(self._cutoffs), _Mapped(self._batches, self._pos_label)
        n_rows = 0
        # Rows that tie at a cut-off go in their order, so one thread marks them.
        with _pool(1 if marker.is_ordered else self._n_jobs) as run:

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
        """Write the mask to an npy file as it is computed, and return its place."""
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
    method: Any = _EXACT,
    pos_label: Any = None,
    n_jobs: int = 1,
) -> StreamedPruning:
    """Return which rows to drop, from batches of labels and probabilities.

    Counts, cut-offs and masks are those of `rankprune.prune_labels` on all rows at once, however
    they are cut into batches.

    Parameters
    ----------
    batches, method, pos_label, n_jobs
        As in `estimate_noise_rates`. An iterator that can be gone over once is refused: the mask
        needs its rows again.
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
            "batches must be something that can be gone over again to mark its rows, got an "
            f"iterator ({type(batches).__name__}). Pass a list, or a function that returns it."
        )
    jobs = validate_count(n_jobs, "n_jobs", 2)
    with _opened(batches, pos_label) as source:
        state = _gone_over(source, ConfidentState(method, noise_rates=noise_rates), jobs)
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


def find_cutoffs(batches: Batches, state: ConfidentState) -> Cutoffs:
    """Return the cut-offs after the passes of a state over batches."""
    with _opened(batches, None) as source:
        return _gone_over(source, state, 1).cutoffs()


def read_scores(
    path: str | os.PathLike[str], label: str, probability: str, *, batch_rows: int = _BATCH_ROWS
) -> Iterable[Batch]:
    """Return the labels and probabilities in a file, as batches that can be gone over again.

    Parameters
    ----------
    path : path
        A Parquet file, read by DuckDB (rankprune[cli]), or an Arrow file, read by pyarrow.
    label, probability : str
        The columns.
    batch_rows : int, default=1048576
        Rows read at a time.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import polars as pl
    >>> from rankprune import stream
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = Path(folder) / "scores.parquet"
    ...     pl.DataFrame({"s": [1, 0, 1, 0], "g": [0.9, 0.1, 0.8, 0.2]}).write_parquet(place)
    ...     [len(labels) for labels, scores in stream.read_scores(place, "s", "g", batch_rows=3)]
    [3, 1]
    """
    place = Path(path)
    if not place.is_file():
        raise FileNotFoundError(f"{place} does not exist. Check the path.")
    if place.suffix.lower() in (".arrow", ".feather", ".ipc"):
        return _Arrow(place, label, probability)
    return _Parquet(
        place, label, probability, validate_count(batch_rows, "batch_rows", _BATCH_ROWS)
    )


@dataclass(frozen=True)
class _Parquet:
    path: Path
    label: str
    probability: str
    batch_rows: int

    def __iter__(self) -> Iterator[Batch]:
        try:
            import duckdb
        except ImportError as error:
            raise ImportError(
                "Parquet files need DuckDB, which is not installed. Install rankprune[cli]."
            ) from error
        label, probability = sql_name(self.label), sql_name(self.probability)
        with (
            tempfile.TemporaryDirectory(prefix="rankprune-") as folder,
            duckdb.connect() as connection,
        ):
            # By a name without signs that stand for others, lest other files be read.
            place = Path(folder) / "scores.parquet"
            link(self.path, place)
            source = sql_text(place)
            try:
                counted = connection.execute(
                    f"SELECT count(*) FROM read_parquet({source})"
                ).fetchall()
                for start in range(0, counted[0][0], self.batch_rows):
                    found = connection.execute(
                        f"SELECT {label} AS s, {probability} AS g FROM read_parquet({source}, "
                        f"file_row_number=true) WHERE file_row_number >= {start} "
                        f"AND file_row_number < {start + self.batch_rows}"
                    ).fetchnumpy()
                    yield found["s"], found["g"]
            except duckdb.Error as error:
                reason = str(error).splitlines()[0][:300]
                raise ValueError(
                    f"{self.path} must be a Parquet file with columns {self.label!r} and "
                    f"{self.probability!r}: {reason}. Check the file and the names."
                ) from error


@dataclass(frozen=True)
class _Arrow:
    path: Path
    label: str
    probability: str

    def __iter__(self) -> Iterator[Batch]:
        try:
            import pyarrow as pa
        except ImportError as error:
            raise ImportError(
                "Arrow files need pyarrow, which is not installed. Install pyarrow."
            ) from error
        try:
            with pa.memory_map(str(self.path)) as memory, pa.ipc.open_file(memory) as file:
                for index in range(file.num_record_batches):
                    batch = file.get_batch(index)
                    labels, scores = (
                        _arrow_values(batch.column(name), name)
                        for name in (self.label, self.probability)
                    )
                    yield labels, scores
        except (KeyError, pa.ArrowInvalid) as error:
            raise ValueError(
                f"{self.path} must be an Arrow file with columns {self.label!r} and "
                f"{self.probability!r}: {error}. Check the file and the names."
            ) from error


def _arrow_values(column: Any, name: str) -> NDArray[Any]:
    if column.null_count:
        raise ValueError(
            f"{name} must not be missing; {column.null_count} of {len(column)} rows of a batch "
            "are. Leave these rows out, or fill them."
        )
    values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return values


@dataclass(frozen=True)
class _Arrays:
    """Two arrays, cut into batches."""

    labels: NDArray[Any]
    probabilities: NDArray[Any]

    def __iter__(self) -> Iterator[Batch]:
        for start in range(0, max(1, len(self.labels)), _BATCH_ROWS):
            rows = slice(start, start + _BATCH_ROWS)
            yield self.labels[rows], self.probabilities[rows]


@dataclass(frozen=True)
class _Mapped:
    """Batches of any source, with labels of 0 and 1."""

    batches: Any
    pos_label: Any

    def __iter__(self) -> Iterator[Batch]:
        other: Any = None
        for batch in self._batches():
            labels, probabilities = _pair(batch)
            if self.pos_label is None:
                yield labels, probabilities
                continue
            values = validate_batch_labels(labels)
            is_positive = np.asarray(values == self.pos_label, dtype=bool)
            rest = values[~is_positive]
            if len(rest):
                other = rest[:1].tolist()[0] if other is None else other
                if not np.asarray(rest == other, dtype=bool).all():
                    third = rest[rest != other].tolist()[0]
                    raise ValueError(
                        f"labels must hold two values, got {self.pos_label!r}, {other!r} and "
                        f"{third!r}. Only binary labels are supported: pass labels == value."
                    )
            yield is_positive, probabilities

    def held(self, n_jobs: int) -> Iterator[Batch]:
        """Yield the batches so that each stays as it is while others are drawn."""
        is_kept = isinstance(self.batches, list | tuple | _Parquet | _Arrow)
        for labels, probabilities in self:
            if n_jobs == 1 or is_kept:
                yield labels, probabilities
            else:
                # Whoever makes batches one by one may use the same memory for all of them.
                yield np.array(labels), np.array(probabilities)

    def _batches(self) -> Iterable[Batch]:
        if callable(self.batches):
            found: Iterable[Batch] = self.batches()
            return found
        if (
            isinstance(self.batches, tuple)
            and len(self.batches) == 2
            and all(hasattr(part, "__array__") for part in self.batches)
        ):
            labels, probabilities = (np.asanyarray(part) for part in self.batches)
            if labels.shape[:1] != probabilities.shape[:1]:
                raise ValueError(
                    "probabilities must have one value per label, got "
                    f"{len(probabilities)} for {len(labels)} labels. Check that both come from "
                    "the same rows."
                )
            return _Arrays(labels, probabilities)
        if not isinstance(self.batches, Iterable) or isinstance(self.batches, str | bytes):
            raise TypeError(
                "batches must be an iterable of (labels, probabilities), a function that returns "
                f"one, or two arrays, got {type(self.batches).__name__}. For a file, pass "
                "read_scores(path, label, probability)."
            )
        return self.batches


@contextmanager
def _opened(batches: Any, pos_label: Any) -> Iterator[_Mapped]:
    """Yield the rows as something that can be gone over several times."""
    if not isinstance(batches, Iterator):
        yield _Mapped(batches, pos_label)
        return
    with tempfile.TemporaryDirectory(prefix="rankprune-") as folder:
        yield _spooled(_Mapped(batches, pos_label), Path(folder))


def _spooled(source: _Mapped, folder: Path) -> _Mapped:
    """Copy the rows of an iterator, which can be gone over once, to a file."""
    places, n_rows = (folder / "labels", folder / "probabilities"), 0
    with places[0].open("wb") as labels, places[1].open("wb") as probabilities:
        for batch in source:
            is_positive, values = validate_batch(*batch)
            n_rows += len(values)
            labels.write(is_positive.tobytes())
            probabilities.write(values.astype(np.float64, copy=False).tobytes())
    if not n_rows:
        return _Mapped([], None)
    return _Mapped(
        (
            np.memmap(places[0], dtype=bool, mode="r"),
            np.memmap(places[1], dtype=np.float64, mode="r"),
        ),
        None,
    )


def _gone_over(source: _Mapped, state: ConfidentState, n_jobs: int) -> ConfidentState:
    """Return the state after as many passes as it needs."""
    while not state.is_done:
        state = _one_pass(source, state, n_jobs).after_pass()
    return state


def _one_pass(source: _Mapped, state: ConfidentState, n_jobs: int) -> ConfidentState:
    states: list[ConfidentState] = []
    own = threading.local()

    def update(batch: Batch) -> None:
        if not hasattr(own, "state"):
            own.state = state.empty()
            states.append(own.state)
        own.state.update(*batch)

    with _pool(n_jobs) as run:
        run(update, source.held(n_jobs))
    merged = state.empty()
    for one in states:
        merged = merged.merge(one)
    return merged


@contextmanager
def _pool(n_jobs: int) -> Iterator[Callable[[Callable[[Any], None], Iterator[Any]], None]]:
    """Yield a function that calls another for each of many things, in several threads.

    No more of them are taken than there are threads, so that they need not fit into memory.
    """
    if n_jobs == 1:

        def in_turn(call: Callable[[Any], None], things: Iterator[Any]) -> None:
            for thing in things:
                call(thing)

        yield in_turn
        return
    with ThreadPoolExecutor(n_jobs) as pool:
        lock, failed = threading.Lock(), threading.Event()

        def side_by_side(call: Callable[[Any], None], things: Iterator[Any]) -> None:
            def work() -> None:
                try:
                    while not failed.is_set():
                        with lock:
                            thing = next(things, None)
                        if thing is None:
                            return
                        call(thing)
                except BaseException:
                    failed.set()  # the others stop, too
                    raise

            for done in [pool.submit(work) for _ in range(n_jobs)]:
                done.result()

        yield side_by_side


def _pair(batch: Any) -> Batch:
    if not isinstance(batch, tuple | list) or len(batch) != 2:
        raise TypeError(
            "batches must give pairs (labels, probabilities), got "
            f"{type(batch).__name__}. For two arrays, pass a tuple of NumPy arrays."
        )
    return batch[0], batch[1]
