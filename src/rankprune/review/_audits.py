"""The blind audit of a run: which rows are drawn, and what their answers change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from rankprune import audit
from rankprune.audit import AuditEstimate, AuditSample, ClassAuditEstimate
from rankprune.check._audited import judge_on_audit
from rankprune.check._shown_rows import with_cells
from rankprune.exceptions import TableError
from rankprune.run import ClassCheck, LabelCheck, load_check
from rankprune.run._audit_record import AuditRecord
from rankprune.run._check_record import CheckRecord, replace_check
from rankprune.run._checked_table import open_checked
from rankprune.run._class_sentences import is_of_many
from rankprune.run._decision_log import DecisionLog, Draw
from rankprune.run._decisions import DISAGREEMENT, UNSURE, outcomes, right_label
from rankprune.run._directory import (
    AUDIT,
    LOG_FILE,
    REPORT,
    UNJUDGED_RESULT,
    UNJUDGED_SCORES,
    Content,
    open_run,
)
from rankprune.run._judged_classes import open_rows
from rankprune.run._judged_rows import Method, answer_of, label_name, validate_method
from rankprune.run._loading import check_of
from rankprune.run._offer import rows_left
from rankprune.run._settled import current_rows
from rankprune.run._sqlite_errors import damaged
from rankprune.run._unjudged import unjudged_files, unjudged_run
from rankprune.table import Table

BATCH, SIZE = 25, 200
_NO_SAMPLE = "No sample has been drawn for this run. Start a blind audit first, which draws one."

Check = LabelCheck | ClassCheck
RenderReport = Callable[[Any, AuditRecord], str]


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
        With ``"model"``, rows are drawn batch after batch, and a batch in which a person still has
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
        open_checked(load_check(folder), table),
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
    check = check_of(unjudged_run(open_run(folder, repairs=(AUDIT, REPORT))))
    last = log.last_draw()
    known = [] if last is None or force else current_draws(check, log)
    for draw in known[-1:]:
        _refuse_other_method(draw, method)
        if method == "design":
            return _same_sample(draw, n)
        answers = _Answers(check, log, known, None)
        if answers.n_missing([draw]):
            return draw
        # Rows of earlier batches are not drawn again, whatever became of them.
        rows = [row for one in known for row, *_ in one.rows]
        check = check.settle(rows, [answers.of(row) for row in rows])
        n = _next_size(check, n)
    size = (BATCH if method == "model" else SIZE) if n is None else n
    sample = check.draw_audit(size, about=about, method=method, random_state=seed)
    # Among many labels, each card offers all of them, so the draw stores none.
    negative, positive = ("", "") if is_of_many(check) else check.classes
    drawn = Draw(
        None,
        check.scores_key,
        sample.sizes,
        positive,
        negative,
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


def current_draws(check: CheckRecord, log: DecisionLog) -> list[Draw]:
    """Return what was drawn for the audit of a check: its batches so far, or its one sample."""
    found = log.last_draws()
    if not found:
        raise TableError(_NO_SAMPLE)
    if found[-1].scores != check.scores_key:
        raise TableError(
            "The sample belongs to an earlier check with different labels, suspects or scores, and "
            "tells nothing about this one. Repeat the earlier check, or draw a new sample with "
            "force=True."
        )
    if not {row for draw in found for row, *_ in draw.rows} <= set(check.scores.rows.tolist()):
        raise damaged(log.path, "its sample has rows that were not checked")
    return found


def _refuse_other_method(known: Draw, method: Method) -> None:
    if known.method == method:
        return
    drawn = "in batches" if known.method == "model" else "as one sample of fixed size"
    raise TableError(
        f'method must be "{known.method}": the rows of this audit were drawn {drawn}, and got '
        f'"{method}". Its limits hold for rows drawn in one way. To begin a new audit, pass '
        "force=True; earlier answers stay in the log, but no longer count."
    )


def _same_sample(known: Draw, n: int | None) -> Draw:
    if n not in (None, len(known.rows)):
        raise TableError(
            f"n must be {len(known.rows)}, the size of the sample that was drawn, got {n}: it "
            "is fixed before any row is judged. To draw a new sample, pass force=True; answers "
            "about the old one stay in the log, but no longer count."
        )
    return known


def _next_size(check: CheckRecord, n: int | None) -> int:
    """Return the size of the next batch, the last of which may be smaller than the others."""
    left = rows_left(check)
    if not left:
        raise TableError(
            "All rows have been drawn for this audit, so no row is left to judge. To begin a new "
            "audit, pass force=True."
        )
    return min(BATCH if n is None else n, left)


class _Answers:
    """What people answered about the rows of an audit."""

    def __init__(
        self, check: CheckRecord, log: DecisionLog, draws: Sequence[Draw], table: Table | None
    ) -> None:
        made = log.decisions("audit", *(draw.id for draw in draws))
        if table is not None:
            # Decisions about other cells are about another row.
            is_current = current_rows(check, table, made)
            made = [one for one in made if is_current(one)]
        drawn = {(draw.id, row) for draw in draws for row, *_ in draw.rows}
        self.found = outcomes(one for one in made if (one.draw, one.row) in drawn)
        self._classes = check.classes

    def of(self, row: int) -> str | None:
        """Return the right label of a row; None if nobody judged it, or its answer is not clear."""
        outcome = self.found.get(row)
        if outcome is None or outcome.status in (UNSURE, DISAGREEMENT):
            return None
        last = [one for one in outcome.decisions if one.answer == outcome.status][-1]
        return right_label(last, self._classes)

    def n_missing(self, draws: Iterable[Draw]) -> int:
        """Return how many rows nobody has judged."""
        return sum(row not in self.found for draw in draws for row, *_ in draw.rows)


@dataclass(frozen=True)
class Audited:
    """A check before any row was judged, the check with all answers, and the record of both."""

    before: Check
    after: Check
    record: AuditRecord


def settle_run(
    folder: Path,
    table: Any = None,
    *,
    report: RenderReport | None = None,
    estimator: Any = None,
    n_jobs: int | None = None,
) -> Check:
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
    LabelCheck or ClassCheck
    """
    return save_audited(folder, table, report=report, estimator=estimator, n_jobs=n_jobs).after


