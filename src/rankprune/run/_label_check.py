"""The record of one check: its settings, its results, and the scores of every row.

A run directory stores it as ``result.json`` and ``scores.parquet``. Report and review read these
files and recompute nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankprune.audit import AuditSample
from rankprune.core import Interval, NoiseRateIntervals, NoiseRates, Verdict
from rankprune.core._random import RandomState
from rankprune.core._ranking import Stretch
from rankprune.diagnostics import Calibration, SeparabilityCurve
from rankprune.exceptions import TableError
from rankprune.run._answers_sentences import answers_lines
from rankprune.run._audited_check import settle
from rankprune.run._directory import (
    REPORT,
    RESULT,
    SCHEMA,
    SCORES,
    Content,
    RunFiles,
    open_run,
    own_place,
    replace_files,
    save_run,
)
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
from rankprune.run._first_release import as_now
from rankprune.run._judged_rows import (
    PLANNED_SIZES,
    JudgedRows,
    Method,
    draw_audit,
    planned_audit,
)
from rankprune.run._repeated_answers import RepeatedAnswers
from rankprune.run._scores import (
    SavedScores,
    Scores,
    Tally,
    reason_for,
    write_scores,
)
from rankprune.run._sentences import summary_lines
from rankprune.run._settings import CheckSettings
from rankprune.storage._json_records import from_plain, to_plain
from rankprune.table._write import write_errors

if TYPE_CHECKING:
    from rankprune.annotators import Answers
    from rankprune.run._reviewers_answers import Settling

# Rates at the top level of result.json, where scripts expect them.
_TOP = (
    "positive_noise_rate",
    "negative_noise_rate",
    "positive_label_error_rate",
    "negative_label_error_rate",
    "observed_prevalence",
    "estimated_prevalence",
)


@dataclass(frozen=True)
class LabelCheck:
    """The result of a check: how many labels are wrong, which ones, and how certain that is.

    Returned by `check_labels`, `check_table` and `check_answers`; saved to and loaded from a run
    directory.

    Attributes
    ----------
    positive, negative : str
        The two labels, as text.
    verdict : Verdict
        Clean, noise found, or cannot tell, with the reasons.
    noise_rates : NoiseRates
        The answer: the estimated rates, or zero noise if the verdict is clean, with their
        intervals. All rates that are shown or printed come from here.
    estimated_rates : NoiseRates
        The estimated rates, whatever the verdict.
    separability, calibration, histogram, confident
        Data for the plots and tables of the report.
    positive_cutoff, negative_cutoff : float or None
        Cut-off of each label: the probability of its least suspicious suspect, None if there are
        no suspects with that label.
    out_of_fold : bool
        Whether the check computed the probabilities, with models that did not see the row; False
        if probabilities were passed.
    n_groups : int or None
        Number of groups, which are never split between folds.
    duplicates : Duplicates or None
        Numbers of exact copies; None if there were no features to compare.
    subgroups : tuple of Subgroup
    candidates : tuple of CandidateRow
        The most suspicious rows, at most 500, in order of suspicion.
    columns : tuple of str
        Names of the columns whose cells are stored with the candidates.
    before_after : BeforeAfter or None
        Comparison of models on trusted rows, if possible.
    notes, warnings : tuple of str
        Decisions about columns and labels, and problems that affect the result.
    source : Source
    settings : CheckSettings
        The arguments of the check; ``str(settings)`` is the command that repeats it.
    versions : dict of str to str
        Versions of Python and of the packages used.
    tally : Tally
        Numbers of rows and suspects by label.
    scores : Scores or SavedScores
        Scores of every row; read from a file when first needed, if they are not in memory.
    stability : Stability or None
        How many suspects stay if the rows are scored again, with other folds and seeds; None if
        nothing was fitted, or if that was not measured because of its cost.
    n_candidates : int
        Number of rows on the list to look at. It goes up to the upper end of the range of wrong
        labels, whatever the verdict; the suspects come first.
    stretches : tuple of Stretch
        The list in parts, with the expected number of wrong labels in each.
    judged : JudgedRows or None
        The rows that people judged for an audit; `noise_rates` and all that follows from them are
        then those of model and answers together. None if there are none.
    scores_key : str
        SHA-256 of the file of scores before any row was judged; empty if the check was not loaded.
    repeated_answers : RepeatedAnswers or None
        What the answers of several annotators say, if they gave the labels.
    folder : Path or None
        The run directory that the check was loaded from, or saved to last; not part of the record.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from rankprune import LabelCheck, check_labels
    >>> labels = np.repeat([0, 1], 100)
    >>> check = check_labels(None, labels, probabilities=0.1 + 0.8 * labels)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = LabelCheck.load(check.save(folder))
    >>> print(str(again).splitlines()[0])
    Your labels look clean: at most 0.2% are wrong.
    """

    positive: str
    negative: str
    verdict: Verdict
    noise_rates: NoiseRates
    estimated_rates: NoiseRates
    separability: SeparabilityCurve
    calibration: Calibration
    histogram: Histogram
    confident: Confident
    positive_cutoff: float | None
    negative_cutoff: float | None
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
    tally: Tally
    scores: Scores | SavedScores
    stability: Stability | None = None
    n_candidates: int = 0
    stretches: tuple[Stretch, ...] = ()
    judged: JudgedRows | None = None
    scores_key: str = ""
    repeated_answers: RepeatedAnswers | None = None
    folder: Path | None = field(default=None, compare=False, repr=False)

    @property
    def intervals(self) -> NoiseRateIntervals:
        """Return the 95 % intervals of the truth around ``noise_rates``."""
        assert self.noise_rates.intervals is not None  # estimated rates have some
        return self.noise_rates.intervals

    @property
    def n_rows(self) -> int:
        """Return the number of labeled rows."""
        return self.tally.n_positive + self.tally.n_negative

    @property
    def n_suspects(self) -> int:
        """Return the number of suspects, rows whose label is likely wrong."""
        return self.tally.n_positive_suspects + self.tally.n_negative_suspects

    @property
    def wrong_share(self) -> float:
        """Return the estimated share of all labels that are wrong."""
        return self.noise_rates.wrong_share

    @property
    def wrong_share_interval(self) -> Interval:
        """Return that share with its 95 % range."""
        return self.intervals.wrong_share

    @property
    def suspects(self) -> tuple[CandidateRow, ...]:
        """Return the suspects among ``candidates``."""
        return tuple(row for row in self.candidates if row.is_suspect)

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
    ) -> LabelCheck:
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
        LabelCheck
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

    def ranked(self) -> Iterator[CandidateRow]:
        """Yield every row on the list to look at, most suspicious first, without its cells."""
        scores = self.scores
        ids = None if self.settings.hides(self.settings.id) else scores.ids
        for place in self._places_up_to(self.n_candidates).tolist():
            is_positive = bool(scores.is_positive[place])
            probability = float(scores.probability[place])
            label = self.positive if is_positive else self.negative
            sure = probability if is_positive else 1 - probability
            yield CandidateRow(
                rank=int(scores.rank[place]),
                row=int(scores.rows[place]),
                index=None if scores.index is None else str(scores.index[place]),
                id=None if ids is None else str(ids[place]),
                label=label,
                probability=probability,
                reason=reason_for(label, sure, self.out_of_fold),
                is_suspect=bool(scores.suspect[place]),
            )

    def to_dict(self) -> dict[str, Any]:
        """Return everything except the scores of the rows, as JSON-compatible values."""
        rates = {name: getattr(self.noise_rates, name) for name in _TOP}
        top = {
            "schema": SCHEMA,
            "verdict_level": self.verdict.level,
            **rates,
            "wrong_share": self.wrong_share,
            "wrong_share_low": self.wrong_share_interval.low,
            "wrong_share_high": self.wrong_share_interval.high,
            "n_rows": self.n_rows,
            "n_suspects": self.n_suspects,
        }
        rest = {one.name: getattr(self, one.name) for one in fields(self)}
        del rest["scores"], rest["folder"]
        if self.judged is None:
            # Then it is the hash of the file beside it.
            del rest["scores_key"]
        rest["intervals"] = self.intervals
        return {**top, **to_plain(rest)}

    def __str__(self) -> str:
        return "\n".join([*summary_lines(self), *answers_lines(self)])

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
        files: dict[str, Content] = {SCORES: self._write_scores}
        if report is not None:
            files[REPORT] = report.encode()
        save_run(place, self.to_dict(), files, force=force)
        # Where the record lies is no part of it, so a frozen record may learn it.
        object.__setattr__(self, "folder", place.resolve())
        return place

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
        >>> from rankprune import LabelCheck
        >>> from rankprune.annotators import consensus
        >>> check = LabelCheck.load("people.csv.rankprune")  # doctest: +SKIP
        >>> print(consensus(check.answers()))  # doctest: +SKIP
        """
        from rankprune.run._reviewers_answers import reviewers_answers

        if self.folder is None:
            raise TableError(
                "Only a check with a run directory has answers of reviewers. Save this one, let "
                "people review it, and load it again."
            )
        return reviewers_answers(self, self.folder, table, settling=settling)

    def _write_scores(self, path: Path) -> None:
        with write_errors(path):
            if isinstance(self.scores, SavedScores):
                self.scores.copy_to(path)
            else:
                names = (self.positive, self.negative)
                n_rows, unseen = self.source.n_rows, self.out_of_fold
                write_scores(
                    path,
                    self.scores,
                    names,
                    n_rows,
                    out_of_fold=unseen,
                    n_listed=self.n_candidates,
                )

    @classmethod
    def load(cls, folder: Any) -> LabelCheck:
        """Return the check saved in a run directory."""
        return cls.of(open_run(Path(folder)))

    @classmethod
    def of(cls, run: RunFiles) -> LabelCheck:
        """Return the check of a run that was opened."""
        try:
            with_ids = run.result["settings"].get("id") is not None
            n_rows = run.result["source"]["n_rows"]
            scores = SavedScores(run.paths[SCORES], with_ids, run.hashes[SCORES], n_rows)
            check = from_plain(cls, {**as_now(run.result), "scores": scores})
            check = replace(check, scores_key=scores_key_of(run))
            _refuse_impossible(check)
            return replace(check, folder=own_place(run.paths[SCORES]).parent.resolve())
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            path = own_place(run.paths[SCORES].with_name(RESULT))
            raise TableError(f"{path} is incomplete. Check again with force=True.") from error


