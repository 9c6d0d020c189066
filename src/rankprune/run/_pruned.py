"""The rows that training and export leave out: by default the suspects."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankprune.core import NoiseMatrix, NoiseRates, correction_weights, prune_labels
from rankprune.core._answer import acts
from rankprune.core.classes._class_loops import likelihood_ratios
from rankprune.core.classes._class_pruning import prune_by_ratios
from rankprune.core.classes._class_weights import class_weights_of
from rankprune.exceptions import TableError
from rankprune.run._check_record import CheckRecord
from rankprune.run._class_sentences import is_of_many, is_of_two
from rankprune.run._judged_labels import (
    judged_codes,
    judged_mask,
    noise_of_rest,
)
from rankprune.table import Table
from rankprune.table._special_columns import read_flags


def pruned_rows(
    run: CheckRecord, *, prune: bool = False, trusted: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return the prune mask of the labeled rows, and the weight of each row.

    Parameters
    ----------
    run : LabelCheck or ClassCheck
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
    noise, doubted = pruning_rates(run), ~judged_mask(run)
    if trusted is not None:
        doubted &= ~trusted
    # Judged rows take part: how many of them are wrong is known.
    is_counted = np.ones(len(doubted), dtype=bool) if trusted is None else ~trusted
    settled, right = judged_codes(run)
    given = run.given_codes
    places = np.searchsorted(scores.rows[is_counted], settled)
    of_rest = noise_of_rest(noise, given[is_counted], places, right) if len(settled) else noise
    mask, weight = np.zeros(len(doubted), dtype=bool), np.ones(len(doubted))
    if of_rest is None:
        return mask, weight
    codes, own = given[doubted], scores.probability[doubted]
    if isinstance(of_rest, NoiseMatrix):
        ratios = likelihood_ratios(own, scores.suggested_probability[doubted])
        mask[doubted] = prune_by_ratios(codes, ratios, of_rest).mask
    else:
        mask[doubted] = prune_labels(codes == 1, own, of_rest).mask
    weight[doubted] = _weights(codes, noise)
    weight[mask] = 0.0
    return mask, weight


def _weights(codes: NDArray[np.intp], noise: NoiseRates | NoiseMatrix) -> NDArray[np.float64]:
    if isinstance(noise, NoiseMatrix):
        return np.asarray(class_weights_of(noise)[codes])
    return correction_weights(codes == 1, noise)


def answered_noise(run: CheckRecord) -> NoiseRates | NoiseMatrix:
    """Return the noise that the check reports."""
    if is_of_many(run):
        return run.noise_matrix
    assert is_of_two(run)
    return run.noise_rates


def pruning_rates(run: CheckRecord) -> NoiseRates | NoiseMatrix:
    """Return the rates that prune if the check did not find noise: audited ones if there are any.

    Raise an error if the scores say nothing, since they decide which rows are pruned.
    """
    if len(judged_codes(run)[0]):
        noise = answered_noise(run)
    elif is_of_many(run):
        noise = run.estimated_matrix
    else:
        assert is_of_two(run)
        noise = run.estimated_rates
    if not noise.reliable:
        raise TableError(
            "prune must be False here: the scores do not tell the labels apart, so they cannot "
            "show which rows to leave out. Use a stronger model."
        )
    return noise


def trusted_rows(run: CheckRecord, table: Table) -> NDArray[np.bool_] | None:
    """Return which labeled rows are trusted, or None if the check had no trusted column."""
    column = run.settings.trusted
    return None if column is None else read_flags(table, column, "trusted", run.scores.rows)
