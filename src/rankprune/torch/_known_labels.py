"""What given labels and trusted rows say before a network learns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rankprune.core._noise_kinds import Codes, Reals


@dataclass(frozen=True)
class KnownLabels:
    """Given labels and true classes, as far as they are known.

    Attributes
    ----------
    given, true : ndarray of shape (n_rows,)
        Given labels and true classes as numbers, -1 where they are unknown.
    weights : ndarray of shape (n_rows,)
        Weights with a mean of 1.
    """

    given: Codes
    true: Codes
    weights: Reals

    @classmethod
    def of(
        cls,
        codes: Codes,
        is_trusted: NDArray[np.bool_],
        before: NDArray[Any] | None,
        weights: Reals,
        classes: NDArray[Any],
    ) -> Self:
        """Return what is known, or raise ValueError if trusted rows cannot help.

        ``codes`` are right where ``is_trusted``; ``before`` are the labels before that was checked.
        """
        if is_trusted.any():
            _refuse_missing_class(codes[is_trusted], classes)
        if is_trusted.all():
            raise ValueError(
                "trusted must leave rows whose labels may be wrong. If every label is trusted, use "
                "NetClassifier."
            )
        given = np.where(is_trusted, -1, codes)
        if before is not None:
            given[is_trusted] = _codes_of(before[is_trusted], classes)
        return cls(given, np.where(is_trusted, codes, -1), weights)

    @property
    def is_trusted(self) -> NDArray[np.bool_]:
        """Return which rows have a known true class."""
        return self.true >= 0

    @property
    def shows_confusions(self) -> bool:
        """Return whether any row has both a given label and a true class."""
        return bool((self.is_trusted & (self.given >= 0)).any())

    def pairs(self, predicted: Reals) -> tuple[Codes, Reals, Reals]:
        """Return true classes, given labels as probabilities, and weights of rows that show both.

        ``predicted`` are the probabilities of a network that learned the given labels. They stand
        in for the side that is not known: the given labels of trusted rows, or without trusted rows
        all true classes, each the most probable label.
        """
        if not self.is_trusted.any():
            return predicted.argmax(axis=1), np.eye(predicted.shape[1])[self.given], self.weights
        chosen = self.is_trusted
        labels = predicted[chosen]
        if self.shows_confusions:
            labels = np.eye(predicted.shape[1])[self.given[chosen]]
        return self.true[chosen], labels, self.weights[chosen]

    def explained(self) -> Reals:
        """Return the weights, 0 where the given label is not known."""
        return np.where(self.given >= 0, self.weights, 0.0)

    def raised(self, share: float) -> Reals:
        """Return the weights, those of trusted rows raised to this share of the total at least."""
        trusted = self.weights[self.is_trusted].sum()
        others = self.weights[~self.is_trusted].sum()
        weights = self.weights.copy()
        if trusted > 0:
            weights[self.is_trusted] *= max(1.0, share / (1 - share) * others / trusted)
        return np.asarray(weights / weights.mean())

    def mean(self, values: Reals) -> float:
        """Return the weighted mean."""
        return float(np.average(values, weights=self.weights))


def _refuse_missing_class(trusted_codes: Codes, classes: NDArray[Any]) -> None:
    missing = np.setdiff1d(np.arange(len(classes)), trusted_codes)
    if len(missing):
        raise ValueError(
            "trusted must have rows of every class, but has none of "
            f"{classes[missing].tolist()}. Check a few rows of each class."
        )


def _codes_of(labels: NDArray[Any], classes: NDArray[Any]) -> Codes:
    unknown = ~np.isin(labels, classes)
    if unknown.any():
        raise ValueError(
            f"given_labels must hold labels that y has, got {labels[unknown][:1].tolist()[0]!r} in "
            "a trusted row."
        )
    return np.searchsorted(classes, labels)
