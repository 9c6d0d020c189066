"""What 25 more judged rows would do to the range of a check, as the offer that ends its answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rankprune.audit._next_rows import BATCH
from rankprune.run._audit_draws import planned_width
from rankprune.run._judged_rows import PLANNED_SIZES

if TYPE_CHECKING:
    from rankprune.run._check_record import CheckRecord

# Of more rows, the offer is made without a number: sorting a million rows into strata takes about
# .6 s, too long where the check itself is fast, because nothing or a single model was fitted.
_MOST_ROWS, _MOST_IF_FAST = 20_000_000, 300_000


@dataclass(frozen=True)
class Offer:
    """Rows that a person may judge next, and how narrow the range will then be.

    Attributes
    ----------
    n_rows : int
        Number of rows to judge.
    half_width : float or None
        Expected half of the width of the range after that; None if it is not known.
    """

    n_rows: int
    half_width: float | None


def offer_of(check: CheckRecord) -> Offer | None:
    """Return the offer to judge 25 rows, or None if that would not narrow the range.

    A check that cannot tell always has an offer, as long as there are rows that nobody has judged:
    of all that are left, if these are fewer.
    """
    is_open = check.verdict.level == "cannot tell"
    n_left = rows_left(check)
    if n_left < BATCH:
        return Offer(n_left, None) if is_open and n_left else None
    width = _width_after(check)
    if width is None:
        return Offer(BATCH, None)
    now = check.wrong_share_interval
    if width < now.high - now.low:
        return Offer(BATCH, width / 2)
    return Offer(BATCH, None) if is_open else None


def rows_left(check: CheckRecord) -> int:
    """Return the number of rows that can still be judged: trusted and judged rows cannot."""
    return check.n_doubted - (0 if check.judged is None else len(check.judged.rows))


def _width_after(check: CheckRecord) -> float | None:
    """Return the width that `planned_audit` gives, unless it would take too long."""
    is_fast = not check.out_of_fold or check.settings.scorer is None
    if check.n_rows > (_MOST_IF_FAST if is_fast else _MOST_ROWS):
        return None
    return planned_width(check, BATCH)


def sizes_to_plan(check: CheckRecord, size: int | None = None) -> list[int]:
    """Return for how many rows the range is planned, of which no more are left to judge.

    Parameters
    ----------
    check : LabelCheck or ClassCheck
    size : int, default=None
        Another number to plan for.
    """
    n_left = rows_left(check)
    if n_left < max(size or 0, 1):
        raise ValueError(
            f"n must be at most the number of rows that nobody has judged, {n_left}, got "
            f"{size or 1}. Plan for fewer."
        )
    sizes = {*PLANNED_SIZES, *([] if size is None else [size])}
    return sorted(n for n in sizes if n <= n_left) or [n_left]
