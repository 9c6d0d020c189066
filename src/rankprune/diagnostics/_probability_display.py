"""The plot of the probabilities by given label."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankprune.core import estimate_noise_rates, prune_labels
from rankprune.core._inputs import validate_inputs
from rankprune.core.estimators._registry import DEFAULT_ESTIMATOR, NoiseEstimator
from rankprune.diagnostics._display import BLUE, ORANGE, ScoresDisplay


class ProbabilityDisplay(ScoresDisplay):
    """Histograms of the probabilities by given label, with the pruning cut-offs.

    Parameters
    ----------
    positive, negative : ndarray
        Probabilities of the rows with each label.
    positive_weight, negative_weight : ndarray or None
        Weights of those rows.
    positive_cutoff, negative_cutoff : float or None
        Positive labels at or below the first and negative labels at or above the second are pruned.
    positive_threshold, negative_threshold : float or None
        Beyond these, a row counts as confidently positive or negative (LB and UB in the paper).

    Examples
    --------
    >>> import numpy as np
    >>> from rankprune import flip_labels
    >>> from rankprune.diagnostics import ProbabilityDisplay
    >>> truth = np.repeat([0, 1], 500)
    >>> labels = flip_labels(truth, positive_noise_rate=0.2, negative_noise_rate=0, random_state=0)
    >>> display = ProbabilityDisplay.from_predictions(labels, 0.8 * truth)
    >>> display.ax_.get_xlabel()
    'out-of-fold probability of the positive label'
    """

    def __init__(
        self,
        positive: NDArray[np.float64],
        negative: NDArray[np.float64],
        *,
        positive_weight: NDArray[np.float64] | None = None,
        negative_weight: NDArray[np.float64] | None = None,
        positive_cutoff: float | None = None,
        negative_cutoff: float | None = None,
        positive_threshold: float | None = None,
        negative_threshold: float | None = None,
    ) -> None:
        self.positive = positive
        self.negative = negative
        self.positive_weight = positive_weight
        self.negative_weight = negative_weight
        self.positive_cutoff = positive_cutoff
        self.negative_cutoff = negative_cutoff
        self.positive_threshold = positive_threshold
        self.negative_threshold = negative_threshold

    @classmethod
    def from_predictions(
        cls,
        labels: ArrayLike,
        probabilities: ArrayLike,
        *,
        method: str | NoiseEstimator = DEFAULT_ESTIMATOR,
        sample_weight: ArrayLike | None = None,
        pos_label: Any = None,
        ax: Any = None,
    ) -> ProbabilityDisplay:
        """Return the display of labels and out-of-fold probabilities, after drawing it."""
        inputs = validate_inputs(
            labels, probabilities, sample_weight=sample_weight, pos_label=pos_label
        )
        is_positive, weight = inputs.is_positive, inputs.sample_weight
        scores = np.asarray(inputs.probabilities, dtype=np.float64)
        rates = estimate_noise_rates(is_positive, scores, method=method, sample_weight=weight)
        pruning = prune_labels(is_positive, scores, rates, sample_weight=weight)
        display = cls(
            scores[is_positive],
            scores[~is_positive],
            positive_weight=None if weight is None else weight[is_positive],
            negative_weight=None if weight is None else weight[~is_positive],
            positive_cutoff=pruning.positive_cutoff,
            negative_cutoff=pruning.negative_cutoff,
        )
        return display.plot(ax=ax)

    def plot(self, ax: Any = None, *, bins: int = 50) -> ProbabilityDisplay:
        """Draw both histograms on a logarithmic scale, so that a few wrong labels are visible."""
        ax = self._draw_on(ax)
        edges = np.linspace(0, 1, bins + 1)
        for scores, weight, color, hatch, name in (
            (self.negative, self.negative_weight, BLUE, None, "labeled negative"),
            (self.positive, self.positive_weight, ORANGE, "///", "labeled positive"),
        ):
            ax.hist(scores, edges, weights=weight, color=color, alpha=0.5, hatch=hatch, label=name)
        for position, color, style, name in (
            (self.negative_cutoff, BLUE, "--", "negative labels pruned from here up"),
            (self.positive_cutoff, ORANGE, "-.", "positive labels pruned from here down"),
            (self.negative_threshold, BLUE, ":", "UB: confidently negative up to here"),
            (
                self.positive_threshold,
                ORANGE,
                (0, (1, 4)),
                "LB: confidently positive from here",
            ),
        ):
            if position is not None:
                ax.axvline(position, color=color, linestyle=style, label=name)
        ax.set(
            xlabel="out-of-fold probability of the positive label",
            ylabel="rows",
            xlim=(0, 1),
            yscale="log",
            title="Probabilities by given label",
        )
        # Below the axes, where it hides no bar.
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=2)
        return self
