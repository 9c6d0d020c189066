"""Plots in scikit-learn's convention: ``from_predictions``, ``from_estimator``, ``plot``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankprune.core import (
    NoiseRateIntervals,
    estimate_noise_rates,
    noise_rate_intervals,
    prune_labels,
)
from rankprune.core._inputs import validate_inputs
from rankprune.core._registry import DEFAULT_ESTIMATOR, NoiseEstimator
from rankprune.diagnostics._calibration import Calibration, calibration
from rankprune.diagnostics._separability import SeparabilityCurve, separability_curve
from rankprune.probabilities import out_of_fold_probabilities

# Told apart by colour-blind readers too, and readable on white and on black.
_POSITIVE, _NEGATIVE = "#d95f02", "#3182bd"


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise ImportError(
            "Plots need matplotlib, which is not installed. Install rankprune[plot]."
        ) from error
    return plt.subplots(layout="constrained")[1]


class _FromEstimator:
    """The second way to each display: out-of-fold probabilities are computed first."""

    # Of each display; their keywords differ.
    from_predictions: Any
    _draws_rows = False

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        cv: Any = 3,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        pos_label: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Return the display after scoring every row out of fold.

        Parameters
        ----------
        estimator : classifier with ``predict_proba``
            Cloned for each fold, fitted or not: its in-sample scores would hide wrong labels.
        X, y, cv, groups, sample_weight, n_jobs, random_state, pos_label
            As in `out_of_fold_probabilities`.
        **kwargs
            As in ``from_predictions``.
        """
        shared = {"sample_weight": sample_weight, "pos_label": pos_label}
        probabilities = out_of_fold_probabilities(
            estimator,
            X,
            y,
            cv=cv,
            groups=groups,
            n_jobs=n_jobs,
            random_state=random_state,
            **shared,
        )
        if cls._draws_rows:
            kwargs["random_state"] = random_state
        return cls.from_predictions(y, probabilities, **shared, **kwargs)


class SeparabilityDisplay(_FromEstimator):
    """Noise rate against threshold: level ends speak for noise, climbing ones for overlap.

    Parameters
    ----------
    curve : SeparabilityCurve

    Attributes
    ----------
    ax_, figure_
        Where it was drawn last.

    Examples
    --------
    >>> import numpy as np
    >>> from rankprune import flip_labels
    >>> from rankprune.diagnostics import SeparabilityDisplay
    >>> truth = np.repeat([0, 1], 500)
    >>> labels = flip_labels(truth, positive_noise_rate=0.2, negative_noise_rate=0, random_state=0)
    >>> display = SeparabilityDisplay.from_predictions(labels, 0.8 * truth)
    >>> display.ax_.get_ylabel()
    'share of the other label among them'
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
        """Return the display of labels and out-of-fold probabilities, drawn."""
        curve = separability_curve(
            labels, probabilities, level=level, sample_weight=sample_weight, pos_label=pos_label
        )
        return cls(curve).plot(ax=ax)

    def plot(self, ax: Any = None) -> SeparabilityDisplay:
        """Draw both curves with their bands."""
        ax = _axes(ax)
        tops = [0.1]
        for side, color, style, name in (
            (self.curve.positive, _POSITIVE, "-", "positive noise rate (highest scores first)"),
            (self.curve.negative, _NEGATIVE, "--", "negative noise rate (lowest scores first)"),
        ):
            # Beyond the class itself, rows of the other class are certain to come in.
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
            # The first few rows say nothing, and their bands would flatten all the rest.
            tops.extend(side.high[shown & (side.share_of_class >= 0.05)])
        ax.set(
            xlabel="rows beyond the threshold, as a share of the class",
            ylabel="share of the other label among them",
            xlim=(0, 1),
            ylim=(0, min(1.25 * max(tops), 1)),
            title="Separability: level where the scores separate",
        )
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self


class ProbabilityDisplay(_FromEstimator):
    """Histograms of the probabilities by given label, with the cut-offs of the pruning.

    Parameters
    ----------
    positive, negative : ndarray
        Probabilities of the rows with either label.
    positive_weight, negative_weight : ndarray or None
        Weights of those rows.
    positive_cutoff, negative_cutoff : float or None
        Positive labels at or below the one and negative labels at or above the other are pruned.
    positive_threshold, negative_threshold : float or None
        Beyond these a row is confidently positive or negative (LB and UB of the paper).

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
        """Return the display of labels and out-of-fold probabilities, drawn."""
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
        """Draw both histograms on a logarithmic scale, on which a few wrong labels show."""
        ax = _axes(ax)
        edges = np.linspace(0, 1, bins + 1)
        for scores, weight, color, hatch, name in (
            (self.negative, self.negative_weight, _NEGATIVE, None, "labeled negative"),
            (self.positive, self.positive_weight, _POSITIVE, "///", "labeled positive"),
        ):
            ax.hist(scores, edges, weights=weight, color=color, alpha=0.5, hatch=hatch, label=name)
        for place, color, style, name in (
            (self.negative_cutoff, _NEGATIVE, "--", "negative labels pruned from here up"),
            (self.positive_cutoff, _POSITIVE, "-.", "positive labels pruned from here down"),
            (self.negative_threshold, _NEGATIVE, ":", "UB: confidently negative up to here"),
            (self.positive_threshold, _POSITIVE, (0, (1, 4)), "LB: confidently positive from here"),
        ):
            if place is not None:
                ax.axvline(place, color=color, linestyle=style, label=name)
        ax.set(
            xlabel="out-of-fold probability of the positive label",
            ylabel="rows",
            xlim=(0, 1),
            yscale="log",
            title="Probabilities by given label",
        )
        # Below the axes, where no bar can be hidden behind it.
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=2)
        self.ax_, self.figure_ = ax, ax.figure
        return self


