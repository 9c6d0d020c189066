"""Code shared by the displays: axes, colours and displays made from an estimator."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from rankprune.core import Interval
from rankprune.learners._probabilities import out_of_fold_probabilities

# Positive and negative: distinct to colour-blind readers too, and readable on white and on black.
ORANGE, BLUE = "#d95f02", "#3182bd"
# What belongs to no label, or to all.
GRAY = "#767676"


class Display:
    """A plot that stores the axes it was last drawn on."""

    ax_: Any
    figure_: Any

    def _draw_on(self, ax: Any) -> Any:
        """Return the axes to draw on, new ones if ``ax`` is None, and store them."""
        if ax is None:
            try:
                from matplotlib import pyplot as plt
            except ImportError as error:
                raise ImportError(
                    "Plots need matplotlib, which is not installed. Install rankprune[plot]."
                ) from error
            ax = plt.subplots(layout="constrained")[1]
        if not hasattr(ax, "figure"):
            raise TypeError(
                f"ax must be axes of matplotlib or None, got {type(ax).__name__}. Pass one of "
                "plt.subplots(), or None for new axes."
            )
        self.ax_, self.figure_ = ax, ax.figure
        return ax


def draw_interval(
    ax: Any, interval: Interval, height: float, color: str, marker: str, *, size: float
) -> None:
    """Draw an interval as a bar, and its estimate as a marker of a size, at a height."""
    ax.plot([interval.low, interval.high], [height, height], color=color, linewidth=4)
    ax.plot(interval.estimate, height, marker, color=color, markersize=size)


class ScoresDisplay(Display):
    """A display of labels and probabilities, made from these or from an estimator."""

    # Defined by each display, because the keywords differ.
    from_predictions: Any
    # Whether from_predictions takes a random_state.
    _is_random = False

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
        """Return the display, after scoring every row out of fold and drawing it.

        Parameters
        ----------
        estimator : classifier with ``predict_proba``
            Cloned and fitted for each fold; in-sample scores would hide wrong labels.
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
        if cls._is_random:
            kwargs["random_state"] = random_state
        return cls.from_predictions(y, probabilities, **shared, **kwargs)
