"""Every method in eight common situations, on the problems of the bank."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from rankprune.core import NoiseRates, add_uniform_rows, flip_labels
from rankprune.experiments._bank import Problem, Split
from rankprune.experiments._cache import cached, file_name
from rankprune.experiments._contenders import CONTENDERS, base, known_rates
from rankprune.experiments._mnist_methods import ENDS, Figures, measure, slug_of
from rankprune.learners._probabilities import out_of_fold_probabilities

MAX_ROWS, FEW_ROWS = 1000, 100


class Rows(NamedTuple):
    """Training rows with given labels; those without a true label, at the end, are added noise."""

    X: NDArray[np.float64]
    labels: NDArray[np.bool_]
    true_labels: NDArray[np.bool_]


def _flip(rows: Rows, positive: float, negative: float) -> Rows:
    labels = flip_labels(
        rows.true_labels,
        positive_noise_rate=positive,
        negative_noise_rate=negative,
        random_state=0,
    )
    return rows._replace(labels=labels)


def _with_added_rows(rows: Rows) -> Rows:
    """Add a third as many uniform rows with random labels."""
    flipped = _flip(rows, 0.2, 0.05)
    X, labels, _ = add_uniform_rows(flipped.X, flipped.labels, share=1 / 3, random_state=0)
    return Rows(X, labels, rows.true_labels)


def _few(rows: Rows) -> Rows:
    chosen = np.random.RandomState(0).permutation(len(rows.X))
    # Positives are as common as in the problem, but enough remain labeled for three folds.
    is_positive = rows.true_labels[chosen]
    n_positive = max(FEW_ROWS // 5, round(FEW_ROWS * is_positive.mean()))
    first = np.concatenate(
        [chosen[is_positive][:n_positive], chosen[~is_positive][: FEW_ROWS - n_positive]]
    )
    return _flip(Rows(*(part[first] for part in rows)), 0.2, 0.1)


SITUATIONS: dict[str, Callable[[Rows], Rows]] = {
    "clean labels": lambda rows: _flip(rows, 0.0, 0.0),
    "symmetric noise": lambda rows: _flip(rows, 0.2, 0.2),
    "asymmetric noise": lambda rows: _flip(rows, 0.4, 0.05),
    "high noise": lambda rows: _flip(rows, 0.4, 0.3),
    "positive-unlabeled": lambda rows: _flip(rows, 0.5, 0.0),
    "few positives labeled": lambda rows: _flip(rows, 0.9, 0.0),
    "rows from elsewhere": _with_added_rows,
    "small data": _few,
}


def situation_rows(split: Split, situation: str) -> Rows:
    """Return a problem's rows in a situation."""
    n_rows = min(MAX_ROWS, len(split.X))
    truth = split.true_labels[:n_rows]
    return SITUATIONS[situation](Rows(split.X[:n_rows], truth, truth))


def situation_figures(problem: Problem, split: Split, situation: str) -> dict[str, Figures]:
    """Return the figures of every method on a problem, cached method by method."""
    rows = situation_rows(split, situation)
    slug = file_name(f"{situation}-{problem.name}")
    with warnings.catch_warnings():
        # Methods are also measured on data that violate their assumptions.
        warnings.simplefilter("ignore")
        scores = cached(
            f"situations-scores-{slug}",
            lambda: {
                "scores": out_of_fold_probabilities(base(), rows.X, rows.labels, random_state=0)
            },
        )["scores"]
        return {
            name: cached(
                f"situations-{slug_of(name)}-{slug}",
                partial(_compute, name, rows, scores, split),
            )["figures"]
            for name in (*ENDS, *CONTENDERS)
        }


def _compute(
    name: str, rows: Rows, scores: NDArray[np.float64], split: Split
) -> dict[str, Figures]:
    model: Any
    own = len(rows.true_labels)
    if name == ENDS[0]:
        model = clone(base()).fit(rows.X[:own], rows.true_labels)
    elif name == ENDS[1]:
        model = clone(base()).fit(rows.X, rows.labels)
    else:
        contender = CONTENDERS[name]
        rates = NoiseRates.from_true_labels(rows.true_labels, rows.labels[:own])
        model = contender.make(**known_rates(contender, rates))
        shared = {"probabilities": scores} if contender.borrows else {}
        model.fit(rows.X, rows.labels, **shared)
    return {"figures": measure(model, split.X_test, split.true_test_labels)}
