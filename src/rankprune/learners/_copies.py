"""Exact copies of rows: hashes that find them, and a warning if models were fitted to copies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import _safe_indexing

from rankprune.core._inputs import count_true
from rankprune.exceptions import CopiedRowsWarning, warn_caller
from rankprune.learners._probabilities import Split

Hashes = NDArray[np.uint64]

# If fewer rows have a copy, their effect on rates and ranking is small.
_SHARE = 0.05
# Copies are no chance if there are this many times as many as independent columns would give.
# Columns that depend on each other give more: 20 was too few for binary columns of 20 clusters.
_TIMES = 50
# If rows are repeated this often on average, the columns have few values to combine.
_MEAN_REPEATS = 10
# Texts of fewer words are equal as often as categories are.
_MIN_WORDS = 4
# Rows that are read to see how many values the columns have.
_SAMPLE = 1000
# Columns that are compared first, in tables of at least twice as many.
_FEW_COLUMNS = 4
# Cells that are hashed at once.
_CELLS = 2**18
# Odd constants with irregular bits, from the golden ratio and the square root of 3.
_STEP, _FACTOR = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBB67AE8584CAA73B)


def warn_if_models_saw_copies(X: Any, splits: Sequence[Split], counted: NDArray[np.bool_]) -> None:
    """Warn if models were fitted to exact copies of many of the rows that they scored.

    Copies that chance explains are ignored, as are inputs that cannot be compared quickly.

    Parameters
    ----------
    X : as in ``fit``
    splits : sequence of (train, test)
        Empty if no model was fitted.
    counted : ndarray of bool of shape (n_rows,)
        Whether the weight of a row is above 0.

    Notes
    -----
    Rows of a few columns with few values are equal by chance. If a row shares the first half of
    its columns with a other rows and the second half with b, and the halves are independent, it
    has about ab / n copies by chance. By this count, copies of rows of a single column, and of rows
    that are as common as empty ones in a sparse table, are always chance. A text counts as two
    columns: the first and the second half of its words.
    """
    n_rows = count_true(counted)
    if not splits or _differ_in_a_few_columns(X, counted, n_rows):
        return
    found = _copies(X, counted)
    if found is None:
        return
    n_copied = count_true(counted & found.is_no_chance & copies_in_training(found.group, splits))
    if n_copied >= _SHARE * n_rows:
        warn_caller(
            f"{n_copied:,} of {n_rows:,} rows have an exact copy in another fold that is unlikely "
            "to be chance. A model can repeat the label of the copy, so wrong labels may stay "
            "hidden. Drop the copies, or pass groups that keep all copies of a row in one fold.",
            CopiedRowsWarning,
        )


def _differ_in_a_few_columns(X: Any, counted: NDArray[np.bool_], n_rows: int) -> bool:
    """Return whether too few rows have copies even if only a few columns are compared.

    In most tables they do, and the other columns need not be read.
    """
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "biuf":
        return False
    step = X.shape[1] // _FEW_COLUMNS
    if step < 2:
        return False
    group = _groups(_whole(_hash_numbers(np.asarray(X)[:, ::step])))
    return count_true(counted & (_n_others(group, counted) > 0)) < _SHARE * n_rows


def copied_units(X: Any, counted: NDArray[np.bool_]) -> NDArray[np.intp] | None:
    """Return equal numbers for copies of a row that are no chance, and another for any other row.

    None if there are no such copies, or if the rows cannot be compared quickly; see
    `warn_if_models_saw_copies`.

    Parameters
    ----------
    X : as in ``fit``
    counted : ndarray of bool of shape (n_rows,)
        Whether the weight of a row is above 0.
    """
    found = _copies(X, counted)
    if found is None or not found.is_no_chance.any():
        return None
    # The first row of a group stands for it.
    _, first = np.unique(found.group, return_index=True)
    return np.where(found.is_no_chance, first[found.group], np.arange(len(counted)))


class _Copies(NamedTuple):
    """Groups of equal rows, and which of them have copies that chance does not explain."""

    group: NDArray[np.intp]
    is_no_chance: NDArray[np.bool_]


def _copies(X: Any, counted: NDArray[np.bool_]) -> _Copies | None:
    halves = _hash_halves(X)
    if halves is None:
        return None
    n_rows = count_true(counted)
    group, first, second = (_groups(part) for part in (_whole(halves), *halves))
    n_distinct = count_true(np.bincount(group, weights=counted) > 0)
    if n_distinct * _MEAN_REPEATS < n_rows:
        return None
    n_copies, n_first, n_second = (_n_others(part, counted) for part in (group, first, second))
    return _Copies(group, n_copies * n_rows > _TIMES * n_first * n_second)


def copies_in_training(group: NDArray[np.intp], splits: Sequence[Split]) -> NDArray[np.bool_]:
    """Return whether the model that scored a row was fitted to another row of its group.

    Parameters
    ----------
    group : ndarray of int of shape (n_rows,)
        Equal numbers below n_rows for equal rows.
    splits : sequence of (train, test)
    """
    found = np.zeros(len(group), dtype=bool)
    for train, test in splits:
        is_known = np.zeros(len(group), dtype=bool)
        is_known[group[train]] = True
        found[test] = is_known[group[test]]
    return found


def hash_rows(X: Any) -> Hashes:
    """Return a hash for each row; rows with equal features have equal hashes."""
    halves = _hash_halves(X)
    if halves is not None:
        return _whole(halves)
    return _hash_cells(X if isinstance(X, list) else np.asarray(X).tolist())


def _whole(halves: Hashes) -> Hashes:
    return np.asarray(halves[0] + halves[1])


def _groups(hashes: Hashes) -> NDArray[np.intp]:
    """Return equal numbers, counted from 0, for equal hashes."""
    return np.unique(hashes, return_inverse=True)[1]


def _n_others(group: NDArray[np.intp], counted: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return how many other rows of the same group count."""
    return np.asarray(np.bincount(group, weights=counted)[group] - counted)


