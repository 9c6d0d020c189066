"""Measure how the suspects depend on the folds, by scoring the rows of a small table again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rankprune.classifier import RankPruningClassifier
from rankprune.core._inputs import BoolArray, count_true
from rankprune.learners._base import Rows
from rankprune.learners._cloning import draw_seed, private_random_state
from rankprune.learners._committee import NAMED_SCORERS
from rankprune.learners._named_models import MODELS
from rankprune.learners._probabilities import Folds, Split
from rankprune.run._findings import Stability
from rankprune.run._settings import CheckSettings

# Rows and cells that are scored again at most, with three folds: up to three seconds on one core.
_MAX_ROWS, _MAX_CELLS, _FOLDS = 1_500, 100_000, 3


def has_known_cost(settings: CheckSettings) -> bool:
    """Return whether rows are scored by models of this package, in folds that it draws.

    The cost of other models is unknown, and folds that were passed would be the same ones again.
    """
    own = settings.estimator in (None, *MODELS) and settings.scorer in (None, *NAMED_SCORERS)
    return own and settings.cv is not None


def with_other_folds(
    classifier: RankPruningClassifier, rows: Rows, folds: Folds
) -> RankPruningClassifier | None:
    """Return the classifier with other folds and seeds; None if that costs much or is impossible.

    Few groups may have only one partition into folds, or others that leave a fold without one of
    the labels.
    """
    first = folds.splits
    if not first or not _is_cheap(rows.X, len(first) * classifier.rounds):
        return None
    generator = private_random_state(classifier.random_state)
    # The first two seeds are those of the classifier itself.
    *_, seed = (draw_seed(generator) for _ in range(3))
    parameters = classifier.get_params(deep=False)
    other = RankPruningClassifier(**{**parameters, "random_state": seed})
    try:
        splits = other.scoring_folds(rows).splits
    except ValueError:
        return None
    return None if _partition(splits) == _partition(first) else other


def compare_suspects(mask: BoolArray, again: BoolArray, level: str) -> Stability:
    """Return how many suspects stay, given those of a second scoring and its verdict."""
    n_stay = count_true(mask & again)
    return Stability(
        n_suspects=count_true(mask),
        n_stay=n_stay,
        n_new=count_true(again) - n_stay,
        level=level,
    )


def _is_cheap(X: Any, n_passes: int) -> bool:
    """Return whether the rows are few; texts in a list become features of unknown number."""
    shape: tuple[int, ...] = getattr(X, "shape", ())
    n_cells = int(np.prod(shape))
    return (
        len(shape) > 1
        and shape[0] * n_passes <= _MAX_ROWS * _FOLDS
        and n_cells * n_passes <= _MAX_CELLS * _FOLDS
    )


def _partition(splits: Sequence[Split]) -> set[bytes]:
    """Return the test sets, in a form that does not depend on their order."""
    return {np.sort(test).tobytes() for _, test in splits}
