"""Ranges of the truth around the noise matrix: learned from problems with known labels.

Labels and scores alone cannot tell classes that overlap from noise where they meet. A network that
has learned from problems of many kinds says how far the truth may lie; its ranges are stretched
until they hold the truth in as many problems of families left out as they promise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankprune.core._interval_records import LEVEL, TRUTH, Interval
from rankprune.core.classes._class_summaries import label_summaries_of, summaries_of
from rankprune.core.classes._matrix_model import MatrixModel, shipped_model
from rankprune.core.classes._noise_matrix import MatrixIntervals, NoiseMatrix
from rankprune.core.classes._tally import Tally

Reals = NDArray[np.float64]

# A lower end below this is reported as zero: so few wrong labels cannot be told from clean ones.
NO_WRONG_SHARE = 0.01
# What sums in another order change is rounded away.
_DIGITS = 9


def intervals_of(
    tally: Tally, matrix: NoiseMatrix, model: MatrixModel | None = None
) -> MatrixIntervals:
    """Return the ranges around a matrix whose classes are in sorted order, widened to hold it."""
    model = model or shipped_model()
    whole, rates = summaries_of(tally)[None], matrix.error_rates
    total = model.total.ends(whole)
    labels = model.by_label.ends(with_whole(label_summaries_of(tally), whole))
    if not matrix.reliable:
        # Scores that may be random leave everything open.
        total, labels = (np.zeros(1), np.ones(1)), (np.zeros(len(rates)), np.ones(len(rates)))
    return MatrixIntervals(
        _interval(matrix.wrong_share, float(total[0][0]), float(total[1][0])),
        tuple(map(_interval, rates.tolist(), labels[0].tolist(), labels[1].tolist())),
        LEVEL,
    )


def with_whole(rows: Reals, whole: Reals) -> Reals:
    """Return the summaries of each label, followed by those of all rows."""
    return np.hstack([rows, np.tile(whole, (len(rows), 1))])


def _interval(estimate: float, low: float, high: float) -> Interval:
    low, high = round(low, _DIGITS), round(high, _DIGITS)
    low = 0.0 if low < NO_WRONG_SHARE else low
    return Interval(estimate, min(low, estimate), max(high, estimate), TRUTH)
