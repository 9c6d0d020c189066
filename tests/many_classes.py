"""Checks of more than two labels, made by hand from simulated scores, for tests of every room."""

import math
from dataclasses import replace

import numpy as np

from rankprune import ClassCheck, NoiseMatrix, estimate_noise_rates, flip_labels, prune_labels
from rankprune.core import judge_matrix
from rankprune.core.classes._class_inputs import validate_class_inputs
from rankprune.core.classes._class_ranking import (
    chances_by_margin,
    margins_of,
    order_by_margin,
    stretches_by_chance,
)
from rankprune.core.classes._class_verdict import answered_matrix
from rankprune.core.classes._class_weights import class_weights_of
from rankprune.run._class_scores import ClassScores, ClassTally
from rankprune.run._findings import Source, Subgroup
from rankprune.run._settings import CheckSettings

COLUMNS = ("row id", "height", "color")


def class_labels(n_rows=300, classes=("cat", "dog", "owl"), seed=0, noise=0.2, apart=6.0):
    """Return given labels, true labels and probabilities of the given ones, classes in columns.

    Half of the wrong labels name the class after the true one, the other half any other class.
    """
    names, k = np.asarray(classes, dtype=object), len(classes)
    rng = np.random.default_rng(seed)
    truth = np.arange(n_rows) % k
    right = np.eye(k)
    others = (1 - right) / (k - 1)
    transition = (1 - noise) * right + noise * (np.roll(right, 1, axis=0) + others) / 2
    given = flip_labels(truth, transition=transition, classes=np.arange(k), random_state=seed)
    logits = rng.normal(size=(n_rows, k)) + apart * np.eye(k)[truth]
    posterior = np.exp(logits - logits.max(axis=1, keepdims=True))
    posterior /= posterior.sum(axis=1, keepdims=True)
    return names[given], names[truth], posterior @ transition.T


def class_check(
    n_rows=300, classes=("cat", "dog", "owl"), seed=0, *, noise=0.2, apart=6.0, method=None
):
    """Return the check of such rows, as `check_labels` with probabilities assembles it."""
    labels, _, probabilities = class_labels(n_rows, classes, seed, noise, apart)
    names = tuple(str(name) for name in classes)
    inputs = validate_class_inputs(labels, probabilities, np.asarray(classes, dtype=object))
    matrix = estimate_noise_rates(labels, probabilities, classes=inputs.classes, method=method)
    matrix = replace(
        matrix,
        classes=np.asarray(names, dtype=object),
        uncounted=tuple(str(name) for name in matrix.uncounted),
    )
    verdict = judge_matrix(matrix)
    named = inputs.classes[inputs.codes]
    mask = np.zeros(n_rows, dtype=bool)
    if verdict.level == "noise found":
        mask = prune_labels(named, probabilities, replace(matrix, classes=inputs.classes)).mask
    scores = _scores(inputs, matrix, mask)
    ordered = scores.chance[np.argsort(scores.rank)]
    n_listed = min(max(math.ceil(matrix.intervals.wrong_share.high * n_rows), mask.sum()), n_rows)
    stretches = () if verdict.level == "clean" else stretches_by_chance(ordered, n_listed)
    check = ClassCheck(
        classes=names,
        verdict=verdict,
        noise_matrix=answered_matrix(verdict, matrix),
        estimated_matrix=matrix,
        agreement=float((probabilities.argmax(axis=1) == inputs.codes).mean()),
        n_doubted=n_rows,
        out_of_fold=True,
        n_groups=None,
        duplicates=None,
        subgroups=_subgroups(mask),
        candidates=(),
        columns=COLUMNS,
        before_after=None,
        notes=("2 columns were left out.",),
        warnings=(),
        source=Source("pets.csv", None, "0" * 64, n_rows, len(COLUMNS) + 1),
        settings=CheckSettings(table="pets.csv", label="animal", id="row id"),
        versions={"python": "3.11.0"},
        tally=ClassTally.of(scores, len(names)),
        scores=scores,
        n_candidates=int(n_listed),
        stretches=stretches,
    )
    shown = tuple(
        replace(row, cells=(row.id, f"{row.row / 100:.2f}", _color(row.row)))
        for row, _ in zip(check.ranked(), range(500), strict=False)
    )
    return replace(check, candidates=shown)


def _scores(inputs, matrix: NoiseMatrix, mask) -> ClassScores:
    n_rows, codes = len(inputs), inputs.codes.astype(np.intp)
    own = inputs.probabilities[np.arange(n_rows), codes]
    others = inputs.probabilities.copy()
    others[np.arange(n_rows), codes] = -1
    margins = margins_of(inputs)
    rank = np.empty(n_rows, dtype=np.int64)
    rank[order_by_margin(margins, mask)] = np.arange(1, n_rows + 1)
    weight = np.where(mask, 0.0, class_weights_of(matrix)[codes] if mask.any() else 1.0)
    return ClassScores(
        rows=np.arange(n_rows),
        label=codes,
        suggested=others.argmax(axis=1),
        probability=own,
        suggested_probability=others.max(axis=1),
        chance=chances_by_margin(margins, codes, matrix),
        suspect=mask,
        rank=rank,
        weight=weight,
        ids=np.asarray([f"r{row:04d}" for row in range(n_rows)], dtype=object),
    )


def _color(row):
    return ("red", "green", "blue")[row % 3]


def _subgroups(mask):
    return tuple(
        Subgroup("color", _color(i), len(mask[i::3]), int(mask[i::3].sum()), stands_out=False)
        for i in range(3)
    )
