"""Draw the displays of the library as SVG in the colours of the page."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from rankprune.diagnostics import (
    CalibrationDisplay,
    NoiseRateDisplay,
    ProbabilityDisplay,
    SeparabilityDisplay,
)
from rankprune.diagnostics._display import BLUE
from rankprune.diagnostics._noise_rate_display import GRAY
from rankprune.run import LabelCheck
from rankprune.run._sentences import n_judged, range_before_words, wrong_share_words
from rankprune.run._words import count

# Placeholder for the text colour of the page, replaced by ``currentColor``; no plot uses this
# colour for anything else.
_INK = "#010203"
_RC: dict[Any, Any] = {
    "svg.fonttype": "path",
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
    judged = {"judged": _svg("judged", lambda ax: draw_ranges(check, ax), 1.7)}
    return {
        **(judged if n_judged(check) else {}),
        "rates": _svg("rates", rates.plot, 3.6),
        "probabilities": _svg(
            "probabilities", lambda ax: probabilities.plot(ax, bins=len(bins)), 3.9
        ),
        "separability": _svg("separability", SeparabilityDisplay(check.separability).plot, 3.3),
        "calibration": _svg("calibration", CalibrationDisplay(check.calibration).plot, 3.3),
    }


def draw_ranges(check: LabelCheck, ax: Any) -> None:
    """Draw the range of the share of wrong labels before rows were judged, and the one after."""
    before = check.estimated_rates.intervals
    assert before is not None  # estimated rates have some
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


def _svg(name: str, plot: Callable[[Any], Any], height: float) -> str:
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "The report needs matplotlib, which is not installed. Install rankprune[cli]."
        ) from error
    text = io.StringIO()
    # A fixed salt makes the identifiers reproducible.
    with matplotlib.rc_context({**_RC, "svg.hashsalt": name}):
        figure = Figure(figsize=(5.6, height), layout="constrained")
        plot(figure.subplots())
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    return _inlined(text.getvalue(), name)


def _inlined(svg: str, name: str) -> str:
    """Return the SVG element alone, with the page's text colour and unique identifiers."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = svg.replace(_INK, "currentColor")
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', svg)
    svg = re.sub(r'href="#([^"]+)"', rf'href="#{name}-\1"', svg)
    svg = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", svg)
    # Without width and height, the picture fills its container; the caption labels it.
    return re.sub(
        r'<svg [^>]*?(viewBox="[^"]+")[^>]*>',
        rf'<svg \1 role="img" aria-labelledby="{name}-title" xmlns="http://www.w3.org/2000/svg" '
        r'xmlns:xlink="http://www.w3.org/1999/xlink">',
        svg,
        count=1,
    ).strip()
