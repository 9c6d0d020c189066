"""Tables about any number of classes: the noise matrix, its ranges, and the rows it prunes."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score
from sklearn.utils.parallel import Parallel, delayed

from rankprune.core import MATRIX_ESTIMATORS, NoiseMatrix
from rankprune.core.classes._class_inputs import ClassInputs
from rankprune.core.classes._class_pruning import prune_classes, ratios_of_rows
from rankprune.core.classes._matrix_estimators import DEFAULT_MATRIX_ESTIMATOR, Tally
from rankprune.core.classes._matrix_ranges import NO_WRONG_SHARE
from rankprune.experiments._cache import cached, file_name, forget
from rankprune.experiments._class_flips import CLASS_KINDS
from rankprune.experiments._class_problems import (
    N_ROUNDS,
    N_SIMULATED,
    SIMULATED,
    TABLES,
    ClassProblem,
    ClassTable,
    people_class_problems,
    simulated_problem,
    table_problems,
)
from rankprune.experiments._class_ranges import (
    Shares,
    fitted_model,
    left_out_ends,
    left_out_points,
    shares_of,
    write_ranges,
)
from rankprune.experiments._table import Table

_log = logging.getLogger("rankprune")

Reals = NDArray[np.float64]

_JOINTS = (*MATRIX_ESTIMATORS, "cleanlab, joint")
_COUNT = "cleanlab, number of issues"
_LINE = "a linear model of the counts"
_FEW_COUNTED = 0.06
_N_CHUNK = 50


def class_tables(n_jobs: int, people: Path | None, output: Path | None) -> Iterator[Table]:
    """Yield all tables, and those of labels by people last; write the ranges if asked to."""
    problems = _problems(n_jobs)
    found = _measured(n_jobs)
    total, labels = shares_of(problems)
    yield from _error_tables(problems, found, left_out_points(total))
    yield _pruning_table(problems, found)
    for title, shares in (("all labels", total), ("each label", labels)):
        yield _range_table(shares, title)
    model = fitted_model(total, labels)
    if output is not None:
        write_ranges(model, output)
        _log.info("wrote %s", output)
    if people is not None:
        images = list(people_class_problems(people))
        yield _people_table(images, [_measure(one) for one in images])
        shares = shares_of(images)[0]
        low, high = model.total.ends(shares.summaries, shares.counted)
        yield _people_ranges(images, shares, low, high)


def forget_measurements() -> None:
    """Remove all cached measurements that depend on the estimators."""
    forget("classes-measured-")


def _problems(n_jobs: int) -> list[ClassProblem]:
    tasks = [(table, number) for number in range(N_ROUNDS) for table in TABLES]
    parts = Parallel(n_jobs=n_jobs)(delayed(table_problems)(*task) for task in tasks)
    simulated = [simulated_problem(number) for number in range(N_SIMULATED)]
    return [one for part in parts for one in part] + simulated


def _measured(n_jobs: int) -> list[Reals]:
    tasks: list[tuple[str, Callable[[], list[ClassProblem]]]] = []
    for number in range(N_ROUNDS):
        for table in TABLES:
            tasks.append((f"{file_name(table.name)}-{number}", _Round(table, number)))
    for first in range(0, N_SIMULATED, _N_CHUNK):
        tasks.append((f"simulated-{first}", _Simulated(first)))
    parts = Parallel(n_jobs=n_jobs)(delayed(_measure_all)(*task) for task in tasks)
    return [row for part in parts for row in part]


class _Round:
    """The problems of one table in one round; a class, so that other processes can load it."""

    def __init__(self, table: ClassTable, number: int) -> None:
        self.table, self.number = table, number

    def __call__(self) -> list[ClassProblem]:
        return table_problems(self.table, self.number)


class _Simulated:
    """Some simulated problems."""

    def __init__(self, first: int) -> None:
        self.numbers = range(first, min(first + _N_CHUNK, N_SIMULATED))

    def __call__(self) -> list[ClassProblem]:
        return [simulated_problem(number) for number in self.numbers]


def _measure_all(name: str, load: Callable[[], list[ClassProblem]]) -> Reals:
    def compute() -> dict[str, NDArray[Any]]:
        _log.info("measuring %s", name)
        return {"found": np.array([_measure(problem) for problem in load()])}

    return cached(f"classes-measured-{name}", compute)["found"]


def _measure(problem: ClassProblem) -> Reals:
    """Return the totals, the L1 errors, F1 of pruned rows and average precision, ours and theirs.

    Totals of `_JOINTS` and of cleanlab's number of issues, L1 errors of `_JOINTS`, and F1 and
    average precision, first ours.
    """
    from cleanlab.count import estimate_joint
    from cleanlab.filter import find_label_issues
    from cleanlab.rank import get_label_quality_scores

    inputs = ClassInputs(problem.labels, np.arange(problem.n_classes), problem.probabilities)
    tally = Tally.of(inputs)
    joints = [estimator(tally) for estimator in MATRIX_ESTIMATORS.values()]
    scores = np.asarray(problem.probabilities, dtype=np.float64)
    scores = scores / scores.sum(axis=1, keepdims=True)
    with warnings.catch_warnings():
        # Of the other package, about rare classes and its own defaults.
        warnings.simplefilter("ignore")
        joints.append(estimate_joint(problem.labels, scores))
        issues = find_label_issues(problem.labels, scores, n_jobs=1)
    quality = get_label_quality_scores(problem.labels, scores)
    matrix = NoiseMatrix(joints[list(_JOINTS).index(DEFAULT_MATRIX_ESTIMATOR)], inputs.classes)
    with warnings.catch_warnings():
        # Much noise leaves a class almost empty, which is part of the measurement.
        warnings.simplefilter("ignore")
        mask = prune_classes(problem.labels, problem.probabilities, matrix, None).mask
    wrong = problem.wrong
    precision = [np.nan, np.nan]
    if wrong.any():
        precision = [
            average_precision_score(wrong, -order) for order in (ratios_of_rows(inputs), quality)
        ]
    return np.array(
        [
            *(1 - np.trace(joint) for joint in joints),
            issues.mean(),
            *(np.abs(joint - problem.joint).sum() for joint in joints),
            _f1(mask, wrong),
            _f1(issues, wrong),
            *precision,
        ]
    )


def _f1(mask: NDArray[np.bool_], wrong: NDArray[np.bool_]) -> float:
    both = int(mask.sum() + wrong.sum())
    return 2 * int((mask & wrong).sum()) / both if both else np.nan


def _error_tables(
    problems: Sequence[ClassProblem], found: Sequence[Reals], by_line: Reals
) -> Iterator[Table]:
    truth = np.array([problem.wrong.mean() for problem in problems])
    kind = np.array([problem.kind for problem in problems])
    is_real = np.array([problem.family != SIMULATED for problem in problems])
    values = np.array(found)
    overlap = _overlap(problems, values)
    for title, rows in (
        ("tables where few clean labels are counted as wrong", is_real & (overlap <= _FEW_COUNTED)),
        ("tables whose classes overlap", is_real & (overlap > _FEW_COUNTED)),
        ("simulated rows", ~is_real),
    ):
        yield _error_table(title, values[rows], by_line[rows], truth[rows], kind[rows])


def _mean(values: NDArray[Any]) -> str:
    """Return a mean as text, or a dash if there are no values."""
    return f"{values.mean():.3f}" if len(values) else "-"


def _overlap(problems: Sequence[ClassProblem], values: Reals) -> Reals:
    """Return what the default counts as wrong where all labels of a table and model are right."""
    column = _JOINTS.index(DEFAULT_MATRIX_ESTIMATOR)
    clean: dict[tuple[str, str], list[float]] = {}
    for problem, row in zip(problems, values, strict=True):
        if problem.kind == CLASS_KINDS[0]:
            clean.setdefault((problem.name, problem.model), []).append(float(row[column]))
    return np.array([np.mean(clean.get((one.name, one.model), [0.0])) for one in problems])


def _error_table(
    title: str, values: Reals, by_line: Reals, truth: Reals, kind: NDArray[Any]
) -> Table:
    rows = []
    n = len(_JOINTS)
    totals = np.column_stack([values[:, : n + 1], by_line])
    for number, name in enumerate((*_JOINTS, _COUNT, _LINE)):
        cells = []
        for one in (*CLASS_KINDS, None):
            chosen = kind == one if one else np.ones(len(kind), dtype=bool)
            text = _mean(np.abs(totals[chosen, number] - truth[chosen]))
            if number < n:
                text += f" / {_mean(values[chosen, n + 1 + number])}"
            cells.append(text)
        rows.append([f'"{name}"' if name in MATRIX_ESTIMATORS else name, *cells])
    return Table(
        f"Error of the share of wrong labels / L1 error of the joint: {title}",
        f"{len(kind)} problems. Only the linear model was fitted to any, those of other families.",
        ["estimator", *CLASS_KINDS, "all"],
        rows,
    )


def _pruning_table(problems: Sequence[ClassProblem], found: Sequence[Reals]) -> Table:
    values = np.array(found)[:, -4:]
    kind = np.array([problem.kind for problem in problems])
    noisy = np.isfinite(values).all(axis=1)
    rows = []
    for one in CLASS_KINDS[1:]:
        rows.append([one, *map(_mean, values[noisy & (kind == one)].T)])
    rows.append(["all", *map(_mean, values[noisy].T)])
    return Table(
        "Rows pruned, and their ranking",
        f"{int(noisy.sum())} problems with wrong labels, tables and simulated rows.",
        ["noise", "F1 pruned", "cleanlab", "average precision", "cleanlab "],
        rows,
    )


def _range_table(shares: Shares, title: str) -> Table:
    low, high = left_out_ends(shares)
    low = np.minimum(np.where(low < NO_WRONG_SHARE, 0.0, low), shares.counted)
    high = np.maximum(high, shares.counted)
    held = (shares.truth >= low - 1e-12) & (shares.truth <= high + 1e-12)
    rows = []
    for one in (*CLASS_KINDS, None):
        chosen = shares.kind == one if one else np.ones(len(held), dtype=bool)
        real = chosen & (shares.family != SIMULATED)
        rows.append(
            [
                one or "all",
                _mean(held[real]),
                _mean(held[chosen & ~real]),
                _mean((high - low)[chosen]),
                _mean(low[chosen] > 0),
            ]
        )
    return Table(
        f"95 % ranges of {title}, families left out",
        f"{len(held)} shares. Each range is by a model that never saw the family of the table.",
        ["noise", "held, tables", "held, simulated", "mean width", "above zero"],
        rows,
    )


def _people_table(problems: Sequence[ClassProblem], found: Sequence[Reals]) -> Table:
    rows = []
    n = len(_JOINTS)
    for problem, row in zip(problems, found, strict=True):
        truth = float(problem.wrong.mean())
        cells = [f"{row[number]:.3f} / {row[n + 1 + number]:.3f}" for number in range(n)]
        rest = (row[n], *row[-4:])
        rows.append(
            [
                f"{problem.name}, {problem.model}",
                f"{truth:.3f}",
                *cells,
                *(f"{number:.3f}" for number in rest),
            ]
        )
    return Table(
        "Labels by people, ten classes: share of wrong labels / L1 error of the joint",
        "Nothing was fitted to them. The mean of counts and table was first proposed on these "
        "labels: its figures here are not blind.",
        [
            "labels",
            "truth",
            *_JOINTS,
            _COUNT,
            "F1 pruned",
            "cleanlab",
            "average precision",
            "cleanlab ",
        ],
        rows,
    )


def _people_ranges(
    problems: Sequence[ClassProblem], shares: Shares, low: Reals, high: Reals
) -> Table:
    rows = [
        [f"{one.name}, {one.model}", f"{truth:.3f}", f"{point:.3f}", f"{start:.3f} to {end:.3f}"]
        for one, truth, point, start, end in zip(
            problems, shares.truth, shares.counted, low, high, strict=True
        )
    ]
    return Table(
        "Labels by people: 95 % ranges of all labels",
        "",
        ["labels", "truth", "estimate", "range"],
        rows,
    )
