"""Simulated problems: a world, noise of some kind, and scores like those of many classifiers.

No classifier is fitted, so that tens of thousands of problems take minutes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from scipy.stats import beta

from rankprune.experiments._cache import cached
from rankprune.experiments._flip_chances import (
    CLASS_CONDITIONAL,
    CLEAN,
    World,
    draw_kind,
    draw_paper_rates,
    draw_rates,
    flip_chances,
)
from rankprune.experiments._sketched_problems import SketchedProblem, pack, sketched, unpack

Reals = NDArray[np.float64]

FAMILY = "simulated"
CHUNK = 500
FIRST_CHUNK_AS_IN_PAPER = 60
_FEWEST, _MOST_DRAWN, _MOST = 200, 16_000, 1_000_000
_FEWEST_TO_COPY = 6000
_SEPARABLE_SHARE = 0.3
_MODELS = ("plain", "linear", "naive Bayes", "forest", "neighbours", "network")
_MODEL_SHARES = (0.3, 0.2, 0.12, 0.18, 0.08, 0.12)
_N_GROUPS = 8


def simulated_problems(chunk: int) -> list[SketchedProblem]:
    """Return one chunk of the problems, cached."""

    def compute() -> dict[str, NDArray[np.generic]]:
        random = np.random.default_rng([20, chunk])
        problems: list[SketchedProblem] = []
        while len(problems) < CHUNK:
            is_separable = random.random() < _SEPARABLE_SHARE
            if is_separable and chunk < FIRST_CHUNK_AS_IN_PAPER:
                problem = separable_problem(random)
            else:
                as_in_paper = chunk >= FIRST_CHUNK_AS_IN_PAPER
                problem = overlapping_problem(random, as_in_paper=as_in_paper)
            if problem is not None:
                problems.append(problem)
        return pack(problems)

    return list(unpack(cached(f"training-simulated-{chunk}", compute)))


def overlapping_problem(
    random: np.random.Generator, *, as_in_paper: bool = False
) -> SketchedProblem | None:
    """Return a problem whose classes overlap in the eyes of the classifier, or None.

    ``as_in_paper`` draws a rare class that is flipped as in the paper's tables.
    """
    n_rows = _draw_size(random, _MOST_DRAWN)
    center, spread = (-1.5, 0.8) if as_in_paper else (0.0, 1.3)
    prevalence = float(np.clip(expit(random.normal(center, spread)), 0.02, 0.98))
    sharpness = float(np.exp(random.uniform(np.log(0.8), np.log(14))))
    world, position = _draw_world(n_rows, prevalence, sharpness, random)
    positives = int(world.true_labels.sum())
    if min(positives, n_rows - positives) < 8:
        return None
    if as_in_paper:
        kind, rates = CLASS_CONDITIONAL, draw_paper_rates(random, positives / n_rows)
        if rates[0] + rates[1] > 0.95:
            return None
    else:
        kind, rates = draw_kind(random), draw_rates(random, positives / n_rows)
    chances = flip_chances(world, kind, rates, random)
    labels = np.where(random.random(n_rows) < chances, ~world.true_labels, world.true_labels)
    expected = np.where(world.true_labels, 1 - chances, chances)
    blur = 0.04
    if random.random() < 0.7:
        blur = float(np.exp(random.uniform(np.log(0.05), np.log(1.6))))
    seen = position + blur * sharpness / 2 * random.normal(size=n_rows)
    logits = _learned_logits(seen, expected, world.groups, random)
    model = str(random.choice(_MODELS, p=_MODEL_SHARES))
    return sketched(
        world.true_labels,
        labels,
        _scores_like(model, _with_errors(logits, random), random),
        kind=kind,
        family=FAMILY,
        model=model,
        copies=_draw_copies(random, n_rows),
    )


def separable_problem(random: np.random.Generator) -> SketchedProblem | None:
    """Return a problem whose scores separate the classes, flipped by class, or None."""
    n_rows = _draw_size(random, 12_000)
    prevalence = float(random.uniform(0.05, 0.95))
    true_labels = random.random(n_rows) < prevalence
    positives = int(true_labels.sum())
    if min(positives, n_rows - positives) < 8:
        return None
    kind = CLEAN if random.random() < 0.1 else CLASS_CONDITIONAL
    rates = draw_rates(random, positives / n_rows)
    if random.random() < 0.5:
        rates = (random.uniform(0, 0.5), random.uniform(0, 0.45))
        rates = (rates[0] * random.integers(0, 2), rates[1]) if random.random() < 0.3 else rates
    world = World(true_labels, np.ones(n_rows), np.zeros(n_rows, np.intp))
    chances = flip_chances(world, kind, rates, random)
    labels = np.where(random.random(n_rows) < chances, ~true_labels, true_labels)
    scores = np.empty(n_rows)
    way = random.random()
    if way < 0.25:
        low_shape, high_shape = _nearly_apart(random)
        scores[~true_labels] = random.beta(*low_shape, n_rows - positives)
        scores[true_labels] = random.beta(*high_shape, positives)
    elif way < 0.45:
        scores = expit(_logits_apart(true_labels, random))
        if random.random() < 0.5:
            scores = rates[1] + max(1 - rates[0] - rates[1], 0.05) * scores
            scores = np.clip(scores, 0, 1)
    else:
        low, high = _ranges(random, rates)
        scores[~true_labels] = _clump(n_rows - positives, low, random)
        scores[true_labels] = _clump(positives, high, random)
    if random.random() < 0.3:
        scores = np.round(scores, int(random.integers(1, 4)))
    return sketched(
        true_labels,
        labels,
        scores,
        kind=kind,
        family=FAMILY,
        model="separating",
        separable=True,
        copies=_draw_copies(random, n_rows),
    )


def _draw_size(random: np.random.Generator, most: int) -> int:
    return int(np.exp(random.uniform(np.log(_FEWEST), np.log(most))))


def _draw_copies(random: np.random.Generator, n_rows: int) -> int:
    """Return how often rows are repeated; only where their own sampling error hardly matters."""
    if n_rows < _FEWEST_TO_COPY or random.random() < 0.5:
        return 1
    return int(np.exp(random.uniform(0, np.log(_MOST / n_rows))))


def _draw_world(
    n_rows: int, prevalence: float, sharpness: float, random: np.random.Generator
) -> tuple[World, Reals]:
    """Return the rows, and their positions on an axis of clean log-odds."""
    truth = random.random(n_rows) < prevalence
    position, groups = np.empty(n_rows), np.empty(n_rows, np.intp)
    has_tails = random.random() < 0.4
    for label in (False, True):
        rows = truth == label
        n_groups = int(random.integers(1, _N_GROUPS + 1))
        shares = random.dirichlet(np.full(n_groups, 1.5))
        group = random.choice(n_groups, int(rows.sum()), p=shares)
        centers = np.abs(random.normal(1, 0.45, n_groups)) if n_groups > 1 else np.ones(1)
        spreads = random.uniform(0.2, 0.9, n_groups)
        noise = random.standard_t(4, len(group)) if has_tails else random.normal(size=len(group))
        side = 1 if label else -1
        position[rows] = side * (centers[group] + spreads[group] * noise) * sharpness / 2
        groups[rows] = group + label * _N_GROUPS
    if random.random() < 0.5:
        # The truth is definite: what overlaps is only what the classifier cannot see.
        position = np.where(truth, np.abs(position), -np.abs(position))
    depth = np.where(truth, position, -position)
    return World(truth, depth, groups), position


def _learned_logits(
    seen: Reals,
    expected: Reals,
    groups: NDArray[np.intp],
    random: np.random.Generator,
) -> Reals:
    """Return the logit of what a classifier can learn from what it sees, and of the sub-classes."""
    coarse = smoothed(seen, expected, int(random.choice([8, 20, 60, 200])))
    logits = _safe_logit(coarse)
    grasp = random.random() ** 1.5
    if grasp <= 0.1:
        return logits
    if random.random() < 0.6:
        # Sub-classes of both classes that lie together cannot be told apart.
        groups = groups % _N_GROUPS
    fine = coarse.copy()
    for group in np.unique(groups):
        rows = groups == group
        if rows.sum() > 60:
            fine[rows] = smoothed(seen[rows], expected[rows], 20)
    return np.asarray((1 - grasp) * logits + grasp * _safe_logit(fine))


def smoothed(positions: Reals, values: Reals, n_groups: int) -> Reals:
    """Return the mean value along the positions, linear between the means of groups of rows."""
    order = np.argsort(positions)
    n_groups = max(4, min(n_groups, len(positions) // 12))
    ends = np.linspace(0, len(positions), n_groups + 1).astype(int)
    sizes = np.diff(ends)
    means = [
        np.diff(np.concatenate([[0.0], np.cumsum(column[order])])[ends]) / sizes
        for column in (positions, values)
    ]
    return np.asarray(np.interp(positions, *means))


def _safe_logit(shares: Reals) -> Reals:
    return np.asarray(logit(np.clip(shares, 2e-3, 1 - 2e-3)))


def _with_errors(logits: Reals, random: np.random.Generator) -> Reals:
    """Return logits with the errors of a model that was fitted to few rows."""
    n_rows = len(logits)
    spread = float(np.exp(random.uniform(np.log(0.05), np.log(2.4)))) * (1000 / n_rows) ** 0.15
    errors = spread * random.normal(size=n_rows)
    if random.random() < 0.4:
        errors = errors * np.exp(0.5 * random.normal(size=n_rows))
    logits = logits + errors
    if random.random() < 0.5:
        variance = logits.var()
        shrink = variance / (variance + spread**2)
        logits = logits.mean() + (logits - logits.mean()) * shrink
    return logits


def _scores_like(model: str, logits: Reals, random: np.random.Generator) -> Reals:
    """Return the scores of a kind of classifier with these logits."""
    if model == "linear":
        logits = logits * np.exp(random.normal(0, 0.5)) + random.normal(0, 0.4)
    elif model == "naive Bayes":
        logits = logits * np.exp(random.uniform(0.5, 3.2)) + random.normal(0, 1.5)
    elif model == "network":
        logits = logits * np.exp(random.normal(0.2, 0.4))
        logits = logits + 0.4 * random.random() * np.sign(logits) * np.sqrt(np.abs(logits))
    scores = np.asarray(expit(np.clip(logits, -16, 16)))
    if model == "forest":
        n_trees = int(random.choice([30, 60, 100, 200, 500]))
        if random.random() < 0.5:
            size = 10 * random.uniform(1, 8)
            scores = random.beta(scores * size + 1e-3, (1 - scores) * size + 1e-3)
            return np.asarray(random.binomial(n_trees, scores) / n_trees)
        return np.round(scores * n_trees) / n_trees
    if model == "neighbours":
        n_neighbours = int(random.choice([5, 10, 15, 25, 50]))
        return np.asarray(random.binomial(n_neighbours, scores) / n_neighbours)
    return scores


def _ranges(
    random: np.random.Generator, rates: tuple[float, float]
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return a range of low and a range of high scores that do not overlap."""
    if random.random() < 0.35:
        # Calibrated to the given labels, with some error.
        width = random.uniform(0.005, 0.15)
        low = float(np.clip(rates[1], width, 1 - width))
        high = float(np.clip(1 - rates[0], width, 1 - width))
        if high - low > 3 * width:
            return (low - width, low + width), (high - width, high + width)
    ends = np.sort(random.random(2))
    while ends[1] - ends[0] < 0.03:
        ends = np.sort(random.random(2))
    gap = random.uniform(0.0, 0.9) if random.random() < 0.9 else 0.0
    middle, half = ends.mean(), (ends[1] - ends[0]) / 2 * gap
    low_end, high_start = middle - half, middle + half
    low_start, high_end = low_end * random.random(), 1 - (1 - high_start) * random.random()
    if random.random() < 0.4:
        low_start = 0.0
    if random.random() < 0.4:
        high_end = 1.0
    return (low_start, low_end), (high_start, high_end)


