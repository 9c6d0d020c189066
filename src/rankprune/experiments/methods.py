"""Tables for choosing a method: eight situations, and MNIST beside the paper's figures."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed

from rankprune.core import NOISE_ESTIMATORS
from rankprune.experiments._bank import LEVELS, PROBLEMS, Problem, load_split, scored
from rankprune.experiments._cache import cached, file_name, forget
from rankprune.experiments._contenders import CONTENDERS
from rankprune.experiments._estimates import four_rates, true_rates
from rankprune.experiments._mnist import FOUR_CELLS
from rankprune.experiments._mnist_methods import (
    ENDS,
    METHOD_DIGITS,
    METRICS,
    SLOW_ROWS,
    Figures,
    figures,
)
from rankprune.experiments._published import published
from rankprune.experiments._situations import MAX_ROWS, SITUATIONS, situation_figures
from rankprune.experiments._table import Table

_log = logging.getLogger("rankprune")

# Shown beside the slow methods, so that all are compared on the same rows.
_REFERENCES = (*ENDS, "Rank Pruning, true rates", "Rank Pruning")
_MODELS = ("logistic", "forest", "boosting")
_PAPER_METRICS = {"F1": "f1", "error": "error", "AUC-PR": "auc_pr"}


def method_tables(n_jobs: int) -> Iterator[Table]:
    """Yield the tables, each as soon as it is measured."""
    yield from _situation_tables(n_jobs)
    yield _estimator_table(n_jobs)
    yield from _mnist_tables(n_jobs)


def forget_measurements() -> None:
    """Remove all cached measurements that depend on the methods."""
    forget("situations-", "mnist-methods-", "rate-estimators-")


def _situation_tables(n_jobs: int) -> Iterator[Table]:
    problems = [problem for problem in PROBLEMS if not problem.tune]
    parts = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_measure_problem)(problem) for problem in problems
    )
    found = []
    for problem, part in zip(problems, parts, strict=True):
        _log.info("situations: %s", problem.name)
        found.append(part)
    names = (*ENDS, *CONTENDERS)
    # problems x situations x methods x metrics
    measured = np.array([[[part[s][name] for name in names] for s in SITUATIONS] for part in found])
    for column, metric in enumerate(METRICS[:3]):
        rows = [
            [name, *(f"{measured[:, s, m, column].mean():.3f}" for s in range(len(SITUATIONS)))]
            for m, name in enumerate(names)
        ]
        yield Table(
            f"{metric} in eight situations",
            f"Logistic regression, {len(problems)} problems, up to {MAX_ROWS} rows to learn from, "
            "measured on right labels of others; means over problems.",
            ("method", *SITUATIONS),
            rows,
        )
    yield _harm_table(measured, names)


def _measure_problem(problem: Problem) -> dict[str, dict[str, Figures]]:
    split = load_split(problem)
    return {situation: situation_figures(problem, split, situation) for situation in SITUATIONS}


def _harm_table(measured: NDArray[np.float64], names: tuple[str, ...]) -> Table:
    """Return how often a method is worse than a plain fit."""
    error = METRICS.index("error")
    plain = measured[:, :, names.index(ENDS[1]), error]
    rows = []
    for m, name in enumerate(names):
        worse = measured[:, :, m, error] > plain + 0.005
        rows.append([name, *(f"{worse[:, s].mean():.0%}" for s in range(len(SITUATIONS)))])
    return Table(
        "How often a method is worse than none",
        "Share of problems where the error is more than .005 above that of a plain fit to the same "
        "noisy labels.",
        ("method", *SITUATIONS),
        rows,
    )


def _estimator_table(n_jobs: int) -> Table:
    problems = [problem for problem in PROBLEMS if not problem.tune]
    errors = np.array(Parallel(n_jobs=n_jobs)(delayed(_rate_errors)(p) for p in problems))
    rows = [
        [name, *(f"{errors[..., m, e].mean():.3f}" for m in range(len(_MODELS)))]
        + [f"{errors[:, _pu_levels(), :, e].mean():.3f}"]
        for e, name in enumerate(NOISE_ESTIMATORS)
    ]
    return Table(
        "Error of the noise estimators",
        f"Mean absolute error of the four rates over {len(problems)} problems and "
        f"{len(LEVELS)} noise levels, by the model that gave the probabilities; the last column is "
        "over those levels alone at which every positive label is right.",
        ("estimator", *_MODELS, "positives right"),
        rows,
    )


def _pu_levels() -> list[int]:
    return [index for index, (_, pi1) in enumerate(LEVELS) if pi1 == 0]


def _rate_errors(problem: Problem) -> NDArray[np.float64]:
    """Return errors of one problem: levels x models x estimators."""

    def compute() -> dict[str, NDArray[np.float64]]:
        split = load_split(problem)
        table = np.empty((len(LEVELS), len(_MODELS), len(NOISE_ESTIMATORS)))
        for row, level in enumerate(LEVELS):
            scores = scored(problem, split, level)
            truth = true_rates(split.true_labels, scores.labels)
            for column, model in enumerate(_MODELS):
                for index, estimator in enumerate(NOISE_ESTIMATORS.values()):
                    rates = estimator(scores.labels.view(np.int8), scores.of(model))
                    table[row, column, index] = abs(four_rates(rates) - truth).mean()
        return {"errors": table}

    return cached(f"rate-estimators-{file_name(problem.name)}", compute)["errors"]


def _mnist_tables(n_jobs: int) -> Iterator[Table]:
    measured = {name: one for name, one in CONTENDERS.items() if one.on_mnist}
    slow = [name for name, one in measured.items() if one.is_slow]
    fast = [*ENDS, *(name for name in measured if name not in slow)]
    few = [*_REFERENCES, *slow]
    runs = [(name, False) for name in fast] + [(name, True) for name in few]
    cases = [(digit, cell) for digit in METHOD_DIGITS for cell in FOUR_CELLS]
    found = Parallel(n_jobs=n_jobs)(
        delayed(_measure_case)(digit, cell, runs) for digit, cell in cases
    )
    # runs x digits x cells x metrics
    shape = (len(METHOD_DIGITS), len(FOUR_CELLS), len(runs), len(METRICS))
    means = np.array(found).reshape(shape).mean(axis=0)
    for metric in ("F1", "error", "AUC-PR"):
        column = METRICS.index(metric)
        yield _mnist_table(metric, means[:, : len(fast), column], fast, "60,000", with_paper=True)
        yield _mnist_table(
            metric, means[:, len(fast) :, column], few, f"{SLOW_ROWS:,}", with_paper=False
        )


def _measure_case(
    digit: int, cell: tuple[float, float], runs: list[tuple[str, bool]]
) -> list[Figures]:
    return [figures(digit, cell, name, few=few) for name, few in runs]


def _mnist_table(
    metric: str, means: NDArray[np.float64], names: list[str], n_rows: str, *, with_paper: bool
) -> Table:
    rows = []
    for column, name in enumerate(names):
        cells = [f"{mean:.3f}" for mean in means[:, column]]
        if with_paper:
            cells = [
                f"{cell} ({paper})" if paper else cell
                for cell, paper in zip(cells, _paper_figures(name, metric), strict=True)
            ]
        rows.append([name, *cells, f"{means[:, column].mean():.3f}"])
    beside = " In brackets the paper's figure, the mean of all ten digits." if with_paper else ""
    return Table(
        f"MNIST, {metric}, {n_rows} rows",
        f"Logistic regression, one digit against the rest, mean of the digits "
        f"{', '.join(map(str, METHOD_DIGITS))}, on the 10,000 test images.{beside}",
        ("method", *(f"(pi1, rho1) = ({pi1:g}, {rho1:g})" for pi1, rho1 in FOUR_CELLS), "mean"),
        rows,
    )


def _paper_figures(name: str, metric: str) -> list[str]:
    """Return the paper's figure of a method at each cell, or empty strings if it prints none."""
    paper = "true" if name == ENDS[0] else CONTENDERS[name].paper if name in CONTENDERS else None
    if paper is None:
        return [""] * len(FOUR_CELLS)
    key = ("mnist", "logreg", _PAPER_METRICS[metric], "avg")
    return [f"{published()[(*key, *cell, paper)]:.3f}" for cell in FOUR_CELLS]
