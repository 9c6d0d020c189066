"""Labels by people: reported on, and never chosen on.

They are read from a folder of their own, and none of them is kept elsewhere.
"""

from __future__ import annotations

import csv
import gzip
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.feature_extraction.text import TfidfVectorizer

from rankprune.experiments._sketched_problems import SketchedProblem, sketched

Reals = NDArray[np.float64]
_CIFAR_MODELS = ("resnet18", "efficientnet_b1")
_PREFIXES = ("name", "description")


@dataclass(frozen=True)
class Pairs:
    """Pairs of products: features, whether both are the same, and what workers answered."""

    features: Reals
    truth: NDArray[np.bool_]
    answers: list[list[int]]


@dataclass(frozen=True)
class LabeledByPeople:
    """Rows that people labeled, their true labels, and scores."""

    family: str
    model: str
    truth: NDArray[np.bool_]
    labels: NDArray[np.bool_]
    scores: Reals


def people_problems(folder: Path) -> Iterator[SketchedProblem]:
    """Yield the problems with labels by people: one class of CIFAR-10N at a time, and pairs."""
    for rows in people_rows(folder):
        problem = sketched(
            rows.truth,
            rows.labels,
            rows.scores,
            kind="people",
            family=rows.family,
            model=rows.model,
        )
        if problem is not None:
            yield problem


def people_rows(folder: Path) -> Iterator[LabeledByPeople]:
    """Yield the rows of each problem with labels by people."""
    for name in ("aggregate", "worst"):
        for model in _CIFAR_MODELS:
            path = folder / f"cifar10n_{name}_{model}.npz"
            with np.load(_existing(path), allow_pickle=False) as kept:
                labels, truth, scores = (kept[key] for key in ("labels", "truth", "probabilities"))
            for label in range(scores.shape[1]):
                yield LabeledByPeople(
                    f"CIFAR-10N {name}",
                    model,
                    truth == label,
                    labels == label,
                    np.clip(scores[:, label].astype(np.float64), 0, 1),
                )
    pairs = load_pairs(folder)
    majority = np.array([2 * sum(given) > len(given) for given in pairs.answers])
    first = np.array([given[0] == 1 for given in pairs.answers])
    for name, labels in (("majority", majority), ("first worker", first)):
        trees = ExtraTreesClassifier(
            200, min_samples_leaf=3, bootstrap=True, oob_score=True, random_state=0
        ).fit(pairs.features, labels)
        yield LabeledByPeople(
            f"Product pairs, {name}",
            "forest",
            pairs.truth,
            labels,
            trees.oob_decision_function_[:, 1],
        )


def load_pairs(folder: Path) -> Pairs:
    """Return the pairs that workers answered."""
    answers: dict[str, list[int]] = {}
    with gzip.open(_existing(folder / "product_answers.csv.gz"), "rt", newline="") as lines:
        for row in csv.DictReader(lines):
            answers.setdefault(row["pair"], []).append(int(row["answer"]))
    with gzip.open(_existing(folder / "product_pairs.csv.gz"), "rt", newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["pair"] in answers]
    truth = np.array([row["truth"] == "1" for row in rows])
    return Pairs(_pair_features(rows), truth, [answers[row["pair"]] for row in rows])


def _pair_features(rows: list[dict[str, str]]) -> Reals:
    """Return how alike the texts and the prices of each pair are."""
    columns = []
    for prefix in _PREFIXES:
        sides = [[row[f"{prefix}_{side}"] for row in rows] for side in "ab"]
        for analyzer, lengths in (("word", (1, 1)), ("char_wb", (3, 3))):
            vectors = TfidfVectorizer(analyzer=analyzer, ngram_range=lengths, sublinear_tf=True)
            vectors.fit(sides[0] + sides[1])
            first, second = (vectors.transform(side) for side in sides)
            columns.append(np.asarray(first.multiply(second).sum(axis=1)).ravel())
    for pattern in (r"\w+", r"\w*\d\w*"):
        words = [
            [set(re.findall(pattern, row[f"name_{side}"].lower())) for row in rows] for side in "ab"
        ]
        shared = [len(a & b) for a, b in zip(*words, strict=True)]
        either = [max(len(a | b), 1) for a, b in zip(*words, strict=True)]
        columns += [np.array(shared, float), np.array(shared) / np.array(either)]
    prices = np.array([[_price(row[f"price_{side}"]) for side in "ab"] for row in rows])
    ratio = np.abs(np.log(prices[:, 0] / prices[:, 1]))
    columns += [np.nan_to_num(ratio, nan=-1.0), np.isnan(ratio).astype(float)]
    return np.column_stack(columns)


def _price(text: str) -> float:
    digits = re.sub(r"[^\d.]", "", text)
    return float(digits) if Counter(digits)["."] <= 1 and digits.strip(".0") else np.nan


def _existing(path: Path) -> Path:
    if not path.exists():
        raise FileNotFoundError(
            f"Labels by people are needed, but {path} is missing. Name the folder that holds them, "
            "or leave it out to measure the rest."
        )
    return path
