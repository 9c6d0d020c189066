"""Simulated crowds with known truth: good and bad annotators, copies, and difficult rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankprune.annotators import Answers


@dataclass(frozen=True)
class Crowd:
    """Answers with the true label of each row and the true confusion of each annotator."""

    answers: Answers
    truth: np.ndarray
    confusion: np.ndarray
    kind: str
    per_row: int


KINDS = ("plain", "confusions", "spammers", "one label", "adversaries", "copies", "difficult rows")


def confusion_of(kind: str, n_classes: int, rng: np.random.Generator) -> np.ndarray:
    """Return the confusion of one annotator."""
    even = np.full((n_classes, n_classes), 1 / n_classes)
    if kind == "spammer":
        return even
    if kind == "one label":
        table = np.zeros((n_classes, n_classes))
        table[:, rng.integers(n_classes)] = 1
        return 0.97 * table + 0.03 * even
    if kind == "adversary":
        table = (1 - np.eye(n_classes)) / (n_classes - 1)
        return 0.8 * table + 0.2 * even
    accuracy = (
        rng.beta(6, 2, n_classes) if kind == "confused" else np.full(n_classes, rng.beta(6, 2))
    )
    accuracy = np.maximum(accuracy, 1.2 / n_classes)
    errors = rng.dirichlet(np.full(n_classes, 0.5), n_classes)
    if kind != "confused":
        errors = np.ones((n_classes, n_classes))
    errors[np.diag_indices(n_classes)] = 1e-12
    errors /= errors.sum(axis=1, keepdims=True)
    return np.diag(accuracy) + (1 - accuracy)[:, None] * errors


def draw_crowd(seed: int, kind: str | None = None, per_row: int | None = None) -> Crowd:
    """Return a crowd of random size; `kind` and the number of answers a row can be fixed."""
    rng = np.random.default_rng(seed)
    kind = kind or KINDS[seed % len(KINDS)]
    k = int(rng.integers(2, 11))
    m = int(rng.integers(2, 51)) if per_row is None else int(rng.integers(max(per_row, 2), 51))
    each = int(rng.integers(1, min(20, m) + 1)) if per_row is None else per_row
    n = int(rng.integers(200, 2001))
    prevalence = rng.dirichlet(np.full(k, 5.0))
    truth = rng.choice(k, n, p=prevalence)
    honest = "plain" if kind == "plain" or rng.random() < 0.3 else "confused"
    bad = {"spammers": "spammer", "one label": "one label", "adversaries": "adversary"}.get(kind)
    share = rng.uniform(0.1, 0.35)
    # Most annotators are honest: if most were not, no method could know.
    n_bad = min(max(round(share * m), 1), (m - 1) // 2) if bad else 0
    kinds = [bad] * n_bad + [honest] * (m - n_bad)
    confusion = np.array([confusion_of(one, k, rng) for one in kinds])
    speed = rng.dirichlet(np.full(m, 2.0))
    who = np.array([rng.choice(m, each, replace=False, p=speed) for _ in range(n)])
    said = drawn(confusion[who, truth[:, None]], rng)
    if kind == "difficult rows":
        hard = rng.random(n) < rng.uniform(0.1, 0.3)
        lost = hard[:, None] & (rng.random(said.shape) < 0.5)
        said = np.where(lost, rng.integers(0, k, said.shape), said)
        confusion = confusion * (1 - 0.5 * hard.mean()) + 0.5 * hard.mean() / k
    if kind == "copies":
        everyone = drawn(confusion[np.arange(m)[None], truth[:, None]], rng)
        source = np.arange(m)
        copied = rng.choice(m, max(1, int(share * m)), replace=False)
        source[copied] = copied[0]
        confusion = 0.95 * confusion[source] + 0.05 * confusion
        # One answer in 20 is the copier's own.
        own = rng.random(said.shape) < 0.05
        said = np.where(own, said, everyone[np.arange(n)[:, None], source[who]])
    rows = np.repeat(np.arange(n), each)
    names = np.arange(m)
    seen = np.unique(who)
    answers = Answers.from_long(
        rows, names[who.ravel()], said.ravel(), all_rows=np.arange(n), classes=np.arange(k)
    )
    return Crowd(answers, truth, confusion[seen], kind, each)


def drawn(shares: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return one random class for each set of shares along the last axis."""
    sums = shares.cumsum(axis=-1)
    return (rng.random((*shares.shape[:-1], 1)) * sums[..., -1:] > sums).sum(axis=-1)
