"""Numbers that describe the counts of rows, whatever their number and that of the classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from rankprune.core.classes._class_loops import SURE_EDGES
from rankprune.core.classes._tally import Tally, confident_counts, prediction_table

Reals = NDArray[np.float64]

_N_GROUPS = 8
_APART_FROM = (2, 4, 8, 12, 16, 20, 24)
_SURE_FROM = [8, 16, 24, 32, 40, 48, 56]
_MOST_SURE = np.array([1 / 32, 1 / 16, 1 / 4, 1 / 2])
_N_SPREAD = 5
_TINY = 1e-12


def summaries_of(tally: Tally) -> Reals:
    """Return numbers that describe all rows, whatever the number of classes.

    Classes without labels change none of them.
    """
    tally = tally.of_labeled_classes()
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
    entropy = -(shares * np.log(np.maximum(shares, _TINY))).sum() / np.log(max(n_classes, 2))
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
            *_by_log_odds(counts.sure),
            np.sqrt(apart[list(_APART_FROM[1:])] / max(float(apart[0]), _TINY)),
            *_spread_of_labels(tally),
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
    sizes = (
        np.maximum(shares * np.count_nonzero(shares), 1e-3),
        np.maximum(tally.rows_of_labels, 0.5),
    )
    return np.column_stack([*columns, own, np.log(sizes[0]), np.log(sizes[1]) / 5])


def _by_confidence(sure: NDArray[np.int64]) -> tuple[Reals, Reals]:
    """Return the share of other labels and the mean log-odds in groups of rising confidence."""
    rows = sure.sum(axis=0) / sure.sum()
    ends = np.linspace(0, 1, _N_GROUPS + 1)
    reached = np.concatenate([[0.0], np.cumsum(rows)])
    found = []
    for values in (sure[0] / sure.sum(), rows * _middles()):
        sums = np.concatenate([[0.0], np.cumsum(values)])
        found.append(np.diff(np.interp(ends, reached, sums)) * _N_GROUPS)
    return found[0].clip(0), found[1]


def _shape_of(table: Reals) -> Reals:
    """Return how symmetric the errors are, and how much of a label's goes to one class."""
    wrong = np.where(np.eye(len(table), dtype=bool), 0.0, table)
    total = max(float(wrong.sum()), _TINY)
    return np.array([np.minimum(wrong, wrong.T).sum(), wrong.max(axis=1).sum()]) / total


def _by_log_odds(sure: NDArray[np.int64]) -> list[Reals]:
    """Return how many rows reach certain log-odds, how many of them have other labels, and more.

    Other labels are also counted among the most confident rows, however confident they are; the
    last numbers are the mean confidence, and how much it exceeds the share of right predictions.
    """
    parts = sure / sure.sum()
    reached = parts[:, ::-1].cumsum(axis=1)[:, ::-1][:, _SURE_FROM]
    rows, others = (np.append(0.0, one[::-1].cumsum()) for one in (parts.sum(axis=0), parts[0]))
    most = np.interp(_MOST_SURE, rows, others) / _MOST_SURE
    confidence = float(parts.sum(axis=0) @ expit(_middles()))
    return [
        np.sqrt(reached).ravel(),
        np.sqrt(reached[0] / np.maximum(reached.sum(axis=0), 1e-3)),
        np.sqrt(most.clip(0)),
        np.array([confidence, confidence - parts[1].sum()]),
    ]


def _spread_of_labels(tally: Tally) -> list[Reals]:
    """Return the mean, the spread and the ends of what describes the single labels."""
    rows, shares = label_summaries_of(tally)[:, :_N_SPREAD], tally.label_shares
    mean = shares @ rows
    ends = np.quantile(rows, [0.1, 0.9], axis=0)
    return [mean, np.sqrt(shares @ (rows - mean) ** 2), ends.ravel()]


def _middles() -> Reals:
    """Return the middle of each bin of log-odds."""
    width = SURE_EDGES[1] - SURE_EDGES[0]
    return np.asarray(np.append(SURE_EDGES, SURE_EDGES[-1] + width) - width / 2)
