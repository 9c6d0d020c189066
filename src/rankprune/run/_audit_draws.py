"""Which rows of a check people should judge, and how much that will narrow its range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankprune.audit import AuditSample
from rankprune.audit._beliefs import Posterior, update
from rankprune.audit._next_rows import BATCH, next_counts, planned_widths
from rankprune.audit._plan import width_in_futures
from rankprune.audit._sample import draw_rows
from rankprune.core._interval_records import LEVEL
from rankprune.core._parameters import validate_count
from rankprune.core._random import RandomState, as_generator
from rankprune.run._class_sentences import is_of_two
from rankprune.run._judged_classes import JudgedClasses, OpenClassRows, open_rows
from rankprune.run._judged_rows import (
    PLANNED_SIZES,
    JudgedRows,
    Method,
    answer_of,
    validate_method,
)
from rankprune.run._rows_to_judge import SEED, RowsToJudge

if TYPE_CHECKING:
    from rankprune.run._check_record import CheckRecord

# Numbers of ways that answers may turn out, over which plans for answers alone are means.
_N_FUTURES = 24


def draw_audit(
    check: CheckRecord,
    n: int,
    *,
    about: Any = None,
    method: Method = "model",
    random_state: RandomState = None,
) -> AuditSample:
    """Return rows to judge; see `CheckRecord.draw_audit`."""
    validate_method(method)
    n = validate_count(n, "n", BATCH)
    label = None if about is None else answer_of(check, about, "about")
    known = _judged_rows(check)
    found = open_rows(check, known, label)
    generator = as_generator(random_state)
    left = ~np.isin(found.rows, list(known))
    if n > left.sum():
        raise ValueError(
            f"n must be at most the number of rows that nobody has judged, {int(left.sum())}, got "
            f"{n}. Draw fewer."
        )
    if method == "design":
        if known:
            raise ValueError(
                'method="design" draws all rows at once, and rows of this check were judged '
                "already. Draw from the check as it was before."
            )
        return found.fixed_sample(n, generator)
    posterior = posterior_of(found, check.judged)
    sizes = np.array(found.strata.sizes)
    used = np.bincount(found.strata.of_row[~left], minlength=len(sizes))
    counts = next_counts(posterior, n, found.aim(label), left=sizes - used)
    open_ = replace(found.strata, of_row=np.where(left, found.strata.of_row, -1))
    return found.sample(draw_rows(open_, counts, generator), found.strata)


def planned_audit(
    check: CheckRecord, sizes: Sequence[int] = PLANNED_SIZES, *, about: Any = None
) -> dict[int, dict[str, float]]:
    """Return how wide ranges will be after more rows; see `CheckRecord.planned_audit`."""
    label = None if about is None else answer_of(check, about, "about")
    known = _judged_rows(check)
    found = open_rows(check, known, label)
    n_left = len(found.rows) - len(known)
    asked = sorted({validate_count(size, "sizes", BATCH) for size in sizes})
    wanted = tuple(size for size in asked if size <= n_left)
    posterior = posterior_of(found, check.judged)
    by_design = _widths_by_design(found, posterior, wanted, label)
    if _goes_by_limits(check):
        # Answers count alone from then on.
        with_model = by_design
    else:
        with_model = _widths_with_model(found, posterior, wanted, label)
    return {size: {"model": with_model[size], "design": by_design[size]} for size in wanted}


def planned_width(check: CheckRecord, size: int) -> float:
    """Return the width that `planned_audit` gives for model and answers together."""
    if _goes_by_limits(check):
        return planned_audit(check, (size,))[size]["model"]
    found = open_rows(check, _judged_rows(check))
    return _widths_with_model(found, posterior_of(found, check.judged), (size,), None)[size]


def posterior_of(found: RowsToJudge, judged: JudgedRows | JudgedClasses | None) -> Posterior:
    """Return what is believed about the strata, given the rows that were judged."""
    if isinstance(found, OpenClassRows) and judged is not None and judged.contradicts_model:
        beliefs = found.beliefs_without_model()
    else:
        beliefs = found.beliefs()
    return update(beliefs, *found.counts(judged), np.random.default_rng(SEED + 1))


def _goes_by_limits(check: CheckRecord) -> bool:
    """Return whether exact limits are used because answers contradict the model.

    Only with two labels: the strata of many are too many.
    """
    return is_of_two(check) and check.judged is not None and check.judged.contradicts_model


def _judged_rows(check: CheckRecord) -> tuple[int, ...]:
    return () if check.judged is None else tuple(check.judged.rows)


def _widths_with_model(
    found: RowsToJudge, posterior: Posterior, sizes: tuple[int, ...], label: int | None
) -> dict[int, float]:
    return planned_widths(
        posterior, sizes, np.random.default_rng(SEED), aim=found.aim(label), level=LEVEL
    )


def _widths_by_design(
    found: RowsToJudge, posterior: Posterior, sizes: tuple[int, ...], label: int | None
) -> dict[int, float]:
    divided = found.divided()
    rows: NDArray[np.bool_] | None = None if label is None else found.codes == label
    widths = {}
    for size in sizes:
        generator = np.random.default_rng([SEED, size])
        chosen = generator.choice(len(posterior.weight), _N_FUTURES, p=posterior.weight)
        widths[size] = width_in_futures(
            divided,
            size,
            found.strata,
            posterior.shares[chosen],
            rows=rows,
            level=LEVEL,
            generator=generator,
        )
    return widths
