"""Problems of which only the sketch and the true rates are kept: what the learner is trained on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune.core._inputs import Inputs
from rankprune.core.counting._bins import N_BINS
from rankprune.core.counting._sketch import ScoreSketch, sketch_of
from rankprune.experiments._flip_chances import CLEAN, FEW, FEW_WRONG

Bools = NDArray[np.bool_]
Reals = NDArray[np.float64]

# Fewer rows of a label, or scores that tell labels apart less well, are no problem to learn from.
_LEAST_ROWS, _LEAST_AUC = 20, 0.55


@dataclass(frozen=True)
class SketchedProblem:
    """One problem.

    Attributes
    ----------
    sketch : ScoreSketch
    label_error_rates : tuple of two float
        The true pi1 and pi0.
    kind, family, model : str
        Kind of noise, family of the data, and kind of classifier.
    separable : bool
        Whether the scores separate the classes and the noise depends on the class alone, by
        construction.
    true_auc : float
        AUC of the scores against the true labels.
    """

    sketch: ScoreSketch
    label_error_rates: tuple[float, float]
    kind: str
    family: str
    model: str
    separable: bool = False
    true_auc: float = 1.0


def sketched(
    true_labels: Bools,
    labels: Bools,
    scores: Reals,
    *,
    kind: str,
    family: str,
    model: str,
    separable: bool = False,
    copies: int = 1,
) -> SketchedProblem | None:
    """Return the problem of these rows, or None if nothing can be learned from it.

    ``copies`` repeats every row, as a cheap way to many rows.
    """
    n_positive = int(labels.sum())
    if min(n_positive, len(labels) - n_positive) < _LEAST_ROWS:
        return None
    sketch = sketch_of(Inputs(labels, np.ascontiguousarray(scores, dtype=np.float64), None))
    if sketch.auc() < _LEAST_AUC:
        return None
    wrong = true_labels != labels
    if copies > 1:
        sketch.counts = sketch.counts * copies
        sketch.score_sums = (sketch.score_sums[0] * copies, sketch.score_sums[1] * copies)
    if kind != CLEAN and 0 < wrong.mean() <= FEW_WRONG:
        kind = FEW
    return SketchedProblem(
        sketch,
        (float(wrong[labels].mean()), float(wrong[~labels].mean())),
        kind if wrong.any() else CLEAN,
        family,
        model,
        separable,
        sketch_of(Inputs(true_labels, np.asarray(scores, dtype=np.float64), None)).auc()
        if 0 < true_labels.sum() < len(labels)
        else 0.5,
    )


def pack(problems: Sequence[SketchedProblem]) -> dict[str, NDArray[Any]]:
    """Return the problems as arrays that can be cached."""
    cells, counts = [], []
    for problem in problems:
        flat = problem.sketch.counts.ravel()
        used = np.flatnonzero(flat)
        cells.append(used.astype(np.int16))
        counts.append(flat[used].astype(np.int32))
    return {
        "ends": np.cumsum([len(used) for used in cells]),
        "cells": np.concatenate(cells) if cells else np.zeros(0, np.int16),
        "counts": np.concatenate(counts) if counts else np.zeros(0, np.int32),
        "score_sums": np.array([problem.sketch.score_sums for problem in problems], np.int64),
        "extremes": np.array([problem.sketch.extremes for problem in problems]),
        "label_error_rates": np.array([problem.label_error_rates for problem in problems]),
        "names": np.array([[p.kind, p.family, p.model] for p in problems], dtype=str),
        "separable": np.array([problem.separable for problem in problems], dtype=bool),
        "true_auc": np.array([problem.true_auc for problem in problems]),
    }


def unpack(arrays: dict[str, NDArray[Any]]) -> Iterable[SketchedProblem]:
    """Yield the problems that were packed."""
    starts = np.concatenate([[0], arrays["ends"][:-1]])
    for row, (start, end) in enumerate(zip(starts, arrays["ends"], strict=True)):
        sketch = ScoreSketch()
        sketch.counts.reshape(2 * N_BINS)[arrays["cells"][start:end]] = arrays["counts"][start:end]
        negative, positive = arrays["score_sums"][row].tolist()
        sketch.score_sums = (negative, positive)
        lowest, highest = arrays["extremes"][row].tolist()
        sketch.extremes = (lowest, highest)
        pi1, pi0 = arrays["label_error_rates"][row].tolist()
        kind, family, model = arrays["names"][row].tolist()
        separable = bool(arrays["separable"][row])
        true_auc = float(arrays["true_auc"][row])
        yield SketchedProblem(sketch, (pi1, pi0), kind, family, model, separable, true_auc)
