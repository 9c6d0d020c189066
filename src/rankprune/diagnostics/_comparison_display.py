"""The plot of one metric of the compared methods."""

from __future__ import annotations

from typing import Any

from rankprune.diagnostics._display import BLUE, Display


class ComparisonDisplay(Display):
    """One bar per method.

    Parameters
    ----------
    values : dict of str to float
        Values by name of the method, from top to bottom.
    name : str
        Name of the values, used as the axis label.

    Examples
    --------
    >>> from rankprune.diagnostics import ComparisonDisplay
    >>> display = ComparisonDisplay({"noisy labels": 0.72, "Rank Pruning": 0.86}, "F1").plot()
    >>> display.ax_.get_xlabel()
    'F1'
    """

    def __init__(self, values: dict[str, float], name: str) -> None:
        self.values = values
        self.name = name

    def plot(self, ax: Any = None) -> ComparisonDisplay:
        """Draw the bars, each with its value."""
        ax = self._draw_on(ax)
        names, values = list(self.values)[::-1], list(self.values.values())[::-1]
        bars = ax.barh(names, values, color=BLUE)
        ax.bar_label(bars, fmt="%.3f", padding=3)
        low, high = min(0.0, *values), max(0.0, *values)
        ax.set(xlabel=self.name, xlim=(1.15 * low, 1.15 * high or 1.0))
        return self
