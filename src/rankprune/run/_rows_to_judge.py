"""The rows of a check that people can judge, whatever the number of its labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankprune.audit import AuditSample, Strata
from rankprune.audit._beliefs import Beliefs
from rankprune.core._inputs import BoolArray

if TYPE_CHECKING:
    from rankprune.run._check_record import CheckRecord
    from rankprune.run._judged_classes import JudgedClasses
    from rankprune.run._judged_rows import JudgedRows, Method

# Beliefs are drawn with this seed, so that the same answers have the same result.
SEED = 0


class RowsToJudge:
    """The rows of a check that can be judged, and their strata.

    Attributes
    ----------
    places : ndarray of int
        Where these rows are among the scores of the check; all but the trusted ones.
    rows : ndarray of int
        Their positions in the table.
    codes : ndarray of int
        The numbers of their given labels; of two, 1 is the positive one.
    suspect : ndarray of bool
    """

    def __init__(self, check: CheckRecord) -> None:
        # Trusted rows have the last ranks.
        self.places = np.flatnonzero(np.asarray(check.scores.rank) <= max(check.n_doubted, 0))
        self.rows = np.asarray(check.scores.rows)[self.places]
        self.codes = check.given_codes[self.places]
        self.suspect: BoolArray = np.asarray(check.scores.suspect)[self.places]

    @property
    def strata(self) -> Strata:
        """Return the strata that beliefs are about."""
        raise NotImplementedError

    def beliefs(self) -> Beliefs:
        """Return what is believed before any row is judged."""
        raise NotImplementedError

    def aim(self, label: int | None) -> NDArray[np.float64]:
        """Return what each stratum counts in the share of all labels, or of one label."""
        raise NotImplementedError

    def divided(self) -> Any:
        """Return how the rows are divided for a sample of fixed size."""
        raise NotImplementedError

    def sample(self, places: NDArray[np.intp], strata: Strata) -> AuditSample:
        """Return some of the rows as a sample drawn from strata."""
        raise NotImplementedError

    def fixed_sample(self, n: int, generator: np.random.Generator) -> AuditSample:
        """Return a sample of fixed size, drawn at once."""
        raise NotImplementedError

    def judged(
        self, rows: Sequence[int], answers: Sequence[int | None], method: Method
    ) -> JudgedRows | JudgedClasses:
        """Return the record of judged rows, given the numbers of their right labels."""
        raise NotImplementedError

    def places_of(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return where rows of the table are among those that can be judged."""
        return np.searchsorted(self.rows, rows)

    def counts(
        self, judged: JudgedRows | JudgedClasses | None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the numbers of rows with a clear answer, and of wrong labels, by stratum."""
        places, is_wrong, is_sure = self.answers(judged)
        stratum, size = self.strata.of_row[places], len(self.strata.sizes)
        return (
            np.bincount(stratum[is_sure], minlength=size),
            np.bincount(stratum[is_wrong], minlength=size),
        )

    def answers(
        self, judged: JudgedRows | JudgedClasses | None
    ) -> tuple[NDArray[np.intp], BoolArray, BoolArray]:
        """Return where the judged rows are, which labels are wrong, and which answers are clear."""
        if judged is None:
            none = np.zeros(0, dtype=bool)
            return np.zeros(0, dtype=np.intp), none, none
        places = self.places_of(np.array(judged.rows, dtype=np.intp))
        right = np.array([-1 if one is None else one for one in judged.codes], dtype=np.intp)
        is_sure = right >= 0
        return places, is_sure & (right != self.codes[places]), is_sure
