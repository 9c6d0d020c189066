"""Fits the ranges around the noise matrix, and measures them on data families left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune.core.classes._class_inputs import ClassInputs
from rankprune.core.classes._matrix_estimators import Tally, counts_and_table
from rankprune.core.classes._matrix_ranges import (
    Line,
    RangeModel,
    label_summaries_of,
    standardized,
    summaries_of,
)
from rankprune.experiments._cache import write_arrays
from rankprune.experiments._class_problems import SIMULATED, ClassProblem

Reals = NDArray[np.float64]
Bools = NDArray[np.bool_]

_RIDGE = 1e-3
# Coverage that the fitted ranges have in every kind of noise: more than they promise, since
# families that were left out are covered less often than those that were not.
_AIM = 0.94
_MOST_STRETCH = 12.0


@dataclass(frozen=True)
class Shares:
    """Shares of wrong labels, of problems or of their labels: what is known of each.

    Attributes
    ----------
    summaries : ndarray of shape (n, n_summaries)
    counted, truth, weight : ndarray of shape (n,)
        The estimate, the true share, and how much it counts.
    kind, family : ndarray of shape (n,)
    """

    summaries: Reals
    counted: Reals
    truth: Reals
    weight: Reals
    kind: NDArray[Any]
    family: NDArray[Any]

    def select(self, rows: Bools) -> Shares:
        """Return some of the shares."""
        return Shares(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))


def shares_of(problems: Sequence[ClassProblem]) -> tuple[Shares, Shares]:
    """Return the total of each problem, and the shares of its labels."""
    totals, labels = [], []
    for problem in problems:
        inputs = ClassInputs(problem.labels, np.arange(problem.n_classes), problem.probabilities)
        tally = Tally.of(inputs)
        whole, rows = summaries_of(tally), label_summaries_of(tally)
        joint = counts_and_table(tally)
        totals.append((whole, _wrong(joint).sum(), problem.wrong.mean()))
        sizes = np.maximum(tally.label_shares, 1e-12)
        both = np.hstack([rows, np.tile(whole, (len(rows), 1))])
        labels.append((both, _wrong(joint) / sizes, _wrong(problem.joint) / sizes))
    kind = np.array([problem.kind for problem in problems])
    family = np.array([problem.family for problem in problems])
    weight = _weights(kind, family)
    of_rows = [len(one[1]) for one in labels]
    summaries, counted, truth = (np.array(one) for one in zip(*totals, strict=True))
    total = Shares(summaries, counted, truth, weight, kind, family)
    summaries, counted, truth = (np.concatenate(one) for one in zip(*labels, strict=True))
    weight, kind, family = (np.repeat(one, of_rows) for one in (weight / of_rows, kind, family))
    return total, Shares(summaries, counted, truth, weight, kind, family)


def fitted_model(total: Shares, labels: Shares) -> RangeModel:
    """Return the ranges of all problems."""
    return RangeModel(fitted_line(total), fitted_line(labels))


def fitted_line(shares: Shares) -> Line:
    """Return a line, stretched so that its ranges hold the truth in every kind of noise."""
    line = _unstretched(shares)
    return replace(line, stretch=_stretch(line, shares))


def _unstretched(shares: Shares) -> Line:
    mean = np.average(shares.summaries, axis=0, weights=shares.weight)
    spread = np.average((shares.summaries - mean) ** 2, axis=0, weights=shares.weight)
    scale = np.sqrt(spread) + 1e-2
    inputs = standardized(shares.summaries, mean, scale)
    roots = np.sqrt(shares.truth)
    point = _solved(inputs, roots, shares.weight)
    off = np.abs(roots - (point[0] + inputs @ point[1:]))
    return Line(mean, scale, point, _solved(inputs, off, shares.weight), np.zeros(2))


def left_out_points(shares: Shares) -> Reals:
    """Return what lines say that never saw the family of the problem."""
    found = np.zeros(len(shares.truth))
    for family in np.unique(shares.family):
        rows = shares.family == family
        found[rows] = _unstretched(shares.select(~rows)).points(shares.select(rows).summaries)
    return found


def left_out_ends(shares: Shares) -> tuple[Reals, Reals]:
    """Return ranges by lines that never saw the family of the problem."""
    low, high = np.zeros((2, len(shares.truth)))
    for family in np.unique(shares.family):
        rows = shares.family == family
        line = fitted_line(shares.select(~rows))
        chosen = shares.select(rows)
        low[rows], high[rows] = line.ends(chosen.summaries, chosen.counted)
    return low, high


def write_ranges(model: RangeModel, path: Path) -> None:
    """Write the model as the package reads it."""
    write_arrays(path, model.to_arrays())


def _wrong(joint: Reals) -> Reals:
    return np.asarray((joint.sum(axis=1) - np.diag(joint)).clip(0))


def _weights(kind: NDArray[Any], family: NDArray[Any]) -> Reals:
    """Return weights that make kinds and families count alike; simulated rows as much as six."""
    weight = np.zeros(len(kind))
    for name in np.unique(family):
        for one in np.unique(kind):
            rows = (family == name) & (kind == one)
            weight[rows] = (6.0 if name == SIMULATED else 1.0) / max(int(rows.sum()), 1)
    return weight


def _solved(inputs: Reals, wanted: Reals, weight: Reals) -> Reals:
    """Return intercept and slopes of a ridge regression."""
    columns = np.column_stack([np.ones(len(inputs)), inputs])
    weighted = columns * (weight / weight.sum())[:, None]
    penalty = np.diag([0.0, *[_RIDGE] * inputs.shape[1]])
    return np.asarray(np.linalg.solve(weighted.T @ columns + penalty, weighted.T @ wanted))


def _stretch(line: Line, shares: Shares) -> Reals:
    """Return how many widths each end must reach, so that no kind of noise is missed too often."""
    found = np.zeros(2)
    for side in range(2):
        low, high = 0.0, _MOST_STRETCH
        for _ in range(30):
            middle = (low + high) / 2
            tried = replace(line, stretch=np.full(2, middle))
            end = tried.ends(shares.summaries, shares.counted)[side]
            held = shares.truth >= end - 1e-12 if side == 0 else shares.truth <= end + 1e-12
            worst = min(
                np.average(held[rows], weights=shares.weight[rows])
                for rows in (shares.kind == one for one in np.unique(shares.kind))
            )
            low, high = (low, middle) if worst >= (1 + _AIM) / 2 else (middle, high)
        found[side] = high
    return found
