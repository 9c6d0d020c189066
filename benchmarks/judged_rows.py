"""What judged rows add to the model: audits simulated on real tables whose wrong labels are known.

Every audit judges 200 rows in batches of 25, each chosen after the answers to the ones before it.
After every batch, the range is that of `LabelCheck.settle`, and it is compared with the truth. The
estimator saw nothing of the data family, or of the kind of noise. Audits are cached in the folder
of experiments, so that a run that was interrupted goes on where it ended. Parts can be printed
alone, such as `python benchmarks/judged_rows.py bank people --people DIR`.
"""

from __future__ import annotations

import argparse
import math
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import beta, hypergeom

from rankprune import NoiseRates, check_labels
from rankprune.audit._beliefs import Posterior, update
from rankprune.audit._estimate import estimate_shares
from rankprune.audit._next_rows import BATCH, next_counts
from rankprune.audit._sample import kinds_of
from rankprune.core._inputs import Inputs
from rankprune.core._interval_records import LEVEL
from rankprune.core.counting._sketch import sketch_of
from rankprune.core.estimators._learned import QUANTITIES, learned_answer
from rankprune.core.estimators._learned_network import Network
from rankprune.core.estimators._truth_intervals import truth_intervals
from rankprune.experiments import _training
from rankprune.experiments._bank import PROBLEMS, Problem
from rankprune.experiments._cache import cached, file_name, forget
from rankprune.experiments._flip_chances import (
    CLASS_CONDITIONAL,
    CLEAN,
    DIFFICULTY,
    FEW,
    FEW_WRONG,
    KINDS,
    SUB_CLASSES,
)
from rankprune.experiments._left_out_ranges import blind_networks, network_without_kind
from rankprune.experiments._people import people_rows
from rankprune.experiments._table import Table
from rankprune.experiments.candidates import _scored_rows
from rankprune.run._audited_check import contradicts
from rankprune.run._audited_rates import design_rates, with_model
from rankprune.run._judged_rows import OpenRows

Reals = np.ndarray[Any, np.dtype[np.float64]]
Bools = np.ndarray[Any, np.dtype[np.bool_]]
Counts = np.ndarray[Any, np.dtype[np.int64]]

N_BATCHES, N_AUDITS = 8, 4000
SIZES = (25, 50, 100, 200)
# Audits of one table that are cached together.
CHUNK = 35
# As many times the rows of a table, where few are wrong, as make this many.
MANY_ROWS = 20_000
BETWEEN = (0.01, 0.04)
ASKED = (0.10, 0.06)
BADLY_HELD = 0.85
TOTAL = QUANTITIES.index("wrong_share")
# Limits and truth are sums of the same shares in another order.
TINY = 1e-9


@dataclass(frozen=True)
class Population:
    """A table in which every wrong label is known, and what the model says about it.

    Attributes
    ----------
    name, kind : str
        The kind of noise, or the source of labels by people.
    truth, labels : ndarray of bool
    scores : ndarray
    rates : NoiseRates
        With ranges.
    """

    name: str
    kind: str
    truth: Bools
    labels: Bools
    scores: Reals
    rates: NoiseRates

    @property
    def wrong(self) -> Bools:
        return np.asarray(self.labels != self.truth)

    def shares(self) -> Reals:
        """Return the true values of `QUANTITIES`."""
        wrong, labels, truth = self.wrong, self.labels, self.truth
        groups = (truth, ~truth, labels, ~labels, np.ones(len(wrong), dtype=bool))
        return np.array([wrong[group].mean() if group.any() else 0.0 for group in groups])

    def repeated(self, n_rows: int) -> Population:
        """Return the table with every row repeated, and the same rates and ranges."""
        times = math.ceil(n_rows / len(self.labels))
        rows = (np.tile(part, times) for part in (self.truth, self.labels, self.scores))
        return Population(f"{self.name}, {times} times", self.kind, *rows, self.rates)


