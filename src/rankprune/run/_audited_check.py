"""What the answers about judged rows change: rates, verdict, suspects and lists of a check.

Labels and scores alone leave a range. Judged rows narrow it: what the model believes about the
share of wrong labels is updated with the answers. Where they contradict it, they count alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from rankprune.audit import AuditSample
from rankprune.audit._beliefs import NO_WRONG_SHARE
from rankprune.core import Interval, NoiseMatrix, NoiseRates
from rankprune.core._inputs import is_missing
from rankprune.run import _audited_classes, _audited_rates
from rankprune.run._audit_draws import posterior_of
from rankprune.run._class_sentences import is_of_many
from rankprune.run._judged_classes import open_rows
from rankprune.run._judged_rows import Method, answer_of, label_name, validate_method
from rankprune.run._rows_to_judge import RowsToJudge

if TYPE_CHECKING:
    from rankprune.run._check_record import CheckRecord

Check = TypeVar("Check", bound="CheckRecord")


def settle(
    check: Check, rows: AuditSample | ArrayLike, answers: Iterable[Any], method: Method
) -> Check:
    """Return the check with the answers about judged rows; see `CheckRecord.settle`."""
    validate_method(method)
    together = _with_answers(check, open_rows(check), rows, answers)
    found = open_rows(check, together)
    judged = found.judged(tuple(together), tuple(together.values()), method)
    places, is_wrong, is_sure = found.answers(judged)
    judged = replace(judged, n_wrong=int(is_wrong.sum()))
    if not is_sure.any():
        return replace(check, judged=judged)  # type: ignore[type-var]  # a dataclass
    # Both modules have the same functions, for their kind of noise.
    kind: Any = _audited_classes if is_of_many(check) else _audited_rates
    if method == "design":
        sample = _whole_sample(rows, together)
        drawn = sample.rows.tolist()
        in_order = found.judged(drawn, [together[row] for row in drawn], method)
        noise, is_against = kind.by_answers(found, sample, in_order), False
    else:
        noise = kind.with_model(found, posterior_of(found, judged), judged)
        before = check.estimated_intervals.wrong_share
        is_against = contradicts(noise, before)
        if is_against:
            noise = kind.by_answers(found, None, judged)
    judged = replace(judged, contradicts_model=is_against)
    after: Check = kind.settled(check, found, noise, judged, places[is_sure])
    return after


def _whole_sample(rows: AuditSample | ArrayLike, together: dict[int, int | None]) -> AuditSample:
    """Return the sample of fixed size whose rows are all that were judged."""
    if not isinstance(rows, AuditSample) or sorted(rows.rows.tolist()) != sorted(together):
        raise ValueError(
            'rows must be the AuditSample that draw_audit(method="design") returned, and no '
            "other rows may have been judged. Pass that sample."
        )
    return rows


def contradicts(noise: NoiseRates | NoiseMatrix, before: Interval) -> bool:
    """Return whether the middle of the new range is outside of the one that the model gave."""
    assert noise.intervals is not None
    now, high = noise.intervals.wrong_share, before.high
    if isinstance(noise, NoiseMatrix):
        # Where scores separate many labels, the range has no width.
        high = max(high, NO_WRONG_SHARE)
    return not before.low <= (now.low + now.high) / 2 <= high


def _with_answers(
    check: CheckRecord, found: RowsToJudge, rows: AuditSample | ArrayLike, answers: Iterable[Any]
) -> dict[int, int | None]:
    """Return the number of the right label of every judged row, earlier answers first."""
    given = rows.rows if isinstance(rows, AuditSample) else np.asarray(rows)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise ValueError(
            "rows must be an AuditSample or the positions of rows, got "
            f"{type(rows).__name__} of {given.dtype}. Pass what draw_audit returned."
        )
    try:
        said = list(answers)
    except TypeError as error:
        raise TypeError(
            f"answers must be a sequence of labels, got {type(answers).__name__}. Pass a list."
        ) from error
    if len(said) != len(given):
        raise ValueError(
            f"answers must have one answer for each of the {len(given)} rows, got {len(said)}. "
            "Pass None for rows without an answer."
        )
    together: dict[int, int | None] = {}
    if check.judged is not None:
        together = dict(zip(check.judged.rows, check.judged.codes, strict=True))
    can_be_judged = set(found.rows.tolist())
    for place, (row, answer) in enumerate(zip(given.tolist(), said, strict=True)):
        if row not in can_be_judged:
            raise ValueError(
                f"rows must be checked rows that are not trusted, got row {row}. "
                "Pass what draw_audit returned."
            )
        right = None if is_missing(answer) else answer_of(check, answer, f"answers[{place}]")
        known = together.get(row)
        if known is not None and right is not None and known != right:
            raise ValueError(
                f"answers must not contradict each other; row {row} was judged "
                f"{label_name(check, known)!r} and {label_name(check, right)!r}. Decide for one, "
                "or pass None."
            )
        together[row] = known if right is None else right
    return together
