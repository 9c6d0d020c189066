"""The audit of a run: its sample, drawn once, and what follows from what people said of it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from rankprune import audit
from rankprune.check._audited import judge_on_audit
from rankprune.exceptions import TableError
from rankprune.run import LabelCheck
from rankprune.run._audit_record import AuditRecord
from rankprune.run._decision_log import LOG_FILE, DecisionLog, Draw
from rankprune.run._decisions import DISAGREEMENT, outcomes
from rankprune.run._directory import SCORES
from rankprune.storage._hashes import file_sha256

SIZE = 200


def current_draw(folder: Path, log: DecisionLog) -> Draw:
    """Return the sample of the audit of a run."""
    found = log.last_draw()
    if found is None:
        raise TableError("No sample was drawn yet. Draw one with: rankprune audit RUN --n 200")
    if found.scores != file_sha256(folder / SCORES):
        raise TableError(
            "The sample was drawn by another check of this table, with other labels, suspects or "
            "scores, and says nothing about these. Check again as it was then, or draw a new "
            "sample with: rankprune audit RUN --n 200 --force"
        )
    return found


def draw_sample(
    folder: Path, log: DecisionLog, n: int | None = None, *, seed: int | None, again: bool = False
) -> Draw:
    """Draw the sample of an audit, once: a new one only when asked for.

    Parameters
    ----------
    folder : Path
        Of the run.
    log : DecisionLog
    n : int, default=None
        Rows; as many as were drawn before, or 200.
    seed : int or None
    again : bool, default=False
        Draw a new one; what was judged in the old one stays in the log, but no longer counts.
    """
    if log.last_draw() is not None and not again:
        known = current_draw(folder, log)
        if n not in (None, len(known.rows)):
            raise TableError(
                f"--n must be {len(known.rows)}, the size of the sample that was drawn, got {n}: "
                "it is fixed before anything is judged. Draw a new one with --force; what was "
                "judged in the old one stays in the log, but no longer counts."
            )
        return known
    run = LabelCheck.load(folder)
    scores = run.scores
    sample = audit.draw(
        scores.is_positive,
        scores.suspect,
        SIZE if n is None else n,
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
        )
    )


def audit_record(
    folder: Path, table: Any = None, *, model: Any = None, n_jobs: int | None = None
) -> AuditRecord:
    """Return what the audit of a run tells about its labels.

    Parameters
    ----------
    folder : Path
        Of the run.
    table, model, n_jobs
        As in `rankprune.check._audited.judge_on_audit`, for the comparison of before and after.
    """
    run = LabelCheck.load(folder)
    with DecisionLog(folder / LOG_FILE, must_exist=True) as log:
        draw = current_draw(folder, log)
        found = outcomes(log.decisions("audit", draw.id))
    rows, is_positive, suspect = (np.asarray(part) for part in zip(*draw.rows, strict=True))
    sample = audit.AuditSample(rows, is_positive, suspect, draw.sizes, True, False)
    said = {"positive": True, "negative": False}
    answers = [said.get(found[row].status) if row in found else None for row in rows.tolist()]
    n_unjudged = sum(row not in found for row in rows.tolist())
    before_after, notes = None, []
    if not n_unjudged and any(answer is not None for answer in answers):
        try:
            before_after = judge_on_audit(
                run, sample, answers, table, estimator=model, n_jobs=n_jobs
            )
        except (TableError, OSError) as error:
            notes.append(f"Before and after could not be judged. {error}")
    return AuditRecord(
        audit.estimate(sample, answers),
        n_unjudged=n_unjudged,
        n_disagreements=sum(one.status == DISAGREEMENT for one in found.values()),
        reviewers=tuple(sorted({one.reviewer for o in found.values() for one in o.decisions})),
        before_after=before_after,
        notes=tuple(notes),
        scores_sha256=file_sha256(folder / SCORES),
    )
