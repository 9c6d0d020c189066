"""Ranges of the truth around the noise matrix: learned from problems with known labels.

Labels and scores alone cannot tell classes that overlap from noise where they meet. A range spans
what the counts say and what a linear model, fitted to problems of many kinds, says of the same
counts; it is then stretched until it holds the truth in as many problems as it promises.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune.core._interval_records import LEVEL, TRUTH, Interval
from rankprune.core.classes._class_loops import SURE_EDGES
from rankprune.core.classes._matrix_estimators import Tally, confident_counts, prediction_table
from rankprune.core.classes._noise_matrix import MatrixIntervals, NoiseMatrix

Reals = NDArray[np.float64]

ARTEFACT = "ranges.npz"
# A lower end below this is reported as zero: so few wrong labels cannot be told from clean ones.
NO_WRONG_SHARE = 0.01
_N_GROUPS = 8
_APART_FROM = (2, 4, 8, 12, 16, 20, 24)
_LIMIT = 4.0
_NARROWEST = 0.02
_TINY = 1e-12
# What sums in another order change is rounded away.
_DIGITS = 9


@dataclass(frozen=True)
class Line:
    """A linear model of the square root of a share, and of how far off it is.

    Attributes
    ----------
    mean, scale : ndarray of shape (n_summaries,)
        What makes the summaries comparable.
    point, width : ndarray of shape (n_summaries + 1,)
        Intercept and slopes.
    stretch : ndarray of shape (2,)
        How many widths the lower and the upper end reach.
    """

    mean: Reals
    scale: Reals
    point: Reals
    width: Reals
    stretch: Reals

    def points(self, summaries: Reals) -> Reals:
        """Return each share by the line alone."""
        inputs = standardized(summaries, self.mean, self.scale)
        return np.asarray((self.point[0] + inputs @ self.point[1:]).clip(0, 1) ** 2)

    def ends(self, summaries: Reals, counted: Reals) -> tuple[Reals, Reals]:
        """Return the lower and the upper end of each share, given the counted one."""
        inputs = standardized(summaries, self.mean, self.scale)
        point = np.sqrt(self.points(summaries))
        width = np.maximum(self.width[0] + inputs @ self.width[1:], _NARROWEST)
        own = np.sqrt(counted)
        low = np.minimum(point, own) - self.stretch[0] * width
        high = np.maximum(point, own) + self.stretch[1] * width
        return low.clip(0, 1) ** 2, high.clip(0, 1) ** 2


@dataclass(frozen=True)
class RangeModel:
    """What the ranges of the total and of each label follow from."""

    total: Line
    by_label: Line

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> RangeModel:
        """Return the model that `to_arrays` stored."""
        total, by_label = (
            Line(*(np.asarray(arrays[f"{part}_{one.name}"], float) for one in fields(Line)))
            for part in ("total", "by_label")
        )
        return cls(total, by_label)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all numbers as arrays in single precision."""
        return {
            f"{part}_{one.name}": np.asarray(getattr(getattr(self, part), one.name), np.float32)
            for part in ("total", "by_label")
            for one in fields(Line)
        }


def intervals_of(
    tally: Tally, matrix: NoiseMatrix, model: RangeModel | None = None
) -> MatrixIntervals:
    """Return the ranges around a matrix whose classes are in sorted order, widened to hold it."""
    model = model or shipped_ranges()
    whole, rows = summaries_of(tally), label_summaries_of(tally)
    share, rates = np.array([matrix.wrong_share]), matrix.error_rates
    total = model.total.ends(whole[None], share)
    labels = model.by_label.ends(np.hstack([rows, np.tile(whole, (len(rows), 1))]), rates)
    if not matrix.reliable:
        # Scores that may be random leave everything open.
        total, labels = (np.zeros(1), np.ones(1)), (np.zeros(len(rows)), np.ones(len(rows)))
    return MatrixIntervals(
        _interval(float(share[0]), float(total[0][0]), float(total[1][0])),
        tuple(map(_interval, rates.tolist(), labels[0].tolist(), labels[1].tolist())),
        LEVEL,
    )


