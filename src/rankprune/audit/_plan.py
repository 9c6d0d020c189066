"""How large the sample should be: what samples of several sizes would show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankprune.audit._class_estimate import ClassAuditEstimate, estimate_class_shares
from rankprune.audit._class_sample import DividedClasses, divided_classes, refuse_other_noise
from rankprune.audit._estimate import AuditEstimate, estimate_shares
from rankprune.audit._sample import Divided, allocate, kinds_of
from rankprune.audit._strata import Strata
from rankprune.core import NoiseMatrix, NoiseRates
from rankprune.core._inputs import BoolArray, validate_mask
from rankprune.core._melded_intervals import Part
from rankprune.core._parameters import validate_count, validate_level
from rankprune.core._stratified_limits import total_limits
from rankprune.core.classes._class_inputs import refuse_for_two_labels
from rankprune.core.classes._class_labels import ClassLabels, validate_any_labels

PLANNED_SIZES = (50, 100, 200, 500)


def plan(
    labels: ArrayLike,
    probabilities: ArrayLike,
    noise_rates: NoiseRates | NoiseMatrix,
    suspects: ArrayLike,
    *,
    sizes: Sequence[int] = PLANNED_SIZES,
    level: float = 0.95,
    pos_label: Any = None,
) -> dict[int, AuditEstimate] | dict[int, ClassAuditEstimate]:
    """Return what samples of several sizes would show if the model were right about the labels.

    Parameters
    ----------
    labels, suspects, level, pos_label
        As in `draw` and `estimate`.
    probabilities : array-like of shape (n_rows,) or (n_rows, n_classes)
        As in `draw`.
    noise_rates : NoiseRates or NoiseMatrix
        The model's estimate of how many labels are wrong; a matrix if there are more than two.
    sizes : sequence of int, default=(50, 100, 200, 500)
        Sizes of the samples; those above the number of rows are left out.

    Returns
    -------
    dict of int to AuditEstimate or ClassAuditEstimate
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
    read, _ = validate_any_labels(labels, None, pos_label=pos_label)
    if isinstance(read, ClassLabels) or isinstance(noise_rates, NoiseMatrix):
        refuse_for_two_labels(pos_label=pos_label)
        refuse_other_noise(noise_rates)
        many = divided_classes(labels, suspects, probabilities, noise_rates)
        wanted = _wanted(sizes, len(many.codes))
        return {n: _planned_classes(many, n, validate_level(level)) for n in wanted}
    is_positive = read.is_positive
    suspect = validate_mask(suspects, len(is_positive), "suspects", "suspects")
    divided = Divided(is_positive, suspect, probabilities, noise_rates)
    planned = {}
    for n in _wanted(sizes, len(is_positive)):
        strata = divided.strata(n)
        _, drawn_from, is_wrong = _expected_answers(strata, n)
        planned[n] = estimate_shares(
            strata.sizes,
            kinds_of(strata),
            drawn_from,
            is_wrong,
            np.ones(n, dtype=bool),
            validate_level(level),
        )
    return planned


def _wanted(sizes: Sequence[int], n_rows: int) -> list[int]:
    """Return the sizes that are possible."""
    if not isinstance(sizes, Sequence):
        raise TypeError(
            f"sizes must be a sequence of sizes, got {type(sizes).__name__}. Pass e.g. (100, 200)."
        )
    return [n for n in sizes if validate_count(n, "sizes", 200) <= n_rows]


def _expected_answers(
    strata: Strata, n: int
) -> tuple[NDArray[np.intp], NDArray[np.intp], BoolArray]:
    """Return the number of rows from each stratum, the stratum of each, and the wrong labels.

    Of each stratum, the first rows have the wrong labels.
    """
    drawn = allocate(strata, n)
    counts = np.round(drawn * np.asarray(strata.expected, dtype=np.float64)).astype(int)
    drawn_from = np.repeat(np.arange(len(drawn)), drawn)
    position = np.concatenate([np.arange(count) for count in drawn])
    return drawn, drawn_from, position < counts[drawn_from]


def _planned_classes(many: DividedClasses, n: int, level: float) -> ClassAuditEstimate:
    """Return what a sample of rows at even distances along the suspicion would show."""
    assert many.suspicion is not None
    strata = many.strata(n)
    drawn, _, is_wrong = _expected_answers(strata, n)
    places = []
    for number, count in enumerate(drawn.tolist()):
        members = np.flatnonzero(strata.of_row == number)
        members = members[np.argsort(-many.suspicion[members], kind="stable")]
        places.append(
            members[((np.arange(count) + 0.5) * len(members) / max(count, 1)).astype(int)]
        )
    sample = many.sample(np.concatenate(places), strata)
    return estimate_class_shares(sample, is_wrong, np.ones(n, dtype=bool), level)


def width_in_futures(
    divided: Divided | DividedClasses,
    n: int,
    beliefs: Strata,
    futures: NDArray[np.float64],
    *,
    rows: BoolArray | None,
    level: float,
    generator: np.random.Generator,
) -> float:
    """Return the mean width of the range of the share of wrong labels, from answers alone.

    Parameters
    ----------
    divided : Divided or DividedClasses
        The rows, as samples are drawn from them.
    n : int
        Size of the sample.
    beliefs : Strata
        The strata of the same rows that futures are about.
    futures : ndarray of shape (n_futures, n_strata)
        Shares of wrong labels in these strata, as they may turn out.
    rows : ndarray of bool or None
        The rows with the label that the range is about; None for all.
    level : float
    generator : Generator
    """
    strata = divided.strata(n)
    drawn, whole = allocate(strata, n), np.array(strata.sizes)
    everything = np.ones(len(strata.of_row), dtype=bool)
    of_label = whole if rows is None else np.bincount(strata.of_row[rows], minlength=len(whole))
    # Strata of several labels are drawn from without regard to the label.
    is_mixed = bool(((of_label > 0) & (of_label < whole)).any())
    chosen = rows if rows is not None and is_mixed else everything
    sizes = of_label if is_mixed else whole
    shared = np.zeros((len(sizes), len(beliefs.sizes)))
    np.add.at(shared, (strata.of_row[chosen], beliefs.of_row[chosen]), 1.0)
    widths = []
    for shares in futures:
        judged = generator.hypergeometric(sizes, whole - sizes, drawn) if is_mixed else drawn
        n_wrong = np.clip(np.rint(shared @ shares), 0, sizes).astype(np.int64)
        wrong = generator.hypergeometric(n_wrong, sizes - n_wrong, judged)
        counts = zip(sizes.tolist(), judged.tolist(), wrong.tolist(), strict=True)
        parts = [Part(*each) for each, n_rows in zip(counts, of_label, strict=True) if n_rows]
        low, high = total_limits(parts, parts, level)
        widths.append((high - low) / sum(part.size for part in parts))
    return float(np.mean(widths))
