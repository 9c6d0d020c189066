"""The rows that training and export leave out: by default the suspects."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankprune.core import NoiseRates, correction_weights, prune_labels
from rankprune.core._answer import acts
from rankprune.exceptions import TableError
from rankprune.run._judged_labels import judged_labels, judged_mask, rates_of_rest
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
        Prune even if the check did not find noise: with the audited rates if people judged rows,
        with the estimated ones otherwise.
    trusted : ndarray of bool, default=None
        Rows that are never pruned. Rows that people judged are not pruned either, and have weight
        1.
    """
    scores = run.scores
    if acts(run.verdict) or not prune:
        return scores.suspect, scores.weight
    rates, doubted = pruning_rates(run), ~judged_mask(run)
    if trusted is not None:
        doubted &= ~trusted
    # Judged rows take part: how many of them are wrong is known.
    is_counted = np.ones(len(doubted), dtype=bool) if trusted is None else ~trusted
    settled, right = judged_labels(run)
    given = scores.is_positive[is_counted]
    places = np.searchsorted(scores.rows[is_counted], settled)
    of_rest = rates_of_rest(rates, given, places, right) if len(settled) else rates
    mask, weight = np.zeros(len(doubted), dtype=bool), np.ones(len(doubted))
    if of_rest is None:
        return mask, weight
    labels = scores.is_positive[doubted]
    mask[doubted] = prune_labels(labels, scores.probability[doubted], of_rest).mask
    weight[doubted] = correction_weights(labels, rates)
    weight[mask] = 0.0
    return mask, weight


def pruning_rates(run: LabelCheck) -> NoiseRates:
    """Return the rates that prune if the check did not find noise: audited ones if there are any.

    Raise an error if the scores say nothing, since they decide which rows are pruned.
    """
    rates = run.noise_rates if len(judged_labels(run)[0]) else run.estimated_rates
    if not rates.reliable:
        raise TableError(
            "prune must be False here: the scores do not tell the labels apart, so they cannot "
            "show which rows to leave out. Use a stronger model."
        )
    return rates


def trusted_rows(run: LabelCheck, table: Table) -> NDArray[np.bool_] | None:
    """Return which labeled rows are trusted, or None if the check had no trusted column."""
    column = run.settings.trusted
    return None if column is None else read_flags(table, column, "trusted", run.scores.rows)
