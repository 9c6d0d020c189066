"""Tables about any number of classes: the noise matrix, its ranges, and the rows it prunes."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score
from sklearn.utils.parallel import Parallel, delayed

from rankprune.core import MATRIX_ESTIMATORS, NoiseMatrix
from rankprune.core.classes._class_inputs import ClassInputs
from rankprune.core.classes._class_pruning import prune_classes, ratios_of_rows
from rankprune.core.classes._matrix_estimators import handed_over
from rankprune.core.classes._matrix_model import MatrixModel, ShareNetwork
from rankprune.core.classes._matrix_ranges import NO_WRONG_SHARE
from rankprune.core.classes._tally import Tally
from rankprune.experiments._cache import cached, file_name, forget
from rankprune.experiments._class_flips import CLASS_KINDS
from rankprune.experiments._class_problems import (
    MADE_TABLES,
    N_ROUNDS,
    N_SIMULATED,
    SIMULATED,
    TABLES,
    ClassProblem,
    ClassTable,
    make_round,
    people_class_problems,
    simulated_problem,
    table_problems,
)
from rankprune.experiments._class_training import (
    BY_LABEL,
    TOTAL,
    Answers,
    LeftOut,
    Shares,
    learned_from,
    shares_of,
    write_model,
)
from rankprune.experiments._table import Table

_log = logging.getLogger("rankprune")

Reals = NDArray[np.float64]

_LEARNED, _MEAN = "learned", "counts-and-table"
_COUNTED = tuple(name for name in MATRIX_ESTIMATORS if name != _LEARNED)
_JOINTS = (*_COUNTED, "cleanlab, joint")
_COUNT = "cleanlab, number of issues"
# Problems that are learned from, and not reported: so many rounds of each table, and simulated.
N_MORE_ROUNDS, N_MORE_SIMULATED = 36, 2000
_FEW_COUNTED = 0.06
_N_CHUNK = 50


def class_tables(n_jobs: int, people: Path | None, output: Path | None) -> Iterator[Table]:
    """Yield all tables, and those of labels by people last; write the networks if asked to."""
    problems = _problems(n_jobs)
    found = _measured(n_jobs)
    # The problems that are reported come first.
    total, labels = shares_of(chain(problems, more_problems(n_jobs)))
    network, answers = learned_from(total, TOTAL, n_jobs)
    by_label, label_answers = learned_from(labels, BY_LABEL, n_jobs)
    of_learned = [
        _measure_learned(problem, float(share))
        for problem, share in zip(problems, answers.points, strict=False)
    ]
    yield from _error_tables(problems, found, np.array(of_learned))
    yield _pruning_table(problems, found, np.array(of_learned))
    n_labels = sum(problem.n_classes for problem in problems)
    yield _range_table(total, answers, len(problems), "all labels")
    yield _range_table(labels, label_answers, n_labels, "each label")
    model = MatrixModel(network, by_label)
    if output is not None:
        write_model(model, output)
        _log.info("wrote %s", output)
    if people is not None:
        images = list(people_class_problems(people))
        shares = model.total.shares(shares_of(images)[0].summaries)
        of_learned = [
            _measure_learned(one, float(share)) for one, share in zip(images, shares, strict=True)
        ]
        yield _people_table(images, [_measure(one) for one in images], of_learned)
        yield _people_ranges(images, of_learned, model)


def networks_without_families(n_jobs: int) -> dict[str, ShareNetwork]:
    """Return the network for the share of all labels that never saw each family of tables."""
    total, _ = shares_of(chain(_problems(n_jobs), more_problems(n_jobs)))
    found = LeftOut.of(total, TOTAL, n_jobs)
    return {name: found.without_family(name) for name in {table.family for table in TABLES}}


def forget_measurements() -> None:
    """Remove all cached measurements that depend on the estimators."""
    forget("classes-measured-")


def _problems(n_jobs: int) -> list[ClassProblem]:
    tasks = [(table, number) for number in range(N_ROUNDS) for table in TABLES]
    parts = Parallel(n_jobs=n_jobs)(delayed(table_problems)(*task) for task in tasks)
    simulated = [simulated_problem(number) for number in range(N_SIMULATED)]
    return [one for part in parts for one in part] + simulated


def more_problems(n_jobs: int) -> Iterator[ClassProblem]:
    """Yield problems that are learned from, and not reported."""
    tasks = [
        *((table, N_ROUNDS + number) for number in range(N_MORE_ROUNDS) for table in TABLES),
        *((table, number) for number in range(N_ROUNDS) for table in MADE_TABLES),
    ]
    # All are made before any is read, so that no more than one is in memory.
    Parallel(n_jobs=n_jobs)(delayed(make_round)(*task) for task in tasks)
    for table, number in tasks:
        yield from table_problems(table, number)
    for number in range(N_SIMULATED, N_SIMULATED + N_MORE_SIMULATED):
        yield simulated_problem(number)


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
    average precision, first ours; rows are pruned by the mean of counts and table.
    """
    from cleanlab.count import estimate_joint
    from cleanlab.filter import find_label_issues
    from cleanlab.rank import get_label_quality_scores

    inputs = ClassInputs(problem.labels, np.arange(problem.n_classes), problem.probabilities)
    tally = Tally.of(inputs)
    joints = [MATRIX_ESTIMATORS[name](tally) for name in _COUNTED]
    scores = np.asarray(problem.probabilities, dtype=np.float64)
    scores = scores / scores.sum(axis=1, keepdims=True)
    with warnings.catch_warnings():
        # Of the other package, about rare classes and its own defaults.
        warnings.simplefilter("ignore")
        joints.append(estimate_joint(problem.labels, scores))
        issues = find_label_issues(problem.labels, scores, n_jobs=1)
    quality = get_label_quality_scores(problem.labels, scores)
    mask = _pruned(problem, joints[_JOINTS.index(_MEAN)])
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


