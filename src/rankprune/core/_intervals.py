"""How certain the noise rates are: intervals of the truth, or of chance in the rows alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankprune.core._auc import are_counts
from rankprune.core._inputs import BoolArray, Inputs, validate_inputs
from rankprune.core._interval_records import (
    ROWS,
    TRUTH,
    WITH_INTERVALS,
    Interval,
    NoiseRateIntervals,
)
from rankprune.core._noise_rates import NoiseRates, rates_of_masses
from rankprune.core._parameters import validate_count, validate_level
from rankprune.core._random import RandomState, as_generator
from rankprune.core._rate_algebra import possible_noise_rates
from rankprune.core._shares import share_band
from rankprune.core.counting._sketch import (
    ScoreSketch,
    given_probabilities,
    given_sketch,
    sketch_of,
)
from rankprune.core.estimators._learned import LEAST_LEVEL, MOST_LEVEL, learned_answer
from rankprune.core.estimators._registry import (
    NoiseEstimator,
    OnSketch,
    estimate_unknown_rates,
    find_noise_estimator,
    rates_of_sketch,
    raw_rates,
)
from rankprune.core.estimators._truth_intervals import truth_intervals

# The positive and the negative noise rate, each None if it is not known.
KnownRates = tuple[float | None, float | None]

# Number of attempts to draw a resample with enough rows of each class.
_MAX_DRAWS = 1000

# Intervals narrower than the digits shown are not credible; they are widened to the uncertainty
# that follows from the number of rows alone.
_NARROW = 1e-3

# Groups of neighbouring scores from which resamples are drawn, if they are estimated all at once.
_N_GROUPS = 100


def noise_rate_intervals(
    labels: ArrayLike | ScoreSketch,
    probabilities: ArrayLike | None = None,
    *,
    method: str | NoiseEstimator | None = None,
    covers: Literal["truth", "rows"] = "truth",
    level: float = 0.95,
    n_resamples: int = 200,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    random_state: RandomState = None,
) -> NoiseRateIntervals:
    """Return the noise rates with intervals, of the truth or of what chance in the rows can do.

    Intervals of the truth are learned: for noise of the kinds that the default estimator was
    trained on, a 95 % interval should hold the true value in 95 % of problems, whatever the model
    behind the scores; the page on noise rates says in how many it did. The true value is that of
    these rows, not of others like them. The intervals are wide where labels and scores leave it
    open. Intervals over rows show how much the rates would vary with other rows of the same kind
    and the same models; they do not cover a bias that all resamples share.

    Parameters
    ----------
    labels : array-like of shape (n_rows,) or ScoreSketch
        Given labels, of any two values; or the sketch of the rows.
    probabilities : array-like of shape (n_rows,)
        Out-of-fold probability of the positive label, one per row.
    method : str or callable, default=None
        The noise estimator; see `estimate_noise_rates`. Intervals of the truth are those of
        ``"learned"`` for any method, widened to hold its estimate.
    covers : {"truth", "rows"}, default="truth"
        What the intervals should cover.
    level : float, default=0.95
        Confidence level. From 0.5 to 0.99 for intervals of the truth.
    n_resamples : int, default=200
        Number of bootstrap resamples from which the rates are estimated; only for ``"rows"``.
    sample_weight : array-like of shape (n_rows,), default=None
        Whole-number weights count rows, which are drawn one by one. With other weights, as many
        rows are drawn as Kish's effective number of them.
    pos_label : default=None
        The positive label; the larger of the two values by default.
    random_state : int, Generator, RandomState or None, default=None
        Controls which rows are drawn; only for ``"rows"``.

    Returns
    -------
    NoiseRateIntervals

    Examples
    --------
    >>> from rankprune import flip_labels, noise_rate_intervals
    >>> import numpy as np
    >>> truth = np.repeat([0, 1], 500)
    >>> labels = flip_labels(truth, positive_noise_rate=0.2, negative_noise_rate=0, random_state=0)
    >>> over_rows = noise_rate_intervals(labels, 0.8 * truth, covers="rows", random_state=0)
    >>> print(over_rows.positive_noise_rate)
    20.0% (16.6% to 23.7%)
    >>> noise_rate_intervals(labels, 0.8 * truth).wrong_share.covers
    'truth'
    """
    validate_covers(covers)
    level = _level_for(covers, level)
    if isinstance(labels, ScoreSketch):
        sketch = given_sketch(
            labels, probabilities, sample_weight=sample_weight, pos_label=pos_label
        )
        rates = rates_of_sketch(sketch, method)
    else:
        inputs = validate_inputs(
            labels,
            given_probabilities(probabilities),
            sample_weight=sample_weight,
            pos_label=pos_label,
        )
        sketch = sketch_of(inputs)
        rates = estimate_unknown_rates(inputs, method, sketch=sketch)
    if covers == TRUTH:
        return learned_intervals(sketch, rates, level=level)
    return row_intervals(
        sketch, method, rates, level=level, n_resamples=n_resamples, random_state=random_state
    )


def learned_intervals(
    sketch: ScoreSketch,
    rates: NoiseRates,
    *,
    known: KnownRates = (None, None),
    level: float,
) -> NoiseRateIntervals:
    """Return intervals of the truth around the rates; known rates stay fixed."""
    level = _level_for(TRUTH, level)
    if rates.intervals is not None and rates.intervals.level == level:
        return rates.intervals
    return truth_intervals(rates, learned_answer(sketch), level, known)


def validate_covers(covers: Any) -> None:
    """Raise an error unless intervals are asked to cover the truth or the choice of rows."""
    if covers not in (TRUTH, ROWS):
        raise ValueError(
            f'covers must be "truth" or "rows", got {covers!r}. Leave it out for the truth.'
        )


def _level_for(covers: str, level: Any) -> float:
    checked = validate_level(level)
    if covers == TRUTH and not LEAST_LEVEL <= checked <= MOST_LEVEL:
        raise ValueError(
            f"level must lie between {LEAST_LEVEL:g} and {MOST_LEVEL:g} for intervals of the "
            f'truth, got {level!r}. Pass e.g. 0.95, or covers="rows".'
        )
    return checked


def row_intervals(
    sketch: ScoreSketch,
    method: str | NoiseEstimator | None,
    rates: NoiseRates,
    *,
    known: KnownRates = (None, None),
    level: float,
    n_resamples: int,
    random_state: RandomState,
) -> NoiseRateIntervals:
    """Return bootstrap intervals around the rates; known rates stay fixed."""
    level = validate_level(level)
    replicates = row_replicates(sketch, method, n_resamples, random_state)
    return intervals_from(rates, replicates, level, ROWS, known, sizes=label_rows(sketch))


def label_rows(sketch: ScoreSketch) -> tuple[float, float]:
    """Return the effective number of rows with the positive and with the negative label."""
    groups = sketch.groups()
    return float(groups.positives.sum()), float(groups.negatives.sum())


def row_replicates(
    sketch: ScoreSketch,
    method: str | NoiseEstimator | None,
    n_resamples: int,
    random_state: RandomState,
) -> list[NoiseRates]:
    """Return the rates of each resample, without checking whether its scores are informative.

    The rows of a bin are alike, so the rows drawn are counted bin by bin. Weights that are no
    counts are drawn as the effective number of rows.
    """
    n_resamples = validate_count(n_resamples, "n_resamples", 200)
    generator = as_generator(random_state)
    estimator = find_noise_estimator(method)
    if isinstance(estimator, OnSketch) and estimator.of_many is not None:
        return _replicates_side_by_side(sketch, estimator.of_many, n_resamples, generator)
    label, bins = np.nonzero(sketch.counts)
    groups = sketch.groups()
    n_rows = max(round(float(groups.rows.sum())), 2)
    mass = sketch.counts[label, bins]
    draws = _drawn_counts(label, mass / mass.sum(), n_rows, n_resamples, generator)
    return [
        raw_rates(ScoreSketch.of_bins(label, bins, times), method, checked=False) for times in draws
    ]


def _replicates_side_by_side(
    sketch: ScoreSketch,
    of_many: Callable[..., tuple[NDArray[np.float64], NDArray[np.float64]]],
    n_resamples: int,
    generator: np.random.Generator,
) -> list[NoiseRates]:
    """Return the rates of each resample, all estimated at once from coarser bins."""
    groups = sketch.groups().coarser(_N_GROUPS)
    n_groups = len(groups.rows)
    label = np.repeat([0, 1], n_groups)
    mass = np.concatenate([groups.negatives, groups.positives])
    n_rows = max(round(float(mass.sum())), 2)
    draws = _drawn_counts(label, mass / mass.sum(), n_rows, n_resamples, generator)
    negatives, positives = (
        np.array(list(draws), dtype=np.float64).reshape(-1, 2, n_groups).swapaxes(0, 1)
    )
    rates = of_many(groups, positives, negatives)
    masses = negatives.sum(axis=1), positives.sum(axis=1)
    return [
        rates_of_masses(positive, negative, (n_negative, n_positive))
        for positive, negative, n_negative, n_positive in zip(
            *(column.tolist() for column in (*rates, *masses)), strict=True
        )
    ]


def _drawn_counts(
    label: NDArray[np.intp],
    shares: NDArray[np.float64],
    n_rows: int,
    n_resamples: int,
    generator: np.random.Generator,
) -> Iterator[NDArray[np.int64]]:
    """Yield how many rows of each label and bin are drawn; both labels are."""
    for _ in range(n_resamples):
        # A small class is missing from many resamples, from which no rate can be estimated.
        for _ in range(_MAX_DRAWS):
            times = generator.multinomial(n_rows, shares)
            if times[label == 1].any() and times[label == 0].any():
                break
        else:
            raise _too_rare(1)
        yield times


def estimate_drawn(
    method: str | NoiseEstimator | None,
    inputs: Inputs,
    times: NDArray[np.int64],
    *,
    in_counts: bool,
) -> NoiseRates:
    """Return the rates after drawing each row ``times`` times; counts include the weights."""
    weight = inputs.sample_weight
    if weight is None or in_counts:
        rows = np.flatnonzero(times)
        drawn = times[rows].astype(np.float64)
    else:
        # A row drawn twice is two rows of that weight, not one of twice the weight: the effective
        # number of rows must not change with the draw.
        rows = np.repeat(np.arange(len(times)), times)
        drawn = weight[rows]
    drawn_rows = Inputs(inputs.is_positive[rows], inputs.probabilities[rows], drawn)
    return raw_rates(drawn_rows, method, checked=False)


def drawn_weight(
    weight: NDArray[np.float64] | None, times: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the weight of each row after it was drawn ``times`` times."""
    if weight is None or are_counts(weight):
        return times.astype(np.float64)
    return np.asarray(times * weight)


