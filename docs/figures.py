"""Draw the figures of the guide from data that it generates.

python docs/figures.py [FOLDER]    writes problem.png, four_panels.png and architecture.png
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from sklearn.linear_model import LogisticRegression

from rankprune import (
    RankPruningClassifier,
    correction_weights,
    estimate_noise_rates,
    flip_labels,
    out_of_fold_probabilities,
    prune_labels,
)
from rankprune.core import make_gaussians

# The colours of the displays, which colour-blind readers can tell apart.
POSITIVE, NEGATIVE, GONE = "#d95f02", "#3182bd", "#888888"


def draw_rows(ax: Any, X: np.ndarray, is_positive: np.ndarray, alpha: float = 0.7) -> None:
    """Draw rows in the colour and shape of their label."""
    for chosen, color, marker in ((is_positive, POSITIVE, "^"), (~is_positive, NEGATIVE, "o")):
        ax.scatter(*X[chosen].T, s=12, c=color, marker=marker, alpha=alpha, linewidths=0)


def draw_boundary(ax: Any, model: Any, X: np.ndarray, style: str, label: str) -> None:
    """Draw the decision boundary of a model."""
    weight, intercept = model.coef_[0], model.intercept_[0]
    x = np.array([X[:, 0].min(), X[:, 0].max()])
    ax.plot(x, -(intercept + weight[0] * x) / weight[1], style, linewidth=2, label=label)


def plain(ax: Any, X: np.ndarray, title: str) -> None:
    """Hide the axes, whose values have no meaning, and set the title."""
    low, high = X.min(axis=0) - 0.3, X.max(axis=0) + 0.3
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xticks=[], yticks=[])
    ax.set_title(title, fontsize=11)


def draw_problem(path: Path) -> None:
    """Draw the true labels, the given labels and the rows that are kept."""
    X, truth = make_gaussians(900, separability=2.6, prevalence=0.4, random_state=3)
    labels = flip_labels(truth, positive_noise_rate=0.4, negative_noise_rate=0.1, random_state=0)
    base = LogisticRegression()
    right, noisy = (LogisticRegression().fit(X, y) for y in (truth, labels))
    model = RankPruningClassifier(base, random_state=0).fit(X, labels)
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.9), layout="constrained")
    draw_rows(axes[0], X, truth == 1)
    draw_rows(axes[1], X, labels == 1)
    kept = ~model.prune_mask_
    axes[2].scatter(*X[~kept].T, s=10, c=GONE, marker="x", alpha=0.35, linewidths=1)
    draw_rows(axes[2], X[kept], labels[kept] == 1)
    for ax, fitted, name in (
        (axes[0], right, "correct labels"),
        (axes[1], noisy, "labels as given"),
        (axes[2], model.estimator_, "Rank Pruning"),
    ):
        score = fitted.score(X, truth)
        draw_boundary(ax, fitted, X, "k-", f"{name}: {score:.0%} correct")
        ax.legend(loc="lower left", fontsize=9, framealpha=0.9)
    plain(axes[0], X, "The true classes")
    plain(axes[1], X, f"What you have: {(labels != truth).mean():.0%} of the labels are wrong")
    plain(axes[2], X, f"The rows kept; {(~kept).mean():.0%} are dropped (×)")
    figure.savefig(path, dpi=130)
    plt.close(figure)


def draw_four_panels(path: Path) -> None:
    """Draw the steps of the algorithm on the data of the guide."""
    X, truth = make_gaussians(1000, separability=2.0, prevalence=0.5, random_state=0)
    labels = flip_labels(truth, positive_noise_rate=0.4, negative_noise_rate=0.1, random_state=0)
    is_positive, wrong = labels == 1, labels != truth
    g = out_of_fold_probabilities(LogisticRegression(), X, labels, cv=3, random_state=0)
    paper = estimate_noise_rates(labels, g, method="confident-counts")
    rates = estimate_noise_rates(labels, g)
    pruning = prune_labels(labels, g, rates)
    figure, axes = plt.subplots(2, 2, figsize=(11, 8.4), layout="constrained")

    draw_rows(axes[0, 0], X, is_positive)
    axes[0, 0].scatter(*X[wrong].T, s=42, facecolors="none", edgecolors="k", linewidths=0.6)
    plain(axes[0, 0], X, "1  Given labels; a ring marks a wrong one")

    ax, edges = axes[0, 1], np.linspace(0, g.max() + 0.02, 36)
    ax.hist(
        [g[~is_positive], g[is_positive]],
        edges,
        color=[NEGATIVE, POSITIVE],
        label=["labeled negative", "labeled positive"],
    )
    lower, upper = paper.positive_threshold, paper.negative_threshold
    top = ax.get_ylim()[1] * 1.22
    ax.axvspan(lower, edges[-1], color=POSITIVE, alpha=0.10)
    ax.axvspan(0, upper, color=NEGATIVE, alpha=0.10)
    for place, name in ((upper, "UB"), (lower, "LB")):
        ax.axvline(place, color="k", linestyle=":")
        ax.text(place, top * 0.985, f" {name}", va="top", fontsize=10)
    ax.set(
        xlim=(0, edges[-1]),
        ylim=(0, top),
        ylabel="rows",
        xlabel="g(x), probability of a positive label, out of fold",
    )
    ax.legend(loc="upper right", fontsize=9)
    ax.set_title("2  Count labels where the scores are confident (shaded)", fontsize=11)

    ax, rng = axes[1, 0], np.random.default_rng(0)
    for chosen, level, color, marker in (
        (is_positive, 1, POSITIVE, "^"),
        (~is_positive, 0, NEGATIVE, "o"),
    ):
        for kept, shown in ((~pruning.mask, color), (pruning.mask, GONE)):
            rows = chosen & kept
            height = level + rng.uniform(-0.28, 0.28, rows.sum())
            ax.scatter(g[rows], height, s=10, c=shown, marker=marker, alpha=0.6, linewidths=0)
    for place, low in ((pruning.positive_cutoff, 0.6), (pruning.negative_cutoff, -0.4)):
        ax.plot([place, place], [low, low + 0.8], "k--", linewidth=1.5)
    n_wrong = (pruning.mask & wrong).sum()
    ax.set(
        xlim=(0, edges[-1]),
        ylim=(-0.5, 1.5),
        yticks=[0, 1],
        yticklabels=["labeled\nnegative", "labeled\npositive"],
        xlabel="g(x)",
    )
    ax.set_title(
        f"3  Drop the least believable (grey): {n_wrong} of {pruning.mask.sum()} are wrong",
        fontsize=11,
    )

    keep = ~pruning.mask
    weights = correction_weights(labels[keep], rates)
    robust = LogisticRegression().fit(X[keep], labels[keep], sample_weight=weights)
    ax = axes[1, 1]
    draw_rows(ax, X[keep], is_positive[keep])
    for model, style, name in (
        (LogisticRegression().fit(X, labels), "k:", "noisy labels"),
        (LogisticRegression().fit(X, truth), "k--", "correct labels"),
        (robust, "k-", "Rank Pruning"),
    ):
        draw_boundary(ax, model, X, style, f"{name}: {model.score(X, truth):.1%} correct")
    ax.legend(loc="lower left", fontsize=9, framealpha=0.9)
    plain(ax, X, "4  Fit the rest, weighted by 1/(1 − ρ)")
    figure.savefig(path, dpi=120)
    plt.close(figure)


LINE = ("labels +\nprobabilities", "noise\nrates", "prune\nmask", "weights", "refit")
HOMES = (
    "learners/\n_probabilities.py",
    "core/estimators/",
    "core/_pruning.py",
    "core/_weights.py",
    "classifier.py",
)
LAYERS = (
    ("command line", "cli"),
    ("demo and studies", "demo, experiments"),
    ("pages", "report, review"),
    ("tasks", "check, model, export, comparison"),
    ("record of a check", "run"),
    ("data and trust", "table, diagnostics, audit, annotators"),
    ("estimators", "classifier, methods, spark, torch"),
    ("building blocks", "learners, metrics, sql, stream"),
    ("core", "core, exceptions, storage"),
)


def draw_architecture(path: Path) -> None:
    """Draw the steps, the file of each, and the layers of imports."""
    figure, ax = plt.subplots(figsize=(10, 6.9), layout="constrained")
    ax.set(xlim=(0, 10), ylim=(-0.6, 6.5))
    ax.axis("off")

    def box(x: float, y: float, width: float, height: float, color: str) -> None:
        style = "round,pad=0,rounding_size=0.08"
        ax.add_patch(
            FancyBboxPatch((x, y), width, height, style, facecolor=color, edgecolor="#555555")
        )

    ax.text(0.05, 6.25, "The steps, and where to find each", fontsize=12, weight="bold")
    for number, (step, home) in enumerate(zip(LINE, HOMES, strict=True)):
        x = 0.05 + 2.02 * number
        box(x, 5.15, 1.55, 0.8, "#fdd9b5" if home.startswith("core") else "#eef3f8")
        ax.text(x + 0.775, 5.55, step, ha="center", va="center", fontsize=10.5)
        ax.text(x + 0.775, 5.02, home, ha="center", va="top", fontsize=8, family="monospace")
        if number < 4:
            ax.add_patch(
                FancyArrowPatch(
                    (x + 1.57, 5.55),
                    (x + 2.0, 5.55),
                    arrowstyle="-|>",
                    mutation_scale=14,
                    color="k",
                )
            )
    ax.text(0.05, 4.2, "The layers: imports only point down", fontsize=12, weight="bold")
    for number, (name, modules) in enumerate(LAYERS):
        y = 3.5 - 0.5 * number
        box(0.05, y, 9.2, 0.42, "#fdd9b5" if name == "core" else "#eef3f8")
        ax.text(0.25, y + 0.21, name, va="center", fontsize=10.5, weight="bold")
        ax.text(2.6, y + 0.21, modules, va="center", fontsize=10, family="monospace")
    ax.add_patch(
        FancyArrowPatch(
            (9.6, 3.85), (9.6, -0.45), arrowstyle="-|>", mutation_scale=18, linewidth=1.5, color="k"
        )
    )
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main() -> None:
    """Draw all figures."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "images"
    folder.mkdir(parents=True, exist_ok=True)
    draw_problem(folder / "problem.png")
    draw_four_panels(folder / "four_panels.png")
    draw_architecture(folder / "architecture.png")


if __name__ == "__main__":
    main()