def _measure_learned(problem: ClassProblem, wrong_share: float) -> Reals:
    """Return the total, the L1 error and F1 of pruned rows, if a network says this share."""
    inputs = ClassInputs(problem.labels, np.arange(problem.n_classes), problem.probabilities)
    joint = handed_over(Tally.of(inputs), wrong_share)
    error = np.abs(joint - problem.joint).sum()
    return np.array([1 - np.trace(joint), error, _f1(_pruned(problem, joint), problem.wrong)])


def _pruned(problem: ClassProblem, joint: Reals) -> NDArray[np.bool_]:
    matrix = NoiseMatrix(joint, np.arange(problem.n_classes))
    with warnings.catch_warnings():
        # Much noise leaves a class almost empty, which is part of the measurement.
        warnings.simplefilter("ignore")
        return prune_classes(problem.labels, problem.probabilities, matrix, None).mask


def _f1(mask: NDArray[np.bool_], wrong: NDArray[np.bool_]) -> float:
    both = int(mask.sum() + wrong.sum())
    return 2 * int((mask & wrong).sum()) / both if both else np.nan


def _error_tables(
    problems: Sequence[ClassProblem], found: Sequence[Reals], of_learned: Reals
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
        yield _error_table(title, values[rows], of_learned[rows], truth[rows], kind[rows])


def _mean(values: NDArray[Any]) -> str:
    """Return a mean as text, or a dash if there are no values."""
    return f"{values.mean():.3f}" if len(values) else "-"


def _overlap(problems: Sequence[ClassProblem], values: Reals) -> Reals:
    """Return what the mean of counts and table calls wrong where all labels are right."""
    column = _JOINTS.index(_MEAN)
    clean: dict[tuple[str, str], list[float]] = {}
    for problem, row in zip(problems, values, strict=True):
        if problem.kind == CLASS_KINDS[0]:
            clean.setdefault((problem.name, problem.model), []).append(float(row[column]))
    return np.array([np.mean(clean.get((one.name, one.model), [0.0])) for one in problems])


def _error_table(
    title: str, values: Reals, of_learned: Reals, truth: Reals, kind: NDArray[Any]
) -> Table:
    n = len(_JOINTS)
    columns = {_LEARNED: (of_learned[:, 0], of_learned[:, 1])}
    for number, name in enumerate(_JOINTS):
        columns[name] = values[:, number], values[:, n + 1 + number]
    columns[_COUNT] = values[:, n], np.zeros(0)
    rows = []
    for name, (total, error) in columns.items():
        cells = []
        for one in (*CLASS_KINDS, None):
            chosen = kind == one if one else np.ones(len(kind), dtype=bool)
            text = _mean(np.abs(total[chosen] - truth[chosen]))
            if len(error):
                text += f" / {_mean(error[chosen])}"
            cells.append(text)
        rows.append([f'"{name}"' if name in MATRIX_ESTIMATORS else name, *cells])
    return Table(
        f"Error of the share of wrong labels / L1 error of the joint: {title}",
        f'{len(kind)} problems. "{_LEARNED}" never saw the family of the table; the others learn '
        "nothing.",
        ["estimator", *CLASS_KINDS, "all"],
        rows,
    )


def _pruning_table(
    problems: Sequence[ClassProblem], found: Sequence[Reals], of_learned: Reals
) -> Table:
    values = np.column_stack([of_learned[:, 2], np.array(found)[:, -4:]])
    kind = np.array([problem.kind for problem in problems])
    noisy = np.isfinite(values).all(axis=1)
    rows = []
    for one in CLASS_KINDS[1:]:
        rows.append([one, *map(_mean, values[noisy & (kind == one)].T)])
    rows.append(["all", *map(_mean, values[noisy].T)])
    return Table(
        "Rows pruned, and their ranking",
        f"{int(noisy.sum())} problems with wrong labels, tables and simulated rows.",
        [
            "noise",
            f'F1 pruned, "{_LEARNED}"',
            f'"{_MEAN}"',
            "cleanlab",
            "average precision",
            "cleanlab ",
        ],
        rows,
    )


def _range_table(shares: Shares, answers: Answers, n_reported: int, title: str) -> Table:
    low, high, truth, kind, family = (
        part[:n_reported]
        for part in (answers.low, answers.high, shares.truth, shares.kind, shares.family)
    )
    low = np.minimum(np.where(low < NO_WRONG_SHARE, 0.0, low), answers.points[:n_reported])
    held = (truth >= low - 1e-12) & (truth <= high + 1e-12)
    rows = []
    for one in (*CLASS_KINDS, None):
        chosen = kind == one if one else np.ones(len(held), dtype=bool)
        real = chosen & (family != SIMULATED)
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
        f"{len(held)} shares. Each range, and how far it is stretched, is by networks that never "
        "saw the family of the table.",
        ["noise", "held, tables", "held, simulated", "mean width", "above zero"],
        rows,
    )