@dataclass(frozen=True)
class Audits:
    """Audits of one table, after each batch.

    Attributes
    ----------
    population : Population
    ranges : ndarray of shape (n_audits, N_BATCHES, 5, 2)
        Lower and upper ends for `QUANTITIES`.
    point : ndarray of shape (n_audits, N_BATCHES)
        The share of wrong labels.
    contradicts : ndarray of bool of shape (n_audits, N_BATCHES)
        Whether the answers contradict the model.
    """

    population: Population
    ranges: Reals
    point: Reals
    contradicts: Bools

    def held(self) -> Reals:
        """Return 1 where a range holds the truth, of shape (n_audits, N_BATCHES, 5)."""
        truth = self.population.shares()
        low, high = self.ranges[..., 0], self.ranges[..., 1]
        return ((low <= truth + TINY) & (truth <= high + TINY)).astype(np.float64)

    def widths(self) -> Reals:
        return np.asarray(self.ranges[..., 1] - self.ranges[..., 0])

    def first(self) -> tuple[float, float]:
        """Return whether the range without judged rows holds the total, and its width."""
        assert self.population.rates.intervals is not None
        range_, truth = self.population.rates.intervals.wrong_share, self.population.wrong.mean()
        return float(range_.low <= truth <= range_.high), range_.high - range_.low


class Auditor:
    """Simulates audits of one table; the same answers always have the same result."""

    def __init__(self, population: Population) -> None:
        self._found = open_rows(population)
        self._beliefs = self._found.beliefs()
        stratum = self._found.strata.of_row
        self._wrong = np.bincount(
            stratum, population.wrong, minlength=len(self._found.strata.sizes)
        ).astype(np.int64)
        self._known: dict[bytes, tuple[Reals, Counts]] = {}

    def audit(self, generator: np.random.Generator) -> Reals:
        """Return the five ranges, the point and whether there is a contradiction, by batch."""
        sizes = self._beliefs.sizes
        judged = wrong = np.zeros(len(sizes), dtype=np.int64)
        results = []
        for _ in range(N_BATCHES):
            more = self._state(judged, wrong)[1]
            wrong_left = self._wrong - wrong
            wrong = wrong + generator.hypergeometric(wrong_left, sizes - judged - wrong_left, more)
            judged = judged + more
            results.append(self.result_of(judged, wrong))
        return np.array(results)

    def result_of(self, judged: Counts, wrong: Counts) -> Reals:
        """Return the result of numbers of judged rows and wrong labels in each stratum."""
        return self._state(judged, wrong)[0]

    def _state(self, judged: Counts, wrong: Counts) -> tuple[Reals, Counts]:
        key = np.concatenate([judged, wrong]).tobytes()
        if key not in self._known:
            # As in `posterior_of`, the same answers have the same result.
            posterior = update(self._beliefs, judged, wrong, np.random.default_rng(1))
            more = next_counts(posterior, BATCH, self._beliefs.parts)
            self._known[key] = self._result(posterior), more
        return self._known[key]

    def _result(self, posterior: Posterior) -> Reals:
        """Return what `settle` would answer."""
        found = self._found
        rates = with_model(found, posterior, None)
        assert found.rates.intervals is not None
        against = contradicts(rates, found.rates.intervals.wrong_share)
        if against:
            judged, wrong = posterior.judged, posterior.wrong
            stratum = np.repeat(np.arange(len(judged)), judged)
            before = np.repeat(np.cumsum(judged) - judged, judged)
            is_wrong = np.arange(len(stratum)) - before < wrong[stratum]
            by_answers = estimate_shares(
                found.strata.sizes,
                kinds_of(found.strata),
                stratum,
                is_wrong,
                np.ones(len(stratum), dtype=bool),
                LEVEL,
            )
            rates = design_rates(found.rates, by_answers)
        assert rates.intervals is not None
        ends = [
            end
            for name in QUANTITIES
            for end in (getattr(rates.intervals, name).low, getattr(rates.intervals, name).high)
        ]
        return np.array([*ends, rates.wrong_share, float(against)])


