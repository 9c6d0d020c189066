"""The plot of the separability curve."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from rankprune.diagnostics._display import BLUE, ORANGE, ScoresDisplay
from rankprune.diagnostics._separability import SeparabilityCurve, separability_curve


class SeparabilityDisplay(ScoresDisplay):
    """Noise rate against threshold: flat ends suggest noise, rising ends suggest overlap.

    Parameters
    ----------
    curve : SeparabilityCurve

    Attributes
    ----------
    ax_, figure_
        Axes and figure that it was last drawn on.

    Examples
    --------
    >>> import numpy as np
    >>> from rankprune import flip_labels
    >>> from rankprune.diagnostics import SeparabilityDisplay
    >>> truth = np.repeat([0, 1], 500)
    >>> labels = flip_labels(truth, positive_noise_rate=0.2, negative_noise_rate=0, random_state=0)
    >>> display = SeparabilityDisplay.from_predictions(labels, 0.8 * truth)
    >>> display.ax_.get_ylabel()
    'share of these rows with the other label'
    """

    def __init__(self, curve: SeparabilityCurve) -> None:
        self.curve = curve

    @classmethod
    def from_predictions(
        cls,
        labels: ArrayLike,
        probabilities: ArrayLike,
        *,
        level: float = 0.95,
        sample_weight: ArrayLike | None = None,
        pos_label: Any = None,
        ax: Any = None,
    ) -> SeparabilityDisplay:
        """Return the display of labels and out-of-fold probabilities, after drawing it."""
        curve = separability_curve(
            labels, probabilities, level=level, sample_weight=sample_weight, pos_label=pos_label
        )
        return cls(curve).plot(ax=ax)

    def plot(self, ax: Any = None) -> SeparabilityDisplay:
        """Draw both curves with their bands."""
        ax = self._draw_on(ax)
        tops = [0.1]
        for side, color, style, name in (
            (
                self.curve.positive,
                ORANGE,
                "-",
                "positive noise rate (highest scores first)",
            ),
            (
                self.curve.negative,
                BLUE,
                "--",
                "negative noise rate (lowest scores first)",
            ),
        ):
            # Past the size of the class, rows of the other class are certain to be included.
            shown = side.share_of_class <= 1
            ax.plot(
                side.share_of_class[shown],
                side.noise_rate[shown],
                color=color,
                linestyle=style,
                label=name,
            )
            ax.fill_between(
                side.share_of_class[shown],
                side.low[shown],
                side.high[shown],
                color=color,
                alpha=0.2,
                linewidth=0,
            )
            # The first few rows show little, and their wide bands would flatten the rest.
            tops.extend(side.high[shown & (side.share_of_class >= 0.05)])
        ax.set(
            xlabel="rows beyond the threshold, as a share of the class",
            ylabel="share of these rows with the other label",
            xlim=(0, 1),
            ylim=(0, min(1.25 * max(tops), 1)),
            title="Separability: flat where the scores separate the classes",
        )
        ax.legend()
        return self
