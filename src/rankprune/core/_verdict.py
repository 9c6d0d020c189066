"""The verdict: the labels are clean, noise was found, or neither is certain.

It is read off the range of the share of wrong labels. Overlap and noise leave the same mark on
labels and scores, so the range is wide where only a better model or a person can decide.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from rankprune.core import _verdict_reasons as _reasons
from rankprune.core._inputs import (
    FloatArray,
    Inputs,
    as_array,
    validate_probabilities,
    validate_weighted_labels,
)
from rankprune.core._interval_records import Interval
from rankprune.core._noise_rates import NoiseRates
from rankprune.core.counting._sketch import ScoreSketch, sketch_of
from rankprune.core.estimators._registry import (
    NoiseEstimator,
    is_on_sketch,
    rates_in_range,
    uninformative_reason,
)

# Noise counts as found if more than this share of the labels is wrong by the lower end of the
# range; otherwise labels count as clean if at most that share is wrong by the upper end.
NOISY_SHARE = 0.01
CLEAN_SHARE = 0.05
# Minimum number of rows for a verdict, and of rows of each label: the learned ranges come from
# problems with at least so many. Of fewer, no share as small as the limit of a clean table shows.
MIN_ROWS, MIN_ROWS_OF_A_LABEL = 100, 20

VerdictLevel = Literal["clean", "noise found", "cannot tell"]


@dataclass(frozen=True)
class Verdict:
    """Whether labels are wrong at all, and why.

    Attributes
    ----------
    level : {"clean", "noise found", "cannot tell"}
    reasons : tuple of str
        Why the level was chosen and, if it is "cannot tell", what would settle it.
    wrong_share : Interval
        Share of all labels that are wrong: the point and the 95 % range that decide.
    auc : float
        AUC of the (mean) probabilities against the given labels.
    clean_auc : float
        What that AUC would be against correct labels if `noise_rates` were true.
    noise_rates : NoiseRates
        Estimated from the (mean) probabilities.
    n_opinions : int
        Number of models whose mean probabilities were used.

    Examples
    --------
    >>> import numpy as np
    >>> from rankprune.core import judge_labels
    >>> truth = np.repeat([0, 1], 500)
    >>> print(judge_labels(truth, 0.1 + 0.8 * truth).level)
    clean
    """

    level: VerdictLevel
    reasons: tuple[str, ...]
    wrong_share: Interval
    auc: float
    clean_auc: float
    noise_rates: NoiseRates
    n_opinions: int

    def __str__(self) -> str:
        return "\n".join([self.level, *(f"- {reason}" for reason in self.reasons)])


def judge_labels(
    labels: ArrayLike,
    probabilities: ArrayLike,
    *,
    method: str | NoiseEstimator | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> Verdict:
    """Return whether the labels are clean or noisy, or whether these scores cannot tell.

    Fewer than 100 rows, or fewer than 20 of one label, are never enough to tell.

    Parameters
    ----------
    labels : array-like of shape (n_rows,)
        Given labels, of any two values.
    probabilities : array-like of shape (n_rows,) or (n_rows, n_models)
        Out-of-fold probability of the positive label, from one model or from several, one column
        per model, whose mean is used. Several are better: a weakness of one model looks like
        noise, but the others may not share it.
    method : str or callable, default="learned"
        The noise estimator; see `estimate_noise_rates`. The range that decides is the learned one,
        widened to hold its estimate.
    sample_weight : array-like of shape (n_rows,), default=None
        A weight of 2 counts a row twice.
    pos_label : default=None
        The positive label; the larger of the two values by default.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> import numpy as np
    >>> from rankprune import flip_labels
    >>> from rankprune.core import judge_labels
    >>> truth = np.repeat([0, 1], 500)
    >>> labels = flip_labels(truth, positive_noise_rate=0.2, negative_noise_rate=0, random_state=0)
    >>> judge_labels(labels, 0.8 * truth).level
    'noise found'
    >>> judge_labels(truth, 0.8 * truth).level
    'clean'
    """
    checked, weight = validate_weighted_labels(labels, sample_weight, pos_label=pos_label)
    columns = probability_columns(probabilities, len(checked.is_positive))
    mean = columns[0] if len(columns) == 1 else np.mean(columns, axis=0)
    return judge(Inputs(checked.is_positive, mean, weight), method, n_opinions=len(columns))


def judge(
    rows: Inputs | ScoreSketch,
    method: str | NoiseEstimator | None = None,
    *,
    n_opinions: int = 1,
    estimated: NoiseRates | None = None,
    n_judged: int = 0,
) -> Verdict:
    """Return the verdict on checked rows, by their (mean) scores.

    If ``estimated`` is given, it is used as the rates of these scores, so that a verdict shows the
    same numbers as the result it belongs to. If people judged ``n_judged`` of the rows, the range
    decides alone, whatever the scores and the number of rows.
    """
    sketch = rows if isinstance(rows, ScoreSketch) else sketch_of(rows)
    rates = estimated
    if rates is None or rates.intervals is None:
        rates = rates_in_range(sketch if is_on_sketch(method) else rows, sketch, method)
    assert rates.intervals is not None
    wrong = rates.intervals.wrong_share
    noisy_auc = sketch.auc()
    kept = 1 - rates.positive_label_error_rate - rates.negative_label_error_rate
    clean_auc = 0.5 + (noisy_auc - 0.5) / kept if kept > 0 else 1.0
    clean_auc = min(max(clean_auc, 0.0), 1.0)
    few = _too_few(float(sketch.groups().rows.sum()), sketch.effective_rows)
    if n_judged:
        level, reasons = _decide(None, rates, wrong)
        reasons = (_reasons.judged_rows(n_judged), *reasons)
    elif few is not None:
        level, reasons = _left_open(few, _reasons.MORE_ROWS_WOULD_SETTLE_IT)
    else:
        level, reasons = _decide(uninformative_reason(sketch, rates), rates, wrong)
        if n_opinions == 1 and level != "clean":
            reasons += (_reasons.ONE_MODEL,)
    return Verdict(level, reasons, wrong, noisy_auc, clean_auc, rates, n_opinions)


def probability_columns(probabilities: ArrayLike, n_rows: int) -> list[FloatArray]:
    """Return the probabilities of each model, from one column or several."""
    values = as_array(probabilities, "probabilities")
    if values.ndim == 2 and values.shape[1] > 0:
        columns = [validate_probabilities(column, n_rows) for column in values.T]
        are_scores = len(columns) == 2 and columns[0].min() < columns[0].max()
        if are_scores and np.allclose(columns[0] + columns[1], 1):
            raise ValueError(
                "probabilities must hold P(positive) of each model, one column per model; two "
                "columns that add up to 1 are those of the two classes. Pass "
                "predict_proba(X)[:, 1]."
            )
        return columns
    return [validate_probabilities(probabilities, n_rows)]


def are_enough(negative: float, positive: float) -> bool:
    """Return whether so many rows of each label are enough for a verdict."""
    return _too_few(negative + positive, (negative, positive)) is None


def _too_few(n_rows: float, of_labels: tuple[float, float]) -> str | None:
    """Return of what there are too few rows for a verdict, or None if there are enough."""
    if n_rows < MIN_ROWS:
        return _reasons.too_few_rows(n_rows, MIN_ROWS)
    for name, rows in zip(("negative", "positive"), of_labels, strict=True):
        if rows < MIN_ROWS_OF_A_LABEL:
            return _reasons.too_few_of_a_label(name, rows, MIN_ROWS_OF_A_LABEL)
    return None


def _decide(
    uninformative: str | None, rates: NoiseRates, wrong: Interval
) -> tuple[VerdictLevel, tuple[str, ...]]:
    if uninformative is not None:
        return _left_open(_reasons.not_told_apart(uninformative), _reasons.WHAT_WOULD_SETTLE_IT)
    if wrong.low > NOISY_SHARE:
        return "noise found", (
            _reasons.many_wrong(wrong.low, wrong.high),
            _reasons.wrong_labels(rates.positive_label_error_rate, rates.negative_label_error_rate),
        )
    if wrong.high <= CLEAN_SHARE:
        return "clean", (
            _reasons.few_wrong(wrong.high, CLEAN_SHARE),
            _reasons.PRUNING_WOULD_HARM,
        )
    return _left_open(_reasons.wide_range(wrong.low, wrong.high), _reasons.WHAT_WOULD_SETTLE_IT)


def _left_open(*reasons: str) -> tuple[VerdictLevel, tuple[str, ...]]:
    return "cannot tell", reasons