def save_audited(
    folder: Path,
    table: Any = None,
    *,
    report: RenderReport | None = None,
    estimator: Any = None,
    n_jobs: int | None = None,
) -> Audited:
    """Return what `settle_run` saves."""
    opened = open_run(folder, repairs=(AUDIT, REPORT))
    before = check_of(unjudged_run(opened))
    with _table_at_hand(before, table) as rows:
        found = _audited(folder, before, table, rows, estimator, n_jobs)
        found = replace(found, after=_with_cells(found.after, rows))
    files: dict[str, Content] = {AUDIT: found.record.to_bytes()}
    without: tuple[str, ...] = (REPORT,)
    if report is not None:
        files[REPORT] = report(found.after, found.record).encode()
    if found.after is before:
        without += (UNJUDGED_RESULT, UNJUDGED_SCORES)
    else:
        files |= unjudged_files(opened)
    replace_check(folder, opened, found.after, files, without=without)
    return found


def audit_record(
    folder: Path, table: Any = None, *, estimator: Any = None, n_jobs: int | None = None
) -> AuditRecord:
    """Return the result of the audit of a run, without saving anything.

    Parameters
    ----------
    folder, table, estimator, n_jobs
        As in `settle_run`.
    """
    before = check_of(unjudged_run(open_run(folder, repairs=(AUDIT, REPORT))))
    return _audited(folder, before, table, None, estimator, n_jobs).record


