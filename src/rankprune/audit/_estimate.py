"""The blind audit: a random sample that people judge without seeing labels, and what it proves.

Rates that a model estimates miss the model's own bias. A random sample does not: whatever the
model suspects, rows of every kind are drawn with a chance that is known, so that what people say
of them holds for all rows, within limits that are known, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankprune.core import Interval, NoiseRates, importance_weights
from rankprune.core._inputs import (
    BoolArray,
    FloatArray,
    validate_count,
    validate_labels,
    validate_level,
    validate_mask,
)
from rankprune.core._melding import Part, Quantity, melded_lower_limit, melded_upper_limit
from rankprune.core._random import RandomState, as_generator

__all__ = ["AuditEstimate", "AuditSample", "compare_errors", "draw", "estimate", "plan"]

# The four kinds of rows that are drawn from apart, in the order of all tuples here.
STRATA = (
    "suspect, labeled positive",
    "other, labeled positive",
    "suspect, labeled negative",
    "other, labeled negative",
)
# Standard deviations of "wrong" that rows are drawn by: of suspects, and of others, one in twenty.
_DEVIATIONS = (0.5, 0.22)
# The least share of the sample that suspects get, and rows of either label.
_LEAST_SUSPECT, _LEAST_LABEL = 0.2, 0.25

PLANNED = (50, 100, 200, 500)
COVERS = "which rows were drawn at random; not mistakes of the people who judged them"
METHOD = (
    "exact limits of each of the four kinds of rows, drawn without putting back (Clopper and "
    "Pearson), melded (Fay, Proschan and Brittain); unsure answers counted as right for the lower "
    "limit and as wrong for the upper one"
)


@dataclass(frozen=True)
class AuditSample:
    """Rows to be judged, drawn at random from suspects and others of either label.

    Attributes
    ----------
    rows : ndarray of int
        Positions of the rows, in the random order in which they are to be judged.
    is_positive, suspect : ndarray of bool
        Their given labels, and whether they are suspects; not to be shown to those who judge.
    sizes : tuple of 4 ints
        Rows of each of the `STRATA` that they were drawn from.
    positive, negative : object
        The two labels.

    Examples
    --------
    >>> import numpy as np
    >>> from rankprune import audit
    >>> labels = np.repeat(["no", "yes"], 500)
    >>> sample = audit.draw(labels, np.arange(1000) % 10 == 0, 100, random_state=0)
    >>> sample.drawn, sample.positive
    ((10, 40, 10, 40), 'yes')
    """

    rows: NDArray[np.intp]
    is_positive: BoolArray
    suspect: BoolArray
    sizes: tuple[int, ...]
    positive: Any
    negative: Any

    @property
    def stratum(self) -> NDArray[np.intp]:
        """Return which of the `STRATA` each row was drawn from."""
        return _stratum(self.is_positive, self.suspect)

    @property
    def drawn(self) -> tuple[int, ...]:
        """Return the number of rows drawn from each of the `STRATA`."""
        return tuple(np.bincount(self.stratum, minlength=4).tolist())


@dataclass(frozen=True)
class AuditEstimate:
    """What an audit tells about all labels, whatever the model thinks of them.

    Attributes
    ----------
    wrong_share : Interval
        Share of all labels that are wrong.
    positive_label_error_rate, negative_label_error_rate : Interval
        Share of the labels of either kind that are wrong.
    positive_noise_rate, negative_noise_rate : Interval
        Share of the rows of either true class that carry the other label.
    suspect_precision : Interval or None
        Share of the suspects whose label is wrong; None where there are no suspects.
    missed_share : Interval or None
        Share of wrong labels among the rows that are no suspects; None where all are.
    missed_at_most : int
        Wrong labels among them, at most, with a chance of `level`.
    n_rows, n_drawn, n_unsure : int
        Rows of the table, rows that were drawn, and those of them without a clear answer.
    level : float
    method : str
        How the intervals come about.

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
        """Return the name and the interval of each share that there is."""
        values = [(field.name, getattr(self, field.name)) for field in fields(self)]
        return [(name, value) for name, value in values if isinstance(value, Interval)]

    def __str__(self) -> str:
        lines = [f"{name.replace('_', ' ')}: {interval}" for name, interval in self.items()]
        lines.append(f"missed at most: {self.missed_at_most} labels")
        lines.append(f"{self.level:.0%} intervals, covering {COVERS}")
        return "\n".join(lines)


