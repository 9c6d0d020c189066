"""Where batches come from: arrays, iterables, Parquet and Arrow files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankprune.core._inputs import validate_batch, validate_batch_labels
from rankprune.core._label_values import rows_equal_to
from rankprune.core._parameters import validate_count
from rankprune.storage._claims import temporary_folder
from rankprune.storage._links import opened_literally
from rankprune.storage._sql import sql_name, sql_source

Batch = tuple[ArrayLike, ArrayLike]
Batches = Iterable[Batch] | Callable[[], Iterable[Batch]] | tuple[ArrayLike, ArrayLike]

# Number of rows of an array or file that make a batch.
_BATCH_ROWS = 1 << 20


def read_scores(
    path: str | os.PathLike[str], label: str, probability: str, *, batch_rows: int = _BATCH_ROWS
) -> Iterable[Batch]:
    """Return the labels and probabilities in a file, as batches that can be read repeatedly.

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
    for name, value in (("label", label), ("probability", probability)):
        if not isinstance(value, str):
            raise TypeError(
                f"{name} must be the name of a column, got {type(value).__name__}. Pass a string."
            )
    if not isinstance(path, str | os.PathLike):
        raise TypeError(
            f"path must be the path of a file, got {type(path).__name__}. Pass a string or a Path."
        )
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
        with opened_literally(self.path) as (_, literal), duckdb.connect() as connection:
            source = sql_source(literal)
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
class MappedBatches:
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
            is_positive = rows_equal_to(values, self.pos_label)
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
        """Yield batches that do not change when the next ones are drawn."""
        is_kept = isinstance(self.batches, list | tuple | _Parquet | _Arrow)
        for labels, probabilities in self:
            if n_jobs == 1 or is_kept:
                yield labels, probabilities
            else:
                # A generator may reuse the same memory for every batch.
                yield np.array(labels), np.array(probabilities)

    def _batches(self) -> Iterable[Batch]:
        if callable(self.batches):
            found: Iterable[Batch] = self.batches()
            if not isinstance(found, Iterable):
                raise TypeError(
                    "batches must return an iterable of (labels, probabilities) when it is called, "
                    f"got {type(found).__name__}. Pass a function that returns a new iterable."
                )
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
        is_single = isinstance(self.batches, str | bytes) or getattr(self.batches, "ndim", 1) == 0
        if not isinstance(self.batches, Iterable) or is_single:
            raise TypeError(
                "batches must be an iterable of (labels, probabilities), a function that returns "
                f"one, or two arrays, got {type(self.batches).__name__}. For a file, pass "
                "read_scores(path, label, probability)."
            )
        return self.batches


@contextmanager
def opened_batches(batches: Any, pos_label: Any) -> Iterator[MappedBatches]:
    """Yield the rows in a form that can be read several times."""
    if not isinstance(batches, Iterator):
        yield MappedBatches(batches, pos_label)
        return
    with temporary_folder() as folder:
        yield _spooled(MappedBatches(batches, pos_label), folder)


def _spooled(source: MappedBatches, folder: Path) -> MappedBatches:
    """Copy the rows of an iterator, which can be read only once, to a file."""
    places, n_rows = (folder / "labels", folder / "probabilities"), 0
    with places[0].open("wb") as labels, places[1].open("wb") as probabilities:
        for batch in source:
            is_positive, values = validate_batch(*batch)
            n_rows += len(values)
            labels.write(is_positive.tobytes())
            probabilities.write(values.astype(np.float64, copy=False).tobytes())
    if not n_rows:
        return MappedBatches([], None)
    return MappedBatches(
        (
            np.memmap(places[0], dtype=bool, mode="r"),
            np.memmap(places[1], dtype=np.float64, mode="r"),
        ),
        None,
    )


def _pair(batch: Any) -> Batch:
    if not isinstance(batch, tuple | list) or len(batch) != 2:
        raise TypeError(
            "batches must give pairs (labels, probabilities), got "
            f"{type(batch).__name__}. For two arrays, pass a tuple of NumPy arrays."
        )
    return batch[0], batch[1]
