"""Build the record of a check from evidence gathered in memory or out of core."""

from __future__ import annotations

import math
import platform
import warnings
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rankprune.core import NoiseRates, ScoreSketch, Verdict
from rankprune.core._answer import answered_rates
from rankprune.core._auc import TELLING_AUC
from rankprune.core._ranking import Stretch, expected_stretches
from rankprune.core.counting._bins import MIDDLES
from rankprune.diagnostics import calibration, separability_curve
from rankprune.exceptions import RankPruneWarning, warn_caller
from rankprune.run import LabelCheck
from rankprune.run._findings import (
    BeforeAfter,
    CandidateRow,
    Confident,
    Duplicates,
    Histogram,
    Source,
    Stability,
    Subgroup,
)
from rankprune.run._scores import SavedScores, Scores, Tally
from rankprune.run._sentences import INVERTED_SCORES, TOO_GOOD_SCORES
from rankprune.run._settings import CheckSettings

# Number of bins of the histogram in the report; bins of the sketch divide them, all but the one
# around 1/2.
_N_BINS = 64
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
    confident : Confident
    ranked : ScoreSketch
        The scores that rank the rows; those of ``sketch`` unless rows were scored in rounds.
    ranked_from : tuple of two float
        The positive and the negative cut-off from which all rows are ranked.
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
    confident: Confident
    ranked: ScoreSketch
    ranked_from: tuple[float, float]
    out_of_fold: bool
    n_groups: int | None
    warnings: tuple[str, ...]
    duplicates: Duplicates | None = None
    before_after: BeforeAfter | None = None
    stability: Stability | None = None


@dataclass(frozen=True)
class Shown:
    """Findings that only a table provides, such as notes on columns and cells of candidates."""

    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    subgroups: tuple[Subgroup, ...] = ()
    columns: tuple[str, ...] = ()
    candidates: tuple[CandidateRow, ...] = ()


def assemble(
    evidence: Evidence,
    names: tuple[str, str],
    settings: CheckSettings,
    source: Source,
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
    shown : Shown
    """
    sketch, verdict, estimated = evidence.sketch, evidence.verdict, evidence.estimated
    n_doubted = int(evidence.ranked.counts.sum())
    most = 1.0 if estimated.intervals is None else estimated.intervals.wrong_share.high
    n_listed = listed_rows(most, evidence.tally.n_suspects, n_doubted)
    return LabelCheck(
        positive=names[0],
        negative=names[1],
        verdict=verdict,
        noise_rates=answered_rates(verdict, estimated),
        estimated_rates=estimated,
        separability=separability_curve(sketch),
        calibration=calibration(sketch),
        histogram=histogram_of(evidence.ranked),
        confident=evidence.confident,
        positive_cutoff=evidence.cutoffs[0],
        negative_cutoff=evidence.cutoffs[1],
        out_of_fold=evidence.out_of_fold,
        n_groups=evidence.n_groups,
        duplicates=evidence.duplicates,
        subgroups=shown.subgroups,
        candidates=shown.candidates,
        columns=shown.columns,
        before_after=evidence.before_after,
        notes=(*shown.notes, *_score_notes(evidence)),
        warnings=(*shown.warnings, *evidence.warnings),
        source=source,
        settings=settings,
        versions=versions_of_packages(),
        tally=evidence.tally,
        scores=evidence.scores,
        stability=evidence.stability,
        n_candidates=n_listed,
        stretches=_stretches(evidence, n_listed),
    )


def _stretches(evidence: Evidence, n_listed: int) -> tuple[Stretch, ...]:
    """Return how many wrong labels to expect on the list; none are if the labels look clean."""
    if evidence.verdict.level == "clean":
        return ()
    return expected_stretches(evidence.ranked, evidence.estimated, evidence.ranked_from, n_listed)


def histogram_of(sketch: ScoreSketch) -> Histogram:
    """Return the numbers of rows in bins of equal width."""
    places = np.minimum((MIDDLES * _N_BINS).astype(np.intp), _N_BINS - 1)
    negative, positive = (
        np.bincount(places, weights=counts, minlength=_N_BINS).astype(np.float64)
        for counts in sketch.counts
    )
    return Histogram(positive, negative)


def listed_rows(most_wrong: float, n_suspects: int, n_doubted: int) -> int:
    """Return how many rows are on the list to look at, given the number that nobody settled.

    As many as may be wrong by the upper end of the range, and all suspects.
    """
    return min(max(math.ceil(most_wrong * n_doubted), n_suspects), n_doubted)


def _score_notes(evidence: Evidence) -> list[str]:
    """Return a note if given scores do not look like out-of-fold scores."""
    if evidence.out_of_fold:
        return []
    if evidence.verdict.auc > TELLING_AUC:
        return [TOO_GOOD_SCORES]
    # With the labels swapped the scores are informative: the upper bound of the AUC is below 1/2.
    is_inverted = 1 - evidence.sketch.auc() > evidence.sketch.needed_auc()
    return [INVERTED_SCORES] if is_inverted else []


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


def versions_of_packages() -> dict[str, str]:
    """Return the versions of Python and of the packages that affect a result."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found
