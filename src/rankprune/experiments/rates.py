"""Tables about noise rates: estimators, harm on clean labels, verdicts and intervals."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed

from rankprune.core import NOISE_ESTIMATORS
from rankprune.experiments._bank import LEVELS, MODELS, PROBLEMS, Problem, load_split
from rankprune.experiments._cache import cached, forget
from rankprune.experiments._estimates import (
    CONFIDENCE,
    ESTIMATORS,
    INTERVAL_MODEL,
    N_RESAMPLES,
    SCORERS,
    VERDICTS,
    Findings,
    covered,
    findings,
    four_rates,
    true_rates,
)
from rankprune.experiments._images import load_mnist
from rankprune.experiments._mnist import CELLS, DIGITS, GRID, noisy_digit
from rankprune.experiments._mnist_pruning import mnist_f1
from rankprune.experiments._outcomes import FINAL_MODELS, METRICS, STRATEGIES, outcomes
from rankprune.experiments._table import Table
from rankprune.experiments._unbinned import UNBINNED, unbinned_rates

_log = logging.getLogger("rankprune")

# A problem counts as noisy at this rate or above, and its scores as informative above this AUC.
_NOISY, _INFORMATIVE_AUC = 0.1, 0.8
_KINDS = ((0.95, 1.01), (0.85, 0.95), (0.0, 0.85))
_GRID_ESTIMATORS = ("confident-counts", "tight", "curve", "learned")


@dataclass(frozen=True)
class Record:
    """Everything measured on one problem at one noise level."""

    problem: Problem
    level: tuple[float, float]
    findings: Findings
    outcomes: NDArray[np.float64]
    covered: NDArray[np.bool_]


def measure_bank(n_jobs: int) -> list[Record]:
    """Return all measurements of the bank, from the cache if possible."""
    parts = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_measure_problem)(problem) for problem in PROBLEMS
    )
    records = []
    for problem, part in zip(PROBLEMS, parts, strict=True):
        _log.info("bank: %s", problem.name)
        records += part
    return records


def _measure_problem(problem: Problem) -> list[Record]:
    split = load_split(problem)
    records = []
    for level in LEVELS:
        with warnings.catch_warnings():
            # Weak models on noisy labels are intended here.
            warnings.simplefilter("ignore")
            records.append(
                Record(
                    problem,
                    level,
                    findings(problem, split, level),
                    outcomes(problem, split, level),
                    np.zeros(0, bool) if problem.tune else covered(problem, split, level),
                )
            )
    return records


def rate_tables(n_jobs: int) -> Iterator[Table]:
    """Yield the tables, each as soon as it is measured."""
    records = measure_bank(n_jobs)
    reported = [record for record in records if not record.problem.tune]
    yield _bank_table(records)
    yield _error_table(records)
    for title, key in (("noise level (rho1, pi1)", _level_name), ("data", _problem_name)):
        yield _error_by_key(reported, title, key)
    yield _error_by_model(reported)
    yield _outcome_table(records)
    yield _clean_table(records)
    yield _verdict_table(records)
    yield _coverage_table(reported)
    yield from mnist_tables(n_jobs)


def mnist_tables(n_jobs: int) -> Iterator[Table]:
    """Yield the tables about MNIST alone."""
    yield _mnist_rates_table(n_jobs)
    yield _mnist_f1_table()


def forget_measurements() -> None:
    """Remove all cached measurements that depend on the estimators; scores are kept."""
    forget("findings-", "outcomes-", "intervals-", "mnist-grid-errors-", "mnist-f1-")


def _errors(records: Sequence[Record]) -> NDArray[np.float64]:
    """Return mean absolute errors: problems x models x scorers x estimators."""
    return np.array(
        [np.abs(record.findings.rates - record.findings.truth).mean(axis=-1) for record in records]
    )


def _parts(records: Sequence[Record]) -> list[tuple[str, list[Record]]]:
    return [
        ("chosen on", [record for record in records if record.problem.tune]),
        ("reported", [record for record in records if not record.problem.tune]),
    ]


def _level_name(record: Record) -> str:
    return "({:g}, {:g})".format(*record.level)


def _problem_name(record: Record) -> str:
    return record.problem.name


def _bank_table(records: Sequence[Record]) -> Table:
    rows = []
    for name, part in _parts(records):
        families = dict.fromkeys(record.problem.family for record in part)
        problems = dict.fromkeys(record.problem.name for record in part)
        rows.append([name, str(len(problems)), str(len(part) * len(MODELS)), ", ".join(families)])
    return Table(
        "The bank",
        f"Each problem at {len(LEVELS)} noise levels with {len(MODELS)} kinds of classifier "
        f"({', '.join(MODELS)}). Rules were chosen on the first part only.",
        ("part", "problems", "cases", "data families"),
        rows,
    )


def _error_table(records: Sequence[Record]) -> Table:
    rows = []
    for name, part in _parts(records):
        errors = _errors(part)
        for s, scorer in enumerate(SCORERS):
            for e, estimator in enumerate(ESTIMATORS):
                found, paper = errors[:, :, s, e], errors[:, :, s, 0]
                rows.append(
                    [
                        name,
                        scorer,
                        estimator,
                        f"{found.mean():.4f}",
                        f"{found.mean() / paper.mean():.2f}",
                        f"{(found > paper + 0.05).mean():.2%}",
                        f"{np.quantile(found, 0.95):.3f}",
                    ]
                )
    return Table(
        "Error of the noise rates",
        "Mean absolute error of rho1, rho0, pi1 and pi0; its ratio to the paper's estimator on the "
        "same scores; how often it is worse than that by more than .05; 95 % quantile.",
        ("part", "scores", "estimator", "error", "ratio", "worse by > .05", "95 %"),
        rows,
    )


def _error_by_key(records: Sequence[Record], title: str, key: Callable[[Record], str]) -> Table:
    means = {}
    for name in dict.fromkeys(key(record) for record in records):
        errors = _errors([record for record in records if key(record) == name])
        means[name] = errors.mean(axis=(0, 1))
    return _error_by(title, means)


def _error_by_model(records: Sequence[Record]) -> Table:
    return _error_by("classifier", dict(zip(MODELS, _errors(records).mean(axis=0), strict=True)))


def _error_by(title: str, means: Mapping[str, NDArray[np.float64]]) -> Table:
    """Return a table of mean errors, scorers x estimators, by name."""
    last = SCORERS.index("committee"), ESTIMATORS.index("curve")
    return Table(
        f"Error of the noise rates by {title}",
        "Reported part; own scores, and in the last column the curve on the committee's.",
        (title, *ESTIMATORS, "committee, curve"),
        [
            [name, *(f"{mean:.3f}" for mean in errors[0]), f"{errors[last]:.3f}"]
            for name, errors in means.items()
        ],
    )


def _guarded(record: Record) -> NDArray[np.float64]:
    """Return outcomes with one more strategy: a plain fit if the committee's verdict is clean."""
    names = list(STRATEGIES)
    final = [list(MODELS).index(model) for model in FINAL_MODELS]
    is_clean = record.findings.verdicts[final] == VERDICTS.index("clean")
    plain = record.outcomes[:, names.index("plain fit")]
    pruned = record.outcomes[:, names.index("committee, curve")]
    guarded = np.where(is_clean[:, None], plain, pruned)
    return np.concatenate([record.outcomes, guarded[:, None]], axis=1)


