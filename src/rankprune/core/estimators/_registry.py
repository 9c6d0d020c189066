"""The noise estimators by name, and the one function that runs any of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankprune.core._auc import is_informative
from rankprune.core._inputs import (
    BoolArray,
    FloatArray,
    Inputs,
    count_true,
    validate_inputs,
    validate_labeled_numbers,
)
from rankprune.core._noise_rates import NoiseRates
from rankprune.core._verdict_reasons import (
    AUC_REASON,
    SAME_BIN_REASON,
    not_told_apart,
    thresholds_reason,
)
from rankprune.core.classes._class_inputs import ClassInputs, classes_or_column, is_matrix
from rankprune.core.classes._estimate import estimate_noise_matrix
from rankprune.core.counting._score_groups import ScoreGroups
from rankprune.core.counting._sketch import (
    ScoreSketch,
    given_probabilities,
    given_sketch,
    sketch_of,
)
from rankprune.core.estimators._confident_counts import confident_counts
from rankprune.core.estimators._curve import curve, curve_of_many
from rankprune.core.estimators._elkan_noto import elkan_noto, elkan_noto_e2, elkan_noto_e3
from rankprune.core.estimators._learned import learned, learned_answer
from rankprune.core.estimators._min_probability import min_probability
from rankprune.core.estimators._scott import scott, scott_2015
from rankprune.core.estimators._tight import tight, tight_of_many
from rankprune.core.estimators._truth_intervals import truth_intervals
from rankprune.exceptions import (
    NoiseRatesClippedWarning,
    UninformativeProbabilitiesWarning,
    warn_caller,
)

NoiseEstimator = Callable[..., NoiseRates]
Reals = NDArray[np.float64]

# Two computations of the share of positive labels may differ by rounding, but no more.
_SAME_PREVALENCE = 1e-6
# Share of the pairs of a positive and a negative label that tie if bins are too coarse for scores.
_MANY_TIES = 0.5


@dataclass(frozen=True)
class OnSketch:
    """A noise estimator that needs the sketch alone.

    Called as any other, it makes the sketch of the rows.

    Attributes
    ----------
    from_sketch : callable
        Takes a sketch and returns its rates.
    of_many : callable or None
        Takes grouped rows, and the positive and negative rows that each resample drew from each
        group; returns both noise rates of every resample. None if they are estimated one by one.
    """

    from_sketch: Callable[[ScoreSketch], NoiseRates]
    of_many: Callable[[ScoreGroups, Reals, Reals], tuple[Reals, Reals]] | None = None

    def __call__(
        self,
        labels: BoolArray,
        probabilities: FloatArray,
        *,
        sample_weight: NDArray[np.float64] | None = None,
    ) -> NoiseRates:
        inputs = Inputs(np.asarray(labels).view(bool), probabilities, sample_weight)
        return self.from_sketch(sketch_of(inputs))


EXACT = "confident-counts"
LEARNED = OnSketch(learned)

NOISE_ESTIMATORS: dict[str, NoiseEstimator] = {
    EXACT: confident_counts,
    "tight": OnSketch(tight, tight_of_many),
    "curve": OnSketch(curve, curve_of_many),
    "learned": LEARNED,
    "scott": OnSketch(scott),
    "scott-2015": OnSketch(scott_2015),
    "min-probability": OnSketch(min_probability),
    "elkan-noto": OnSketch(elkan_noto),
    "elkan-noto-e2": OnSketch(elkan_noto_e2),
    "elkan-noto-e3": OnSketch(elkan_noto_e3),
}


# Chosen by its error on data that no rule was tuned on; see the table in docs/noise_rates.md.
DEFAULT_ESTIMATOR = "learned"


def estimate_noise_rates(
    labels: ArrayLike | ScoreSketch,
    probabilities: ArrayLike | None = None,
    *,
    classes: ArrayLike | None = None,
    method: str | NoiseEstimator | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> NoiseRates | Any:
    """Return how many labels are wrong in each class, estimated from out-of-fold probabilities.

    Parameters
    ----------
    labels : array-like of shape (n_rows,) or ScoreSketch
        Given labels, of two or more values; or the sketch of the rows, and no other argument than
        ``method``.
    probabilities : array-like of shape (n_rows,) or (n_rows, n_classes)
        Out-of-fold probability of the positive label, one per row; see
        `out_of_fold_probabilities`. Or of every class, one column each, which more than two
        classes need. In-sample probabilities hide the errors they were fitted to.
    classes : array-like of shape (n_classes,), default=None
        The label value of each column; by default the sorted values of the labels.
    method : str or callable, default=None
        The noise estimator. For more than two classes,
        ``"confident-counts"`` (the paper's thresholds, class by class), ``"prediction-table"``
        (labels against predictions, with scores on equal terms), their mean,
        ``"counts-and-table"``, or, by default, ``"learned"``: that mean, of which a small network
        says how much is real.

        For two labels, the default ``"learned"`` asks a small network that was trained on
        thousands of problems with many kinds of noise, and counts as the paper does where the
        scores form two clumps. ``"confident-counts"`` is the paper's, and needs the rows;
        ``"tight"`` uses the threshold with the smallest upper confidence bound of the noise, which
        overlap inflates less, but which misses noise concentrated where the classes meet;
        ``"curve"`` fits a sigmoid between two plateaus to the share of positive labels along the
        ranking and uses, for each noise
        rate, the smaller of its plateau and such a bound. ``"scott"`` and ``"scott-2015"`` use the
        largest share of one label's rows that the other's could hide (Scott et al. 2013, Scott
        2015), the latter with a tighter bound; ``"min-probability"`` uses the smallest and the
        largest probability (Liu and Tao 2016). ``"elkan-noto"``, ``"elkan-noto-e2"`` and
        ``"elkan-noto-e3"`` are for positive and unlabeled rows: they assume that every positive
        label is right (Elkan and Noto 2008). A callable takes
        ``(labels, probabilities, *, sample_weight=None)`` with labels 0 and 1 (1 is positive) and
        returns `NoiseRates`.
    sample_weight : array-like of shape (n_rows,), default=None
        A weight of 2 counts a row twice, a weight of 0 leaves it out. In the check that the
        probabilities are informative, weights that are not whole numbers count by Kish's effective
        number of rows, so their scale does not matter there.
    pos_label : default=None
        The positive label (default: the last of the two in sorted order).

    Returns
    -------
    NoiseRates or NoiseMatrix
        A `NoiseMatrix` for more than two classes. With ``intervals`` of the truth, which are
        learned for any method and hold its estimate; and with ``reliable=False`` and a warning if
        the probabilities do not tell the labels apart.

    Notes
    -----
    Confident counts are Eq. 2 and 3 of the paper: a row is confidently positive if its
    probability reaches the mean probability of the positive labels (LB_{y=1}), and confidently
    negative if it is at most the mean of the negative labels (UB_{y=0}). If the classes overlap or
    the probabilities are off, the estimate is an upper bound (Lemma 3).

    Examples
    --------
    One of five clear positives is labeled negative, one of six clear negatives positive.

    >>> from rankprune import estimate_noise_rates
    >>> labels = [1, 1, 1, 1, 0, 1, 0, 0, 0, 0, 0]
    >>> probabilities = [0.8, 0.8, 0.8, 0.8, 0.8, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]
    >>> rates = estimate_noise_rates(labels, probabilities)
    >>> round(rates.positive_noise_rate, 3), round(rates.negative_noise_rate, 3)
    (0.2, 0.167)
    >>> round(rates.positive_label_error_rate, 3), round(rates.negative_label_error_rate, 3)
    (0.2, 0.167)

    Three classes: one of five clear cats is labeled "dog".

    >>> import numpy as np
    >>> truth = np.repeat([0, 1, 2], 5)
    >>> given = np.array(["cat", "dog", "owl"])[truth]
    >>> given[0] = "dog"
    >>> matrix = estimate_noise_rates(given, 0.85 * np.eye(3)[truth] + 0.05)
    >>> matrix.classes.tolist(), matrix.noise_rates.round(3).tolist()
    (['cat', 'dog', 'owl'], [0.2, 0.0, 0.0])
    """
    if isinstance(labels, ScoreSketch):
        if classes is not None:
            raise ValueError(
                f"classes must be None for a ScoreSketch, which is of two labels, got {classes!r}. "
                "Pass labels and probabilities instead of the sketch."
            )
        sketch = given_sketch(
            labels, probabilities, sample_weight=sample_weight, pos_label=pos_label
        )
        return rates_of_sketch(sketch, method)
    if classes is not None or is_matrix(probabilities):
        found = classes_or_column(
            labels, probabilities, classes, sample_weight=sample_weight, pos_label=pos_label
        )
        if isinstance(found, ClassInputs):
            return estimate_noise_matrix(found, method)
        probabilities = found
    # The pass over the rows that makes the sketch checks the range of the scores too.
    validate = validate_labeled_numbers if is_on_sketch(method) else validate_inputs
    inputs = validate(
        labels,
        given_probabilities(probabilities),
        sample_weight=sample_weight,
        pos_label=pos_label,
    )
    return estimate_unknown_rates(inputs, method)


def rates_of_sketch(sketch: ScoreSketch, method: str | NoiseEstimator | None) -> NoiseRates:
    """Return the estimate from a sketch alone; emit at most one warning."""
    if is_exact(method):
        raise ValueError(
            f"method must not be {EXACT!r} for a ScoreSketch, since the paper's estimator compares "
            "each score with exact means. Pass labels and probabilities, or use another method."
        )
    return _answered(sketch, sketch, method)


def _answered(
    rows: Inputs | ScoreSketch,
    sketch: ScoreSketch,
    method: str | NoiseEstimator | None,
    known: tuple[float | None, float | None] = (None, None),
) -> NoiseRates:
    """Return the estimate with its intervals and known rates inserted; warn at most once."""
    rates = rates_in_range(rows, sketch, method)
    rates = rates.with_known(positive=known[0], negative=known[1])
    return with_warning(rates, uninformative_reason(sketch, rates))


def rates_in_range(
    rows: Inputs | ScoreSketch, sketch: ScoreSketch, method: str | NoiseEstimator | None
) -> NoiseRates:
    """Return what a noise estimator makes of rows, with intervals, and without any warning."""
    answer = learned_answer(sketch)
    is_learned = find_noise_estimator(method) is LEARNED
    rates = answer.rates if is_learned else raw_rates(rows, method)
    return replace(rates, intervals=truth_intervals(rates, answer))


def with_intervals(rates: NoiseRates, sketch: ScoreSketch) -> NoiseRates:
    """Return rates by any estimator with the learned intervals of a sketch, widened to hold it."""
    return replace(rates, intervals=truth_intervals(rates, learned_answer(sketch)))


def raw_rates(
    rows: Inputs | ScoreSketch, method: str | NoiseEstimator | None, *, checked: bool = True
) -> NoiseRates:
    """Return what a noise estimator makes of rows or of their sketch, without any warning.

    An estimator that needs rows gets those that the sketch describes. ``checked`` is False where
    the share of positive labels may differ, as in resamples.
    """
    estimator = find_noise_estimator(method)
    if isinstance(estimator, OnSketch):
        return estimator.from_sketch(rows if isinstance(rows, ScoreSketch) else sketch_of(rows))
    inputs = rows.as_inputs() if isinstance(rows, ScoreSketch) else rows
    labels, probabilities = inputs.is_positive.view(np.int8), inputs.probabilities.view()
    # These may be views of the caller's arrays, which a callable must not change.
    labels.flags.writeable = probabilities.flags.writeable = False
    rates = estimator(labels, probabilities, sample_weight=inputs.sample_weight)
    if checked:
        _refuse_other_rates(rates, inputs, estimator)
    return rates


def _refuse_other_rates(rates: Any, inputs: Inputs, estimator: NoiseEstimator) -> None:
    if not isinstance(rates, NoiseRates):
        raise TypeError(
            f"method must return NoiseRates, got {type(rates).__name__} from {estimator!r}. "
            "Build one with NoiseRates.from_noise_rates."
        )
    observed = _share_positive(inputs)
    if abs(rates.observed_prevalence - observed) > _SAME_PREVALENCE:
        raise ValueError(
            "method must return rates of the rows it was given: their share of positive labels is "
            f"{observed:.6g}, but {estimator!r} returned an observed_prevalence of "
            f"{rates.observed_prevalence:.6g}. Pass the share of positive labels to NoiseRates."
        )


def estimate_unknown_rates(
    inputs: Inputs,
    method: str | NoiseEstimator | None,
    *,
    positive: float | None = None,
    negative: float | None = None,
    sketch: ScoreSketch | None = None,
) -> NoiseRates:
    """Return the estimate with known rates inserted; emit at most one warning.

    ``sketch`` is that of the inputs, if it is at hand.
    """
    if is_exact(method):
        rates = confident_counts(
            inputs.is_positive.view(np.int8),
            inputs.probabilities,
            sample_weight=inputs.sample_weight,
        )
        sketch = sketch_of(inputs) if sketch is None else sketch
        rates = with_intervals(rates, sketch).with_known(positive=positive, negative=negative)
        return with_warning(rates, _exact_reason(inputs, sketch, rates))
    sketch = sketch_of(inputs) if sketch is None else sketch
    rows = sketch if is_on_sketch(method) else inputs
    return _answered(rows, sketch, method, (positive, negative))


def with_warning(rates: NoiseRates, reason: str | None) -> NoiseRates:
    """Return the rates, with a warning if they are not reliable (for ``reason``) or clipped."""
    if reason is not None:
        _warn_uninformative(reason)
        intervals = rates.intervals and replace(rates.intervals, reliable=False)
        return replace(rates, reliable=False, intervals=intervals)
    if rates.clipped:
        warn_caller(
            "The estimated noise rates contradict the share of positive labels "
            f"({rates.observed_prevalence:.3g}); the nearest possible ones are used: "
            f"{rates.positive_noise_rate:.3g} of the positives and "
            f"{rates.negative_noise_rate:.3g} of the negatives. Use a stronger classifier, or "
            "check which class is positive.",
            NoiseRatesClippedWarning,
        )
    return rates


def _share_positive(inputs: Inputs) -> float:
    if inputs.sample_weight is None:
        return count_true(inputs.is_positive) / len(inputs.is_positive)
    return float(np.average(inputs.is_positive, weights=inputs.sample_weight))


def find_noise_estimator(method: str | NoiseEstimator | None) -> NoiseEstimator:
    """Return the noise estimator with that name, the default one, or the callable itself."""
    if method is None:
        return NOISE_ESTIMATORS[DEFAULT_ESTIMATOR]
    if callable(method):
        return method
    if not isinstance(method, str) or method not in NOISE_ESTIMATORS:
        raise ValueError(
            f"method must be one of {sorted(NOISE_ESTIMATORS)} or a callable, got {method!r}. "
            "A callable takes (labels, probabilities, *, sample_weight=None)."
        )
    return NOISE_ESTIMATORS[method]


def is_exact(method: str | NoiseEstimator | None) -> bool:
    """Return whether a noise estimator needs every score, and then means of some of them."""
    # Arrays are compared one value at a time, and are refused later.
    return isinstance(method, str) and method == EXACT


def is_on_sketch(method: str | NoiseEstimator | None) -> bool:
    """Return whether a noise estimator needs the sketch alone."""
    return isinstance(find_noise_estimator(method), OnSketch)


def warn_if_uninformative(sketch: ScoreSketch, rates: NoiseRates) -> bool:
    """Return whether the scores fail to tell the labels apart, with a warning if so."""
    reason = uninformative_reason(sketch, rates)
    if reason is None:
        return False
    _warn_uninformative(reason)
    return True


def _warn_uninformative(reason: str) -> None:
    warn_caller(
        f"{not_told_apart(reason)} Rates estimated from them are not reliable and prune nothing; "
        "known rates would prune almost at random. Use a stronger classifier or more rows, or "
        "check which class is positive.",
        UninformativeProbabilitiesWarning,
    )


def uninformative_reason(sketch: ScoreSketch, rates: NoiseRates) -> str | None:
    """Return why the scores fail to tell the labels apart, or None if they do not fail."""
    reason = threshold_reason(rates)
    if reason is not None:
        return reason
    least, most = sketch.auc_bounds()
    if (least + most) / 2 > sketch.needed_auc():
        return None
    # Scores that hardly differ share a bin and tie.
    is_coarse = most - least > _MANY_TIES and sketch.extremes[0] < sketch.extremes[1]
    return SAME_BIN_REASON if is_coarse else AUC_REASON


def _exact_reason(inputs: Inputs, sketch: ScoreSketch, rates: NoiseRates) -> str | None:
    reason = threshold_reason(rates)
    if reason is not None:
        return reason
    # The bins settle most cases; only where they are too coarse are the scores compared.
    least, most = sketch.auc_bounds()
    needed = sketch.needed_auc()
    if least > needed:
        return None
    if most > needed and is_informative(
        inputs.is_positive, inputs.probabilities, inputs.sample_weight
    ):
        return None
    return AUC_REASON


def threshold_reason(rates: NoiseRates) -> str | None:
    """Return why the thresholds show that the probabilities fail, or None if they do not."""
    if (
        rates.positive_threshold is None
        or rates.negative_threshold is None
        or rates.positive_threshold > rates.negative_threshold
    ):
        return None
    return thresholds_reason(rates.positive_threshold, rates.negative_threshold)
