"""The check of a table whose rows come with probabilities, too many to be held in memory.

Labels and probabilities are copied to a file once, gone over in batches, and marked where they lie.
"""

from __future__ import annotations

import shutil
import tempfile
import warnings
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rankprune import stream
from rankprune._answer import N_BINS, curves_of, intervals_of, said_once, versions
from rankprune._column_plan import number_sql
from rankprune._label_check import SCORES, Confident, Histogram, LabelCheck, Source, SuspectRow
from rankprune._run_scores import SavedScores, Tally, copy_scores_sql
from rankprune._sql import sql_text
from rankprune._table_findings import MAX_CELL, MAX_COLUMNS, MAX_SHOWN
from rankprune._table_rows import (
    LabelNames,
    find_labels,
    named_columns,
    refuse_improbable_row,
    refuse_unnamed_row,
)
from rankprune.core import ConfidentState, Cutoff, Cutoffs, NoiseRates
from rankprune.core._histogram import ScoreHistogram
from rankprune.core._inputs import Inputs
from rankprune.core._intervals import coarser
from rankprune.core._registry import estimate_unknown_rates
from rankprune.core._verdict import judge
from rankprune.exceptions import TableError
from rankprune.tables import Table, write_errors

_EXACT = "confident-counts"


def refuse_unused(settings: dict[str, Any]) -> list[str]:
    """Return a note on options that have no effect where probabilities are given."""
    if settings["rounds"] > 1:
        raise TableError(
            f"--rounds must be 1 with --probabilities, got {settings['rounds']}: later rounds fit "
            "models. Leave one of the two out."
        )
    unused = [f"--{name}" for name in ("drop", "keep", "text", "embeddings") if settings[name]]
    return [f"Nothing was fitted, so {', '.join(unused)} had no effect."] if unused else []


def check_scored(
    table: Table,
    settings: dict[str, Any],
    source: Source,
    noise_estimator: str | Callable[..., NoiseRates],
    random_state: Any,
) -> LabelCheck:
    """Return the check of a table with probabilities; its scores stay in a file.

    Rates of the paper's estimator and all cut-offs are exact; other estimators, the intervals and
    the verdict see scores to within one part in 4,096.
    """
    labels = find_labels(
        table,
        settings["label"],
        settings["positive"],
        settings["drop_unlabeled"],
        negative=settings["negative"],
    )
    asked = {"positive": labels.positive, "negative": labels.negative, "embeddings_sha256": None}
    named = named_columns(table, settings)
    notes = (*labels.notes, *refuse_unused(settings))
    with tempfile.TemporaryDirectory(prefix="rankprune-") as working:
        rows = _Spooled(table, labels, named, Path(working) / "rows.parquet")
        bins = rows.bins()
        few = coarser(bins)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            estimated = rows.rates(noise_estimator, bins)
            verdict = judge(few, [few.probabilities], noise_estimator)
        is_clean = verdict.level == "clean"
        rates = estimated.with_known(positive=0.0, negative=0.0) if is_clean else estimated
        cutoffs = rows.cutoffs(rates)
        folder = _Folder()
        scores = folder.path / SCORES
        rows.write_scores(scores, cutoffs, rates)
        hidden = {settings["label"], *settings["redact"]}
        shown = [name for name in table.names if name not in hidden][:MAX_COLUMNS]
        return LabelCheck(
            positive=labels.positive,
            negative=labels.negative,
            verdict=verdict,
            noise_rates=rates,
            estimated_rates=estimated,
            intervals=intervals_of(few, estimated, noise_estimator, random_state),
            **curves_of(few),
            histogram=rows.histogram(),
            confident=Confident.of(rows.rates_by_counts()),
            positive_cutoff=cutoffs.values[0],
            negative_cutoff=cutoffs.values[1],
            out_of_fold=False,
            n_groups=rows.n_groups(),
            duplicates=None,
            subgroups=(),
            suspects=rows.suspects(scores, shown, "id" in named and named["id"] not in hidden),
            columns=tuple(shown),
            before_after=None,
            notes=notes,
            warnings=said_once(caught),
            source=source,
            settings={**settings, **asked},
            versions=versions(),
            tally=rows.tally(scores),
            scores=SavedScores(scores, "id" in named, folder),
        )


