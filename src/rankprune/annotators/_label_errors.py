"""How many given labels are wrong, by the consensus: its probabilities, counted label by label.

Three independent answers a row, or two and a score, identify what a label and a score cannot: which
errors are made, and how often.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from rankprune.annotators._answers import Answers
from rankprune.annotators._em import Design, class_prior
from rankprune.annotators._methods import fit_model
from rankprune.annotators._scores import ScorePrior
from rankprune.annotators._table import CANNOT_TELL
from rankprune.annotators._votes import Array
from rankprune.core import Interval
from rankprune.core._shares import share_band

COVERS = (
    "the choice of rows and doubt about their labels, if errors are independent given the true "
    "label"
)
# Parts of the rows that are left out, one after the other.
_PARTS = 30
# Below this variance a share counts as known but for the number of rows.
_LEAST_VARIANCE = 1e-12


@dataclass(frozen=True)
class LabelErrors:
    """How many of some labels are wrong; returned by `Consensus.label_errors`.

    Attributes
    ----------
    classes : tuple
    n_rows : int
        Number of rows with a label.
    wrong_share : Interval
        Share of the labels that are wrong.
    label_error_rates : tuple of Interval
        For each class: share of the labels that say so and are wrong.
    noise_rates : tuple of Interval
        For each class: share of the rows of this true class with another label.
    confusion : tuple of tuple of float
        ``confusion[t][g]``: share of the rows of true class ``classes[t]`` labeled ``classes[g]``.

    Examples
    --------
    >>> from rankprune.annotators import Answers, consensus
    >>> table = [["a", "a", "a"], ["b", "b", "a"], ["b", "b", "b"], ["a", "a", "a"]] * 40
    >>> found = consensus(Answers.from_wide(table))
    >>> print(found.label_errors([line[2] for line in table]).wrong_share)
    25.0% (17.5% to 33.1%)
    """

    classes: tuple[Any, ...]
    n_rows: int
    wrong_share: Interval
    label_error_rates: tuple[Interval, ...]
    noise_rates: tuple[Interval, ...]
    confusion: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a consensus was fitted to, so that it can be fitted again without some rows.

    Attributes
    ----------
    answers : Answers
    method : str
    known : ndarray of shape (n_rows,)
        The class of each gold row, and -1 for the others.
    weight : ndarray of shape (n_answers,) or None
    scores : ndarray of shape (n_rows, n_classes) or None
        Out-of-fold scores of the last round.
    max_iter : int
    other_scores : tuple of ndarray
        Out-of-fold scores of earlier rounds.
    """

    answers: Answers
    method: str
    known: NDArray[np.intp]
    weight: Array | None
    scores: Array | None
    max_iter: int
    other_scores: tuple[Array, ...] = ()

    def without(self, left_out: NDArray[np.bool_], start: Array) -> tuple[Array, Array]:
        """Return the probabilities by a fit without some rows: of the others, and of these."""
        kept = ~left_out
        prior = class_prior if self.scores is None else ScorePrior(self.scores[kept])
        fit = fit_model(
            self.method,
            self._design(kept),
            start[kept],
            prior_step=prior,
            max_iter=self.max_iter,
            stay=True,
        )
        log_prior = fit.log_prior
        if self.scores is not None and isinstance(prior, ScorePrior):
            log_prior = prior.of(self.scores[left_out])
        unseen, _ = self._design(left_out).posterior(fit.confusion, log_prior)
        return fit.probabilities, unseen

    def by_other_models(self, start: Array) -> list[Array]:
        """Return the probabilities by the other models with a full confusion."""
        others = [name for name in ("dawid-skene", "smoothed") if name != self.method]
        return [self._probabilities(name, self.scores, start) for name in others]

    def by_other_scores(self, start: Array) -> list[Array]:
        """Return the probabilities by the scores of earlier rounds."""
        return [self._probabilities(self.method, scores, start) for scores in self.other_scores]

    def _probabilities(self, method: str, scores: Array | None, start: Array) -> Array:
        design = Design.of(self.answers, self.known, self.weight)
        prior = class_prior if scores is None else ScorePrior(scores)
        return fit_model(
            method, design, start, prior_step=prior, max_iter=self.max_iter
        ).probabilities

    def _design(self, kept: NDArray[np.bool_]) -> Design:
        """Return the design of some rows."""
        answers, of_kept = self.answers, kept[self.answers.row]
        part = replace(
            answers,
            rows=tuple(np.flatnonzero(kept).tolist()),
            row=(np.cumsum(kept) - 1)[answers.row[of_kept]],
            annotator=answers.annotator[of_kept],
            label=answers.label[of_kept],
            seconds=None,
        )
        weight = None if self.weight is None else self.weight[of_kept]
        return Design.of(part, self.known[kept], weight)


