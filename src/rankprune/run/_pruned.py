"""The rows that training and export leave out: by default the suspects."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankprune.core import correction_weights, prune_labels
from rankprune.core._answer import acts
from rankprune.exceptions import TableError
from rankprune.run._label_check import LabelCheck
from rankprune.table import Table
from rankprune.table._special_columns import read_flags


def pruned_rows(
    run: LabelCheck, *, prune: bool = False, trusted: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return the prune mask of the labeled rows, and the weight of each row.

    Parameters
    ----------
    run : LabelCheck
    prune : bool, default=False
        Prune with the estimated rates even if the check did not find noise.
    trusted : ndarray of bool, default=None
        Rows that are never pruned.
    """
    scores = run.scores
    if acts(run.verdict) or not prune:
        return scores.suspect, scores.weight
    rates = run.estimated_rates
    if not rates.reliable:
        raise TableError(
            "prune must be False here: the scores do not tell the labels apart, so they cannot "
            "show which rows to leave out. Use a stronger model."
        )
    is_doubted = np.ones(len(scores.rows), dtype=bool) if trusted is None else ~trusted
    labels = scores.is_positive[is_doubted]
    mask, weight = np.zeros(len(is_doubted), dtype=bool), np.ones(len(is_doubted))
    mask[is_doubted] = prune_labels(labels, scores.probability[is_doubted], rates).mask
    weight[is_doubted] = correction_weights(labels, rates)
    weight[mask] = 0.0
    return mask, weight


def trusted_rows(run: LabelCheck, table: Table) -> NDArray[np.bool_] | None:
    """Return which labeled rows are trusted, or None if the check had no trusted column."""
    column = run.settings.trusted
    return None if column is None else read_flags(table, column, "trusted", run.scores.rows)
