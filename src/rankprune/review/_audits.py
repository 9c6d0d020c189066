"""The blind audit of a run: which rows are drawn, and what their answers change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from rankprune import audit
from rankprune.check._audited import judge_on_audit
from rankprune.check._shown_rows import with_cells
from rankprune.core._interval_records import Interval
from rankprune.exceptions import TableError
from rankprune.run import LabelCheck
from rankprune.run._audit_record import AuditRecord
from rankprune.run._checked_table import open_checked
from rankprune.run._decision_log import DecisionLog, Draw
from rankprune.run._decisions import DISAGREEMENT, Outcome, outcomes
from rankprune.run._directory import (
    AUDIT,
    LOG_FILE,
    REPORT,
    SCORES,
    UNJUDGED_RESULT,
    UNJUDGED_SCORES,
    Content,
    RunFiles,
    open_run,
    replace_files,
)
from rankprune.run._judged_rows import Method, OpenRows, validate_method
from rankprune.run._settled import current_rows
from rankprune.run._sqlite_errors import damaged
from rankprune.run._unjudged import unjudged_files, unjudged_run
from rankprune.table import Table

BATCH, SIZE = 25, 200
_NO_SAMPLE = "No sample has been drawn for this run. Start a blind audit first, which draws one."

RenderReport = Callable[[LabelCheck, AuditRecord], str]


def next_batch(
    folder: Path,
    n: int | None = None,
    *,
    about: Any = None,
    method: Method = "model",
    table: Any = None,
    seed: int | None = None,
    force: bool = False,
) -> Draw:
    """Return the rows of an audit to judge now, if they can be shown and the answers saved.

    Parameters
    ----------
    folder : Path
        The run directory.
    n : int, default=None
        Number of rows to draw: by default 25, and 200 with ``method="design"``.
    about : default=None
        A label, if the rows to draw are about the errors of this label; by default about all.
    method : {"model", "design"}, default="model"
        With ``"model"``, rows are drawn batch after batch, and a batch in which somebody still has
        to judge a row is returned before the next one is drawn. With ``"design"``, one sample is
        drawn, and its size is fixed from then on.
    table : path, default=None
        Current path of the table (default: its original path). A changed table is refused.
    seed : int, default=None
        Decides which rows are drawn.
    force : bool, default=False
        Begin a new audit. Earlier answers stay in the log, but no longer count.

    Returns
    -------
    Draw
        The batch, or the sample.
    """
    with (
        open_checked(LabelCheck.load(folder), table),
        DecisionLog(folder / LOG_FILE) as log,
    ):
        log.refuse_unwritable()
        return draw_rows(folder, log, n, about=about, method=method, seed=seed, force=force)


def draw_rows(
    folder: Path,
    log: DecisionLog,
    n: int | None = None,
    *,
    about: Any = None,
    method: Method = "model",
    seed: int | None = None,
    force: bool = False,
) -> Draw:
    """Return the rows of an audit to judge now; see `next_batch`."""
    validate_method(method)
    check = LabelCheck.of(unjudged_run(open_run(folder, repairs=(AUDIT, REPORT))))
    last = log.last_draw()
    known = [] if last is None or force else current_draws(check, log)
    if known and known[0].method != method:
        raise TableError(_other_method(known))
    if known and method == "design":
        return _same_sample(known[0], n)
    if known:
        answers = _answers(check, log, known)
        if not answers.has_judged(known[-1]):
            return known[-1]
        # Rows of earlier batches are not drawn again, whatever became of them.
        rows = [row for draw in known for row, *_ in draw.rows]
        check = check.settle(rows, [answers.of(row) for row in rows])
        n = min(BATCH if n is None else n, _left(check))
    size = (BATCH if method == "model" else SIZE) if n is None else n
    sample = check.draw_audit(size, about=about, method=method, random_state=seed)
    drawn = Draw(
        None,
        check.scores_key,
        sample.sizes,
        check.positive,
        check.negative,
        tuple(
            zip(
                sample.rows.tolist(),
                sample.is_positive.tolist(),
                sample.suspect.tolist(),
                strict=True,
            )
        ),
        datetime.now(UTC).isoformat(timespec="milliseconds"),
        method,
        None if about is None else label_name(check, answer_of(check, about, "about")),
        len(known) + 1,
        sample.kinds,
        tuple(sample.stratum.tolist()),
    )
    return log.keep_draw(drawn, after=0 if last is None else last.id)


def settle_run(
    folder: Path,
    table: Any = None,
    *,
    report: RenderReport | None = None,
    estimator: Any = None,
    n_jobs: int | None = None,
) -> LabelCheck:
    """Return the check with all answers of its audit, after saving it in place of the earlier one.

    The result, the scores, ``audit.json`` and the report are replaced together. The answers stay
    in the log, and the check as it was before stays beside them: a later call starts from there
    again, so that answers that were changed or taken back count as they are now.

    Parameters
    ----------
    folder : Path
        The run directory. `AuditRecord.load` returns what was saved about the audit.
    table : path, default=None
        Current path of the table (default: its original path), which has the cells of rows that are
        new on the list to look at. A changed table is refused; without a table they have no cells.
    report : callable, default=None
        Returns the page for the check and its audit, such as `rankprune.report.render_report`. By
        default there is no report: an earlier one would show the earlier answer.
    estimator, n_jobs
        As in `rankprune.check._audited.judge_on_audit`, for the comparison of models before and
        after, which needs a sample of fixed size.

    Returns
    -------
    LabelCheck
    """
    raise NotImplementedError