def replace_check(
    folder: Path,
    run: RunFiles,
    check: LabelCheck,
    files: Mapping[str, Content],
    *,
    without: tuple[str, ...],
) -> None:
    """Replace the check in a run directory, together with some files; the others stay.

    Parameters
    ----------
    folder, run, files, without
        As in `replace_files`.
    check : LabelCheck
    """
    files = {**files, SCORES: check._write_scores}
    replace_files(folder, run, files, result=check.to_dict(), without=without)


def scores_key_of(run: RunFiles) -> str:
    """Return the SHA-256 of the file of scores before any row of a run was judged."""
    return str(run.result.get("scores_key") or run.hashes[SCORES])


def _refuse_impossible(check: LabelCheck) -> None:
    """Raise an error if the numbers in a record contradict each other."""
    tally = check.tally
    possible = (
        0 <= tally.n_positive_suspects <= tally.n_positive
        and 0 <= tally.n_negative_suspects <= tally.n_negative
        and check.n_suspects <= check.n_candidates <= check.n_rows <= check.source.n_rows
        and check.n_rows > 0
        and check.noise_rates.intervals is not None
        and check.estimated_rates.intervals is not None
    )
    if not possible:
        raise ValueError("expected as many rows as labels, and as many labels as suspects, or more")
    bands: list[tuple[Any, Any]] = [(check.calibration.share_positive, check.calibration)]
    bands += [(side.noise_rate, side) for side in vars(check.separability).values()]
    bands += [(one.estimate, one) for _, one in check.intervals.items()]
    for inside, band in bands:
        if not np.all((band.low <= inside) & (inside <= band.high)):
            raise ValueError("expected intervals and bands that hold their estimates")