def draw(
    labels: ArrayLike,
    suspects: ArrayLike,
    n: int = 200,
    *,
    pos_label: Any = None,
    random_state: RandomState = None,
) -> AuditSample:
    """Return a random sample of rows to be judged by people who see neither label nor score.

    Suspects are drawn more often than others, because more of them are wrong; a fifth of the
    sample are suspects and a quarter have either label, at least. How many are drawn is fixed
    before anything is judged, so the intervals of `estimate` hold.

    Parameters
    ----------
    labels : array-like of shape (n_rows,)
        Given labels, of any two values.
    suspects : array-like of bool of shape (n_rows,)
        Rows whose labels are likely wrong, such as ``prune_mask_`` of a classifier.
    n : int, default=200
        Rows to draw.
    pos_label : default=None
        The positive label; the larger of the two values by default.
    random_state : int, Generator, RandomState or None, default=None
        Decides which rows are drawn, and in which order they are judged.

    Returns
    -------
    AuditSample

    Examples
    --------
    >>> import numpy as np
    >>> from rankprune import audit
    >>> labels = np.repeat([0, 1], 500)
    >>> suspects = np.arange(1000) % 10 == 0
    >>> sample = audit.draw(labels, suspects, 100, random_state=0)
    >>> len(sample.rows), sample.sizes, sample.drawn
    (100, (50, 450, 50, 450), (10, 40, 10, 40))
    """
    read = validate_labels(labels, pos_label=pos_label)
    is_positive, n_rows = read.is_positive, len(read.is_positive)
    suspect = validate_mask(suspects, n_rows, "suspects", "suspects")
    if validate_count(n, "n", 200) > n_rows:
        raise ValueError(f"n must be at most the number of rows, {n_rows}, got {n}. Draw fewer.")
    generator = as_generator(random_state)
    stratum = _stratum(is_positive, suspect)
    sizes = np.bincount(stratum, minlength=4)
    rows = np.concatenate(
        [
            generator.choice(np.flatnonzero(stratum == kind), wanted, replace=False)
            for kind, wanted in enumerate(_allocation(sizes, n))
        ]
    )
    generator.shuffle(rows)
    other = read.classes[read.classes != read.pos_label][0]
    return AuditSample(
        rows,
        is_positive[rows],
        suspect[rows],
        tuple(sizes.tolist()),
        _plain(read.pos_label),
        _plain(other),
    )


def estimate(sample: AuditSample, answers: Sequence[Any], *, level: float = 0.95) -> AuditEstimate:
    """Return how many labels are wrong, from what people said of a random sample.

    Parameters
    ----------
    sample : AuditSample
        As `draw` made it.
    answers : sequence of shape (n_drawn,)
        The right label of each row of the sample, in its order; None where nobody is sure, or
        nobody has said yet.
    level : float, default=0.95
        Confidence level of each interval.

    Returns
    -------
    AuditEstimate
        The interval of each share, whatever the model believes. Estimates leave rows without an
        answer out; the intervals allow for either answer.

    Notes
    -----
    Every share grows with the wrong labels of each of the four kinds of rows. The limits of each
    kind are exact, for rows drawn without putting them back, and are melded into one: at least
    `level` of such intervals hold the truth. Kinds that were drawn at the same rate count as one
    where labels do not matter.

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
    4.8% (3.5% to 7.0%)
    """
    is_wrong, is_sure = _wrong(sample, answers)
    return _estimate(sample.sizes, sample.stratum, is_wrong, is_sure, validate_level(level))


