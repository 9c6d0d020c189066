"""Check labels of more than two values: gather evidence from rows, and build the record."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune.check._assemble import Shown, listed_rows, versions_of_packages, warn_once
from rankprune.check._before_after import judge_on_trusted
from rankprune.check._duplicates import count_duplicates
from rankprune.check._in_memory import RowData, number_of_groups, useful_threads, without_suspects
from rankprune.check._stability import compare_suspects, with_other_folds
from rankprune.classifier import RankPruningClassifier
from rankprune.core import ClassVerdict, judge_matrix
from rankprune.core._answer import acts
from rankprune.core.classes._class_inputs import ClassInputs
from rankprune.core.classes._class_pruning import best_others
from rankprune.core.classes._class_ranking import (
    chances_by_margin,
    margins_of,
    order_by_margin,
    stretches_by_chance,
)
from rankprune.core.classes._class_verdict import answered_matrix
from rankprune.exceptions import TableError
from rankprune.learners._class_based import KEEP, ExaminedClasses
from rankprune.learners._progress import log_stage
from rankprune.run import ClassCheck
from rankprune.run._class_scores import ClassScores, ClassTally
from rankprune.run._findings import Source, Stability
from rankprune.run._sentences import TOO_GOOD_SCORES
from rankprune.run._settings import CheckSettings

# Share of the labels that given scores predict, above which they may have been fitted to them.
_TELLING_AGREEMENT = 0.999


def refuse_rare_labels(names: tuple[str, ...], codes: NDArray[np.intp], cv: Any, rare: str) -> None:
    """Raise an error if a label has fewer rows than there are folds, unless these may be kept."""
    if rare == KEEP or not isinstance(cv, int | np.integer):
        return
    counts = np.bincount(codes, minlength=len(names))
    few = np.flatnonzero(counts < cv)
    if not len(few):
        return
    shown = ", ".join(f"{names[code][:40]!r} ({counts[code]})" for code in few[:5].tolist())
    more = f" and {len(few) - 5} more" if len(few) > 5 else ""
    raise TableError(
        f"label must have at least {cv} rows of each value, as many as there are folds; fewer have "
        f"{shown}{more}. Correct misspelled labels, merge rare ones, or pass rare='keep', which "
        "leaves their rows alone."
    )


def check_classes(
    data: RowData,
    classifier: RankPruningClassifier,
    names: tuple[str, ...],
    settings: CheckSettings,
    source: Source,
    shown: Shown,
    *,
    repeat: bool,
) -> ClassCheck:
    """Return the record of a check of more than two labels, without the cells of its candidates.

    Parameters
    ----------
    data : RowData
        With the number of each label.
    classifier : RankPruningClassifier
    names : tuple of str
        The labels, in the order of their numbers.
    settings : CheckSettings
    source : Source
    shown : Shown
    repeat : bool
        As in `gather`.
    """
    is_given = data.probabilities is not None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with useful_threads(data, own_models=repeat):
            found, verdict = _examine(data, classifier)
        before_after = judge_on_trusted(found) if data.trusted is not None else None
    told = warn_once(caught)
    named = dict(zip(found.classes.tolist(), names, strict=True))
    estimated = replace(
        found.estimated,
        classes=np.array(names, dtype=object),
        uncounted=tuple(named[code] for code in found.estimated.uncounted),
    )
    answer = answered_matrix(verdict, estimated)
    status, splits = found.rows.status, found.folds.splits
    scores, ordered = _scores(data, found)
    tally = ClassTally.of(scores, len(names))
    n_doubted = int(np.count_nonzero(status.doubted))
    assert estimated.intervals is not None  # estimated matrices have some
    n_listed = listed_rows(estimated.intervals.wrong_share.high, tally.n_suspects, n_doubted)
    agreement = float((found.scores.argmax(axis=1) == found.codes).mean())
    too_good = is_given and agreement > _TELLING_AGREEMENT
    return ClassCheck(
        classes=names,
        verdict=verdict,
        noise_matrix=answer,
        estimated_matrix=estimated,
        agreement=agreement,
        n_doubted=n_doubted,
        out_of_fold=not is_given,
        n_groups=number_of_groups(data),
        duplicates=(
            None if data.hashes is None else count_duplicates(data.hashes, data.labels, splits)
        ),
        subgroups=shown.subgroups,
        candidates=shown.candidates,
        columns=shown.columns,
        before_after=before_after,
        notes=(*shown.notes, *([TOO_GOOD_SCORES] if too_good else [])),
        warnings=(*shown.warnings, *told),
        source=source,
        settings=settings,
        versions=versions_of_packages(),
        tally=tally,
        scores=scores,
        stability=_stability(data, classifier, found) if repeat and not is_given else None,
        n_candidates=n_listed,
        stretches=(
            ()
            if verdict.level == "clean"
            else stretches_by_chance(scores.chance[ordered], n_listed)
        ),
    )


def _examine(
    data: RowData, classifier: RankPruningClassifier
) -> tuple[ExaminedClasses, ClassVerdict]:
    """Return what a classifier finds, with its verdict; no suspects unless noise was found."""
    found = classifier.examine(
        data.features,
        data.labels,
        groups=data.groups,
        probabilities=data.probabilities,
        trusted=data.trusted,
    )
    assert isinstance(found, ExaminedClasses)
    verdict = found.verdict or judge_matrix(found.estimated)
    return (found if acts(verdict) else without_suspects(found)), verdict


def _stability(
    data: RowData, classifier: RankPruningClassifier, found: ExaminedClasses
) -> Stability | None:
    """Return how many suspects stay if the rows are scored again; None if that is not measured."""
    other = with_other_folds(classifier, found.rows, found.folds)
    if other is None:
        return None
    log_stage("scoring rows again in other folds")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of the check itself are given
        with useful_threads(data, own_models=True):
            again, verdict = _examine(data, other)
    return compare_suspects(found.mask, again.mask, verdict.level)


def _scores(data: RowData, found: ExaminedClasses) -> tuple[ClassScores, NDArray[np.intp]]:
    """Return the scores of the rows, and where those in doubt are among them, by rank."""
    n_rows, doubted = len(found.mask), found.rows.status.doubted
    inputs = found.rows.status.inputs(found.ranking)
    margins = margins_of(inputs)
    open_rows = np.flatnonzero(doubted)
    ordered = open_rows[order_by_margin(margins, found.mask[doubted])]
    rank = np.empty(n_rows, dtype=np.int64)
    rank[ordered] = np.arange(1, len(ordered) + 1)
    # Nobody has to look at rows that a person has settled.
    rank[~doubted] = np.arange(len(ordered) + 1, n_rows + 1)
    chance = np.zeros(n_rows)
    chance[doubted] = chances_by_margin(margins, inputs.codes, found.estimated)
    weight = np.ones(n_rows) if found.weights is None else found.weights.copy()
    weight[found.mask] = 0.0
    suggested, likelier = best_others(ClassInputs(found.codes, found.classes, found.ranking))
    scores = ClassScores(
        data.rows,
        found.codes.astype(np.intp),
        suggested,
        found.ranking[np.arange(n_rows), found.codes].clip(0.0, 1.0),
        likelier.clip(0.0, 1.0),
        chance,
        found.mask,
        rank,
        weight,
        data.ids,
        data.index,
    )
    return scores, ordered
