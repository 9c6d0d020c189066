"""The record of one check of many labels: settings, results, and the scores of every row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune.core import ClassVerdict, Interval, MatrixIntervals, NoiseMatrix
from rankprune.core._ranking import Stretch
from rankprune.core.classes._class_verdict import has_enough_rows
from rankprune.exceptions import TableError
from rankprune.run._check_record import CheckRecord, scores_key_of
from rankprune.run._class_scores import (
    ClassScores,
    ClassTally,
    SavedClassScores,
    class_reason,
    write_class_scores,
)
from rankprune.run._directory import MATRIX, RESULT, SCORES, RunFiles, own_place
from rankprune.run._findings import (
    BeforeAfter,
    CandidateRow,
    Duplicates,
    Source,
    Stability,
    Subgroup,
)
from rankprune.run._judged_classes import JudgedClasses
from rankprune.run._sentences import summary_lines
from rankprune.run._settings import CheckSettings
from rankprune.storage._json_records import from_plain, to_plain

_ESTIMATED = "estimated_matrix"


@dataclass(frozen=True)
class Confusion:
    """How many labels of one value should be another.

    Attributes
    ----------
    given, true : str
        The label that the rows have, and the one that is right.
    share : float
        Their share of all rows.
    """

    given: str
    true: str
    share: float


@dataclass(frozen=True)
class ClassCheck(CheckRecord):
    """The result of a check of more than two labels: how many are wrong, and what they should be.

    Returned by `check_labels` and `check_table`; saved to a run directory, and loaded from it by
    `load_check`.

    Attributes
    ----------
    classes : tuple of str
        The labels, as text, in the order of their numbers.
    verdict : ClassVerdict
        Clean, noise found, or cannot tell, with the reasons.
    noise_matrix : NoiseMatrix
        The answer: the estimated matrix, or one without noise if the verdict is clean, with ranges.
        All shares that are shown or printed come from here.
    estimated_matrix : NoiseMatrix
        The estimated matrix, whatever the verdict.
    agreement : float
        Share of the rows whose label has the largest score.
    n_doubted : int
        Number of rows that are not trusted.
    tally : ClassTally
        Numbers of rows and suspects by label.
    scores : ClassScores or SavedClassScores
        Scores of every row; read from a file when first needed, if they are not in memory.
    judged : JudgedClasses or None
        The rows that people judged for an audit.
    out_of_fold, n_groups, duplicates, subgroups, candidates, columns, before_after, notes
        As in `LabelCheck`, and so are all other attributes. Candidates have a suggested label.

    Examples
    --------
    >>> import numpy as np
    >>> from rankprune import check_labels
    >>> labels = np.repeat(["cat", "dog", "owl"], 200)
    >>> scores = 0.05 + 0.85 * np.repeat(np.eye(3), 200, axis=0)
    >>> check = check_labels(None, labels, probabilities=scores)
    >>> check.classes, check.n_rows, check.n_suspects
    (('cat', 'dog', 'owl'), 600, 0)
    """

    classes: tuple[str, ...]
    verdict: ClassVerdict
    noise_matrix: NoiseMatrix
    estimated_matrix: NoiseMatrix
    agreement: float
    n_doubted: int
    out_of_fold: bool
    n_groups: int | None
    duplicates: Duplicates | None
    subgroups: tuple[Subgroup, ...]
    candidates: tuple[CandidateRow, ...]
    columns: tuple[str, ...]
    before_after: BeforeAfter | None
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    source: Source
    settings: CheckSettings
    versions: dict[str, str]
    tally: ClassTally
    scores: ClassScores | SavedClassScores
    stability: Stability | None = None
    n_candidates: int = 0
    stretches: tuple[Stretch, ...] = ()
    judged: JudgedClasses | None = None
    scores_key: str = ""
    folder: Path | None = field(default=None, compare=False, repr=False)

    @property
    def intervals(self) -> MatrixIntervals:
        """Return the 95 % ranges of the truth around ``noise_matrix``."""
        assert self.noise_matrix.intervals is not None  # estimated matrices have some
        return self.noise_matrix.intervals

    @property
    def given_codes(self) -> NDArray[np.intp]:
        """Return the number of the given label of each labeled row, its place in ``classes``."""
        return np.asarray(self.scores.label)

    @property
    def wrong_share(self) -> float:
        """Return the estimated share of all labels that are wrong."""
        return self.noise_matrix.wrong_share

    @property
    def estimated_intervals(self) -> MatrixIntervals:
        """Return the 95 % ranges around ``estimated_matrix``."""
        assert self.estimated_matrix.intervals is not None
        return self.estimated_matrix.intervals

    @property
    def error_rates(self) -> dict[str, Interval]:
        """Return the share of wrong labels among those of each value, with its 95 % range."""
        return dict(zip(self.classes, self.intervals.error_rates, strict=True))

    @property
    def says_something(self) -> bool:
        """Return whether the scores say anything about wrong labels, however little."""
        return self.estimated_matrix.reliable and has_enough_rows(self.estimated_matrix)

    def confusions(self) -> list[Confusion]:
        """Return which labels should be which others, the most frequent first.

        Examples
        --------
        >>> import numpy as np
        >>> from rankprune import check_labels
        >>> labels = np.repeat(["cat", "dog", "owl"], 200)
        >>> scores = 0.05 + 0.85 * np.repeat(np.eye(3), 200, axis=0)
        >>> check_labels(None, labels, probabilities=scores).confusions()
        []
        """
        joint = np.where(np.eye(len(self.classes), dtype=bool), 0.0, self.noise_matrix.joint)
        order = np.argsort(-joint, axis=None, kind="stable")[: np.count_nonzero(joint)]
        return [
            Confusion(self.classes[given], self.classes[true], float(joint[given, true]))
            for given, true in zip(*np.unravel_index(order, joint.shape), strict=True)
        ]

    def ranked(self) -> Iterator[CandidateRow]:
        """Yield every row on the list to look at, most suspicious first, without its cells."""
        scores = self.scores
        for place in self._places_up_to(self.n_candidates).tolist():
            label, suggested = (
                self.classes[int(codes[place])] for codes in (scores.label, scores.suggested)
            )
            probability = float(scores.probability[place])
            likelier = float(scores.suggested_probability[place])
            yield CandidateRow(
                rank=int(scores.rank[place]),
                row=int(scores.rows[place]),
                index=self._index(place),
                id=self._id(place),
                label=label,
                probability=probability,
                reason=class_reason(label, probability, suggested, likelier, self.out_of_fold),
                is_suspect=bool(scores.suspect[place]),
                suggested=suggested,
                suggested_probability=likelier,
            )

    def to_dict(self) -> dict[str, Any]:
        """Return everything except the scores of the rows, as JSON-compatible values."""
        rest = {one.name: getattr(self, one.name) for one in fields(self)}
        del rest["scores"], rest["folder"]
        if self.judged is None:
            # Then it is the hash of the file beside it.
            del rest["scores_key"]
        for name in (MATRIX, _ESTIMATED):
            rest[name] = getattr(self, name).to_dict()
        rates = self.noise_matrix.error_rates.tolist()
        by_label = dict(zip(self.classes, rates, strict=True))
        return {**self._answer(error_rates=by_label), **to_plain(rest)}

    def __str__(self) -> str:
        return "\n".join(summary_lines(self))

    def _write_scores(self, path: Path) -> None:
        if isinstance(self.scores, SavedClassScores):
            self.scores.copy_to(path)
        else:
            write_class_scores(
                path,
                self.scores,
                self.classes,
                self.source.n_rows,
                out_of_fold=self.out_of_fold,
                n_listed=self.n_candidates,
            )

    @classmethod
    def of(cls, run: RunFiles) -> ClassCheck:
        """Return the check of a run that was opened."""
        result = run.result
        try:
            scores = SavedClassScores(
                run.paths[SCORES],
                result["settings"].get("id") is not None,
                run.hashes[SCORES],
                result["source"]["n_rows"],
                classes=tuple(map(str, result["classes"])),
            )
            matrices = {name: NoiseMatrix.from_dict(result[name]) for name in (MATRIX, _ESTIMATED)}
            check = from_plain(cls, {**result, **matrices, "scores": scores})
            check = replace(check, scores_key=scores_key_of(run))
            check._refuse_impossible()
            return replace(check, folder=own_place(run.paths[SCORES]).parent.resolve())
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            path = own_place(run.paths[SCORES].with_name(RESULT))
            raise TableError(f"{path} is incomplete. Check again with force=True.") from error

    def _refuse_impossible(self) -> None:
        """Raise an error if the numbers in a record contradict each other."""
        self._refuse_impossible_counts()
        tally, n_classes = self.tally, len(self.classes)
        pairs = zip(tally.n_suspects_by_label, tally.n_labels, strict=True)
        matrices = self.noise_matrix, self.estimated_matrix
        possible = (
            len(tally.n_labels) == n_classes > 2
            and all(0 <= n_suspects <= n for n_suspects, n in pairs)
            and 0 <= self.n_doubted <= self.n_rows
            and all(tuple(one.classes.tolist()) == self.classes for one in matrices)
            and all(one.intervals is not None for one in matrices)
        )
        if not possible:
            raise ValueError(
                "expected one row of numbers per label, and no more suspects than rows"
            )
        for name, found in {"": self.wrong_share_interval, **self.error_rates}.items():
            if not 0 <= found.low <= found.estimate <= found.high <= 1:
                raise ValueError(f"expected a range that holds its estimate {name!r}")
