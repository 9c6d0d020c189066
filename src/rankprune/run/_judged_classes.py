"""Rows of a check of many labels that people judge for an audit."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rankprune.audit import AuditSample, Strata
from rankprune.audit._beliefs import Beliefs
from rankprune.audit._class_beliefs import believe_classes, believe_nothing
from rankprune.audit._class_sample import DividedClasses
from rankprune.audit._label_groups import LabelGroups, group_labels, labels_asked_about
from rankprune.audit._sample import allocate, draw_rows
from rankprune.core import NoiseMatrix
from rankprune.core.classes._class_loops import likelihood_ratios
from rankprune.core.classes._class_ranking import chances_by_margin
from rankprune.run._class_sentences import is_of_many, is_of_two
from rankprune.run._judged_rows import Method, OpenRows
from rankprune.run._rows_to_judge import SEED, RowsToJudge

if TYPE_CHECKING:
    from rankprune.run._check_record import CheckRecord
    from rankprune.run._class_check import ClassCheck

# The model's chances that labels are wrong assume at least this share of wrong labels.
_LEAST_RATE = 0.01


@dataclass(frozen=True)
class JudgedClasses:
    """Rows whose right labels people gave, after they were drawn for an audit.

    Attributes
    ----------
    rows : tuple of int
        Positions in the table, counted from 0.
    labels : tuple of int or None
        The number of the right label of each row; None if the person was unsure.
    method : {"model", "design"}
        Whether the range comes from model and answers together, or from the answers alone.
    contradicts_model : bool
        Whether the answers contradict the range that the model gave. The range then comes from the
        answers alone.
    n_wrong : int
        How many of the judged labels are wrong.
    """

    rows: tuple[int, ...]
    labels: tuple[int | None, ...]
    method: Method
    contradicts_model: bool
    n_wrong: int

    @property
    def codes(self) -> tuple[int | None, ...]:
        """Return the number of the right label of each row."""
        return self.labels

    @property
    def n_sure(self) -> int:
        """Return the number of rows with a clear answer."""
        return sum(answer is not None for answer in self.labels)


class OpenClassRows(RowsToJudge):
    """The rows of a check of many labels that can be judged, and their strata.

    Attributes
    ----------
    ratios : ndarray of float
        How many times likelier each label is than the best other one.
    matrix : NoiseMatrix
        The estimated one.
    """

    def __init__(self, check: ClassCheck) -> None:
        super().__init__(check)
        own, other = (
            np.asarray(scores, dtype=np.float64)[self.places]
            for scores in (check.scores.probability, check.scores.suggested_probability)
        )
        self.ratios = likelihood_ratios(own, other)
        self.matrix, self._classes = check.estimated_matrix, check.classes

    @cached_property
    def chances(self) -> NDArray[np.float64]:
        """Return the model's chance that each label is wrong."""
        return chances_by_margin(np.log(self.ratios), self.codes, _expecting(self.matrix))

    @cached_property
    def groups(self) -> LabelGroups:
        """Return strata by groups of labels."""
        return group_labels(self.codes, self.chances, len(self._classes), ())

    def knowing(self, rows: Collection[int], label: int | None = None) -> OpenClassRows:
        """Return the same rows, with own strata for labels that audits are about.

        Parameters
        ----------
        rows : collection of int
            Rows that were judged: an audit was about a label if it has conspicuously many.
        label : int, default=None
            Another label that needs strata of its own.
        """
        if label is None and not rows:
            return self
        places = self.places_of(np.array(list(rows), dtype=np.intp))
        own = set(labels_asked_about(self.groups, self.codes, places))
        if label is not None and self.groups.shared[label]:
            own.add(label)
        if not own:
            return self
        found = copy(self)
        found.groups = group_labels(self.codes, self.chances, len(self._classes), sorted(own))
        return found

    @property
    def strata(self) -> Strata:
        """Return the strata that beliefs are about."""
        return self.groups.strata

    def beliefs(self) -> Beliefs:
        """Return what is believed before any row is judged."""
        generator = np.random.default_rng(SEED)
        return believe_classes(self.groups, self.chances, self.matrix, generator)

    def beliefs_without_model(self) -> Beliefs:
        """Return what is believed instead if the answers contradict the model."""
        return believe_nothing(self.groups, self.chances, np.random.default_rng(SEED))

    def aim(self, label: int | None) -> NDArray[np.float64]:
        """Return what each stratum counts in the share of all labels, or of one label."""
        return self.groups.weights(label)

    def divided(self) -> DividedClasses:
        """Return how the rows are divided for a sample of fixed size."""
        return DividedClasses(self.codes, self._classes, self.suspect, self.chances, self.chances)

    def sample(self, places: NDArray[np.intp], strata: Strata) -> AuditSample:
        """Return some of the rows as a sample drawn from strata."""
        return replace(self.divided().sample(places, strata), rows=self.rows[places])

    def fixed_sample(self, n: int, generator: np.random.Generator) -> AuditSample:
        """Return a sample of fixed size, drawn at once."""
        strata = self.divided().strata(n)
        return self.sample(draw_rows(strata, allocate(strata, n), generator), strata)

    def judged(
        self, rows: Sequence[int], answers: Sequence[int | None], method: Method
    ) -> JudgedClasses:
        """Return the record of judged rows, given the numbers of their right labels."""
        return JudgedClasses(tuple(rows), tuple(answers), method, False, 0)


def open_rows(
    check: CheckRecord, judged: Collection[int] = (), about: int | None = None
) -> OpenRows | OpenClassRows:
    """Return the rows of a check that can be judged, whatever the number of its labels.

    Parameters
    ----------
    check : LabelCheck or ClassCheck
    judged : collection of int
        Rows that were judged.
    about : int, default=None
        The number of the label that an audit is about.
    """
    if is_of_many(check):
        return OpenClassRows(check).knowing(judged, about)
    assert is_of_two(check)
    return OpenRows(check)


def _expecting(matrix: NoiseMatrix) -> NoiseMatrix:
    """Return the noise by which rows are expected to be wrong: never none of a label."""
    shares = matrix.label_shares
    rates = np.maximum(matrix.error_rates, _LEAST_RATE)
    others = (1 - np.eye(len(matrix))) / (len(matrix) - 1)
    joint = shares[:, None] * (np.diag(1 - rates) + rates[:, None] * others)
    return replace(matrix, joint=joint, intervals=None)
