"""What the answers about judged rows change in a check of two labels."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankprune.audit import AuditEstimate, AuditSample
from rankprune.audit._beliefs import Posterior
from rankprune.audit._estimate import estimate_shares
from rankprune.audit._sample import kinds_of
from rankprune.core import Interval, NoiseRateIntervals, NoiseRates
from rankprune.core._answer import acts
from rankprune.core._inputs import Inputs
from rankprune.core._interval_records import JUDGED, LEVEL, WITH_INTERVALS
from rankprune.core._pruning import prune_labels
from rankprune.core._ranking import Stretch, expected_stretches, order_rows, ranking_cutoffs
from rankprune.core._verdict import judge
from rankprune.core._weights import class_weights
from rankprune.core.counting._sketch import sketch_of
from rankprune.run._audited_lists import candidates_of, lists_of
from rankprune.run._judged_labels import MOST_FOUND, rates_of_rest
from rankprune.run._judged_rows import JudgedRows, OpenRows
from rankprune.run._scores import SavedScores, Scores, Tally

if TYPE_CHECKING:
    from rankprune.run._label_check import LabelCheck


def with_model(found: OpenRows, posterior: Posterior, _: JudgedRows | None) -> NoiseRates:
    """Return the rates that model and answers give together."""
    draws = posterior.quantities()
    means = {name: float(posterior.weight @ draws[name]) for name in draws}
    rates = _from_label_error_rates(
        found.rates, means["positive_label_error_rate"], means["negative_label_error_rate"]
    )
    ranges = {name: posterior.range_of(draws[name], LEVEL) for name in WITH_INTERVALS}
    return _with_ranges(rates, ranges, JUDGED)


def by_answers(found: OpenRows, sample: AuditSample | None, judged: JudgedRows) -> NoiseRates:
    """Return the rates that the answers alone show, about a sample or about rows in batches."""
    places, is_wrong, is_sure = found.answers(judged)
    sizes, kinds = found.strata.sizes, kinds_of(found.strata)
    stratum = found.strata.of_row[places]
    if sample is not None:
        sizes, kinds, stratum = sample.sizes, sample.kinds, sample.stratum
    return design_rates(
        found.rates, estimate_shares(sizes, kinds, stratum, is_wrong, is_sure, LEVEL)
    )


def design_rates(before: NoiseRates, by_answers: AuditEstimate) -> NoiseRates:
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


def settled(
    check: LabelCheck,
    found: OpenRows,
    rates: NoiseRates,
    judged: JudgedRows,
    places: NDArray[np.intp],
) -> LabelCheck:
    """Return the check with audited rates, and the verdict and lists that follow from them."""
    sketch = sketch_of(Inputs(found.is_positive, found.probability, None))
    verdict = judge(sketch, estimated=rates, n_judged=judged.n_sure)
    assert rates.intervals is not None
    is_open = np.ones(len(found.places), dtype=bool)
    is_open[places] = False
    is_positive, probability = found.is_positive[is_open], found.probability[is_open]
    answers = dict(zip(judged.rows, judged.is_positive, strict=True))
    right = np.array([bool(answers[row]) for row in found.rows[places].tolist()])
    of_rest = rates_of_rest(rates, found.is_positive, places, right)
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
    weight = np.where(is_positive, *class_weights(rates)) if prunes else None
    lists = lists_of(check, found, is_open, mask, ordered, weight)
    scores = replace(_in_memory(check.scores), **vars(lists))
    again = replace(
        check,
        verdict=verdict,
        noise_rates=rates,
        positive_cutoff=cutoffs[0],
        negative_cutoff=cutoffs[1],
        tally=Tally.of(scores),
        scores=scores,
        n_candidates=n_listed,
        stretches=stretches,
        judged=judged,
    )
    return replace(again, candidates=candidates_of(check, again))


def _in_memory(scores: Scores | SavedScores) -> Scores:
    return Scores(*(getattr(scores, field.name) for field in fields(Scores)))