def resamples(
    is_positive: BoolArray,
    weight: NDArray[np.float64] | None,
    n_resamples: int,
    generator: np.random.Generator,
    *,
    least: int = 1,
    doubted: BoolArray | None = None,
) -> Iterator[NDArray[np.int64]]:
    """Yield how often each row is drawn, with at least ``least`` different rows of each class.

    If ``doubted`` is given, each class also includes at least one doubted row.
    """
    needed = [(is_positive, least), (~is_positive, least)]
    if doubted is not None:
        needed += [(is_positive & doubted, 1), (~is_positive & doubted, 1)]
    draw = _drawing(len(is_positive), weight, generator)
    for _ in range(n_resamples):
        # A small class is missing from many resamples, from which no rate can be estimated.
        for _ in range(_MAX_DRAWS):
            times = draw()
            if all(np.count_nonzero(times[rows]) >= number for rows, number in needed):
                break
        else:
            raise _too_rare(least)
        yield times


def _too_rare(least: int) -> ValueError:
    return ValueError(
        f"the labels must hold enough rows of each class for resamples with {least} of each; "
        f"{_MAX_DRAWS} draws had fewer. Use fewer folds, or more rows."
    )


def _drawing(
    n_rows: int, weight: NDArray[np.float64] | None, generator: np.random.Generator
) -> Callable[[], NDArray[np.int64]]:
    if weight is not None and are_counts(weight):
        total = int(weight.sum())
        shares = weight / weight.sum()
        return lambda: generator.multinomial(total, shares)
    counted = np.arange(n_rows) if weight is None else np.flatnonzero(weight)

    def draw() -> NDArray[np.int64]:
        rows = counted[generator.integers(0, len(counted), len(counted))]
        return np.bincount(rows, minlength=n_rows)

    return draw


