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

from rankprune.audit._answered_strata import COVERS, AnsweredStrata, clipped_interval, sum_of
from rankprune.audit._class_estimate import ClassAuditEstimate, estimate_class_shares
from rankprune.audit._sample import AuditSample
from rankprune.core import Interval
from rankprune.core._inputs import BoolArray, are_equal, is_missing
from rankprune.core._melded_intervals import Part, melded_lower_limit, melded_upper_limit
from rankprune.core._parameters import validate_level

METHOD = (
    "for shares of given labels, totals that the stratified estimate does not refute, by its exact "
    "distribution at the likeliest shares of the strata, drawn without replacement; for noise "
    "rates, exact Clopper-Pearson limits of the strata, melded (Fay, Proschan and Brittain); "
    "unsure answers count as correct labels for the lower limit and as wrong labels for the upper "
    "limit"
)
# As many label values are listed in an error.
_MOST_SHOWN = 6


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


def estimate(
    sample: AuditSample, answers: Sequence[Any], *, level: float = 0.95
) -> AuditEstimate | ClassAuditEstimate:
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
    AuditEstimate or ClassAuditEstimate
        Of two labels, or of more. An interval for each share. Estimates leave out rows without an
        answer; the intervals allow for either answer.

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
    level = validate_level(level)
    if sample.classes:
        return estimate_class_shares(sample, is_wrong, is_sure, level)
    return estimate_shares(sample.sizes, sample.kinds, sample.stratum, is_wrong, is_sure, level)


def judged_wrong(sample: AuditSample, answers: Sequence[Any]) -> tuple[BoolArray, BoolArray]:
    """Return which labels of the sample are wrong, and which rows have a clear answer."""
    right = judged_codes(sample, answers)
    is_sure = right >= 0
    return is_sure & (right != sample.given), is_sure


def judged_codes(sample: AuditSample, answers: Sequence[Any]) -> NDArray[np.intp]:
    """Return the number of each answer among the label values; -1 if it is not clear."""
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
    codes = np.full(len(given), -1, dtype=np.intp)
    for position, answer in enumerate(given):
        if is_missing(answer):
            continue
        equal = (code for code, value in enumerate(sample.values) if are_equal(answer, value))
        codes[position] = next(equal, -1)
        if codes[position] < 0:
            raise ValueError(
                f"answers must be {_choices(sample)} or None; answer {position} is {answer!r}. "
                "Pass the correct label, not whether the given one is correct."
            )
    return codes


def _choices(sample: AuditSample) -> str:
    """Return the label values, or the first of many."""
    if not sample.classes:
        return f"{sample.positive!r}, {sample.negative!r}"
    shown = ", ".join(map(repr, sample.classes[:_MOST_SHOWN]))
    return shown + (", ..." if len(sample.classes) > _MOST_SHOWN else "")


def estimate_shares(
    sizes: tuple[int, ...],
    kinds: Sequence[tuple[bool, bool]],
    stratum: NDArray[np.intp],
    is_wrong: BoolArray,
    is_sure: BoolArray,
    level: float,
) -> AuditEstimate:
    """Return the interval of each share, from the stratum and the answer of each drawn row."""
    labels, suspects = ([kind[which] for kind in kinds] for which in (0, 1))
    found = AnsweredStrata(sizes, suspects, stratum, is_wrong, is_sure, level)

    def noise_rate(wrong_label: bool) -> Interval:
        """Return the share of the rows of a true class that have the other label."""
        n_right = sum_of(sizes, labels, not wrong_label)

        def of(wrong: Sequence[Any], signs: Sequence[bool]) -> Any:
            right = n_right - sum_of(wrong, signs, not wrong_label)
            return _share_of(sum_of(wrong, signs, wrong_label), right)

        (at_best, sign), (at_worst, _) = _pooled(found.best, labels), _pooled(found.worst, labels)
        low = melded_lower_limit(at_best, lambda wrong: of(wrong, sign), (1 + level) / 2)
        high = melded_upper_limit(at_worst, lambda wrong: of(wrong, sign), (1 + level) / 2)
        return clipped_interval(of(found.likely, labels), low, high)

    others = [not suspect for suspect in suspects]
    positive, negative = found.share(labels), found.share([not label for label in labels])
    assert positive is not None  # both labels have rows
    assert negative is not None
    return AuditEstimate(
        wrong_share=found.whole(),
        positive_label_error_rate=positive,
        negative_label_error_rate=negative,
        positive_noise_rate=noise_rate(wrong_label=False),
        negative_noise_rate=noise_rate(wrong_label=True),
        suspect_precision=found.share(suspects),
        missed_share=found.share(others),
        missed_at_most=found.n_at_most(others),
        n_rows=sum(sizes),
        n_drawn=len(stratum),
        n_unsure=int((~is_sure).sum()),
        level=level,
    )


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


def _share_of(part: Any, rest: Any) -> Any:
    """Return part / (part + rest), or 0 if both are 0: without rows, none is wrong."""
    whole = np.asarray(part + rest, dtype=np.float64)
    return np.divide(part, whole, out=np.zeros_like(whole), where=whole > 0)
