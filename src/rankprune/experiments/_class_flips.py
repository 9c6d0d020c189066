"""Wrong labels of several kinds, for any number of classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankprune.experiments._flip_chances import (
    CLASS_CONDITIONAL,
    CLEAN,
    DIFFICULTY,
    MIXTURE,
    SUB_CLASSES,
    with_mean,
)

Reals = NDArray[np.float64]
Codes = NDArray[np.intp]

CONFUSABLE = "confusable classes"
CLASS_KINDS = (CLEAN, CLASS_CONDITIONAL, CONFUSABLE, DIFFICULTY, SUB_CLASSES, MIXTURE)
_PURE = (CLASS_CONDITIONAL, CONFUSABLE, DIFFICULTY, SUB_CLASSES)
# No class loses more of its rows.
_MOST_OF_A_CLASS = 0.7
_TINY = 1e-12


@dataclass(frozen=True)
class ClassWorld:
    """Rows whose true classes are known, and what makes some of them easy to mislabel.

    Attributes
    ----------
    truth : ndarray of shape (n_rows,)
        Number of the true class.
    clean_scores : ndarray of shape (n_rows, n_classes)
        Probabilities of a model that was fitted on true labels, out of fold.
    groups : ndarray of shape (n_rows,)
        Number of the sub-class; no sub-class has rows of two classes.
    """

    truth: Codes
    clean_scores: Reals
    groups: Codes


def draw_share(random: np.random.Generator) -> float:
    """Return a share of wrong labels, small ones as often as large ones."""
    if random.random() < 0.2:
        return float(random.uniform(0.004, 0.03))
    return float(np.exp(random.uniform(np.log(0.03), np.log(0.45))))


def flip_classes(world: ClassWorld, kind: str, share: float, random: np.random.Generator) -> Codes:
    """Return labels of which about a share is wrong, with noise of one kind.

    Parameters
    ----------
    world : ClassWorld
    kind : str
        One of `CLASS_KINDS`.
    share : float
    random : Generator
        Draws how noise of this kind is spread, and which labels are wrong.
    """
    n_rows = len(world.truth)
    if kind == CLEAN:
        return world.truth.copy()
    if kind == MIXTURE:
        one, other = random.choice(len(_PURE), 2, replace=False)
        is_one = random.random(n_rows) < random.uniform(0.2, 0.8)
        return np.where(
            is_one,
            flip_classes(world, _PURE[one], share, random),
            flip_classes(world, _PURE[other], share, random),
        )
    chances, targets = _chances_and_targets(world, kind, share, random)
    is_flipped = random.random(n_rows) < chances
    reached = np.cumsum(targets, axis=1)
    drawn = random.random(n_rows)[:, None] * reached[:, -1:]
    return np.where(is_flipped, (reached <= drawn).sum(axis=1), world.truth)


def _chances_and_targets(
    world: ClassWorld, kind: str, share: float, random: np.random.Generator
) -> tuple[Reals, Reals]:
    """Return how likely each label is wrong, and the weight of each class it may change to."""
    n_rows, n_classes = world.clean_scores.shape
    others = 1.0 - np.eye(n_classes)
    if kind == DIFFICULTY:
        own = world.clean_scores[np.arange(n_rows), world.truth]
        rest = np.where(others[world.truth] > 0, world.clean_scores, -1.0)
        depth = np.log(own + 1e-3) - np.log(rest.max(axis=1) + 1e-3)
        fade = depth.std() * np.exp(random.uniform(np.log(0.15), np.log(1.5)))
        weights = np.exp(-np.where(depth > 0, depth, -0.3 * depth) / fade)
        return with_mean(weights, share), (rest.clip(0) + _TINY) ** 2 * others[world.truth]
    if kind == SUB_CLASSES:
        names, group = np.unique(world.groups, return_inverse=True)
        weights = np.where(random.random(len(names)) < 0.4, random.exponential(1.0, len(names)), 0)
        weights[random.integers(len(names))] += 1.0
        class_of = np.zeros(len(names), dtype=np.intp)
        class_of[group] = world.truth
        target = random.dirichlet(np.full(n_classes, 0.2), len(names)) + _TINY
        return with_mean(weights[group], share), (target * others[class_of])[group]
    weights = random.dirichlet(np.ones(n_classes)) if random.random() < 0.5 else np.ones(n_classes)
    rates = np.minimum(with_mean(weights[world.truth], share), _MOST_OF_A_CLASS)
    if kind == CLASS_CONDITIONAL:
        flat = random.random() < 0.4
        target = np.ones((n_classes, n_classes))
        if not flat:
            target = random.dirichlet(np.full(n_classes, 0.5), n_classes) + _TINY
    else:  # to the one or two classes that the clean scores confuse most
        mixed = np.array(
            [world.clean_scores[world.truth == k].mean(axis=0) for k in range(n_classes)]
        )
        order = np.argsort(-mixed * others - others * _TINY, axis=1)
        target = np.zeros((n_classes, n_classes))
        np.put_along_axis(target, order[:, :1], 1.0, axis=1)
        if n_classes > 2 and random.random() < 0.5:
            np.put_along_axis(target, order[:, 1:2], 0.4, axis=1)
    return rates, (target * others)[world.truth]
