"""Tables about the learned estimator, where it never saw the family of the data."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed

from rankprune.core._verdict import CLEAN_SHARE, NOISY_SHARE
from rankprune.core.counting._sketch import ScoreSketch
from rankprune.core.estimators._curve import curve
from rankprune.core.estimators._learned import ARTEFACT, shipped_network
from rankprune.core.estimators._learned_network import LEVELS, Network, quantities
from rankprune.core.estimators._summaries import Summaries
from rankprune.experiments import _training
from rankprune.experiments._bank import Problem
from rankprune.experiments._cache import cached, file_name, forget
from rankprune.experiments._flip_chances import (
    CLASS_CONDITIONAL,
    CLEAN,
    DIFFICULTY,
    FEW,
    KINDS,
    SUB_CLASSES,
)
from rankprune.experiments._flipped_problems import BANK_FAMILIES, TRAINING_PROBLEMS
from rankprune.experiments._known_tables import known_tables
from rankprune.experiments._left_out_ranges import (
    blind_networks,
    left_out_ranges,
    network_without_kind,
    ranges_of,
)
from rankprune.experiments._people import people_problems
from rankprune.experiments._separable_scores import separable_table
from rankprune.experiments._sketched_problems import SketchedProblem
from rankprune.experiments._table import Table
from rankprune.experiments._training import Answers, Collection
from rankprune.experiments._verdict_limits import limits_table

_log = logging.getLogger("rankprune")

Reals = NDArray[np.float64]

_LEVEL = LEVELS.index(0.95)
_SEPARATED = 0.98
_NOISY, _MOSTLY_SEPARATED, _WEAK = 0.1, 0.95, 0.8
_COMMON = 0.2
_WIDE = (CLASS_CONDITIONAL, DIFFICULTY, SUB_CLASSES)
RULES = ("curve", "confident-counts", "predictions as truth", "cleanlab")


def training_tables(n_jobs: int, target: Path) -> Iterator[Table]:
    """Train the network, write it to a file, and yield the tables of families left out."""
    problems = _training.collect(n_jobs)
    _log.info("%d problems, %d of them real", len(problems.kind), int(problems.is_real.sum()))
    networks = _training.left_out_networks(problems, n_jobs)
    answers = _training.left_out_answers(problems, networks)
    network = _training.calibrated(_training.trained(problems), answers)
    _training.write_network(network, target)
    yield from _tables(n_jobs, answers, blind_networks(networks, answers))


def shipped_path() -> Path:
    """Return the file of the network that comes with the package."""
    return Path(str(files("rankprune.core.estimators") / ARTEFACT))


def learned_tables(n_jobs: int, people: Path | None) -> Iterator[Table]:
    """Yield the tables of families left out, and then of labels by people."""
    problems = _training.collect(n_jobs)
    networks = _training.left_out_networks(problems, n_jobs)
    answers = _training.left_out_answers(problems, networks)
    blind = blind_networks(networks, answers)
    yield from _tables(n_jobs, answers, blind)
    yield _kind_table(problems, answers)
    low, high = (ends[:, 4, _LEVEL] for ends in left_out_ranges(answers, blind))
    yield limits_table(answers.problems, low, high)
    yield from known_tables(blind)
    yield separable_table(n_jobs)
    if people is not None:
        yield _people_table(list(people_problems(people)), shipped_network())


def forget_measurements() -> None:
    """Remove all cached measurements that depend on the summaries or the network."""
    forget("summaries-", "network-", "rules-", "known-", "separable-")


def _tables(n_jobs: int, answers: Answers, blind: Sequence[Network]) -> Iterator[Table]:
    problems, found = answers.problems, answers.point()
    low, high = left_out_ranges(answers, blind)
    rules = _rules(n_jobs)
    yield _error_table(problems, found, rules, "all problems")
    few = problems.truth[:, 4] <= _COMMON
    some = {name: column[few] for name, column in rules.items()}
    yield _error_table(problems.select(few), found[few], some, f"at most {_COMMON:.0%} wrong")
    yield _range_table(problems, low, high)
    yield _decision_table(problems, low, high)


def _rules(n_jobs: int) -> dict[str, Reals]:
    """Return what other estimators say about the bank's problems: problems x quantities."""
    tasks = [
        (problem, number)
        for number in range(_training.N_ROUNDS)
        for problem in TRAINING_PROBLEMS
        if problem.family in BANK_FAMILIES
    ]
    parts = Parallel(n_jobs=n_jobs)(delayed(_rules_of)(*task) for task in tasks)
    families = np.concatenate([part["family"] for part in parts])
    found = np.concatenate([part["found"] for part in parts])
    fold_of = _training.folds()
    fold = np.array([fold_of[family] for family in families.tolist()])
    # In the order of the problems left out: fold by fold.
    found = np.concatenate([found[fold == number] for number in range(_training.N_FOLDS)])
    return {name: found[:, column] for column, name in enumerate(RULES)}