def plan(
    labels: ArrayLike,
    probabilities: ArrayLike,
    noise_rates: NoiseRates,
    suspects: ArrayLike,
    *,
    sizes: Sequence[int] = PLANNED,
    level: float = 0.95,
    pos_label: Any = None,
) -> dict[int, AuditEstimate]:
    """Return what samples of several sizes would tell, if the model were right about the labels.

    Parameters
    ----------
    labels, suspects, level, pos_label
        As in `draw` and `estimate`.
    probabilities : array-like of shape (n_rows,)
        Out-of-fold probability of the positive label.
    noise_rates : NoiseRates
        By which the model takes labels for wrong.
    sizes : sequence of int
        Larger ones than there are rows are left out.

    Returns
    -------
    dict of int to AuditEstimate
        By size. The widths of the intervals are what matters.

    Examples
    --------
    >>> import numpy as np
    >>> from rankprune import NoiseRates, audit
    >>> labels = np.repeat([0, 1], 1000)
    >>> rates = NoiseRates.from_noise_rates(0.1, 0.1, observed_prevalence=0.5)
    >>> probabilities = np.where(np.arange(2000) % 10, 0.1 + 0.8 * labels, 0.9 - 0.8 * labels)
    >>> planned = audit.plan(labels, probabilities, rates, np.arange(2000) % 10 == 0)
    >>> for n, found in planned.items():
    ...     print(n, f"{found.wrong_share.high - found.wrong_share.low:.2f}")
    50 0.11
    100 0.06
    200 0.03
    500 0.01
    """
    read = validate_labels(labels, pos_label=pos_label)
    is_positive = read.is_positive
    suspect = validate_mask(suspects, len(is_positive), "suspects", "suspects")
    stratum = _stratum(is_positive, suspect)
    rows = np.bincount(stratum, minlength=4)
    wrong = _expected_wrong(is_positive, probabilities, noise_rates)
    expected = np.bincount(stratum, wrong, minlength=4) / np.maximum(rows, 1)
    found = {}
    for n in sizes:
        if validate_count(n, "sizes", 200) > len(is_positive):
            continue
        drawn = _allocation(rows, n)
        counts = np.round(drawn * expected).astype(int)
        kinds = np.repeat(np.arange(4), drawn)
        place = np.concatenate([np.arange(count) for count in drawn])
        found[n] = _estimate(
            tuple(rows.tolist()),
            kinds,
            place < counts[kinds],
            np.ones(n, dtype=bool),
            validate_level(level),
        )
    return found


def compare_errors(
    sample: AuditSample, answers: Sequence[Any], before: ArrayLike, after: ArrayLike
) -> tuple[float, float, float, float]:
    """Return the errors of two models on all rows, and 95 % limits of their difference.

    Parameters
    ----------
    sample, answers
        As in `estimate`; rows without an answer are left out.
    before, after : array-like of shape (n_drawn,)
        Labels that the models predict for the rows of the sample, without having seen them.

    Returns
    -------
    tuple of 4 floats
        Error before, error after, and the limits of after minus before. Each row stands for those
        it was drawn from. The limits follow the normal distribution, with the variance in each
        kind of rows from counts to which half a row was added, as Agresti and Min advise.

    Examples
    --------
    >>> import numpy as np
    >>> from rankprune import audit
    >>> truth = np.repeat([0, 1], 500)
    >>> labels = np.where(np.arange(1000) % 20 == 0, 1 - truth, truth)
    >>> sample = audit.draw(labels, np.arange(1000) % 10 == 0, 200, random_state=0)
    >>> right = truth[sample.rows]
    >>> before, after, low, high = audit.compare_errors(sample, right, labels[sample.rows], right)
    >>> round(before, 3), after, high < 0
    (0.048, 0.0, True)
    """
    is_wrong, is_sure = _wrong(sample, answers)
    if not is_sure.any():
        raise ValueError("answers must say of some row what is right; all of them are None.")
    truth = sample.is_positive ^ is_wrong
    errors = [(np.asarray(one) == sample.positive) != truth for one in (before, after)]
    share = np.asarray(sample.sizes) / sum(sample.sizes)
    stratum = sample.stratum[is_sure]

    def by_stratum(marked: BoolArray) -> FloatArray:
        return np.bincount(stratum[marked[is_sure]], minlength=4).astype(np.float64)

    judged = by_stratum(is_sure)
    # Kinds of rows of which none were judged are taken for the rest.
    weight = np.where(judged > 0, share, 0.0) / share[judged > 0].sum()
    means = [float((weight * by_stratum(one) / np.maximum(judged, 1)).sum()) for one in errors]
    worse = by_stratum(errors[1] & ~errors[0])
    better = by_stratum(errors[0] & ~errors[1])
    rows = judged + 2
    variance = (worse + better + 1 - (worse - better) ** 2 / rows) / rows**2
    left = 1 - judged / np.maximum(sample.sizes, 1)
    half = 1.959964 * float(np.sqrt((share**2 * left * variance).sum()))
    middle = means[1] - means[0]
    return means[0], means[1], max(-1.0, middle - half), min(1.0, middle + half)


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def _stratum(is_positive: BoolArray, suspect: BoolArray) -> NDArray[np.intp]:
    return 2 * (~is_positive).astype(np.intp) + ~suspect


