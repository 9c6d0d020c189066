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
from rankprune.run import LabelCheck

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
    return {
        "rates": _svg("rates", rates.plot, 3.6),
        "probabilities": _svg(
            "probabilities", lambda ax: probabilities.plot(ax, bins=len(bins)), 3.9
        ),
        "separability": _svg("separability", SeparabilityDisplay(check.separability).plot, 3.3),
        "calibration": _svg("calibration", CalibrationDisplay(check.calibration).plot, 3.3),
    }


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
