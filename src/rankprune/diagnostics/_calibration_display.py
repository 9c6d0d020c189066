"""The plot of the calibration."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from rankprune.diagnostics._calibration import Calibration, calibration
from rankprune.diagnostics._display import BLUE, ORANGE, ScoresDisplay


class CalibrationDisplay(ScoresDisplay):
    """Share of positive labels against probability, in bins of rows with similar probabilities.

    Parameters
    ----------
    calibration : Calibration

    Examples
    --------
    >>> import numpy as np
    >>> from rankprune import flip_labels
    >>> from rankprune.diagnostics import CalibrationDisplay
    >>> truth = np.repeat([0, 1], 500)
    >>> labels = flip_labels(truth, positive_noise_rate=0.2, negative_noise_rate=0, random_state=0)
    >>> display = CalibrationDisplay.from_predictions(labels, 0.8 * truth)
    >>> display.ax_.get_xlabel()
    'out-of-fold probability of the positive label'
    """

    def __init__(self, calibration: Calibration) -> None:
        self.calibration = calibration

    @classmethod
    def from_predictions(
        cls,
        labels: ArrayLike,
        probabilities: ArrayLike,
        *,
        n_bins: int = 10,
        sample_weight: ArrayLike | None = None,
        pos_label: Any = None,
        ax: Any = None,
    ) -> CalibrationDisplay:
        """Return the display of labels and out-of-fold probabilities, after drawing it."""
        found = calibration(
            labels, probabilities, n_bins=n_bins, sample_weight=sample_weight, pos_label=pos_label
        )
        return cls(found).plot(ax=ax)

    def plot(self, ax: Any = None) -> CalibrationDisplay:
        """Draw the shares with their confidence bands, and the line of perfect calibration."""
        ax = self._draw_on(ax)
        found = self.calibration
        ax.plot([0, 1], [0, 1], color=BLUE, linestyle="--", label="perfect calibration")
        ax.errorbar(
            found.mean_probability,
            found.share_positive,
            yerr=[found.share_positive - found.low, found.high - found.share_positive],
            color=ORANGE,
            marker="o",
            capsize=3,
            label="given labels",
        )
        ax.set(
            xlabel="out-of-fold probability of the positive label",
            ylabel="share of positive labels",
            xlim=(0, 1),
            ylim=(0, 1),
            title="Calibration against the given labels",
        )
        ax.legend(loc="upper left")
        return self