def _wrong(sample: AuditSample, answers: Sequence[Any]) -> tuple[BoolArray, BoolArray]:
    """Return which labels of the sample are wrong, and where that was said for sure."""
    if len(answers) != len(sample.rows):
        raise ValueError(
            f"answers must have one answer for each of the {len(sample.rows)} rows of the sample, "
            f"got {len(answers)}. Pass None where there is none."
        )
    is_positive = np.zeros(len(answers), dtype=bool)
    is_sure = np.zeros(len(answers), dtype=bool)
    for place, answer in enumerate(answers):
        if answer is None or answer != answer:
            continue
        if answer not in (sample.positive, sample.negative):
            raise ValueError(
                f"answers must be {sample.positive!r}, {sample.negative!r} or None; answer "
                f"{place} is {answer!r}. Pass the right label, not whether the given one is right."
            )
        is_sure[place], is_positive[place] = True, answer == sample.positive
    return is_sure & (is_positive != sample.is_positive), is_sure


def _allocation(sizes: NDArray[np.intp], n: int) -> NDArray[np.intp]:
    """Return how many rows to draw of each kind: more where answers are harder to foresee."""
    rows = np.asarray(sizes, dtype=np.float64)
    suspects, positives = np.asarray([True, False] * 2), np.asarray([True, True, False, False])
    share: FloatArray = rows * np.where(suspects, *_DEVIATIONS)
    share = _raised(share, suspects, _LEAST_SUSPECT)
    for label in (positives, ~positives):
        share = _raised(share, label, _LEAST_LABEL)
    wanted = np.zeros(4)
    while (left := n - wanted.sum()) > 1e-9:
        # What one kind has not enough rows for goes to the others.
        open_ = np.where(wanted < rows, np.maximum(share, 1e-12), 0.0)
        wanted = np.minimum(rows, wanted + left * open_ / open_.sum())
    whole = np.floor(wanted + 1e-9).astype(np.intp)
    most = np.argsort(whole - wanted, kind="stable")[: n - int(whole.sum())]
    whole[most] += 1
    return whole


def _raised(share: FloatArray, part: BoolArray, least: float) -> FloatArray:
    """Return shares of which a part has a least share of the whole, where it has any."""
    inside, outside = share[part].sum(), share[~part].sum()
    if inside == 0 or inside >= least * (inside + outside):
        return share
    return np.asarray(np.where(part, share * least / inside, share * (1 - least) / outside))


