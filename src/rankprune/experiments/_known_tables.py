"""The demo, Pima and MNIST: the network of the package beside one that never saw the family."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from rankprune.check import check_table
from rankprune.core import NoiseRates, flip_labels, prune_labels
from rankprune.core._inputs import Inputs
from rankprune.core._verdict import NOISY_SHARE
from rankprune.core.counting._sketch import sketch_of
from rankprune.core.estimators._confident_counts import confident_counts
from rankprune.core.estimators._learned import learned_answer, shipped_network
from rankprune.core.estimators._learned_network import LEVELS, Network
from rankprune.experiments import _training
from rankprune.experiments._bank import PROBLEMS
from rankprune.experiments._cache import cached
from rankprune.experiments._flip_chances import CLASS_CONDITIONAL
from rankprune.experiments._images import load_mnist
from rankprune.experiments._left_out_ranges import ranges_of
from rankprune.experiments._mnist import DIGITS, GRID, NoisyDigit, noisy_digit
from rankprune.experiments._sketched_problems import SketchedProblem
from rankprune.experiments._table import Table

Bools = NDArray[np.bool_]
Reals = NDArray[np.float64]

_LEVEL = 0.95
_PIMA = "pima: diabetes"
# The digit of the bank, at some of the noise levels (pi1, rho1).
_DIGIT = 3
_SHOWN = ((0.0, 0.0), (0.1, 0.1), (0.2, 0.2), (0.5, 0.5))


@dataclass(frozen=True)
class Known:
    """Labels, scores and true labels of a table; as published if its true labels are not known."""

    name: str
    family: str
    labels: Bools
    scores: Reals
    truth: Bools | None


def known_tables(blind: Sequence[Network]) -> list[Table]:
    """Return the figures of single tables, and the errors on MNIST.

    Parameters
    ----------
    blind : sequence of Network
        One for each fold, which never saw the families of that fold.
    """
    fold_of = _training.folds()
    tables = [_demo(), _pima(), *_mnist()]
    return [
        _answer_table([(one, blind[fold_of[one.family]]) for one in tables]),
        _mnist_table(blind[fold_of["mnist"]]),
    ]


def _answer_table(tables: Sequence[tuple[Known, Network]]) -> Table:
    return Table(
        "Tables that many know, families left out",
        "Share of all labels that are wrong: the truth, and point and range of 95 % by the network "
        "of the package and by one that never saw the family. Then the wrong labels among the rows "
        "that are pruned, by these two, and by the paper's estimator.",
        ("labels", "wrong", "package", "left out", "found: package", "left out", "paper"),
        [_answer_row(one, network) for one, network in tables],
    )


def _answer_row(one: Known, blind: Network) -> list[str]:
    answers = [
        learned_answer(sketch_of(Inputs(one.labels, one.scores, None)), network)
        for network in (shipped_network(), blind)
    ]
    paper = confident_counts(one.labels.view(np.int8), one.scores)
    ranges = [answer.ranges(_LEVEL)["wrong_share"] for answer in answers]
    # As `check` does: nothing is pruned unless noise was found.
    pruning = [
        answer.rates if low > NOISY_SHARE else None
        for answer, (low, _) in zip(answers, ranges, strict=True)
    ]
    return [
        one.name,
        "as published" if one.truth is None else _count_words(one.labels != one.truth),
        *(
            f"{answer.rates.wrong_share:.1%} ({low:.1%} to {high:.1%})"
            for answer, (low, high) in zip(answers, ranges, strict=True)
        ),
        *(_found_words(one, rates) for rates in (*pruning, paper)),
    ]


def _count_words(wrong: Bools) -> str:
    return f"{wrong.mean():.1%} ({int(wrong.sum()):,})"


def _found_words(one: Known, rates: NoiseRates | None) -> str:
    """Return how many of the rows that are pruned have wrong labels."""
    if rates is None:
        return "nothing pruned"
    mask = prune_labels(one.labels, one.scores, rates).mask
    if one.truth is None:
        return f"{int(mask.sum()):,} pruned"
    return f"{int((one.labels != one.truth)[mask].sum()):,} of {int(mask.sum()):,}"


def _mnist_table(blind: Network) -> Table:
    problems = [problem for digit in DIGITS for problem in _mnist_problems(digit)]
    collected = _training.summarized(problems)
    rows = []
    for name, network in (("package", shipped_network()), ("family left out", blind)):
        answers = _training.answers_of(network, collected)
        errors = np.abs(answers.point() - collected.truth).mean(axis=0)
        low, high = ranges_of(answers, network)
        held = (low <= collected.truth[..., None]) & (collected.truth[..., None] <= high)
        level = LEVELS.index(_LEVEL)
        rows.append(
            [
                name,
                *(f"{errors[column]:.4f}" for column in (0, 2, 4)),
                f"{held[:, 4, level].mean():.3f}",
                f"{(high - low)[:, 4, level].mean():.3f}",
            ]
        )
    return Table(
        "MNIST, the family left out",
        f"Logistic regression, {len(GRID)} noise cells x {len(DIGITS)} digits: mean absolute "
        "error, and ranges of 95 % of the total.",
        ("network", "rho1", "pi1", "total", "hold the total", "width"),
        rows,
    )


def _mnist_problems(digit: int) -> list[SketchedProblem]:
    noisy = noisy_digit(load_mnist("train"), digit, "grid", GRID)
    return [_mnist_problem(_mnist_cell(noisy, digit, cell)) for cell in range(len(GRID))]


def _mnist_problem(one: Known) -> SketchedProblem:
    assert one.truth is not None
    wrong = one.labels != one.truth
    return SketchedProblem(
        sketch_of(Inputs(one.labels, one.scores, None)),
        (float(wrong[one.labels].mean()), float(wrong[~one.labels].mean())),
        CLASS_CONDITIONAL,
        one.family,
        "logistic",
    )


def _mnist_cell(noisy: NoisyDigit, digit: int, cell: int) -> Known:
    pi1, rho1 = GRID[cell]
    return Known(
        f"MNIST, {digit} or not, rho1 {rho1:g}, pi1 {pi1:g}",
        "mnist",
        np.ascontiguousarray(noisy.labels[:, cell]),
        noisy.probabilities[:, cell].astype(np.float64),
        noisy.is_digit,
    )


def _mnist() -> list[Known]:
    noisy = noisy_digit(load_mnist("train"), _DIGIT, "grid", GRID)
    return [_mnist_cell(noisy, _DIGIT, GRID.index(cell)) for cell in _SHOWN if cell in GRID]


def _demo() -> Known:
    X, digits = load_digits(return_X_y=True)
    # As in the demo.
    X, _, truth, _ = train_test_split(
        X, digits % 2 == 1, test_size=0.3, stratify=digits, random_state=0
    )
    labels: Bools = flip_labels(
        truth, positive_noise_rate=0.4, negative_noise_rate=0.1, random_state=0
    )
    return Known("the demo", "digits", labels, _checked_scores("demo", X, labels), truth)


def _pima() -> Known:
    (problem,) = (problem for problem in PROBLEMS if problem.name == _PIMA)
    X, labels = problem.load()
    return Known("Pima", "pima", labels, _checked_scores("pima", X, labels), None)


def _checked_scores(name: str, X: Reals, labels: Bools) -> Reals:
    """Return the scores with which `check_table` answers, cached."""

    def compute() -> dict[str, NDArray[Any]]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "table.csv"
            with path.open("w", newline="") as file:
                rows = csv.writer(file)
                rows.writerow([*(f"x{number}" for number in range(X.shape[1])), "label"])
                for row, label in zip(X.tolist(), labels.tolist(), strict=True):
                    rows.writerow([*(f"{value:g}" for value in row), int(label)])
            check = check_table(path, "label")
        return {"scores": np.asarray(check.scores.probability, dtype=np.float64)}

    return cached(f"known-{name}", compute)["scores"]
