"""Render the report page from the record of a check, without recomputing anything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

from rankprune.report._plots import draw_plots
from rankprune.run import LabelCheck
from rankprune.run._answers_sentences import (
    ANNOTATORS_NOTE,
    WRONG_NOTE,
    answers_lines,
    wrong_rows,
)
from rankprune.run._audit_record import AuditRecord
from rankprune.run._directory import AUDIT, REPORT, open_run, replace_files
from rankprune.run._findings import CandidateRow
from rankprune.run._repeated_answers import AnnotatorRow
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
    rate_names,
    rates_note,
    row_words,
    trust_points,
    wrong_share_words,
)
from rankprune.run._visible import visible
from rankprune.run._words import percent
from rankprune.storage._atomic import write_whole

TOP = 100
# Maximum size in bytes of the cells of listed rows, which keeps the page below 2 MB, and an
# allowance for the tags around each text.
_CELL_BYTES, _MARKUP = 1_300_000, 20
_MAX_NOTES = 40
_MAX_ANNOTATORS = 100
_HIDDEN = "(redacted)"


def write_report(run: Any, path: Any = None, *, top: int = TOP, redact: Sequence[str] = ()) -> Path:
    """Write the report of a run directory or a check, and return its path.

    Parameters
    ----------
    run : path or LabelCheck
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
    if path is None and isinstance(run, LabelCheck):
        raise ValueError("path must be given: a check in memory has no run directory to write to.")
    if isinstance(run, LabelCheck):
        check, audit = run, None
    else:
        opened = open_run(Path(run), repairs=(REPORT,))
        check, audit = LabelCheck.of(opened), AuditRecord.of(opened)
    page = render_report(check, audit, top=top, redact=redact).encode()
    if path is not None:
        write_whole(Path(path), page)
        return Path(path)
    replace_files(Path(run), opened, {REPORT: page})
    return Path(run) / REPORT


def report_audit(run: Path, audit: AuditRecord) -> Path:
    """Save the result of an audit and a report that shows it, and return the report's path."""
    opened = open_run(run, repairs=(REPORT, AUDIT))
    page = render_report(LabelCheck.of(opened), audit).encode()
    replace_files(run, opened, {REPORT: page, AUDIT: audit.to_bytes()})
    return run / REPORT


def render_report(
    check: LabelCheck,
    audit: AuditRecord | None = None,
    *,
    top: int = TOP,
    redact: Sequence[str] = (),
) -> str:
    """Return the report as HTML, with the result of an audit if one is passed.

    The other parameters are the same as in `write_report`.
    """
    template = _template()
    from markupsafe import Markup  # comes with jinja2

    hidden = {*redact, *check.settings.redact}
    unknown = sorted(hidden - set(_columns(check)))
    # For very wide tables, not all column names are stored.
    if unknown and check.source.n_columns <= len(_columns(check)) + 1:
        raise ValueError(
            f"redact must name columns of the run, got {unknown[0]!r}. It has "
            f"{', '.join(repr(name) for name in _columns(check)[:20])}."
        )
    candidates = list(_fitting(check, check.candidates[:top], hidden))
    page: str = template.render(
        check=check,
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
        plots={name: Markup(svg) for name, svg in draw_plots(check).items()},
        rates=_rates(check),
        classes=_classes(check),
        candidates=candidates,
        precision_line=precision_line(check),
        intervals_line=intervals_line(check),
        subgroups=[part for part in check.subgroups if part.column not in hidden],
        notes=check.notes[:_MAX_NOTES],
        warnings=check.warnings[:_MAX_NOTES],
        n_more_notes=max(0, len(check.notes) - _MAX_NOTES),
        wrong=wrong_share_words(check),
        rates_note=rates_note(check),
        row_words=row_words(check),
        answers_lines=[line for line in answers_lines(check) if line],
        wrong_rows=wrong_rows(check),
        wrong_note=WRONG_NOTE,
        annotators=_annotators(check),
        annotators_note=ANNOTATORS_NOTE,
        command=str(check.settings),
        histogram=_histogram(check),
        curve=_curve(check),
        calibration=_calibration(check),
    )
    return page


