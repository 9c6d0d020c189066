"""Tables about the list of rows to look at, from networks that never saw the family of the data."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.utils.parallel import Parallel, delayed

from rankprune.core._inputs import Inputs
from rankprune.core._pruning import prune_labels
from rankprune.core._ranking import expected_stretches, order_rows, ranking_cutoffs
from rankprune.core.counting._sketch import sketch_of
from rankprune.core.estimators._learned import learned_answer
from rankprune.core.estimators._learned_network import Network
from rankprune.experiments import _training
from rankprune.experiments._bank import PROBLEMS, Problem
from rankprune.experiments._cache import cached, file_name, forget
from rankprune.experiments._flip_chances import CLEAN, FEW, FEW_WRONG, KINDS
from rankprune.experiments._flipped_problems import flipped_rows, load_scaled, trees_out_of_bag
from rankprune.experiments._left_out_ranges import blind_networks
from rankprune.experiments._table import Table
from rankprune.learners._probabilities import out_of_fold_probabilities

Bools = NDArray[np.bool_]
Reals = NDArray[np.float64]

# One round more than those of the training.
_ROUND = _training.N_ROUNDS
_FLIPPED, _MOST_ROWS = 0.02, 6000
_SEPARATED = 0.98
_TWO_PERCENT = "2 % flipped"
# Ends of the list for which expectation and truth are compared.
_ENDS = (10, 50, 100)


@dataclass(frozen=True)
class Listed:
    """How a list of rows to look at compares with the truth.

    Attributes
    ----------
    kind, family : str
    auc : float
        Against the true labels.
    n_wrong, n_listed : int
    found : float
        Share of wrong labels among the first ``n_wrong`` rows.
    estimated : float
        Estimated share of all labels that are wrong, divided by the true one.
    expected, actual : tuple of float
        Share of wrong labels among the first 10, 50 and 100 rows; NaN if fewer are listed.
    """

    kind: str
    family: str
    auc: float
    n_wrong: int
    n_listed: int
    found: float
    estimated: float
    expected: tuple[float, ...]
    actual: tuple[float, ...]


def candidate_tables(n_jobs: int) -> Iterator[Table]:
    """Yield the tables of lists by kind of noise, and of tables with 2 % flipped labels."""
    problems = _training.collect(n_jobs)
    fold_of = _training.folds()
    networks = _training.left_out_networks(problems, n_jobs)
    answers = _training.left_out_answers(problems, networks)
    blind = blind_networks(networks, answers)
    parts = Parallel(n_jobs=n_jobs)(
        delayed(_lists_of)(problem, blind[fold_of[problem.family]]) for problem in PROBLEMS
    )
    lists = [one for part in parts for one in part]
    yield _precision_table(lists)
    yield _few_table([one for one in lists if one.kind == _TWO_PERCENT])


def forget_measurements() -> None:
    """Remove all cached scores of these tables."""
    forget("candidates-")


def _lists_of(problem: Problem, network: Network) -> list[Listed]:
    return [
        listed(kind, problem.family, truth, labels, scores, network)
        for kind, truth, labels, scores in _scored_rows(problem)
    ]


def _scored_rows(problem: Problem) -> Iterator[tuple[str, Bools, Bools, Reals]]:
    """Yield kind of noise, true labels, labels and scores of one problem, several times."""

    def compute() -> dict[str, NDArray[Any]]:
        random = np.random.default_rng([22, *(ord(letter) for letter in problem.name)])
        kept: dict[str, NDArray[Any]] = {}
        with warnings.catch_warnings():
            # Weak models on noisy labels are intended here.
            warnings.simplefilter("ignore")
            rows = [
                (one.kind, one.truth, one.labels, one.scores["committee"])
                for one in flipped_rows(problem, random, often_much=False)
            ]
            rows.append((_TWO_PERCENT, *_few_flipped(problem, random)))
        for number, (kind, *arrays) in enumerate(rows):
            kept[f"{number}-{kind}"] = np.stack([array.astype(np.float64) for array in arrays])
        return kept

    for name, arrays in cached(f"candidates-{file_name(problem.name)}-{_ROUND}", compute).items():
        yield name.split("-", 1)[1], arrays[0] > 0, arrays[1] > 0, arrays[2]


def _few_flipped(problem: Problem, random: np.random.Generator) -> tuple[Bools, Bools, Reals]:
    """Return true labels, labels of which 2 % are flipped, and scores."""
    X, truth = load_scaled(problem)
    rows = random.permutation(len(truth))[:_MOST_ROWS]
    X, truth = X[rows], truth[rows]
    labels = np.where(random.random(len(truth)) < _FLIPPED, ~truth, truth)
    linear = out_of_fold_probabilities(
        LogisticRegression(max_iter=300), X, labels, cv=3, random_state=0
    )
    return truth, labels, (linear + 2 * trees_out_of_bag(X, labels, 0, leaf=3)) / 3


def listed(
    kind: str, family: str, truth: Bools, labels: Bools, scores: Reals, network: Network
) -> Listed:
    """Return how the list of rows compares with the truth."""
    wrong = labels != truth
    sketch = sketch_of(Inputs(labels, scores, None))
    answer = learned_answer(sketch, network)
    rates = answer.rates
    high = answer.ranges(0.95)["wrong_share"][1]
    cutoffs = ranking_cutoffs(labels, scores, rates)
    mask = prune_labels(labels, scores, rates).mask
    ordered = wrong[order_rows(labels, scores, mask, cutoffs)]
    n_wrong, n_listed = int(wrong.sum()), int(np.ceil(high * len(labels)))
    stretches = expected_stretches(sketch, rates, cutoffs, n_listed)
    reached = {one.last: number for number, one in enumerate(stretches)}
    expected, actual = [], []
    for end in _ENDS:
        is_there = end in reached
        parts = stretches[: reached[end] + 1] if is_there else ()
        expected.append(sum(one.expected_wrong for one in parts) / end if is_there else np.nan)
        actual.append(float(ordered[:end].mean()) if is_there else np.nan)
    return Listed(
        FEW if kind not in (CLEAN, _TWO_PERCENT) and wrong.mean() <= FEW_WRONG else kind,
        family,
        float(roc_auc_score(truth, scores)),
        n_wrong,
        n_listed,
        float(ordered[:n_wrong].mean()) if n_wrong else np.nan,
        rates.wrong_share * len(labels) / n_wrong if n_wrong else np.nan,
        tuple(expected),
        tuple(actual),
    )


def _precision_table(lists: list[Listed]) -> Table:
    rows = []
    for kind in (*KINDS, _TWO_PERCENT):
        chosen = [one for one in lists if one.kind == kind]
        if chosen:
            expected = np.array([one.expected for one in chosen])
            actual = np.array([one.actual for one in chosen])
            cells = [_means(expected[:, end], actual[:, end]) for end in range(len(_ENDS))]
            rows.append([kind, str(len(chosen)), *cells])
    return Table(
        "The first rows to look at, families left out",
        "Share of wrong labels among the first 10, 50 and 100 rows: as expected / as it is.",
        ("kind of noise", "problems", *(f"first {end}" for end in _ENDS)),
        rows,
    )


def _means(expected: Reals, actual: Reals) -> str:
    """Return the means over the lists that are long enough."""
    long = np.isfinite(expected)
    return f"{expected[long].mean():.2f}/{actual[long].mean():.2f}" if long.any() else "-"


def _few_table(lists: list[Listed]) -> Table:
    rows = []
    for name, separated in ((f"at least {_SEPARATED:g}", True), (f"below {_SEPARATED:g}", False)):
        chosen = [one for one in lists if (one.auc >= _SEPARATED) == separated]
        if chosen:
            found = np.array([one.found for one in chosen])
            ratio = np.array([one.estimated for one in chosen])
            is_near = (ratio >= 0.5) & (ratio <= 2)
            rows.append(
                [
                    name,
                    str(len(chosen)),
                    f"{found.mean():.0%}",
                    f"{found.min():.0%}",
                    f"{np.mean([one.n_listed >= one.n_wrong for one in chosen]):.0%}",
                    f"{is_near.mean():.0%}",
                ]
            )
    return Table(
        "Two percent of the labels flipped, up to 6,000 rows, families left out",
        "k is the number of flipped labels; the AUC is that against the true labels.",
        (
            "AUC",
            "problems",
            "flipped among the first k",
            "least",
            "k are listed",
            "total within a factor of 2",
        ),
        rows,
    )
