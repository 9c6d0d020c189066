"""Where batches come from: arrays, iterables, Parquet and Arrow files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankprune.core._inputs import validate_batch, validate_batch_labels
from rankprune.core._label_values import rows_equal_to
from rankprune.core._parameters import validate_count
from rankprune.core.classes._class_inputs import (
    is_matrix,
    positive_column,
    refuse_other_length,
    validate_batch_of_two,
    validate_unnamed_batch,
)
from rankprune.storage._claims import temporary_folder
from rankprune.storage._links import opened_literally
from rankprune.storage._sql import sql_name, sql_source

Batch = tuple[ArrayLike, ArrayLike]
Batches = Iterable[Batch] | Callable[[], Iterable[Batch]] | tuple[ArrayLike, ArrayLike]

# Number of rows of an array or file that make a batch.
_BATCH_ROWS = 1 << 20


def read_scores(
    path: str | os.PathLike[str],
    label: str,
    probability: str | Sequence[str],
    *,
    batch_rows: int | None = None,
) -> Iterable[Batch]:
    """Return the labels and probabilities in a file, as batches that can be read repeatedly.

    Parameters
    ----------
    path : path
        A Parquet file, read by DuckDB (rankprune[cli]), or an Arrow file, read by pyarrow.
    label : str
        The column of labels.
    probability : str or sequence of str
        The column of probabilities, or those of all classes in their order.
    batch_rows : int, default=None
        Rows read at a time from a Parquet file, by default as many as hold 1048576 probabilities.

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
    columns = _columns_of(probability)
    for name, value in (("label", label), *(("probability", column) for column in columns)):
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
    most = max(1, _BATCH_ROWS // len(columns))
    n_rows = most if batch_rows is None else validate_count(batch_rows, "batch_rows", most)
    return _Parquet(place, label, probability, n_rows)


def _columns_of(probability: str | Sequence[str]) -> list[str]:
    if not isinstance(probability, list | tuple):
        return [probability]  # type: ignore[list-item]
    if len(probability) < 2:
        raise ValueError(
            f"probability must name a column for each of two or more classes, got {probability!r}. "
            "Pass a string for a single column."
        )
    return list(probability)


def _side_by_side(probability: str | Sequence[str], columns: list[NDArray[Any]]) -> NDArray[Any]:
    """Return the values of a single column, or a table of those of several."""
    if isinstance(probability, str):
        return columns[0]
    is_masked = any(map(np.ma.isMaskedArray, columns))
    table: NDArray[Any] = np.ma.column_stack(columns) if is_masked else np.column_stack(columns)
    return table


def _named(label: str, probability: str | Sequence[str]) -> str:
    *most, last = map(repr, [label, *_columns_of(probability)])
    return f"{', '.join(most)} and {last}"


@dataclass(frozen=True)
class _Parquet:
    path: Path
    label: str
    probability: str | Sequence[str]
    batch_rows: int

    def __iter__(self) -> Iterator[Batch]:
        try:
            import duckdb
        except ImportError as error:
            raise ImportError(
                "Parquet files need DuckDB, which is not installed. Install rankprune[cli]."
            ) from error
        columns = [sql_name(name) for name in _columns_of(self.probability)]
        scores = (f"{column} AS g{i}" for i, column in enumerate(columns))
        selected = ", ".join([f"{sql_name(self.label)} AS s", *scores])
        with opened_literally(self.path) as (_, literal), duckdb.connect() as connection:
            source = sql_source(literal)
            try:
                counted = connection.execute(
                    f"SELECT count(*) FROM read_parquet({source})"
                ).fetchall()
                for start in range(0, counted[0][0], self.batch_rows):
                    found = connection.execute(
                        f"SELECT {selected} FROM read_parquet({source}, "
                        f"file_row_number=true) WHERE file_row_number >= {start} "
                        f"AND file_row_number < {start + self.batch_rows}"
                    ).fetchnumpy()
                    values = [found[f"g{i}"] for i in range(len(columns))]
                    yield found["s"], _side_by_side(self.probability, values)
            except duckdb.Error as error:
                reason = str(error).splitlines()[0][:300]
                raise ValueError(
                    f"{self.path} must be a Parquet file with columns "
                    f"{_named(self.label, self.probability)}: {reason}. Check the file and the "
                    "names."
                ) from error


@dataclass(frozen=True)
class _Arrow:
    path: Path
    label: str
    probability: str | Sequence[str]

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
                    labels, *scores = (
                        _arrow_values(batch.column(name), name)
                        for name in (self.label, *_columns_of(self.probability))
                    )
                    yield labels, _side_by_side(self.probability, scores)
        except (KeyError, pa.ArrowInvalid) as error:
            raise ValueError(
                f"{self.path} must be an Arrow file with columns "
                f"{_named(self.label, self.probability)}: {error}. Check the file and the names."
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
    """Two arrays, cut into batches; labels may be numbers of names."""

    labels: NDArray[Any]
    probabilities: NDArray[Any]
    names: NDArray[Any] | None = None

    def __iter__(self) -> Iterator[Batch]:
        for start in range(0, max(1, len(self.labels)), _BATCH_ROWS):
            rows = slice(start, start + _BATCH_ROWS)
            labels = self.labels[rows]
            yield labels if self.names is None else self.names[labels], self.probabilities[rows]


@dataclass(frozen=True)
class MappedBatches:
    """Batches of any source, with labels of 0 and 1 if there are two.

    Attributes
    ----------
    batches : iterable, callable or tuple of two arrays
    pos_label : object
        The positive label, if labels are not 0 and 1.
    two_classes : ndarray of shape (2,) or None
        The label value of each column, if there are two columns.
    """

    batches: Any
    pos_label: Any
    two_classes: NDArray[Any] | None = None

    def pairs(self) -> Iterator[Batch]:
        """Yield labels and probabilities of each batch as they come."""
        for batch in self._batches():
            yield _pair(batch)

    def __iter__(self) -> Iterator[Batch]:
        return self.mapped(self.pairs())

    def mapped(self, pairs: Iterator[Batch]) -> Iterator[Batch]:
        """Yield labels of 0 and 1, and the probabilities of 1."""
        if self.two_classes is not None:
            column = positive_column(self.two_classes, self.pos_label)
            for labels, probabilities in pairs:
                yield validate_batch_of_two(labels, probabilities, self.two_classes, column)
            return
        if self.pos_label is None:
            yield from pairs
            return
        other: Any = None
        for labels, probabilities in pairs:
            values = validate_batch_labels(labels)
            is_positive = rows_equal_to(values, self.pos_label)
            rest = values[~is_positive]
            if len(rest):
                other = rest[:1].tolist()[0] if other is None else other
                if not np.asarray(rest == other, dtype=bool).all():
                    third = rest[rest != other].tolist()[0]
                    raise ValueError(
                        f"labels must hold two values, got {self.pos_label!r}, {other!r} and "
                        f"{third!r}. More than two need a column of probabilities per class; or "
                        "pass labels == value."
                    )
            yield is_positive, probabilities

    def held(self, n_jobs: int, pairs: Iterator[Batch] | None = None) -> Iterator[Batch]:
        """Yield batches that do not change when the next ones are drawn."""
        is_kept = isinstance(self.batches, list | tuple | _Parquet | _Arrow | _Arrays)
        for labels, probabilities in self if pairs is None else self.mapped(pairs):
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
            if labels.ndim and probabilities.ndim == 2:
                refuse_other_length(probabilities, len(labels))
            elif labels.shape[:1] != probabilities.shape[:1]:
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
def opened_batches(
    batches: Any, pos_label: Any = None, classes: ArrayLike | None = None
) -> Iterator[MappedBatches]:
    """Yield the rows in a form that can be read several times."""
    source = MappedBatches(batches, pos_label)
    if not isinstance(batches, Iterator):
        yield source
        return
    with temporary_folder() as folder:
        first, pairs = with_first(source.pairs())
        if first is not None and (classes is not None or is_matrix(first[1])):
            yield MappedBatches(_spooled_classes(pairs, folder), pos_label)
        else:
            yield _spooled(source.mapped(pairs), folder)


def with_first(pairs: Iterator[Batch]) -> tuple[Batch | None, Iterator[Batch]]:
    """Return the first batch with rows, or None, and all of them."""
    seen: list[Batch] = []
    for pair in pairs:
        seen.append(pair)
        if _has_rows(pair[0]):
            break
    return (seen[-1] if seen else None), chain(seen, pairs)


def _has_rows(labels: Any) -> bool:
    try:
        return len(labels) > 0
    except TypeError:  # refused when it is read
        return True


def _spooled(batches: Iterator[Batch], folder: Path) -> MappedBatches:
    """Copy the rows of an iterator, which can be read only once, to a file."""
    places, n_rows = (folder / "labels", folder / "probabilities"), 0
    with places[0].open("wb") as labels, places[1].open("wb") as probabilities:
        for batch in batches:
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


def _spooled_classes(batches: Iterator[Batch], folder: Path) -> _Arrays | list[Batch]:
    """Copy rows with a column per class to a file, and labels as numbers."""
    places, n_rows, n_columns = (folder / "labels", folder / "probabilities"), 0, 0
    numbers: dict[Any, int] = {}
    with places[0].open("wb") as labels, places[1].open("wb") as probabilities:
        for batch in batches:
            values, codes, scores = validate_unnamed_batch(*batch)
            if not len(codes):
                continue
            n_columns = n_columns or scores.shape[1]
            if scores.shape[1] != n_columns:
                raise ValueError(
                    "probabilities must have the same columns in every batch, got "
                    f"{scores.shape[1]} columns after {n_columns}. Pass the probabilities of all "
                    "classes."
                )
            number = [numbers.setdefault(value, len(numbers)) for value in values]
            n_rows += len(codes)
            labels.write(np.array(number, dtype=np.int32).take(codes).tobytes())
            probabilities.write(scores.astype(np.float64, copy=False).tobytes())
    if not n_rows:
        return []
    return _Arrays(
        np.memmap(places[0], dtype=np.int32, mode="r"),
        np.memmap(places[1], dtype=np.float64, mode="r", shape=(n_rows, n_columns)),
        np.array([*numbers, None], dtype=object)[:-1],
    )


def _pair(batch: Any) -> Batch:
    if not isinstance(batch, tuple | list) or len(batch) != 2:
        raise TypeError(
            "batches must give pairs (labels, probabilities), got "
            f"{type(batch).__name__}. For two arrays, pass a tuple of NumPy arrays."
        )
    return batch[0], batch[1]
