"""The chance that each label is wrong, for noise of several kinds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Bools = NDArray[np.bool_]

CLEAN, CLASS_CONDITIONAL, DIFFICULTY = "clean", "class-conditional", "difficulty"
SUB_CLASSES, MIXTURE = "sub-classes", "mixture"
FEW = "1–3 % wrong"  # noqa: RUF001 (tables print a dash between numbers)
# Tables show problems of any kind with at most 3 % wrong labels under the last name.
KINDS = (CLEAN, CLASS_CONDITIONAL, DIFFICULTY, SUB_CLASSES, MIXTURE, FEW)
FEW_WRONG = 0.03
_NOISY_KINDS = (CLASS_CONDITIONAL, DIFFICULTY, SUB_CLASSES, MIXTURE)
# No label is wrong with a higher chance, and no class loses more of its rows.
_MOST, _MOST_OF_A_CLASS, _MOST_OF_BOTH = 0.97, 0.9, 0.92


@dataclass(frozen=True)
class World:
    """Rows whose true labels are known, and what makes some of them easy to mislabel.

    Attributes
    ----------
    true_labels : ndarray of shape (n_rows,)
    depth : ndarray of shape (n_rows,)
        How far a row lies on its own side, in units of the log-odds; negative on the other side.
    groups : ndarray of shape (n_rows,)
        Number of the sub-class; no sub-class has rows of both classes.
    """

    true_labels: Bools
    depth: Reals
    groups: NDArray[np.intp]


def draw_kind(random: np.random.Generator) -> str:
    """Return one of the kinds of noise, or none."""
    if random.random() < 0.13:
        return CLEAN
    return str(random.choice(_NOISY_KINDS, p=[0.34, 0.26, 0.2, 0.2]))


def draw_rates(
    random: np.random.Generator, prevalence: float, *, often_much: bool = False
) -> tuple[float, float]:
    """Return noise rates of the positive and of the negative class.

    ``often_much`` draws many wrong labels as often as few.
    """
    if prevalence < 0.35 and random.random() < (0.15 if often_much else 0.08):
        return draw_paper_rates(random, prevalence)
    way = random.random()
    if way < 0.2:
        wrong = random.uniform(0.004, 0.04)
    elif way < 0.7 and not often_much:
        wrong = float(np.exp(random.uniform(np.log(0.02), np.log(0.4))))
    else:
        wrong = random.uniform(0.02, 0.45)
    part = float(random.choice([0.0, 1.0, 0.5, *random.random(3)]))
    positive, negative = wrong * part / prevalence, wrong * (1 - part) / (1 - prevalence)
    if positive > _MOST_OF_A_CLASS:
        positive = _MOST_OF_A_CLASS * random.random()
    if negative > _MOST_OF_A_CLASS:
        negative = _MOST_OF_A_CLASS * random.random()
    if positive + negative > _MOST_OF_BOTH:
        shrink = _MOST_OF_BOTH * random.random() / (positive + negative)
        positive, negative = positive * shrink, negative * shrink
    return positive, negative


def draw_paper_rates(random: np.random.Generator, prevalence: float) -> tuple[float, float]:
    """Return rates as in the paper's tables: up to 90 % of a rare class, 80 % of its labels."""
    positive, label_error = random.uniform(0, 0.9), random.uniform(0, 0.8)
    kept = (1 - positive) * prevalence
    return positive, label_error * kept / ((1 - label_error) * (1 - prevalence))


def flip_chances(
    world: World, kind: str, rates: tuple[float, float], random: np.random.Generator
) -> Reals:
    """Return the chance that each label is wrong.

    Parameters
    ----------
    world : World
    kind : str
        One of `KINDS`, except the last.
    rates : tuple of two float
        Noise rates of the positive and of the negative class: the means of the chances.
    random : Generator
        Draws how noise of this kind is spread.
    """
    chances = np.zeros(len(world.true_labels))
    if kind == CLEAN:
        return chances
    for rows, rate in zip((world.true_labels, ~world.true_labels), rates, strict=True):
        if not rows.any():
            continue
        parts = []
        if kind in (CLASS_CONDITIONAL, MIXTURE):
            parts.append(np.ones(int(rows.sum())))
        if kind in (DIFFICULTY, MIXTURE):
            parts.append(_by_difficulty(world.depth[rows], random))
        if kind in (SUB_CLASSES, MIXTURE):
            parts.append(_by_group(world.groups[rows], random))
        shares = random.dirichlet(np.ones(len(parts)))
        weights = sum(s * p / max(p.mean(), 1e-9) for s, p in zip(shares, parts, strict=True))
        chances[rows] = with_mean(np.asarray(weights), rate)
    return chances


def with_mean(weights: Reals, mean: float) -> Reals:
    """Return chances that are proportional to the weights up to a limit, with the given mean."""
    if mean <= 0:
        return np.zeros(len(weights))
    scale = mean / max(weights.mean(), 1e-12)
    for _ in range(12):
        found = np.minimum(_MOST, scale * weights).mean()
        if found <= 0:
            break
        scale *= min(5.0, mean / found)
    return np.asarray(np.minimum(_MOST, scale * weights))


def _by_difficulty(depth: Reals, random: np.random.Generator) -> Reals:
    spread = depth.std() + 1e-6
    if random.random() < 0.3:
        # People find other rows hard than the scores do.
        depth = depth + random.uniform(0.1, 0.7) * spread * random.normal(size=len(depth))
    fade = spread * np.exp(random.uniform(np.log(0.15), np.log(1.5)))
    weights = np.exp(-np.where(depth > 0, depth, -0.3 * depth) / fade)
    return np.asarray(weights + random.choice([0.0, 0.01, 0.05]))


def _by_group(groups: NDArray[np.intp], random: np.random.Generator) -> Reals:
    names, index = np.unique(groups, return_inverse=True)
    if random.random() < 0.3:
        return random.exponential(1.0, len(names))[index]
    hit = random.permutation(len(names))[: random.integers(1, max(2, len(names)))]
    spared = float(random.choice([0.0, 0.02, 0.1]))
    return np.isin(index, hit).astype(np.float64) + spared
