"""The scores of every row of a check, in memory or in a file."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankprune.exceptions import TableError
from rankprune.run._directory import foreign_file, own_place, place_by_now
from rankprune.storage._hashes import file_sha256
from rankprune.storage._json_records import from_plain
from rankprune.storage._links import opened_literally
from rankprune.storage._sql import sql_source, sql_target, sql_text

# Quoted, because it is a keyword of SQL.
_INDEX = '"index", '


@dataclass(frozen=True)
class Scores:
    """The scores of every labeled row, in the order of the table.

    Attributes
    ----------
    rows : ndarray of int
        Positions in the table, counted from 0.
    is_positive : ndarray of bool
        Whether the given label is positive.
    probability : ndarray of float
        Out-of-fold or given probability of the positive label.
    suspect : ndarray of bool
        Whether the label is likely wrong.
    rank : ndarray of int
        Rank by suspicion, from 1 for the most suspicious row; suspects come first. 0 for other
        rows in runs of the first release.
    weight : ndarray of float
        Correction weight for a fit to the kept rows; 0 for suspects.
    ids : ndarray of str or None
        Cells of the identifier column; None if no column was named.
    index : ndarray or None
        Labels of the rows in the index of a pandas data frame.
    """

    rows: NDArray[np.intp]
    is_positive: NDArray[np.bool_]
    probability: NDArray[np.float64]
    suspect: NDArray[np.bool_]
    rank: NDArray[np.int64]
    weight: NDArray[np.float64]
    ids: NDArray[np.object_] | None = None
    index: NDArray[np.object_] | None = None


@dataclass(frozen=True)
class SavedScores:
    """`Scores` in a file, which is read when they are first needed.

    Attributes
    ----------
    path : Path
        A ``scores.parquet`` file.
    with_ids : bool
        Whether its ``id`` column holds cells of the table rather than row numbers.
    sha256 : str or None
        Hash that the file must have when it is read; None for a temporary file.
    n_rows : int or None
        Number of rows of the table, if known.
    """

    path: Path
    with_ids: bool
    sha256: str | None = None
    n_rows: int | None = None
    # Owner of the temporary folder that holds the file, which is removed with it; None if the file
    # is in a run directory.
    folder: Any = None
    _kind: ClassVar[Any] = Scores

    @cached_property
    def _loaded(self) -> Any:
        try:
            with opened_literally(place_by_now(self.path)) as (file, literal):
                # The file that is hashed is the file that is read.
                self._refuse_other(file_sha256(file))
                try:
                    return self._read(literal)
                except (_duckdb().Error, ValueError) as error:
                    why = str(error).splitlines()[0]
                    raise TableError(
                        f"{own_place(self.path)} does not hold scores of this run: {why}. Check "
                        "again with force=True."
                    ) from error
        except FileNotFoundError as error:
            raise TableError(foreign_file(self.path)) from error

    def _read(self, path: Path) -> Any:
        """Return the scores in a file, or raise ValueError if they cannot be those of a check."""
        read = _read_scores(path, self.with_ids)
        _refuse_impossible(read, self.n_rows)
        return from_plain(Scores, read)

    def copy_to(self, path: Path) -> None:
        """Copy the file."""
        shutil.copyfile(place_by_now(self.path), path)
        self._refuse_other(file_sha256(path))

    def _refuse_other(self, sha256: str) -> None:
        if self.sha256 not in (None, sha256):
            raise TableError(foreign_file(self.path))

    def __getattr__(self, name: str) -> Any:
        if name in self._kind.__dataclass_fields__:
            return getattr(self._loaded, name)
        raise AttributeError(name)


@dataclass(frozen=True)
class Tally:
    """Numbers of rows with each label, and of the suspects among them."""

    n_positive: int
    n_negative: int
    n_positive_suspects: int
    n_negative_suspects: int

    @property
    def n_rows(self) -> int:
        """Return the number of all rows."""
        return self.n_positive + self.n_negative

    @property
    def n_suspects(self) -> int:
        """Return the number of all suspects."""
        return self.n_positive_suspects + self.n_negative_suspects

    @classmethod
    def of(cls, scores: Scores) -> Tally:
        """Return the counts for scores in memory."""
        is_positive, suspect = scores.is_positive, scores.suspect
        n_positive, n_both = np.count_nonzero(is_positive), np.count_nonzero(is_positive & suspect)
        return cls(
            int(n_positive),
            len(is_positive) - int(n_positive),
            int(n_both),
            int(np.count_nonzero(suspect)) - int(n_both),
        )


def reason_for(label: str, sure: float, out_of_fold: bool) -> str:
    """Return why a row is a suspect, given its label and the probability of that label."""
    return f"labeled {label}; {opinion(out_of_fold)} {100 * sure:.1f}%"


def _reason_sql(label: str, sure: str, out_of_fold: bool) -> str:
    """Return SQL that computes the text of `reason_for` for each row."""
    middle = sql_text(f"; {opinion(out_of_fold)} ")
    return f"'labeled ' || {label} || {middle} || printf('%.1f%%', 100 * ({sure}))"


def opinion(out_of_fold: bool) -> str:
    """Return the words before the probability of the given label."""
    if out_of_fold:
        return "models that did not see the row give this label a probability of"
    return "the given probability of this label is"


def write_scores(
    path: Path,
    scores: Scores,
    names: tuple[str, str],
    n_rows: int,
    *,
    out_of_fold: bool,
    n_listed: int,
) -> None:
    """Write one row for each row of the table; unlabeled rows have no score."""
    with connected() as connection:
        columns: dict[str, Any] = {
            "row": scores.rows + 1,
            "is_positive": scores.is_positive,
            "probability": scores.probability,
            "suspect": scores.suspect,
            "rank": scores.rank,
            "weight": scores.weight,
        }
        if scores.ids is not None:
            columns["id"] = scores.ids
        if scores.index is not None:
            columns["index"] = np.asarray([str(label) for label in scores.index], dtype=object)
        connection.register("scores", columns)
        connection.execute(
            copy_scores_sql(
                path,
                "scores",
                names,
                out_of_fold=out_of_fold,
                n_listed=n_listed,
                with_ids=scores.ids is not None,
                with_index=scores.index is not None,
                n_missing=n_rows - len(scores.rows),
                n_rows=n_rows,
            )
        )


def copy_scores_sql(
    path: Path,
    source: str,
    names: tuple[str, str],
    *,
    out_of_fold: bool,
    n_listed: int,
    with_ids: bool,
    with_index: bool = False,
    n_missing: int,
    n_rows: int,
) -> str:
    """Return SQL that writes the scores of all rows to a file, in the order of the table.

    ``source`` has the columns row (counted from 1), is_positive, probability, suspect, rank and
    weight, and also id and index if ``with_ids`` and ``with_index`` are set. The first ``n_listed``
    rows by rank get a reason.
    """
    positive, negative = (sql_text(name) for name in names)
    label = f"CASE WHEN is_positive THEN {positive} ELSE {negative} END"
    sure = "CASE WHEN is_positive THEN probability ELSE 1 - probability END"
    own = {
        "label": f"CASE WHEN is_positive IS NOT NULL THEN {label} END",
        "is_positive": "is_positive",
        "probability": "probability",
    }
    return copy_of_columns_sql(
        path,
        source,
        own,
        _reason_sql(f"({label})", sure, out_of_fold),
        n_listed=n_listed,
        with_ids=with_ids,
        with_index=with_index,
        n_missing=n_missing,
        n_rows=n_rows,
    )


def copy_of_columns_sql(
    path: Path,
    source: str,
    own: dict[str, str],
    reason: str,
    *,
    n_listed: int,
    with_ids: bool,
    with_index: bool,
    n_missing: int,
    n_rows: int,
) -> str:
    """Return SQL that writes the scores of all rows, with SQL for columns that not all checks have.

    See `copy_scores_sql` for the others; ``reason`` is SQL too.
    """
    if n_missing:
        # Add the unlabeled rows, so that the file lines up with the table row by row.
        source = (
            f"(SELECT number AS row, * EXCLUDE (number, row) FROM range(1, {n_rows + 1}) "
            f"t(number) LEFT JOIN {source} ON number = row ORDER BY number)"
        )
    columns = ", ".join(f"{sql} AS {name}" for name, sql in own.items())
    return (
        f"COPY (SELECT row, {'id' if with_ids else 'CAST(row AS VARCHAR) AS id'}, "
        f"{_INDEX if with_index else ''}{columns}, "
        "coalesce(suspect, false) AS suspect, nullif(rank, 0) AS rank, "
        f"CASE WHEN rank BETWEEN 1 AND {n_listed} THEN {reason} END AS reason, "
        "NOT suspect AS kept, weight "
        f"FROM {source}) TO {sql_target(path)} (FORMAT parquet)"
    )


def _read_scores(path: Path, with_ids: bool) -> dict[str, Any]:
    return read_columns(path, "is_positive, probability", "is_positive", with_ids=with_ids)


def read_columns(path: Path, own: str, label: str, *, with_ids: bool) -> dict[str, Any]:
    """Return the columns of a file of scores: those that all checks have, and its own ones.

    Rows without a label are left out.
    """
    source = f"read_parquet({sql_source(path)})"
    with connected() as connection:
        columns = connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
        with_index = any(name == "index" for name, *_ in columns)
        found = connection.execute(
            f"SELECT row - 1 AS rows, {own}, suspect, coalesce(rank, 0) AS rank, "
            f"{'id AS ids, ' if with_ids else ''}{_INDEX if with_index else ''}weight "
            f"FROM {source} WHERE {label} IS NOT NULL ORDER BY row"
        ).fetchnumpy()
    texts = {name: np.ma.getdata(found.pop(name)) for name in ("ids", "index") if name in found}
    return {"ids": None, "index": None, **found, **texts}


def _refuse_impossible(read: dict[str, Any], n_rows: int | None) -> None:
    """Raise an error if scores as they were read cannot be scores of a table with so many rows."""
    refuse_impossible_columns(read, n_rows, {"is_positive": "b", "probability": "f"})


def refuse_impossible_columns(
    read: dict[str, Any], n_rows: int | None, own: dict[str, str]
) -> None:
    """Raise an error if columns as they were read cannot be those of a table with so many rows.

    ``own`` is the kind of the columns that not all checks have; those of numbers hold
    probabilities.
    """
    kinds = {"rows": "iu", **own, "suspect": "b", "rank": "iu", "weight": "f"}
    for name, kind in kinds.items():
        if np.ma.getmaskarray(read[name]).any() or read[name].dtype.kind not in kind:
            raise ValueError(f"{name} holds other values than it should")
        read[name] = np.ma.getdata(read[name])
    rows, suspect, rank = (read[name] for name in ("rows", "suspect", "rank"))
    if len(rows) and (rows[0] < 0 or (n_rows is not None and rows[-1] >= n_rows)):
        raise ValueError("row holds numbers that the table does not have")
    if (np.diff(rows) <= 0).any():
        raise ValueError("row holds a number twice")
    for name in (name for name, kind in own.items() if kind == "f"):
        if not ((read[name] >= 0) & (read[name] <= 1)).all():
            raise ValueError(f"{name} holds numbers outside 0 to 1")
    if not np.array_equal(np.sort(rank[suspect]), np.arange(1, np.count_nonzero(suspect) + 1)):
        raise ValueError("rank does not number the suspects")
    others, n_suspects = rank[~suspect], np.count_nonzero(suspect)
    # The first release ranked suspects only.
    if others.any() and not np.array_equal(
        np.sort(others), np.arange(n_suspects + 1, len(rank) + 1)
    ):
        raise ValueError("rank does not number the other rows")
    if not (np.isfinite(read["weight"]) & (read["weight"] >= 0)).all():
        raise ValueError("weight holds numbers that it should not")


def connected() -> Any:
    """Return a connection to DuckDB, which reads and writes the files."""
    return _duckdb().connect()


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError as error:
        raise ImportError(
            "Run directories need DuckDB, which is not installed. Install rankprune[cli]."
        ) from error
    return duckdb