def _expected_wrong(
    is_positive: BoolArray, probabilities: ArrayLike, noise_rates: NoiseRates
) -> FloatArray:
    """Return how likely the model takes each label for wrong."""
    weights = importance_weights(is_positive, probabilities, noise_rates, pos_label=True)
    rate = np.where(is_positive, noise_rates.positive_noise_rate, noise_rates.negative_noise_rate)
    return np.asarray(np.clip(1 - (1 - rate) * weights, 0.0, 1.0))


def _estimate(
    sizes: tuple[int, ...],
    stratum: NDArray[np.intp],
    is_wrong: BoolArray,
    is_sure: BoolArray,
    level: float,
) -> AuditEstimate:
    def parts(marked: BoolArray, among: BoolArray | slice) -> list[Part]:
        drawn, wrong = (np.bincount(stratum[among][part], minlength=4) for part in (..., marked))
        return [Part(*counts) for counts in zip(sizes, drawn.tolist(), wrong.tolist(), strict=True)]

    everything = slice(None)
    best, worst = parts(is_wrong, everything), parts(is_wrong | ~is_sure, everything)
    likely = _totals(parts(is_wrong[is_sure], is_sure))

    def interval(of: Quantity, view: Callable[[list[Part]], list[Part]]) -> Interval:
        low = melded_lower_limit(view(best), of, (1 + level) / 2)
        high = melded_upper_limit(view(worst), of, (1 + level) / 2)
        return Interval(float(np.clip(of(likely), low, high)), low, high, COVERS)

    # Shares of the wrong rows of the four kinds; or of suspects and of others, where they are
    # grouped: every second one belongs to the same group either way.
    n_rows, n_positive, n_negative = sum(sizes), sum(sizes[:2]), sum(sizes[2:])
    n_suspects, n_others = sum(sizes[0::2]), sum(sizes[1::2])
    return AuditEstimate(
        wrong_share=interval(lambda wrong: sum(wrong) / n_rows, _grouped),
        positive_label_error_rate=interval(lambda wrong: sum(wrong[:2]) / n_positive, list),
        negative_label_error_rate=interval(lambda wrong: sum(wrong[2:]) / n_negative, list),
        positive_noise_rate=interval(
            lambda wrong: _share_of(sum(wrong[2:]), n_positive - sum(wrong[:2])), list
        ),
        negative_noise_rate=interval(
            lambda wrong: _share_of(sum(wrong[:2]), n_negative - sum(wrong[2:])), list
        ),
        suspect_precision=(
            interval(lambda wrong: sum(wrong[0::2]) / n_suspects, _grouped) if n_suspects else None
        ),
        missed_share=(
            interval(lambda wrong: sum(wrong[1::2]) / n_others, _grouped) if n_others else None
        ),
        missed_at_most=int(
            melded_upper_limit(_grouped(worst), lambda wrong: sum(wrong[1::2]), level)
        ),
        n_rows=n_rows,
        n_drawn=len(stratum),
        n_unsure=int((~is_sure).sum()),
        level=level,
    )


def _grouped(parts: list[Part]) -> list[Part]:
    """Return suspects and others of both labels as one part each, where drawn at the same rate."""
    pairs = [(parts[0], parts[2]), (parts[1], parts[3])]
    for one, other in pairs:
        both = one.together(other)
        if abs(one.drawn * both.size - both.drawn * one.size) > both.size:
            return parts
    return [one.together(other) for one, other in pairs]


def _totals(parts: list[Part]) -> list[float]:
    """Return the likely number of wrong rows of each kind.

    A kind of which nobody has judged a row is taken for its like with the other label.
    """
    rates = [part.wrong / part.drawn if part.drawn else None for part in parts]
    found = []
    for kind, part in enumerate(parts):
        known = [rate for rate in (rates[kind], rates[kind ^ 2], 0.5) if rate is not None]
        found.append(part.size * known[0])
    return found


def _share_of(part: Any, rest: Any) -> Any:
    """Return part / (part + rest), 0 where there is neither: then there is none to be wrong."""
    whole = np.asarray(part + rest, dtype=np.float64)
    return np.divide(part, whole, out=np.zeros_like(whole), where=whole > 0)
