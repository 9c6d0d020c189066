"""Draw the displays of the library as SVG in the colours of the page."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from rankprune.core._label_values import short_name
from rankprune.diagnostics import (
    CalibrationDisplay,
    NoiseMatrixDisplay,
    NoiseRateDisplay,
    ProbabilityDisplay,
    SeparabilityDisplay,
)
from rankprune.diagnostics._display import BLUE, GRAY, draw_interval
from rankprune.run import ClassCheck, LabelCheck
from rankprune.run._check_record import CheckRecord
from rankprune.run._class_sentences import most_often_wrong
from rankprune.run._sentences import n_judged, range_before_words, wrong_share_words
from rankprune.run._visible import visible_label
from rankprune.run._words import count, percent

# Labels that a plot shows of many.
MOST_PLOTTED = 20

# Placeholder for the text colour of the page, replaced by ``currentColor``; no plot uses this
# colour for anything else.
_INK = "#010203"
_RC: dict[Any, Any] = {
    "axes.edgecolor": _INK,
    "axes.labelcolor": _INK,
    "text.color": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "legend.facecolor": "none",
    "legend.framealpha": 0.0,
    "legend.edgecolor": "none",
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "legend.fontsize": 7.5,
    "font.family": ["DejaVu Sans"],
}


def draw_plots(check: LabelCheck) -> dict[str, str]:
    """Return the plots of a check by name, each as the text of an SVG element."""
    bins = np.asarray(check.histogram.positive)
    middles = (np.arange(len(bins)) + 0.5) / len(bins)
    probabilities = ProbabilityDisplay(
        middles,
        middles,
        positive_weight=check.histogram.positive,
        negative_weight=check.histogram.negative,
        positive_cutoff=check.positive_cutoff,
        negative_cutoff=check.negative_cutoff,
        positive_threshold=check.confident.positive_threshold,
        negative_threshold=check.confident.negative_threshold,
    )
    rates = NoiseRateDisplay(check.intervals)
    return {
        **_plot_of_judged(check),
        "rates": _svg("rates", rates.plot, 3.6),
        "probabilities": _svg(
            "probabilities", lambda ax: probabilities.plot(ax, bins=len(bins)), 3.9
        ),
        "separability": _svg("separability", SeparabilityDisplay(check.separability).plot, 3.3),
        "calibration": _svg("calibration", CalibrationDisplay(check.calibration).plot, 3.3),
    }


def draw_class_plots(check: ClassCheck) -> dict[str, str]:
    """Return the plots of a check of many labels by name, each as the text of an SVG element.

    There is no heat map if no label is counted as wrong.
    """
    n_shown = min(len(check.classes), MOST_PLOTTED)
    plots = {
        **_plot_of_judged(check),
        "labels": _svg("labels", lambda ax: draw_labels(check, ax), 1.1 + 0.25 * n_shown, "none"),
    }
    if not check.confusions():
        return plots
    matrix = NoiseMatrixDisplay(
        check.noise_matrix,
        max_classes=MOST_PLOTTED,
        display_labels=_names(check),
    )
    height = 1.2 + 0.25 * max(n_shown, 5) + 0.05 * max(map(len, matrix.display_labels))
    return {**plots, "matrix": _svg("matrix", matrix.plot, height, "none")}


def _plot_of_judged(check: CheckRecord) -> dict[str, str]:
    if not n_judged(check):
        return {}
    return {"judged": _svg("judged", lambda ax: draw_ranges(check, ax), 1.7)}


def _names(check: ClassCheck) -> list[str]:
    """Return the labels as text that is short enough for plots."""
    return [short_name(visible_label(name), 24) for name in check.classes]


def draw_labels(check: ClassCheck, ax: Any) -> None:
    """Draw the share of wrong labels: of all, and of those that are most often wrong."""
    rates, names = check.intervals.error_rates, _names(check)
    shown = most_often_wrong(check)[:MOST_PLOTTED]
    rows = [
        *((names[k], rates[k], BLUE, "s") for k in reversed(shown)),
        ("all labels", check.wrong_share_interval, GRAY, "D"),
    ]
    most = max(0.1, *(interval.high for _, interval, _, _ in rows))
    for height, (_, interval, color, marker) in enumerate(rows):
        draw_interval(ax, interval, height, color, marker, size=8)
        ax.annotate(
            percent(interval.estimate),
            (interval.high, height),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
        )
    ax.set(
        ylim=(-0.6, len(rows) - 0.4),
        xlim=(-0.03 * most, 1.15 * most),
        xlabel=f"share that is wrong, with {check.intervals.level:.0%} ranges",
    )
    ax.set_yticks(range(len(rows)), [name for name, _, _, _ in rows], parse_math=False)
    ax.xaxis.set_major_formatter(lambda share, _: f"{100 * share:g}%")


def draw_ranges(check: CheckRecord, ax: Any) -> None:
    """Draw the range of the share of wrong labels before rows were judged, and the one after."""
    before = check.estimated_intervals
    after = check.wrong_share_interval
    rows = (
        (1, before.wrong_share, GRAY, range_before_words(check)),
        (0, after, BLUE, wrong_share_words(check)[0]),
    )
    most = max(before.wrong_share.high, after.high)
    for height, interval, color, words in rows:
        ends = [interval.low, interval.high]
        ax.plot(ends, [height, height], color=color, linewidth=7, solid_capstyle="butt")
        ax.annotate(
            words,
            ((interval.low + interval.high) / 2, height),
            xytext=(0, 7),
            textcoords="offset points",
            ha="center",
        )
    ax.plot(after.estimate, 0, "D", color=_INK, markersize=6)
    ax.set(
        yticks=(1, 0),
        yticklabels=("before", f"after {count(n_judged(check), 'judged row')}"),
        ylim=(-0.5, 1.7),
        # So wide that no words cross the frame.
        xlim=(-0.12 * most, 1.12 * most),
        xlabel="labels that are wrong",
    )
    ax.xaxis.set_major_formatter(lambda share, _: f"{100 * share:g}%" if share > -1e-9 else "")


def _svg(
    name: str,
    plot: Callable[[Any], Any],
    height: float,
    fonttype: Literal["path", "none"] = "path",
) -> str:
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "The report needs matplotlib, which is not installed. Install rankprune[cli]."
        ) from error
    text = io.StringIO()
    # A fixed salt makes the identifiers reproducible.
    rc = {**_RC, "svg.fonttype": fonttype, "svg.hashsalt": name}
    with matplotlib.rc_context(rc), warnings.catch_warnings():
        # Letters of other scripts: the browser has them.
        warnings.filterwarnings("ignore", "Glyph")
        figure = Figure(figsize=(5.6, height), layout="constrained")
        plot(figure.subplots())
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    return _inlined(text.getvalue(), name)


def _inlined(svg: str, name: str) -> str:
    """Return the SVG element alone, with the page's text colour and unique identifiers."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    # Tags alone: names of labels may hold anything.
    svg = re.sub(r"<[^>]+>", lambda tag: _own_tag(tag[0], name), svg)
    # Without width and height, the picture fills its container; the caption labels it.
    return re.sub(
        r'<svg [^>]*?(viewBox="[^"]+")[^>]*>',
        rf'<svg \1 role="img" aria-labelledby="{name}-title" xmlns="http://www.w3.org/2000/svg" '
        r'xmlns:xlink="http://www.w3.org/1999/xlink">',
        svg,
        count=1,
    ).strip()


def _own_tag(tag: str, name: str) -> str:
    """Return a tag with the page's text colour and unique identifiers."""
    tag = tag.replace(_INK, "currentColor")
    tag = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', tag)
    tag = re.sub(r'href="#([^"]+)"', rf'href="#{name}-\1"', tag)
    return re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", tag)
