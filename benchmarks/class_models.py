"""Models fitted to wrong labels of many classes: Rank Pruning, cleanlab, and a plain fit.

    python benchmarks/class_models.py

Two thirds of the rows of each table get wrong labels of several kinds, or none; the rest, with true
labels, measure accuracy. Results are cached in the folder of experiments, so that a run that was
interrupted goes on.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from rankprune import RankPruningClassifier
from rankprune.core.classes._matrix_estimators import DEFAULT_MATRIX_ESTIMATOR
from rankprune.experiments._cache import cached, file_name
from rankprune.experiments._class_flips import CLASS_KINDS, ClassWorld, flip_classes
from rankprune.experiments._class_problems import TABLES, ClassTable, known_world
from rankprune.experiments._flip_chances import CLEAN
from rankprune.experiments._table import Table

Codes = np.ndarray[Any, np.dtype[np.intp]]

# The defaults were chosen on these tables.
SEEN = ("texture", "vowel", "vehicle", "contraceptive", "led7digit", "iris", "splice")
N_ROUNDS = 2 * len(CLASS_KINDS)
SHARES = (0.1, 0.3)
# CleanLearning needs five rows of each label.
LEAST_OF_A_CLASS = 6

BASES: dict[str, Any] = {
    "logistic": LogisticRegression(max_iter=300),
    "forest": RandomForestClassifier(100, random_state=0),
}


@dataclass(frozen=True)
class Split:
    """Training rows with given and true labels, and test rows with true ones."""

    X: Any
    labels: Codes
    truth: Codes
    X_test: Any
    truth_test: Codes


def plain(base: Any, split: Split) -> Any:
    """Return the base fitted to the given labels."""
    return base.fit(split.X, split.labels)


def right(base: Any, split: Split) -> Any:
    """Return the base fitted to the true labels."""
    return base.fit(split.X, split.truth)


def cleanlab(base: Any, split: Split) -> Any:
    """Return CleanLearning as it comes."""
    from cleanlab.classification import CleanLearning

    return CleanLearning(base, seed=0).fit(split.X, split.labels)


def pruning(**options: Any) -> Callable[[Any, Split], Any]:
    """Return a function that fits RankPruningClassifier with these options."""

    def fit(base: Any, split: Split) -> Any:
        model = RankPruningClassifier(base, random_state=0, **options)
        return model.fit(split.X, split.labels)

    return fit


def after_check(base: Any, split: Split) -> Any:
    """Return what is fitted after a check: pruning if noise was found, else a plain fit."""
    model = RankPruningClassifier(base, scorer="committee", random_state=0)
    found = model.examine(split.X, split.labels)
    if found.verdict.level != "noise found":
        return plain(base, split)
    kept = ~found.mask
    return base.fit(split.X[kept], split.labels[kept], sample_weight=found.weights[kept])


METHODS: dict[str, Callable[[Any, Split], Any]] = {
    "plain": plain,
    "right labels": right,
    "cleanlab": cleanlab,
    f"RankPruningClassifier, {DEFAULT_MATRIX_ESTIMATOR}": pruning(),
    "confident-counts": pruning(noise_estimator="confident-counts"),
    "with trees": pruning(scorer="with-trees"),
    "committee": pruning(scorer="committee"),
    "after a check": after_check,
    "two rounds": pruning(rounds=2),
}


@lru_cache(maxsize=2)
def split_of(table: ClassTable, number: int) -> Split:
    """Return the rows of one round, of which the training rows got wrong labels of one kind."""
    X, world = known_world(table)
    random = np.random.default_rng([number, 11, *table.name.encode()])
    rows = np.arange(len(X))
    train, test = train_test_split(rows, test_size=1 / 3, stratify=world.truth, random_state=number)
    part = ClassWorld(world.truth[train], world.clean_scores[train], world.groups[train])
    kind, share = kind_of(number), float(random.uniform(*SHARES))
    for _ in range(50):
        labels = flip_classes(part, kind, share, random)
        if np.bincount(labels, minlength=part.clean_scores.shape[1]).min() >= LEAST_OF_A_CLASS:
            break
        share *= 0.9
    return Split(X[train], labels, part.truth, X[test], world.truth[test])


def kind_of(number: int) -> str:
    """Return the kind of noise of a round."""
    return CLASS_KINDS[number % len(CLASS_KINDS)]


def accuracy(table: ClassTable, number: int, base: str, method: str) -> float:
    """Return the accuracy on test rows with true labels; cached."""

    def compute() -> dict[str, Any]:
        split = split_of(table, number)
        model = METHODS[method](clone(BASES[base]), split)
        return {"accuracy": np.array((model.predict(split.X_test) == split.truth_test).mean())}

    name = f"class-models-{file_name(table.name)}-{number}-{base}-{file_name(method)}"
    return float(cached(name, compute)["accuracy"])


def accuracies(
    tables: Iterable[ClassTable], numbers: Iterable[int], bases: Iterable[str], methods: list[str]
) -> Any:
    """Return accuracies: methods x problems."""
    return np.array(
        [
            [accuracy(table, number, base, method) for method in methods]
            for table in tables
            for number in numbers
            for base in bases
        ]
    ).T


def by_kind(title: str, tables: list[ClassTable], base: str, methods: list[str]) -> Table:
    """Return the mean accuracy of each method by kind of noise, and its largest loss without."""
    rounds = {
        kind: [number for number in range(N_ROUNDS) if kind_of(number) == kind]
        for kind in CLASS_KINDS
    }
    means = {
        kind: accuracies(tables, numbers, [base], methods).mean(axis=1)
        for kind, numbers in rounds.items()
    }
    noisy = np.mean([means[kind] for kind in CLASS_KINDS if kind != CLEAN], axis=0)
    clean = np.array(
        [accuracies([one], rounds[CLEAN], [base], methods).mean(axis=1) for one in tables]
    )
    worst = (clean - clean[:, [methods.index("plain")]]).min(axis=0)
    rows = [
        [
            method,
            *(f"{means[kind][place]:.3f}" for kind in CLASS_KINDS),
            f"{noisy[place]:.3f}",
            f"{worst[place]:+.3f}",
        ]
        for place, method in enumerate(methods)
    ]
    note = (
        "Means over tables. The last column is the largest loss against the plain fit on any table "
        "with right labels."
    )
    return Table(title, note, ["method", *CLASS_KINDS, "all but clean", "worst, clean"], rows)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", nargs="*", default=list(METHODS)[:4] + ["after a check"])
    parser.add_argument("--tables", choices=("seen", "other", "all"), default="all")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    for is_seen, kind in (
        (True, "on which the defaults were chosen"),
        (False, "of other families"),
    ):
        if arguments.tables not in ("all", "seen" if is_seen else "other"):
            continue
        tables = [table for table in TABLES if (table.family in SEEN) == is_seen]
        for base in BASES:
            title = f"Accuracy, {base}, {len(tables)} tables {kind}"
            print(by_kind(title, tables, base, arguments.methods), flush=True)


if __name__ == "__main__":
    main()
