"""The blind audit of a run: its sample, drawn once, and the estimate from the answers."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from rankprune import audit
from rankprune.audit._plan import PLANNED_SIZES
from rankprune.audit._sample import stratum_of
from rankprune.check._audited import judge_on_audit
from rankprune.exceptions import TableError
from rankprune.run import LabelCheck
from rankprune.run._audit_record import AuditRecord
from rankprune.run._checked_table import open_checked
from rankprune.run._decision_log import DecisionLog, Draw
from rankprune.run._decisions import DISAGREEMENT, outcomes
from rankprune.run._directory import AUDIT, LOG_FILE, REPORT, SCORES, open_run
from rankprune.run._sqlite_errors import damaged
from rankprune.storage._hashes import file_sha256

SIZE = 200
_NO_SAMPLE = "No sample has been drawn for this run. Start a blind audit first, which draws one."


def current_draw(folder: Path, run: LabelCheck, log: DecisionLog) -> Draw:
    """Return the sample that was drawn for the audit of a run."""
    found = log.last_draw()
    if found is None:
        raise TableError(_NO_SAMPLE)
    if found.scores != file_sha256(folder / SCORES):
        raise TableError(
            "The sample belongs to an earlier check with different labels, suspects or scores, and "
            "tells nothing about this one. Repeat the earlier check, or draw a new sample with "
            "force=True."
        )
    if not {row for row, _, _ in found.rows} <= set(run.scores.rows.tolist()):
        raise damaged(log.path, "its sample has rows that were not checked")
    return found


def start_audit(
    folder: Path,
    n: int | None = None,
    *,
    table: Any = None,
    seed: int | None = None,
    force: bool = False,
) -> Draw:
    """Draw the sample of an audit, if its rows can be shown and the answers saved.

    Parameters
    ----------
    folder, n, seed, force
        As in `draw_sample`.
    table : path, default=None
        Current path of the table (default: its original path).
    """
    with (
        open_checked(LabelCheck.load(folder), table),
        DecisionLog(folder / LOG_FILE) as log,
    ):
        log.refuse_unwritable()
        return draw_sample(folder, log, n, seed=seed, force=force)


def draw_sample(
    folder: Path, log: DecisionLog, n: int | None = None, *, seed: int | None, force: bool = False
) -> Draw:
    """Draw the sample of an audit, or return the one that was drawn before.

    Parameters
    ----------
    folder : Path
        The run directory.
    log : DecisionLog
    n : int, default=None
        Number of rows; by default as many as were drawn before, or 200.
    seed : int or None
    force : bool, default=False
        Draw a new sample. Answers about the old one stay in the log, but no longer count.
    """
    run = LabelCheck.load(folder)
    if log.last_draw() is not None and not force:
        known = current_draw(folder, run, log)
        if n not in (None, len(known.rows)):
            raise TableError(
                f"n must be {len(known.rows)}, the size of the sample that was drawn, got {n}: it "
                "is fixed before any row is judged. To draw a new sample, pass force=True; answers "
                "about the old one stay in the log, but no longer count."
            )
        return known
    scores = run.scores
    sample = audit.draw(
        scores.is_positive,
        scores.suspect,
        SIZE if n is None else n,
        probabilities=scores.probability,
        noise_rates=run.estimated_rates,
        pos_label=True,
        random_state=seed,
    )
    rows = zip(
        scores.rows[sample.rows].tolist(),
        sample.is_positive.tolist(),
        sample.suspect.tolist(),
        strict=True,
    )
    return log.keep_draw(
        Draw(
            None,
            file_sha256(folder / SCORES),
            sample.sizes,
            run.positive,
            run.negative,
            tuple(rows),
            datetime.now(UTC).isoformat(timespec="milliseconds"),
            sample.kinds,
            tuple(sample.stratum.tolist()),
        )
    )


def planned_widths(folder: Path) -> dict[int, dict[str, float]]:
    """Return how wide the intervals of audits of several sizes would be, for each rate."""
    run = LabelCheck.load(folder)
    scores = run.scores
    n_rows = len(scores.rows)
    planned = audit.plan(
        scores.is_positive,
        scores.probability,
        run.estimated_rates,
        scores.suspect,
        sizes=[n for n in PLANNED_SIZES if n <= n_rows] or [n_rows],
        pos_label=True,
    )
    return {
        n: {name: interval.high - interval.low for name, interval in one.items()}
        for n, one in planned.items()
    }


def audit_record(
    folder: Path, table: Any = None, *, estimator: Any = None, n_jobs: int | None = None
) -> AuditRecord:
    """Return the result of the audit of a run.

    Parameters
    ----------
    folder : Path
        The run directory.
    table, estimator, n_jobs
        As in `rankprune.check._audited.judge_on_audit`, for the comparison of before and after.
    """
    run = LabelCheck.of(open_run(folder, repairs=(AUDIT, REPORT)))
    if not (folder / LOG_FILE).is_file():
        raise TableError(_NO_SAMPLE)
    with DecisionLog(folder / LOG_FILE) as log:
        draw = current_draw(folder, run, log)
        found = outcomes(log.decisions("audit", draw.id))
    rows, is_positive, suspect = (np.asarray(part) for part in zip(*draw.rows, strict=True))
    stratum = np.asarray(draw.strata) if draw.strata else stratum_of(is_positive, suspect)
    sample = audit.AuditSample(
        rows, is_positive, suspect, stratum, draw.sizes, True, False, draw.kinds
    )
    said = {"positive": True, "negative": False}
    answers = [said.get(found[row].status) if row in found else None for row in rows.tolist()]
    n_unjudged = sum(row not in found for row in rows.tolist())
    before_after, notes = None, []
    if not n_unjudged and any(answer is not None for answer in answers):
        try:
            before_after = judge_on_audit(
                run, sample, answers, table, estimator=estimator, n_jobs=n_jobs
            )
        except (TableError, OSError) as error:
            notes.append(f"Before and after could not be compared. {error}")
    return AuditRecord(
        audit.estimate(sample, answers),
        n_unjudged=n_unjudged,
        n_disagreements=sum(one.status == DISAGREEMENT for one in found.values()),
        reviewers=tuple(sorted({one.reviewer for o in found.values() for one in o.decisions})),
        before_after=before_after,
        notes=tuple(notes),
        scores_sha256=file_sha256(folder / SCORES),
    )
