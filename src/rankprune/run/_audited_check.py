"""What the answers about judged rows change: rates, verdict, suspects and lists of a check.

Labels and scores alone leave a range. Judged rows narrow it: what the model believes about the
share of wrong labels is updated with the answers. Where they contradict it, they count alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankprune.audit import AuditEstimate, AuditSample
from rankprune.audit._beliefs import Posterior
from rankprune.audit._estimate import estimate_shares
from rankprune.audit._sample import kinds_of
from rankprune.core import Interval, NoiseRateIntervals, NoiseRates
from rankprune.core._answer import acts
from rankprune.core._inputs import BoolArray, Inputs, is_missing
from rankprune.core._interval_records import JUDGED, LEVEL, WITH_INTERVALS
from rankprune.core._pruning import prune_labels
from rankprune.core._ranking import Stretch, expected_stretches, order_rows, ranking_cutoffs
from rankprune.core._verdict import judge
from rankprune.core._weights import class_weights
from rankprune.core.counting._sketch import sketch_of
from rankprune.run._findings import CandidateRow
from rankprune.run._judged_labels import MOST_FOUND, rates_of_rest
from rankprune.run._judged_rows import (
    JudgedRows,
    Method,
    OpenRows,
    answer_of,
    label_name,
    posterior_of,
    validate_method,
)
from rankprune.run._scores import Scores, Tally

if TYPE_CHECKING:
    from rankprune.run._label_check import LabelCheck

# As many of the first rows of the list keep their cells as in the check itself.
_MAX_SHOWN = 500


def settle(
    check: LabelCheck, rows: AuditSample | ArrayLike, answers: Iterable[Any], method: Method
) -> LabelCheck:
    """Return the check with the answers about judged rows; see `LabelCheck.settle`."""
    validate_method(method)
    found = OpenRows(check)
    together = _with_answers(check, found, rows, answers)
    places, is_wrong, is_sure = found.answers(
        JudgedRows(tuple(together), tuple(together.values()), method, False, 0)
    )
    judged = JudgedRows(
        tuple(together), tuple(together.values()), method, False, int(is_wrong.sum())
    )
    if not is_sure.any():
        return replace(check, judged=judged)
    if method == "design":
        by_answers = _by_answers(found, rows, places, is_wrong, is_sure)
        rates, contradicts = _design_rates(found.rates, by_answers), False
    else:
        rates = _rates_of(found, posterior_of(found, judged))
        contradicts = _contradicts(rates, found.rates)
        if contradicts:
            by_answers = _by_answers(found, None, places, is_wrong, is_sure)
            rates = _design_rates(found.rates, by_answers)
    judged = replace(judged, contradicts_model=contradicts)
    return _settled(check, found, rates, judged, places[is_sure])


def _with_answers(
    check: LabelCheck, found: OpenRows, rows: AuditSample | ArrayLike, answers: Iterable[Any]
) -> dict[int, bool | None]:
    """Return the right label of every judged row, those of earlier answers first."""
    given = rows.rows if isinstance(rows, AuditSample) else np.asarray(rows)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise ValueError(
            "rows must be an AuditSample or the positions of rows, got "
            f"{type(rows).__name__} of {given.dtype}. Pass what draw_audit returned."
        )
    try:
        said = list(answers)
    except TypeError as error:
        raise TypeError(
            f"answers must be a sequence of labels, got {type(answers).__name__}. Pass a list."
        ) from error
    if len(said) != len(given):
        raise ValueError(
            f"answers must have one answer for each of the {len(given)} rows, got {len(said)}. "
            "Pass None for rows without an answer."
        )
    together = (
        {}
        if check.judged is None
        else dict(zip(check.judged.rows, check.judged.is_positive, strict=True))
    )
    can_be_judged = set(found.rows.tolist())
    for place, (row, answer) in enumerate(zip(given.tolist(), said, strict=True)):
        if row not in can_be_judged:
            raise ValueError(
                f"rows must be checked rows that are not trusted, got row {row}. "
                "Pass what draw_audit returned."
            )
        right = None if is_missing(answer) else answer_of(check, answer, f"answers[{place}]")
        known = together.get(row)
        if known is not None and right is not None and known != right:
            raise ValueError(
                f"answers must not contradict each other; row {row} was judged "
                f"{label_name(check, known)!r} and {label_name(check, right)!r}. Decide for one, "
                "or pass None."
            )
        together[row] = known if right is None else right
    return together


def _by_answers(
    found: OpenRows,
    sample: AuditSample | ArrayLike | None,
    places: NDArray[np.intp],
    is_wrong: BoolArray,
    is_sure: BoolArray,
) -> AuditEstimate:
    """Return what the answers show whatever the model believes."""
    sizes, kinds = found.strata.sizes, kinds_of(found.strata)
    stratum = found.strata.of_row[places]
    if sample is not None:
        if not isinstance(sample, AuditSample) or len(sample.rows) != len(places):
            raise ValueError(
                'rows must be the AuditSample that draw_audit(method="design") returned, and no '
                "other rows may have been judged. Pass that sample."
            )
        sizes, kinds, stratum = sample.sizes, sample.kinds, sample.stratum
    return estimate_shares(sizes, kinds, stratum, is_wrong, is_sure, LEVEL)


def _rates_of(found: OpenRows, posterior: Posterior) -> NoiseRates:
    """Return the rates that model and answers give together."""
    draws = posterior.quantities()
    means = {name: float(posterior.weight @ draws[name]) for name in draws}
    rates = _from_label_error_rates(
        found.rates, means["positive_label_error_rate"], means["negative_label_error_rate"]
    )
    ranges = {name: posterior.range_of(draws[name], LEVEL) for name in WITH_INTERVALS}
    return _with_ranges(rates, ranges, JUDGED)


def _design_rates(before: NoiseRates, by_answers: AuditEstimate) -> NoiseRates:
    """Return the rates that the answers alone show."""
    positive, negative = by_answers.positive_label_error_rate, by_answers.negative_label_error_rate
    rates = _from_label_error_rates(before, positive.estimate, negative.estimate)
    ranges = {name: (one.low, one.high) for name, one in by_answers.items()}
    observed = before.observed_prevalence
    ranges["estimated_prevalence"] = (
        observed * (1 - positive.high) + (1 - observed) * negative.low,
        observed * (1 - positive.low) + (1 - observed) * negative.high,
    )
    return _with_ranges(rates, ranges, by_answers.wrong_share.covers)


def _from_label_error_rates(before: NoiseRates, positive: float, negative: float) -> NoiseRates:
    part = min(1.0, MOST_FOUND / max(positive + negative, MOST_FOUND))
    rates = NoiseRates.from_label_error_rates(
        part * positive, part * negative, before.observed_prevalence
    )
    return replace(
        rates,
        n_positive=before.n_positive,
        n_negative=before.n_negative,
        reliable=before.reliable,
    )


def _with_ranges(
    rates: NoiseRates, ranges: dict[str, tuple[float, float]], covers: str
) -> NoiseRates:
    """Return rates with their ranges, widened to hold them."""
    found: dict[str, Any] = {}
    for name in WITH_INTERVALS:
        value, (low, high) = float(getattr(rates, name)), ranges[name]
        found[name] = Interval(value, min(low, value), max(high, value), covers)
    return replace(rates, intervals=NoiseRateIntervals(**found, level=LEVEL))


def _contradicts(now: NoiseRates, before: NoiseRates) -> bool:
    """Return whether the middle of the new range is outside of the one that the model gave."""
    assert now.intervals is not None
    assert before.intervals is not None
    range_, first = now.intervals.wrong_share, before.intervals.wrong_share
    return not first.low <= (range_.low + range_.high) / 2 <= first.high


def _settled(
    check: LabelCheck,
    found: OpenRows,
    rates: NoiseRates,
    judged: JudgedRows,
    settled: NDArray[np.intp],
) -> LabelCheck:
    """Return the check with audited rates, and the verdict and lists that follow from them."""
    sketch = sketch_of(Inputs(found.is_positive, found.probability, None))
    verdict = judge(sketch, estimated=rates, n_judged=judged.n_sure)
    assert rates.intervals is not None
    is_open = np.ones(len(found.places), dtype=bool)
    is_open[settled] = False
    is_positive, probability = found.is_positive[is_open], found.probability[is_open]
    answers = dict(zip(judged.rows, judged.is_positive, strict=True))
    right = np.array([bool(answers[row]) for row in found.rows[settled].tolist()])
    of_rest = rates_of_rest(rates, found.is_positive, settled, right)
    prunes = acts(verdict) and of_rest is not None
    mask = np.zeros(len(is_positive), dtype=bool)
    ordered = np.arange(len(is_positive))
    stretches: tuple[Stretch, ...] = ()
    cutoffs: tuple[float | None, float | None] = (None, None)
    n_listed = 0
    if of_rest is not None:
        if prunes:
            pruned = prune_labels(is_positive, probability, of_rest, pos_label=True)
            mask, cutoffs = pruned.mask, (pruned.positive_cutoff, pruned.negative_cutoff)
        ranked_from = ranking_cutoffs(is_positive, probability, of_rest)
        ordered = order_rows(is_positive, probability, mask, ranked_from)
        most = rates.intervals.wrong_share.high * len(found.places) - judged.n_wrong
        n_listed = min(max(math.ceil(most), int(mask.sum())), len(is_positive))
        if verdict.level != "clean":
            rest = sketch_of(Inputs(is_positive, probability, None))
            stretches = expected_stretches(rest, of_rest, ranked_from, n_listed)
    scores = _scores(check, found, rates, mask, is_open, ordered, acts=prunes)
    tally = Tally.of(scores)
    again = replace(
        check,
        verdict=verdict,
        noise_rates=rates,
        positive_cutoff=cutoffs[0],
        negative_cutoff=cutoffs[1],
        tally=tally,
        scores=scores,
        n_candidates=n_listed,
        stretches=stretches,
        judged=judged,
    )
    return replace(again, candidates=_candidates(check, again))


def _scores(
    check: LabelCheck,
    found: OpenRows,
    rates: NoiseRates,
    mask: BoolArray,
    is_open: BoolArray,
    ordered: NDArray[np.intp],
    *,
    acts: bool,
) -> Scores:
    """Return the scores with new suspects, ranks and weights; judged rows come after all others."""
    old = check.scores
    n_rows = len(old.rows)
    suspect, weight = np.zeros(n_rows, dtype=bool), np.ones(n_rows)
    rank = np.array(old.rank, dtype=np.int64)
    open_places = found.places[is_open]
    suspect[open_places] = mask
    rank[open_places[ordered]] = np.arange(1, len(ordered) + 1)
    judged_places = found.places[~is_open]
    rank[judged_places] = np.arange(len(ordered) + 1, len(found.places) + 1)
    if acts:
        weight[open_places] = np.where(found.is_positive[is_open], *class_weights(rates))
        weight[suspect] = 0.0
    return Scores(
        np.asarray(old.rows),
        np.asarray(old.is_positive),
        np.asarray(old.probability),
        suspect,
        rank,
        weight,
        old.ids,
        old.index,
    )


def _candidates(before: LabelCheck, after: LabelCheck) -> tuple[CandidateRow, ...]:
    """Return the first rows of the list, with the cells that were stored."""
    cells = {row.row: row.cells for row in before.candidates}
    return tuple(
        replace(row, cells=cells.get(row.row, ()))
        for row, _ in zip(after.ranked(), range(_MAX_SHOWN), strict=False)
    )