def intervals_from(
    rates: NoiseRates,
    replicates: list[NoiseRates],
    level: float,
    covers: str,
    known: KnownRates = (None, None),
    *,
    sizes: tuple[float, float],
) -> NoiseRateIntervals:
    """Return percentile intervals from the rates of the resamples; a known rate gets zero width.

    If the resamples agree, the width follows from the number of rows of each label (``sizes``).
    """
    level = validate_level(level)
    tail = (1 - level) / 2
    replicates = [resampled_rates(replicate, *known) for replicate in replicates]
    points = _known_names(known)
    rows_of = _rows_of_rates(rates, sizes)

    def interval(name: str) -> Interval:
        estimate = getattr(rates, name)
        if name in points:
            return Interval(estimate, estimate, estimate, covers)
        values = [getattr(replicate, name) for replicate in replicates]
        quantiles = np.quantile(values, [tail, 1 - tail])
        # The interval contains the estimate even if the resamples do not surround it.
        low, high = min(float(quantiles[0]), estimate), max(float(quantiles[1]), estimate)
        if high - low < _NARROW:
            whole = np.array([rows_of[name]])
            least, most = share_band(estimate * whole, whole, level)
            low, high = min(low, float(least[0])), max(high, float(most[0]))
        return Interval(estimate, low, high, covers)

    found: dict[str, Any] = {name: interval(name) for name in WITH_INTERVALS}
    return NoiseRateIntervals(
        **found, level=level, n_resamples=len(replicates), reliable=rates.reliable
    )