class NoiseRateDisplay(_FromEstimator):
    """The four rates with their intervals.

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
    >>> display = NoiseRateDisplay.from_predictions(labels, 0.8 * truth, n_resamples=50)
    >>> display.ax_.get_xlabel().splitlines()[0]
    'share, with 95% intervals over rows drawn again;'
    """

    _draws_rows = True

    def __init__(self, intervals: NoiseRateIntervals) -> None:
        self.intervals = intervals

    @classmethod
    def from_predictions(
        cls,
        labels: ArrayLike,
        probabilities: ArrayLike,
        *,
        method: str | NoiseEstimator = DEFAULT_ESTIMATOR,
        level: float = 0.95,
        n_resamples: int = 200,
        sample_weight: ArrayLike | None = None,
        pos_label: Any = None,
        random_state: Any = None,
        ax: Any = None,
    ) -> NoiseRateDisplay:
        """Return the display of labels and out-of-fold probabilities, drawn."""
        intervals = noise_rate_intervals(
            labels,
            probabilities,
            method=method,
            level=level,
            n_resamples=n_resamples,
            sample_weight=sample_weight,
            pos_label=pos_label,
            random_state=random_state,
        )
        return cls(intervals).plot(ax=ax)

    def plot(self, ax: Any = None) -> NoiseRateDisplay:
        """Draw the rates as points with bars, and what the bars cover below them."""
        ax = _axes(ax)
        found = self.intervals
        rows = (
            ("negative labels\nthat are wrong", found.negative_label_error_rate, _NEGATIVE, "s"),
            ("positive labels\nthat are wrong", found.positive_label_error_rate, _POSITIVE, "o"),
            ("true negatives\nlabeled positive", found.negative_noise_rate, _NEGATIVE, "s"),
            ("true positives\nlabeled negative", found.positive_noise_rate, _POSITIVE, "o"),
        )
        most = max(0.1, *(interval.high for _, interval, _, _ in rows))
        for height, (_, interval, color, marker) in enumerate(rows):
            ax.plot([interval.low, interval.high], [height, height], color=color, linewidth=4)
            ax.plot(interval.estimate, height, marker, color=color, markersize=9)
            ax.annotate(
                f"{interval.estimate:.1%}",
                (interval.estimate, height),
                xytext=(0, 8),
                textcoords="offset points",
                # Near the frame a text would run across it.
                ha="left" if interval.estimate < 0.05 * most else "center",
            )
        ax.set(
            yticks=range(len(rows)),
            yticklabels=[name for name, _, _, _ in rows],
            ylim=(-0.5, len(rows) - 0.3),
            xlim=(-0.03 * most, 1.1 * most),
            xlabel=f"share, with {found.level:.0%} intervals over rows drawn again;\n"
            "they do not cover a bias of the model",
            title="Noise rates" if found.reliable else "Noise rates (not reliable)",
        )
        ax.xaxis.set_major_formatter(lambda share, _: f"{100 * share:g}%")
        self.ax_, self.figure_ = ax, ax.figure
        return self


class CalibrationDisplay(_FromEstimator):
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
        """Return the display of labels and out-of-fold probabilities, drawn."""
        found = calibration(
            labels, probabilities, n_bins=n_bins, sample_weight=sample_weight, pos_label=pos_label
        )
        return cls(found).plot(ax=ax)

    def plot(self, ax: Any = None) -> CalibrationDisplay:
        """Draw the shares with their bands, and the line on which calibrated ones lie."""
        ax = _axes(ax)
        found = self.calibration
        ax.plot([0, 1], [0, 1], color=_NEGATIVE, linestyle="--", label="as often as predicted")
        ax.errorbar(
            found.mean_probability,
            found.share_positive,
            yerr=[found.share_positive - found.low, found.high - found.share_positive],
            color=_POSITIVE,
            marker="o",
            capsize=3,
            label="given labels",
        )
        ax.set(
            xlabel="out-of-fold probability of the positive label",
            ylabel="share of positive labels",
            xlim=(0, 1),
            ylim=(0, 1),
            title="Calibration, against the given labels",
        )
        ax.legend(loc="upper left")
        self.ax_, self.figure_ = ax, ax.figure
        return self


class ComparisonDisplay:
    """One bar per method.

    Parameters
    ----------
    values : dict of str to float
        By the name of each method, from top to bottom.
    name : str
        What they are.

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
        ax = _axes(ax)
        names, values = list(self.values)[::-1], list(self.values.values())[::-1]
        bars = ax.barh(names, values, color=_NEGATIVE)
        ax.bar_label(bars, fmt="%.3f", padding=3)
        low, high = min(0.0, *values), max(0.0, *values)
        ax.set(xlabel=self.name, xlim=(1.15 * low, 1.15 * high or 1.0))
        self.ax_, self.figure_ = ax, ax.figure
        return self
