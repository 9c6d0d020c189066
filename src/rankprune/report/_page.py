"""Render the report page from the record of a check, without recomputing anything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from rankprune.report._many_labels import labels_of, values_of_many
from rankprune.report._room import bytes_of, fitting
from rankprune.report._two_labels import values_of_two
from rankprune.run._audit_record import AuditRecord
from rankprune.run._check_record import CheckRecord
from rankprune.run._class_sentences import is_of_many, is_of_two
from rankprune.run._directory import AUDIT, REPORT, open_run, replace_files
from rankprune.run._findings import CandidateRow
from rankprune.run._loading import check_of
from rankprune.run._sentences import (
    advice,
    audit_headline,
    audit_notes,
    audit_rows,
    before_after_words,
    headline,
    intervals_line,
    n_judged,
    precision_line,
    rates_note,
    row_words,
    trust_points,
    wrong_share_words,
)
from rankprune.run._visible import visible
from rankprune.run._words import percent
from rankprune.storage._atomic import write_whole

TOP = 100
# Maximum size in bytes of the cells of listed rows, which keeps the page below 2 MB; beside the
# tables about many labels there is room for fewer.
_CELL_BYTES, _CELL_BYTES_OF_MANY = 1_300_000, 900_000
_MAX_NOTES = 40
_HIDDEN = "(redacted)"


def write_report(run: Any, path: Any = None, *, top: int = TOP, redact: Sequence[str] = ()) -> Path:
    """Write the report of a run directory or a check, and return its path.

    Parameters
    ----------
    run : path, LabelCheck or ClassCheck
    path : path, default=None
        Output file; by default ``report.html`` in the run directory.
    top : int, default=100
        Number of rows to show, most suspicious first.
    redact : sequence of str
        Columns whose cells are hidden, in addition to those redacted by the check.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from rankprune import check_labels, write_report
    >>> labels = np.repeat([0, 1], 100)
    >>> check = check_labels(None, labels, probabilities=0.1 + 0.8 * labels)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     text = write_report(check, Path(folder) / "report.html").read_text()
    >>> "Your labels look clean" in text
    True
    """
    if path is None and isinstance(run, CheckRecord):
        raise ValueError("path must be given: a check in memory has no run directory to write to.")
    if isinstance(run, CheckRecord):
        check, audit = run, None
    else:
        opened = open_run(Path(run), repairs=(REPORT,))
        check, audit = check_of(opened), AuditRecord.of(opened)
    page = render_report(check, audit, top=top, redact=redact).encode()
    if path is not None:
        write_whole(Path(path), page)
        return Path(path)
    replace_files(Path(run), opened, {REPORT: page})
    return Path(run) / REPORT


def report_audit(run: Path, audit: AuditRecord) -> Path:
    """Save the result of an audit and a report that shows it, and return the report's path."""
    opened = open_run(run, repairs=(REPORT, AUDIT))
    page = render_report(check_of(opened), audit).encode()
    replace_files(run, opened, {REPORT: page, AUDIT: audit.to_bytes()})
    return run / REPORT


def render_report(
    check: CheckRecord,
    audit: AuditRecord | None = None,
    *,
    top: int = TOP,
    redact: Sequence[str] = (),
) -> str:
    """Return the report as HTML, with the result of an audit if one is passed.

    The other parameters are the same as in `write_report`.
    """
    template = _template(check)
    from markupsafe import Markup  # comes with jinja2

    hidden = {*redact, *check.settings.redact}
    unknown = sorted(hidden - set(_columns(check)))
    # For very wide tables, not all column names are stored.
    if unknown and check.source.n_columns <= len(_columns(check)) + 1:
        raise ValueError(
            f"redact must name columns of the run, got {unknown[0]!r}. It has "
            f"{', '.join(repr(name) for name in _columns(check)[:20])}."
        )
    page: str = template.render(
        check=check,
        next_section=count(1).__next__,
        style=Markup(_read("style.css")),
        headline=headline(check),
        audit=audit,
        audit_headline=None if audit is None else audit_headline(check, audit),
        audit_rows=[] if audit is None else audit_rows(check, audit),
        audit_notes=[] if audit is None else audit_notes(check, audit),
        n_judged=n_judged(check),
        before_after=_before_after(check, audit),
        points=trust_points(check),
        advice=advice(check),
        candidates=list(_candidates(check, check.candidates[:top], hidden)),
        precision_line=precision_line(check),
        intervals_line=intervals_line(check),
        subgroups=[part for part in check.subgroups if part.column not in hidden],
        notes=check.notes[:_MAX_NOTES],
        warnings=check.warnings[:_MAX_NOTES],
        n_more_notes=max(0, len(check.notes) - _MAX_NOTES),
        wrong=wrong_share_words(check),
        rates_note=rates_note(check),
        row_words=row_words(check),
        command=str(check.settings),
        **_own_values(check),
    )
    return page


def _own_values(check: CheckRecord) -> dict[str, Any]:
    """Return what only the page of two labels has, or only that of many."""
    if is_of_many(check):
        return values_of_many(check, _read("many_labels.css"))
    assert is_of_two(check)
    return values_of_two(check)


def _template(check: CheckRecord) -> Any:
    """Return the page with what it needs to be filled in safely."""
    try:
        import jinja2
    except ImportError as error:
        raise ImportError(
            "The report needs jinja2, which is not installed. Install rankprune[cli]."
        ) from error
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("rankprune.report", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["visible"] = visible
    environment.filters["percent"] = percent
    name = "many_labels.html" if is_of_many(check) else "two_labels.html"
    return environment.get_template(name)


def _columns(check: CheckRecord) -> list[str]:
    asked = check.settings
    named = [asked.id] if asked.id else []
    grouped = [part.column for part in check.subgroups]
    return list(dict.fromkeys([*check.columns, *named, *grouped, *asked.redact]))


def _read(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def _candidates(
    check: CheckRecord, rows: Sequence[CandidateRow], hidden: set[str]
) -> Iterator[dict[str, Any]]:
    """Return rows to look at, as many as fit on the page."""
    is_many = is_of_many(check)
    shown = (
        {
            "row": row.number,
            "id": _HIDDEN if check.settings.id in hidden and row.id else row.id,
            "cells": [
                (column, _HIDDEN if column in hidden else cell)
                for column, cell in zip(check.columns, row.cells, strict=False)
            ],
            **(labels_of(row) if is_many else {"reason": row.reason}),
        }
        for row in rows
    )

    def size(row: dict[str, Any]) -> int:
        texts = [visible(text) for cell in row["cells"] for text in (cell[0], cell[1] or "")]
        if is_many:
            texts += [visible(row["id"], 80), row["label"], row["suggested"]]
        return bytes_of(*texts)

    return fitting(shown, _CELL_BYTES_OF_MANY if is_many else _CELL_BYTES, size)


def _before_after(check: CheckRecord, audit: AuditRecord | None) -> str | None:
    if audit is not None and audit.before_after is not None:
        return before_after_words(audit.before_after, audited=True)
    if check.before_after is not None:
        return before_after_words(check.before_after, audited=False)
    return None
