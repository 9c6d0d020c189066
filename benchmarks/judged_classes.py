"""What judged rows add to the noise matrix: audits simulated on tables of many labels.

As in ``judged_rows.py``, every audit judges 200 rows in batches of 25, and after every batch the
ranges are those of `ClassCheck.settle`. They come from a model that never saw the family of the
table. Audits are cached in the folder of experiments. Parts can be printed alone, such as
``python benchmarks/judged_classes.py bank``.
"""

from __future__ import annotations

import argparse
import math
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from judged_rows import BATCH, N_BATCHES, SIZES, TINY, plain_sample

from rankprune import NoiseMatrix
from rankprune.audit._beliefs import Posterior, update
from rankprune.audit._next_rows import next_counts
from rankprune.core import Interval, MatrixIntervals
from rankprune.core._interval_records import TRUTH
from rankprune.core.classes._class_inputs import ClassInputs
from rankprune.core.classes._class_pruning import best_others
from rankprune.core.classes._estimate import estimate_noise_matrix
from rankprune.core.classes._matrix_estimators import handed_over
from rankprune.core.classes._matrix_ranges import NO_WRONG_SHARE
from rankprune.core.classes._tally import Tally
from rankprune.experiments._cache import cached, file_name, forget
from rankprune.experiments._class_flips import CLASS_KINDS
from rankprune.experiments._class_problems import (
    N_ROUNDS,
    N_SIMULATED,
    SIMULATED,
    TABLES,
    ClassProblem,
    people_class_problems,
    simulated_problem,
    table_problems,
)
from rankprune.experiments._class_training import (
    BY_LABEL,
    TOTAL,
    Answers,
    learned_from,
    shares_of,
)
from rankprune.experiments._table import Table
from rankprune.experiments.classes import more_problems
from rankprune.run._audit_draws import posterior_of
from rankprune.run._audited_check import contradicts
from rankprune.run._audited_classes import by_answers, with_model
from rankprune.run._judged_classes import JudgedClasses, OpenClassRows
from rankprune.run._rows_to_judge import SEED

Reals = np.ndarray[Any, np.dtype[np.float64]]
Codes = np.ndarray[Any, np.dtype[np.intp]]

# Audits of each problem, and of each table of labels by people.
N_AUDITS, N_AUDITS_BY_PEOPLE = 2, 100
# Simulated problems that are cached together.
N_CHUNK = 50
# What is kept after each batch: both ends and the point of the total, whether answers contradict
# the model, how many of the ranges of labels hold, their mean width, and the L1 error of the joint.
LOW, HIGH, POINT, AGAINST, LABELS_HOLD, LABEL_WIDTH, JOINT = range(7)


