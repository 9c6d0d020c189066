"""What only the report of a check of two labels shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rankprune.report._plots import draw_plots
from rankprune.run import LabelCheck
from rankprune.run._answers_sentences import (
    ANNOTATORS_NOTE,
    WRONG_NOTE,
    answers_lines,
    wrong_rows,
)
from rankprune.run._repeated_answers import AnnotatorRow
from rankprune.run._sentences import rate_names

_MAX_ANNOTATORS = 100


def values_of_two(check: LabelCheck) -> dict[str, Any]:
    """Return what fills the blocks of ``two_labels.html``."""
    from markupsafe import Markup

    return {
        "plots": {name: Markup(svg) for name, svg in draw_plots(check).items()},
        "rates": _rates(check),
        "classes": _classes(check),
        "answers_lines": [line for line in answers_lines(check) if line],
        "wrong_rows": wrong_rows(check),
        "wrong_note": WRONG_NOTE,
        "annotators": _annotators(check),
        "annotators_note": ANNOTATORS_NOTE,
        "histogram": _histogram(check),
        "curve": _curve(check),
        "calibration": _calibration(check),
    }


def _rates(check: LabelCheck) -> list[tuple[str, Any]]:
    names = {**rate_names(check), "estimated_prevalence": f"share of true “{check.positive}”"}
    return [(name, getattr(check.intervals, rate)) for rate, name in names.items()]


def _annotators(check: LabelCheck) -> Sequence[AnnotatorRow]:
    found = check.repeated_answers
    return () if found is None else found.annotators[:_MAX_ANNOTATORS]


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
