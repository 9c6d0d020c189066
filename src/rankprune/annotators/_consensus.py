"""The most probable label of each row from the answers of all annotators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankprune.annotators._answers import Answers
from rankprune.annotators._arguments import check_arguments, checked_scorer, known_classes
from rankprune.annotators._choice import ENOUGH, SOME, choose_model, mean_per_row
from rankprune.annotators._codes import MISSING, as_column, codes_in
from rankprune.annotators._copies import (
    confirmed,
    copy_weights,
    count_pairs,
    groups_alike,
    without,
)
from rankprune.annotators._em import Design, Fit
from rankprune.annotators._label_errors import Evidence, LabelErrors, label_errors
from rankprune.annotators._methods import ENOUGH_GOLD, fit_model, vote_start
from rankprune.annotators._scores import ScorePrior
from rankprune.annotators._table import Annotator, annotator_table
from rankprune.annotators._votes import Array, count_votes
from rankprune.core._parameters import as_number, validate_count, validate_level

# Rounds of scoring and fitting if a function scores the rows.
_ROUNDS = 3
# Independent annotators that are needed to tell copies from annotators who are both right.
_ENOUGH_LEADERS = 3

Scorer = Callable[[Array], ArrayLike]


@dataclass(frozen=True, eq=False)
class Consensus:
    """The consensus of several annotators, with its confidence; returned by `consensus`.

    Attributes
    ----------
    rows, classes : tuple
        As in the answers.
    labels : ndarray of shape (n_rows,)
        The most probable class of each row.
    probabilities : ndarray of shape (n_rows, n_classes)
    confidence : ndarray of shape (n_rows,)
        Probability of the label.
    agreement : ndarray of shape (n_rows,)
        Share of the row's answers that equal the label; NaN without answers.
    n_answers : ndarray of shape (n_rows,)
    annotators : tuple of Annotator
        In the order of ``answers.annotators``.
    method, reason : str
        The method, and why it was chosen.
    calibrated : bool
        Whether the confidence can be trusted as a probability; if not, `doubts` says why.
    doubts : tuple of str
    log_likelihood : float or None
        With the terms of the smoothing; None for votes.
    n_iter : int
    converged : bool

    Examples
    --------
    >>> from rankprune.annotators import Answers, consensus
    >>> answers = Answers.from_wide([["a", "a", "b"], ["b", "b", "a"], ["a", "a", "a"]] * 30)
    >>> found = consensus(answers, method="dawid-skene")
    >>> found.labels[:3].tolist(), found.agreement[:3].round(2).tolist()
    (['a', 'b', 'a'], [0.67, 0.67, 1.0])
    """

    rows: tuple[Any, ...]
    classes: tuple[Any, ...]
    labels: NDArray[Any]
    probabilities: Array
    confidence: Array
    agreement: Array
    n_answers: NDArray[np.intp]
    annotators: tuple[Annotator, ...]
    method: str
    reason: str
    calibrated: bool
    doubts: tuple[str, ...]
    log_likelihood: float | None
    n_iter: int
    converged: bool
    _evidence: Evidence | None = field(default=None, repr=False)

    def trusted(self, at_least: float = 0.99) -> NDArray[np.bool_]:
        """Return which labels are certain enough to be `trusted` rows of a classifier.

        Parameters
        ----------
        at_least : float, default=0.99
            Least confidence.

        Returns
        -------
        ndarray of shape (n_rows,)

        Examples
        --------
        >>> from rankprune.annotators import Answers, consensus
        >>> table = [["a", "a", "a"], ["b", "b", "a"], ["b", "b", "b"], ["a", "a", "a"]] * 40
        >>> consensus(Answers.from_wide(table)).trusted(at_least=0.95)[:4].tolist()
        [True, True, True, True]
        """
        least = as_number(at_least)
        if least is None or not 0 < least <= 1:
            raise ValueError(
                f"at_least must be a probability above 0, got {at_least!r}. Pass e.g. 0.99."
            )
        if not self.calibrated:
            raise ValueError(
                f"trusted needs a confidence that is calibrated, but {'; '.join(self.doubts)}."
            )
        certain: NDArray[np.bool_] = self.confidence >= least
        return certain

    def label_errors(self, labels: ArrayLike | None = None, *, level: float = 0.95) -> LabelErrors:
        """Return how many labels of the rows are wrong, by the answers of all annotators.

        Parameters
        ----------
        labels : array-like of shape (n_rows,), default=None
            Any labels of the rows, such as those of the majority or of the first annotator, in
            the order of `rows`; missing ones are left out. By default those of this consensus.
        level : float, default=0.95
            Confidence level of each interval.

        Returns
        -------
        LabelErrors
            With the share of wrong labels and the noise rates. If the answers cannot tell,
            intervals run from 0 to 1.

        Examples
        --------
        >>> from rankprune.annotators import Answers, consensus
        >>> table = [["a", "a", "a"], ["b", "b", "a"], ["b", "b", "b"], ["a", "a", "a"]] * 40
        >>> found = consensus(Answers.from_wide(table))
        >>> first = found.label_errors([line[0] for line in table])
        >>> round(first.wrong_share.estimate, 2)
        0.0
        """
        level = validate_level(level)
        if labels is None:
            given = np.where(self.n_answers > 0, self.probabilities.argmax(axis=1), MISSING)
        else:
            column = as_column(labels, "labels")
            if len(column) != len(self.rows):
                raise ValueError(
                    f"labels must have one value per row, got {len(column)} for {len(self.rows)} "
                    "rows. Pass None where a row has none."
                )
            given = codes_in(column, self.classes, "labels", "classes")
        evidence = self._evidence if self.calibrated else None
        return label_errors(evidence, self.probabilities, given, self.classes, level)

    def __str__(self) -> str:
        lines = [
            f"{len(self.rows)} rows, {len(self.annotators)} annotators, method {self.method}: "
            f"{self.reason}",
            f"mean confidence {self.confidence.mean():.1%}",
        ]
        return "\n".join([*lines, *self.doubts])


def consensus(
    answers: Answers,
    *,
    method: str = "auto",
    probabilities: ArrayLike | Scorer | None = None,
    gold: Mapping[Any, Any] | None = None,
    level: float = 0.95,
    max_iter: int = 100,
) -> Consensus:
    """Return the most probable label of each row, and what the answers say about annotators.

    Parameters
    ----------
    answers : Answers
    method : str, default="auto"
        - ``"majority"``: votes; ties go to the class with more answers.
        - ``"one-coin"``: each annotator has one accuracy.
        - ``"dawid-skene"``: each annotator has a confusion matrix (Dawid and Skene 1979).
        - ``"smoothed"``: the same, pulled towards the annotator's accuracy; best with few answers.
        - ``"model"``: the same, with the scores of a classifier as one more witness.
        - ``"auto"``: ``"model"`` if `probabilities` are given; else the method that best predicts
          held-out answers, and simpler ones with fewer than three answers a row. Annotators that
          repeat each other's errors count as one.
    probabilities : array-like of shape (n_rows, n_classes) or callable, default=None
        Out-of-fold scores of a classifier, in the order of ``answers.rows`` and
        ``answers.classes``. A callable gets the consensus probabilities, trains on them and returns
        such scores; it is called three times.
    gold : mapping of row id to label, default=None
        Rows whose label is known for certain.
    level : float, default=0.95
        Confidence level of the annotators' intervals.
    max_iter : int, default=100
        Most iterations of each fit.

    Returns
    -------
    Consensus

    Examples
    --------
    >>> from rankprune.annotators import Answers, consensus
    >>> answers = Answers.from_wide([["a", "a", "b"], ["b", "b", "b"], ["a", "b", "a"]] * 30)
    >>> found = consensus(answers)
    >>> found.method, found.labels[:3].tolist()
    ('dawid-skene', ['a', 'b', 'a'])
    """
    check_arguments(answers, method, probabilities)
    level, max_iter = validate_level(level), validate_count(max_iter, "max_iter", 100)
    known = known_classes(answers, gold)
    scorer = checked_scorer(answers, probabilities)
    weight, source = None, np.arange(len(answers.annotators))
    reason = "as requested"
    if method == "auto":
        weight, source = _copies(answers, known, max_iter)
        if scorer is not None:
            method, reason = "model", "probabilities were given"
        else:
            method, reason = choose_model(answers, known, weight, max_iter)
        reason += _told_copies(source)
    start = vote_start(answers, known, weight)
    fit, evidence = None, None
    if method == "model" and scorer is not None:
        fit, evidence = _fit_with_scores(answers, known, weight, start, scorer, max_iter)
    elif method != "majority":
        fit = fit_model(method, Design.of(answers, known, weight), start, max_iter=max_iter)
        evidence = Evidence(answers, method, known, weight, None, max_iter)
    found = start if fit is None else fit.probabilities
    doubts = _doubts(answers, method, known, scorer is not None, fit)
    codes = found.argmax(axis=1)
    per_row = answers.per_row
    votes = count_votes(answers)[np.arange(len(codes)), codes]
    return Consensus(
        rows=answers.rows,
        classes=answers.classes,
        labels=_as_labels(answers)[codes],
        probabilities=found,
        confidence=found.max(axis=1),
        agreement=np.where(per_row > 0, votes / np.maximum(per_row, 1), np.nan),
        n_answers=per_row,
        annotators=annotator_table(answers, found, source, level=level, is_known=not doubts),
        method=method,
        reason=reason,
        calibrated=not doubts,
        doubts=doubts,
        log_likelihood=None if fit is None else fit.log_likelihoods[-1],
        n_iter=0 if fit is None else len(fit.log_likelihoods),
        converged=True if fit is None else fit.converged,
        _evidence=evidence,
    )


def _as_labels(answers: Answers) -> NDArray[Any]:
    """Return the classes as an array in which each keeps its type."""
    if len({type(one) for one in answers.classes}) == 1:
        return np.array(list(answers.classes))
    labels = np.empty(len(answers.classes), dtype=object)
    labels[:] = answers.classes
    return labels


def _told_copies(source: NDArray[np.intp]) -> str:
    """Return how many annotators copy others, as the end of a sentence."""
    n_copies = int((source != np.arange(len(source))).sum())
    if n_copies == 0:
        return ""
    if n_copies == 1:
        return "; 1 annotator copies another and does not count twice"
    return f"; {n_copies} annotators copy others and do not count twice"


def _copies(
    answers: Answers, known: NDArray[np.intp], max_iter: int
) -> tuple[Array | None, NDArray[np.intp]]:
    """Return the weight of each answer, None if nobody copies, and whom each annotator copies."""
    leader = groups_alike(answers, count_pairs(answers))
    is_follower = leader != np.arange(len(leader))
    # Two annotators alone cannot show how often each of them errs.
    if not is_follower.any() or (~is_follower).sum() < _ENOUGH_LEADERS:
        return None, np.arange(len(leader))
    leaders = without(answers, is_follower)
    start = vote_start(leaders, known, None)
    fit = fit_model("smoothed", Design.of(leaders, known), start, max_iter=max_iter)
    source = confirmed(answers, leader, fit.probabilities)
    return copy_weights(answers, source), source


def _fit_with_scores(
    answers: Answers,
    known: NDArray[np.intp],
    weight: Array | None,
    start: Array,
    scorer: Callable[[Array], Array],
    max_iter: int,
) -> tuple[Fit, Evidence]:
    """Return the fit to answers and scores, and what the last round was fitted to.

    A classifier is trained again on each consensus.
    """
    design = Design.of(answers, known, weight)
    # One answer a row cannot tell which errors an annotator makes, but how many.
    model = "smoothed" if mean_per_row(answers) >= SOME else "one-coin"
    scores: Array | None = None
    earlier: list[Array] = []
    for _ in range(_ROUNDS):
        new_scores = scorer(start)
        if new_scores is scores:  # they were computed before, and do not follow the consensus
            break
        if scores is not None:
            earlier.append(scores)
        scores = new_scores
        # Votes alone would make annotators perfect where nobody else answered.
        both = (start + scores / scores.sum(axis=1, keepdims=True)) / 2
        prior_step = ScorePrior(scores)
        fit = fit_model(model, design, both, prior_step=prior_step, max_iter=max_iter)
        start = fit.probabilities
    return fit, Evidence(answers, model, known, weight, scores, max_iter, tuple(earlier))


def _doubts(
    answers: Answers, method: str, known: NDArray[np.intp], has_scores: bool, fit: Fit | None
) -> tuple[str, ...]:
    """Return why the confidence is not a probability to rely on."""
    found = []
    mean = mean_per_row(answers)
    is_supported = has_scores or int((known >= 0).sum()) >= ENOUGH_GOLD
    if len(answers.annotators) < 2:
        found.append("cannot tell how often a single annotator errs; ask others about these rows")
    elif mean < ENOUGH and not is_supported:
        found.append(
            f"cannot tell how often annotators err: {mean:.1f} answers a row; ask for three, or "
            "pass gold rows or out-of-fold probabilities"
        )
    if method == "majority":
        found.append("the confidence is a share of votes, not a probability")
    if fit is not None and not fit.converged:
        found.append("the fit has not converged; raise max_iter")
    return tuple(found)