def _rules_of(problem: Problem, number: int) -> dict[str, NDArray[Any]]:
    def compute() -> dict[str, NDArray[Any]]:
        problems = _training.problems_of(problem, number)
        return {
            "family": np.array([one.family for one in problems], dtype=str),
            "found": np.array([rules_on(one.sketch) for one in problems]),
        }

    return cached(f"rules-{file_name(problem.name)}-{number}", compute)


def rules_on(sketch: ScoreSketch) -> Reals:
    """Return the five quantities by each of `RULES`."""
    given = Summaries(sketch)
    n_negative, n_positive = sketch.masses
    prevalence = np.full(3, n_positive / (n_negative + n_positive))
    by_curve = curve(sketch)
    pi = [
        (by_curve.positive_label_error_rate, by_curve.negative_label_error_rate),
        given.paper_label_error_rates(),
        given.predicted_label_error_rates(),
    ]
    return np.concatenate([quantities(np.array(pi), prevalence), [_cleanlab(sketch)]])


def _cleanlab(sketch: ScoreSketch) -> Reals:
    from cleanlab.count import compute_confident_joint, estimate_latent

    rows = sketch.as_inputs()
    assert rows.sample_weight is not None
    copies = rows.sample_weight.astype(int)
    labels = np.repeat(rows.is_positive.astype(int), copies)
    scores = np.repeat(rows.probabilities, copies)
    joint = compute_confident_joint(labels, np.column_stack([1 - scores, scores]))
    _, noise, inverse = estimate_latent(joint, labels)
    share = float(labels.mean())
    total = share * inverse[0, 1] + (1 - share) * inverse[1, 0]
    return np.array([noise[0, 1], noise[1, 0], inverse[0, 1], inverse[1, 0], total])


def _error_table(problems: Collection, found: Reals, rules: dict[str, Reals], part: str) -> Table:
    columns = {"learned": found, **rules}
    rows = []
    for kind in KINDS:
        chosen = problems.kind == kind
        if chosen.any():
            cells = [_mean_errors(problems, column, chosen) for column in columns.values()]
            rows.append([kind, str(int(chosen.sum())), *cells])
    return Table(
        f"Error of the learned estimator, families left out: {part}",
        "Mean absolute error of rho1, rho0, pi1 and pi0 / of the share of all labels that are "
        "wrong; means over data families. The learned estimator never saw the family.",
        ("kind of noise", "problems", *columns),
        rows,
    )


def _mean_errors(problems: Collection, found: Reals, chosen: NDArray[np.bool_]) -> str:
    errors = np.abs(found - problems.truth)[chosen]
    families = problems.family[chosen]
    means = [errors[families == family].mean(axis=0) for family in np.unique(families)]
    mean = np.mean(means, axis=0)
    return f"{mean[:4].mean():.3f}/{mean[4]:.3f}"


def _range_table(problems: Collection, low: Reals, high: Reals) -> Table:
    truth = problems.truth[..., None]
    holds = (low <= truth) & (truth <= high)
    widths = high - low
    groups: list[tuple[str, NDArray[np.bool_]]] = [(k, problems.kind == k) for k in KINDS]
    groups.append(("all kinds", np.ones(len(problems.kind), dtype=bool)))
    common = problems.truth[:, 4] <= _COMMON
    groups += [(f"{k}, at most {_COMMON:.0%} wrong", (problems.kind == k) & common) for k in _WIDE]
    groups.append((f"all kinds, at most {_COMMON:.0%} wrong", common))
    separated = problems.true_auc > _SEPARATED
    groups.append((f"all kinds, AUC above {_SEPARATED:g}", separated))
    rows = []
    for name, chosen in groups:
        if not chosen.any():
            continue
        held = _over_families(problems, holds[..., _LEVEL].astype(np.float64), chosen)
        wide = _over_families(problems, widths[..., _LEVEL], chosen)
        rows.append(
            [
                name,
                f"{held[4]:.3f}",
                " ".join(f"{share:.3f}" for share in held[:4]),
                f"{wide[4]:.3f}",
                f"{wide[:4].mean():.3f}",
            ]
        )
    return Table(
        "Ranges of 95 %, families left out",
        "How often they hold the truth, and their mean width; means over data families. The AUC is "
        "that against the true labels.",
        ("kind of noise", "hold the total", "hold rho1, rho0, pi1, pi0", "width, total", "rates"),
        rows,
    )


def _over_families(problems: Collection, values: Reals, chosen: NDArray[np.bool_]) -> Reals:
    families = problems.family[chosen]
    parts = [values[chosen][families == family].mean(axis=0) for family in np.unique(families)]
    return np.asarray(np.mean(parts, axis=0))


