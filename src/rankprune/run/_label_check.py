"""The record of one check: its settings, its results, and the scores of every row.

A run directory stores it as ``result.json`` and ``scores.parquet``. Report and review read these
files and recompute nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune.core import Interval, NoiseRateIntervals, NoiseRates, Verdict
from rankprune.core._ranking import Stretch
from rankprune.core._verdict import are_enough
from rankprune.diagnostics import Calibration, SeparabilityCurve
from rankprune.exceptions import TableError
from rankprune.run._answers_sentences import answers_lines
from rankprune.run._check_record import CheckRecord, scores_key_of
from rankprune.run._directory import MATRIX, RESULT, SCORES, RunFiles, open_run, own_place
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
from rankprune.run._judged_rows import JudgedRows
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
class LabelCheck(CheckRecord):
    """The result of a check: how many labels are wrong, which ones, and how certain that is.

    Of two labels; `ClassCheck` is that of more. Returned by `check_labels`, `check_table` and
    `check_answers`; saved to and loaded from a run directory.

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
    def classes(self) -> tuple[str, ...]:
        """Return the labels as text, the positive one last."""
        return self.negative, self.positive

    @property
    def given_codes(self) -> NDArray[np.intp]:
        """Return the number of the given label of each labeled row, its place in ``classes``."""
        return np.asarray(self.scores.is_positive, dtype=np.intp)

    @property
    def wrong_share(self) -> float:
        """Return the estimated share of all labels that are wrong."""
        return self.noise_rates.wrong_share

    @property
    def estimated_intervals(self) -> NoiseRateIntervals:
        """Return the 95 % intervals around ``estimated_rates``."""
        assert self.estimated_rates.intervals is not None
        return self.estimated_rates.intervals

    @property
    def error_rates(self) -> dict[str, Interval]:
        """Return the share of wrong labels among those of each value, with its 95 % range."""
        return {
            self.positive: self.intervals.positive_label_error_rate,
            self.negative: self.intervals.negative_label_error_rate,
        }

    @property
    def n_doubted(self) -> int:
        """Return the number of rows that are not trusted."""
        return int(self.histogram.positive.sum() + self.histogram.negative.sum())

    @property
    def says_something(self) -> bool:
        """Return whether the scores say anything about wrong labels, however little."""
        rates, tally = self.estimated_rates, self.tally
        # Without trusted rows; rates of a callable may not say of how many rows they are.
        negative = tally.n_negative if rates.n_negative is None else rates.n_negative
        positive = tally.n_positive if rates.n_positive is None else rates.n_positive
        return rates.reliable and are_enough(negative, positive)

    def ranked(self) -> Iterator[CandidateRow]:
        """Yield every row on the list to look at, most suspicious first, without its cells."""
        scores = self.scores
        for place in self._places_up_to(self.n_candidates).tolist():
            is_positive = bool(scores.is_positive[place])
            probability = float(scores.probability[place])
            label = self.positive if is_positive else self.negative
            sure = probability if is_positive else 1 - probability
            yield CandidateRow(
                rank=int(scores.rank[place]),
                row=int(scores.rows[place]),
                index=self._index(place),
                id=self._id(place),
                label=label,
                probability=probability,
                reason=reason_for(label, sure, self.out_of_fold),
                is_suspect=bool(scores.suspect[place]),
            )

    def to_dict(self) -> dict[str, Any]:
        """Return everything except the scores of the rows, as JSON-compatible values."""
        rates = {name: getattr(self.noise_rates, name) for name in _TOP}
        top = self._answer(**rates)
        rest = {one.name: getattr(self, one.name) for one in fields(self)}
        del rest["scores"], rest["folder"]
        if self.judged is None:
            # Then it is the hash of the file beside it.
            del rest["scores_key"]
        rest["intervals"] = self.intervals
        return {**top, **to_plain(rest)}

    def __str__(self) -> str:
        return "\n".join([*summary_lines(self), *answers_lines(self)])

    def _write_scores(self, path: Path) -> None:
        if isinstance(self.scores, SavedScores):
            self.scores.copy_to(path)
        else:
            write_scores(
                path,
                self.scores,
                (self.positive, self.negative),
                self.source.n_rows,
                out_of_fold=self.out_of_fold,
                n_listed=self.n_candidates,
            )

    @classmethod
    def load(cls, folder: Any) -> LabelCheck:
        """Return the check saved in a run directory; `load_check` loads one of any labels."""
        return cls.of(open_run(Path(folder)))

    @classmethod
    def of(cls, run: RunFiles) -> LabelCheck:
        """Return the check of a run that was opened."""
        if MATRIX in run.result:
            raise TableError(
                f"{own_place(run.paths[SCORES]).parent} holds a check of more than two labels. "
                "Load it with rankprune.load_check."
            )
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


def _refuse_impossible(check: LabelCheck) -> None:
    """Raise an error if the numbers in a record contradict each other."""
    check._refuse_impossible_counts()
    tally = check.tally
    possible = (
        0 <= tally.n_positive_suspects <= tally.n_positive
        and 0 <= tally.n_negative_suspects <= tally.n_negative
        and check.noise_rates.intervals is not None
        and check.estimated_rates.intervals is not None
    )
    if not possible:
        raise ValueError("expected no more suspects than labels of each value, and intervals")
    bands: list[tuple[Any, Any]] = [(check.calibration.share_positive, check.calibration)]
    bands += [(side.noise_rate, side) for side in vars(check.separability).values()]
    bands += [(one.estimate, one) for _, one in check.intervals.items()]
    for inside, band in bands:
        if not np.all((band.low <= inside) & (inside <= band.high)):
            raise ValueError("expected intervals and bands that hold their estimates")
