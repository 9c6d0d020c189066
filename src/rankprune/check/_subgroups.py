"""What only a table can show of a check: columns that tell the label, subgroups, rows to see."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import binom

from rankprune._features import Category
from rankprune._label_check import LabelCheck, Subgroup, SuspectRow
from rankprune._table_rows import Features
from rankprune.core._informative import auc
from rankprune.tables import Table

# Suspects whose cells are kept for people to look at, columns of them, and signs of a cell.
MAX_SHOWN, MAX_COLUMNS, MAX_CELL = 500, 40, 500
# Categories by which suspects are counted: of so many values, and so many of them.
_MAX_GROUPS, _MAX_GROUPED, _GROUPED_SHARE = 12, 8, 0.9
# A number of suspects that chance alone brings about more rarely than this stands out.
_RARE = 1e-4
# A feature that orders the labels this well by itself may have been filled in from them.
_LEAK_AUC, _LEAK_ROWS = 0.995, 10_000


def leaks(features: Features | None, is_positive: NDArray[np.bool_]) -> list[str]:
    """Return a warning of the columns that tell the label almost by themselves."""
    if features is None:
        return []
    part = slice(None, None, max(1, len(is_positive) // _LEAK_ROWS))
    labels = is_positive[part]
    if labels.all() or not labels.any():
        return []
    telling: dict[str, float] = {}
    names = features.encoder.sources
    X = features.X[part][:, : len(names)]
    X = X.toarray() if sparse.issparse(X) else X
    for column, name in enumerate(names):
        area = auc(labels, X[:, column], None)
        area = max(area, 1 - area)
        if area >= _LEAK_AUC and area > telling.get(name, 0.0):
            telling[name] = area
    if not telling:
        return []
    shown = ", ".join(f"{name!r} (AUC {area:.3f})" for name, area in list(telling.items())[:10])
    more = f" and {len(telling) - 10} more" if len(telling) > 10 else ""
    return [
        f"Columns that alone tell the label almost exactly: {shown}{more}. If they were filled in "
        "after the label, wrong labels look right: leave them out with --drop."
    ]


def subgroups(
    table: Table,
    categories: Sequence[Category],
    check: LabelCheck,
    rows: NDArray[np.intp],
    hidden: set[str],
) -> Iterator[Subgroup]:
    """Yield how many suspects the rows of each category have, for categories of few values."""
    suspect = np.zeros(table.n_rows, dtype=bool)
    labeled = np.zeros(table.n_rows, dtype=bool)
    suspect[rows], labeled[rows] = check.scores.suspect, True
    share = check.n_suspects / check.n_rows
    few = [category.column for category in categories if len(category.levels) <= _MAX_GROUPS]
    n_grouped = 0
    for column in (column for column in few if column not in hidden):
        groups = table.count_by(column, labeled, suspect, _MAX_GROUPS)
        # A column of which most values are rare ones has no groups to speak of.
        if sum(size for _, size, _ in groups) < _GROUPED_SHARE * check.n_rows:
            continue
        n_grouped += 1
        if n_grouped > _MAX_GROUPED:
            return
        for value, size, n_suspects in groups:
            # As few or as many suspects as these, in so many rows drawn from all.
            chance = min(binom.cdf(n_suspects, size, share), binom.sf(n_suspects - 1, size, share))
            yield Subgroup(column, value or "", size, n_suspects, bool(chance < _RARE))


def shown_rows(check: LabelCheck, cells: Sequence[Sequence[str | None]]) -> tuple[SuspectRow, ...]:
    """Return the most suspicious rows as people are to see them."""
    hidden = check.settings.get("id") in check.settings.get("redact", ())
    return tuple(
        SuspectRow(
            row=row,
            id=None if check.scores.ids is None or hidden else name,
            label=label,
            probability=probability,
            reason=reason,
            cells=tuple(None if text is None else text[: MAX_CELL + 1] for text in texts),
        )
        for (_, row, name, label, probability, reason), texts in zip(
            check.ranked(), cells, strict=False
        )
    )