def label_errors(
    evidence: Evidence | None,
    probabilities: Array,
    given: NDArray[np.intp],
    classes: tuple[Any, ...],
    level: float,
) -> LabelErrors:
    """Return how many given labels are wrong.

    Parameters
    ----------
    evidence : Evidence or None
        None if the answers cannot tell; then intervals run from 0 to 1.
    probabilities : ndarray of shape (n_rows, n_classes)
    given : ndarray of shape (n_rows,)
        The class of each row's label; -1 for rows that do not count.
    classes : tuple
    level : float

    Notes
    -----
    The variance is that of the delete-a-group jackknife: the consensus is fitted again without each
    thirtieth of the rows. It includes the choice of rows and what answers leave open about
    annotators and labels. The classifier is not trained again.
    """
    k = len(classes)
    variance: Array | None = None
    joint = _joint(probabilities, given)
    shares = _shares(joint)
    if evidence is not None:
        unseen, variance = _without_each_part(evidence, probabilities, given)
        # A fit is too sure of the rows that it was made of, and says too little of others: the
        # middle counts, and what lies between is doubt.
        other = _joint(unseen, given)
        variance += ((_shares(other) - shares) / 2) ** 2
        # So is what other models of the annotators make of the same answers.
        for by_other in evidence.by_other_models(probabilities):
            variance += ((_shares(_joint(by_other, given)) - shares) / 2) ** 2
        # A classifier that learned from the consensus confirms it: earlier rounds do so less.
        for by_other in evidence.by_other_scores(probabilities):
            variance += (_shares(_joint(by_other, given)) - shares) ** 2
        joint = (joint + other) / 2
        shares = _shares(joint)
    sizes = np.concatenate([[joint.sum()], joint.sum(axis=0), joint.sum(axis=1)])
    found = [
        _interval(share, None if variance is None else float(variance[i]), size, level)
        for i, (share, size) in enumerate(zip(shares.tolist(), sizes.tolist(), strict=True))
    ]
    confusion = joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)
    return LabelErrors(
        classes,
        int((given >= 0).sum()),
        found[0],
        tuple(found[1 : k + 1]),
        tuple(found[k + 1 :]),
        tuple(tuple(line) for line in confusion.tolist()),
    )


def _without_each_part(
    evidence: Evidence, probabilities: Array, given: NDArray[np.intp]
) -> tuple[Array, Array]:
    """Return probabilities by fits that have not seen the row, and the variance of each share."""
    n_parts = min(_PARTS, len(given))
    part = np.random.default_rng(0).permutation(len(given)) % n_parts
    unseen, again = np.empty_like(probabilities), []
    for number in range(n_parts):
        left_out = part == number
        seen, unseen[left_out] = evidence.without(left_out, probabilities)
        again.append(_shares(_joint(seen, given[~left_out])))
    spread = np.array(again) - np.mean(again, axis=0)
    variance = (spread**2).sum(axis=0) * (n_parts - 1) / n_parts
    # Wider, as Student's t asks for with so few parts.
    return unseen, variance * (student.ppf(0.975, n_parts - 1) / student.ppf(0.975, np.inf)) ** 2


def _joint(probabilities: Array, given: NDArray[np.intp]) -> Array:
    """Return the expected number of rows by true class and given label."""
    k = probabilities.shape[1]
    counts = np.zeros((k, k))
    there = given >= 0
    np.add.at(counts.T, given[there], probabilities[there])
    return counts


def _shares(joint: Array) -> Array:
    """Return the share of wrong labels: of all, by given label, and by true class."""
    right = np.diag(joint)
    given, true = joint.sum(axis=0), joint.sum(axis=1)
    whole = np.concatenate([[joint.sum()], given, true])
    part = np.concatenate([[right.sum()], right, right])
    shares: Array = 1 - part / np.maximum(whole, 1e-300)
    return np.clip(np.where(whole > 0, shares, 0.0), 0.0, 1.0)


def _interval(share: float, variance: float | None, size: float, level: float) -> Interval:
    """Return a share with the interval of as many rows as have this variance."""
    if variance is None or size < 1:
        return Interval(share, 0.0, 1.0, CANNOT_TELL)
    rows = min(share * (1 - share) / max(variance, _LEAST_VARIANCE), size)
    low, high = share_band(np.array([share * rows]), np.array([max(rows, 1e-6)]), level)
    # What is covered is a number of rows: none are wrong more often than a share is 0.
    least, most = np.floor(low[0] * size) / size, min(np.ceil(high[0] * size) / size, 1.0)
    return Interval(share, min(float(least), share), max(float(most), share), COVERS)
