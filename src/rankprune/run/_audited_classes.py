"""What the answers about judged rows change in a check of many labels."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rankprune.audit import AuditSample
from rankprune.audit._beliefs import Posterior
from rankprune.audit._class_beliefs import label_draws
from rankprune.audit._class_estimate import estimate_class_shares
from rankprune.core import Interval, MatrixIntervals, NoiseMatrix, judge_matrix
from rankprune.core._answer import acts
from rankprune.core._interval_records import JUDGED, LEVEL
from rankprune.core._ranking import Stretch
from rankprune.core.classes._class_pruning import prune_by_ratios
from rankprune.core.classes._class_ranking import (
    chances_by_margin,
    order_by_margin,
    stretches_by_chance,
)
from rankprune.core.classes._class_weights import class_weights_of
from rankprune.run._audit_draws import posterior_of
from rankprune.run._audited_lists import candidates_of, lists_of
from rankprune.run._class_scores import ClassScores, ClassTally, SavedClassScores
from rankprune.run._judged_classes import JudgedClasses, OpenClassRows
from rankprune.run._judged_labels import MOST_FOUND, matrix_of_rest
from rankprune.run._rows_to_judge import SEED

if TYPE_CHECKING:
    from rankprune.run._class_check import ClassCheck

Reals = NDArray[np.float64]

# What wrong labels of a value should be, by the estimate, counts as much as so many judged rows.
_ESTIMATED_ROWS = 5.0


def with_model(found: OpenClassRows, posterior: Posterior, judged: JudgedClasses) -> NoiseMatrix:
    """Return the noise matrix that model and answers give together."""
    generator = np.random.default_rng(SEED + 2)
    means, draws = label_draws(posterior, found.groups, found.matrix, generator)
    total = posterior.range_of(posterior.shares @ found.aim(None), LEVEL)
    ranges = [posterior.range_of(column, LEVEL) for column in draws.T]
    return _audited_matrix(found, judged, means, total, ranges, JUDGED)


def by_answers(
    found: OpenClassRows, sample: AuditSample | None, judged: JudgedClasses
) -> NoiseMatrix:
    """Return the matrix that the answers alone show, about a sample or about rows in batches.

    Rows of batches come from more strata than exact limits can do with. Then beliefs that expect
    nothing of the labels are updated with the answers.
    """
    if sample is None:
        judged = replace(judged, contradicts_model=True)
        return with_model(found, posterior_of(found, judged), judged)
    _, is_wrong, is_sure = found.answers(judged)
    estimate = estimate_class_shares(sample, is_wrong, is_sure, LEVEL)
    means = np.array([one.estimate for one in estimate.error_rates])
    expected = float(found.matrix.label_shares @ means)
    if expected > 0:
        # The shares of the labels add up to that of all, which is better known.
        means = np.minimum(means * estimate.wrong_share.estimate / expected, MOST_FOUND)
    total = estimate.wrong_share
    ranges = [(one.low, one.high) for one in estimate.error_rates]
    return _audited_matrix(found, judged, means, (total.low, total.high), ranges, total.covers)


def _audited_matrix(
    found: OpenClassRows,
    judged: JudgedClasses,
    error_rates: Reals,
    total: tuple[float, float],
    ranges: list[tuple[float, float]],
    covers: str,
) -> NoiseMatrix:
    """Return the estimated matrix with other error rates, and ranges widened to hold them."""
    before = found.matrix
    assert before.intervals is not None  # estimated matrices have some
    rates = np.diag(1 - error_rates) + error_rates[:, None] * _should_be(found, judged)
    matrix = replace(before, joint=before.label_shares[:, None] * rates, intervals=None)
    has_rows = np.bincount(found.codes, minlength=len(before)) > 0
    by_label = tuple(
        _interval(rate, *(range_ if known else (estimated.low, estimated.high)), covers)
        for rate, range_, known, estimated in zip(
            matrix.error_rates.tolist(),
            ranges,
            has_rows.tolist(),
            before.intervals.error_rates,
            strict=True,
        )
    )
    whole = _interval(matrix.wrong_share, *total, covers)
    return replace(matrix, intervals=MatrixIntervals(whole, by_label, LEVEL))


def _interval(estimate: float, low: float, high: float, covers: str) -> Interval:
    return Interval(estimate, min(low, estimate), max(high, estimate), covers)


def _should_be(found: OpenClassRows, judged: JudgedClasses) -> Reals:
    """Return what wrong labels should be: of each given label, the share of every other one.

    As estimated, and as judged; where nothing was estimated, as frequent as the true classes are.
    """
    k = len(found.matrix)
    others = 1 - np.eye(k)
    estimated = found.matrix.joint * others
    by_class = (found.matrix.class_shares + 1 / len(found.codes)) * others
    estimated = np.where(estimated.sum(axis=1, keepdims=True) > 0, estimated, by_class)
    counts = _ESTIMATED_ROWS * estimated / estimated.sum(axis=1, keepdims=True)
    places, is_wrong, _ = found.answers(judged)
    right = np.array([-1 if one is None else one for one in judged.labels], dtype=np.intp)
    np.add.at(counts, (found.codes[places[is_wrong]], right[is_wrong]), 1.0)
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def settled(
    check: ClassCheck,
    found: OpenClassRows,
    matrix: NoiseMatrix,
    judged: JudgedClasses,
    places: NDArray[np.intp],
) -> ClassCheck:
    """Return the check with an audited matrix, and the verdict and lists that follow from it.

    Parameters
    ----------
    check : ClassCheck
    found : OpenClassRows
    matrix : NoiseMatrix
    judged : JudgedClasses
    places : ndarray of int
        Where the rows with a clear answer are among those that can be judged.
    """
    verdict = judge_matrix(matrix, n_opinions=check.verdict.n_opinions, n_judged=judged.n_sure)
    assert matrix.intervals is not None
    is_open = np.ones(len(found.places), dtype=bool)
    is_open[places] = False
    answers = dict(zip(judged.rows, judged.labels, strict=True))
    right = np.array([answers[row] for row in found.rows[places].tolist()], dtype=np.intp)
    of_rest = matrix_of_rest(matrix, found.codes, places, right)
    prunes = acts(verdict) and of_rest is not None
    codes, ratios = found.codes[is_open], found.ratios[is_open]
    mask = np.zeros(len(codes), dtype=bool)
    ordered = np.arange(len(codes))
    stretches: tuple[Stretch, ...] = ()
    n_listed = 0
    chance = np.array(check.scores.chance, dtype=np.float64)
    chance[found.places[places]] = right != found.codes[places]
    if of_rest is not None:
        if prunes:
            mask = prune_by_ratios(codes, ratios, of_rest).mask
        margins = np.log(ratios)
        ordered = order_by_margin(margins, mask)
        most = matrix.intervals.wrong_share.high * len(found.places) - judged.n_wrong
        n_listed = min(max(math.ceil(most), int(mask.sum())), len(codes))
        of_open = chances_by_margin(margins, codes, of_rest)
        chance[found.places[is_open]] = of_open
        if verdict.level != "clean":
            stretches = stretches_by_chance(of_open[ordered], n_listed)
    weight = class_weights_of(matrix)[codes] if prunes else None
    lists = lists_of(check, found, is_open, mask, ordered, weight)
    scores = replace(_in_memory(check.scores), chance=chance, **vars(lists))
    again = replace(
        check,
        verdict=verdict,
        noise_matrix=matrix,
        tally=ClassTally.of(scores, len(check.classes)),
        scores=scores,
        n_candidates=n_listed,
        stretches=stretches,
        judged=judged,
    )
    return replace(again, candidates=candidates_of(check, again))


def _in_memory(scores: ClassScores | SavedClassScores) -> ClassScores:
    return ClassScores(*(getattr(scores, field.name) for field in fields(ClassScores)))
