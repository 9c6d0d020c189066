"""The plot of the noise rates with their intervals."""

from __future__ import annotations

from typing import Any, Literal

from numpy.typing import ArrayLike

from rankprune.core import NoiseRateIntervals, noise_rate_intervals
from rankprune.core._interval_records import JUDGED, REFITS, ROWS, TRUTH
from rankprune.core.estimators._registry import NoiseEstimator
from rankprune.diagnostics._display import BLUE, GRAY, ORANGE, ScoresDisplay, draw_interval

# What intervals cover, in the label of the axis.
_RESAMPLED = "from resampled rows;\nthey do not cover the model's bias"
_COVERED = {
    TRUTH: "of the truth, for noise\nlike that the estimator was trained on",
    JUDGED: "of the truth,\nby the model and the rows that people judged",
    ROWS: _RESAMPLED,
    REFITS: _RESAMPLED,
}
_BY_ANSWERS = "of the truth,\nby the rows that people judged alone"


class NoiseRateDisplay(ScoresDisplay):
    """The share of wrong labels and the four rates, with their intervals.

    Parameters
    ----------
    intervals : NoiseRateIntervals

    Examples
    --------
    >>> import numpy as np
    >>> from rankprune import flip_labels
    >>> from rankprune.diagnostics import NoiseRateDisplay
    >>> truth = np.repeat([0, 1], 500)
    >>> labels = flip_labels(truth, positive_noise_rate=0.2, negative_noise_rate=0, random_state=0)
    >>> display = NoiseRateDisplay.from_predictions(labels, 0.8 * truth)
    >>> display.ax_.get_xlabel().splitlines()[0]
    'share, with 95% intervals of the truth, for noise'
    """

    _is_random = True

    def __init__(self, intervals: NoiseRateIntervals) -> None:
        self.intervals = intervals

    @classmethod
    def from_predictions(
        cls,
        labels: ArrayLike,
        probabilities: ArrayLike,
        *,
        method: str | NoiseEstimator | None = None,
        covers: Literal["truth", "rows"] = "truth",
        level: float = 0.95,
        n_resamples: int = 200,
        sample_weight: ArrayLike | None = None,
        pos_label: Any = None,
        random_state: Any = None,
        ax: Any = None,
    ) -> NoiseRateDisplay:
        """Return the display of labels and out-of-fold probabilities, after drawing it."""
        intervals = noise_rate_intervals(
            labels,
            probabilities,
            method=method,
            covers=covers,
            level=level,
            n_resamples=n_resamples,
            sample_weight=sample_weight,
            pos_label=pos_label,
            random_state=random_state,
        )
        return cls(intervals).plot(ax=ax)

    def plot(self, ax: Any = None) -> NoiseRateDisplay:
        """Draw the rates as points with bars; the axis label states what they do not cover."""
        ax = self._draw_on(ax)
        found = self.intervals
        rows = (
            (
                "negative labels\nthat are wrong",
                found.negative_label_error_rate,
                BLUE,
                "s",
            ),
            (
                "positive labels\nthat are wrong",
                found.positive_label_error_rate,
                ORANGE,
                "o",
            ),
            ("true negatives\nlabeled positive", found.negative_noise_rate, BLUE, "s"),
            ("true positives\nlabeled negative", found.positive_noise_rate, ORANGE, "o"),
            ("labels\nthat are wrong", found.wrong_share, GRAY, "D"),
        )
        most = max(0.1, *(interval.high for _, interval, _, _ in rows))
        for height, (_, interval, color, marker) in enumerate(rows):
            draw_interval(ax, interval, height, color, marker, size=9)
            ax.annotate(
                f"{interval.estimate:.1%}",
                (interval.estimate, height),
                xytext=(0, 8),
                textcoords="offset points",
                # Near the frame, centred text would cross it.
                ha="left" if interval.estimate < 0.05 * most else "center",
            )
        covered = _COVERED.get(found.covers, _BY_ANSWERS)
        ax.set(
            yticks=range(len(rows)),
            yticklabels=[name for name, _, _, _ in rows],
            ylim=(-0.5, len(rows) - 0.3),
            xlim=(-0.03 * most, 1.1 * most),
            xlabel=f"share, with {found.level:.0%} intervals {covered}",
            title="Noise rates" if found.reliable else "Noise rates (not reliable)",
        )
        ax.xaxis.set_major_formatter(lambda share, _: f"{100 * share:g}%")
        return self
