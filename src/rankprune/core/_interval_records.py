"""An estimate with its interval, and those of all noise rates: frozen records without any counting.

What an interval covers is one word; the sentence behind each word is in `_verdict_reasons`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from rankprune.core._verdict_reasons import NOT_RELIABLE, coverage_line, interval_text

# What the intervals of noise rates cover: the truth, what chance in the rows can do, what chance in
# rows, folds and models can do, or the truth given rows that people judged.
TRUTH, ROWS, REFITS, JUDGED = "truth", "rows", "refits", "judged rows"
# Level of the intervals that rates carry.
LEVEL = 0.95


@dataclass(frozen=True)
class Interval:
    """An estimate with its interval.

    Attributes
    ----------
    estimate, low, high : float
        The estimate and the limits of the interval, which always contains the estimate.
    covers : str
        What the interval covers. For noise rates it is one word: ``"truth"`` (the true rate, with
        noise of the kinds that the estimator was trained on), ``"rows"`` (only the random choice
        of the rows), ``"refits"`` (that, and the models fitted to them) or ``"judged rows"`` (the
        true rate, given the model and the rows that people judged).

    Examples
    --------
    >>> from rankprune.core import Interval
    >>> print(Interval(0.1, 0.08, 0.13, covers="rows"))
    10.0% (8.0% to 13.0%)
    """

    estimate: float
    low: float
    high: float
    covers: str

    def __str__(self) -> str:
        return interval_text(self.estimate, self.low, self.high)


@dataclass(frozen=True)
class NoiseRateIntervals:
    """Intervals of the share of wrong labels, the four rates and the true prevalence.

    Attributes
    ----------
    wrong_share : Interval
        Share of all labels that are wrong.
    positive_noise_rate, negative_noise_rate : Interval
    positive_label_error_rate, negative_label_error_rate : Interval
    estimated_prevalence : Interval
    level : float
        Confidence level, meant for each interval separately: the share of such intervals that
        contain the true value, as far as they cover what can go wrong.
    n_resamples : int
        Number of bootstrap resamples; 0 if the intervals do not come from resamples.
    reliable : bool
        False if the probabilities do not tell the labels apart.

    Examples
    --------
    >>> import numpy as np
    >>> from rankprune import flip_labels, noise_rate_intervals
    >>> truth = np.repeat([0, 1], 500)
    >>> labels = flip_labels(truth, positive_noise_rate=0.2, negative_noise_rate=0, random_state=0)
    >>> found = noise_rate_intervals(labels, 0.8 * truth)
    >>> found.positive_noise_rate.low < 0.2 < found.positive_noise_rate.high
    True
    """

    wrong_share: Interval
    positive_noise_rate: Interval
    negative_noise_rate: Interval
    positive_label_error_rate: Interval
    negative_label_error_rate: Interval
    estimated_prevalence: Interval
    level: float
    n_resamples: int = 0
    reliable: bool = True

    @property
    def covers(self) -> str:
        """Return what the intervals cover."""
        return self.wrong_share.covers

    def __str__(self) -> str:
        lines = [f"{name.replace('_', ' ')}: {interval}" for name, interval in self.items()]
        lines.append(coverage_line(self.level, self.covers))
        if not self.reliable:
            lines.append(NOT_RELIABLE)
        return "\n".join(lines)

    def items(self) -> list[tuple[str, Interval]]:
        """Return the name and the interval of each rate."""
        return [(name, getattr(self, name)) for name in WITH_INTERVALS]


# What intervals are about, in the order of the fields.
WITH_INTERVALS = tuple(
    field.name for field in fields(NoiseRateIntervals) if field.type == Interval.__name__
)
