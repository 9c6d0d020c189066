"""Which method fits the answers: each model predicts answers that it has not seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rankprune.annotators._answers import Answers
from rankprune.annotators._em import Design
from rankprune.annotators._methods import ENOUGH_GOLD, MODELS, fit_model, vote_start
from rankprune.annotators._votes import Array

# Three answers a row, of which a few may be missing: with fewer, held-out answers cannot tell which
# model is better.
ENOUGH = 2.5
# Below this, nothing can be learned about annotators either.
SOME = 1.5
_IMPOSSIBLE = 1e-9


def mean_per_row(answers: Answers) -> float:
    """Return the mean number of answers of rows that have any."""
    per_row = answers.per_row
    return len(answers) / max(int((per_row > 0).sum()), 1)


def choose_model(
    answers: Answers, known: NDArray[np.intp], weight: Array | None, max_iter: int
) -> tuple[str, str]:
    """Return the name of the best model and the reason for the choice."""
    mean = mean_per_row(answers)
    n_gold = int((known >= 0).sum())
    if mean < SOME and n_gold >= ENOUGH_GOLD:
        return "one-coin", f"{n_gold} gold rows show how often annotators err"
    if len(answers.annotators) < 2 or mean < SOME:
        return "majority", (
            f"{mean:.1f} answers a row are too few to learn about annotators, so votes count"
        )
    if mean < ENOUGH:
        return "smoothed", (
            f"with {mean:.1f} answers a row, confusions are pulled towards each annotator's "
            "accuracy"
        )
    scores = held_out_scores(answers, known, weight, max_iter)
    best = max(scores, key=lambda name: scores[name])
    told = ", ".join(f"{name} {score:.3f}" for name, score in scores.items())
    return best, f"it predicts answers held out best (mean log-probability: {told})"


def held_out_scores(
    answers: Answers, known: NDArray[np.intp], weight: Array | None, max_iter: int
) -> Mapping[str, float]:
    """Return how well each model predicts one answer of each row from the others."""
    held = one_of_each_row(answers)
    rest = replace(
        answers,
        row=answers.row[~held],
        annotator=answers.annotator[~held],
        label=answers.label[~held],
        seconds=None,
    )
    rest_weight = None if weight is None else weight[~held]
    design = Design.of(rest, known, rest_weight)
    start = vote_start(rest, known, rest_weight)
    row, who, label = answers.row[held], answers.annotator[held], answers.label[held]
    scores = {}
    for name in MODELS:
        fit = fit_model(name, design, start, max_iter=max_iter)
        likely = (fit.probabilities[row] * fit.confusion[who, :, label]).sum(axis=1)
        log_likely = np.log(np.maximum(likely, _IMPOSSIBLE))
        weights = None if weight is None else weight[held]
        scores[name] = float(np.average(log_likely, weights=weights))
    return scores


def one_of_each_row(answers: Answers) -> NDArray[np.bool_]:
    """Return a mask with one answer of each row that has at least two, another one in each row."""
    per_row = answers.per_row
    starts = np.cumsum(per_row) - per_row
    rows = np.flatnonzero(per_row >= 2)
    drawn = np.random.default_rng(0).integers(0, per_row[rows])
    held = np.zeros(len(answers), dtype=bool)
    held[starts[rows] + drawn] = True
    return held
