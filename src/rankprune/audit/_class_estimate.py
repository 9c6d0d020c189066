"""What the answers of an audit show about labels of more than two values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rankprune.audit._answered_strata import COVERS, AnsweredStrata
from rankprune.audit._sample import AuditSample
from rankprune.core import Interval
from rankprune.core._inputs import BoolArray

CLASS_METHOD = (
    "totals that the stratified estimate does not refute, by its exact distribution at the "
    "likeliest shares of the strata, drawn without replacement; the rows of a label are a random "
    "sample of its rows in each stratum; unsure answers count as correct labels for the lower "
    "limit and as wrong labels for the upper limit"
)
# As many labels are listed in the text.
_MOST_SHOWN = 12


@dataclass(frozen=True)
class ClassAuditEstimate:
    """What an audit shows about labels of more than two values, independently of the model.

    Attributes
    ----------
    wrong_share : Interval
        Share of all labels that are wrong.
    error_rates : tuple of Interval
        Share of the labels of each value that are wrong, in the order of ``classes``; 0 for a value
        that no row has.
    classes : tuple
        The label values.
    suspect_precision, missed_share, missed_at_most, n_rows, n_drawn, n_unsure, level, method
        As in `AuditEstimate`.

    Examples
    --------
    >>> import numpy as np
    >>> from rankprune import audit
    >>> truth = np.repeat(["cat", "dog", "owl"], 400)
    >>> labels = np.where(np.arange(1200) % 20 == 0, "owl", truth)
    >>> sample = audit.draw(labels, np.arange(1200) % 10 == 0, 200, random_state=0)
    >>> found = audit.estimate(sample, truth[sample.rows])
    >>> print(found.error_rates[2])
    9.8% (6.6% to 13.4%)
    """

    wrong_share: Interval
    error_rates: tuple[Interval, ...]
    classes: tuple[Any, ...]
    suspect_precision: Interval | None
    missed_share: Interval | None
    missed_at_most: int
    n_rows: int
    n_drawn: int
    n_unsure: int
    level: float
    method: str = CLASS_METHOD

    def items(self) -> list[tuple[str, Interval]]:
        """Return the name and interval of each share that is not None."""
        values = [
            ("wrong_share", self.wrong_share),
            *(
                (f"labels {label!r} that are wrong", one)
                for label, one in zip(self.classes, self.error_rates, strict=True)
            ),
            ("suspect_precision", self.suspect_precision),
            ("missed_share", self.missed_share),
        ]
        return [(name, value) for name, value in values if value is not None]

    def __str__(self) -> str:
        total, *labels = self.items()[: 1 + len(self.classes)]
        shown = [total, *labels[:_MOST_SHOWN], *self.items()[1 + len(self.classes) :]]
        lines = [f"{name.replace('_', ' ')}: {interval}" for name, interval in shown]
        if len(labels) > _MOST_SHOWN:
            lines.append(f"and {len(labels) - _MOST_SHOWN} more labels")
        lines.append(f"missed at most: {self.missed_at_most} labels")
        lines.append(f"{self.level:.0%} intervals; they cover {COVERS}")
        return "\n".join(lines)


def estimate_class_shares(
    sample: AuditSample, is_wrong: BoolArray, is_sure: BoolArray, level: float
) -> ClassAuditEstimate:
    """Return the interval of each share, from the answer about each drawn row."""
    assert sample.codes is not None
    assert sample.sizes_by_label is not None
    suspects = [suspect for _, suspect in sample.kinds]
    found = AnsweredStrata(sample.sizes, suspects, sample.stratum, is_wrong, is_sure, level)
    rates = [wrong / max(size, 1) for wrong, size in zip(found.likely, sample.sizes, strict=True)]
    others = [not suspect for suspect in suspects]

    def error_rate(code: int, sizes: list[int]) -> Interval:
        """Return the share of wrong labels of one value, from its rows in the strata."""
        rows = np.flatnonzero(sample.codes == code)
        if not sum(sizes):
            return Interval(0.0, 0.0, 0.0, COVERS)
        if not len(rows):
            return Interval(float(np.average(rates, weights=sizes)), 0.0, 1.0, COVERS)
        answered = sample.stratum[rows], is_wrong[rows], is_sure[rows]
        return AnsweredStrata(sizes, suspects, *answered, level, rates).whole()

    return ClassAuditEstimate(
        wrong_share=found.whole(),
        error_rates=tuple(
            map(error_rate, range(len(sample.classes)), sample.sizes_by_label.T.tolist())
        ),
        classes=sample.classes,
        suspect_precision=found.share(suspects),
        missed_share=found.share(others),
        missed_at_most=found.n_at_most(others),
        n_rows=sum(sample.sizes),
        n_drawn=len(sample.rows),
        n_unsure=int((~is_sure).sum()),
        level=level,
    )
