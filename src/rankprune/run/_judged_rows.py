"""Which rows of a check people should judge, and how much that will narrow its range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from rankprune.audit import AuditSample, Strata, draw, strata_of
from rankprune.audit._beliefs import Beliefs, Posterior, believe, update
from rankprune.audit._next_rows import BATCH, next_counts, planned_widths
from rankprune.audit._plan import width_in_futures
from rankprune.audit._sample import Divided, draw_rows, kinds_of
from rankprune.audit._strata import expected_wrong
from rankprune.core import NoiseRates
from rankprune.core._inputs import BoolArray
from rankprune.core._interval_records import LEVEL
from rankprune.core._parameters import validate_count
from rankprune.core._random import RandomState, as_generator

if TYPE_CHECKING:
    from rankprune.run._label_check import LabelCheck

Method = Literal["model", "design"]
METHODS: tuple[Method, ...] = ("model", "design")
PLANNED_SIZES = (25, 50, 100, 200)
# The model's chances that labels are wrong assume at least this share of wrong labels; see
# `_expecting`.
_LEAST_RATE, _MOST_OF_BOTH = 0.01, 0.95
# Numbers of ways that answers may turn out, over which plans for answers alone are means.
_N_FUTURES = 24
# Beliefs are drawn with this seed, so that the same answers have the same result.
_SEED = 0


@dataclass(frozen=True)
class JudgedRows:
    """Rows whose right labels people gave, after they were drawn for an audit.

    Attributes
    ----------
    rows : tuple of int
        Positions in the table, counted from 0.
    is_positive : tuple of bool or None
        The right label of each row; None if the person was unsure.
    method : {"model", "design"}
        Whether the range comes from model and answers together, or from the answers alone.
    contradicts_model : bool
        Whether the answers contradict the range that the model gave. The range then comes from the
        answers alone.
    n_wrong : int
        How many of the judged labels are wrong.
    """

    rows: tuple[int, ...]
    is_positive: tuple[bool | None, ...]
    method: Method
    contradicts_model: bool
    n_wrong: int

    @property
    def n_sure(self) -> int:
        """Return the number of rows with a clear answer."""
        return sum(answer is not None for answer in self.is_positive)


class OpenRows:
    """The rows of a check that can be judged, and their strata.

    Attributes
    ----------
    places : ndarray of int
        Where these rows are among the scores of the check; all but the trusted ones.
    is_positive, probability : ndarray
    strata : Strata
    chances : ndarray of float
    """

    def __init__(self, check: LabelCheck) -> None:
        scores = check.scores
        n_doubted = int(check.histogram.positive.sum() + check.histogram.negative.sum())
        ranks = np.asarray(scores.rank)
        # Trusted rows have the last ranks.
        self.places = np.flatnonzero(ranks <= max(n_doubted, 0))
        self.rows = np.asarray(scores.rows)[self.places]
        self.is_positive: BoolArray = np.asarray(scores.is_positive)[self.places]
        self.probability = np.asarray(scores.probability, dtype=np.float64)[self.places]
        self.rates = check.estimated_rates
        self.chances = expected_wrong(self.is_positive, self.probability, _expecting(self.rates))
        suspicion = np.where(self.is_positive, 1 - self.probability, self.probability)
        self.strata: Strata = strata_of(self.is_positive, suspicion, expected=self.chances)

    def beliefs(self) -> Beliefs:
        """Return what is believed before any row is judged."""
        return believe(self.strata, self.chances, self.rates, np.random.default_rng(_SEED))

    def places_of(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return where rows of the table are among those that can be judged."""
        return np.searchsorted(self.rows, rows)

    def counts(self, judged: JudgedRows | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the numbers of rows with a clear answer, and of wrong labels, by stratum."""
        places, is_wrong, is_sure = self.answers(judged)
        stratum, size = self.strata.of_row[places], len(self.strata.sizes)
        return (
            np.bincount(stratum[is_sure], minlength=size),
            np.bincount(stratum[is_wrong], minlength=size),
        )

    def answers(self, judged: JudgedRows | None) -> tuple[NDArray[np.intp], BoolArray, BoolArray]:
        """Return where the judged rows are, which labels are wrong, and which answers are clear."""
        if judged is None:
            none = np.zeros(0, dtype=bool)
            return np.zeros(0, dtype=np.intp), none, none
        places = self.places_of(np.array(judged.rows, dtype=np.intp))
        is_sure = np.array([answer is not None for answer in judged.is_positive], dtype=bool)
        right = np.array([bool(answer) for answer in judged.is_positive], dtype=bool)
        return places, is_sure & (right != self.is_positive[places]), is_sure

    def aim(self, about: bool | None) -> NDArray[np.float64]:
        """Return what each stratum counts in the share of all labels, or of one label."""
        sizes = np.array(self.strata.sizes, dtype=np.float64)
        if about is not None:
            sizes = np.where(np.array(self.strata.is_positive) == about, sizes, 0.0)
        return np.asarray(sizes / sizes.sum())


def draw_audit(
    check: LabelCheck,
    n: int,
    *,
    about: Any = None,
    method: Method = "model",
    random_state: RandomState = None,
) -> AuditSample:
    """Return rows to judge; see `LabelCheck.draw_audit`."""
    validate_method(method)
    n = validate_count(n, "n", BATCH)
    found = OpenRows(check)
    label = None if about is None else answer_of(check, about, "about")
    generator = as_generator(random_state)
    known = set() if check.judged is None else set(check.judged.rows)
    left = np.array([row not in known for row in found.rows.tolist()], dtype=bool)
    if n > left.sum():
        raise ValueError(
            f"n must be at most the number of rows that nobody has judged, {int(left.sum())}, got "
            f"{n}. Draw fewer."
        )
    suspects = np.asarray(check.scores.suspect)[found.places]
    if method == "design":
        if known:
            raise ValueError(
                'method="design" draws all rows at once, and rows of this check were judged '
                "already. Draw from the check as it was before."
            )
        drawn = draw(
            found.is_positive,
            suspects,
            n,
            probabilities=found.probability,
            noise_rates=_expecting(found.rates),
            pos_label=True,
            random_state=generator,
        )
        return replace(
            drawn,
            rows=found.rows[drawn.rows],
            positive=check.positive,
            negative=check.negative,
        )
    posterior = posterior_of(found, check.judged)
    sizes = np.array(found.strata.sizes)
    used = np.bincount(found.strata.of_row[~left], minlength=len(sizes))
    counts = next_counts(posterior, n, found.aim(label), left=sizes - used)
    open_ = replace(found.strata, of_row=np.where(left, found.strata.of_row, -1))
    places = draw_rows(open_, counts, generator)
    return AuditSample(
        found.rows[places],
        found.is_positive[places],
        suspects[places],
        found.strata.of_row[places],
        found.strata.sizes,
        check.positive,
        check.negative,
        kinds_of(found.strata),
    )


def planned_audit(
    check: LabelCheck, sizes: Sequence[int] = PLANNED_SIZES, *, about: Any = None
) -> dict[int, dict[str, float]]:
    """Return how wide ranges will be after more rows; see `LabelCheck.planned_audit`."""
    found = OpenRows(check)
    n_left = len(found.rows) - (0 if check.judged is None else len(check.judged.rows))
    asked = sorted({validate_count(size, "sizes", BATCH) for size in sizes})
    wanted = tuple(size for size in asked if size <= n_left)
    label = None if about is None else answer_of(check, about, "about")
    posterior = posterior_of(found, check.judged)
    by_design = _widths_by_design(check, found, posterior, wanted, label)
    if check.judged is not None and check.judged.contradicts_model:
        # Answers count alone from then on.
        with_model = by_design
    else:
        with_model = _widths_with_model(found, posterior, wanted, label)
    return {size: {"model": with_model[size], "design": by_design[size]} for size in wanted}


def planned_width(check: LabelCheck, size: int) -> float:
    """Return the width that `planned_audit` gives for model and answers together."""
    if check.judged is not None and check.judged.contradicts_model:
        return planned_audit(check, (size,))[size]["model"]
    found = OpenRows(check)
    return _widths_with_model(found, posterior_of(found, check.judged), (size,), None)[size]


def _widths_with_model(
    found: OpenRows, posterior: Posterior, sizes: tuple[int, ...], label: bool | None
) -> dict[int, float]:
    return planned_widths(
        posterior, sizes, np.random.default_rng(_SEED), aim=found.aim(label), level=LEVEL
    )


def _widths_by_design(
    check: LabelCheck,
    found: OpenRows,
    posterior: Posterior,
    sizes: tuple[int, ...],
    label: bool | None,
) -> dict[int, float]:
    suspects = np.asarray(check.scores.suspect)[found.places]
    divided = Divided(found.is_positive, suspects, found.probability, _expecting(found.rates))
    widths = {}
    for size in sizes:
        generator = np.random.default_rng([_SEED, size])
        chosen = generator.choice(len(posterior.weight), _N_FUTURES, p=posterior.weight)
        widths[size] = width_in_futures(
            divided,
            size,
            found.strata,
            posterior.shares[chosen],
            label=label,
            level=LEVEL,
            generator=generator,
        )
    return widths


def validate_method(method: str) -> None:
    """Raise an error if there is no such method."""
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}; got {method!r}.")


def _expecting(rates: NoiseRates) -> NoiseRates:
    """Return the rates by which rows are expected to be wrong: never none of a label."""
    positive = max(rates.positive_label_error_rate, _LEAST_RATE)
    negative = max(rates.negative_label_error_rate, _LEAST_RATE)
    part = min(1.0, _MOST_OF_BOTH / (positive + negative))
    return NoiseRates.from_label_error_rates(
        part * positive, part * negative, rates.observed_prevalence
    )


def posterior_of(found: OpenRows, judged: JudgedRows | None) -> Posterior:
    """Return what is believed about the strata, given the rows that were judged."""
    return update(found.beliefs(), *found.counts(judged), np.random.default_rng(_SEED + 1))


def answer_of(check: LabelCheck, answer: Any, name: str) -> bool:
    """Return whether an answer is the positive label, which may be given as value or as text."""
    for label, text in ((True, check.positive), (False, check.negative)):
        if str(answer) == text or _as_number(answer) == _as_number(text):
            return label
    raise ValueError(
        f"{name} must be {check.positive!r} or {check.negative!r}, got {answer!r}. Pass the right "
        "label, not whether the given one is right."
    )


def _as_number(value: Any) -> Any:
    """Return a number or a text that is one as a float, and anything else as an own value."""
    try:
        return float(value) if not isinstance(value, bool | np.bool_) else object()
    except (TypeError, ValueError):
        return object()


def label_name(check: LabelCheck, is_positive: bool) -> str:
    """Return a label as text."""
    return check.positive if is_positive else check.negative
