"""Gather evidence from rows in memory, scored out of fold or with given probabilities."""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from rankprune.check._assemble import Evidence, warn_once
from rankprune.check._before_after import judge_on_trusted
from rankprune.check._duplicates import count_duplicates
from rankprune.check._stability import compare_suspects, with_other_folds
from rankprune.classifier import Examined, RankPruningClassifier
from rankprune.core import MATRIX_ESTIMATORS, NOISE_ESTIMATORS, Verdict
from rankprune.core._answer import acts
from rankprune.core._inputs import Inputs
from rankprune.core._pruning import cutoffs_of_mask
from rankprune.core._ranking import order_rows, ranking_cutoffs
from rankprune.core._verdict import judge
from rankprune.core.classes._matrix_estimators import DEFAULT_MATRIX_ESTIMATOR
from rankprune.core.counting._sketch import ScoreSketch, sketch_of
from rankprune.core.estimators._confident_counts import confident_counts
from rankprune.core.estimators._registry import DEFAULT_ESTIMATOR
from rankprune.learners._class_based import ExaminedClasses
from rankprune.learners._copies import Hashes
from rankprune.learners._progress import log_stage
from rankprune.learners._threads import useful_algebra_threads
from rankprune.run._findings import Confident, Stability
from rankprune.run._scores import Scores, Tally

AnyExamined = TypeVar("AnyExamined", Examined, ExaminedClasses)


@dataclass(frozen=True)
class RowData:
    """The rows of a check.

    Attributes
    ----------
    X : array-like or None
        Features; None only if probabilities are given.
    labels : ndarray
        Whether each label is positive; the number of each label if there are more than two.
    rows : ndarray of int
        Positions in the table.
    groups, probabilities, trusted : ndarray or None
    hashes : ndarray or None
        Hashes of the features; rows with equal features have equal hashes.
    ids, index : ndarray or None
        Identifiers of the rows, and their labels in the index of a pandas data frame.
    """

    X: Any
    labels: NDArray[Any]
    rows: NDArray[np.intp]
    groups: Any = None
    probabilities: Any = None
    trusted: Any = None
    hashes: Hashes | None = None
    ids: NDArray[np.object_] | None = None
    index: NDArray[np.object_] | None = None

    @property
    def features(self) -> Any:
        """Return X; a table without columns if there is none."""
        return np.zeros((len(self.labels), 0)) if self.X is None else self.X


def chosen_noise_estimator(noise_estimator: Any, *, are_two: bool) -> Any:
    """Return the noise estimator that was passed, or by default the one for so many labels."""
    default = DEFAULT_ESTIMATOR if are_two else DEFAULT_MATRIX_ESTIMATOR
    return default if noise_estimator is None else noise_estimator


def make_classifier(
    estimator: Any,
    scorer: Any,
    noise_estimator: Any,
    rounds: int,
    cv: Any,
    n_jobs: int | None,
    random_state: int,
    rare: str = "error",
) -> RankPruningClassifier:
    """Return the classifier that scores and prunes the rows of a check."""
    known = sorted({*NOISE_ESTIMATORS, *MATRIX_ESTIMATORS})
    if isinstance(noise_estimator, str) and noise_estimator not in known:
        raise ValueError(
            f"noise_estimator must be one of {', '.join(known)}; got {noise_estimator!r}."
        )
    return RankPruningClassifier(
        estimator,
        scorer=scorer,
        noise_estimator=noise_estimator,
        rounds=rounds,
        cv=cv,
        rare=rare,
        n_jobs=n_jobs,
        random_state=random_state,
    )


