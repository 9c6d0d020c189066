"""The record of one check: its settings, its results, and the scores of every row.

A run directory stores it as ``result.json`` and ``scores.parquet``. Report and review read these
files and recompute nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune.core import NoiseRateIntervals, NoiseRates, Verdict
from rankprune.diagnostics import Calibration, SeparabilityCurve
from rankprune.exceptions import TableError
from rankprune.run._directory import (
    REPORT,
    RESULT,
    SCHEMA,
    SCORES,
    Content,
    RunFiles,
    open_run,
    own_place,
    save_run,
)
from rankprune.run._findings import (
    BeforeAfter,
    Confident,
    Duplicates,
    Histogram,
    Source,
    Stability,
    Subgroup,
    SuspectRow,
)
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

    Returned by `check_labels` and `check_table`; saved to and loaded from a run directory.

    Attributes
    ----------
    positive, negative : str
        The two labels, as text.
    verdict : Verdict
        Clean, noise found, or cannot tell, with the reasons.
    noise_rates : NoiseRates
        The answer: the estimated rates, or zero noise if the verdict is clean. All rates that are
        shown or printed come from here and from ``intervals``.
    estimated_rates : NoiseRates
        The estimated rates, whatever the verdict.
    intervals : NoiseRateIntervals
        Intervals around ``noise_rates``.
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
    suspects : tuple of SuspectRow
        The most suspicious rows, at most 500, in order of suspicion.
    columns : tuple of str
        Names of the columns whose cells are stored with the suspects.
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
    Your labels look clean: any wrong ones are too few to detect.
    """

    positive: str
    negative: str
    verdict: Verdict
    noise_rates: NoiseRates
    estimated_rates: NoiseRates
    intervals: NoiseRateIntervals
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
    suspects: tuple[SuspectRow, ...]
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

    def suspect_rows(self) -> NDArray[np.intp]:
        """Return the positions of all suspects in the table, the most suspicious first."""
        scores = self.scores
        ranked = np.flatnonzero(scores.rank)
        found: NDArray[np.intp] = scores.rows[ranked[np.argsort(scores.rank[ranked])]]
        return found

    def ranked(self) -> Iterator[SuspectRow]:
        """Yield every suspect, the most suspicious first, without its cells."""
        scores = self.scores
        ids = None if self.settings.hides(self.settings.id) else scores.ids
        ranked = np.flatnonzero(scores.rank)
        for place in ranked[np.argsort(scores.rank[ranked])].tolist():
            is_positive = bool(scores.is_positive[place])
            probability = float(scores.probability[place])
            label = self.positive if is_positive else self.negative
            sure = probability if is_positive else 1 - probability
            yield SuspectRow(
                rank=int(scores.rank[place]),
                row=int(scores.rows[place]),
                index=None if scores.index is None else str(scores.index[place]),
                id=None if ids is None else str(ids[place]),
                label=label,
                probability=probability,
                reason=reason_for(label, sure, self.out_of_fold),
            )

    def to_dict(self) -> dict[str, Any]:
        """Return everything except the scores of the rows, as JSON-compatible values."""
        rates = {name: getattr(self.noise_rates, name) for name in _TOP}
        top = {
            "schema": SCHEMA,
            "verdict_level": self.verdict.level,
            **rates,
            "wrong_share": self.wrong_share,
            "n_rows": self.n_rows,
            "n_suspects": self.n_suspects,
        }
        rest = {field.name: getattr(self, field.name) for field in fields(self)}
        del rest["scores"]
        return {**top, **to_plain(rest)}

    def __str__(self) -> str:
        return "\n".join(summary_lines(self))

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
        return place

    def _write_scores(self, path: Path) -> None:
        with write_errors(path):
            if isinstance(self.scores, SavedScores):
                self.scores.copy_to(path)
            else:
                names = (self.positive, self.negative)
                n_rows, unseen = self.source.n_rows, self.out_of_fold
                write_scores(path, self.scores, names, n_rows, out_of_fold=unseen)

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
            check = from_plain(cls, {**run.result, "scores": scores})
            _refuse_impossible(check)
            return check
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            path = own_place(run.paths[SCORES].with_name(RESULT))
            raise TableError(f"{path} is incomplete. Check again with force=True.") from error


def _refuse_impossible(check: LabelCheck) -> None:
    """Raise an error if the numbers in a record contradict each other."""
    tally = check.tally
    possible = (
        0 <= tally.n_positive_suspects <= tally.n_positive
        and 0 <= tally.n_negative_suspects <= tally.n_negative
        and 0 < check.n_rows <= check.source.n_rows
    )
    if not possible:
        raise ValueError("expected as many rows as labels, and as many labels as suspects, or more")
    bands: list[tuple[Any, Any]] = [(check.calibration.share_positive, check.calibration)]
    bands += [(side.noise_rate, side) for side in vars(check.separability).values()]
    bands += [(one.estimate, one) for _, one in check.intervals.items()]
    for inside, band in bands:
        if not np.all((band.low <= inside) & (inside <= band.high)):
            raise ValueError("expected intervals and bands that hold their estimates")