@dataclass(frozen=True, eq=False)
class Population:
    """A table in which every wrong label is known, and what the model says about it."""

    problem: ClassProblem
    matrix: NoiseMatrix

    @property
    def labels(self) -> Codes:
        return self.problem.labels

    @property
    def wrong(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        return self.problem.wrong

    @cached_property
    def rows(self) -> OpenClassRows:
        """Return the rows that can be judged: all."""
        problem, n_rows = self.problem, len(self.problem.labels)
        inputs = ClassInputs(problem.labels, np.arange(problem.n_classes), problem.probabilities)
        check: Any = SimpleNamespace(
            n_doubted=n_rows,
            given_codes=problem.labels,
            estimated_matrix=self.matrix,
            classes=tuple(map(str, range(problem.n_classes))),
            scores=SimpleNamespace(
                rank=np.arange(n_rows),
                rows=np.arange(n_rows),
                suspect=np.zeros(n_rows, dtype=bool),
                probability=problem.probabilities[np.arange(n_rows), problem.labels],
                suggested_probability=best_others(inputs)[1],
            ),
        )
        return OpenClassRows(check)


class Auditor:
    """Simulates audits of one table; the same answers always have the same result."""

    def __init__(self, population: Population) -> None:
        self._population, self._beliefs = population, population.rows.beliefs()

    def audit(self, generator: np.random.Generator) -> Reals:
        """Return what is kept without judged rows, and after each batch."""
        n_rows, matrix = len(self._population.labels), self._population.matrix
        judged = np.zeros(0, dtype=np.intp)
        results = [_measured(self._population, matrix, False)]
        for _ in range(N_BATCHES):
            found, posterior, *_ = self._after(judged)
            is_open = np.ones(n_rows, dtype=bool)
            is_open[judged] = False
            strata = found.strata
            left = np.bincount(strata.of_row[is_open], minlength=len(strata.sizes))
            counts = next_counts(posterior, BATCH, found.aim(None), left=left)
            more = [
                generator.choice(np.flatnonzero(is_open & (strata.of_row == number)), n, False)
                for number, n in enumerate(counts.tolist())
                if n
            ]
            judged = np.concatenate([judged, *more])
            results.append(self.result_of(judged))
        return np.array(results)

    def result_of(self, rows: Codes) -> Reals:
        """Return what `settle` would answer, given judged rows."""
        *_, noise, is_against = self._after(rows)
        return _measured(self._population, noise, is_against)

    def _after(self, rows: Codes) -> tuple[OpenClassRows, Posterior, NoiseMatrix, bool]:
        """Return the rows, what is believed now, and the matrix, as `settle` and `draw_audit`."""
        found = self._population.rows.knowing(rows.tolist())
        right = self._population.problem.truth[rows]
        judged = JudgedClasses(tuple(rows.tolist()), tuple(right.tolist()), "model", False, 0)
        beliefs = self._beliefs if found is self._population.rows else found.beliefs()
        # As in `posterior_of`, the same answers have the same result.
        posterior = update(beliefs, *found.counts(judged), np.random.default_rng(SEED + 1))
        noise = with_model(found, posterior, judged)
        ranges = self._population.matrix.intervals
        assert ranges is not None
        is_against = bool(len(rows)) and contradicts(noise, ranges.wrong_share)
        if is_against:
            judged = replace(judged, contradicts_model=True)
            posterior, noise = posterior_of(found, judged), by_answers(found, None, judged)
        return found, posterior, noise, is_against


def _measured(population: Population, noise: NoiseMatrix, is_against: bool) -> Reals:
    problem, total = population.problem, noise.intervals
    assert total is not None
    n_labels = np.bincount(problem.labels, minlength=problem.n_classes)
    n_wrong = np.bincount(problem.labels, problem.wrong, problem.n_classes)
    ends = np.array([(one.low, one.high) for one in total.error_rates])[n_labels > 0]
    truth = (n_wrong / np.maximum(n_labels, 1))[n_labels > 0]
    holds = (ends[:, 0] <= truth + TINY) & (truth <= ends[:, 1] + TINY)
    return np.array(
        [
            total.wrong_share.low,
            total.wrong_share.high,
            noise.wrong_share,
            float(is_against),
            holds.mean(),
            (ends[:, 1] - ends[:, 0]).mean(),
            np.abs(noise.joint - problem.joint).sum(),
        ]
    )


@dataclass(frozen=True)
class Audits:
    """Audits of one table; ``found`` has the shape (n_audits, 1 + N_BATCHES, 7)."""

    population: Population
    found: Reals

    def after(self, n_judged: int) -> Reals:
        return np.asarray(self.found[:, n_judged // BATCH])

    def held(self, n_judged: int) -> float:
        """Return how often the range of the total holds the truth."""
        found, truth = self.after(n_judged), self.population.wrong.mean()
        return float(((found[:, LOW] <= truth + TINY) & (truth <= found[:, HIGH] + TINY)).mean())

    def width(self, n_judged: int) -> float:
        found = self.after(n_judged)
        return float((found[:, HIGH] - found[:, LOW]).mean())


def audits_of(name: str, populations: Sequence[Population], n_audits: int) -> list[Audits]:
    """Return audits of some tables, from the cache if possible."""
    key = method_key()
    for one in populations:
        key = zlib.crc32(_numbers(one.matrix).tobytes(), key)

    def compute(number: int) -> dict[str, Reals]:
        found = []
        for one in populations:
            of_model = zlib.crc32(f"{one.problem.name} {one.problem.model}".encode())
            found.append(Auditor(one).audit(np.random.default_rng([29, number, of_model])))
        return {"found": np.array(found)}

    parts = [
        cached(f"judged-classes-{name}-{key:08x}-{number}", lambda n=number: compute(n))["found"]
        for number in range(n_audits)
    ]
    together = np.stack(parts, axis=1)
    return [Audits(one, found) for one, found in zip(populations, together, strict=True)]


@lru_cache(maxsize=1)
def method_key() -> int:
    """Return a number that changes with the results of audits of small tables."""
    random = np.random.default_rng(0)
    found = []
    for number in (1, 3):
        problem = simulated_problem(number)
        inputs = ClassInputs(problem.labels, np.arange(problem.n_classes), problem.probabilities)
        found.append(Auditor(Population(problem, estimate_noise_matrix(inputs))).audit(random))
    return zlib.crc32(np.array(found).round(9).tobytes())


def _numbers(matrix: NoiseMatrix) -> Reals:
    assert matrix.intervals is not None
    ranges = (matrix.intervals.wrong_share, *matrix.intervals.error_rates)
    return np.append(matrix.joint.ravel(), [end for one in ranges for end in (one.low, one.high)])


def bank(n_audits: int) -> Iterator[Audits]:
    """Yield audits of all tables and simulated rows, with ranges of families left out."""
    groups: list[tuple[str, list[ClassProblem]]] = [
        (f"{file_name(table.name)}-{number}", table_problems(table, number))
        for number in range(N_ROUNDS)
        for table in TABLES
    ]
    for first in range(0, N_SIMULATED, N_CHUNK):
        numbers = range(first, min(first + N_CHUNK, N_SIMULATED))
        groups.append((f"simulated-{first}", [simulated_problem(number) for number in numbers]))
    problems = [one for _, group in groups for one in group]
    shares = shares_of(chain(problems, more_problems(1)))
    total, by_label = (
        _answers(learned_from(one, schedule, 1)[1])
        for one, schedule in zip(shares, (TOTAL, BY_LABEL), strict=True)
    )
    for name, group in groups:
        populations = []
        for problem in group:
            whole = next(total)
            labels = [next(by_label) for _ in range(problem.n_classes)]
            populations.append(Population(problem, _matrix(problem, whole, labels)))
        yield from audits_of(name, populations, n_audits)


Range = tuple[float, float, float]


def _answers(answers: Answers) -> Iterator[Range]:
    """Yield the point and the range of each share, by networks that never saw the family."""
    low = np.where(answers.low < NO_WRONG_SHARE, 0.0, answers.low)
    yield from zip(answers.points.tolist(), low.tolist(), answers.high.tolist(), strict=True)


def _matrix(problem: ClassProblem, whole: Range, by_label: Sequence[Range]) -> NoiseMatrix:
    """Return the learned matrix of a family that was left out, and ranges widened to hold it."""
    inputs = ClassInputs(problem.labels, np.arange(problem.n_classes), problem.probabilities)
    tally = Tally.of(inputs)
    matrix = NoiseMatrix(handed_over(tally, whole[0]), inputs.classes, reliable=tally.tells_apart())

    def around(estimate: float, range_: Range) -> Interval:
        return Interval(estimate, min(range_[1], estimate), max(range_[2], estimate), TRUTH)

    labels = tuple(map(around, matrix.error_rates.tolist(), by_label))
    return replace(matrix, intervals=MatrixIntervals(around(matrix.wrong_share, whole), labels))


def labeled_by_people(folder: Path, n_audits: int) -> Iterator[Audits]:
    """Yield audits of images labeled by people, with the ranges of the package."""
    for problem in people_class_problems(folder):
        inputs = ClassInputs(problem.labels, np.arange(problem.n_classes), problem.probabilities)
        population = Population(problem, estimate_noise_matrix(inputs))
        yield from audits_of(file_name(f"{problem.name}-{problem.model}"), [population], n_audits)


def total_table(title: str, audits: Sequence[Audits], groups: Sequence[Group]) -> Table:
    """Return coverage and width of the range of the total."""

    def cells(part: Sequence[Audits]) -> list[str]:
        return [
            f"{_mean(part, [one.held(n) for one in part])} / "
            f"{_mean(part, [one.width(n) for one in part])}"
            for n in (0, *SIZES)
        ]

    return Table(
        title,
        "Model and judged rows: how often the 95 % range holds the total / its mean width, each "
        "with two standard errors (tables as clusters), by number of judged rows.",
        ("", "problems", "audits", "0", *map(str, SIZES)),
        _by_group(audits, groups, cells),
    )


def plain_table(audits: Sequence[Audits], groups: Sequence[Group]) -> Table:
    """Return the same of simple random samples."""

    def cells(part: Sequence[Audits]) -> list[str]:
        found = []
        for n in SIZES:
            plain = np.array([plain_sample(one.population, n) for one in part])
            found.append(f"{_mean(part, plain[:, 0])} / {_mean(part, plain[:, 1])}")
        return found

    rows = _by_group(audits, groups, cells)
    return Table(
        "The same with a simple random sample",
        "Exact limits (Clopper and Pearson); means over all possible samples of each table.",
        ("", "problems", *map(str, SIZES)),
        [[name, n, *rest] for name, n, _, *rest in rows],
    )


def others_table(audits: Sequence[Audits]) -> Table:
    """Return the ranges of labels, the errors, and answers that contradict the model."""
    rows = []
    for n in (0, *SIZES):
        means = [
            np.mean([one.after(n)[:, column].mean() for one in audits])
            for column in (LABELS_HOLD, LABEL_WIDTH, JOINT, AGAINST)
        ]
        off = [
            np.abs(one.after(n)[:, POINT] - one.population.wrong.mean()).mean() for one in audits
        ]
        against = [one for one in audits if one.after(n)[:, AGAINST].any()]
        rows.append(
            [
                str(n),
                f"{means[0]:.3f} / {means[1]:.3f}",
                f"{np.mean(off):.3f}",
                f"{means[2]:.3f}",
                f"{means[3]:.1%}",
                f"{np.mean([one.held(n) for one in against]):.3f}" if against else "-",
            ]
        )
    return Table(
        "Labels, points, and answers that contradict the model",
        "Over all problems: coverage / mean width of the ranges of labels, mean absolute error of "
        "the share of wrong labels, L1 error of the joint, how often the answers contradict the "
        "model, and how often the range of the total holds in problems where they did.",
        ("judged rows", "labels", "error", "L1 of the joint", "contradict", "then hold"),
        rows,
    )


Group = tuple[str, Callable[[Audits], bool]]


def _by_group(
    audits: Sequence[Audits],
    groups: Sequence[Group],
    cells: Callable[[Sequence[Audits]], list[str]],
) -> list[list[str]]:
    parts = [(name, [one for one in audits if belongs(one)]) for name, belongs in groups]
    return [
        [name, f"{len(part):,}", f"{sum(len(one.found) for one in part):,}", *cells(part)]
        for name, part in [*parts, ("all", list(audits))]
        if part
    ]


def _mean(audits: Sequence[Audits], of_problems: Any) -> str:
    """Return the mean over problems with two standard errors; those of a table go together."""
    values = np.asarray(of_problems, dtype=np.float64)
    problems = [one.population.problem for one in audits]
    tables: dict[str, float] = {}
    for problem, off in zip(problems, (values - values.mean()).tolist(), strict=True):
        tables[problem.name] = tables.get(problem.name, 0.0) + off
    if len(tables) == 1:
        return f"{values.mean():.3f}"
    error = math.sqrt(sum(off**2 for off in tables.values())) / len(values)
    return f"{values.mean():.3f}±{2 * error:.3f}"


def _kinds() -> list[Group]:
    return [
        (kind, lambda one, kind=kind: one.population.problem.kind == kind) for kind in CLASS_KINDS
    ]


def _sizes() -> list[Group]:
    groups: list[Group] = [
        ("tables", lambda one: one.population.problem.family != SIMULATED),
        ("simulated rows", lambda one: one.population.problem.family == SIMULATED),
    ]
    for low, high in ((3, 5), (6, 12), (13, 30)):
        groups.append(
            (
                f"{low} to {high} labels",
                lambda one, low=low, high=high: low <= one.population.problem.n_classes <= high,
            )
        )
    return groups


PARTS = ("bank", "people")


def tables(parts: Sequence[str], n_audits: int, people: Path | None) -> Iterator[Table]:
    """Yield the tables of some parts."""
    if "bank" in parts:
        audits = list(bank(n_audits))
        yield total_table("The share of wrong labels, families left out", audits, _kinds())
        yield plain_table(audits, _kinds())
        yield total_table("By number of labels", audits, _sizes())
        yield others_table(audits)
    if "people" in parts and people is not None:
        audits = list(labeled_by_people(people, n_audits * N_AUDITS_BY_PEOPLE // N_AUDITS))
        groups: list[Group] = [
            (name, lambda one, name=name: one.population.problem.name == name)
            for name in dict.fromkeys(one.population.problem.name for one in audits)
        ]
        yield total_table("Labels by people, with the ranges of the package", audits, groups)
        yield plain_table(audits, groups)
        yield others_table(audits)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"some of {', '.join(PARTS)}; all by default")
    parser.add_argument("--audits", type=int, default=N_AUDITS, help="audits of each problem")
    parser.add_argument("--people", type=Path, help="folder with labels by people")
    parser.add_argument("--fresh", action="store_true", help="forget all cached audits first")
    given = parser.parse_args()
    if unknown := set(given.parts) - set(PARTS):
        parser.error(f"parts are {', '.join(PARTS)}; got {', '.join(sorted(unknown))}")
    if given.fresh:
        forget("judged-classes-")
    for table in tables(given.parts or PARTS, given.audits, given.people):
        print(table, flush=True)


if __name__ == "__main__":
    main()
