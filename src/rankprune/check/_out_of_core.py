"""Gather evidence from a table with given probabilities that is too large for memory.

Labels and probabilities are copied to a file once, and read from it in batches.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rankprune.check._assemble import Evidence, listed_rows, warn_once
from rankprune.check._shown_rows import MAX_SHOWN, with_cells
from rankprune.core import ConfidentState, Cutoff, Cutoffs, NoiseRates, ScoreSketch
from rankprune.core._answer import acts
from rankprune.core._ranking import rank_of_cutoffs
from rankprune.core._verdict import judge
from rankprune.core._weights import class_weights
from rankprune.core.estimators._registry import (
    EXACT,
    NoiseEstimator,
    is_exact,
    rates_of_sketch,
)
from rankprune.run._directory import SCORES
from rankprune.run._findings import CandidateRow, Confident
from rankprune.run._scores import SavedScores, Tally, copy_scores_sql
from rankprune.run._settings import CheckSettings
from rankprune.storage._claims import temporary_folder
from rankprune.storage._sql import sql_source
from rankprune.stream import estimate_noise_rates, read_scores
from rankprune.stream._passes import find_cutoffs
from rankprune.table import Table
from rankprune.table._column_sql import number_sql
from rankprune.table._labels import LabelNames, find_labels
from rankprune.table._special_columns import (
    named_columns,
    refuse_improbable_row,
    refuse_unnamed_row,
)
from rankprune.table._write import write_errors


def gather_out_of_core(
    table: Table,
    settings: CheckSettings,
    noise_estimator: NoiseEstimator | str | None,
    columns: Sequence[str],
) -> tuple[Evidence, LabelNames, tuple[CandidateRow, ...]]:
    """Return the evidence from a table with probabilities, its labels, and candidates with cells.

    All results are those of the same rows in memory.
    """
    labels = find_labels(
        table,
        str(settings.label),
        pos_label=settings.pos_label,
        neg_label=settings.neg_label,
        drop_unlabeled=settings.drop_unlabeled,
    )
    special = named_columns(table, **settings.columns())
    with temporary_folder() as working:
        rows = _Spooled(table, labels, special, working / "rows.parquet")
        sketch = rows.sketch()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            estimated = rows.rates(noise_estimator, sketch)
            verdict = judge(sketch, noise_estimator, estimated=estimated)
            cutoffs = rows.cutoffs(estimated) if acts(verdict) else Cutoffs(None, None)
        # Removed together with the scores; saving a check copies them.
        folder = temporary_folder()
        scores = folder.path / SCORES
        tally = _tally(sketch, cutoffs)
        ranked_from = rows.ranking_cutoffs(estimated, tally)
        most = 1.0 if estimated.intervals is None else estimated.intervals.wrong_share.high
        n_listed = listed_rows(most, tally.n_suspects, tally.n_rows)
        weights = class_weights(estimated) if acts(verdict) else (1.0, 1.0)
        rows.write_scores(scores, cutoffs, ranked_from, weights, n_listed)
        evidence = Evidence(
            sketch=sketch,
            verdict=verdict,
            estimated=estimated,
            scores=SavedScores(scores, "id" in special, folder=folder),
            tally=tally,
            cutoffs=cutoffs.values,
            confident=Confident.of(rows.rates_by_counts()),
            ranked=sketch,
            ranked_from=ranked_from,
            out_of_fold=False,
            n_groups=rows.n_groups(),
            warnings=warn_once(caught),
        )
        with_ids = "id" in special and not settings.hides(settings.id)
        candidates = rows.candidates(scores, columns, with_ids, n_listed)
    return evidence, labels, candidates


def _tally(sketch: ScoreSketch, cutoffs: Cutoffs) -> Tally:
    """Return the numbers of rows with each label, and of those beyond the cut-offs."""
    beyond = (
        0 if cutoff is None else cutoff.n_pruned for cutoff in (cutoffs.positive, cutoffs.negative)
    )
    return Tally(int(sketch.n_positive), int(sketch.n_negative), *beyond)


class _Spooled:
    """The labeled rows, copied to a temporary file: row number, label, score, id and group."""

    def __init__(self, table: Table, labels: LabelNames, named: dict[str, Any], path: Path) -> None:
        self._table, self._labels, self._named = table, labels, named
        self._sql = f"read_parquet({sql_source(path)})"
        position = table.position(named["probabilities"])
        columns = {
            "s": f"CAST({labels.sql} AS TINYINT)",
            "g": number_sql(f"c{position}", table.types[position]),
        }
        for option in ("id", "groups"):
            if option in named:
                columns[option] = f"CAST(c{table.position(named[option])} AS VARCHAR)"
        with write_errors(path):
            table.spool(path, columns, "s IS NOT NULL")
        self._batches = read_scores(path, "s", "g")
        self._refuse_bad_rows()

    def _refuse_bad_rows(self) -> None:
        row = self._first("g IS NULL OR NOT (g >= 0 AND g <= 1)")
        if row is not None:
            refuse_improbable_row(self._table, self._named["probabilities"], row)
        for option in ("id", "groups"):
            row = self._first(f'"{option}" IS NULL') if option in self._named else None
            if row is not None:
                refuse_unnamed_row(self._named[option], option, row)

    def _first(self, where: str) -> int | None:
        """Return the position of the first row that satisfies a condition, or None."""
        row = self._value(f"SELECT min(row) FROM {self._sql} WHERE {where}")
        return None if row is None else int(row) - 1

    def _value(self, sql: str) -> Any:
        return self._table.run(sql).fetchall()[0][0]

    def sketch(self) -> ScoreSketch:
        """Return the sketch of the labels and scores."""
        sketch = ScoreSketch()
        for labels, scores in self._batches:
            sketch.update(labels, scores)
        return sketch

    def rates(self, method: NoiseEstimator | str | None, sketch: ScoreSketch) -> NoiseRates:
        """Return the estimated rates."""
        if is_exact(method):
            return estimate_noise_rates(self._batches, method=EXACT)
        return rates_of_sketch(sketch, method)

    def rates_by_counts(self) -> NoiseRates:
        """Return the rates of the paper's estimator, for its thresholds and counts."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # already given for the estimate
            return estimate_noise_rates(self._batches, method=EXACT)

    def cutoffs(self, rates: NoiseRates) -> Cutoffs:
        """Return the cut-offs of the two labels."""
        return find_cutoffs(self._batches, ConfidentState(noise_rates=rates))

    def ranking_cutoffs(self, rates: NoiseRates, tally: Tally) -> tuple[float, float]:
        """Return the cut-offs from which all rows are ranked."""
        places = rank_of_cutoffs(rates, tally.n_positive, tally.n_negative)
        positive, negative = (
            self._value(
                f"SELECT g FROM {self._sql} WHERE s = {label} ORDER BY g {order} LIMIT 1 "
                f"OFFSET {place - 1}"
            )
            for label, order, place in ((1, "ASC", places[0]), (0, "DESC", places[1]))
        )
        return float(positive), float(negative)

    def write_scores(
        self,
        path: Path,
        cutoffs: Cutoffs,
        ranked_from: tuple[float, float],
        weights: tuple[float, float],
        n_listed: int,
    ) -> None:
        """Write the scores file of a run directory."""
        is_suspect = " OR ".join(
            f"(s = {label} AND {self._beyond(label, cutoff)})"
            for label, cutoff in ((1, cutoffs.positive), (0, cutoffs.negative))
            if cutoff is not None
        )
        positive, negative = (_number(value) for value in ranked_from)
        name = ", id" if "id" in self._named else ""
        scored = (
            f"SELECT row, s = 1 AS is_positive, g AS probability, ({is_suspect or 'false'}) AS "
            f"suspect, CASE WHEN s = 1 THEN {positive} - g ELSE g - {negative} END AS margin{name} "
            f"FROM {self._sql}"
        )
        ranked = (
            "SELECT row AS number, row_number() OVER (ORDER BY suspect DESC, margin DESC, row) "
            "AS place FROM scored"
        )
        weight = (
            f"CASE WHEN suspect THEN 0.0 WHEN is_positive THEN {_number(weights[0])} ELSE "
            f"{_number(weights[1])} END"
        )
        source = (
            f"(WITH scored AS ({scored}), ranked AS ({ranked}) SELECT scored.* EXCLUDE (margin), "
            f"place AS rank, {weight} AS weight FROM scored JOIN ranked ON "
            "row = number ORDER BY row) scores"
        )
        with write_errors(path):
            self._table.run(
                copy_scores_sql(
                    path,
                    source,
                    (self._labels.positive, self._labels.negative),
                    out_of_fold=False,
                    n_listed=n_listed,
                    with_ids="id" in self._named,
                    n_missing=self._labels.n_missing,
                    n_rows=self._table.n_rows,
                )
            )

    def _beyond(self, label: int, cutoff: Cutoff) -> str:
        """Return SQL for the suspects with a label; of rows tied at the cut-off, the first ones."""
        sign, value = "<" if label else ">", _number(cutoff.value)
        if cutoff.n_ties == cutoff.n_equal:
            return f"g {sign}= {value}"
        last = self._value(
            f"SELECT row FROM {self._sql} WHERE s = {label} AND g = {value} ORDER BY row LIMIT 1 "
            f"OFFSET {cutoff.n_ties - 1}"
        )
        return f"(g {sign} {value} OR (g = {value} AND row <= {last}))"

    def n_groups(self) -> int | None:
        """Return the number of groups, or None if no column of groups was named."""
        if "groups" not in self._named:
            return None
        return int(self._value(f'SELECT count(DISTINCT "groups") FROM {self._sql}'))

    def candidates(
        self, scores: Path, columns: Sequence[str], with_ids: bool, n_listed: int
    ) -> tuple[CandidateRow, ...]:
        """Return the most suspicious rows with some of their cells."""
        found = self._table.run(
            "SELECT rank, row, id, label, probability, reason, suspect FROM "
            f"read_parquet({sql_source(scores)}) WHERE rank <= {min(MAX_SHOWN, n_listed)} "
            "ORDER BY rank"
        ).fetchall()
        positions = [self._table.position(name) for name in columns]
        return with_cells(
            [
                CandidateRow(
                    int(rank),
                    int(row) - 1,
                    None,
                    name if with_ids else None,
                    label,
                    score,
                    reason,
                    is_suspect=suspect,
                )
                for rank, row, name, label, score, reason, suspect in found
            ],
            lambda top: self._table.cells(top, positions),
        )


def _number(value: float) -> str:
    return f"CAST('{value!r}' AS DOUBLE)"