def _known_names(known: KnownRates) -> set[str]:
    """Return the names of known rates, with label error rates that are known to be zero."""
    positive, negative = known
    names = {
        "positive_noise_rate": positive is not None,
        "negative_noise_rate": negative is not None,
        "positive_label_error_rate": negative == 0,
        "negative_label_error_rate": positive == 0,
        "wrong_share": positive is not None and negative is not None,
    }
    return {name for name, is_known in names.items() if is_known}


def _rows_of_rates(rates: NoiseRates, sizes: tuple[float, float]) -> dict[str, float]:
    """Return the number of rows that each rate is a share of."""
    positive, negative = sizes
    n_rows = positive + negative
    return {
        "positive_noise_rate": n_rows * rates.estimated_prevalence,
        "negative_noise_rate": n_rows * (1 - rates.estimated_prevalence),
        "positive_label_error_rate": positive,
        "negative_label_error_rate": negative,
        "estimated_prevalence": n_rows,
        "wrong_share": n_rows,
    }


def resampled_rates(
    rates: NoiseRates, positive: float | None, negative: float | None
) -> NoiseRates:
    """Return the rates of a resample with known rates inserted, as far as its labels allow."""
    if positive is None and negative is None:
        return rates
    observed = rates.observed_prevalence
    possible = possible_noise_rates(
        rates.positive_noise_rate if positive is None else positive,
        rates.negative_noise_rate if negative is None else negative,
        observed,
    )
    return NoiseRates.from_noise_rates(possible[0], possible[1], observed)
