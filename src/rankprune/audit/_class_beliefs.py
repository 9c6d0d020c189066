"""What model and judged rows together say about wrong labels of more than two values.

As with two labels, each draw spreads its wrong labels over the strata. First it divides them among
the labels, or groups of labels: as the noise matrix expects, more or less.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from rankprune.audit._beliefs import (
    FREEDOM,
    LEAST,
    LEAST_SPLIT,
    MOST,
    N_DRAWS,
    SPLIT,
    STEEPEST,
    STEEPNESS,
    TAIL,
    Beliefs,
    DrawnTotals,
    Posterior,
    draw_totals,
    mean_share,
    spread_over_strata,
    vague_totals,
)
from rankprune.audit._label_groups import LabelGroups
from rankprune.core import NoiseMatrix

Reals = NDArray[np.float64]

# Part of the variance of the steepness that all labels share.
_SHARED = 0.5
# Ends of ranges are log-odds between these.
_NEAR_END = 0.02
_ROUNDS = 8
# Steps of the steepness, and levels of log-odds at which shares are tabulated for each.
_STEP, _LEVELS = 0.1, np.linspace(-30.0, 30.0, 241)


def believe_classes(
    groups: LabelGroups, chances: Reals, matrix: NoiseMatrix, generator: np.random.Generator
) -> Beliefs:
    """Return beliefs before any row is judged.

    Parameters
    ----------
    groups : LabelGroups
    chances : ndarray of shape (n_rows,)
        The model's chance that each label is wrong.
    matrix : NoiseMatrix
        With intervals: the points and ranges of the total and of each label.
    generator : Generator
    """
    assert matrix.intervals is not None  # estimated matrices have some
    drawn = draw_totals(matrix.wrong_share, matrix.intervals.wrong_share, generator)
    middles, spreads = _middles_and_spreads(matrix, groups.of_label, groups.rows.sum(axis=0))
    return _believe(drawn, middles, spreads, groups, chances, generator)


def believe_nothing(groups: LabelGroups, chances: Reals, generator: np.random.Generator) -> Beliefs:
    """Return beliefs in which any share of all labels, and of each, may be wrong."""
    drawn = vague_totals(generator)
    n_groups = int(groups.of_label.max()) + 1
    spreads = np.full(n_groups, SPLIT[1])
    return _believe(drawn, np.ones(n_groups), spreads, groups, chances, generator)


def _believe(
    drawn: DrawnTotals,
    middles: Reals,
    spreads: Reals,
    groups: LabelGroups,
    chances: Reals,
    generator: np.random.Generator,
) -> Beliefs:
    """Return beliefs with these totals, divided among groups as far as their rates are known."""
    of_group = _split(drawn.totals, middles, spreads, groups, generator)
    middle, width, freedom = STEEPNESS
    shared, own = (
        np.sqrt(part) * generator.standard_t(freedom, (N_DRAWS, n))
        for part, n in ((_SHARED, 1), (1 - _SHARED, len(middles)))
    )
    steepness = np.where(
        drawn.is_vague[:, None], generator.random((N_DRAWS, 1)), middle + width * (shared + own)
    )
    steepness = np.rint(steepness.clip(0, STEEPEST) / _STEP) * _STEP
    strata, group = groups.strata, np.array(groups.strata.group)
    log_odds = np.empty((N_DRAWS, len(group)))
    for number in range(len(middles)):
        numbers = np.flatnonzero(group == number)
        log_odds[:, numbers] = spread_over_strata(
            of_group[:, number], steepness[:, number], strata, chances, numbers, _by_table
        )
    return drawn.beliefs(strata, log_odds, generator)


def _by_table(expected: Reals, weight: Reals, steepness: Reals, of_label: Reals) -> Reals:
    """Return levels from a table of shares by steepness: searching them takes ten times as long."""
    found, wanted = np.empty(N_DRAWS), logit(of_label)
    for value in np.unique(steepness):
        rows = steepness == value
        share = mean_share(value * expected + _LEVELS[:, None]) @ weight
        found[rows] = np.interp(wanted[rows], logit(share), _LEVELS)
    return found


def label_draws(
    posterior: Posterior,
    groups: LabelGroups,
    matrix: NoiseMatrix,
    generator: np.random.Generator,
) -> tuple[Reals, Reals]:
    """Return the expected share of wrong labels of each label, and draws of it.

    Parameters
    ----------
    posterior : Posterior
    groups : LabelGroups
    matrix : NoiseMatrix
        With intervals: of labels that share strata, each may deviate from the others as far as its
        own range does from its estimate.
    generator : Generator

    Returns
    -------
    means : ndarray of shape (n_classes,)
    draws : ndarray of shape (n_draws, n_classes)
    """
    weights = groups.rows / np.maximum(groups.rows.sum(axis=0), 1)
    draws = posterior.shares @ weights
    means = np.clip(posterior.weight @ draws, 0.0, 1.0)
    shared = np.flatnonzero(groups.shared)
    if len(shared):
        shared = shared[np.argsort(means[shared])]  # whatever the order of the classes
        alone = np.arange(len(matrix))
        _, spread = _middles_and_spreads(matrix, alone, np.ones(len(matrix)))
        off = spread[shared] * generator.standard_t(FREEDOM, (len(draws), len(shared)))
        draws[:, shared] = expit(logit(np.clip(draws[:, shared], LEAST, MOST)) + off)
    return means, draws


def _split(
    totals: Reals,
    middles: Reals,
    spreads: Reals,
    groups: LabelGroups,
    generator: np.random.Generator,
) -> Reals:
    """Return the share of wrong labels of each group, given the share of all labels."""
    of_label, known = groups.rows.sum(axis=0), groups.of_label >= 0
    parts = np.bincount(groups.of_label[known], of_label[known]) / of_label.sum()
    off = spreads * generator.standard_t(FREEDOM, (len(totals), len(parts)))
    logs = np.log(parts * middles) + off
    weight = np.exp(logs - logs.max(axis=1, keepdims=True))
    return _shared_out(totals, weight / weight.sum(axis=1, keepdims=True), parts)


def _middles_and_spreads(
    matrix: NoiseMatrix, of_label: NDArray[np.intp], rows: NDArray[Any]
) -> tuple[Reals, Reals]:
    """Return the mean error rate of each group, and how uncertain it is on the log-odds scale."""
    assert matrix.intervals is not None
    known = of_label >= 0
    group, weight = of_label[known], rows[known]
    total = np.bincount(group, weight)
    ends = np.array([(one.low, one.high) for one in matrix.intervals.error_rates])[known]
    rates = np.maximum(matrix.error_rates, LEAST_SPLIT)[known]
    middle, low, high = (
        np.bincount(group, weight * values) / total for values in (rates, ends[:, 0], ends[:, 1])
    )
    low, high = (logit(np.clip(one, _NEAR_END, 1 - _NEAR_END)) for one in (low, high))
    return middle, np.clip((high - low) / 2 / TAIL, *SPLIT)


def _shared_out(totals: Reals, weight: Reals, parts: Reals) -> Reals:
    """Return the share of wrong labels of each group; what one has no room for, others have."""
    room = MOST * parts
    wrong = weight * totals[:, None]
    for _ in range(_ROUNDS):
        over = (wrong - room).clip(0).sum(axis=1)
        wrong = np.minimum(wrong, room)
        free = np.where(wrong < room, weight, 0.0)
        sums = free.sum(axis=1)
        wrong += free * np.divide(over, sums, out=np.zeros(len(sums)), where=sums > 0)[:, None]
    return np.clip(wrong / parts, LEAST, MOST)