def _hash_halves(X: Any) -> Hashes | None:
    """Return hashes of the first and of the second half of the columns, whose sum is the row's.

    The halves hold about equally much information, so that one is not a single category.
    None unless X is an array, a sparse matrix or a data frame, with a single value in each cell,
    or a list or column of texts. Other inputs may be slow to read.
    """
    if sparse.issparse(X):
        return _hash_sparse(X)
    if isinstance(X, list) or len(getattr(X, "shape", ())) == 1:
        cells = X if isinstance(X, list) else np.asarray(X).tolist()
        if not _are_texts(cells):
            return None
        return _hash_numbers(np.column_stack(_hash_halves_of_texts(cells)))
    if isinstance(X, np.ndarray) and X.ndim > 1 and X.dtype.kind in "biuf":
        return _hash_numbers(np.asarray(X).reshape(len(X), -1))
    is_table = isinstance(X, np.ndarray) or hasattr(X, "columns")
    if not is_table or len(getattr(X, "shape", ())) != 2 or not X.shape[1]:
        return None
    columns = []
    for column in range(X.shape[1]):
        cells = np.asarray(_safe_indexing(X, column, axis=1))
        if cells.ndim > 1 or _hold_several(cells):
            return None
        if cells.dtype.kind in "biufmM":
            columns.append(_bits(cells))
        else:
            columns += _hash_halves_of_texts(cells.tolist())
    return _hash_numbers(np.column_stack(columns))


