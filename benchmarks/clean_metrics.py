"""Bias and coverage of metrics from noisy test labels, on simulated data with known truth.

    python benchmarks/clean_metrics.py --draws 10000

Each draw is a fresh test set of the paper's Gaussians with a fixed linear model, labels flipped
row by row. The truth is the metric of that model on five million clean rows.
"""

from __future__ import annotations

import argparse

import numpy as np

from rankprune import NoiseRates
from rankprune.metrics import clean_metrics

PREVALENCE, SEPARABILITY = 0.3, 1.2


def draw(n_rows: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """True labels, and the scores of a model that is neither perfect nor useless."""
    truth = rng.random(n_rows) < PREVALENCE
    scale = np.where(truth, np.sqrt(0.8), 1.0)
    return truth, SEPARABILITY * truth + scale * rng.standard_normal(n_rows)


def main() -> None:
    """Print a row for each noise level and metric."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--draws", type=int, default=10_000)
    parser.add_argument("--rows", type=int, default=2_000)
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    none = NoiseRates.from_noise_rates(0, 0, 0.5)
    truth, scores = draw(5_000_000, rng)
    exact = clean_metrics(truth, scores > 0.7, none, scores=scores)
    print(f"{arguments.draws:,} draws of {arguments.rows:,} rows, intervals of 95 %\n")
    print("| rho1 | rho0 | metric | truth | noisy | mean estimate | bias | coverage |")
    print("|---|---|---|---|---|---|---|---|")
    for rho1, rho0 in ((0.0, 0.0), (0.2, 0.0), (0.0, 0.1), (0.3, 0.1), (0.4, 0.2)):
        rates = NoiseRates.from_noise_rates(rho1, rho0, 0.5)
        found: dict[str, list[tuple[float, bool, float]]] = {name: [] for name in exact}
        for _ in range(arguments.draws):
            y, scores = draw(arguments.rows, rng)
            chance = rng.random(arguments.rows)
            labels = np.where(y, chance >= rho1, chance < rho0)
            for name, metric in clean_metrics(labels, scores > 0.7, rates, scores=scores).items():
                covered = metric.low <= exact[name].value <= metric.high
                found[name].append((metric.value, covered, metric.noisy))
        for name, results in found.items():
            value, coverage, noisy = np.mean(np.array(results, dtype=float), axis=0)
            print(
                f"| {rho1} | {rho0} | {name} | {exact[name].value:.4f} | {noisy:.4f} | "
                f"{value:.4f} | {value - exact[name].value:+.4f} | {coverage:.1%} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
