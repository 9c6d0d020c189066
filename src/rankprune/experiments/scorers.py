"""Tables about scorers: how well they rank wrong labels, what follows from it, and their cost."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed

from rankprune.experiments._bank import PROBLEMS, Problem, load_split
from rankprune.experiments._cache import forget
from rankprune.experiments._estimates import VERDICTS
from rankprune.experiments._scorers import (
    FINAL_MODELS,
    N_REPEATS,
    NOISES,
    ORDERS,
    OWN,
    WAYS,
    Figures,
    figures,
    outcomes,
    scored,
)
from rankprune.experiments._table import Table

_log = logging.getLogger("rankprune")

_CLEAN, _BEFORE = "clean", "committee of 0.1"
_ERROR = 1


@dataclass(frozen=True)
class Record:
    """Everything measured on one problem with one kind of noise.

    Attributes
    ----------
    problem : Problem
    noise : str
    figures : dict of str to Figures
    outcomes : dict of str to ndarray of shape (final models, 3)
        "none" is the plain fit to all given labels.
    seconds : dict of str to float
        CPU time of each way to score.
    """

    problem: Problem
    noise: str
    figures: dict[str, Figures]
    outcomes: dict[str, NDArray[np.float64]]
    seconds: dict[str, float]


def scorer_tables(n_jobs: int) -> Iterator[Table]:
    """Yield the tables, each as soon as it is measured."""
    parts = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_measure_problem)(problem) for problem in PROBLEMS
    )
    records = []
    for problem, part in zip(PROBLEMS, parts, strict=True):
        _log.info("scorers: %s", problem.name)
        records += part
    yield _score_table(records)
    yield _clean_table(records)
    yield _outcome_table(records)
    yield _order_table(records)


def forget_measurements() -> None:
    """Remove all cached measurements that depend on the estimators; scores are kept."""
    forget("scorer-ranking-", "scorer-outcomes-")


def _measure_problem(problem: Problem) -> list[Record]:
    split = load_split(problem)
    records = []
    for noise in NOISES:
        found = scored(problem, split, noise)
        records.append(
            Record(
                problem,
                noise,
                {way: figures(problem, split, noise, way) for way in WAYS},
                {
                    "none": outcomes(problem, split, noise, None),
                    **{way: outcomes(problem, split, noise, way) for way in WAYS},
                },
                {way: sum(found.seconds[part] for part in WAYS[way].parts) for way in WAYS},
            )
        )
    return records


def _parts(records: Sequence[Record]) -> list[tuple[str, list[Record]]]:
    return [
        ("chosen on", [record for record in records if record.problem.tune]),
        ("reported", [record for record in records if not record.problem.tune]),
    ]


def _noisy(records: Sequence[Record]) -> list[Record]:
    return [record for record in records if record.noise != _CLEAN]


def _precision(records: Sequence[Record], way: str, order: int = 1) -> float:
    return float(np.mean([record.figures[way].all_rows[order] for record in records]))


def _score_table(records: Sequence[Record]) -> Table:
    rows = []
    for name, part in _parts(records):
        noisy = _noisy(part)
        problems = list(dict.fromkeys(record.problem for record in part))
        by_problem = [[record for record in noisy if record.problem is one] for one in problems]
        before = sum(record.seconds[_BEFORE] for record in part)
        for way in WAYS:
            n_better = sum(_precision(r, way) > _precision(r, _BEFORE) for r in by_problem)
            rows.append(
                [
                    name,
                    way,
                    f"{_precision(noisy, way, 0):.3f}",
                    f"{_precision(noisy, way):.3f}",
                    f"{n_better} of {len(problems)}",
                    f"{np.mean([record.figures[way].rate_error for record in part]):.4f}",
                    f"{sum(record.seconds[way] for record in part) / before:.2f}",
                ]
            )
    return Table(
        "Scorers",
        "Average precision of the wrong labels among all rows, by the probability of the other "
        "label (for the estimator alone this is cleanlab's self-confidence) and by that minus its "
        "mean over the rows with the same given label; on how many problems the latter is above "
        f"that of the {_BEFORE} (estimator, forest and boosting in folds); mean absolute error of "
        "the four noise rates; CPU time, as a ratio to that of the "
        f"{_BEFORE}. The estimator is {OWN} regression; its folds are repeated {N_REPEATS} times.",
        ("part", "scores", "by probability", "minus class mean", "better", "rate error", "CPU"),
        rows,
    )


def _clean_table(records: Sequence[Record]) -> Table:
    rows = []
    for name, part in _parts(records):
        clean = [record for record in part if record.noise == _CLEAN]
        noisy = _noisy(part)
        for way in WAYS:
            told = np.array([record.figures[way].verdict for record in clean])
            found = np.array([record.figures[way].verdict for record in noisy])
            harm = np.array([record.outcomes[way] - record.outcomes["none"] for record in clean])[
                ..., _ERROR
            ]
            rows.append(
                [
                    name,
                    way,
                    *(f"{(told == level).mean():.0%}" for level in range(len(VERDICTS))),
                    f"{harm.mean():+.4f}",
                    f"{harm.max():+.3f}",
                    f"{(found == VERDICTS.index('noise found')).mean():.0%}",
                ]
            )
    return Table(
        "Clean labels",
        "Verdicts on clean labels; change of the error against a plain fit to them if nothing is "
        "pruned where the verdict is clean, mean and worst; and how often noise was found where "
        "there is some.",
        ("part", "scores", *VERDICTS, "change of error", "worst", "found in noisy labels"),
        rows,
    )


def _outcome_table(records: Sequence[Record]) -> Table:
    rows = []
    for name, part in _parts(records):
        for way in ("none", *WAYS):
            means = np.mean([record.outcomes[way] for record in part], axis=(0, 1))
            rows.append(
                [name, "plain fit" if way == "none" else way, *(f"{mean:.4f}" for mean in means)]
            )
    return Table(
        "What is learned from the kept rows",
        f"Rank Pruning of {' and '.join(FINAL_MODELS)}, means over the four kinds of labels, "
        "against right labels.",
        ("part", "scores", "F1", "error", "average precision"),
        rows,
    )


def _order_table(records: Sequence[Record]) -> Table:
    rows = []
    kinds: dict[str, Callable[[Record], bool]] = {
        "all noise": lambda _: True,
        **{noise: _of_noise(noise) for noise in NOISES if noise != _CLEAN},
    }
    for name, part in _parts(records):
        for kind, belongs in kinds.items():
            chosen = [record.figures["committee"] for record in _noisy(part) if belongs(record)]
            # Where no wrong label is among the suspects, no order can be better than another.
            listed = [one for one in chosen if not np.isnan(one.suspects).any()]
            means = [
                *np.mean([one.all_rows for one in chosen], axis=0),
                *np.mean([one.suspects for one in listed], axis=0),
            ]
            rows.append([name, kind, *(f"{mean:.3f}" for mean in means)])
    return Table(
        "Order of the suspects",
        "Average precision of the wrong labels by the scores of the committee, among all rows and "
        "among the suspects alone, in three orders.",
        (
            "part",
            "noise",
            *(f"all rows: {order}" for order in ORDERS),
            *(f"suspects: {order}" for order in ORDERS),
        ),
        rows,
    )


def _of_noise(noise: str) -> Callable[[Record], bool]:
    return lambda record: record.noise == noise
