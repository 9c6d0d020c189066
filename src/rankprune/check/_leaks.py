"""Detect columns that almost determine the label."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankprune.core._auc import TELLING_AUC, auc
from rankprune.table._features import Features

# Larger tables are thinned to between this many rows and twice as many.
_LEAK_ROWS = 10_000


def leaks(features: Features | None, is_positive: NDArray[np.bool_]) -> list[str]:
    """Return a warning about columns that almost determine the label by themselves."""
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
        if area >= TELLING_AUC and area > telling.get(name, 0.0):
            telling[name] = area
    if not telling:
        return []
    shown = ", ".join(f"{name!r} (AUC {area:.3f})" for name, area in list(telling.items())[:10])
    more = f" and {len(telling) - 10} more" if len(telling) > 10 else ""
    return [
        f"Columns that almost determine the label by themselves: {shown}{more}. If they were "
        "filled in after the label, wrong labels look right: leave them out with drop."
    ]