def _decision_table(problems: Collection, low: Reals, high: Reals) -> Table:
    """Return the verdict that the range of the total leads to."""
    found = low[:, 4, _LEVEL] > NOISY_SHARE
    clean = ~found & (high[:, 4, _LEVEL] <= CLEAN_SHARE)
    rows = [
        [
            name,
            str(int(chosen.sum())),
            *(f"{part[chosen].mean():.1%}" for part in (clean, found, ~found & ~clean)),
        ]
        for name, chosen in _decisions(problems)
        if chosen.any()
    ]
    return Table(
        "The verdict, families left out",
        "The AUC is that against the true labels.",
        ("problems", "number", "clean", "noise found", "cannot tell"),
        rows,
    )


def _decisions(problems: Collection) -> Sequence[tuple[str, NDArray[np.bool_]]]:
    """Return the groups of problems of the table of verdicts."""
    auc = problems.true_auc
    separated, above = auc > _SEPARATED, auc > _MOSTLY_SEPARATED
    between = (auc > _WEAK) & ~above
    clean, few = problems.kind == CLEAN, problems.kind == FEW
    noisy = problems.truth[:, 4] >= _NOISY
    by_class = noisy & np.isin(problems.kind, (CLASS_CONDITIONAL, SUB_CLASSES))
    hard = noisy & (problems.kind == DIFFICULTY)
    much = f"at least {_NOISY:.0%} wrong"
    return (
        (f"clean labels, AUC above {_SEPARATED:g}", clean & separated),
        ("clean labels, other scores", clean & ~separated),
        (f"{FEW}, AUC above {_SEPARATED:g}", few & separated),
        (f"{FEW}, other scores", few & ~separated),
        (f"{much} by class or sub-class, AUC above {_MOSTLY_SEPARATED:g}", by_class & above),
        (f"{much} by difficulty, AUC above {_MOSTLY_SEPARATED:g}", hard & above),
        (f"{much}, AUC {_WEAK:g} to {_MOSTLY_SEPARATED:g}", (by_class | hard) & between),
    )


def _kind_table(problems: Collection, seen: Answers) -> Table:
    """Return what happens with a kind of noise that was never seen."""
    rows = []
    for kind in (CLASS_CONDITIONAL, DIFFICULTY, SUB_CLASSES):
        part = problems.select((problems.kind == kind) & np.isin(problems.family, BANK_FAMILIES))
        if not len(part.kind):
            continue
        blind = network_without_kind(kind, problems, seen)
        answers = _training.answers_of(blind, part)
        low, high = ranges_of(answers, blind)
        truth = part.truth[..., None]
        everything = np.ones(len(part.kind), dtype=bool)
        holds = ((low <= truth) & (truth <= high))[..., _LEVEL].astype(np.float64)
        held = _over_families(part, holds, everything)
        wide = _over_families(part, (high - low)[..., _LEVEL], everything)
        error = _mean_errors(part, answers.point(), everything)
        rows.append([kind, error, f"{held[4]:.3f}", f"{held[:4].mean():.3f}", f"{wide[4]:.3f}"])
    return Table(
        "A kind of noise left out",
        "Errors and ranges of 95 % on the bank, from networks that never saw this kind of noise by "
        "itself.",
        (
            "kind of noise",
            "error, rates / total",
            "hold the total",
            "hold the rates",
            "width, total",
        ),
        rows,
    )


def _people_table(problems: Sequence[SketchedProblem], network: Network) -> Table:
    collected = _training.summarized(problems)
    answers = _training.answers_of(network, collected)
    found = answers.point()
    low, high = ranges_of(answers, network)
    rules = np.array([rules_on(problem.sketch) for problem in problems])
    truth = collected.truth
    holds = ((low <= truth[..., None]) & (truth[..., None] <= high))[..., _LEVEL]
    rows = []
    for family in dict.fromkeys(collected.family.tolist()):
        chosen = collected.family == family
        columns = [found, *(rules[:, number] for number in range(len(RULES)))]
        errors = [np.abs(column - truth)[chosen].mean(axis=0) for column in columns]
        rows.append(
            [
                family,
                str(int(chosen.sum())),
                *(f"{error[:4].mean():.3f}/{error[4]:.3f}" for error in errors),
                f"{holds[chosen, :4].mean():.2f}/{holds[chosen, 4].mean():.2f}",
                f"{(high - low)[chosen, 4, _LEVEL].mean():.3f}",
            ]
        )
    return Table(
        "Labels by people",
        "Mean absolute error of the four rates / of the total. Nothing was chosen on these.",
        ("labels", "problems", "learned", *RULES, "ranges hold rates / total", "width, total"),
        rows,
    )
