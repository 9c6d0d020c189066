"""Estimates, verdicts and interval coverage on every problem of the bank."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankprune.core import NOISE_ESTIMATORS, NoiseRates, judge_labels
from rankprune.core._auc import auc
from rankprune.core._inputs import Inputs
from rankprune.core._interval_records import ROWS
from rankprune.core._intervals import intervals_from, label_rows, row_replicates
from rankprune.core.counting._sketch import sketch_of
from rankprune.experiments._bank import MODELS, Problem, Scored, Split, scored, slug
from rankprune.experiments._cache import cached

ESTIMATORS = ("confident-counts", "tight", "curve", "cleanlab")
SCORERS = ("own scores", "committee")
VERDICTS = ("clean", "noise found", "cannot tell")
RATE_NAMES = (
    "positive_noise_rate",
    "negative_noise_rate",
    "positive_label_error_rate",
    "negative_label_error_rate",
)
CONFIDENCE = (0.5, 0.8, 0.95)
# Intervals are measured for one model and the committee, because each takes N_RESAMPLES estimates.
INTERVAL_MODEL = "logistic"
N_RESAMPLES = 100

Rates = NDArray[np.float64]


class Findings(NamedTuple):
    """The findings on one problem at one noise level.

    Attributes
    ----------
    truth : ndarray of shape (4,)
        The true rates after flipping: rho1, rho0, pi1, pi0.
    rates : ndarray of shape (models, scorers, estimators, 4)
        The estimated rates, in the same order.
    verdicts : ndarray of shape (models,)
        Index into `VERDICTS`.
    aucs : ndarray of shape (models, scorers)
        AUC against the given labels.
    """

    truth: Rates
    rates: Rates
    verdicts: NDArray[np.int64]
    aucs: Rates


def true_rates(truth: NDArray[np.bool_], labels: NDArray[np.bool_]) -> Rates:
    """Return rho1, rho0, pi1 and pi0 of flipped labels."""
    return four_rates(NoiseRates.from_true_labels(truth, labels))


def four_rates(rates: NoiseRates) -> Rates:
    """Return rho1, rho0, pi1 and pi0."""
    return np.array([getattr(rates, name) for name in RATE_NAMES])


def estimate(name: str, labels: NDArray[np.bool_], probabilities: NDArray[np.float64]) -> Rates:
    """Return the four rates by one of `ESTIMATORS`."""
    if name != "cleanlab":
        return four_rates(NOISE_ESTIMATORS[name](labels.view(np.int8), probabilities))
    from cleanlab.count import compute_confident_joint, estimate_latent

    given = labels.astype(int)
    joint = compute_confident_joint(given, np.column_stack([1 - probabilities, probabilities]))
    _, noise, inverse = estimate_latent(joint, given)
    return np.array([noise[0, 1], noise[1, 0], inverse[0, 1], inverse[1, 0]])


def findings(problem: Problem, split: Split, level: tuple[float, float]) -> Findings:
    """Return the findings on a problem at a noise level, cached."""

    def compute() -> dict[str, NDArray[Any]]:
        scores = scored(problem, split, level)
        shape = (len(MODELS), len(SCORERS), len(ESTIMATORS), 4)
        rates, aucs = np.empty(shape), np.empty(shape[:2])
        verdicts = np.empty(len(MODELS), int)
        for row, model in enumerate(MODELS):
            for column, probabilities in enumerate((scores.of(model), scores.committee(model))):
                aucs[row, column] = auc(scores.labels, probabilities)
                for index, name in enumerate(ESTIMATORS):
                    rates[row, column, index] = estimate(name, scores.labels, probabilities)
            verdict = judge_labels(scores.labels, scores.members(model))
            verdicts[row] = VERDICTS.index(verdict.level)
        truth = true_rates(split.true_labels, scores.labels)
        return {"truth": truth, "rates": rates, "verdicts": verdicts, "aucs": aucs}

    return Findings(**cached(f"findings-{slug(problem, level)}", compute))


def covered(problem: Problem, split: Split, level: tuple[float, float]) -> NDArray[np.bool_]:
    """Return whether intervals contain the truth: scorers x confidence levels x four rates."""

    def compute() -> dict[str, NDArray[Any]]:
        scores = scored(problem, split, level)
        truth = true_rates(split.true_labels, scores.labels)
        table = np.empty((len(SCORERS), len(CONFIDENCE), 4), bool)
        both = (scores.of(INTERVAL_MODEL), scores.committee(INTERVAL_MODEL))
        for row, probabilities in enumerate(both):
            table[row] = _coverage(scores, probabilities, truth)
        return {"covered": table}

    return cached(f"intervals-{slug(problem, level)}", compute)["covered"]


def _coverage(
    scores: Scored, probabilities: NDArray[np.float64], truth: Rates
) -> NDArray[np.bool_]:
    rates = NOISE_ESTIMATORS["curve"](scores.labels.view(np.int8), probabilities)
    sketch = sketch_of(Inputs(scores.labels, probabilities, None))
    replicates = row_replicates(sketch, "curve", N_RESAMPLES, random_state=0)
    sizes = label_rows(sketch)
    rows = []
    for confidence in CONFIDENCE:
        intervals = intervals_from(rates, replicates, confidence, ROWS, sizes=sizes)
        found = dict(intervals.items())
        held = [
            found[name].low <= rate <= found[name].high
            for name, rate in zip(RATE_NAMES, truth, strict=True)
        ]
        rows.append(held)
    return np.array(rows)
