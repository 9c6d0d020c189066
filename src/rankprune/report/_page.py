"""The page: everything it shows comes from the record of a check, nothing is computed again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

from rankprune._audit_record import AuditRecord, audit_headline, audit_notes, audit_rows
from rankprune._files import write_whole
from rankprune._label_check import REPORT, LabelCheck, SuspectRow, headline
from rankprune._visible import visible
from rankprune.report._plots import draw_plots
from rankprune.report._texts import better, command, trust_points

TOP = 100
# Bytes that cells of suspects may take up, so that the page stays below 2 MB, and those of the
# marks around each.
_CELL_BYTES, _MARKUP = 1_300_000, 20
_MAX_NOTES = 40
_HIDDEN = "(redacted)"


def write_report(run: Any, path: Any = None, *, top: int = TOP, redact: Sequence[str] = ()) -> Path:
    """Write the report of a run directory or a check, and return its place.

    Parameters
    ----------
    run : path or LabelCheck
    path : path, default=None
        ``report.html`` in the run directory by default.
    top : int, default=100
        Suspects to show.
    redact : sequence of str
        Columns whose cells are not shown.

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
        raise ValueError("path must say where to write the report of a check that is in memory.")
    in_memory = isinstance(run, LabelCheck)
    check = run if in_memory else LabelCheck.load(run)
    audit = None if in_memory else AuditRecord.load(Path(run))
    place = Path(run) / REPORT if path is None else Path(path)
    write_whole(place, render_report(check, audit, top=top, redact=redact).encode())
    return place


def render_report(
    check: LabelCheck,
    audit: AuditRecord | None = None,
    *,
    top: int = TOP,
    redact: Sequence[str] = (),
) -> str:
    """Return the report as HTML, with what an audit found, if there was one.

    The other arguments are those of `write_report`.
    """
    try:
        import jinja2
        from markupsafe import Markup
    except ImportError as error:
        raise ImportError(
            "The report needs jinja2, which is not installed. Install rankprune[cli]."
        ) from error
    hidden = {*redact, *check.settings.get("redact", ())}
    unknown = sorted(hidden - set(_columns(check)))
    # Of very wide tables not all names are kept.
    if unknown and check.source.n_columns <= len(_columns(check)) + 1:
        raise ValueError(
            f"--redact must name columns of the run, got {unknown[0]!r}. It has "
            f"{', '.join(repr(name) for name in _columns(check)[:20])}."
        )
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("rankprune.report", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["visible"] = visible
    environment.filters["percent"] = lambda share: f"{share:.1%}"
    suspects = list(_fitting(check, check.suspects[:top], hidden))
    return environment.get_template("page.html").render(
        check=check,
        style=Markup(_read("style.css")),
        headline=headline(check),
        audit=audit,
        audit_headline=None if audit is None else audit_headline(check, audit),
        audit_rows=[] if audit is None else audit_rows(check, audit),
        audit_notes=[] if audit is None else audit_notes(audit),
        before_after=audit.before_after if audit and audit.before_after else check.before_after,
        points=trust_points(check),
        better=better(check),
        plots={name: Markup(svg) for name, svg in draw_plots(check).items()},
        rates=_rates(check),
        classes=_classes(check),
        suspects=suspects,
        subgroups=[part for part in check.subgroups if part.column not in hidden],
        notes=check.notes[:_MAX_NOTES],
        warnings=check.warnings[:_MAX_NOTES],
        n_more_notes=max(0, len(check.notes) - _MAX_NOTES),
        wrong=check.estimated_rates.wrong_share,
        command=command(check),
        histogram=_histogram(check),
        curve=_curve(check),
        calibration=_calibration(check),
    )


def _columns(check: LabelCheck) -> list[str]:
    asked = check.settings
    named = [asked["id"]] if asked.get("id") else []
    grouped = [part.column for part in check.subgroups]
    return list(dict.fromkeys([*check.columns, *named, *grouped, *asked.get("redact", ())]))


def _read(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def _fitting(
    check: LabelCheck, suspects: Sequence[SuspectRow], hidden: set[str]
) -> Iterator[dict[str, Any]]:
    """Yield the suspects as far as they fit on the page."""
    left = _CELL_BYTES
    for row in suspects:
        cells = [
            (column, _HIDDEN if column in hidden else cell)
            for column, cell in zip(check.columns, row.cells, strict=False)
        ]
        texts = [visible(text) for column, cell in cells for text in (column, cell or "")]
        left -= sum(len(escape(text).encode()) + _MARKUP for text in texts)
        if left < 0:
            return
        yield {
            "row": row.row,
            "id": _HIDDEN if check.settings.get("id") in hidden and row.id else row.id,
            "label": row.label,
            "probability": row.probability,
            "reason": row.reason,
            "cells": cells,
        }


def _rates(check: LabelCheck) -> list[tuple[str, Any]]:
    positive, negative, found = check.positive, check.negative, check.intervals
    return [
        (f"labels “{positive}” that are wrong", found.positive_label_error_rate),
        (f"labels “{negative}” that are wrong", found.negative_label_error_rate),
        (f"true “{positive}” labeled “{negative}”", found.positive_noise_rate),
        (f"true “{negative}” labeled “{positive}”", found.negative_noise_rate),
        (f"share of true “{positive}”", found.estimated_prevalence),
    ]


def _classes(check: LabelCheck) -> list[tuple[str, int, int]]:
    found = check.tally
    return [
        (check.positive, found.n_positive, found.n_positive_suspects),
        (check.negative, found.n_negative, found.n_negative_suspects),
    ]


def _histogram(check: LabelCheck) -> list[tuple[str, int, int]]:
    """Return the histogram in ten bins, few enough to be read."""
    found = check.histogram
    at_once = len(found.positive) // 10
    return [
        (
            f"{i / 10:.1f} to {(i + 1) / 10:.1f}",
            int(found.positive[i * at_once : (i + 1) * at_once].sum()),
            int(found.negative[i * at_once : (i + 1) * at_once].sum()),
        )
        for i in range(10)
    ]


def _curve(check: LabelCheck) -> list[tuple[str, list[tuple[float, float, float, float]]]]:
    """Return both curves at a few places."""
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