def summaries_of(tally: Tally) -> Reals:
    """Return numbers that describe all rows, whatever the number of classes."""
    shares, counts = tally.label_shares, tally.counts
    n_classes, n_rows = len(shares), tally.n_rows
    mass = float(tally.sums.n_labels.sum())
    tables = confident_counts(tally), prediction_table(tally)
    own, middle = (
        np.where(np.isfinite(one), one, 0.0)
        for one in (tally.thresholds.own, tally.thresholds.middle)
    )
    disagree, sure = _by_confidence(counts.sure)
    apart = counts.apart[::-1].cumsum()[::-1] / mass
    entropy = -(shares * np.log(np.maximum(shares, _TINY))).sum() / np.log(n_classes)
    others = shares @ (2 * middle - own)
    return np.concatenate(
        [
            np.sqrt([max(1 - np.trace(table), 0.0) for table in tables]),
            np.sqrt([max(1 - shares @ own, 0.0), apart[1], max(others, 0.0)]),
            np.sqrt(disagree),
            sure / 4,
            np.sqrt(apart[list(_APART_FROM)]),
            *map(_shape_of, tables),
            [np.log(n_classes) / 3, np.log(n_rows) / 9, np.log(n_rows / n_classes) / 6, entropy],
            [counts.confident.sum() / mass],
        ]
    )


def label_summaries_of(tally: Tally) -> Reals:
    """Return numbers that describe the rows of each label: labels x summaries."""
    shares = tally.label_shares
    columns = []
    for table in (confident_counts(tally), prediction_table(tally)):
        right = np.diag(table)
        for sums in (table.sum(axis=1), table.sum(axis=0)):
            columns.append(np.sqrt(((sums - right) / np.maximum(sums, _TINY)).clip(0, 1)))
    own = np.where(np.isfinite(tally.thresholds.own), tally.thresholds.own, 0.0)
    sizes = np.maximum(shares * len(shares), 1e-3), np.maximum(tally.rows_of_labels, 0.5)
    return np.column_stack([*columns, own, np.log(sizes[0]), np.log(sizes[1]) / 5])


def standardized(summaries: Reals, mean: Reals, scale: Reals) -> Reals:
    """Return summaries on comparable scales, without extremes."""
    return np.asarray(((summaries - mean) / scale).clip(-_LIMIT, _LIMIT))


@lru_cache(maxsize=1)
def shipped_ranges() -> RangeModel:
    """Return the model that comes with the package."""
    path = files("rankprune.core.classes") / ARTEFACT
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        return RangeModel.from_arrays(dict(arrays))


def _by_confidence(sure: NDArray[np.int64]) -> tuple[Reals, Reals]:
    """Return the share of other labels and the mean log-odds in groups of rising confidence."""
    rows = sure.sum(axis=0) / sure.sum()
    width = SURE_EDGES[1] - SURE_EDGES[0]
    middles = np.append(SURE_EDGES, SURE_EDGES[-1] + width) - width / 2
    ends = np.linspace(0, 1, _N_GROUPS + 1)
    reached = np.concatenate([[0.0], np.cumsum(rows)])
    found = []
    for values in (sure[0] / sure.sum(), rows * middles):
        sums = np.concatenate([[0.0], np.cumsum(values)])
        found.append(np.diff(np.interp(ends, reached, sums)) * _N_GROUPS)
    return found[0].clip(0), found[1]


def _shape_of(table: Reals) -> Reals:
    """Return how symmetric the errors are, and how much of a label's goes to one class."""
    wrong = np.where(np.eye(len(table), dtype=bool), 0.0, table)
    total = max(float(wrong.sum()), _TINY)
    return np.array([np.minimum(wrong, wrong.T).sum(), wrong.max(axis=1).sum()]) / total


def _interval(estimate: float, low: float, high: float) -> Interval:
    low, high = round(low, _DIGITS), round(high, _DIGITS)
    low = 0.0 if low < NO_WRONG_SHARE else low
    return Interval(estimate, min(low, estimate), max(high, estimate), TRUTH)
