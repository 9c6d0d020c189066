"""Steps for more than two classes: from labels and scores to matrix, verdict, mask and weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankprune.core import NoiseMatrix
from rankprune.core._inputs import BoolArray, FloatArray
from rankprune.core.classes._class_inputs import ClassInputs
from rankprune.core.classes._class_labels import ClassLabels
from rankprune.core.classes._class_verdict import ClassVerdict, answered_matrix, judge_matrix
from rankprune.core.classes._estimate import (
    estimate_noise_matrix,
    known_matrix,
    warn_if_labels_are_not_told_apart,
)
from rankprune.learners._base import Rows, Status, Weights, counted_and_doubted
from rankprune.learners._probabilities import Folds, is_number_of_folds

KEEP = "keep"


@dataclass(frozen=True)
class ClassStatus(Status):
    """The status of each row of more than two classes.

    Attributes
    ----------
    labels : ClassLabels
    rare : ndarray of bool of shape (n_rows,) or None
        Which rows are left alone because their class has too few; None if none are.
    """

    labels: ClassLabels
    rare: BoolArray | None = None

    @property
    def left_alone(self) -> BoolArray | None:
        """Return the rows of rare classes."""
        return self.rare

    def inputs(self, scores: FloatArray) -> ClassInputs:
        """Return the labels, scores and weights that the noise matrix is estimated from."""
        return ClassInputs(
            self.labels.codes[self.doubted],
            self.labels.classes,
            scores[self.doubted],
            self.doubted_weight,
        )


@dataclass(frozen=True)
class ClassRows(Rows):
    """The rows that were passed to ``fit``, with labels of more than two classes."""

    labels: ClassLabels
    status: ClassStatus


@dataclass(frozen=True)
class ScoredClasses:
    """Out-of-fold probabilities and the noise matrix estimated from them, with their folds.

    Attributes
    ----------
    folds : Folds
        Without splits if the probabilities were passed in.
    opinions : ndarray of shape (n_rows, n_scorers, n_classes)
        Probabilities from each scorer; ``scores`` is their mean.
    scores : ndarray of shape (n_rows, n_classes)
    estimated : NoiseMatrix
        Of the rows in doubt; or the known matrix.
    matrix : NoiseMatrix
        As used: without noise if the verdict is that the labels are clean.
    verdict : ClassVerdict or None
        Only from several scorers, if no matrix was known.
    """

    folds: Folds
    opinions: FloatArray
    scores: FloatArray
    estimated: NoiseMatrix
    matrix: NoiseMatrix
    verdict: ClassVerdict | None


@dataclass(frozen=True)
class ExaminedClasses(ScoredClasses):
    """The results of ``fit`` before the final fit, for more than two classes.

    Attributes
    ----------
    folds, opinions, scores, estimated, matrix, verdict
        As in `ScoredClasses`.
    rows : ClassRows
        The rows, with their labels and ``status`` (``counted``, ``doubted``, ``rare``).
    mask : ndarray of bool of shape (n_rows,)
        Prune mask of the last round.
    weights : ndarray of shape (n_rows,) or None
        Sample weights times correction weights; None if all are 1.
    ranking : ndarray of shape (n_rows, n_classes)
        Probabilities used for pruning in the last round.
    codes : ndarray of int of shape (n_rows,)
        Index of each row's label in ``classes``.
    classes : ndarray of shape (n_classes,)
        The label values in sorted order.
    """

    rows: ClassRows
    mask: BoolArray
    weights: Weights
    ranking: FloatArray

    @property
    def codes(self) -> NDArray[np.intp]:
        """Return the index of each row's label in ``classes``."""
        return self.rows.labels.codes

    @property
    def classes(self) -> NDArray[Any]:
        """Return the label values in sorted order."""
        return self.rows.labels.classes


def class_rows(
    X: Any,
    groups: Any,
    labels: ClassLabels,
    weight: Weights,
    trusted: ArrayLike | None,
    rare: str,
    cv: Any,
) -> ClassRows:
    """Return checked rows of more than two classes, with the status of each."""
    counted = np.ones(len(labels), dtype=bool) if weight is None else weight > 0
    alone = _rows_of_rare_classes(labels, counted, cv) if rare == KEEP else None
    counted, doubted = counted_and_doubted(labels, weight, trusted, alone)
    return ClassRows(X, groups, labels, ClassStatus(weight, counted, doubted, labels, alone))


def _rows_of_rare_classes(labels: ClassLabels, counted: BoolArray, cv: Any) -> BoolArray | None:
    """Return the rows of classes that have fewer than folds, or than 2 if these are the caller's.

    None if there are no such classes.
    """
    least = int(cv) if is_number_of_folds(cv) else 2
    sizes = np.bincount(labels.codes[counted], minlength=len(labels.classes))
    rare = sizes < least
    if np.count_nonzero(~rare) < 2:
        raise ValueError(
            f'rare="keep" must leave at least two classes of {least} rows or more, got '
            f"{np.count_nonzero(~rare)} of {len(sizes)}. Merge classes, or use fewer folds."
        )
    return rare[labels.codes] if rare.any() else None


def scored_classes(
    rows: ClassRows,
    folds: Folds,
    opinions: FloatArray,
    known: NoiseMatrix | None,
    method: Any,
    *,
    is_judged: bool,
) -> ScoredClasses:
    """Return the mean of the opinions, the noise of the rows in doubt, and the verdict on it.

    Parameters
    ----------
    rows, folds, opinions
        As in `ScoredClasses`.
    known : NoiseMatrix or None
    method : str or None
        The noise estimator.
    is_judged : bool
        Whether there is no noise if the verdict is that the labels are clean.
    """
    scores = folds.mean(opinions)
    inputs = rows.status.inputs(scores)
    if known is not None:
        warn_if_labels_are_not_told_apart(inputs)
        known = known_matrix(known, rows.labels.classes)
        return ScoredClasses(folds, opinions, scores, known, known, None)
    estimated, n_opinions = estimate_noise_matrix(inputs, method), opinions.shape[1]
    verdict = judge_matrix(estimated, n_opinions=n_opinions) if n_opinions > 1 else None
    matrix = answered_matrix(verdict, estimated) if is_judged else estimated
    return ScoredClasses(folds, opinions, scores, estimated, matrix, verdict)
