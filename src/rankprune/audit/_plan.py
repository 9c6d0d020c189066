"""How large the sample should be: what samples of several sizes would show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankprune.audit._estimate import AuditEstimate, estimate_shares
from rankprune.audit._sample import Divided, allocate, kinds_of
from rankprune.audit._strata import Strata
from rankprune.core import NoiseRates
from rankprune.core._inputs import validate_labels, validate_mask
from rankprune.core._melded_intervals import Part
from rankprune.core._parameters import validate_count, validate_level
from rankprune.core._stratified_limits import total_limits

PLANNED_SIZES = (50, 100, 200, 500)


def plan(
    labels: ArrayLike,
    probabilities: ArrayLike,
    noise_rates: NoiseRates,
    suspects: ArrayLike,
    *,
    sizes: Sequence[int] = PLANNED_SIZES,
    level: float = 0.95,
    pos_label: Any = None,
) -> dict[int, AuditEstimate]:
    """Return what samples of several sizes would show if the model were right about the labels.

    Parameters
    ----------
    labels, suspects, level, pos_label
        As in `draw` and `estimate`.
    probabilities : array-like of shape (n_rows,)
        Out-of-fold probability of the positive label.
    noise_rates : NoiseRates
        The model's estimate of how many labels are wrong.
    sizes : sequence of int, default=(50, 100, 200, 500)
        Sizes of the samples; those above the number of rows are left out.

    Returns
    -------
    dict of int to AuditEstimate
        Expected estimates by size. Compare the widths of their intervals.

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
    divided = Divided(is_positive, suspect, probabilities, noise_rates)
    if not isinstance(sizes, Sequence):
        raise TypeError(
            f"sizes must be a sequence of sizes, got {type(sizes).__name__}. Pass e.g. (100, 200)."
        )
    planned = {}
    for n in sizes:
        if validate_count(n, "sizes", 200) > len(is_positive):
            continue
        strata = divided.strata(n)
        drawn = allocate(strata, n)
        counts = np.round(drawn * np.asarray(strata.expected, dtype=np.float64)).astype(int)
        drawn_from = np.repeat(np.arange(len(drawn)), drawn)
        position = np.concatenate([np.arange(count) for count in drawn])
        planned[n] = estimate_shares(
            strata.sizes,
            kinds_of(strata),
            drawn_from,
            position < counts[drawn_from],
            np.ones(n, dtype=bool),
            validate_level(level),
        )
    return planned


def width_in_futures(
    divided: Divided,
    n: int,
    beliefs: Strata,
    futures: NDArray[np.float64],
    *,
    label: bool | None,
    level: float,
    generator: np.random.Generator,
) -> float:
    """Return the mean width of the range of the share of wrong labels, from answers alone.

    Parameters
    ----------
    divided : Divided
        The rows, as samples are drawn from them.
    n : int
        Size of the sample.
    beliefs : Strata
        The strata of the same rows that futures are about.
    futures : ndarray of shape (n_futures, n_strata)
        Shares of wrong labels in these strata, as they may turn out.
    label : bool or None
        Whether the range is that of positive or of negative labels; None for all.
    level : float
    generator : Generator
    """
    strata = divided.strata(n)
    drawn, sizes = allocate(strata, n), np.array(strata.sizes)
    shared = np.zeros((len(sizes), len(beliefs.sizes)))
    np.add.at(shared, (strata.of_row, beliefs.of_row), 1.0)
    widths = []
    for shares in futures:
        n_wrong = np.clip(np.rint(shared @ shares), 0, sizes).astype(np.int64)
        wrong = generator.hypergeometric(n_wrong, sizes - n_wrong, drawn)
        parts = [
            Part(*counts)
            for is_positive, *counts in zip(
                strata.is_positive, strata.sizes, drawn.tolist(), wrong.tolist(), strict=True
            )
            if label in (None, is_positive)
        ]
        low, high = total_limits(parts, parts, level)
        widths.append((high - low) / sum(part.size for part in parts))
    return float(np.mean(widths))
