"""A plain fit and Rank Pruning, compared on rows whose labels a person has settled."""

from __future__ import annotations

import numpy as np

from rankprune.classifier import Examined
from rankprune.learners._probabilities import Folds
from rankprune.run._findings import BeforeAfter

_Z = 1.959964


def judge_on_trusted(found: Examined) -> BeforeAfter | None:
    """Return the errors of a plain fit and of Rank Pruning on trusted rows, out of fold.

    Both use the first scorer (the estimator, unless a scorer was passed): fitted to the other folds
    as they are, and without their suspects, with correction weights.
    """
    status, scored = found.rows.status, found.scored
    trusted = status.counted & ~status.doubted
    if not trusted.any() or not scored.folds.splits:
        return None
    before = scored.opinions[:, 0]
    folds = scored.folds
    alone = Folds(
        folds.estimators[:1], folds.X, folds.labels, folds.splits, folds.n_jobs, folds.seed
    )
    keep = status.counted & ~found.mask
    if not alone.keep_both_classes(keep):
        return None
    after = alone.score(found.weights, keep)
    truth = found.rows.labels.is_positive[trusted]
    errors = [(scores[trusted] > 0.5) != truth for scores in (before, after)]
    n_worse = int((errors[1] & ~errors[0]).sum())
    n_better = int((errors[0] & ~errors[1]).sum())
    low, high = _difference_interval(n_worse, n_better, len(truth))
    return BeforeAfter(
        n_rows=len(truth),
        before=float(errors[0].mean()),
        after=float(errors[1].mean()),
        low=low,
        high=high,
    )


def _difference_interval(n_worse: int, n_better: int, n_rows: int) -> tuple[float, float]:
    """Return the 95 % interval of Agresti and Min for a difference of paired shares.

    Half a row is added to each of the four cells, so that a few rows that agree do not look like
    certainty.
    """
    worse, better, rows = n_worse + 0.5, n_better + 0.5, n_rows + 2
    middle = (worse - better) / rows
    half = _Z * np.sqrt(worse + better - (worse - better) ** 2 / rows) / rows
    return max(-1.0, float(middle - half)), min(1.0, float(middle + half))