def gather(data: RowData, classifier: RankPruningClassifier, *, repeat: bool) -> Evidence:
    """Return the findings of a classifier about the labels, without its final fit.

    Parameters
    ----------
    data : RowData
    classifier : RankPruningClassifier
    repeat : bool
        Score the rows of a small table again, to measure how the suspects depend on the folds. Only
        for models of this package, whose cost is known.
    """
    is_given = data.probabilities is not None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with useful_threads(data, own_models=repeat):
            found, verdict, sketch = _examine(data, classifier)
        status, scored = found.rows.status, found.scored
        inputs = status.inputs(scored.scores)
        before_after = judge_on_trusted(found) if data.trusted is not None else None
        confident = confident_counts(
            inputs.is_positive.view(np.int8), inputs.probabilities, sample_weight=None
        )
    ranked_inputs = status.inputs(found.ranking)
    mask = found.mask[status.doubted]
    cutoffs = cutoffs_of_mask(ranked_inputs.is_positive, ranked_inputs.probabilities, mask)
    ranked_from = ranking_cutoffs(
        ranked_inputs.is_positive, ranked_inputs.probabilities, scored.estimated
    )
    scores = _scores(data, found, ranked_inputs, mask, ranked_from)
    splits = scored.folds.splits
    return Evidence(
        sketch=sketch,
        verdict=verdict,
        estimated=scored.estimated,
        scores=scores,
        tally=Tally.of(scores),
        cutoffs=cutoffs,
        confident=Confident.of(confident),
        ranked=sketch if found.ranking is scored.scores else sketch_of(ranked_inputs),
        ranked_from=ranked_from,
        out_of_fold=not is_given,
        n_groups=number_of_groups(data),
        warnings=warn_once(caught),
        duplicates=(
            None if data.hashes is None else count_duplicates(data.hashes, data.labels, splits)
        ),
        before_after=before_after,
        stability=_stability(data, classifier, found) if repeat and not is_given else None,
    )


def number_of_groups(data: RowData) -> int | None:
    """Return the number of groups, or None if no groups were named."""
    return None if data.groups is None else len(set(np.asarray(data.groups).tolist()))


def useful_threads(data: RowData, *, own_models: bool) -> AbstractContextManager[None]:
    """Return a context in which short fits of our models do not wait for idle threads."""
    if not own_models or data.X is None:
        return nullcontext()
    # Texts in a list become sparse rows, which linear algebra libraries do not multiply.
    return useful_algebra_threads(int(np.prod(getattr(data.X, "shape", (1,)))))


class _Judged(NamedTuple):
    """The findings with their verdict; no row is a suspect unless noise was found."""

    found: Examined
    verdict: Verdict
    sketch: ScoreSketch


def _examine(data: RowData, classifier: RankPruningClassifier) -> _Judged:
    """Return what a classifier finds, with its verdict and the sketch of the scores."""
    found = classifier.examine(
        data.features,
        data.labels,
        groups=data.groups,
        probabilities=data.probabilities,
        trusted=data.trusted,
    )
    assert isinstance(found, Examined)  # the labels are two
    scored = found.scored
    sketch = sketch_of(found.rows.status.inputs(scored.scores))
    verdict = scored.verdict
    if verdict is None:
        verdict = judge(sketch, classifier.noise_estimator, estimated=scored.estimated)
    return _Judged(found if acts(verdict) else without_suspects(found), verdict, sketch)


def _stability(
    data: RowData, classifier: RankPruningClassifier, found: Examined
) -> Stability | None:
    """Return how many suspects stay if the rows are scored again; None if that is not measured."""
    other = with_other_folds(classifier, found.rows, found.scored.folds)
    if other is None:
        return None
    log_stage("scoring rows again in other folds")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of the check itself are given
        with useful_threads(data, own_models=True):
            again = _examine(data, other)
    return compare_suspects(found.mask, again.found.mask, again.verdict.level)


def without_suspects(found: AnyExamined) -> AnyExamined:
    """Return the findings with every row kept and no correction weights."""
    return replace(found, mask=np.zeros(len(found.mask), dtype=bool), weights=None)


def _scores(
    data: RowData,
    found: Examined,
    inputs: Inputs,
    mask: NDArray[np.bool_],
    cutoffs: tuple[float, float],
) -> Scores:
    """Return the scores of the rows, with their ranks and weights."""
    ordered = order_rows(inputs.is_positive, inputs.probabilities, mask, cutoffs)
    n_rows, doubted = len(found.mask), found.rows.status.doubted
    rank = np.empty(n_rows, dtype=np.int64)
    rank[np.flatnonzero(doubted)[ordered]] = np.arange(1, len(ordered) + 1)
    # Nobody has to look at rows that a person has settled.
    rank[~doubted] = np.arange(len(ordered) + 1, n_rows + 1)
    weight = np.ones(n_rows) if found.weights is None else found.weights.copy()
    weight[found.mask] = 0.0
    return Scores(
        data.rows,
        data.labels.copy(),
        np.asarray(found.ranking, dtype=np.float64),
        found.mask,
        rank,
        weight,
        data.ids,
        data.index,
    )
