"""Find subgroups with more or fewer suspects than chance explains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from rankprune.run._check_record import CheckRecord
from rankprune.run._findings import Subgroup
from rankprune.table import Table
from rankprune.table._features import Category

# Maximum number of values of a category, maximum number of categories, and the minimum share of
# rows that the listed values must cover.
_MAX_GROUPS, _MAX_GROUPED, _GROUPED_SHARE = 12, 8, 0.9
# A count of suspects stands out if it is less probable than this by chance.
_RARE = 1e-4


def subgroups(
    table: Table,
    categories: Sequence[Category],
    check: CheckRecord,
    rows: NDArray[np.intp],
    hidden: set[str],
) -> Iterator[Subgroup]:
    """Yield the number of suspects for each value of the categories with few values."""
    suspect = np.zeros(table.n_rows, dtype=bool)
    labeled = np.zeros(table.n_rows, dtype=bool)
    suspect[rows], labeled[rows] = check.scores.suspect, True
    share = check.n_suspects / check.n_rows
    few = [category.column for category in categories if len(category.levels) <= _MAX_GROUPS]
    n_grouped = 0
    for column in (column for column in few if column not in hidden):
        groups = table.count_by(column, labeled, suspect, _MAX_GROUPS)
        # If most values are rare, there are no groups to compare.
        if sum(size for _, size, _ in groups) < _GROUPED_SHARE * check.n_rows:
            continue
        n_grouped += 1
        if n_grouped > _MAX_GROUPED:
            return
        for value, size, n_suspects in groups:
            # The probability of as few or as many suspects among rows drawn at random.
            chance = min(binom.cdf(n_suspects, size, share), binom.sf(n_suspects - 1, size, share))
            yield Subgroup(column, value or "", size, n_suspects, bool(chance < _RARE))
