"""From problems to the network that is shipped: collect, leave families out, calibrate, train."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits

from rankprune.core.estimators._learned import handed_over
from rankprune.core.estimators._learned_network import (
    LEVELS,
    N_QUANTITIES,
    SWAPPED,
    Layers,
    Network,
    clumps,
    gate_inputs,
    label_error_rates,
    quantities,
    range_widths,
    sparseness_of,
)
from rankprune.core.estimators._summaries import Summaries, both_summaries, curve_rates
from rankprune.experiments._bank import Problem
from rankprune.experiments._cache import cached, file_name, write_arrays
from rankprune.experiments._flip_chances import CLASS_CONDITIONAL, CLEAN, FEW
from rankprune.experiments._flipped_problems import (
    BANK_FAMILIES,
    TRAINING_PROBLEMS,
    flipped_problems,
)
from rankprune.experiments._network_training import Examples, Schedule, train
from rankprune.experiments._simulated_problems import FAMILY as SIMULATED
from rankprune.experiments._simulated_problems import simulated_problems
from rankprune.experiments._sketched_problems import SketchedProblem

Reals = NDArray[np.float64]
Bools = NDArray[np.bool_]

N_CHUNKS, N_ROUNDS = 70, 5
N_FOLDS, N_MEMBERS = 6, 3
SCHEDULE = Schedule()
# Real problems count as much as this many times the simulated ones.
_REAL_WEIGHT = 1.5
# Up to this share of wrong labels all shares count the same; beyond it, less.
_COMMON_WRONG = 0.1
# How far each side of the ranges of each quantity goes from what holds the mean kind of noise to
# what holds all: as little as holds the truth in 93 % of the problems of every kind.
_CAUTION = ((0.0, 0.6), (0.0, 0.6), (0.0, 0.6), (0.0, 0.6), (-0.15, 0.33))
# How strongly the gate may follow its inputs: the smaller, the less.
_GATE_STRENGTH = 0.02
# Above this AUC against the true labels scores may well separate the classes.
_MAYBE_SEPARABLE = 0.98
# Mean error of the four rates up to which counting may be right.
_COUNTED_WELL = 0.03
_NAMES = ("kind", "family", "model")


@dataclass(frozen=True)
class Collection:
    """Problems as arrays of one row each.

    Attributes
    ----------
    summaries : ndarray of shape (n, 2, n_summaries)
    label_error_rates, counted : ndarray of shape (n, 2)
        The true pi1 and pi0, and those of the paper's estimator.
    rows : ndarray of shape (n, 2)
        Number of rows with each label.
    separable, true_auc, kind, family, model : ndarray of shape (n,)
        As in `SketchedProblem`.
    """

    summaries: Reals
    label_error_rates: Reals
    counted: Reals
    rows: Reals
    separable: Bools
    true_auc: Reals
    kind: NDArray[np.str_]
    family: NDArray[np.str_]
    model: NDArray[np.str_]

    @property
    def prevalence(self) -> Reals:
        """Return the share of positive labels."""
        return np.asarray(self.rows[:, 1] / self.rows.sum(axis=1))

    @property
    def is_real(self) -> Bools:
        """Return which problems are not simulated."""
        return np.asarray(self.family != SIMULATED)

    @property
    def truth(self) -> Reals:
        """Return the five true quantities."""
        return quantities(self.label_error_rates, self.prevalence)

    def select(self, rows: Bools) -> Collection:
        """Return some of the problems."""
        return Collection(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))

    def examples(self) -> Examples:
        """Return what a network learns from, real problems with more weight."""
        real = self.is_real
        families, index, sizes = np.unique(self.family, return_inverse=True, return_counts=True)
        # A family with many problems counts more than one with few, but not as much more.
        weight = np.where(families == SIMULATED, 1.0, 1 / np.sqrt(sizes))[index]
        # Few wrong labels are more common than many, unless they are flipped on purpose.
        rare = np.minimum(1.0, _COMMON_WRONG / np.maximum(self.truth[:, 4], 1e-9))
        weight *= np.where(self.kind == CLASS_CONDITIONAL, 1.0, rare)
        for part, total in ((real, _REAL_WEIGHT), (~real, 1.0)):
            if part.any():
                # All kinds of noise count the same.
                weight[part] *= _group_weights(self.kind[part])
                weight[part] *= total * len(weight) / weight[part].sum()
        flipped_by_class = np.isin(self.kind, (CLEAN, CLASS_CONDITIONAL, FEW))
        unclear = flipped_by_class & (self.true_auc > _MAYBE_SEPARABLE) & ~self.separable
        # If counting goes wrong there, the scores do not separate the classes.
        found = quantities(self.counted, self.prevalence)
        unclear &= np.abs(found - self.truth)[:, :4].mean(axis=1) < _COUNTED_WELL
        return Examples(
            self.summaries,
            self.label_error_rates,
            self.prevalence,
            sparseness_of(self.rows),
            weight,
            self.separable.astype(np.float64),
            np.where(unclear, 0.0, 1.0),
        )


def collect(n_jobs: int) -> Collection:
    """Return all problems, made and summarized from the cache if possible."""
    tasks: list[tuple[Problem | None, int]] = [(None, chunk) for chunk in range(N_CHUNKS)]
    tasks += [(problem, number) for number in range(N_ROUNDS) for problem in TRAINING_PROBLEMS]
    parts = Parallel(n_jobs=n_jobs)(delayed(_summarized)(*task) for task in tasks)
    return joined([part for part in parts if len(part.kind)])


def joined(parts: Sequence[Collection]) -> Collection:
    """Return the problems of all parts."""
    names = Collection.__dataclass_fields__
    return Collection(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def problems_of(problem: Problem | None, number: int) -> list[SketchedProblem]:
    """Return one round of problems made of a real one, or one chunk of simulated ones."""
    return simulated_problems(number) if problem is None else flipped_problems(problem, number)


def _summarized(problem: Problem | None, number: int) -> Collection:
    slug = SIMULATED if problem is None else file_name(problem.name)

    def compute() -> dict[str, NDArray[Any]]:
        return summarized(problems_of(problem, number)).__dict__

    return Collection(**cached(f"summaries-{slug}-{number}", compute))


def summarized(problems: Sequence[SketchedProblem]) -> Collection:
    """Return problems as a collection."""
    sides = [(Summaries(p.sketch), Summaries(p.sketch.swap())) for p in problems]
    return Collection(
        np.array([both_summaries(*both) for both in sides]),
        np.array([problem.label_error_rates for problem in problems]),
        np.array([given.paper_label_error_rates() for given, _ in sides]),
        np.array([problem.sketch.effective_rows for problem in problems]),
        np.array([problem.separable for problem in problems], dtype=bool),
        np.array([problem.true_auc for problem in problems]),
        *(np.array([getattr(p, name) for p in problems], dtype=str) for name in _NAMES),
    )


def folds() -> dict[str, int]:
    """Return the fold of each family of the bank."""
    order = np.random.default_rng(3).permutation(len(BANK_FAMILIES))
    return {BANK_FAMILIES[family]: int(place) % N_FOLDS for place, family in enumerate(order)}


def left_out_networks(problems: Collection, n_jobs: int) -> list[Network]:
    """Return one network for each fold, trained without the families of that fold."""
    fold_of = folds()
    fold = np.array([fold_of.get(family, -1) for family in problems.family.tolist()])
    kept = [problems.select(fold != number) for number in range(N_FOLDS)]
    return list(Parallel(n_jobs=n_jobs)(delayed(trained)(part) for part in kept))


@dataclass(frozen=True)
class Answers:
    """What networks say about problems.

    Attributes
    ----------
    problems : Collection
    raw : ndarray of shape (n, N_RAW)
    label_error_rates : ndarray of shape (n, 2)
        With the gate, before the answer is handed over to the counts.
    inputs : ndarray of shape (n, 2, n_gate_inputs)
        What the gate sees.
    """

    problems: Collection
    raw: Reals
    label_error_rates: Reals
    inputs: Reals

    def select(self, rows: Bools) -> Answers:
        """Return what they say about some of the problems."""
        parts = (self.raw[rows], self.label_error_rates[rows], self.inputs[rows])
        return Answers(self.problems.select(rows), *parts)

    def point(self) -> Reals:
        """Return the five quantities that the estimator would give."""
        found = handed_over(self.label_error_rates, self.problems.counted, clumps(self.raw))
        return quantities(found, self.problems.prevalence)


def answers_of(network: Network, problems: Collection) -> Answers:
    """Return what a network says about problems."""
    raw, prevalence = network.raw(problems.summaries), problems.prevalence
    alone = quantities(label_error_rates(raw), prevalence)
    return Answers(
        problems,
        raw,
        network.label_error_rates(problems.summaries, raw, prevalence),
        gate_inputs(problems.summaries, alone, network.center, network.scale),
    )


def left_out_answers(problems: Collection, networks: Sequence[Network]) -> Answers:
    """Return what networks say about the bank's problems that never saw their family.

    The gate of each was fitted to other families too.
    """
    fold_of = folds()
    parts = []
    for number, network in enumerate(networks):
        names = [family for family, fold in fold_of.items() if fold == number]
        part = problems.select(np.isin(problems.family, names))
        parts.append(answers_of(network, part))
    gated = []
    for number, network in enumerate(networks):
        others = _joined_answers([part for other, part in enumerate(parts) if other != number])
        with_gate = replace(network, gate=fitted_gate(others))
        gated.append(answers_of(with_gate, parts[number].problems))
    return _joined_answers(gated)


def _joined_answers(parts: Sequence[Answers]) -> Answers:
    return Answers(
        joined([part.problems for part in parts]),
        np.concatenate([part.raw for part in parts]),
        np.concatenate([part.label_error_rates for part in parts]),
        np.concatenate([part.inputs for part in parts]),
    )


def fitted_gate(answers: Answers) -> Reals:
    """Return a gate that knows where the curve is closer than the network alone.

    A problem counts by how much is at stake, and all kinds of noise count the same.
    """
    problems = answers.problems
    curve = quantities(curve_rates(problems.summaries)[:, 0, 2:4], problems.prevalence)
    alone = quantities(label_error_rates(answers.raw), problems.prevalence)
    errors = [np.abs(found - problems.truth).mean(axis=1) for found in (alone, curve)]
    weight = np.abs(errors[0] - errors[1]) * _group_weights(problems.kind)
    is_curve = errors[1] < errors[0]
    if is_curve.all() or not is_curve.any():
        return np.zeros(answers.inputs.shape[-1] + 1)
    both = answers.inputs.reshape(-1, answers.inputs.shape[-1])
    model = LogisticRegression(C=_GATE_STRENGTH, max_iter=300)
    model.fit(both, np.repeat(is_curve, 2), sample_weight=np.repeat(weight / weight.mean(), 2))
    return np.append(model.coef_[0], model.intercept_)


def trained(problems: Collection) -> Network:
    """Return networks with different starts as one, from the cache if possible."""
    examples = problems.examples()
    center, scale = examples.scaling()
    # Another set of problems or another schedule has another name.
    check = zlib.crc32(np.ascontiguousarray(examples.summaries).tobytes())
    check = zlib.crc32(
        f"{SCHEDULE}{problems.label_error_rates.sum()!r}{examples.separable_weight.sum()!r}".encode(),
        check,
    )
    members = []
    for seed in range(N_MEMBERS):

        def compute(seed: int = seed) -> dict[str, NDArray[Any]]:
            # One thread, so that sums are made in the same order every time.
            with threadpool_limits(1):
                return train(examples, SCHEDULE, seed).__dict__

        members.append(Layers(**cached(f"network-{check:08x}-{seed}", compute)))
    shape = (2, N_QUANTITIES, 2, len(LEVELS))
    knots = np.stack([np.zeros(shape[1:]), np.ones(shape[1:])])
    return Network(center, scale, tuple(members), knots, np.ones(shape), np.zeros(1))


def calibrated(network: Network, answers: Answers) -> Network:
    """Return the network with a gate, and with ranges that hold what they promise.

    Both are learned from answers about problems of families left out.
    """
    problems = answers.problems
    center = np.sqrt(quantities(answers.label_error_rates, problems.prevalence))
    widths = range_widths(answers.raw, sparseness_of(problems.rows))
    beyond = np.sqrt(problems.truth) - center
    ratios = np.stack([-beyond, beyond], axis=2)[..., None] / np.maximum(widths, 1e-6)
    # Both classes are treated alike, so every problem counts a second time with them swapped.
    widths, ratios = (np.concatenate([part, part[:, list(SWAPPED)]]) for part in (widths, ratios))
    kinds, families = np.tile(problems.kind, 2), np.tile(problems.family, 2)
    knots = np.quantile(widths, [0.25, 0.75], axis=0)
    is_wide = widths > np.median(widths, axis=0)
    stretch = np.ones(knots.shape)
    for cell in np.ndindex(stretch.shape):
        quantity, side, level = cell[1:]
        chosen = is_wide[:, quantity, side, level] == bool(cell[0])
        held = ratios[chosen, quantity, side, level]
        share = (1 + LEVELS[level]) / 2
        by_kind = _held_by_kind(held, kinds[chosen], families[chosen], share)
        mean, most = by_kind.mean(), by_kind.max()
        stretch[cell] = np.clip(mean + _CAUTION[quantity][side] * (most - mean), 0.4, 3.0)
    stretch = np.maximum.accumulate(stretch, axis=0)
    return replace(network, knots=knots, stretch=stretch, gate=fitted_gate(answers))


def _held_by_kind(
    ratios: Reals, kinds: NDArray[np.str_], families: NDArray[np.str_], share: float
) -> Reals:
    """Return the factor that holds a share of the problems of each kind of noise."""
    found = []
    for kind in np.unique(kinds):
        chosen = kinds == kind
        weight = _group_weights(families[chosen])
        found.append(weighted_quantile(ratios[chosen], weight, share))
    return np.array(found)


def _group_weights(names: NDArray[np.str_]) -> Reals:
    """Return weights with which all groups count the same."""
    _, index, sizes = np.unique(names, return_inverse=True, return_counts=True)
    return np.asarray(1 / sizes[index])


def weighted_quantile(values: Reals, weight: Reals, level: float) -> float:
    """Return the value that a share of the weight does not exceed."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weight[order])
    first = int(np.searchsorted(reached, level * reached[-1]))
    return float(values[order[min(first, len(values) - 1)]])


def write_network(network: Network, path: Path) -> None:
    """Write the artefact; the same network gives the same bytes."""
    write_arrays(path, network.to_arrays())