def _audited(
    folder: Path,
    before: Check,
    table: Any,
    rows: Table | None,
    estimator: Any,
    n_jobs: int | None,
) -> Audited:
    if not (folder / LOG_FILE).is_file():
        raise TableError(_NO_SAMPLE)
    with DecisionLog(folder / LOG_FILE) as log:
        draws = current_draws(before, log)
        answers = _Answers(before, log, draws, rows)
    n_unjudged = answers.n_missing(draws)
    record = AuditRecord(
        None,
        n_unjudged=n_unjudged,
        n_disagreements=sum(one.status == DISAGREEMENT for one in answers.found.values()),
        reviewers=tuple(
            sorted({one.reviewer for o in answers.found.values() for one in o.decisions})
        ),
        before_after=None,
        notes=(),
        scores_sha256=before.scores_key,
        method=draws[-1].method,
        about=draws[-1].about,
        before=before.wrong_share_interval,
        n_judged=len(answers.found),
        n_batches=len(draws),
    )
    if record.method == "model":
        judged = [row for draw in draws for row, *_ in draw.rows if row in answers.found]
        said = [answers.of(row) for row in judged]
        after = before.settle(judged, said) if judged else before
        return Audited(before, after, _with_answers(record, after, judged, said))
    sample = _whole_sample(before, draws[-1])
    said = [answers.of(row) for row in sample.rows.tolist()]
    after, notes = before, []
    if not n_unjudged and sum(sample.sizes) == len(open_rows(before).rows):
        after = before.settle(sample, said, method="design")
    numbered, numbers = _as_numbers(before, sample, said)
    before_after = None
    if not n_unjudged and any(answer is not None for answer in said):
        try:
            before_after = judge_on_audit(
                before, numbered, numbers, table, estimator=estimator, n_jobs=n_jobs
            )
        except (TableError, OSError) as error:
            notes.append(f"Before and after could not be compared. {error}")
    record = replace(
        _with_answers(record, after, sample.rows.tolist(), said),
        estimate=_estimated(before, numbered, numbers),
        before_after=before_after,
        notes=tuple(notes),
    )
    return Audited(before, after, record)


def _whole_sample(check: Check, draw: Draw) -> AuditSample:
    """Return a sample of fixed size, as it was drawn from a check."""
    if not is_of_many(check):
        return draw.sample()
    drawn, n = open_rows(check), len(draw.rows)
    places = drawn.places_of(np.array([row for row, *_ in draw.rows], dtype=np.intp))
    sample = drawn.sample(places, drawn.divided().strata(n))
    if (sample.sizes, tuple(sample.stratum.tolist())) != (draw.sizes, draw.strata):
        raise TableError(
            "The sample was drawn by another version of rankprune, in another way. Estimate with "
            "that version, or draw a new sample with force=True."
        )
    return sample


def _as_numbers(
    check: Check, sample: AuditSample, said: Sequence[str | None]
) -> tuple[AuditSample, list[int | None]]:
    """Return a sample and its answers with numbers for labels; of two, booleans."""
    codes = [None if one is None else check.classes.index(one) for one in said]
    if is_of_many(check):
        return replace(sample, classes=tuple(range(len(check.classes)))), codes
    signs = [None if code is None else code == 1 for code in codes]
    return replace(sample, positive=True, negative=False), [*signs]


def _estimated(
    check: Check, sample: AuditSample, answers: Sequence[int | None]
) -> AuditEstimate | ClassAuditEstimate:
    """Return what the answers alone show, with the names of labels."""
    found = audit.estimate(sample, answers)
    if isinstance(found, ClassAuditEstimate):
        return replace(found, classes=check.classes)
    return found


def _with_answers(
    record: AuditRecord, after: Check, rows: Sequence[int], said: Sequence[str | None]
) -> AuditRecord:
    """Return a record with the numbers of answers, and the range that follows from them."""
    scores = after.scores
    given = after.given_codes[np.searchsorted(scores.rows, rows)]
    labels = [after.classes[code] for code in given.tolist()]
    pairs = [(one, answer) for one, answer in zip(labels, said, strict=True) if answer is not None]
    return replace(
        record,
        after=after.wrong_share_interval,
        n_sure=len(pairs),
        n_wrong=sum(label != answer for label, answer in pairs),
        contradicts_model=after.judged is not None and after.judged.contradicts_model,
    )


@contextmanager
def _table_at_hand(check: CheckRecord, table: Any) -> Iterator[Table | None]:
    """Open the table of a check; None if it is not at its original path and no other is given."""
    path = check.source.path
    if table is None and (
        not check.settings.is_of_table or path is None or not Path(path).exists()
    ):
        yield None
        return
    with open_checked(check, table) as opened:
        yield opened


def _with_cells(check: Check, table: Table | None) -> Check:
    """Return the check with the cells of rows that are new on the list to look at."""
    new = [row for row in check.candidates if not row.cells]
    if table is None or not new or not check.columns:
        return check
    positions = [table.position(name) for name in check.columns]
    found = {row.row: row for row in with_cells(new, lambda top: table.cells(top, positions))}
    return replace(check, candidates=tuple(found.get(row.row, row) for row in check.candidates))
