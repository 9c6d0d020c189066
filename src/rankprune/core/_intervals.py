"""How sure the noise rates are: intervals by resampling, each naming the chance that it covers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankprune.core._inputs import BoolArray, Inputs, validate_inputs, validate_level
from rankprune.core._noise_rates import NoiseRates, possible_noise_rates
from rankprune.core._random import RandomState, as_generator
from rankprune.core._registry import (
    DEFAULT_ESTIMATOR,
    NoiseEstimator,
    estimate_unknown_rates,
    find_noise_estimator,
)

OVER_ROWS = (
    "which rows were drawn, with the probabilities as they are; not the error of the model that "
    "gave them"
)
OVER_REFITS = (
    "which rows were drawn, and the folds and models fitted to them; not a kind of model that "
    "cannot tell the classes apart"
)


@dataclass(frozen=True)
class Interval:
    """An estimate with its interval.

    Attributes
    ----------
    estimate, low, high : float
        The interval holds the estimate.
    covers : str
        The chance that the interval accounts for, and what it leaves out.
    """

    estimate: float
    low: float
    high: float
    covers: str

    def __str__(self) -> str:
        return f"{self.estimate:.1%} ({self.low:.1%} to {self.high:.1%})"


@dataclass(frozen=True)
class NoiseRateIntervals:
    """Intervals of the noise rates, the label error rates and the true prevalence.

    Attributes
    ----------
    positive_noise_rate, negative_noise_rate : Interval
    positive_label_error_rate, negative_label_error_rate : Interval
    estimated_prevalence : Interval
    level : float
        The share of such intervals that would hold the rate, if nothing but the chance they cover
        were at work.
    n_resamples : int
    reliable : bool
        False where the probabilities do not tell the labels apart.
    """

    positive_noise_rate: Interval
    negative_noise_rate: Interval
    positive_label_error_rate: Interval
    negative_label_error_rate: Interval
    estimated_prevalence: Interval
    level: float
    n_resamples: int
    reliable: bool = True

    def __str__(self) -> str:
        lines = [f"{name.replace('_', ' ')}: {interval}" for name, interval in self.items()]
        lines.append(f"{self.level:.0%} intervals, covering {self.positive_noise_rate.covers}")
        if not self.reliable:
            lines.append("not reliable: the probabilities do not tell the labels apart")
        return "\n".join(lines)

    def items(self) -> list[tuple[str, Interval]]:
        """Return the name and the interval of each rate."""
        values = [(field.name, getattr(self, field.name)) for field in fields(self)]
        return [(name, value) for name, value in values if isinstance(value, Interval)]


def noise_rate_intervals(
    labels: ArrayLike,
    probabilities: ArrayLike,
    *,
    method: str | NoiseEstimator = DEFAULT_ESTIMATOR,
    level: float = 0.95,
    n_resamples: int = 200,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    random_state: RandomState = None,
) -> NoiseRateIntervals:
    """Return the noise rates with intervals by the bootstrap over rows.

    The intervals say how far the rates would move with other rows of the same kind and the same
    models. They do not cover a bias that every resample shares: where the classes overlap and the
    probabilities cannot tell them apart, the rates are too high and so are the intervals.

    Parameters
    ----------
    labels : array-like of shape (n_rows,)
        Given labels, of any two values.
    probabilities : array-like of shape (n_rows,)
        Out-of-fold probability of the positive label, one per row.
    method : str or callable, default="curve"
        The noise estimator; see `estimate_noise_rates`.
    level : float, default=0.95
        Confidence level.
    n_resamples : int, default=200
        How often the rows are drawn again and the rates estimated from them.
    sample_weight : array-like of shape (n_rows,), default=None
        Whole-number weights count rows, which are drawn one by one; other weights stay with their
        row, which is drawn as a whole.
    pos_label : default=None
        The positive label; the larger of the two values by default.
    random_state : int, Generator, RandomState or None, default=None
        Decides which rows are drawn.

    Returns
    -------
    NoiseRateIntervals

    Examples
    --------
    >>> from rankprune import flip_labels, noise_rate_intervals
    >>> import numpy as np
    >>> truth = np.repeat([0, 1], 500)
    >>> labels = flip_labels(truth, positive_noise_rate=0.2, negative_noise_rate=0, random_state=0)
    >>> intervals = noise_rate_intervals(labels, 0.8 * truth, random_state=0)
    >>> print(intervals.positive_noise_rate)
    20.0% (16.8% to 23.2%)
    """
    inputs = validate_inputs(
        labels, probabilities, sample_weight=sample_weight, pos_label=pos_label
    )
    return row_intervals(
        inputs,
        method,
        estimate_unknown_rates(inputs, method),
        level=level,
        n_resamples=n_resamples,
        random_state=random_state,
    )


def row_intervals(
    inputs: Inputs,
    method: str | NoiseEstimator,
    rates: NoiseRates,
    *,
    positive: float | None = None,
    negative: float | None = None,
    level: float,
    n_resamples: int,
    random_state: RandomState,
) -> NoiseRateIntervals:
    """Return intervals around rates by drawing rows again; known rates stay as they are."""
    validate_level(level)
    replicates = [
        resampled_rates(replicate, positive, negative)
        for replicate in row_replicates(inputs, method, n_resamples, random_state)
    ]
    return intervals_from(rates, replicates, level, OVER_ROWS)


def row_replicates(
    inputs: Inputs, method: str | NoiseEstimator, n_resamples: int, random_state: RandomState
) -> list[NoiseRates]:
    """Return the rates of rows drawn again, without looking whether each resample is sound."""
    estimator = find_noise_estimator(method)
    # In the order of the scores, which estimators sort by: sorted rows are sorted faster.
    order = np.argsort(inputs.probabilities, kind="stable")
    is_positive, probabilities = inputs.is_positive[order], inputs.probabilities[order]
    weight = None if inputs.sample_weight is None else inputs.sample_weight[order]
    n_resamples, generator = validate_n_resamples(n_resamples), as_generator(random_state)
    replicates = []
    for drawn in resamples(is_positive, weight, n_resamples, generator):
        used = drawn > 0
        labels = is_positive[used].view(np.int8)
        replicates.append(estimator(labels, probabilities[used], sample_weight=drawn[used]))
    return replicates


def resampled_rates(
    rates: NoiseRates, positive: float | None, negative: float | None
) -> NoiseRates:
    """Return the rates of a resample with what is known put in, as far as its labels allow."""
    if positive is None and negative is None:
        return rates
    observed = rates.observed_prevalence
    possible = possible_noise_rates(
        rates.positive_noise_rate if positive is None else positive,
        rates.negative_noise_rate if negative is None else negative,
        observed,
    )
    return NoiseRates.from_noise_rates(possible[0], possible[1], observed)


def resamples(
    is_positive: BoolArray,
    weight: NDArray[np.float64] | None,
    n_resamples: int,
    generator: np.random.Generator,
    least: int = 1,
) -> Iterable[NDArray[np.float64]]:
    """Yield the weight of each row in each resample, with at least so many rows of each class."""
    draw = _drawing(len(is_positive), weight, generator)
    for _ in range(n_resamples):
        drawn = draw()
        # A class of few rows is missing from many resamples, which then say nothing.
        while (
            min(np.count_nonzero(drawn[is_positive]), np.count_nonzero(drawn[~is_positive])) < least
        ):
            drawn = draw()
        yield drawn


def _drawing(
    n_rows: int, weight: NDArray[np.float64] | None, generator: np.random.Generator
) -> Callable[[], NDArray[np.float64]]:
    if weight is not None and (weight == np.floor(weight)).all():
        total = int(weight.sum())
        shares = weight / weight.sum()
        return lambda: generator.multinomial(total, shares).astype(np.float64)
    own = 1.0 if weight is None else weight
    counted = np.arange(n_rows) if weight is None else np.flatnonzero(weight)

    def draw() -> NDArray[np.float64]:
        rows = counted[generator.integers(0, len(counted), len(counted))]
        return np.asarray(np.bincount(rows, minlength=n_rows) * own)

    return draw


def intervals_from(
    rates: NoiseRates, replicates: list[NoiseRates], level: float, covers: str
) -> NoiseRateIntervals:
    """Return percentile intervals from the rates of the resamples."""
    tail = (1 - validate_level(level)) / 2

    def interval(name: str) -> Interval:
        estimate = getattr(rates, name)
        values = [getattr(replicate, name) for replicate in replicates]
        low, high = np.quantile(values, [tail, 1 - tail])
        # An estimate at the edge of its own resamples still lies in its interval.
        return Interval(estimate, min(float(low), estimate), max(float(high), estimate), covers)

    return NoiseRateIntervals(
        positive_noise_rate=interval("positive_noise_rate"),
        negative_noise_rate=interval("negative_noise_rate"),
        positive_label_error_rate=interval("positive_label_error_rate"),
        negative_label_error_rate=interval("negative_label_error_rate"),
        estimated_prevalence=interval("estimated_prevalence"),
        level=level,
        n_resamples=len(replicates),
        reliable=rates.reliable,
    )


def validate_n_resamples(value: Any) -> int:
    """Return how often to draw rows again."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(
            f"n_resamples must be a whole number of at least 1, got {value!r}. Pass e.g. 200."
        )
    return int(value)
