"""Coverage and width of the intervals of a blind audit, by simulation; takes some minutes.

For each share of wrong labels, a table is generated in which suspects are wrong more often than
other rows, 10,000 audits are drawn from it, and every interval is compared with the truth. The last
column shows the width of exact intervals from a simple random sample of the same size.
"""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import dataclass

import numpy as np
from scipy.stats import beta

from rankprune import audit
from rankprune.core._melded_intervals import Part, melded_lower_limit, melded_upper_limit

N_ROWS, N_DRAWN, LEVEL = 10_000, 200, 0.95
ERRORS = (0.02, 0.1, 0.3)
# Shares of positive labels, of wrong labels among suspects, and of suspects among wrong labels.
PREVALENCE, PRECISION, RECALL = 0.3, 0.75, 0.75


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
            low, high = (
                limit([part], lambda totals: totals[0], (1 + LEVEL) / 2)
                for limit in (melded_lower_limit, melded_upper_limit)
            )
            widths.setdefault(name, []).append((high - low) / part.size)
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
    parser.add_argument("--draws", type=int, default=10_000, help="number of audits of each table")
    n_draws = parser.parse_args().draws
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
