"""The verdict on labels of many classes, read off the range of the share of wrong labels."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rankprune.core import _verdict_reasons as _reasons
from rankprune.core._interval_records import Interval
from rankprune.core._verdict import CLEAN_SHARE, MIN_ROWS, NOISY_SHARE, VerdictLevel
from rankprune.core.classes._noise_matrix import NoiseMatrix

# Minimum number of rows for a verdict, for each class on average.
MIN_ROWS_PER_CLASS = 10


@dataclass(frozen=True)
class ClassVerdict:
    """Whether labels of many classes are wrong at all, and why.

    Attributes
    ----------
    level : {"clean", "noise found", "cannot tell"}
    reasons : tuple of str
        Why the level was chosen and, if it is "cannot tell", what would settle it.
    wrong_share : Interval
        Share of all labels that are wrong: the point and the 95 % range that decide.
    n_opinions : int
        Number of models whose mean probabilities were used.

    Examples
    --------
    >>> import numpy as np
    >>> from rankprune import estimate_noise_rates
    >>> from rankprune.core import judge_matrix
    >>> labels = np.repeat([0, 1, 2], 500)
    >>> print(judge_matrix(estimate_noise_rates(labels, np.eye(3)[labels])).level)
    clean
    """

    level: VerdictLevel
    reasons: tuple[str, ...]
    wrong_share: Interval
    n_opinions: int

    def __str__(self) -> str:
        return "\n".join([self.level, *(f"- {reason}" for reason in self.reasons)])


def judge_matrix(matrix: NoiseMatrix, *, n_opinions: int = 1, n_judged: int = 0) -> ClassVerdict:
    """Return whether labels of many classes are clean or noisy, or whether nothing can be told.

    Fewer than 100 rows, or fewer than ten per class, are never enough to tell.

    Parameters
    ----------
    matrix : NoiseMatrix
        Estimated, with intervals.
    n_opinions : int, default=1
        Number of models whose mean probabilities it was estimated from.
    n_judged : int, default=0
        Number of rows that people judged. The range then decides alone, whatever the scores and
        the number of rows.

    Returns
    -------
    ClassVerdict

    Examples
    --------
    >>> import numpy as np
    >>> from rankprune import estimate_noise_rates, flip_labels
    >>> from rankprune.core import judge_matrix
    >>> truth = np.repeat([0, 1, 2], 500)
    >>> transition = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]
    >>> labels = flip_labels(truth, transition=transition, random_state=0)
    >>> matrix = estimate_noise_rates(labels, np.array(transition).T[truth])
    >>> judge_matrix(matrix).level
    'noise found'
    """
    if matrix.intervals is None:
        raise ValueError(
            "matrix must have intervals, got one without. Pass what estimate_noise_rates returns."
        )
    wrong = matrix.intervals.wrong_share
    few = _too_few(matrix)
    if n_judged:
        level, reasons = _decide(wrong)
        reasons = (_reasons.judged_rows(n_judged), *reasons)
    elif few is not None:
        level, reasons = "cannot tell", (few, _reasons.MORE_ROWS_WOULD_SETTLE_IT)
    elif not matrix.reliable:
        why = _reasons.not_told_apart(_reasons.AGREEMENT_REASON)
        level, reasons = "cannot tell", (why, _reasons.WHAT_WOULD_SETTLE_IT)
    else:
        level, reasons = _decide(wrong)
        if n_opinions == 1 and level != "clean":
            reasons += (_reasons.ONE_MODEL,)
    return ClassVerdict(level, reasons, wrong, n_opinions)


def answered_matrix(verdict: ClassVerdict | None, estimated: NoiseMatrix) -> NoiseMatrix:
    """Return the estimate, or a matrix without noise if the verdict is that labels are clean."""
    if verdict is None or verdict.level != "clean" or estimated.intervals is None:
        return estimated
    ranges = estimated.intervals
    clean = np.diag(estimated.label_shares)
    return replace(
        estimated,
        joint=clean,
        intervals=replace(
            ranges,
            wrong_share=_from_zero(ranges.wrong_share),
            error_rates=tuple(map(_from_zero, ranges.error_rates)),
        ),
    )


def has_enough_rows(matrix: NoiseMatrix) -> bool:
    """Return whether a matrix comes from enough rows for a verdict."""
    return _too_few(matrix) is None


def _from_zero(found: Interval) -> Interval:
    return replace(found, estimate=0.0, low=0.0)


def _too_few(matrix: NoiseMatrix) -> str | None:
    """Return that there are too few rows for a verdict, or None if there are enough."""
    if matrix.n_labels is None:
        return None
    n_rows, needed = int(matrix.n_labels.sum()), max(MIN_ROWS, MIN_ROWS_PER_CLASS * len(matrix))
    return _reasons.too_few_rows(n_rows, needed) if n_rows < needed else None


def _decide(wrong: Interval) -> tuple[VerdictLevel, tuple[str, ...]]:
    if wrong.low > NOISY_SHARE:
        return "noise found", (_reasons.many_wrong(wrong.low, wrong.high),)
    if wrong.high <= CLEAN_SHARE:
        return "clean", (
            _reasons.few_wrong(wrong.high, CLEAN_SHARE),
            _reasons.PRUNING_WOULD_HARM,
        )
    return "cannot tell", (
        _reasons.wide_range(wrong.low, wrong.high),
        _reasons.WHAT_WOULD_SETTLE_IT,
    )
