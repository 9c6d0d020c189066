"""The errors of two models, compared on audited rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankprune.audit._estimate import judged_codes
from rankprune.audit._sample import AuditSample
from rankprune.core._inputs import BoolArray, FloatArray, rows_equal_to, validate_predictions

# Two-sided 95 % quantile of the normal distribution.
_Z = 1.959964


def compare_errors(
    sample: AuditSample, answers: Sequence[Any], before: ArrayLike, after: ArrayLike
) -> tuple[float, float, float, float]:
    """Return the error of two models on all rows, and 95 % confidence limits of the difference.

    Parameters
    ----------
    sample, answers
        As in `estimate`; rows without an answer are left out.
    before, after : array-like of shape (n_drawn,)
        Labels that each model predicts for the sample; neither may be trained on these rows.

    Returns
    -------
    tuple of 4 floats
        Error before, error after, and the limits of after minus before. Each row is weighted by the
        number of rows that it represents. The limits use the normal distribution; for the variance,
        half a row is added to each count of a stratum, as Agresti and Min recommend.

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
    right = judged_codes(sample, answers)
    is_sure = right >= 0
    if not is_sure.any():
        raise ValueError(
            "answers must hold at least one label; all of them are None. Judge some rows first."
        )
    truth = np.where(is_sure, right, sample.given)
    errors = [
        _are_wrong(sample, truth, validate_predictions(one, len(truth), name))
        for one, name in ((before, "before"), (after, "after"))
    ]
    share = np.asarray(sample.sizes) / sum(sample.sizes)
    stratum = sample.stratum[is_sure]

    def by_stratum(marked: BoolArray) -> FloatArray:
        return np.bincount(stratum[marked[is_sure]], minlength=len(share)).astype(np.float64)

    judged = by_stratum(is_sure)
    # Strata without a judged row leave their weight to the others.
    weight = np.where(judged > 0, share, 0.0) / share[judged > 0].sum()
    means = [float((weight * by_stratum(one) / np.maximum(judged, 1)).sum()) for one in errors]
    worse = by_stratum(errors[1] & ~errors[0])
    better = by_stratum(errors[0] & ~errors[1])
    rows = judged + 2
    variance = (worse + better + 1 - (worse - better) ** 2 / rows) / rows**2
    left = 1 - judged / np.maximum(sample.sizes, 1)
    half = _Z * float(np.sqrt((share**2 * left * variance).sum()))
    middle = means[1] - means[0]
    return means[0], means[1], max(-1.0, middle - half), min(1.0, middle + half)


def _are_wrong(sample: AuditSample, truth: NDArray[np.intp], predicted: NDArray[Any]) -> BoolArray:
    """Return which predictions are wrong, given the numbers of the right labels."""
    if not sample.classes:
        return np.asarray(rows_equal_to(predicted, sample.positive) != (truth == 1))
    is_right = np.zeros(len(truth), dtype=bool)
    for code in np.unique(truth).tolist():
        rows = truth == code
        is_right[rows] = rows_equal_to(predicted[rows], sample.classes[code])
    return ~is_right
