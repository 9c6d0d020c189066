"""The record of one check: what was asked, what was found, and the scores of every row.

A run directory holds it as ``result.json`` and ``scores.parquet``; report and review read that,
and compute nothing again.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune._files import (
    refuse_existing_file,
    refuse_same_file,
    refuse_unwritable,
    whole_file,
    write_whole,
)
from rankprune._plain import from_plain, to_plain
from rankprune._run_scores import SavedScores, Scores, Tally, reason_for, write_scores
from rankprune.core import ConfidentCounts, NoiseRateIntervals, NoiseRates, Verdict
from rankprune.diagnostics import Calibration, SeparabilityCurve
from rankprune.exceptions import TableError
from rankprune.tables import write_errors

SCHEMA = 1
RESULT, SCORES, REPORT = "result.json", "scores.parquet", "report.html"
# The files of a run directory that no other output may take the place of.
KEPT = (RESULT, SCORES, "review.sqlite", "audit.json")
# The rates that stand at the top of result.json, where scripts look for them.
_TOP = (
    "positive_noise_rate",
    "negative_noise_rate",
    "positive_label_error_rate",
    "negative_label_error_rate",
    "observed_prevalence",
    "estimated_prevalence",
)


@dataclass(frozen=True)
class Source:
    """Where the rows came from.

    Attributes
    ----------
    name : str
        What to call it: a file's name, ``stdin``, ``data frame`` or ``arrays``.
    path : str or None
        Of the file.
    sha256 : str or None
        Of the file's bytes.
    n_rows, n_columns : int
    """

    name: str
    path: str | None
    sha256: str | None
    n_rows: int
    n_columns: int


@dataclass(frozen=True)
class Histogram:
    """Rows by their probability, in bins of equal width from 0 to 1, for each given label."""

    positive: NDArray[np.float64]
    negative: NDArray[np.float64]


@dataclass(frozen=True)
class Confident:
    """The paper's four confident sets and the thresholds that bound them."""

    positive_threshold: float
    negative_threshold: float
    counts: ConfidentCounts

    @classmethod
    def of(cls, rates: NoiseRates) -> Confident:
        """Return what the paper's estimator found on the way to its rates."""
        assert rates.counts is not None  # this estimator has them
        return cls(
            float(rates.positive_threshold or 0.0),
            float(rates.negative_threshold or 0.0),
            rates.counts,
        )


@dataclass(frozen=True)
class Duplicates:
    """Rows that another row repeats in every feature.

    Attributes
    ----------
    n_rows : int
    n_straddling : int
        Those with a copy in another fold, which a model may know by heart.
    n_contradicting : int
        Those with a copy that carries the other label: one of the two is wrong, or the features
        do not decide the label.
    """

    n_rows: int
    n_straddling: int
    n_contradicting: int


@dataclass(frozen=True)
class Subgroup:
    """Suspects among the rows that share a value.

    Attributes
    ----------
    column, value : str
    n_rows, n_suspects : int
    stands_out : bool
        Whether its share of suspects differs from that of all rows by more than chance.
    """

    column: str
    value: str
    n_rows: int
    n_suspects: int
    stands_out: bool


@dataclass(frozen=True)
class SuspectRow:
    """A row whose label is likely wrong, as it is shown to people.

    Attributes
    ----------
    row : int
        Its number in the table, from 1.
    id : str or None
    label : str
        As given.
    probability : float
        Of the positive label, by models that did not see the row.
    reason : str
    cells : tuple of str or None
        Some of its cells, cut where they are long.
    """

    row: int
    id: str | None
    label: str
    probability: float
    reason: str
    cells: tuple[str | None, ...]


@dataclass(frozen=True)
class BeforeAfter:
    """Errors on trusted labels of a plain fit and of Rank Pruning, each out of fold.

    Attributes
    ----------
    n_rows : int
        Trusted rows that were judged.
    before, after : float
        Share of them that each model gets wrong.
    low, high : float
        95 % interval of the difference after - before.
    """

    n_rows: int
    before: float
    after: float
    low: float
    high: float


