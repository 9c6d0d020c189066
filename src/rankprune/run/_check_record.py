"""What the records of all checks share, of two labels or of many: lists, files, folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankprune.audit import AuditSample
from rankprune.core import Interval
from rankprune.core._random import RandomState
from rankprune.core._ranking import Stretch
from rankprune.exceptions import TableError
from rankprune.run._audit_draws import draw_audit, planned_audit
from rankprune.run._audited_check import settle
from rankprune.run._directory import (
    REPORT,
    SCHEMA,
    SCORES,
    Content,
    RunFiles,
    replace_files,
    save_run,
)
from rankprune.run._findings import (
    BeforeAfter,
    CandidateRow,
    Duplicates,
    Source,
    Stability,
    Subgroup,
)
from rankprune.run._judged_rows import PLANNED_SIZES, Method
from rankprune.run._settings import CheckSettings
from rankprune.table._write import write_errors

if TYPE_CHECKING:
    from rankprune.annotators import Answers
    from rankprune.run._reviewers_answers import Settling


class CheckRecord:
    """A check of labels: how many are wrong, which ones, and how certain that is.

    `LabelCheck` is the one of two labels, `ClassCheck` the one of many. They describe what they
    share.
    """

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
    stability: Stability | None
    n_candidates: int
    stretches: tuple[Stretch, ...]
    scores_key: str
    folder: Path | None
    # Each record has its own kind of these.
    verdict: Any
    tally: Any
    scores: Any
    judged: Any
    intervals: Any
    estimated_intervals: Any

    if TYPE_CHECKING:
        # Fields of one record and properties of the other.
        @property
        def classes(self) -> tuple[str, ...]:
            """Return the labels as text."""

        @property
        def n_doubted(self) -> int:
            """Return the number of rows whose labels may be wrong: all that are not trusted."""

    @property
    def given_codes(self) -> NDArray[np.intp]:
        """Return the number of the given label of each labeled row, its place in ``classes``."""
        raise NotImplementedError

    @property
    def wrong_share(self) -> float:
        """Return the estimated share of all labels that are wrong."""
        raise NotImplementedError

    @property
    def error_rates(self) -> dict[str, Interval]:
        """Return the share of wrong labels among those of each value, with its 95 % range."""
        raise NotImplementedError

    @property
    def says_something(self) -> bool:
        """Return whether the scores say anything about wrong labels, however little."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return everything except the scores of the rows, as JSON-compatible values."""
        raise NotImplementedError

    def ranked(self) -> Iterator[CandidateRow]:
        """Yield every row on the list to look at, most suspicious first, without its cells."""
        raise NotImplementedError

    def _write_scores(self, path: Path) -> None:
        """Write the scores of all rows to a file."""
        raise NotImplementedError

    @property
    def wrong_share_interval(self) -> Interval:
        """Return the share of all labels that are wrong with its 95 % range."""
        found: Interval = self.intervals.wrong_share
        return found

    @property
    def n_rows(self) -> int:
        """Return the number of labeled rows."""
        n: int = self.tally.n_rows
        return n

    @property
    def n_suspects(self) -> int:
        """Return the number of suspects, rows whose label is likely wrong."""
        n: int = self.tally.n_suspects
        return n

    @property
    def suspects(self) -> tuple[CandidateRow, ...]:
        """Return the suspects among ``candidates``."""
        return tuple(row for row in self.candidates if row.is_suspect)

    def suspect_rows(self) -> NDArray[np.intp]:
        """Return the positions of all suspects in the table, the most suspicious first."""
        return self._rows_up_to(self.n_suspects)

    def candidate_rows(self) -> NDArray[np.intp]:
        """Return the positions of all rows on the list to look at, the most suspicious first."""
        return self._rows_up_to(self.n_candidates)

    def _rows_up_to(self, rank: int) -> NDArray[np.intp]:
        found: NDArray[np.intp] = self.scores.rows[self._places_up_to(rank)]
        return found

    def _places_up_to(self, rank: int) -> NDArray[np.intp]:
        """Return where the rows up to a rank are among the scores, by rank."""
        ranks = self.scores.rank
        listed = np.flatnonzero((ranks > 0) & (ranks <= rank))
        return np.asarray(listed[np.argsort(ranks[listed])])

    def _id(self, place: int) -> str | None:
        """Return the cell that identifies a row, given its place among the scores."""
        ids = None if self.settings.hides(self.settings.id) else self.scores.ids
        return None if ids is None else str(ids[place])

    def _index(self, place: int) -> str | None:
        """Return the label of a row in the index of a data frame."""
        return None if self.scores.index is None else str(self.scores.index[place])

    def _answer(self, **rates: Any) -> dict[str, Any]:
        """Return the top level of ``result.json``, where scripts expect the answer."""
        return {
            "schema": SCHEMA,
            "verdict_level": self.verdict.level,
            **rates,
            "wrong_share": self.wrong_share,
            "wrong_share_low": self.wrong_share_interval.low,
            "wrong_share_high": self.wrong_share_interval.high,
            "n_rows": self.n_rows,
            "n_suspects": self.n_suspects,
        }

    def _refuse_impossible_counts(self) -> None:
        """Raise an error if the numbers of rows contradict each other."""
        counts = (0, self.n_suspects, self.n_candidates, self.n_rows, self.source.n_rows)
        if self.n_rows == 0 or list(counts) != sorted(counts):
            raise ValueError(
                "expected as many rows as labels, and as many labels as suspects, or more"
            )

    def save(self, folder: Any, *, force: bool = False, report: str | None = None) -> Path:
        """Write a run directory, and return its path.

        It holds ``scores.parquet``, ``result.json``, and ``report.html`` if a report is passed.

        Parameters
        ----------
        folder : path
            Created if it does not exist.
        force : bool, default=False
            Replace an earlier run in the folder.
        report : str, default=None
            The report as HTML, from `rankprune.report.render_report`.
        """
        place = Path(folder)
        files: dict[str, Content] = {SCORES: self.write_scores}
        if report is not None:
            files[REPORT] = report.encode()
        save_run(place, self.to_dict(), files, force=force)
        # Where the record lies is no part of it, so a frozen record may learn it.
        object.__setattr__(self, "folder", place.resolve())
        return place

    def write_scores(self, path: Path) -> None:
        """Write the scores of all rows to a Parquet file."""
        with write_errors(path):
            self._write_scores(path)

    def draw_audit(
        self,
        n: int = 25,
        *,
        about: Any = None,
        method: Method = "model",
        random_state: RandomState = None,
    ) -> AuditSample:
        """Return rows for a person to judge without seeing label or score.

        They are drawn where answers narrow the range fastest, some of them always from the least
        suspicious rows. Rows that were judged before are not drawn again.

        Parameters
        ----------
        n : int, default=25
            Number of rows.
        about : default=None
            A label, if the share of wrong labels among those of this value is to be narrowed; by
            default the share of all labels.
        method : {"model", "design"}, default="model"
            With ``"design"``, all rows are drawn at once, for limits that hold whatever the model
            believes; pass the same method to `settle`.
        random_state : int, Generator, RandomState or None, default=None
            Decides which rows are drawn and in which order.

        Returns
        -------
        AuditSample
            ``sample.rows`` are positions in the table.

        Examples
        --------
        >>> from sklearn.datasets import make_classification
        >>> from rankprune import check_labels, flip_labels
        >>> X, truth = make_classification(2000, class_sep=1.5, random_state=0)
        >>> y = flip_labels(truth, positive_noise_rate=0.1, negative_noise_rate=0.1, random_state=0)
        >>> check = check_labels(X, y, scorer=None)
        >>> sample = check.draw_audit(25, random_state=0)
        >>> settled = check.settle(sample, truth[sample.rows])
        >>> before, after = check.wrong_share_interval, settled.wrong_share_interval
        >>> after.high - after.low < before.high - before.low
        True
        """
        return draw_audit(self, n, about=about, method=method, random_state=random_state)

    def settle(
        self,
        rows: AuditSample | ArrayLike,
        answers: Iterable[Any],
        *,
        method: Method = "model",
    ) -> Self:
        """Return the check with the answers about rows that `draw_audit` drew.

        Parameters
        ----------
        rows : AuditSample or array-like of int
            The sample, or its rows. They must come from `draw_audit`; rows that were chosen
            otherwise belong in ``trusted``.
        answers : iterable
            The right label of each row, in your own values; None if the person was unsure.
        method : {"model", "design"}, default="model"
            With ``"model"``, model and answers together give the rates. Where they contradict each
            other, and with ``"design"``, the answers alone do.

        Returns
        -------
        LabelCheck or ClassCheck
            Its rates, range, verdict and suspects are the audited ones. ``judged`` remembers the
            rows, which are no suspects and no candidates any more; answers of earlier calls count
            too, and the same answer counts once.
        """
        return settle(self, rows, answers, method)

    def planned_audit(
        self, sizes: Sequence[int] = PLANNED_SIZES, *, about: Any = None
    ) -> dict[int, dict[str, float]]:
        """Return the expected width of the range after so many more rows are judged.

        Parameters
        ----------
        sizes : sequence of int, default=(25, 50, 100, 200)
            Numbers of rows; those above the number of rows that are left are left out.
        about : default=None
            As in `draw_audit`.

        Returns
        -------
        dict of int to dict
            For each number, the width with ``"model"`` and with ``"design"``.
        """
        return planned_audit(self, sizes, about=about)

    def answers(self, table: Any = None, *, settling: Settling = "leave out") -> Answers:
        """Return the answers of the reviewers of this run, for `rankprune.annotators`.

        Reviewers are the annotators, and rows are positions in the table. Of several answers of a
        reviewer about a row the last one counts, and an unsure one is a missing label. Answers
        that were undone, or are about rows that have changed since, are left out.

        Parameters
        ----------
        table : path or data frame, default=None
            The checked table, if it is no longer at its original path.
        settling : {"leave out", "count"}, default="leave out"
            What to do with answers that settle a disagreement, which were given with knowledge of
            the others, and so are no independent witness. If left out, the reviewer's own earlier
            answer about the row counts, if there is one.

        Returns
        -------
        Answers
            About the judged rows.

        Examples
        --------
        >>> from rankprune import load_check
        >>> from rankprune.annotators import consensus
        >>> check = load_check("people.csv.rankprune")  # doctest: +SKIP
        >>> print(consensus(check.answers()))  # doctest: +SKIP
        """
        from rankprune.run._reviewers_answers import reviewers_answers

        if self.folder is None:
            raise TableError(
                "Only a check with a run directory has answers of reviewers. Save this one, let "
                "people review it, and load it again."
            )
        return reviewers_answers(self, self.folder, table, settling=settling)


def scores_key_of(run: RunFiles) -> str:
    """Return the SHA-256 of the file of scores before any row of a run was judged."""
    return str(run.result.get("scores_key") or run.hashes[SCORES])


def replace_check(
    folder: Path,
    run: RunFiles,
    check: CheckRecord,
    files: Mapping[str, Content],
    *,
    without: tuple[str, ...],
) -> None:
    """Replace the check in a run directory, together with some files; the others stay.

    Parameters
    ----------
    folder, run, files, without
        As in `replace_files`.
    check : CheckRecord
    """
    files = {**files, SCORES: check.write_scores}
    replace_files(folder, run, files, result=check.to_dict(), without=without)
