"""Before and after, judged where it can be: on rows whose labels a person settled."""

from __future__ import annotations

import numpy as np

from rankprune._label_check import BeforeAfter
from rankprune.classifier import Examined
from rankprune.probabilities import Folds

_Z = 1.959964


def judge_on_trusted(found: Examined) -> BeforeAfter | None:
    """Return the errors of a plain fit and of Rank Pruning on trusted rows, out of fold.

    Both are the first scorer, which is the estimator unless another was named: once fitted to the
    other folds as they are, once without their suspects and with correction weights.
    """
    doubt, scored = found.table.doubt, found.scored
    trusted = doubt.counted & ~doubt.doubted
    if not trusted.any() or not scored.folds.splits:
        return None
    before = scored.opinions[:, 0]
    folds = scored.folds
    alone = Folds(
        folds.estimators[:1], folds.X, folds.labels, folds.splits, folds.n_jobs, folds.seed
    )
    keep = doubt.counted & ~found.mask
    if not alone.keep_both_classes(keep):
        return None
    after = alone.score(found.weights, keep)
    truth = found.table.labels.is_positive[trusted]
    errors = [(scores[trusted] > 0.5) != truth for scores in (before, after)]
    gain = errors[1].astype(float) - errors[0]
    half = _Z * float(gain.std()) / np.sqrt(len(gain))
    return BeforeAfter(
        n_rows=len(gain),
        before=float(errors[0].mean()),
        after=float(errors[1].mean()),
        low=float(gain.mean()) - half,
        high=float(gain.mean()) + half,
    )
