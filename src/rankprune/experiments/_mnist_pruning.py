"""Rank Pruning on MNIST at the paper's noise cells, all digits and cells fitted side by side."""

from __future__ import annotations

import logging
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import f1_score

from rankprune.core import NOISE_ESTIMATORS, NoiseRates, correction_weights, prune_labels
from rankprune.experiments._cache import cached
from rankprune.experiments._images import Images, load_mnist
from rankprune.experiments._logistic import LogisticModels, Matrix, fit_logistic_models
from rankprune.experiments._mnist import CELLS, DIGITS, folds, noisy_digit

_log = logging.getLogger("rankprune")

# The source of the rates, and the numbers of rounds to measure.
VARIANTS: dict[str, tuple[int, ...]] = {
    "true rates": (1,),
    "confident-counts": (1,),
    "tight": (1,),
    "curve": (1, 2, 4, 8),
    "learned": (1, 2, 4),
}

BoolMatrix = NDArray[np.bool_]


def mnist_f1() -> dict[str, NDArray[np.float64]]:
    """Return F1 on the test images, cells x digits, for each method; cached."""
    problems = Problems()
    found = {
        "clean labels": cached("mnist-f1-clean", problems.clean)["f1"],
        "plain fit": cached("mnist-f1-plain", problems.plain)["f1"],
    }
    for name, rounds in VARIANTS.items():
        pruned = cached(f"mnist-f1-{name.replace(' ', '-')}", partial(problems.pruned, name))
        found |= {f"{name}, {k} round{'s' * (k > 1)}": pruned[str(k)] for k in rounds}
    return found


class Problems:
    """Every digit at every cell, in column ``len(CELLS) * digit + cell`` of each matrix."""

    @cached_property
    def train(self) -> Images:
        """Return the training images."""
        return load_mnist("train")

    @cached_property
    def test(self) -> Images:
        """Return the test images."""
        return load_mnist("t10k")

    @cached_property
    def _noisy(self) -> tuple[BoolMatrix, BoolMatrix, Matrix]:
        digits = [noisy_digit(self.train, digit, "cells", CELLS) for digit in DIGITS]
        truth = [np.repeat(digit.is_digit[:, None], len(CELLS), axis=1) for digit in digits]
        return (
            np.hstack(truth),
            np.hstack([digit.labels for digit in digits]),
            np.hstack([digit.probabilities for digit in digits]),
        )

    def clean(self) -> dict[str, NDArray[np.float64]]:
        """Return F1 of models fitted to true labels, the same for every cell."""
        truth = self._noisy[0][:, :: len(CELLS)]
        f1 = self._f1(fit_logistic_models(self.train.pixels, truth))
        return {"f1": np.repeat(f1, len(CELLS), axis=0)}

    def plain(self) -> dict[str, NDArray[np.float64]]:
        """Return F1 of models fitted to the flipped labels without pruning."""
        return {"f1": self._f1(fit_logistic_models(self.train.pixels, self._noisy[1]))}

    def pruned(self, variant: str) -> dict[str, NDArray[np.float64]]:
        """Return F1 by number of rounds, after pruning with the rates of a variant."""
        _, labels, scores = self._noisy
        rates = [self._rates(variant, column) for column in range(labels.shape[1])]
        found = {}
        for turn in range(1, max(VARIANTS[variant]) + 1):
            weights = _pruned_weights(labels, scores, rates)
            if turn in VARIANTS[variant]:
                models = fit_logistic_models(self.train.pixels, labels, weights=weights)
                found[str(turn)] = self._f1(models)
                _log.info("%s, round %d: F1 %.4f", variant, turn, found[str(turn)].mean())
            if turn < max(VARIANTS[variant]):
                scores = self._score_again(labels, weights)
        return found

    def _rates(self, variant: str, column: int) -> NoiseRates:
        truth, labels = self._noisy[0][:, column], self._noisy[1][:, column]
        scores = self._noisy[2][:, column]
        if variant == "true rates":
            return NoiseRates.from_true_labels(truth, labels)
        return NOISE_ESTIMATORS[variant](labels.view(np.int8), scores.astype(np.float64))

    def _score_again(self, labels: BoolMatrix, weights: Matrix) -> Matrix:
        scores = np.empty(labels.shape, np.float32)
        for fitted, held_out in folds(self.train.digits):
            models = fit_logistic_models(
                self.train.pixels[fitted], labels[fitted], weights=weights[fitted]
            )
            scores[held_out] = models.probabilities(self.train.pixels[held_out])
        return scores

    def _f1(self, models: LogisticModels) -> NDArray[np.float64]:
        predicted = models.probabilities(self.test.pixels) > 0.5
        n_cells = predicted.shape[1] // len(DIGITS)
        values = [
            f1_score(self.test.digits == column // n_cells, predicted[:, column], zero_division=0)
            for column in range(predicted.shape[1])
        ]
        return np.array(values).reshape(len(DIGITS), n_cells).T


def _pruned_weights(labels: BoolMatrix, scores: Matrix, rates: list[NoiseRates]) -> Matrix:
    """Return correction weights, 0 for pruned rows."""
    weights = np.empty(labels.shape, np.float32)
    for column, rate in enumerate(rates):
        given, score = np.ascontiguousarray(labels[:, column]), scores[:, column]
        mask = prune_labels(given, np.ascontiguousarray(score), rate).mask
        weights[:, column] = np.where(mask, 0, correction_weights(given, rate))
    return weights
