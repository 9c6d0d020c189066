"""The scores of every row of a check, in memory or in a file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune.exceptions import TableError
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
        Rank by suspicion: 1 for the most suspicious row, 0 for rows that are not suspects.
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
    """

    path: Path
    with_ids: bool
    sha256: str | None = None
    # Owner of the temporary folder that holds the file, which is removed with it; None if the file
    # is in a run directory.
    folder: Any = None

    @cached_property
    def _loaded(self) -> Scores:
        with opened_literally(self.path) as (file, literal):
            # The file that is hashed is the file that is read.
            if self.sha256 not in (None, file_sha256(file)):
                raise TableError(foreign_scores(self.path))
            return from_plain(Scores, _read_scores(literal, self.with_ids))

    def __getattr__(self, name: str) -> Any:
        if name in Scores.__dataclass_fields__:
            return getattr(self._loaded, name)
        raise AttributeError(name)


@dataclass(frozen=True)
class Tally:
    """Numbers of rows with each label, and of the suspects among them."""

    n_positive: int
    n_negative: int
    n_positive_suspects: int
    n_negative_suspects: int

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
    return f"labeled {label}; {_opinion(out_of_fold)} {100 * sure:.1f}%"


def _reason_sql(label: str, sure: str, out_of_fold: bool) -> str:
    """Return SQL that computes the text of `reason_for` for each row."""
    middle = sql_text(f"; {_opinion(out_of_fold)} ")
    return f"'labeled ' || {label} || {middle} || printf('%.1f%%', 100 * ({sure}))"


def _opinion(out_of_fold: bool) -> str:
    if out_of_fold:
        return "models that did not see the row give this label a probability of"
    return "the given probability of this label is"


def write_scores(
    path: Path, scores: Scores, names: tuple[str, str], n_rows: int, *, out_of_fold: bool
) -> None:
    """Write one row for each row of the table; unlabeled rows have no score."""
    with _connected() as connection:
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
    with_ids: bool,
    with_index: bool = False,
    n_missing: int,
    n_rows: int,
) -> str:
    """Return SQL that writes the scores of all rows to a file, in the order of the table.

    ``source`` has the columns row (counted from 1), is_positive, probability, suspect, rank (0 for
    rows that are not suspects) and weight, and also id and index if ``with_ids`` and
    ``with_index`` are set.
    """
    positive, negative = (sql_text(name) for name in names)
    label = f"CASE WHEN is_positive THEN {positive} ELSE {negative} END"
    sure = "CASE WHEN is_positive THEN probability ELSE 1 - probability END"
    reason = _reason_sql(f"({label})", sure, out_of_fold)
    if n_missing:
        # Add the unlabeled rows, so that the file lines up with the table row by row.
        source = (
            f"(SELECT number AS row, * EXCLUDE (number, row) FROM range(1, {n_rows + 1}) "
            f"t(number) LEFT JOIN {source} ON number = row ORDER BY number)"
        )
    return (
        f"COPY (SELECT row, {'id' if with_ids else 'CAST(row AS VARCHAR) AS id'}, "
        f"{_INDEX if with_index else ''}"
        f"CASE WHEN is_positive IS NOT NULL THEN {label} END AS label, is_positive, "
        "probability, coalesce(suspect, false) AS suspect, nullif(rank, 0) AS rank, "
        f"CASE WHEN suspect THEN {reason} END AS reason, "
        "NOT suspect AS kept, weight "
        f"FROM {source}) TO {sql_target(path)} (FORMAT parquet)"
    )


def foreign_scores(path: Path) -> str:
    """Return that a file of scores is not the one that the result was saved with."""
    return (
        f"{path} does not belong to the result beside it: the run was cut short, or a file was "
        "changed. Check again with force=True."
    )


def _read_scores(path: Path, with_ids: bool) -> dict[str, Any]:
    source = f"read_parquet({sql_source(path)})"
    with _connected() as connection:
        columns = connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
        with_index = any(name == "index" for name, *_ in columns)
        found = connection.execute(
            "SELECT row - 1 AS rows, is_positive, probability, suspect, coalesce(rank, 0) AS rank, "
            f"{'id AS ids, ' if with_ids else ''}{_INDEX if with_index else ''}weight "
            f"FROM {source} WHERE is_positive IS NOT NULL ORDER BY row"
        ).fetchnumpy()
    read = {name: np.ma.getdata(values) for name, values in found.items()}
    return {"ids": None, "index": None, **read}


def _connected() -> Any:
    try:
        import duckdb
    except ImportError as error:
        raise ImportError(
            "Run directories need DuckDB, which is not installed. Install rankprune[cli]."
        ) from error
    return duckdb.connect()
