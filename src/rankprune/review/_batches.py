"""The end of a batch of an audit: the result, and the next batch."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from rankprune.exceptions import TableError
from rankprune.review._audits import (
    Audited,
    RenderReport,
    draw_rows,
    save_audited,
)
from rankprune.review._queue import ReviewQueue
from rankprune.run._check_record import CheckRecord
from rankprune.run._offer import rows_left
from rankprune.run._sentences import answers_words, headline
from rankprune.run._visible import visible
from rankprune.run._words import points


class Batches:
    """What becomes of the answers of a queue when every row of a batch has been judged.

    Parameters
    ----------
    folder : Path
        The run directory.
    queue : ReviewQueue
    table : path or None
    report : callable or None
        As in `settle_run`.
    """

    def __init__(
        self, folder: Path, queue: ReviewQueue, table: Any, report: RenderReport | None
    ) -> None:
        self._folder, self._queue, self._table, self._report = folder, queue, table, report
        # The result is computed once for all reviewers, and again after every change.
        self._lock, self._is_over = threading.Lock(), False
        self._state: tuple[str, ...] | None = None
        self._shown: dict[str, Any] = {}

    def result(self) -> dict[str, Any]:
        """Return the result for the page, or only how many rows are missing if some are.

        When the last row of a batch has been judged, the result is saved in the run directory.
        """
        with self._lock:
            self._catch_up()
            n_missing = self._queue.n_missing()
            batch = len(self._queue.draws)
            if n_missing:
                return {"batch": batch, "missing": n_missing}
            state = self._queue.state()
            if state != self._state:
                found = save_audited(self._folder, self._table, report=self._report)
                self._shown = {"batch": batch, "missing": 0, **_shown(found, self._next_size())}
                self._state = state
            return self._shown

    def more(self, after: int) -> None:
        """Draw the next batch, unless someone else has done so since the batch ``after``."""
        with self._lock:
            self._catch_up()
            last = self._queue.draws[-1]
            if len(self._queue.draws) != after or last.method == "design":
                return
            log = self._queue.log
            draw_rows(self._folder, log, self._next_size(), about=last.about, method="model")
            self._catch_up()

    def close(self) -> None:
        """Wait for the result that is being saved, and save none after that."""
        with self._lock:
            self._is_over = True

    def _next_size(self) -> int:
        return len(self._queue.draws[0].rows)

    def _catch_up(self) -> None:
        """Add the batches that this process or another one has drawn."""
        if self._is_over:
            raise TableError("The server is about to end. Every answer is saved.")
        log, known = self._queue.log, self._queue.draws
        found = log.patiently(log.last_draws)
        if [draw.id for draw in found[: len(known)]] != [draw.id for draw in known]:
            raise TableError(
                "Another audit of this run was begun meanwhile. Stop this one, and start it again."
            )
        if len(found) > len(known):
            self._queue.add(found)


def _shown(found: Audited, n_next: int) -> dict[str, Any]:
    """Return what the page shows at the end of a batch."""
    record, about = found.record, found.record.about
    return {
        "headline": headline(found.after),
        "share": "Share of all labels that are wrong"
        if about is None
        else f"Share of the labels “{visible(about, 80)}” that are wrong",
        "rows": record.n_judged,
        "answers": answers_words(record),
        "before": _range(found.before, about),
        "after": _range(found.after, about),
        "next": None if record.method == "design" else _next(found.after, n_next, about),
    }


def _range(check: CheckRecord, about: str | None) -> dict[str, float]:
    """Return the rate that an audit is about, with its range."""
    found = check.wrong_share_interval if about is None else check.error_rates[about]
    return {"estimate": found.estimate, "low": found.low, "high": found.high}


def _next(check: CheckRecord, n: int, about: str | None) -> dict[str, Any] | None:
    """Return the size of the next batch, and the range that it would leave; None at the end."""
    n = min(n, rows_left(check))
    if not n:
        return None
    if check.judged is not None and check.judged.contradicts_model:
        # What is planned rests on the model.
        return {"n": n, "width": None, "words": None}
    width = check.planned_audit((n,), about=about)[n]["model"]
    return {"n": n, "width": width, "words": f"about ±{points(width / 2)}"}
