"""Problems with many classes whose true labels are known: tables, simulated rows, and people."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from rankprune.experiments._bank import encoded, keel_rows
from rankprune.experiments._cache import cached, file_name
from rankprune.experiments._class_flips import CLASS_KINDS, ClassWorld, draw_share, flip_classes
from rankprune.experiments._images import load_mnist

Reals = NDArray[np.float64]
Codes = NDArray[np.intp]

SIMULATED = "simulated"
N_ROUNDS = 24
N_SIMULATED = 1000
_MOST_ROWS, _N_FOLDS, _LEAST_OF_A_CLASS = 2500, 3, 6
_MODELS: dict[str, Callable[[], Any]] = {
    "logistic": lambda: LogisticRegression(max_iter=300),
    "naive Bayes": GaussianNB,
    "neighbors": lambda: KNeighborsClassifier(15),
    "forest": lambda: RandomForestClassifier(60, min_samples_leaf=2, random_state=0),
}


@dataclass(frozen=True)
class ClassProblem:
    """Given labels, true labels and scores of rows, all labels as numbers of classes."""

    name: str
    family: str
    kind: str
    model: str
    labels: Codes
    truth: Codes
    probabilities: NDArray[np.floating[Any]]

    @property
    def n_classes(self) -> int:
        """Return the number of classes."""
        return int(self.probabilities.shape[1])

    @property
    def wrong(self) -> NDArray[np.bool_]:
        """Return which labels are wrong."""
        return np.asarray(self.labels != self.truth)

    @property
    def joint(self) -> Reals:
        """Return the share of rows by given and true class."""
        k = self.n_classes
        counts = np.bincount(self.labels * k + self.truth, minlength=k * k).reshape(k, k)
        return np.asarray(counts / len(self.labels))


@dataclass(frozen=True)
class ClassTable:
    """A table with many classes; tables of one family are left out together."""

    name: str
    family: str
    load: Callable[[], tuple[Reals, Codes]]


def _keel(table: str) -> Callable[[], tuple[Reals, Codes]]:
    def load() -> tuple[Reals, Codes]:
        columns = list(zip(*keel_rows(table), strict=True))
        return encoded(columns[:-1]), np.unique(np.array(columns[-1]), return_inverse=True)[1]

    return load


def _digits() -> tuple[Reals, Codes]:
    X, y = load_digits(return_X_y=True)
    return X, y


def _mnist() -> tuple[Reals, Codes]:
    images = load_mnist("t10k")
    return PCA(30, random_state=0).fit_transform(images.pixels), images.digits.astype(np.intp)


TABLES = (
    ClassTable("digits", "digits", _digits),
    ClassTable("optdigits", "digits", _keel("optdigits")),
    ClassTable("penbased", "digits", _keel("penbased")),
    ClassTable("mnist", "digits", _mnist),
    *(
        ClassTable(name, name, _keel(name))
        for name in (
            "letter",
            "satimage",
            "segment",
            "texture",
            "vehicle",
            "vowel",
            "contraceptive",
            "led7digit",
            "movement_libras",
            "splice",
            "marketing",
            "wine",
            "iris",
        )
    ),
)

# Columns of tables with two labels, of which classes are made.
_SOURCES = (
    # name, kind, number of clusters, number of intervals, and the column they divide
    ("abalone19", "imbalanced", 6, 4, 4),
    ("banana", "balanced", 8, 5, 1),
    ("ionosphere", "balanced", 4, 3, 4),
    ("magic", "balanced", 10, 5, 0),
    ("mushroom", "balanced", 14, None, None),
    ("page-blocks0", "imbalanced", 7, 6, 4),
    ("phoneme", "balanced", 12, 8, 2),
    ("pima", "balanced", 5, 4, 5),
    ("shuttle-2_vs_5", "imbalanced", 5, 7, 6),
    ("spambase", "balanced", 9, 3, 54),
    ("wdbc", "balanced", 4, 6, 0),
    ("winequality-red-4", "imbalanced", 8, 5, 10),
    ("yeast1", "imbalanced", 10, 3, 0),
    ("chess", "balanced", 20, None, None),
)
_LEAST_OF_A_CLUSTER = 20


def _columns(table: str, kind: str) -> Reals:
    return encoded(list(zip(*keel_rows(table, kind), strict=True))[:-1])


def _clusters(table: str, kind: str, n_classes: int) -> Callable[[], tuple[Reals, Codes]]:
    """Return a loader of rows whose class is their cluster; the smallest are left out."""

    def load() -> tuple[Reals, Codes]:
        X = _columns(table, kind)
        found = KMeans(n_classes, n_init=1, random_state=0)
        cluster = found.fit_predict(StandardScaler().fit_transform(X))
        kept = np.bincount(cluster, minlength=n_classes)[cluster] >= _LEAST_OF_A_CLUSTER
        return X[kept], np.unique(cluster[kept], return_inverse=True)[1]

    return load


def _intervals(
    table: str, kind: str, n_classes: int, column: int
) -> Callable[[], tuple[Reals, Codes]]:
    """Return a loader of rows whose class is the interval of one column, told from the others."""

    def load() -> tuple[Reals, Codes]:
        X = _columns(table, kind)
        ends = np.unique(np.quantile(X[:, column], np.arange(1, n_classes) / n_classes))
        part = np.searchsorted(ends, X[:, column], side="right")
        return np.delete(X, column, axis=1), np.unique(part, return_inverse=True)[1]

    return load


def _made_tables() -> Iterator[ClassTable]:
    for name, kind, n_clusters, n_intervals, column in _SOURCES:
        yield ClassTable(f"{name} clusters", name, _clusters(name, kind, n_clusters))
        if n_intervals is not None and column is not None:
            load = _intervals(name, kind, n_intervals, column)
            yield ClassTable(f"{name} intervals", name, load)


# Classes made of tables with two labels: they are learned from, and never reported.
MADE_TABLES = tuple(_made_tables())


def table_problems(table: ClassTable, number: int) -> list[ClassProblem]:
    """Return the problems of one round: noise of one kind, scored by each model; cached."""
    kind = CLASS_KINDS[number % len(CLASS_KINDS)]

    def compute() -> dict[str, NDArray[Any]]:
        X, world = known_world(table)
        random = np.random.default_rng([number, *table.name.encode()])
        labels = _usable_labels(world, kind, random)
        return {
            "labels": labels,
            "truth": world.truth,
            **{model: _scores(make(), X, labels) for model, make in _MODELS.items()},
        }

    kept = cached(f"classes-{file_name(table.name)}-{number}", compute)
    return [
        ClassProblem(
            table.name, table.family, kind, model, kept["labels"], kept["truth"], kept[model]
        )
        for model in _MODELS
    ]


def make_round(table: ClassTable, number: int) -> None:
    """Make the problems of one round, so that they are in the cache."""
    table_problems(table, number)


def known_world(table: ClassTable) -> tuple[Reals, ClassWorld]:
    """Return scaled rows, at most `_MOST_ROWS`, and what flips need to know of them."""

    def compute() -> dict[str, NDArray[Any]]:
        X, truth = table.load()
        random = np.random.default_rng(0)
        rows = random.permutation(len(X))[:_MOST_ROWS]
        X, truth = StandardScaler().fit_transform(X[rows]), truth[rows]
        clean = [_scores(_MODELS[model](), X, truth) for model in ("logistic", "forest")]
        groups = np.zeros(len(X), dtype=np.intp)
        for k in np.unique(truth).tolist():
            members = np.flatnonzero(truth == k)
            n_groups = min(5, max(1, len(members) // 8))
            found = KMeans(n_groups, n_init=1, random_state=0).fit_predict(X[members])
            groups[members] = found + 5 * k
        return {"X": X, "truth": truth, "clean": np.mean(clean, axis=0), "groups": groups}

    kept = cached(f"classes-world-{file_name(table.name)}", compute)
    return kept["X"], ClassWorld(kept["truth"], kept["clean"].astype(np.float64), kept["groups"])


def _usable_labels(world: ClassWorld, kind: str, random: np.random.Generator) -> Codes:
    """Return flipped labels that leave each class enough rows for cross-validation."""
    n_classes = world.clean_scores.shape[1]
    share = draw_share(random)
    for _ in range(20):
        labels = flip_classes(world, kind, share, random)
        if np.bincount(labels, minlength=n_classes).min() >= _LEAST_OF_A_CLASS:
            break
        share *= 0.8
    return labels


def _scores(model: Any, X: Reals, labels: Codes) -> NDArray[np.float32]:
    folds = StratifiedKFold(_N_FOLDS, shuffle=True, random_state=0)
    found = cross_val_predict(model, X, labels, cv=folds, method="predict_proba")
    return np.asarray(found, dtype=np.float32)


def simulated_problem(number: int) -> ClassProblem:
    """Return rows of normal classes, scored by a posterior that is off in several ways."""
    random = np.random.default_rng([number, 7])
    kind = CLASS_KINDS[number % len(CLASS_KINDS)]
    n_classes = round(float(np.exp(random.uniform(np.log(3), np.log(30)))))
    n_rows = round(float(np.exp(random.uniform(np.log(40), np.log(600))))) * n_classes
    n_features = int(random.integers(2, 9))
    sizes = random.dirichlet(np.full(n_classes, random.choice([2.0, 20.0])))
    sizes = 0.3 / n_classes + 0.7 * sizes
    truth = np.sort(random.choice(n_classes, n_rows, p=sizes))
    centers = random.normal(size=(n_classes, n_features)) * random.uniform(1.0, 4.0)
    X = centers[truth] + random.normal(size=(n_rows, n_features))
    logits = -0.5 * ((X[:, None] - centers) ** 2).sum(axis=2) + np.log(sizes)
    groups = 4 * truth + (X[:, 0] > centers[truth, 0]) + 2 * (X[:, 1] > centers[truth, 1])
    world = ClassWorld(truth, _softmax(logits), groups)
    labels = _usable_labels(world, kind, random)
    moved = np.array(
        [
            np.bincount(labels[truth == k], minlength=n_classes) / max(1, int((truth == k).sum()))
            for k in range(n_classes)
        ]
    )
    # What a model learns: the classes blurred, with noise spread by class, and its own errors.
    blur = logits * np.exp(random.uniform(np.log(0.4), np.log(1.2)))
    blur = blur + random.normal(size=logits.shape) * random.choice([0.0, 0.3, 1.0])
    learned = _softmax(blur) @ moved
    sharper = np.exp(random.uniform(np.log(0.7), np.log(2.5)))
    scores = _softmax(sharper * np.log(learned + 1e-6))
    return ClassProblem(f"simulated {number}", SIMULATED, kind, "posterior", labels, truth, scores)


def _softmax(logits: Reals) -> Reals:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def people_class_problems(folder: Path) -> Iterator[ClassProblem]:
    """Yield images labeled by people, scored by two networks: for reporting alone."""
    for name in ("aggregate", "worst"):
        for model in ("resnet18", "efficientnet_b1"):
            path = folder / f"cifar10n_{name}_{model}.npz"
            if not path.exists():
                raise FileNotFoundError(
                    f"Labels by people are needed, but {path} is missing. Name the folder that "
                    "holds them, or leave it out to measure the rest."
                )
            with np.load(path, allow_pickle=False) as kept:
                yield ClassProblem(
                    f"CIFAR-10N {name}",
                    "people",
                    "people",
                    model,
                    kept["labels"].astype(np.intp),
                    kept["truth"].astype(np.intp),
                    kept["probabilities"],
                )
