"""Bias and coverage of metrics from noisy test labels, on simulated data with known truth.

    python benchmarks/clean_metrics.py --draws 10000

Each draw is a fresh test set with labels flipped row by row, and a fixed model whose scores are
normal in each class: variance 1 around 0 for negatives, 0.8 around the separability for positives.
The truth is known in closed form.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.stats import norm

from rankprune import NoiseRates
from rankprune.metrics import clean_metrics

PREVALENCE, POSITIVE_VARIANCE = 0.3, 0.8


def draw(
    n_rows: int, separability: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return true labels and scores."""
    truth = rng.random(n_rows) < PREVALENCE
    scale = np.where(truth, np.sqrt(POSITIVE_VARIANCE), 1.0)
    return truth, separability * truth + scale * rng.standard_normal(n_rows)


def exact_metrics(separability: float, threshold: float) -> dict[str, float]:
    """Return the metrics on infinitely many rows with clean labels."""
    recall = norm.sf((threshold - separability) / np.sqrt(POSITIVE_VARIANCE))
    false_positive_rate = norm.sf(threshold)
    true_positives = PREVALENCE * recall
    false_positives = (1 - PREVALENCE) * false_positive_rate
    error = PREVALENCE - true_positives + false_positives
    return {
        "accuracy": 1 - error,
        "error": error,
        "recall": recall,
        "false_positive_rate": false_positive_rate,
        "precision": true_positives / (true_positives + false_positives),
        "f1": 2 * true_positives / (PREVALENCE + true_positives + false_positives),
        "balanced_accuracy": (recall + 1 - false_positive_rate) / 2,
        "roc_auc": norm.cdf(separability / np.sqrt(1 + POSITIVE_VARIANCE)),
    }


def evaluate(n_draws: int, n_rows: int, separability: float, levels: list[tuple]) -> None:
    """Print a row for each noise level and metric."""
    rng = np.random.default_rng(0)
    threshold = separability / 2 + 0.1
    exact = exact_metrics(separability, threshold)
    print(f"\n{n_draws:,} draws of {n_rows:,} rows, separability {separability}, 95 % intervals\n")
    print("| rho1 | rho0 | metric | truth | noisy | mean estimate | bias | coverage |")
    print("|---|---|---|---|---|---|---|---|")
    for rho1, rho0 in levels:
        rates = NoiseRates.from_noise_rates(rho1, rho0, 0.5)
        found: dict[str, list[tuple[float, bool, float]]] = {name: [] for name in exact}
        for _ in range(n_draws):
            y, scores = draw(n_rows, separability, rng)
            chance = rng.random(n_rows)
            labels = np.where(y, chance >= rho1, chance < rho0)
            metrics = clean_metrics(labels, scores > threshold, rates, scores=scores)
            for name, metric in metrics.items():
                covered = metric.low <= exact[name] <= metric.high
                found[name].append((metric.value, covered, metric.noisy))
        for name, results in found.items():
            value, coverage, noisy = np.mean(np.array(results, dtype=float), axis=0)
            print(
                f"| {rho1} | {rho0} | {name} | {exact[name]:.4f} | {noisy:.4f} | {value:.4f} | "
                f"{value - exact[name]:+.4f} | {coverage:.1%} |",
                flush=True,
            )


def main() -> None:
    """Print the figures of an average model on many rows, then of a strong one on few."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--draws", type=int, default=10_000)
    n_draws = parser.parse_args().draws
    levels = [(0.0, 0.0), (0.2, 0.0), (0.0, 0.1), (0.3, 0.1), (0.4, 0.2)]
    evaluate(n_draws, 2000, 1.2, levels)
    evaluate(n_draws, 200, 4.0, [(0.0, 0.0), (0.3, 0.1)])


if __name__ == "__main__":
    main()
