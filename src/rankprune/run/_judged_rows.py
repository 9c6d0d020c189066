"""Rows of a check of two labels that people judge for an audit, and what their answers mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from rankprune.audit import AuditSample, Strata, draw, strata_of
from rankprune.audit._beliefs import Beliefs, believe
from rankprune.audit._sample import Divided, kinds_of
from rankprune.audit._strata import expected_wrong
from rankprune.core import NoiseRates
from rankprune.core._inputs import BoolArray
from rankprune.run._rows_to_judge import SEED, RowsToJudge

if TYPE_CHECKING:
    from rankprune.run._check_record import CheckRecord
    from rankprune.run._label_check import LabelCheck

Method = Literal["model", "design"]
METHODS: tuple[Method, ...] = ("model", "design")
PLANNED_SIZES = (25, 50, 100, 200)
# The model's chances that labels are wrong assume at least this share of wrong labels; see
# `_expecting`.
_LEAST_RATE, _MOST_OF_BOTH = 0.01, 0.95
# As many labels are listed in an error.
_MOST_SHOWN = 6


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
    def codes(self) -> tuple[int | None, ...]:
        """Return the number of the right label of each row: 1 if it is the positive one."""
        return tuple(None if answer is None else int(answer) for answer in self.is_positive)

    @property
    def n_sure(self) -> int:
        """Return the number of rows with a clear answer."""
        return sum(answer is not None for answer in self.is_positive)


class OpenRows(RowsToJudge):
    """The rows of a check of two labels that can be judged, and their strata.

    Attributes
    ----------
    is_positive, probability : ndarray
    rates : NoiseRates
    """

    def __init__(self, check: LabelCheck) -> None:
        super().__init__(check)
        self.is_positive: BoolArray = self.codes == 1
        self.probability = np.asarray(check.scores.probability, dtype=np.float64)[self.places]
        self.rates = check.estimated_rates
        self._values = check.positive, check.negative

    @cached_property
    def chances(self) -> NDArray[np.float64]:
        """Return the model's chance that each label is wrong."""
        return expected_wrong(self.is_positive, self.probability, _expecting(self.rates))

    @cached_property
    def strata(self) -> Strata:
        """Return the strata that beliefs are about."""
        suspicion = np.where(self.is_positive, 1 - self.probability, self.probability)
        return strata_of(self.is_positive, suspicion, expected=self.chances)

    def beliefs(self) -> Beliefs:
        """Return what is believed before any row is judged."""
        return believe(self.strata, self.chances, self.rates, np.random.default_rng(SEED))

    def aim(self, label: int | None) -> NDArray[np.float64]:
        """Return what each stratum counts in the share of all labels, or of one label."""
        sizes = np.array(self.strata.sizes, dtype=np.float64)
        if label is not None:
            sizes = np.where(np.array(self.strata.group) == label, sizes, 0.0)
        return np.asarray(sizes / sizes.sum())

    def divided(self) -> Divided:
        """Return how the rows are divided for a sample of fixed size."""
        return Divided(self.is_positive, self.suspect, self.probability, _expecting(self.rates))

    def sample(self, places: NDArray[np.intp], strata: Strata) -> AuditSample:
        """Return some of the rows as a sample drawn from strata."""
        return AuditSample(
            self.rows[places],
            self.is_positive[places],
            self.suspect[places],
            strata.of_row[places],
            strata.sizes,
            *self._values,
            kinds_of(strata),
        )

    def fixed_sample(self, n: int, generator: np.random.Generator) -> AuditSample:
        """Return a sample of fixed size, drawn at once."""
        drawn = draw(
            self.is_positive,
            self.suspect,
            n,
            probabilities=self.probability,
            noise_rates=_expecting(self.rates),
            pos_label=True,
            random_state=generator,
        )
        positive, negative = self._values
        return replace(drawn, rows=self.rows[drawn.rows], positive=positive, negative=negative)

    def judged(
        self, rows: Sequence[int], answers: Sequence[int | None], method: Method
    ) -> JudgedRows:
        """Return the record of judged rows, given the numbers of their right labels."""
        right = tuple(None if answer is None else bool(answer) for answer in answers)
        return JudgedRows(tuple(rows), right, method, False, 0)


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


def answer_of(check: CheckRecord, answer: Any, name: str) -> int:
    """Return the number of the label that an answer is, given as a value or as text."""
    text, classes = str(answer), check.classes
    if text in classes:
        return classes.index(text)
    number = _as_number(answer)
    for code in reversed(range(len(classes))):
        if number == _as_number(classes[code]):
            return code
    raise ValueError(
        f"{name} must be {_choices(classes)}, got {answer!r}. Pass the right label, not whether "
        "the given one is right."
    )


def _choices(classes: tuple[str, ...]) -> str:
    """Return the labels; of many, the first."""
    if len(classes) == 2:
        return f"{classes[1]!r} or {classes[0]!r}"
    more = ", ..." if len(classes) > _MOST_SHOWN else ""
    return f"one of {', '.join(map(repr, classes[:_MOST_SHOWN]))}{more}"


def _as_number(value: Any) -> Any:
    """Return a number or a text that is one as a float, and anything else as an own value."""
    try:
        return float(value) if not isinstance(value, bool | np.bool_) else object()
    except (TypeError, ValueError):
        return object()


def label_name(check: CheckRecord, code: int) -> str:
    """Return a label as text, given its number."""
    return check.classes[code]