@dataclass(frozen=True)
class LabelCheck:
    """What is wrong with the labels of a table: how many, which, and how sure that is.

    Made by `check_labels` and `check_table`, saved to and loaded from a run directory.

    Attributes
    ----------
    positive, negative : str
        What the two labels are called.
    verdict : Verdict
        Clean, noise found, or cannot tell, with the reasons.
    noise_rates : NoiseRates
        Those that the suspects follow from; without noise where the verdict is clean.
    estimated_rates : NoiseRates
        As estimated, whatever the verdict.
    intervals : NoiseRateIntervals
        Around the estimate.
    separability, calibration, histogram, confident
        What the report draws.
    positive_cutoff, negative_cutoff : float or None
        Probabilities at which suspects begin.
    out_of_fold : bool
        Whether the probabilities were computed here, by models that did not see the row; False
        where they were given.
    n_groups : int or None
        Groups that no fold splits.
    duplicates : Duplicates or None
        None where no features were looked at.
    subgroups : tuple of Subgroup
    suspects : tuple of SuspectRow
        The most suspicious first, some hundreds at most.
    columns : tuple of str
        Of the cells of suspects.
    before_after : BeforeAfter or None
        Where rows were trusted.
    notes, warnings : tuple of str
        What was decided about the columns, and what to beware of.
    source : Source
    settings : dict
        What was asked for, enough to do it again.
    versions : dict of str to str
    tally : Tally
    scores : Scores or SavedScores
        Of each row; in a file, until they are asked for, where there are very many.

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
    Your labels look clean: what is wrong with them, if anything, is too little to see.
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
    settings: dict[str, Any]
    versions: dict[str, str]
    tally: Tally
    scores: Scores | SavedScores

    @property
    def n_rows(self) -> int:
        """Return the number of rows with a label."""
        return self.tally.n_positive + self.tally.n_negative

    @property
    def n_suspects(self) -> int:
        """Return the number of labels that are likely wrong."""
        return self.tally.n_positive_suspects + self.tally.n_negative_suspects

    @property
    def wrong_share(self) -> float:
        """Return the share of labels that are wrong, by the rates that the suspects follow from."""
        return self.noise_rates.wrong_share

    def suspect_rows(self) -> NDArray[np.intp]:
        """Return the positions of all suspects in the table, the most suspicious first."""
        scores = self.scores
        ranked = np.flatnonzero(scores.rank)
        found: NDArray[np.intp] = scores.rows[ranked[np.argsort(scores.rank[ranked])]]
        return found

    def ranked(self) -> Iterator[tuple[int, int, str, str, float, str]]:
        """Yield rank, row number, name, label, probability and reason of every suspect."""
        scores = self.scores
        is_hidden = self.settings.get("id") in self.settings.get("redact", ())
        ids = None if is_hidden else scores.ids
        ranked = np.flatnonzero(scores.rank)
        for place in ranked[np.argsort(scores.rank[ranked])].tolist():
            row, is_positive = int(scores.rows[place]) + 1, bool(scores.is_positive[place])
            probability = float(scores.probability[place])
            label = self.positive if is_positive else self.negative
            sure = probability if is_positive else 1 - probability
            name = str(row) if ids is None else str(ids[place])
            reason = reason_for(label, sure, self.out_of_fold)
            yield int(scores.rank[place]), row, name, label, probability, reason

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the scores of the rows, as values that JSON can hold."""
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
        """Write the run directory: ``scores.parquet``, the report if there is one, ``result.json``.

        Parameters
        ----------
        folder : path
            Made where it does not exist.
        force : bool, default=False
            Replace an earlier run there.
        report : str, default=None
            The page, as `rankprune.report.render_report` makes it.
        """
        place = Path(folder)
        refuse_existing(place, force)
        place.mkdir(parents=True, exist_ok=True)
        with whole_file(place / SCORES) as part, write_errors(place / SCORES):
            if isinstance(self.scores, SavedScores):
                shutil.copyfile(self.scores.path, part)
            else:
                names = (self.positive, self.negative)
                n_rows, unseen = self.source.n_rows, self.out_of_fold
                write_scores(part, self.scores, names, n_rows, out_of_fold=unseen)
            written = file_sha256(part)
        if report is not None:
            write_whole(place / REPORT, report.encode())
        # Last, so that a run cut short is noticed: it names the scores that belong to it.
        result = {**self.to_dict(), "scores_sha256": written}
        text = json.dumps(result, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        write_whole(place / RESULT, text.encode())
        return place

    @classmethod
    def load(cls, folder: Any) -> LabelCheck:
        """Return the check that was saved to a run directory."""
        folder = Path(folder)
        path = folder / RESULT
        if not path.is_file():
            raise TableError(
                f"RUN must be a run directory, but {folder} holds no {RESULT}. Run: rankprune "
                "check TABLE --label COLUMN"
            )
        try:
            result = json.loads(path.read_text(encoding="utf-8"))
            schema, written = result["schema"], result["scores_sha256"]
            with_ids = result["settings"].get("id") is not None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise TableError(f"{path} is not a result of rankprune. Check again.") from error
        if schema != SCHEMA:
            raise TableError(
                f"{path} has schema {schema}, and this version reads {SCHEMA}. Check again with "
                "this version, or use the one that wrote it."
            )
        scores = folder / SCORES
        if not scores.is_file() or file_sha256(scores) != written:
            raise TableError(
                f"{scores} does not belong to {path}: the run was cut short, or a file was "
                "changed. Check again with --force."
            )
        try:
            return from_plain(cls, {**result, "scores": SavedScores(scores, with_ids)})
        except (KeyError, TypeError, ValueError) as error:
            raise TableError(f"{path} is not a whole result. Check again with --force.") from error


def headline(check: LabelCheck) -> str:
    """Return the verdict as one sentence for people who do not know the method."""
    level, rates = check.verdict.level, check.noise_rates
    if level == "clean":
        return "Your labels look clean: what is wrong with them, if anything, is too little to see."
    if level == "cannot tell":
        return (
            "It cannot be told from this data whether labels are wrong: a better model, or people "
            "who look at a random sample of rows, would decide it."
        )
    return (
        f"About {_about(rates.wrong_share)} of your labels are wrong: "
        f"{_about(rates.positive_label_error_rate)} of those that say {check.positive!r} and "
        f"{_about(rates.negative_label_error_rate)} of those that say {check.negative!r}."
    )


def _about(share: float) -> str:
    return f"{share:.0%}" if share >= 0.1 or share == 0 else f"{share:.1%}"


def summary_lines(check: LabelCheck) -> list[str]:
    """Return the answer in a few lines of text."""
    found = check.intervals
    names = (
        (f"labels {check.positive!r} that are wrong", found.positive_label_error_rate),
        (f"labels {check.negative!r} that are wrong", found.negative_label_error_rate),
        (f"true {check.positive!r} labeled {check.negative!r}", found.positive_noise_rate),
        (f"true {check.negative!r} labeled {check.positive!r}", found.negative_noise_rate),
    )
    width = max(len(name) for name, _ in names)
    lines = [headline(check), ""]
    lines += [f"  {name:<{width}}  {interval}" for name, interval in names]
    lines += ["", f"{check.n_suspects} of {check.n_rows} rows are suspects."]
    lines += [f"- {reason}" for reason in check.verdict.reasons]
    return lines


def check_place(folder: Path, force: bool, *inputs: Path | None) -> None:
    """Raise an error where a run could not be saved, before anything is computed for it."""
    refuse_existing(folder, force)
    for name in (RESULT, SCORES, REPORT):
        refuse_same_file(folder / name, *inputs)
    refuse_unwritable(folder)


def refuse_output(output: Path, force: bool, *inputs: Path | None) -> None:
    """Raise an error where a file could not be written, or would destroy what is read or kept.

    A run directory keeps what cannot be made again, so nothing else is written over its files.
    """
    refuse_existing_file(output, force)
    refuse_same_file(output, *inputs)
    if output.name in KEPT and (output.parent / RESULT).exists():
        raise ValueError(f"{output} belongs to a run directory. Choose another name with -o.")
    refuse_unwritable(output.parent)


def refuse_existing(folder: Path, force: bool) -> None:
    """Raise an error where a run would be replaced without having been asked to."""
    if folder.exists() and not folder.is_dir():
        raise TableError(f"{folder} is a file. Choose another place with -o.")
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    # What a killed process left unfinished.
    names = {name for name in names if not name.endswith(".part")}
    if not names:
        return
    if not names & {RESULT, SCORES} or (RESULT not in names and names - {SCORES, REPORT}):
        raise TableError(
            f"{folder} holds files that are no run of rankprune. Choose another place with -o."
        )
    if not force:
        raise TableError(f"{folder} holds an earlier run. Replace it with --force, or choose -o.")


def file_sha256(path: Path) -> str:
    """Return the hash that a file is known by."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
