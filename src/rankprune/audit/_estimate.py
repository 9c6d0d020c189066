"""What the answers of an audit show about all labels.

Rates that a model estimates inherit the model's bias. A random sample does not: rows of every
stratum are drawn with a known probability, whatever the model suspects. So the answers allow
conclusions about all rows, with known confidence limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune.audit._sample import AuditSample
from rankprune.core import Interval
from rankprune.core._inputs import BoolArray, are_equal, is_missing
from rankprune.core._melded_intervals import Part, melded_lower_limit, melded_upper_limit
from rankprune.core._parameters import validate_level
from rankprune.core._stratified_limits import total_at_most, total_limits

COVERS = "the random choice of rows, but not mistakes in the answers"
METHOD = (
    "for shares of given labels, totals that the stratified estimate does not refute, by its exact "
    "distribution at the likeliest shares of the strata, drawn without replacement; for noise "
    "rates, exact Clopper-Pearson limits of the strata, melded (Fay, Proschan and Brittain); "
    "unsure answers count as correct labels for the lower limit and as wrong labels for the upper "
    "limit"
)


@dataclass(frozen=True)
class AuditEstimate:
    """What an audit shows about all labels, independently of the model.

    Attributes
    ----------
    wrong_share : Interval
        Share of all labels that are wrong.
    positive_label_error_rate, negative_label_error_rate : Interval
        Share of the labels of each class that are wrong.
    positive_noise_rate, negative_noise_rate : Interval
        Share of the rows of each true class that have the other label.
    suspect_precision : Interval or None
        Share of the suspects whose label is wrong; None if there are no suspects.
    missed_share : Interval or None
        Share of wrong labels among the other rows; None if all rows are suspects.
    missed_at_most : int
        Upper limit, at confidence `level`, of the number of wrong labels among the other rows.
    n_rows, n_drawn, n_unsure : int
        Number of all rows, of drawn rows, and of drawn rows without a clear answer.
    level : float
        Confidence level of the intervals.
    method : str
        How the intervals were computed.

    Examples
    --------
    >>> import numpy as np
    >>> from rankprune import audit
    >>> truth = np.repeat([0, 1], 500)
    >>> labels = np.where(np.arange(1000) % 20 == 0, 1 - truth, truth)  # 5 % are wrong
    >>> sample = audit.draw(labels, np.arange(1000) % 10 == 0, 200, random_state=0)
    >>> found = audit.estimate(sample, truth[sample.rows])
    >>> print(found.suspect_precision)
    47.5% (35.0% to 60.0%)
    """

    wrong_share: Interval
    positive_label_error_rate: Interval
    negative_label_error_rate: Interval
    positive_noise_rate: Interval
    negative_noise_rate: Interval
    suspect_precision: Interval | None
    missed_share: Interval | None
    missed_at_most: int
    n_rows: int
    n_drawn: int
    n_unsure: int
    level: float
    method: str = METHOD

    def items(self) -> list[tuple[str, Interval]]:
        """Return the name and interval of each share that is not None."""
        values = [(field.name, getattr(self, field.name)) for field in fields(self)]
        return [(name, value) for name, value in values if isinstance(value, Interval)]

    def __str__(self) -> str:
        lines = [f"{name.replace('_', ' ')}: {interval}" for name, interval in self.items()]
        lines.append(f"missed at most: {self.missed_at_most} labels")
        lines.append(f"{self.level:.0%} intervals; they cover {COVERS}")
        return "\n".join(lines)


def estimate(sample: AuditSample, answers: Sequence[Any], *, level: float = 0.95) -> AuditEstimate:
    """Return how many labels are wrong, from the answers about a random sample.

    Parameters
    ----------
    sample : AuditSample
        The sample that `draw` returned.
    answers : sequence of shape (n_drawn,)
        The correct label of each row of the sample, in its order; None if the answer is unsure or
        missing.
    level : float, default=0.95
        Confidence level of each interval.

    Returns
    -------
    AuditEstimate
        An interval for each share. Estimates leave out rows without an answer; the intervals allow
        for either answer.

    Notes
    -----
    The share of wrong labels, of all rows or of some strata, is tested by the stratified estimate,
    whose distribution is exact for sampling without replacement. What remains unknown, how the
    wrong labels are spread over the strata, is taken as it explains the answers best, and the error
    that is aimed at is reduced for it: by simulation, `level` of such intervals contain the true
    share, wherever the wrong labels are. Of the noise rates, the exact limits of strata are melded
    into one interval, after those drawn at the same rate are pooled.

    Examples
    --------
    >>> import numpy as np
    >>> from rankprune import audit
    >>> truth = np.repeat([0, 1], 500)
    >>> labels = np.where(np.arange(1000) % 20 == 0, 1 - truth, truth)  # 5 % are wrong
    >>> suspects = np.arange(1000) % 10 == 0
    >>> sample = audit.draw(labels, suspects, 200, random_state=0)
    >>> found = audit.estimate(sample, truth[sample.rows])
    >>> print(found.wrong_share)
    4.8% (3.5% to 6.4%)
    """
    is_wrong, is_sure = judged_wrong(sample, answers)
    return estimate_shares(
        sample.sizes, sample.kinds, sample.stratum, is_wrong, is_sure, validate_level(level)
    )


def judged_wrong(sample: AuditSample, answers: Sequence[Any]) -> tuple[BoolArray, BoolArray]:
    """Return which labels of the sample are wrong, and which rows have a clear answer."""
    if not isinstance(sample, AuditSample):
        raise TypeError(
            f"sample must be an AuditSample, got {type(sample).__name__}. Pass what draw returns."
        )
    try:
        given = list(answers)
    except TypeError as error:
        raise TypeError(
            f"answers must be a sequence of labels, got {type(answers).__name__}. Pass a list."
        ) from error
    if len(given) != len(sample.rows):
        raise ValueError(
            f"answers must have one answer for each of the {len(sample.rows)} rows of the sample, "
            f"got {len(given)}. Pass None for rows without an answer."
        )
    is_positive = np.zeros(len(given), dtype=bool)
    is_sure = np.zeros(len(given), dtype=bool)
    for position, answer in enumerate(given):
        if is_missing(answer):
            continue
        if not (are_equal(answer, sample.positive) or are_equal(answer, sample.negative)):
            raise ValueError(
                f"answers must be {sample.positive!r}, {sample.negative!r} or None; answer "
                f"{position} is {answer!r}. Pass the correct label, not whether the given one is "
                "correct."
            )
        is_sure[position], is_positive[position] = True, are_equal(answer, sample.positive)
    return is_sure & (is_positive != sample.is_positive), is_sure


def estimate_shares(
    sizes: tuple[int, ...],
    kinds: Sequence[tuple[bool, bool]],
    stratum: NDArray[np.intp],
    is_wrong: BoolArray,
    is_sure: BoolArray,
    level: float,
) -> AuditEstimate:
    """Return the interval of each share, from the stratum and the answer of each drawn row."""

    def parts(marked: BoolArray, among: BoolArray | slice) -> list[Part]:
        drawn, wrong = (
            np.bincount(stratum[among][part], minlength=len(sizes)) for part in (..., marked)
        )
        return [Part(*counts) for counts in zip(sizes, drawn.tolist(), wrong.tolist(), strict=True)]

    everything = slice(None)
    best, worst = parts(is_wrong, everything), parts(is_wrong | ~is_sure, everything)
    likely = _totals(parts(is_wrong[is_sure], is_sure), kinds)
    labels, suspects = ([kind[which] for kind in kinds] for which in (0, 1))

    def share(chosen: Sequence[bool]) -> Interval | None:
        """Return the share of wrong labels in some of the strata, or None if they are empty."""
        n_chosen = _sum(sizes, chosen)
        if not n_chosen:
            return None
        low, high = total_limits(_only(best, chosen), _only(worst, chosen), level)
        return _interval(_sum(likely, chosen) / n_chosen, low / n_chosen, high / n_chosen)

    def noise_rate(wrong_label: bool) -> Interval:
        """Return the share of the rows of a true class that have the other label."""
        n_right = _sum(sizes, labels, not wrong_label)

        def of(wrong: Sequence[Any], signs: Sequence[bool]) -> Any:
            right = n_right - _sum(wrong, signs, not wrong_label)
            return _share_of(_sum(wrong, signs, wrong_label), right)

        (at_best, sign), (at_worst, _) = _pooled(best, labels), _pooled(worst, labels)
        low = melded_lower_limit(at_best, lambda wrong: of(wrong, sign), (1 + level) / 2)
        high = melded_upper_limit(at_worst, lambda wrong: of(wrong, sign), (1 + level) / 2)
        return _interval(of(likely, labels), low, high)

    others = [not suspect for suspect in suspects]
    whole, positive, negative = (
        share(chosen) for chosen in ([True] * len(sizes), labels, [not label for label in labels])
    )
    assert whole is not None  # both labels have rows
    assert positive is not None
    assert negative is not None
    return AuditEstimate(
        wrong_share=whole,
        positive_label_error_rate=positive,
        negative_label_error_rate=negative,
        positive_noise_rate=noise_rate(wrong_label=False),
        negative_noise_rate=noise_rate(wrong_label=True),
        suspect_precision=share(suspects),
        missed_share=share(others),
        missed_at_most=(
            int(total_at_most(_only(worst, others), level)) if _sum(sizes, others) else 0
        ),
        n_rows=sum(sizes),
        n_drawn=len(stratum),
        n_unsure=int((~is_sure).sum()),
        level=level,
    )


def _interval(estimate: Any, low: float, high: float) -> Interval:
    return Interval(float(np.clip(estimate, low, high)), low, high, COVERS)


def _only(parts: Sequence[Part], chosen: Sequence[bool]) -> list[Part]:
    return [part for part, is_chosen in zip(parts, chosen, strict=True) if is_chosen]


def _sum(wrong: Sequence[Any], signs: Sequence[bool], wanted: bool = True) -> Any:
    """Return the sum over the strata, or pools of strata, with a sign."""
    return sum(one for one, sign in zip(wrong, signs, strict=True) if sign == wanted)


def _pooled(parts: list[Part], signs: list[bool]) -> tuple[list[Part], list[bool]]:
    """Return strata with the same sign that were drawn at the same rate as one part."""
    pools: list[tuple[bool, list[Part]]] = []
    for part, sign in zip(parts, signs, strict=True):
        for other, members in pools:
            if sign == other and _is_one_rate([*members, part]):
                members.append(part)
                break
        else:
            pools.append((sign, [part]))
    return [reduce(Part.together, members) for _, members in pools], [sign for sign, _ in pools]


def _is_one_rate(parts: list[Part]) -> bool:
    """Return whether as many rows were drawn from each part as from all together, up to one."""
    every = reduce(Part.together, parts)
    return all(abs(one.drawn * every.size - every.drawn * one.size) <= every.size for one in parts)


def _totals(parts: list[Part], kinds: Sequence[tuple[bool, bool]]) -> list[float]:
    """Return the estimated number of wrong rows in each stratum.

    Strata without answers take the rate of all suspects or of all others, or else 0.5.
    """
    totals = []
    for part, (_, suspect) in zip(parts, kinds, strict=True):
        same = [one for one, kind in zip(parts, kinds, strict=True) if kind[1] == suspect]
        known = part if part.drawn else reduce(Part.together, same)
        totals.append(part.size * (known.wrong / known.drawn if known.drawn else 0.5))
    return totals


def _share_of(part: Any, rest: Any) -> Any:
    """Return part / (part + rest), or 0 if both are 0: without rows, none is wrong."""
    whole = np.asarray(part + rest, dtype=np.float64)
    return np.divide(part, whole, out=np.zeros_like(whole), where=whole > 0)
