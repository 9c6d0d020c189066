"""Draw the rows of a blind audit from arrays of labels and scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankprune.audit._class_sample import divided_classes
from rankprune.audit._sample import AuditSample, Divided, allocate, draw_rows, kinds_of
from rankprune.core import NoiseMatrix, NoiseRates
from rankprune.core._inputs import validate_mask
from rankprune.core._parameters import validate_count
from rankprune.core._random import RandomState, as_generator
from rankprune.core.classes._class_inputs import refuse_for_two_labels
from rankprune.core.classes._class_labels import ClassLabels, validate_any_labels


def draw(
    labels: ArrayLike,
    suspects: ArrayLike,
    n: int = 200,
    *,
    probabilities: ArrayLike | None = None,
    noise_rates: NoiseRates | NoiseMatrix | None = None,
    pos_label: Any = None,
    random_state: RandomState = None,
) -> AuditSample:
    """Return a random sample of rows to judge without seeing label or score.

    Suspects are drawn more often than other rows, because more of them are wrong. If there are
    enough such rows, at least a fifth of the sample are suspects, and at least a quarter have each
    of two labels (with noise rates, at least a twentieth and an eighth). The number of rows is
    fixed before any is judged, so the intervals of `estimate` are valid.

    Parameters
    ----------
    labels : array-like of shape (n_rows,)
        Given labels, of two or more values.
    suspects : array-like of bool of shape (n_rows,)
        Rows whose labels are likely wrong, such as ``prune_mask_`` of a classifier.
    n : int, default=200
        Number of rows to draw.
    probabilities : array-like of shape (n_rows,) or (n_rows, n_classes), default=None
        Out-of-fold probability of the positive label; of more than two labels, one column for each,
        in sorted order. Suspects and other rows are then divided further, by how suspicious they
        are, which makes the intervals narrower.
    noise_rates : NoiseRates or NoiseMatrix, default=None
        The model's estimate of how many labels are wrong, used with ``probabilities`` alone. It
        decides where to divide, and how many rows to draw where. The intervals of `estimate` are
        valid even if it is wrong.
    pos_label : default=None
        The positive label of two; by default the last of them in sorted order.
    random_state : int, Generator, RandomState or None, default=None
        Decides which rows are drawn and in which order.

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
    read, _ = validate_any_labels(labels, None, pos_label=pos_label)
    if isinstance(read, ClassLabels) or isinstance(noise_rates, NoiseMatrix):
        refuse_for_two_labels(pos_label=pos_label)
        many = divided_classes(labels, suspects, probabilities, noise_rates)
        _refuse_too_many(n, len(many.codes))
        strata = many.strata(n)
        places = draw_rows(strata, allocate(strata, n), as_generator(random_state))
        return many.sample(places, strata)
    is_positive = read.is_positive
    suspect = validate_mask(suspects, len(is_positive), "suspects", "suspects")
    _refuse_too_many(n, len(is_positive))
    strata = Divided(is_positive, suspect, probabilities, noise_rates).strata(n)
    rows = draw_rows(strata, allocate(strata, n), as_generator(random_state))
    other = read.classes[read.classes != read.pos_label][0]
    return AuditSample(
        rows,
        is_positive[rows],
        suspect[rows],
        strata.of_row[rows],
        strata.sizes,
        _plain(read.pos_label),
        _plain(other),
        kinds_of(strata),
    )


def _refuse_too_many(n: int, n_rows: int) -> None:
    if validate_count(n, "n", 200) > n_rows:
        raise ValueError(f"n must be at most the number of rows, {n_rows}, got {n}. Draw fewer.")


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label