def _template() -> Any:
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
    return environment.get_template("page.html")


def _columns(check: LabelCheck) -> list[str]:
    asked = check.settings
    named = [asked.id] if asked.id else []
    grouped = [part.column for part in check.subgroups]
    return list(dict.fromkeys([*check.columns, *named, *grouped, *asked.redact]))


def _read(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def _fitting(
    check: LabelCheck, rows: Sequence[CandidateRow], hidden: set[str]
) -> Iterator[dict[str, Any]]:
    """Yield rows to look at, as many as fit on the page."""
    left = _CELL_BYTES
    for row in rows:
        cells = [
            (column, _HIDDEN if column in hidden else cell)
            for column, cell in zip(check.columns, row.cells, strict=False)
        ]
        texts = [visible(text) for column, cell in cells for text in (column, cell or "")]
        left -= sum(len(escape(text).encode()) + _MARKUP for text in texts)
        if left < 0:
            return
        yield {
            "row": row.number,
            "id": _HIDDEN if check.settings.id in hidden and row.id else row.id,
            "label": row.label,
            "probability": row.probability,
            "reason": row.reason,
            "is_suspect": row.is_suspect,
            "cells": cells,
        }


def _rates(check: LabelCheck) -> list[tuple[str, Any]]:
    names = {**rate_names(check), "estimated_prevalence": f"share of true “{check.positive}”"}
    return [(name, getattr(check.intervals, rate)) for rate, name in names.items()]


def _annotators(check: LabelCheck) -> Sequence[AnnotatorRow]:
    found = check.repeated_answers
    return () if found is None else found.annotators[:_MAX_ANNOTATORS]


def _before_after(check: LabelCheck, audit: AuditRecord | None) -> str | None:
    if audit is not None and audit.before_after is not None:
        return before_after_words(audit.before_after, audited=True)
    if check.before_after is not None:
        return before_after_words(check.before_after, audited=False)
    return None


def _classes(check: LabelCheck) -> list[tuple[str, int, int]]:
    found = check.tally
    return [
        (check.positive, found.n_positive, found.n_positive_suspects),
        (check.negative, found.n_negative, found.n_negative_suspects),
    ]


def _histogram(check: LabelCheck) -> list[tuple[str, int, int]]:
    """Return the histogram reduced to eight bins, or ten in runs of the first release."""
    found = check.histogram
    n_bins = 10 if len(found.positive) % 8 else 8
    at_once = len(found.positive) // n_bins
    return [
        (
            f"{i / n_bins:.3g} to {(i + 1) / n_bins:.3g}",
            int(found.positive[i * at_once : (i + 1) * at_once].sum()),
            int(found.negative[i * at_once : (i + 1) * at_once].sum()),
        )
        for i in range(n_bins)
    ]


def _curve(check: LabelCheck) -> list[tuple[str, list[tuple[float, float, float, float]]]]:
    """Return a few points of both separability curves."""
    curves = []
    for name, side in (
        (check.positive, check.separability.positive),
        (check.negative, check.separability.negative),
    ):
        places = sorted({int(abs(side.share_of_class - share).argmin()) for share in _SHARES})
        curves.append(
            (
                name,
                [
                    (
                        float(side.share_of_class[i]),
                        float(side.noise_rate[i]),
                        float(side.low[i]),
                        float(side.high[i]),
                    )
                    for i in places
                ],
            )
        )
    return curves


_SHARES = (0.1, 0.25, 0.5, 0.75, 1.0)


def _calibration(check: LabelCheck) -> list[tuple[float, float, float, float, int]]:
    found = check.calibration
    return [
        (float(p), float(share), float(low), float(high), int(rows))
        for p, share, low, high, rows in zip(
            found.mean_probability,
            found.share_positive,
            found.low,
            found.high,
            found.rows,
            strict=True,
        )
    ]