_GUARDED = (*STRATEGIES, "committee, curve, verdict")


def _outcome_table(records: Sequence[Record]) -> Table:
    rows = []
    for name, part in _parts(records):
        means = np.mean([_guarded(record) for record in part], axis=(0, 1))
        for s, strategy in enumerate(_GUARDED):
            rows.append([name, strategy, *(f"{mean:.4f}" for mean in means[s])])
    return Table(
        "What is learned from noisy labels",
        f"Mean over all noise levels and {len(FINAL_MODELS)} classifiers "
        f"({', '.join(FINAL_MODELS)}), against right labels. The last way is "
        'scorer="committee", noise_estimator="curve".',
        ("part", "way to learn", *METRICS),
        rows,
    )


def _clean_table(records: Sequence[Record]) -> Table:
    rows = []
    for name, part in _parts(records):
        errors = np.array([_guarded(r)[:, :, 1] for r in part if r.level == (0.0, 0.0)])
        change = errors - errors[:, :, :1]
        for s, strategy in enumerate(_GUARDED):
            rows.append(
                [name, strategy, f"{change[..., s].mean():+.4f}", f"{change[..., s].max():+.3f}"]
            )
    return Table(
        "Harm on clean labels",
        "Change of the error against the plain fit where no label is wrong.",
        ("part", "way to learn", "mean", "worst"),
        rows,
    )


