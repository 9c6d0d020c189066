"""Problems of real tables: labels flipped in many ways, scored out of fold by fast classifiers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit
from sklearn.cluster import KMeans
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler

from rankprune.experiments._bank import PROBLEMS, Problem, Rows, _digits, _keel
from rankprune.experiments._cache import cached, file_name
from rankprune.experiments._flip_chances import (
    CLASS_CONDITIONAL,
    CLEAN,
    DIFFICULTY,
    MIXTURE,
    SUB_CLASSES,
    World,
    draw_rates,
    flip_chances,
)
from rankprune.experiments._sketched_problems import SketchedProblem, pack, sketched, unpack
from rankprune.learners._probabilities import out_of_fold_probabilities

Bools = NDArray[np.bool_]
Reals = NDArray[np.float64]

_FEWEST, _MOST = 250, 2000
_N_FOLDS = 3
# Kinds of noise of one round; those with rates of their own are drawn again in every round.
_KINDS = (CLEAN, CLASS_CONDITIONAL, DIFFICULTY, SUB_CLASSES, MIXTURE)
_MODELS_A_KIND = 3
# The first rounds draw many wrong labels as often as few.
_ROUNDS_OF_MUCH = 3

# More problems of the families of the bank, and of families that are not in it.
_MORE = (
    Problem("digits: 1, 7", "digits", _digits([1, 7])),
    Problem("digits: 0-4", "digits", _digits([0, 1, 2, 3, 4])),
    Problem("optdigits: 3, 5, 8", "digits", _keel("optdigits", "3 5 8")),
    Problem("optdigits: 9", "digits", _keel("optdigits", "9")),
    Problem("segment: 2, 3", "segment", _keel("segment", "2 3")),
    Problem("segment: 5-7", "segment", _keel("segment", "5 6 7")),
    Problem("vowel: even", "vowel", _keel("vowel", "0 2 4 6 8 10")),
    Problem("vowel: 3", "vowel", _keel("vowel", "3")),
    Problem("letter: vowels", "letter", _keel("letter", "A E I O U Y")),
    Problem("letter: N-R", "letter", _keel("letter", "N O P Q R")),
    Problem("satimage: 5, 7", "satimage", _keel("satimage", "5 7")),
    Problem("satimage: 2", "satimage", _keel("satimage", "2")),
    Problem("penbased: odd", "penbased", _keel("penbased", "1 3 5 7 9")),
    Problem("penbased: 5, 8", "penbased", _keel("penbased", "5 8")),
    Problem("texture: 7-10", "texture", _keel("texture", "7 8 9 10")),
    Problem("splice: IE", "splice", _keel("splice", "IE")),
    Problem("vehicle: saab", "vehicle", _keel("vehicle", "saab")),
    Problem("vehicle: bus", "vehicle", _keel("vehicle", "bus")),
    Problem("yeast: 1", "yeast", _keel("yeast1", "positive", "imbalanced")),
    Problem("crx: positive", "australian", _keel("crx", "positive")),
    Problem("wdbc: M", "breast cancer", _keel("wdbc", "M")),
    Problem("wisconsin: 4", "wisconsin", _keel("wisconsin", "4")),
    Problem("heart: 2", "heart", _keel("heart", "2")),
    Problem("ionosphere: b", "ionosphere", _keel("ionosphere", "b")),
    Problem("contraceptive: 1", "contraceptive", _keel("contraceptive", "1")),
    Problem("contraceptive: 2", "contraceptive", _keel("contraceptive", "2")),
    Problem("titanic: survived", "titanic", _keel("titanic", "1.0")),
    Problem("tic-tac-toe: negative", "tic-tac-toe", _keel("tic-tac-toe", "negative")),
    Problem("saheart: 1", "saheart", _keel("saheart", "1")),
    Problem("marketing: 1", "marketing", _keel("marketing", "1")),
    Problem("marketing: 7-9", "marketing", _keel("marketing", "7 8 9")),
    Problem("led7digit: 0-4", "led7digit", _keel("led7digit", "0 1 2 3 4")),
)
TRAINING_PROBLEMS = (*PROBLEMS, *_MORE)
BANK_FAMILIES = tuple(dict.fromkeys(problem.family for problem in PROBLEMS))


def flipped_problems(problem: Problem, number: int) -> list[SketchedProblem]:
    """Return one round of problems made of a real one, cached."""

    def compute() -> dict[str, NDArray[np.generic]]:
        name = [ord(letter) for letter in problem.name]
        random = np.random.default_rng([21, number, *name])
        with warnings.catch_warnings():
            # Weak models on noisy labels are intended here.
            warnings.simplefilter("ignore")
            return pack(_round(problem, random, often_much=number < _ROUNDS_OF_MUCH))

    return list(unpack(cached(f"training-flipped-{file_name(problem.name)}-{number}", compute)))


def _round(
    problem: Problem, random: np.random.Generator, *, often_much: bool
) -> list[SketchedProblem]:
    found = [
        sketched(one.truth, one.labels, scores, kind=one.kind, family=problem.family, model=model)
        for one in flipped_rows(problem, random, often_much=often_much)
        for model, scores in one.scores.items()
    ]
    return [problem for problem in found if problem is not None]


@dataclass(frozen=True)
class FlippedRows:
    """The rows of one problem with labels of which some are flipped, and scores by classifier."""

    kind: str
    truth: Bools
    labels: Bools
    scores: dict[str, Reals]


def flipped_rows(
    problem: Problem, random: np.random.Generator, *, often_much: bool
) -> Iterator[FlippedRows]:
    """Yield the rows of a real problem with each kind of noise."""
    X, truth = _some_rows(*load_scaled(problem), random)
    world = _world(X, truth, random)
    for kind in _KINDS:
        rates = draw_rates(random, float(truth.mean()), often_much=often_much)
        chances = flip_chances(world, kind, rates, random)
        labels = np.where(random.random(len(truth)) < chances, ~truth, truth)
        if min(labels.sum(), (~labels).sum()) >= 20:
            yield FlippedRows(kind, truth, labels, _scores(X, labels, random))


@lru_cache(maxsize=2)
def load_scaled(problem: Problem) -> Rows:
    """Return the rows of a problem, scaled, and their true labels."""
    X, truth = problem.load()
    return StandardScaler().fit_transform(X), truth


def _some_rows(X: Reals, truth: Bools, random: np.random.Generator) -> tuple[Reals, Bools]:
    most = min(_MOST, len(truth))
    size = int(np.exp(random.uniform(np.log(min(_FEWEST, most)), np.log(most))))
    # Half of the rounds use as many rows as there are.
    if random.random() < 0.5:
        size = most
    chosen = random.permutation(len(truth))[:size]
    # A few rows of each class, whatever the draw.
    for label in (False, True):
        chosen = np.union1d(chosen, np.flatnonzero(truth == label)[:30])
    return X[chosen], truth[chosen]


def _world(X: Reals, truth: Bools, random: np.random.Generator) -> World:
    """Return how far each row lies on its own side, by two models of the true labels."""
    seed = int(random.integers(2**31))
    linear = out_of_fold_probabilities(
        LogisticRegression(C=0.3, max_iter=300), X, truth, cv=_N_FOLDS, random_state=seed
    )
    mean = (linear + trees_out_of_bag(X, truth, seed, leaf=2)) / 2
    margin = logit(np.clip(mean, 1e-3, 1 - 1e-3))
    groups = np.zeros(len(truth), np.intp)
    for label in (False, True):
        rows = truth == label
        n_groups = int(random.integers(2, 9))
        clusters = KMeans(n_groups, n_init=1, max_iter=30, random_state=seed)
        groups[rows] = clusters.fit_predict(X[rows]) + label * 10
    return World(truth, np.where(truth, margin, -margin), groups)


def trees_out_of_bag(X: Reals, labels: Bools, seed: int, *, leaf: int) -> Reals:
    """Return the probabilities of extra trees for the rows that each did not see."""
    trees = ExtraTreesClassifier(
        100, min_samples_leaf=leaf, bootstrap=True, oob_score=True, random_state=seed
    )
    return np.asarray(np.nan_to_num(trees.fit(X, labels).oob_decision_function_[:, 1], nan=0.5))


def _linear(X: Reals, labels: Bools, random: np.random.Generator) -> Reals:
    strength = float(random.choice([0.01, 0.1, 1.0, 1.0, 10.0]))
    return _out_of_fold(LogisticRegression(C=strength, max_iter=300), X, labels, random)


def _bayes(X: Reals, labels: Bools, random: np.random.Generator) -> Reals:
    return _out_of_fold(GaussianNB(var_smoothing=1e-4), X, labels, random)


def _neighbours(X: Reals, labels: Bools, random: np.random.Generator) -> Reals:
    return _out_of_fold(
        KNeighborsClassifier(int(random.choice([5, 15, 20, 40]))), X, labels, random
    )


def _forest(X: Reals, labels: Bools, random: np.random.Generator) -> Reals:
    return trees_out_of_bag(
        X, labels, int(random.integers(2**31)), leaf=int(random.choice([1, 1, 3, 5]))
    )


def _boosting(X: Reals, labels: Bools, random: np.random.Generator) -> Reals:
    model = HistGradientBoostingClassifier(
        max_iter=int(random.choice([30, 60, 100])), early_stopping=False, random_state=0
    )
    return _out_of_fold(model, X, labels, random)


def _network(X: Reals, labels: Bools, random: np.random.Generator) -> Reals:
    model = MLPClassifier(
        (32,),
        alpha=float(random.choice([1e-4, 1e-1])),
        max_iter=int(random.choice([20, 60])),
        random_state=0,
    )
    return _out_of_fold(model, X, labels, random)


def _out_of_fold(model: Any, X: Reals, labels: Bools, random: np.random.Generator) -> Reals:
    seed = int(random.integers(2**31))
    return np.asarray(
        out_of_fold_probabilities(model, X, labels, cv=_N_FOLDS, random_state=seed),
        dtype=np.float64,
    )


_MODELS: dict[str, tuple[float, Callable[[Reals, Bools, np.random.Generator], Reals]]] = {
    "linear": (0.25, _linear),
    "naive Bayes": (0.15, _bayes),
    "neighbours": (0.15, _neighbours),
    "forest": (0.2, _forest),
    "boosting": (0.15, _boosting),
    "network": (0.1, _network),
}


def _scores(X: Reals, labels: Bools, random: np.random.Generator) -> dict[str, Reals]:
    """Return the scores of some classifiers, and their mean."""
    shares = [share for share, _ in _MODELS.values()]
    chosen = random.choice(list(_MODELS), _MODELS_A_KIND, replace=False, p=shares)
    found = {str(name): _MODELS[str(name)][1](X, labels, random) for name in chosen}
    found["committee"] = np.mean(list(found.values()), axis=0)
    return found
