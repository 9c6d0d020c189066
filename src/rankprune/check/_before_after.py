"""Compare a plain fit and Rank Pruning on trusted rows."""

from __future__ import annotations

import numpy as np

from rankprune.classifier import Examined
from rankprune.core._inputs import BinaryLabels, BoolArray, FloatArray
from rankprune.core.classes._class_labels import Labels
from rankprune.learners._class_based import ExaminedClasses
from rankprune.learners._probabilities import Folds
from rankprune.run._findings import BeforeAfter

_Z = 1.959964


def judge_on_trusted(found: Examined | ExaminedClasses) -> BeforeAfter | None:
    """Return the out-of-fold errors of a plain fit and of Rank Pruning on trusted rows.

    Both use the first scorer (the estimator, unless a scorer was passed). The plain fit uses all
    rows of the other folds; Rank Pruning leaves out their suspects and uses correction weights.
    Return None if no rows are trusted, nothing was fitted, or a fold would keep only one label.
    """
    status, scored = found.rows.status, found.scored if isinstance(found, Examined) else found
    trusted, folds = status.counted & ~status.doubted, scored.folds
    if not trusted.any() or not folds.splits:
        return None
    before = scored.opinions[:, 0]
    alone = Folds(
        folds.estimators[:1], folds.X, folds.labels, folds.splits, folds.n_jobs, folds.seed
    )
    keep = status.counted & ~found.mask
    if not alone.keep_classes(keep):
        return None
    after = alone.score(found.weights, keep)
    truth = found.rows.labels
    errors = [_are_wrong(scores, truth)[trusted] for scores in (before, after)]
    n_worse = int((errors[1] & ~errors[0]).sum())
    n_better = int((errors[0] & ~errors[1]).sum())
    low, high = _difference_interval(n_worse, n_better, len(errors[0]))
    return BeforeAfter(
        n_rows=len(errors[0]),
        before=float(errors[0].mean()),
        after=float(errors[1].mean()),
        low=low,
        high=high,
    )


def _are_wrong(scores: FloatArray, labels: Labels) -> BoolArray:
    """Return which rows are predicted to have another label."""
    if isinstance(labels, BinaryLabels):
        return np.asarray((scores > 0.5) != labels.is_positive)
    return np.asarray(scores.argmax(axis=1) != labels.codes)


def _difference_interval(n_worse: int, n_better: int, n_rows: int) -> tuple[float, float]:
    """Return the 95 % interval of Agresti and Min for a difference of paired shares.

    Adding half a row to each of the four cells keeps a few rows without disagreement from looking
    like certainty.
    """
    worse, better, rows = n_worse + 0.5, n_better + 0.5, n_rows + 2
    middle = (worse - better) / rows
    half = _Z * np.sqrt(worse + better - (worse - better) ** 2 / rows) / rows
    return max(-1.0, float(middle - half)), min(1.0, float(middle + half))
