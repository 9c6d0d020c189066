"""The ways to a consensus from answers alone: which model of annotators, from which starts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankprune.annotators._answers import Answers
from rankprune.annotators._em import (
    Design,
    Fit,
    MStep,
    PriorStep,
    class_prior,
    dawid_skene_step,
    iterate,
    normalised,
    one_coin_step,
    pooled_confusion,
)
from rankprune.annotators._votes import Array, count_votes, majority

# Pseudo-answers of each model. "dawid-skene" is nearly unsmoothed, as published; "smoothed" pulls
# each confusion towards the annotator's own accuracy.
_DAWID_SKENE, _ONE_COIN, _SMOOTHED = 0.05, 4.0, 16.0

# Gold rows from which annotators are measured rather than guessed.
ENOUGH_GOLD = 30

MODELS = ("one-coin", "dawid-skene", "smoothed")


def vote_start(answers: Answers, known: NDArray[np.intp], weight: Array | None) -> Array:
    """Return the vote shares, with known classes inserted.

    With enough gold rows, each answer counts by how often all annotators are right about those.
    """
    start = majority(count_votes(answers, weight))
    rows = np.flatnonzero(known >= 0)
    if len(rows) >= ENOUGH_GOLD:
        start = _gold_start(answers, known, weight)
    start[rows] = 0.0
    start[rows, known[rows]] = 1.0
    return start


def _gold_start(answers: Answers, known: NDArray[np.intp], weight: Array | None) -> Array:
    """Return probabilities if all annotators had the confusion that gold rows show."""
    k = len(answers.classes)
    truth = known[answers.row]
    is_gold = truth >= 0
    counts = np.zeros((k, k))
    np.add.at(counts, (truth[is_gold], answers.label[is_gold]), 1.0)
    confusion = (counts + 1 / k) / (counts + 1 / k).sum(axis=1, keepdims=True)
    log_prior, _ = class_prior(np.eye(k)[known[known >= 0]])
    scores = count_votes(answers, weight) @ np.log(confusion).T + log_prior
    return normalised(scores, known)[0]


def fit_model(
    name: str,
    design: Design,
    start: Array,
    *,
    prior_step: PriorStep = class_prior,
    max_iter: int = 100,
    stay: bool = False,
) -> Fit:
    """Return the best fit of a model over several starts.

    The starts are the votes, and the votes weighted by each annotator's agreement with them. The
    fit with the highest log-likelihood counts. With `stay`, the given start is the only one: then
    a fit to nearly the same answers does not jump to another maximum.
    """
    counts = design.counts(start)
    target = pooled_confusion(counts)
    coin = one_coin_step(target, _ONE_COIN)
    if name == "one-coin":
        return _best(design, start, coin, prior_step, max_iter, stay)
    if name == "dawid-skene":
        step = dawid_skene_step(target, _DAWID_SKENE)
        return _best(design, start, step, prior_step, max_iter, stay)
    coins = iterate(design, start, coin, prior_step, max_iter=max_iter)
    step = dawid_skene_step(coins.confusion, _SMOOTHED)
    return _best(design, start, step, prior_step, max_iter, stay)


def _best(
    design: Design, start: Array, step: MStep, prior_step: PriorStep, max_iter: int, stay: bool
) -> Fit:
    starts = [start] if stay else [start, _weighted_votes(design, start)]
    fits = [iterate(design, one, step, prior_step, max_iter=max_iter) for one in starts]
    return max(fits, key=lambda fit: fit.log_likelihoods[-1])


def _weighted_votes(design: Design, start: Array) -> Array:
    """Return the vote shares if each annotator counts by agreement with the votes beyond chance."""
    counts = design.counts(start)
    _, m, k = design.shape
    accuracy = np.einsum("mkk->m", counts) / np.maximum(counts.sum(axis=(1, 2)), 1e-9)
    odds = np.clip(accuracy, 0.5 / k, 1 - 0.5 / k)
    weight = np.log(odds * (k - 1) / (1 - odds))
    scores = design.matrix @ (weight[:, None, None] * np.eye(k)).reshape(m * k, k)
    return normalised(scores + class_prior(start)[0], design.known)[0]
