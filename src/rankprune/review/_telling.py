"""Columns that reveal the given label, or almost do; a blind audit hides them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rankprune.core._auc import TELLING_AUC, auc
from rankprune.run._check_record import CheckRecord
from rankprune.run._class_sentences import is_of_many
from rankprune.table import Table

# To find columns that reveal the label: rows to look at, the most values of a category, the share
# of each label that must follow from it, and the fewest rows of a label that a flag may reveal.
_MAX_LOOK, _FEW, _SURE, _FEWEST = 5_000, 20, 0.98, 20

Codes = NDArray[np.intp]


def telling_columns(table: Table, run: CheckRecord) -> list[str]:
    """Return the columns that reveal the label, or almost do."""
    rows = run.scores.rows
    places = np.unique(np.linspace(0, len(rows) - 1, _MAX_LOOK).astype(np.intp))
    cells = table.cells(rows[places], list(range(len(table.names))))
    codes = run.given_codes[places]
    if (codes == codes[0]).all():
        return []
    columns = zip(table.names, zip(*cells, strict=True), strict=True)
    if is_of_many(run):
        return [name for name, column in columns if _tells_classes(column, codes)]
    return [name for name, column in columns if _tells(column, codes == 1)]


def _tells(column: Sequence[str | None], is_positive: NDArray[np.bool_]) -> bool:
    """Return whether a column's values, or their order, reveal which of two labels is given."""
    values, codes = np.unique([str(cell) for cell in column], return_inverse=True)
    if len(values) <= _FEW:
        counts = np.array(
            [
                np.bincount(codes[part], minlength=len(values))
                for part in (is_positive, ~is_positive)
            ]
        )
        right = counts.argmax(axis=0)[None, :] == np.array([[0], [1]])
        shares = (counts * right).sum(axis=1) / counts.sum(axis=1)
        return bool(shares.min() >= _SURE)
    numbers = _as_numbers(column)
    if numbers is None:
        return False
    area = auc(is_positive, numbers, None)
    return max(area, 1 - area) >= TELLING_AUC


def _tells_classes(column: Sequence[str | None], labels: Codes) -> bool:
    """Return whether a column's values, or their order, reveal which of many labels is given."""
    values, codes = np.unique([str(cell) for cell in column], return_inverse=True)
    if _share_that_follows(codes, labels) >= _SURE:
        return True
    if len(values) <= _FEW and _flags_one(codes, len(values), labels):
        return True
    numbers = _as_numbers(column)
    return numbers is not None and _is_in_order(numbers, labels)


def _share_that_follows(values: Codes, labels: Codes) -> float:
    """Return the share of rows, mean over labels, whose label most others of their value have.

    Rows whose value occurs once say nothing; if most rows do, neither do the others.
    """
    repeated = np.bincount(values)[values] > 1
    if repeated.mean() < 0.5:
        return 0.0
    values, labels = values[repeated], labels[repeated]
    n_labels = int(labels.max()) + 1
    pairs, n_rows = np.unique(values * n_labels + labels, return_counts=True)
    value, label = np.divmod(pairs, n_labels)
    # The pairs of each value, the most frequent first.
    order = np.lexsort((-n_rows, value))
    is_first = np.append(True, value[order][1:] != value[order][:-1])
    is_second = np.append(False, is_first[:-1]) & ~is_first
    first, second = order[is_first], np.zeros(int(values.max()) + 1, dtype=np.intp)
    second[value[order[is_second]]] = n_rows[order[is_second]]
    # A row does not count for itself.
    follows = n_rows[first] - 1 >= np.maximum(second[value[first]], 1)
    found = np.bincount(label[first], n_rows[first] * follows, n_labels)
    of_label = np.bincount(labels, minlength=n_labels)
    occurs = of_label > 0
    return float((found[occurs] / of_label[occurs]).mean())


def _flags_one(values: Codes, n_values: int, labels: Codes) -> bool:
    """Return whether a category tells the rows of one label from all others."""
    n_labels = int(labels.max()) + 1
    cells = np.bincount(values * n_labels + labels, minlength=n_values * n_labels)
    counts = cells.reshape(n_values, n_labels)
    others = counts.sum(axis=1, keepdims=True) - counts
    says = counts >= others
    with_label, without = counts.sum(axis=0), others.sum(axis=0)
    is_frequent = (with_label >= _FEWEST) & (without >= _FEWEST)
    right = (
        (counts * says).sum(axis=0) >= _SURE * with_label,
        (others * ~says).sum(axis=0) >= _SURE * without,
    )
    return bool((is_frequent & right[0] & right[1]).any())


def _is_in_order(numbers: NDArray[np.float64], labels: Codes) -> bool:
    """Return whether rows in the order of their numbers are in the order of their labels too."""
    ties = np.random.default_rng(0).random(len(numbers))
    ordered = labels[np.lexsort((ties, numbers))]
    n_changes = np.count_nonzero(ordered[1:] != ordered[:-1])
    n_of_label = np.bincount(labels)
    n_fewest = np.count_nonzero(n_of_label) - 1
    by_chance = len(labels) - float((n_of_label**2).sum()) / len(labels)
    return bool(n_changes - n_fewest < (1 - _SURE) * (by_chance - n_fewest))


def _as_numbers(column: Sequence[str | None]) -> NDArray[np.float64] | None:
    """Return cells as numbers, or None if any is not a number."""
    try:
        numbers = np.array([float(cell) for cell in column])  # type: ignore[arg-type]  # errors are caught
    except (TypeError, ValueError):
        return None
    return numbers if np.isfinite(numbers).all() else None