def _verdict_table(records: Sequence[Record]) -> Table:
    rows = []
    for name, part in _parts(records):
        verdicts = np.array([record.findings.verdicts for record in part])
        aucs = np.array([record.findings.aucs[:, 1] for record in part])
        strength = np.array([max(record.level) for record in part])[:, None]
        both_five = np.array([record.level == (0.05, 0.05) for record in part])[:, None]
        for kind, chosen in (
            ("clean labels", np.broadcast_to(strength == 0, aucs.shape)),
            ("5 % and 5 %", np.broadcast_to(both_five, aucs.shape)),
            (
                f"noise of 10 % and more, AUC > {_INFORMATIVE_AUC:g}",
                (strength >= _NOISY) & (aucs > _INFORMATIVE_AUC),
            ),
            (
                f"noise of 10 % and more, AUC <= {_INFORMATIVE_AUC:g}",
                (strength >= _NOISY) & (aucs <= _INFORMATIVE_AUC),
            ),
        ):
            if not chosen.any():
                continue
            shares = [(verdicts[chosen] == v).mean() for v in range(len(VERDICTS))]
            rows.append([name, kind, str(int(chosen.sum())), *(f"{share:.1%}" for share in shares)])
    return Table(
        "Verdicts of the committee",
        "AUC of the committee's mean probabilities against the given labels.",
        ("part", "labels", "cases", *VERDICTS),
        rows,
    )


def _coverage_table(records: Sequence[Record]) -> Table:
    rows = []
    model = list(MODELS).index(INTERVAL_MODEL)
    held = np.array([record.covered for record in records])
    for s, scorer in enumerate(SCORERS):
        clean_auc = np.array(
            [
                next(
                    other.findings.aucs[model, s]
                    for other in records
                    if other.problem is record.problem and other.level == (0.0, 0.0)
                )
                for record in records
            ]
        )
        for low, high in _KINDS:
            chosen = (clean_auc >= low) & (clean_auc < high)
            if not chosen.any():
                continue
            kind = f"AUC {low:g} to {min(high, 1):g}" if low else f"AUC below {high:g}"
            shares = held[chosen][:, s].mean(axis=(0, 2))
            rows.append([scorer, kind, str(chosen.sum()), *(f"{share:.1%}" for share in shares)])
    return Table(
        "Coverage of the intervals over rows",
        f"Share of true rates inside intervals of the curve ({INTERVAL_MODEL}, {N_RESAMPLES} "
        "resamples), by how well the scores separate right labels; reported part.",
        ("scores", "kind of problem", "cases", *(f"{level:.0%}" for level in CONFIDENCE)),
        rows,
    )


def _mnist_rates_table(n_jobs: int) -> Table:
    errors = np.array(
        Parallel(n_jobs=n_jobs)(delayed(_grid_errors)(digit) for digit in DIGITS)
    ).mean(axis=(0, 1))
    names = [*_GRID_ESTIMATORS, *(f"{name}, every distinct score" for name in UNBINNED)]
    rows = [[name, f"{errors[e][0]:.4f}", f"{errors[e][1]:.4f}"] for e, name in enumerate(names)]
    return Table(
        "MNIST: error of the noise rates",
        f"Logistic regression, 3 folds, {len(GRID)} noise cells x {len(DIGITS)} digits: mean "
        "absolute error.",
        ("estimator", "rho1", "pi1"),
        rows,
    )


def _grid_errors(digit: int) -> NDArray[np.float64]:
    def compute() -> dict[str, NDArray[np.float64]]:
        noisy = noisy_digit(load_mnist("train"), digit, "grid", GRID)
        table = np.empty((len(GRID), len(_GRID_ESTIMATORS) + len(UNBINNED), 2))
        for cell in range(len(GRID)):
            labels = np.ascontiguousarray(noisy.labels[:, cell])
            truth = true_rates(noisy.is_digit, labels)
            scores = noisy.probabilities[:, cell].astype(np.float64)
            found = [
                NOISE_ESTIMATORS[name](labels.view(np.int8), scores) for name in _GRID_ESTIMATORS
            ]
            found += [unbinned_rates(name, labels, scores) for name in UNBINNED]
            for e, rates in enumerate(found):
                table[cell, e] = np.abs(four_rates(rates) - truth)[[0, 2]]
        return {"errors": table}

    return cached(f"mnist-grid-errors-{digit}", compute)["errors"]


def _mnist_f1_table() -> Table:
    found = {name: f1.mean(axis=1) for name, f1 in mnist_f1().items()}
    given = found["true rates, 1 round"]
    rows = []
    for name, f1 in found.items():
        below = f1 - given
        worst = int(below.argmin())
        rows.append(
            [
                name,
                f"{f1.mean():.4f}",
                f"{below.min():+.4f}",
                "({:g}, {:g})".format(*CELLS[worst]),
            ]
        )
    return Table(
        "MNIST: F1 of Rank Pruning",
        f"Logistic regression, {len(CELLS)} noise cells, mean over the digits; and the cell "
        "(pi1, rho1) that is furthest below Rank Pruning with the true rates.",
        ("rates, rounds", "mean F1", "worst cell", "which"),
        rows,
    )
