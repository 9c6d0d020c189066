"""Trains the learned noise matrix and its ranges, and measures them on data families left out."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits

from rankprune.core.classes._class_inputs import ClassInputs
from rankprune.core.classes._class_summaries import label_summaries_of, summaries_of
from rankprune.core.classes._matrix_model import N_RAW, MatrixModel, ShareNetwork, widths
from rankprune.core.classes._matrix_ranges import with_whole
from rankprune.core.classes._tally import Tally
from rankprune.core.estimators._learned_network import Layers, expit, standardized
from rankprune.experiments._cache import cached, write_arrays
from rankprune.experiments._class_problems import SIMULATED, TABLES, ClassProblem
from rankprune.experiments._network_training import Schedule, descended
from rankprune.experiments._training import weighted_quantile

Reals = NDArray[np.float64]
Bools = NDArray[np.bool_]

N_FOLDS = 5
TOTAL = Schedule(width=48, epochs=12, batch=128, rate=3e-3, decay=0.03, blur=0.3)
BY_LABEL = replace(TOTAL, epochs=2, batch=512)
N_MEMBERS = 2
# A model that is wrong about so few rows separates the classes. There counting does well, and the
# network learns to do as well: such problems count more.
_SEPARATES, _SEPARABLE_WEIGHT = 0.06, 8.0
# Simulated problems count as much as so many families.
_SIMULATED_WEIGHT = 3.0
# The point is above the truth in so many problems: too few wrong labels are worse than too many.
_ABOVE = 0.7
# Errors below this count by their square.
_SMOOTH = 0.01
_ROOT_WEIGHT = 0.25
_BEYOND = 0.025
# How far each side of ranges goes from what holds the mean kind of noise to what holds all.
_CAUTION = (0.2, 0.9)


@dataclass(frozen=True)
class Shares:
    """Shares of wrong labels, of problems or of their labels: what is known of each.

    Attributes
    ----------
    summaries : ndarray of shape (n, n_summaries)
    truth, weight, range_weight : ndarray of shape (n,)
        The true share, and how much it counts for points and for ranges.
    kind, family : ndarray of shape (n,)
    """

    summaries: Reals
    truth: Reals
    weight: Reals
    range_weight: Reals
    kind: NDArray[Any]
    family: NDArray[Any]

    def select(self, rows: Bools | slice) -> Shares:
        """Return some of the shares."""
        return Shares(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))

    def scaling(self) -> tuple[Reals, Reals]:
        """Return the center and the scale of each summary."""
        low, center, high = np.quantile(self.summaries, [0.1, 0.5, 0.9], axis=0)
        return center, (high - low) / 2.5 + 1e-2


def shares_of(problems: Iterable[ClassProblem]) -> tuple[Shares, Shares]:
    """Return the total of each problem, and the shares of its labels."""
    wholes, totals, labels, truths, sizes, names = [], [], [], [], [], []
    errors: list[float] = []
    for problem in problems:
        inputs = ClassInputs(problem.labels, np.arange(problem.n_classes), problem.probabilities)
        tally = Tally.of(inputs)
        whole, rows = summaries_of(tally), label_summaries_of(tally)
        shares = tally.label_shares
        wrong = problem.joint.sum(axis=1) - np.diag(problem.joint)
        wholes.append(whole)
        totals.append(float(problem.wrong.mean()))
        labels.append(with_whole(rows, whole[None]).astype(np.float32))
        truths.append((wrong / np.maximum(shares, 1e-12)).clip(0, 1))
        sizes.append(shares)
        names.append((problem.kind, problem.family, f"{problem.name}, {problem.model}"))
        errors.append(float((problem.probabilities.argmax(axis=1) != problem.truth).mean()))
    kind, family, name = (np.array(one) for one in zip(*names, strict=True))
    range_weight = _weights(kind, family)
    separable = _least(name, np.array(errors)) <= _SEPARATES
    weight = range_weight * np.where(separable, _SEPARABLE_WEIGHT, 1.0)
    total = Shares(np.array(wholes), np.array(totals), weight, range_weight, kind, family)
    counts, of_rows = np.concatenate(sizes), [len(one) for one in sizes]
    of_label = (np.repeat(one, of_rows) for one in (weight, range_weight, kind, family))
    weight, range_weight, kind, family = of_label
    return total, Shares(
        np.concatenate(labels),
        np.concatenate(truths),
        weight * counts,
        range_weight * counts,
        kind,
        family,
    )


def folds(family: NDArray[Any]) -> NDArray[np.intp]:
    """Return the fold of each problem, so that families stay together.

    Simulated problems are the last fold; families that are never reported have none, -1.
    """
    names = sorted({table.family for table in TABLES} & set(family.tolist()))
    order = np.random.default_rng(3).permutation(len(names)).tolist()
    fold_of = {names[place]: number % N_FOLDS for number, place in enumerate(order)}
    fold_of[SIMULATED] = N_FOLDS
    return np.array([fold_of.get(name, -1) for name in family.tolist()])


@dataclass(frozen=True)
class Answers:
    """What networks that never saw the family of a problem say of its share; else NaN."""

    points: Reals
    low: Reals
    high: Reals


def learned_from(shares: Shares, schedule: Schedule, n_jobs: int) -> tuple[ShareNetwork, Answers]:
    """Return the network of all problems, and what others say of families left out.

    The range of a problem is stretched by what networks say that saw neither its family nor that
    of the problems it is stretched for.
    """
    found = LeftOut.of(shares, schedule, n_jobs)
    points, low, high = np.full((3, len(found.fold)), np.nan)
    for number in found.numbers:
        rows, network = found.fold == number, found.without(number)
        points[rows] = network.shares(shares.summaries[rows])
        low[rows], high[rows] = network.ends(shares.summaries[rows])
    return found.without(None), Answers(points, low, high)


@dataclass(frozen=True)
class LeftOut:
    """Networks of all problems, and of those without one or two folds.

    Attributes
    ----------
    shares : Shares
    fold : ndarray of shape (n,)
        The fold of each problem.
    networks : dict of tuple to ShareNetwork
        By the folds that were left out.
    """

    shares: Shares
    fold: NDArray[np.intp]
    networks: dict[tuple[int, ...], ShareNetwork]

    @classmethod
    def of(cls, shares: Shares, schedule: Schedule, n_jobs: int) -> LeftOut:
        """Return the networks, from the cache if possible."""
        fold = folds(shares.family)
        numbers = [number for number in np.unique(fold).tolist() if number >= 0]
        left_out = [(), *((one,) for one in numbers), *combinations(numbers, 2)]
        networks = Parallel(n_jobs=n_jobs)(
            delayed(trained)(shares.select(~np.isin(fold, one)), schedule) for one in left_out
        )
        return cls(shares, fold, dict(zip(left_out, networks, strict=True)))

    @property
    def numbers(self) -> list[int]:
        """Return the numbers of the folds."""
        return [number for number in np.unique(self.fold).tolist() if number >= 0]

    def without(self, number: int | None) -> ShareNetwork:
        """Return the network of all folds but one, stretched by problems of all others."""
        one = () if number is None else (number,)
        others = np.isin(self.fold, [other for other in self.numbers if other != number])
        raw = np.zeros((len(self.fold), N_RAW))
        for other in np.unique(self.fold[others]).tolist():
            rows = self.fold == other
            network = self.networks[tuple(sorted((*one, other)))]
            raw[rows] = network.raw(self.shares.summaries[rows])
        return stretched(self.networks[one], self.shares.select(others), raw[others])

    def without_family(self, family: str) -> ShareNetwork:
        """Return the network that never saw a family."""
        return self.without(int(self.fold[self.shares.family == family][0]))


def trained(shares: Shares, schedule: Schedule) -> ShareNetwork:
    """Return networks with different starts as one, from the cache if possible."""
    center, scale = shares.scaling()
    settings = (schedule, _SEPARABLE_WEIGHT, _SIMULATED_WEIGHT, _ABOVE, _ROOT_WEIGHT)
    check = zlib.crc32(np.ascontiguousarray(shares.summaries).tobytes())
    check = zlib.crc32(f"{settings}{shares.weight.sum()!r}{shares.truth.sum()!r}".encode(), check)
    members = []
    for seed in range(N_MEMBERS):

        def compute(seed: int = seed) -> dict[str, NDArray[Any]]:
            # One thread, so that sums are made in the same order every time.
            with threadpool_limits(1):
                return _train(shares, schedule, seed).__dict__

        members.append(Layers(**cached(f"classes-network-{check:08x}-{seed}", compute)))
    return ShareNetwork(center, scale, tuple(members), np.ones(2))


def stretched(network: ShareNetwork, shares: Shares, raw: Reals) -> ShareNetwork:
    """Return the network with ranges that hold what they promise, in most kinds of noise.

    The raw numbers are those of networks that never saw the family of the problem.
    """
    beyond = np.sqrt(shares.truth) - np.sqrt(expit(raw[:, 0]))
    reach = np.stack([-beyond, beyond], axis=1) / widths(raw)
    by_kind = np.array(
        [
            [
                weighted_quantile(reach[rows, side], shares.range_weight[rows], 1 - _BEYOND)
                for side in range(2)
            ]
            for rows in (shares.kind == one for one in np.unique(shares.kind))
        ]
    )
    mean, most = by_kind.mean(axis=0), by_kind.max(axis=0)
    return replace(network, stretch=mean + np.array(_CAUTION) * (most - mean))


def write_model(model: MatrixModel, path: Path) -> None:
    """Write the model as the package reads it."""
    write_arrays(path, model.to_arrays())


def _train(shares: Shares, schedule: Schedule, seed: int) -> Layers:
    random = np.random.default_rng(seed)
    inputs = standardized(shares.summaries, *shares.scaling()).astype(np.float32)
    truth, roots = shares.truth, np.sqrt(shares.truth)
    weight, range_weight = (one / one.mean() for one in (shares.weight, shares.range_weight))

    def slope_of(raw: Reals, rows: NDArray[np.intp]) -> Reals:
        raw = raw.astype(np.float64)
        found = expit(raw[:, 0])
        found_roots = np.sqrt(np.maximum(found, 1e-6))
        off = found_roots - roots[rows]
        along = np.clip((found - truth[rows]) / _SMOOTH, -1, 1) - (2 * _ABOVE - 1)
        along += _ROOT_WEIGHT * np.clip(off / (2 * _SMOOTH), -1, 1) / (2 * found_roots)
        slopes = np.zeros_like(raw)
        slopes[:, 0] = weight[rows] * along * found * (1 - found)
        reach = np.stack([off, -off], axis=1) - widths(raw)
        outside = np.clip(reach / (2 * _SMOOTH), -1, 1) / 2 + 0.5
        wider = (_BEYOND - outside) * expit(raw[:, 1:])
        # A range that reaches zero holds a truth of zero, and need not be narrower than that.
        wider[(reach[:, 0] < 0) & (truth[rows] <= 0), 0] = 0.0
        slopes[:, 1:] = range_weight[rows, None] * wider
        return slopes / len(rows)

    return descended(inputs, np.array([-2.0, -1.0, -1.0]), slope_of, schedule, random)


def _least(names: NDArray[Any], values: Reals) -> Reals:
    """Return the smallest value of each name."""
    _, index = np.unique(names, return_inverse=True)
    least = np.full(index.max() + 1, np.inf)
    np.minimum.at(least, index, values)
    return np.asarray(least[index])


def _weights(kind: NDArray[Any], family: NDArray[Any]) -> Reals:
    """Return weights that make kinds and families count alike, simulated ones a bit more."""
    weight = np.zeros(len(kind))
    for name in np.unique(family):
        for one in np.unique(kind):
            rows = (family == name) & (kind == one)
            share = _SIMULATED_WEIGHT if name == SIMULATED else 1.0
            weight[rows] = share / max(int(rows.sum()), 1)
    return weight
