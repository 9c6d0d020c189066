"""MNIST with flipped labels: one digit against the rest, logistic regression out of fold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from rankprune.core import flip_labels
from rankprune.experiments._cache import cached
from rankprune.experiments._images import Images
from rankprune.experiments._logistic import Matrix, fit_logistic_models

DIGITS = range(10)
N_FOLDS = 3
# (pi1, rho1) of the paper's Table 4 (and of CIFAR-10 in Table 3), of its Figure 5, and of MNIST in
# Table 3, the latter without the clean cell.
FOUR_CELLS = ((0.0, 0.5), (0.25, 0.25), (0.5, 0.0), (0.5, 0.5))
GRID = tuple((pi / 10, rho / 10) for pi in range(9) for rho in range(10))
CELLS = tuple(
    (pi1, rho1)
    for pi1 in (0.0, 0.25, 0.5, 0.75)
    for rho1 in (0.0, 0.25, 0.5, 0.75)
    if (pi1, rho1) != (0.0, 0.0)
)


@dataclass(frozen=True)
class NoisyDigit:
    """One digit against the rest: given labels and probabilities, one column per cell."""

    is_digit: NDArray[np.bool_]
    labels: NDArray[np.bool_]
    probabilities: Matrix


def folds(
    digits: NDArray[np.uint8], seed: int = 0
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Return folds that all problems share, so that they can be fitted at once."""
    splitter = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)
    return list(splitter.split(digits, digits))


def noisy_labels(
    is_digit: NDArray[np.bool_],
    digit: int,
    cells: tuple[tuple[float, float], ...],
    seed: int = 0,
) -> NDArray[np.bool_]:
    """Return flipped labels, one column per (pi1, rho1); equal arguments give equal labels."""
    more = [seed] if seed else []
    return np.column_stack(
        [
            flip_labels(
                is_digit,
                positive_noise_rate=rho1,
                positive_label_error_rate=pi1,
                random_state=np.random.RandomState(
                    [digit, round(100 * pi1), round(100 * rho1), *more]
                ),
            )
            for pi1, rho1 in cells
        ]
    )


def noisy_digit(
    train: Images, digit: int, name: str, cells: tuple[tuple[float, float], ...]
) -> NoisyDigit:
    """Return one digit's noisy labels and their out-of-fold probabilities, cached by name."""
    is_digit = train.digits == digit
    labels = noisy_labels(is_digit, digit, cells)

    def probabilities() -> dict[str, NDArray[np.float32]]:
        out_of_fold = np.empty(labels.shape, np.float32)
        for fitted, held_out in folds(train.digits):
            models = fit_logistic_models(train.pixels[fitted], labels[fitted])
            out_of_fold[held_out] = models.probabilities(train.pixels[held_out])
        return {"probabilities": out_of_fold}

    kept = cached(f"mnist-logistic-{name}-{digit}", probabilities)
    return NoisyDigit(is_digit, labels, kept["probabilities"])