def _hash_numbers(X: NDArray[Any]) -> Hashes:
    n_rows, n_columns = X.shape
    sample = np.sort(_bits(X[:: max(1, n_rows // _SAMPLE)]), axis=0)
    # As if columns were independent, the logarithms of their numbers of values add up.
    middle = _middle(np.log1p((np.diff(sample, axis=0) != 0).sum(axis=0)))
    factors = _factors(np.arange(n_columns))
    halves = np.empty((2, n_rows), dtype=np.uint64)
    step = max(1, _CELLS // max(1, n_columns))
    for start in range(0, n_rows, step):
        mixed = _mix(_bits(X[start : start + step]), factors)
        halves[0, start : start + step] = mixed[:, :middle].sum(axis=1)
        halves[1, start : start + step] = mixed[:, middle:].sum(axis=1)
    return halves


def _middle(information: NDArray[Any]) -> int:
    """Return the number of leading columns that together hold about half of the information."""
    sums = np.concatenate([[0.0], np.cumsum(information)])
    return int(np.abs(sums - sums[-1] / 2).argmin())


def _hash_sparse(X: Any) -> Hashes:
    rows = X.tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    # A cell of 0 adds 0 to the hash, whether it is stored or not.
    mixed = _mix(_bits(rows.data), _factors(rows.indices))
    is_first = rows.indices < _middle(np.bincount(rows.indices, minlength=rows.shape[1]))
    halves = np.empty((2, rows.shape[0]), dtype=np.uint64)
    for half, part in enumerate((is_first, ~is_first)):
        # Differences of sums that wrap around are exact.
        sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(mixed * part)])
        halves[half] = np.diff(sums[rows.indptr])
    return halves


def _bits(numbers: NDArray[Any]) -> Hashes:
    """Return 64 bits for each number; equal numbers have equal bits, and 0 has none set."""
    if numbers.dtype.kind in "biumM":
        # Large integers would lose digits as floats.
        return numbers.astype(np.int64).view(np.uint64)
    floats = numbers.astype(np.float64) + 0.0  # turns minus zero into zero
    floats[np.isnan(floats)] = np.nan
    return floats.view(np.uint64)


def _factors(columns: NDArray[Any]) -> Hashes:
    """Return an odd number for each column."""
    numbers = (columns.astype(np.uint64) + np.uint64(1)) * _STEP
    return (numbers ^ (numbers >> np.uint64(31))) * _FACTOR | np.uint64(1)


def _mix(bits: Hashes, factors: Hashes) -> Hashes:
    """Return hashes of cells that depend on their column, such that sums of them rarely agree."""
    mixed = bits * factors
    mixed ^= mixed >> np.uint64(32)
    mixed *= factors
    mixed ^= mixed >> np.uint64(29)
    mixed *= _FACTOR
    return mixed


def _hold_several(cells: NDArray[Any]) -> bool:
    """Return whether some cells are lists, arrays or the like."""
    kinds = set(map(type, cells)) if cells.dtype.kind == "O" else set()
    return any(hasattr(kind, "__len__") and not issubclass(kind, str | bytes) for kind in kinds)


def _are_texts(cells: list[Any]) -> bool:
    """Return whether all cells are texts, or missing ones among texts."""
    kinds = set(map(type, cells))
    return any(issubclass(kind, str) for kind in kinds) and not any(
        hasattr(kind, "__len__") and not issubclass(kind, str) for kind in kinds
    )


def _hash_halves_of_texts(cells: Iterable[Any]) -> list[Hashes]:
    """Return hashes of the first half of each cell's words, and of the rest of the cell.

    Short texts and other values are not divided.
    """
    firsts: list[Any] = []
    rests: list[list[str]] = []
    for cell in cells:
        words = cell.split(" ") if isinstance(cell, str) else []
        middle = len(words) // 2 if sum(map(bool, words)) >= _MIN_WORDS else 0
        firsts.append(words[:middle] or cell)
        rests.append(words[middle:] if middle else [])
    return [_hash_cells(firsts), _hash_cells(rests)]


def _hash_cells(cells: Iterable[Any]) -> Hashes:
    return np.asarray([hash(repr(cell)) & (2**64 - 1) for cell in cells], dtype=np.uint64)
