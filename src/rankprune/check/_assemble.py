"""Build the record of a check from evidence gathered in memory or out of core."""

from __future__ import annotations

import platform
import warnings
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from rankprune.core import NoiseRateIntervals, NoiseRates, ScoreSketch, Verdict
from rankprune.core._answer import answered_intervals, answered_rates
from rankprune.core._auc import TELLING_AUC
from rankprune.core._intervals import row_intervals
from rankprune.diagnostics import calibration, separability_curve
from rankprune.exceptions import RankPruneWarning, warn_caller
from rankprune.learners._progress import log_stage
from rankprune.run import LabelCheck
from rankprune.run._findings import (
    BeforeAfter,
    Confident,
    Duplicates,
    Histogram,
    Source,
    Stability,
    Subgroup,
    SuspectRow,
)
from rankprune.run._scores import SavedScores, Scores, Tally
from rankprune.run._sentences import INVERTED_SCORES, TOO_GOOD_SCORES
from rankprune.run._settings import CheckSettings

_N_RESAMPLES = 200
# Number of bins of the histogram in the report.
N_BINS = 50
_PACKAGES = ("rankprune", "numpy", "scipy", "scikit-learn", "duckdb")


@dataclass(frozen=True)
class Evidence:
    """The findings about the labels, from rows in memory or out of core.

    Attributes
    ----------
    sketch : ScoreSketch
        Labels and scores.
    verdict : Verdict
    estimated : NoiseRates
    scores : Scores or SavedScores
        Scores of every row; no row is a suspect unless noise was found.
    tally : Tally
    cutoffs : tuple of two float or None
        Positive and negative cut-off; None if there are no suspects with that label.
    histogram : Histogram
    confident : Confident
    out_of_fold : bool
    n_groups : int or None
    warnings : tuple of str
    duplicates : Duplicates or None
    before_after : BeforeAfter or None
    stability : Stability or None
    """

    sketch: ScoreSketch
    verdict: Verdict
    estimated: NoiseRates
    scores: Scores | SavedScores
    tally: Tally
    cutoffs: tuple[float | None, float | None]
    histogram: Histogram
    confident: Confident
    out_of_fold: bool
    n_groups: int | None
    warnings: tuple[str, ...]
    duplicates: Duplicates | None = None
    before_after: BeforeAfter | None = None
    stability: Stability | None = None


@dataclass(frozen=True)
class Shown:
    """Findings that only a table provides, such as notes on columns and cells of suspects."""

    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    subgroups: tuple[Subgroup, ...] = ()
    columns: tuple[str, ...] = ()
    suspects: tuple[SuspectRow, ...] = ()


def assemble(
    evidence: Evidence,
    names: tuple[str, str],
    settings: CheckSettings,
    source: Source,
    noise_estimator: Any,
    shown: Shown,
) -> LabelCheck:
    """Return the record of a check.

    Parameters
    ----------
    evidence : Evidence
    names : tuple of two str
        The positive and the negative label.
    settings : CheckSettings
    source : Source
    noise_estimator : str or callable
        As passed to the check; the settings hold only its name.
    shown : Shown
    """
    sketch, verdict = evidence.sketch, evidence.verdict
    rates = answered_rates(verdict, evidence.estimated)
    around = _intervals(sketch, evidence.estimated, noise_estimator, settings.random_state)
    return LabelCheck(
        positive=names[0],
        negative=names[1],
        verdict=verdict,
        noise_rates=rates,
        estimated_rates=evidence.estimated,
        intervals=answered_intervals(rates, around),
        separability=separability_curve(sketch),
        calibration=calibration(sketch),
        histogram=evidence.histogram,
        confident=evidence.confident,
        positive_cutoff=evidence.cutoffs[0],
        negative_cutoff=evidence.cutoffs[1],
        out_of_fold=evidence.out_of_fold,
        n_groups=evidence.n_groups,
        duplicates=evidence.duplicates,
        subgroups=shown.subgroups,
        suspects=shown.suspects,
        columns=shown.columns,
        before_after=evidence.before_after,
        notes=(*shown.notes, *_score_notes(evidence)),
        warnings=(*shown.warnings, *evidence.warnings),
        source=source,
        settings=settings,
        versions=_versions(),
        tally=evidence.tally,
        scores=evidence.scores,
        stability=evidence.stability,
    )


def _score_notes(evidence: Evidence) -> list[str]:
    """Return a note if given scores do not look like out-of-fold scores."""
    if evidence.out_of_fold:
        return []
    if evidence.verdict.auc > TELLING_AUC:
        return [TOO_GOOD_SCORES]
    # With the labels swapped the scores are informative: the upper bound of the AUC is below 1/2.
    is_inverted = 1 - evidence.sketch.auc() > evidence.sketch.needed_auc()
    return [INVERTED_SCORES] if is_inverted else []


def _intervals(
    sketch: ScoreSketch, estimated: NoiseRates, noise_estimator: Any, random_state: Any
) -> NoiseRateIntervals:
    """Return intervals around the estimate, by resampling the rows."""
    log_stage("computing intervals")
    # With threads, sums over matrices of four numbers would take a hundred times as long.
    with threadpool_limits(limits=1, user_api="blas"):
        return row_intervals(
            sketch,
            noise_estimator,
            estimated,
            level=0.95,
            n_resamples=_N_RESAMPLES,
            random_state=random_state,
        )


def warn_once(caught: list[warnings.WarningMessage]) -> tuple[str, ...]:
    """Reissue each distinct caught warning once, and return the messages."""
    told = {
        str(warning.message): warning.category
        for warning in caught
        if issubclass(warning.category, RankPruneWarning | ConvergenceWarning)
    }
    for message, category in told.items():
        warn_caller(message, category)
    return tuple(told)


def _versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that affect a result."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found
