"""Every method on MNIST, one digit against the rest, at four of the paper's noise cells."""

from __future__ import annotations

import logging
import warnings
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from rankprune.comparison._measure import trusted_figures
from rankprune.core import NoiseRates
from rankprune.experiments._cache import cached
from rankprune.experiments._contenders import CONTENDERS, Contender, base, known_rates
from rankprune.experiments._images import Images, load_mnist
from rankprune.experiments._mnist import CELLS, noisy_digit

_log = logging.getLogger("rankprune")

METHOD_DIGITS = (2, 5, 8)
# Number of rows for methods that fit dozens of models or whose cost grows faster than the rows.
SLOW_ROWS = 6000
# The two references of every comparison, also measured on the rows of the slow methods.
ENDS = ("right labels", "noisy labels")
METRICS = ("F1", "error", "average precision", "AUC-PR")

Figures = NDArray[np.float64]


@cache
def _images(part: str) -> Images:
    return load_mnist(part)


def figures(digit: int, cell: tuple[float, float], name: str, *, few: bool = False) -> Figures:
    """Return F1, error, average precision and AUC-PR of one method on the test images; cached."""
    rows = "few" if few else "all"
    pi1, rho1 = (round(100 * rate) for rate in cell)
    slug = slug_of(name)
    compute = partial(_compute, digit, cell, name, few)
    return cached(f"mnist-methods-{rows}-{slug}-{digit}-{pi1}-{rho1}", compute)["figures"]


def slug_of(name: str) -> str:
    """Return a method's name in a form that suits a file name."""
    return name.replace(", ", "-").replace(" ", "-").replace("'", "")


def _compute(digit: int, cell: tuple[float, float], name: str, few: bool) -> dict[str, Figures]:
    train, test = _images("train"), _images("t10k")
    noisy = noisy_digit(train, digit, "cells", CELLS)
    column = CELLS.index(cell)
    labels, scores = noisy.labels[:, column], noisy.probabilities[:, column]
    chosen = np.arange(len(labels))
    if few:
        chosen = np.sort(np.random.RandomState(digit).permutation(len(labels))[:SLOW_ROWS])
    pixels, labels, truth = train.pixels[chosen], labels[chosen], noisy.is_digit[chosen]
    with warnings.catch_warnings():
        # Methods are also measured on data that violate their assumptions.
        warnings.simplefilter("ignore")
        if name in ENDS:
            model = clone(base()).fit(pixels, truth if name == ENDS[0] else labels)
        else:
            # The shared probabilities come from models of all rows, so a subset is scored again.
            model = _fit(CONTENDERS[name], pixels, labels, truth, None if few else scores)
    _log.info("mnist: %s, digit %d, (pi1, rho1) = %s", name, digit, cell)
    return {"figures": measure(model, test.pixels, test.digits == digit)}


def _fit(
    contender: Contender,
    X: NDArray[Any],
    labels: NDArray[np.bool_],
    truth: NDArray[np.bool_],
    scores: NDArray[Any] | None,
) -> Any:
    rates = NoiseRates.from_true_labels(truth, labels)
    model = contender.make(**known_rates(contender, rates))
    if contender.borrows and scores is not None:
        return model.fit(X, labels, probabilities=scores.astype(np.float64))
    return model.fit(X, labels)


def measure(model: Any, X: NDArray[Any], truth: NDArray[np.bool_]) -> Figures:
    """Return F1, error, average precision and AUC-PR of a fitted model."""
    predicted = np.asarray(model.predict(X)).astype(bool)
    f1, error, _, average_precision, auc_pr = trusted_figures(
        truth, predicted, np.asarray(model.predict_proba(X))[:, 1]
    )
    return np.array([f1, error, average_precision, auc_pr], dtype=float)