class _Spooled:
    """The rows with a label, copied to a file of their own: number, label, score, name, group."""

    def __init__(self, table: Table, labels: LabelNames, named: dict[str, Any], path: Path) -> None:
        self._table, self._labels, self._named = table, labels, named
        self._sql = f"read_parquet({sql_text(path)})"
        position = table.position(named["probabilities"])
        columns = {
            "s": f"CAST({labels.sql} AS TINYINT)",
            "g": number_sql(f"c{position}", table.types[position]),
        }
        for option in ("id", "group"):
            if option in named:
                columns[option] = f"CAST(c{table.position(named[option])} AS VARCHAR)"
        with write_errors(path):
            table.spool(path, columns, "s IS NOT NULL")
        self._batches = stream.read_scores(path, "s", "g")
        self._refuse_bad_rows()

    def _refuse_bad_rows(self) -> None:
        row = self._first("g IS NULL OR NOT (g >= 0 AND g <= 1)")
        if row is not None:
            refuse_improbable_row(self._table, self._named["probabilities"], row)
        for option in ("id", "group"):
            row = self._first(f'"{option}" IS NULL') if option in self._named else None
            if row is not None:
                refuse_unnamed_row(self._named[option], f"--{option}", row)

    def _first(self, where: str) -> int | None:
        """Return the position of the first row of which something is true."""
        row = self._value(f"SELECT min(row) FROM {self._sql} WHERE {where}")
        return None if row is None else int(row) - 1

    def _value(self, sql: str) -> Any:
        return self._table.run(sql).fetchall()[0][0]

    def bins(self) -> Inputs:
        """Return one row for each label and bin of scores, weighted by the rows in it."""
        histogram = ScoreHistogram.deep()
        for labels, scores in self._batches:
            histogram.update(np.asarray(labels).view(bool), np.asarray(scores))
        return Inputs(*histogram.as_rows())

    def rates(self, method: str | Callable[..., NoiseRates], bins: Inputs) -> NoiseRates:
        """Return the estimated rates."""
        if method == _EXACT:
            return stream.estimate_noise_rates(self._batches)
        return estimate_unknown_rates(bins, method)

    def rates_by_counts(self) -> NoiseRates:
        """Return the paper's thresholds and counts, whatever the estimator."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # said of the estimate already, where it matters
            return stream.estimate_noise_rates(self._batches)

    def cutoffs(self, rates: NoiseRates) -> Cutoffs:
        """Return where suspects begin."""
        return stream.find_cutoffs(self._batches, ConfidentState(noise_rates=rates))

    def write_scores(self, path: Path, cutoffs: Cutoffs, rates: NoiseRates) -> None:
        """Write what a run directory keeps of every row."""
        is_suspect = " OR ".join(
            f"(s = {label} AND {self._beyond(label, cutoff)})"
            for label, cutoff in ((1, cutoffs.positive), (0, cutoffs.negative))
            if cutoff is not None
        )
        positive, negative = (_number(value or 0.0) for value in cutoffs.values)
        weights = (1.0, 1.0)
        if rates.reliable:
            weights = (1 / (1 - rates.positive_noise_rate), 1 / (1 - rates.negative_noise_rate))
        name = ", id" if "id" in self._named else ""
        scored = (
            f"SELECT row, s = 1 AS is_positive, g AS probability, ({is_suspect or 'false'}) AS "
            f"suspect, CASE WHEN s = 1 THEN {positive} - g ELSE g - {negative} END AS margin{name} "
            f"FROM {self._sql}"
        )
        ranked = (
            "SELECT row AS number, row_number() OVER (ORDER BY margin DESC, row) AS place "
            "FROM scored WHERE suspect"
        )
        weight = (
            f"CASE WHEN suspect THEN 0.0 WHEN is_positive THEN {_number(weights[0])} ELSE "
            f"{_number(weights[1])} END"
        )
        source = (
            f"(WITH scored AS ({scored}), ranked AS ({ranked}) SELECT scored.* EXCLUDE (margin), "
            f"coalesce(place, 0) AS rank, {weight} AS weight FROM scored LEFT JOIN ranked ON "
            "row = number ORDER BY row) scores"
        )
        with write_errors(path):
            self._table.run(
                copy_scores_sql(
                    path,
                    source,
                    (self._labels.positive, self._labels.negative),
                    out_of_fold=False,
                    with_ids="id" in self._named,
                    n_missing=self._labels.n_missing,
                    n_rows=self._table.n_rows,
                )
            )

    def _beyond(self, label: int, cutoff: Cutoff) -> str:
        """Return the SQL of rows of a label that go; of those tied at the cut-off the first."""
        sign, value = "<" if label else ">", _number(cutoff.value)
        if cutoff.n_ties == cutoff.n_equal:
            return f"g {sign}= {value}"
        last = self._value(
            f"SELECT row FROM {self._sql} WHERE s = {label} AND g = {value} ORDER BY row LIMIT 1 "
            f"OFFSET {cutoff.n_ties - 1}"
        )
        return f"(g {sign} {value} OR (g = {value} AND row <= {last}))"

    def histogram(self) -> Histogram:
        """Return the rows in bins of equal width."""
        counts = np.zeros((2, N_BINS))
        for label, place, count in self._table.run(
            f"SELECT s, least(CAST(floor(g * {N_BINS}) AS INTEGER), {N_BINS - 1}) AS place, "
            f"count(*) FROM {self._sql} GROUP BY ALL"
        ).fetchall():
            counts[label, place] = count
        return Histogram(counts[1], counts[0])

    def n_groups(self) -> int | None:
        """Return the number of groups, where they were named."""
        if "group" not in self._named:
            return None
        return int(self._value(f'SELECT count(DISTINCT "group") FROM {self._sql}'))

    def tally(self, scores: Path) -> Tally:
        """Return the rows with each label, and the suspects among them."""
        counts = ", ".join(
            f"count(*) FILTER (WHERE {where})"
            for where in (
                "is_positive",
                "NOT is_positive",
                "is_positive AND suspect",
                "NOT is_positive AND suspect",
            )
        )
        found = self._table.run(f"SELECT {counts} FROM read_parquet({sql_text(scores)})")
        return Tally(*(int(count) for count in found.fetchall()[0]))

    def suspects(self, scores: Path, shown: list[str], with_ids: bool) -> tuple[SuspectRow, ...]:
        """Return the most suspicious rows as people are to see them."""
        found = self._table.run(
            f"SELECT row, id, label, probability, reason FROM read_parquet({sql_text(scores)}) "
            f"WHERE rank <= {MAX_SHOWN} ORDER BY rank"
        ).fetchall()
        rows = np.asarray([row - 1 for row, *_ in found], dtype=np.intp)
        cells = self._table.cells(rows, [self._table.position(name) for name in shown])
        return tuple(
            SuspectRow(
                row=int(row),
                id=name if with_ids else None,
                label=label,
                probability=probability,
                reason=reason,
                cells=tuple(None if text is None else text[: MAX_CELL + 1] for text in texts),
            )
            for (row, name, label, probability, reason), texts in zip(found, cells, strict=True)
        )


class _Folder:
    """A folder that is removed with whatever holds it; a check that is saved has been copied."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="rankprune-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def _number(value: float) -> str:
    return f"CAST('{value!r}' AS DOUBLE)"