def _people_table(
    problems: Sequence[ClassProblem], found: Sequence[Reals], of_learned: Sequence[Reals]
) -> Table:
    rows = []
    n = len(_JOINTS)
    for problem, row, (total, error, f1) in zip(problems, found, of_learned, strict=True):
        cells = [f"{row[number]:.3f} / {row[n + 1 + number]:.3f}" for number in range(n)]
        rows.append(
            [
                f"{problem.name}, {problem.model}",
                f"{problem.wrong.mean():.3f}",
                f"{total:.3f} / {error:.3f}",
                *cells,
                *(f"{number:.3f}" for number in (row[n], f1, *row[-4:])),
            ]
        )
    return Table(
        "Labels by people, ten classes: share of wrong labels / L1 error of the joint",
        "Nothing was fitted to them, but two columns are not blind: the mean of counts and table "
        f'was first proposed on these labels, and "{_LEARNED}" was limited to it after its figures '
        "here were seen.",
        [
            "labels",
            "truth",
            _LEARNED,
            *_JOINTS,
            _COUNT,
            f'F1 pruned, "{_LEARNED}"',
            f'"{_MEAN}"',
            "cleanlab",
            "average precision",
            "cleanlab ",
        ],
        rows,
    )


def _people_ranges(
    problems: Sequence[ClassProblem], of_learned: Sequence[Reals], model: MatrixModel
) -> Table:
    low, high = model.total.ends(shares_of(problems)[0].summaries)
    rows = [
        [
            f"{one.name}, {one.model}",
            f"{one.wrong.mean():.3f}",
            f"{share:.3f}",
            f"{min(start, share):.3f} to {max(end, share):.3f}",
        ]
        for one, (share, _, _), start, end in zip(problems, of_learned, low, high, strict=True)
    ]
    return Table(
        "Labels by people: 95 % ranges of all labels",
        "",
        ["labels", "truth", "estimate", "range"],
        rows,
    )
