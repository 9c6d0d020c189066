"""Coverage and width of the intervals of a blind audit, by simulation; takes about ten minutes.

First, audits with zones of suspicion, of real tables of the bank with known truth and noise of
every kind, and of the same tables with wrong labels where the model expects none. Then, for each
share of wrong labels, a table is generated in which suspects are wrong more often than other rows;
audits without scores are drawn from it, and every interval is compared with the truth. Exact
intervals from a simple random sample of the same size stand beside.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.stats import beta
from sklearn.metrics import roc_auc_score

from rankprune import NoiseRates, audit, estimate_noise_rates, prune_labels
from rankprune.audit._sample import Divided, allocate
from rankprune.core._melded_intervals import Part, melded_lower_limit, melded_upper_limit
from rankprune.core._stratified_limits import total_limits
from rankprune.experiments._bank import PROBLEMS
from rankprune.experiments.candidates import _scored_rows

N_ROWS, N_DRAWN, LEVEL = 10_000, 200, 0.95
ERRORS = (0.02, 0.1, 0.3)
# Shares of positive labels, of wrong labels among suspects, and of suspects among wrong labels.
PREVALENCE, PRECISION, RECALL = 0.3, 0.75, 0.75
# Numbers of judged rows in audits of the bank, and the AUC from which a model counts as good.
JUDGED, GOOD = (25, 50, 100, 200), 0.8


@dataclass(frozen=True)
class Population:
    """A table in which every wrong label is known."""

    labels: np.ndarray
    suspects: np.ndarray
    wrong: np.ndarray

    def truth(self) -> dict[str, float]:
        positive = self.labels == 1
        truly = positive ^ self.wrong
        return {
            "wrong_share": self.wrong.mean(),
            "positive_label_error_rate": self.wrong[positive].mean(),
            "negative_label_error_rate": self.wrong[~positive].mean(),
            "positive_noise_rate": self.wrong[truly].mean(),
            "negative_noise_rate": self.wrong[~truly].mean(),
            "suspect_precision": self.wrong[self.suspects].mean(),
            "missed_share": self.wrong[~self.suspects].mean(),
            "missed_at_most": self.wrong[~self.suspects].sum(),
        }


def make(error: float) -> Population:
    """Return a table with this share of wrong labels, twice as frequent among positive labels."""
    rng = np.random.default_rng(0)
    labels = (np.arange(N_ROWS) < PREVALENCE * N_ROWS).astype(int)
    odds = np.where(labels == 1, 2.0, 1.0)
    n_wrong = round(error * N_ROWS)
    wrong = np.zeros(N_ROWS, dtype=bool)
    wrong[rng.choice(N_ROWS, n_wrong, replace=False, p=odds / odds.sum())] = True
    suspects = np.zeros(N_ROWS, dtype=bool)
    n_found = round(RECALL * n_wrong)
    suspects[rng.choice(np.flatnonzero(wrong), n_found, replace=False)] = True
    n_false = round(n_found / PRECISION) - n_found
    suspects[rng.choice(np.flatnonzero(~wrong), n_false, replace=False)] = True
    return Population(labels, suspects, wrong)


def audited(population: Population, n_draws: int) -> dict[str, tuple[float, float]]:
    """Return coverage and mean width of each interval over many audits."""
    truth, right = population.truth(), population.labels ^ population.wrong
    samples: dict[tuple[int, ...], audit.AuditSample] = {}
    times: Counter[tuple[int, ...]] = Counter()
    for seed in range(n_draws):
        sample = audit.draw(population.labels, population.suspects, N_DRAWN, random_state=seed)
        # The estimate depends on these counts alone, so each combination is computed once.
        counts = np.bincount(sample.stratum[population.wrong[sample.rows]], minlength=4)
        key = tuple(counts.tolist())
        samples.setdefault(key, sample)
        times[key] += 1
    held, width = dict.fromkeys(truth, 0.0), dict.fromkeys(truth, 0.0)
    for key, sample in samples.items():
        found = audit.estimate(sample, right[sample.rows], level=LEVEL)
        for name, interval in found.items():
            low, high = interval.low - 1e-9, interval.high + 1e-9
            held[name] += times[key] * (low <= truth[name] <= high)
            width[name] += times[key] * (interval.high - interval.low)
        held["missed_at_most"] += times[key] * (truth["missed_at_most"] <= found.missed_at_most)
        width["missed_at_most"] += times[key] * found.missed_at_most
    return {name: (held[name] / n_draws, width[name] / n_draws) for name in truth}


@dataclass(frozen=True)
class Problem:
    """A table of the bank, its noise, and what a model says about it."""

    kind: str
    labels: np.ndarray
    wrong: np.ndarray
    scores: np.ndarray
    rates: NoiseRates
    is_good: bool

    @classmethod
    def of(cls, kind: str, truth: np.ndarray, labels: np.ndarray, scores: np.ndarray) -> Problem:
        rates = estimate_noise_rates(labels, scores)
        return cls(
            kind, labels, labels != truth, scores, rates, roc_auc_score(truth, scores) > GOOD
        )

    def turned(self) -> Problem:
        """Return the table with a model that suspects the most what it suspected the least."""
        scores = self.scores.copy()
        for label in (True, False):
            rows = np.flatnonzero(self.labels == label)
            rows = rows[np.argsort(scores[rows], kind="stable")]
            scores[rows] = scores[rows[::-1]]
        return Problem(self.kind, self.labels, self.wrong, scores, self.rates, self.is_good)


# Given strata and the true number of wrong rows of each, numbers to put in their place.
Placing = Callable[[audit.Strata, np.ndarray], np.ndarray]


def as_they_are(_: audit.Strata, wrong: np.ndarray) -> np.ndarray:
    return wrong


def everywhere(share: float) -> Placing:
    """Return a placing of as many wrong rows in every stratum."""
    return lambda strata, _: np.round(share * np.asarray(strata.sizes)).astype(int)


def hidden(share: float) -> Placing:
    """Return a placing of all wrong rows where the model expects the fewest."""

    def place(strata: audit.Strata, _: np.ndarray) -> np.ndarray:
        wrong = np.zeros(len(strata.sizes), dtype=int)
        for number in np.argsort(strata.expected):
            left = round(share * sum(strata.sizes)) - wrong.sum()
            wrong[number] = min(strata.sizes[number], left)
        return wrong

    return place


def cases(problems: list[Problem]) -> Iterator[tuple[str, list[Problem], Placing]]:
    """Yield the name, the tables and the placing of wrong rows of each line of the first table."""
    good = [one for one in problems if one.is_good]
    for kind in dict.fromkeys(one.kind for one in good):
        yield kind, [one for one in good if one.kind == kind], as_they_are
    poor = [one for one in problems if not one.is_good and one.wrong.any()]
    yield f"AUC at most {GOOD:g}, any noise", poor, as_they_are
    some = [one for one in good if one.kind == "class-conditional"]
    yield "a model that is turned around", [one.turned() for one in some], as_they_are
    for share in (0.025, 0.1):
        yield f"{share:.3g} hidden among the least suspicious", some, hidden(share)
    for share in (0.025, 0.1, 0.3, 0.5):
        yield f"{share:.3g} wrong in every stratum", some, everywhere(share)


def audited_totals(
    problems: list[Problem], placing: Placing, n: int, n_draws: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return of every audit its width, that of a simple random sample, and whether it held."""
    rng = np.random.default_rng(n)
    found = []
    for number, problem in enumerate(problems):
        suspects = prune_labels(problem.labels, problem.scores, problem.rates).mask
        divided = Divided(problem.labels, suspects, problem.scores, problem.rates)
        strata = divided.strata(n)
        sizes, drawn = np.asarray(strata.sizes), allocate(strata, n)
        truly = np.bincount(strata.of_row, problem.wrong, minlength=len(sizes)).astype(int)
        wrong = placing(strata, truly)
        n_rows, total = int(sizes.sum()), int(wrong.sum())
        for _ in range(n_draws // len(problems) + (number < n_draws % len(problems))):
            seen = rng.hypergeometric(wrong, sizes - wrong, drawn)
            counts = zip(sizes.tolist(), drawn.tolist(), seen.tolist(), strict=True)
            low, high = limits(tuple(Part(*one) for one in counts))
            plain = exact_width(Part(n_rows, n, int(rng.hypergeometric(total, n_rows - total, n))))
            found.append(((high - low) / n_rows, plain, low <= total <= high))
    width, plain, held = np.asarray(found).T
    return width, plain, held


@cache
def limits(parts: tuple[Part, ...]) -> tuple[float, float]:
    return total_limits(parts, parts, LEVEL)


@cache
def exact_width(part: Part) -> float:
    """Return the width of the exact interval of a share from a simple random sample."""
    low, high = (
        limit([part], lambda totals: totals[0], (1 + LEVEL) / 2)
        for limit in (melded_lower_limit, melded_upper_limit)
    )
    return (high - low) / part.size


def print_bank(n_draws: int) -> None:
    """Print how audits with zones of suspicion do on the bank."""
    problems = [Problem.of(*rows) for problem in PROBLEMS for rows in _scored_rows(problem)]
    print(
        f"wrong_share of {n_draws:,} audits a cell; width / width of a simple random sample, "
        "coverage; each with two standard errors\n"
    )
    print("| wrong labels | tables |", *(f"{n} judged |" for n in JUDGED))
    print("|---|---|" + "---|" * len(JUDGED))
    for name, chosen, placing in cases(problems):
        cells = []
        for n in JUDGED:
            width, plain, held = audited_totals(chosen, placing, n, n_draws)
            ratio, root = width.mean() / plain.mean(), np.sqrt(len(held))
            spread = 2 * (width - ratio * plain).std() / plain.mean() / root
            cells.append(
                f"{ratio:.2f} ± {spread:.2f}, {held.mean():.3f} ± {2 * held.std() / root:.3f} |"
            )
        print(f"| {name} | {len(chosen)} |", *cells, flush=True)
    print()


def simple(population: Population, n_draws: int) -> dict[str, float]:
    """Return the mean width of exact intervals from simple random samples."""
    rng = np.random.default_rng(0)
    positive, suspects = population.labels == 1, population.suspects
    truly = positive ^ population.wrong
    kinds = {
        "wrong_share": np.ones(N_ROWS, dtype=bool),
        "positive_label_error_rate": positive,
        "negative_label_error_rate": ~positive,
        "suspect_precision": suspects,
        "missed_share": ~suspects,
    }
    widths: dict[str, list[float]] = {}
    for _ in range(n_draws):
        rows = rng.choice(N_ROWS, N_DRAWN, replace=False)
        for name, kind in kinds.items():
            inside = rows[kind[rows]]
            part = Part(int(kind.sum()), len(inside), int(population.wrong[inside].sum()))
            widths.setdefault(name, []).append(exact_width(part))
        # The size of a true class is not known, so it counts as infinite.
        for name, kind in (("positive_noise_rate", truly), ("negative_noise_rate", ~truly)):
            inside = rows[kind[rows]]
            n, x = len(inside), int(population.wrong[inside].sum())
            tail = (1 - LEVEL) / 2
            low = beta.ppf(tail, x, n - x + 1) if x else 0.0
            high = beta.ppf(1 - tail, x + 1, n - x) if x < n else 1.0
            widths.setdefault(name, []).append(high - low)
    return {name: float(np.mean(values)) for name, values in widths.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=4_000, help="number of audits of each cell")
    n_draws = parser.parse_args().draws
    print_bank(n_draws)
    print(
        f"{n_draws:,} audits of {N_DRAWN} of {N_ROWS:,} rows, {LEVEL:.0%} intervals; "
        f"{PRECISION:.0%} of the suspects are wrong, {RECALL:.0%} of the wrong ones are suspects\n"
    )
    print("| wrong labels | | truth | coverage | mean width | simple random sample |")
    print("|---|---|---|---|---|---|")
    for error in ERRORS:
        population = make(error)
        truth = population.truth()
        plain = simple(population, max(1, n_draws // 10))
        for name, (coverage, width) in audited(population, n_draws).items():
            counted = name == "missed_at_most"
            shown = "{:.0f}" if counted else "{:.3f}"
            beside = f"{plain[name]:.3f}" if name in plain else ""
            print(
                f"| {error:.0%} | {name.replace('_', ' ')} | {shown.format(truth[name])} | "
                f"{coverage:.3f} | {shown.format(width)} | {beside} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