def open_rows(population: Population) -> OpenRows:
    """Return the rows of a table that can be judged, with the ranges of the left-out estimator."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # weak scores are intended here
        check = check_labels(None, population.labels, probabilities=population.scores)
    return OpenRows(replace(check, estimated_rates=population.rates))


def audits_of(population: Population, n_chunks: int) -> Audits:
    """Return audits of one table, from the cache if possible."""
    parts: dict[str, list[Reals]] = {}
    name = f"judged-{file_name(population.name)}-{_key(population):08x}"
    auditor = cache(lambda: Auditor(population))
    for number in range(n_chunks):

        def compute(number: int = number) -> dict[str, Reals]:
            generator = np.random.default_rng([23, number, zlib.crc32(population.name.encode())])
            found = np.array([auditor().audit(generator) for _ in range(CHUNK)])
            return {
                "ranges": found[..., :-2].reshape(CHUNK, N_BATCHES, len(QUANTITIES), 2),
                "point": found[..., -2],
                "contradicts": found[..., -1] > 0,
            }

        for field, values in cached(f"{name}-{number}", compute).items():
            parts.setdefault(field, []).append(values)
    return Audits(population, **{field: np.concatenate(all_) for field, all_ in parts.items()})


def audits_of_all(populations: Sequence[Population], n_audits: int) -> list[Audits]:
    """Return as many audits as asked for, equally many of each table."""
    n_chunks = math.ceil(n_audits / (len(populations) * CHUNK))
    return [audits_of(one, n_chunks) for one in populations]


def audits_of_cells(populations: Sequence[Population], n_audits: int) -> list[Audits]:
    """Return as many audits of each kind as asked for, equally many of each table."""
    kinds = [population.kind for population in populations]
    return [
        audits_of(one, math.ceil(n_audits / (kinds.count(one.kind) * CHUNK))) for one in populations
    ]


def _key(population: Population) -> int:
    """Return a number that changes with the table, the ranges of the model, and the method."""
    check = method_key()
    for rows in (population.truth, population.labels, population.scores):
        check = zlib.crc32(np.ascontiguousarray(rows).tobytes(), check)
    return zlib.crc32(repr(_numbers(population.rates)).encode(), check)


@lru_cache(maxsize=1)
def method_key() -> int:
    """Return a number that changes with the results of audits of small tables.

    The last of them contradicts the model.
    """
    random = np.random.default_rng(0)
    truth = np.arange(600) % 3 == 0
    scores = np.clip(np.where(truth, 0.7, 0.2) + 0.2 * random.standard_normal(600), 0, 1)
    found = []
    for share, is_reversed in ((0.1, False), (0.005, False), (0.1, True)):
        labels = truth ^ (random.random(600) < share)
        rates = rates_of(labels, scores)
        known = ~labels if is_reversed else truth
        auditor = Auditor(Population("key", "key", known, labels, scores, rates))
        found += [auditor.audit(random) for _ in range(3)]
    return zlib.crc32(np.array(found).round(9).tobytes())


def _numbers(rates: NoiseRates) -> list[float]:
    assert rates.intervals is not None
    points = [float(getattr(rates, name)) for name in QUANTITIES]
    return points + [end for _, one in rates.intervals.items() for end in (one.low, one.high)]


def rates_of(labels: Bools, scores: Reals, network: Network | None = None) -> NoiseRates:
    """Return the rates of a network, by default the one of the package, with its ranges."""
    answer = learned_answer(sketch_of(Inputs(labels, scores, None)), network)
    return replace(answer.rates, intervals=truth_intervals(answer.rates, answer))


class Networks:
    """The networks that did not see a family, or a kind of noise."""

    def __init__(self) -> None:
        self._problems = _training.collect(1)
        networks = _training.left_out_networks(self._problems, 1)
        self._answers = _training.left_out_answers(self._problems, networks)
        self._blind = blind_networks(networks, self._answers)
        self._fold_of = _training.folds()

    def without_family(self, family: str) -> Network:
        return self._blind[self._fold_of[family]]

    def without_kind(self, kind: str) -> Network:
        return network_without_kind(kind, self._problems, self._answers)


def bank(networks: Networks) -> list[Population]:
    """Return all tables of the bank, each with all kinds of noise."""
    return [
        _population(problem, rows, networks.without_family(problem.family), "")
        for problem in PROBLEMS
        for rows in _scored_rows(problem)
    ]


def kinds_left_out(networks: Networks) -> list[Population]:
    """Return the tables of the bank with kinds of noise that the network did not see."""
    found = []
    for kind in (CLASS_CONDITIONAL, DIFFICULTY, SUB_CLASSES):
        blind = networks.without_kind(kind)
        found += [
            _population(problem, rows, blind, "kind left out ")
            for problem in PROBLEMS
            for rows in _scored_rows(problem)
            if rows[0] == kind
        ]
    return [one for one in found if one.kind != FEW]


def _population(
    problem: Problem, rows: tuple[str, Bools, Bools, Reals], network: Network, prefix: str
) -> Population:
    kind, truth, labels, scores = rows
    is_few = kind != CLEAN and (labels != truth).mean() <= FEW_WRONG
    shown = kind if kind in KINDS and not is_few else FEW
    return Population(
        f"{prefix}{problem.name} {kind}",
        shown,
        truth,
        labels,
        scores,
        rates_of(labels, scores, network),
    )


def labeled_by_people(folder: Path) -> list[Population]:
    """Return the tables with labels by people and the ranges of the package."""
    return [
        Population(
            f"people {rows.family} {rows.model} {number}",
            rows.family,
            rows.truth,
            rows.labels,
            rows.scores,
            rates_of(rows.labels, rows.scores),
        )
        for number, rows in enumerate(people_rows(folder))
    ]


def bank_tables(audits: Sequence[Audits]) -> Iterator[Table]:
    """Yield coverage and width of the total by kind of noise, beside those of plain samples."""
    yield _total_table("The share of wrong labels, families left out", audits, KINDS)
    yield _plain_table(audits, KINDS)
    yield _others_table(audits)
    yield _stopping_table(audits)


def _total_table(title: str, audits: Sequence[Audits], kinds: Sequence[str]) -> Table:
    def cells(part: Sequence[Audits]) -> list[str]:
        first = np.array([one.first() for one in part])
        found = [_both(first[:, 0], first[:, 1])]
        for size in SIZES:
            batch = size // BATCH - 1
            held = [one.held()[:, batch, TOTAL] for one in part]
            wide = [one.widths()[:, batch, TOTAL] for one in part]
            found.append(_both(_of_tables(held), _of_tables(wide)))
        return found

    return Table(
        title,
        "Model and judged rows: how often the 95 % range holds the total / its mean width, each "
        "with two standard errors (tables as clusters), by number of judged rows.",
        ("", "tables", "audits", "0", *map(str, SIZES)),
        _by_kind(audits, kinds, cells),
    )


def _plain_table(audits: Sequence[Audits], kinds: Sequence[str]) -> Table:
    def cells(part: Sequence[Audits]) -> list[str]:
        found = []
        for size in SIZES:
            plain = np.array([plain_sample(one.population, size) for one in part])
            found.append(_both(plain[:, 0], plain[:, 1]))
        return found

    return Table(
        "The same with a simple random sample",
        "Exact limits (Clopper and Pearson); means over all possible samples of each table.",
        ("", "tables", "audits", *map(str, SIZES)),
        [[name, n, "all", *rest] for name, n, _, *rest in _by_kind(audits, kinds, cells)],
    )


def plain_sample(population: Population, size: int) -> tuple[float, float, float]:
    """Return coverage, mean width and mean error of a simple random sample with exact limits."""
    n_rows, n_wrong = len(population.labels), int(population.wrong.sum())
    size = min(size, n_rows)
    seen = np.arange(size + 1)
    chance = hypergeom.pmf(seen, n_rows, n_wrong, size)
    tail = (1 - LEVEL) / 2
    low = np.where(seen > 0, beta.ppf(tail, np.maximum(seen, 1), size - seen + 1), 0.0)
    high = np.where(seen < size, beta.ppf(1 - tail, seen + 1, np.maximum(size - seen, 1)), 1.0)
    truth = n_wrong / n_rows
    holds = (low <= truth) & (truth <= high)
    return (
        float(chance @ holds),
        float(chance @ (high - low)),
        float(chance @ np.abs(seen / size - truth)),
    )


def _others_table(audits: Sequence[Audits]) -> Table:
    """Return the four rates, the error of the point, and contradictions."""
    rows = []
    for size in SIZES:
        batch = size // BATCH - 1
        held = np.array([one.held()[:, batch].mean(axis=0) for one in audits])
        wide = np.array([one.widths()[:, batch].mean(axis=0) for one in audits])
        error = [np.abs(one.point[:, batch] - one.population.wrong.mean()).mean() for one in audits]
        plain = [plain_sample(one.population, size)[2] for one in audits]
        against = np.concatenate([one.contradicts[:, batch] for one in audits])
        held_then = np.concatenate([one.held()[:, batch, TOTAL] for one in audits])[against]
        rows.append(
            [
                str(size),
                *(
                    f"{held[:, number].mean():.3f}/{wide[:, number].mean():.3f}"
                    for number in range(TOTAL)
                ),
                _mean(error),
                _mean(plain),
                f"{against.mean():.1%}",
                f"{held_then.mean():.3f}" if against.any() else "-",
                f"{np.mean(held[:, TOTAL] < BADLY_HELD):.1%}",
            ]
        )
    return Table(
        "The four rates, the point, and answers that contradict the model",
        "Over all tables of the bank: coverage / mean width of the four rates, mean absolute error "
        "of the share of wrong labels beside that of a simple random sample, how often the answers "
        "contradict the model, how often the range, then from the answers alone, holds the total, "
        f"and the share of tables of which fewer than {BADLY_HELD:.0%} of the ranges hold it.",
        (
            "judged rows",
            "rho1",
            "rho0",
            "pi1",
            "pi0",
            "error",
            "plain sample",
            "contradict",
            "then hold",
            "held badly",
        ),
        rows,
    )


def _stopping_table(audits: Sequence[Audits]) -> Table:
    """Return coverage where people stop as soon as the range is narrow enough."""
    rows = []
    for asked in ASKED:
        stopped, fixed, judged, widths = [], [], [], []
        for one in audits:
            held, wide = one.held()[..., TOTAL], one.widths()[..., TOTAL]
            narrow = wide <= asked
            last = np.where(narrow.any(axis=1), narrow.argmax(axis=1), N_BATCHES - 1)
            each = np.arange(len(last))
            stopped.append(held[each, last].mean())
            widths.append(wide[each, last].mean())
            judged.append(BATCH * (last + 1).mean())
            # Each table as often with each number of rows, whatever the answers were.
            fixed.append((held.mean(axis=0)[last]).mean())
        difference = np.array(stopped) - np.array(fixed)
        rows.append(
            [
                f"{asked:.2f}",
                f"{np.mean(judged):.0f}",
                _mean(stopped),
                _mean(fixed),
                _mean(difference),
                _mean(widths),
            ]
        )
    return Table(
        "Stopping as soon as the range is narrow enough",
        "At most 200 rows. Fixed numbers: coverage on the same draws, where every table is judged "
        "with each number of rows as often, but whatever the answers were.",
        (
            "asked for width",
            "rows, mean",
            "hold the total",
            "fixed numbers",
            "difference",
            "width",
        ),
        rows,
    )


def few_table(tables: Sequence[tuple[str, Sequence[Audits]]]) -> Table:
    """Return half-widths at 200 rows where few labels are wrong."""
    rows = []
    for name, audits in tables:
        batch = SIZES[-1] // BATCH - 1
        plain = np.array([plain_sample(one.population, SIZES[-1]) for one in audits])
        rows.append(
            [
                name,
                str(len(audits)),
                f"{sum(len(one.point) for one in audits):,}",
                _mean([one.held()[:, batch, TOTAL].mean() for one in audits]),
                _mean([one.widths()[:, batch, TOTAL].mean() / 2 for one in audits], digits=4),
                _mean(plain[:, 0]),
                _mean(plain[:, 1] / 2, digits=4),
            ]
        )
    return Table(
        f"Few wrong labels ({BETWEEN[0]:.0%} to {BETWEEN[1]:.0%}), {SIZES[-1]} judged rows",
        "Repeated rows keep the ranges of the table as it is.",
        (
            "",
            "tables",
            "audits",
            "hold the total",
            "half-width",
            "plain sample holds",
            "half-width",
        ),
        rows,
    )


def _by_kind(
    audits: Sequence[Audits],
    kinds: Sequence[str],
    cells: Callable[[Sequence[Audits]], list[str]],
) -> list[list[str]]:
    groups = [(kind, [one for one in audits if one.population.kind == kind]) for kind in kinds]
    return [
        [name, str(len(part)), f"{sum(len(one.point) for one in part):,}", *cells(part)]
        for name, part in [*groups, ("all", list(audits))]
        if part
    ]


def _of_tables(values: Sequence[Reals]) -> Reals:
    """Return the mean of each table, or the values of the only one."""
    return values[0] if len(values) == 1 else np.array([one.mean() for one in values])


def _both(held: Any, widths: Any) -> str:
    return f"{_mean(held)} / {_mean(widths)}"


def _mean(values: Any, *, digits: int = 3) -> str:
    """Return the mean of one value for each table, with two standard errors."""
    values = np.asarray(values, dtype=np.float64)
    mean = f"{values.mean():.{digits}f}"
    if len(values) == 1:
        return mean
    return f"{mean}±{2 * values.std(ddof=1) / math.sqrt(len(values)):.{digits}f}"


PARTS = ("bank", "kinds", "few", "large", "people")


def tables(parts: Sequence[str], n_audits: int, people: Path | None) -> Iterator[Table]:
    """Yield the tables of some parts."""
    if "people" in parts and people is not None:
        found = labeled_by_people(people)
        families = list(dict.fromkeys(one.kind for one in found))
        audits = audits_of_cells(found, math.ceil(n_audits / len(families)))
        yield _total_table("Labels by people, with the estimator of the package", audits, families)
        yield _plain_table(audits, families)
    if not set(parts) - {"people"}:
        return
    networks = Networks()
    everything = bank(networks)
    if "bank" in parts:
        yield from bank_tables(audits_of_cells(everything, n_audits))
    if "kinds" in parts:
        audits = audits_of_cells(kinds_left_out(networks), n_audits)
        yield _total_table("A kind of noise left out", audits, KINDS)
    if "few" in parts:
        few = [one for one in everything if BETWEEN[0] <= one.wrong.mean() <= BETWEEN[1]]
        many = [one.repeated(MANY_ROWS) for one in few]
        yield few_table(
            [
                ("as they are", audits_of_all(few, n_audits)),
                (f"rows repeated to {MANY_ROWS:,}", audits_of_all(many, n_audits)),
            ]
        )
    if "large" in parts:
        audits = audits_of_all([one.repeated(MANY_ROWS) for one in everything], n_audits)
        yield _total_table(
            f"Rows repeated to {MANY_ROWS:,}, with the ranges of the tables as they are",
            audits,
            KINDS,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"some of {', '.join(PARTS)}; all by default")
    parser.add_argument("--audits", type=int, default=N_AUDITS, help="audits of each kind")
    parser.add_argument("--people", type=Path, help="folder with labels by people")
    parser.add_argument("--fresh", action="store_true", help="forget all cached audits first")
    given = parser.parse_args()
    if unknown := set(given.parts) - set(PARTS):
        parser.error(f"parts are {', '.join(PARTS)}; got {', '.join(sorted(unknown))}")
    if given.fresh:
        forget("judged-")
    for table in tables(given.parts or PARTS, given.audits, given.people):
        print(table, flush=True)


if __name__ == "__main__":
    main()