def _nearly_apart(
    random: np.random.Generator,
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return two beta distributions, of low and of high scores, that hardly overlap."""
    while True:
        shapes = []
        for mean in (random.uniform(0.02, 0.4), random.uniform(0.6, 0.98)):
            size = np.exp(random.uniform(np.log(5), np.log(100)))
            shapes.append((mean * size, (1 - mean) * size))
        if beta.ppf(0.985, *shapes[0]) < beta.ppf(0.015, *shapes[1]):
            return shapes[0], shapes[1]


def _logits_apart(true_labels: NDArray[np.bool_], random: np.random.Generator) -> Reals:
    """Return logits that are normal in each class, so far apart that they hardly overlap."""
    spreads = random.uniform(0.2, 2.0, 2)
    center = random.normal(0, 0.5)
    reach = random.uniform(2.2, 6.0) * spreads
    logits = random.normal(size=len(true_labels))
    below, above = center - reach[0], center + reach[1]
    spread = np.where(true_labels, above + spreads[1] * logits, below + spreads[0] * logits)
    return np.asarray(spread)


def _clump(n_rows: int, ends: tuple[float, float], random: np.random.Generator) -> Reals:
    """Return scores in a range, spread in one of several ways."""
    low, high = ends
    shape = random.integers(0, 4)
    if shape == 0:
        parts = random.random(n_rows)
    elif shape == 1:
        a, b = np.exp(random.uniform(np.log(0.6), np.log(20), 2)).tolist()
        parts = random.beta(a, b, n_rows)
    elif shape == 2:
        parts = np.clip(random.uniform(0.1, 0.9) + 0.05 * random.normal(size=n_rows), 0, 1)
    else:
        # Evenly spread logits between the ends, so that most scores are near 0 or 1.
        first, last = logit(np.clip([low, high], 1e-4, 1 - 1e-4))
        spread = expit(first + (last - first) * random.random(n_rows))
        return np.asarray(np.clip(spread, low, high))
    return np.asarray(low + (high - low) * parts)
