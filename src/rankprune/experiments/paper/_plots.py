"""The figures of the paper, drawn from the result files alone."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune.experiments.paper import _synthetic
from rankprune.experiments.paper._average_images import CELL, GROUPS, IMAGE, pixels_file
from rankprune.experiments.paper._book import AVERAGE, Book, method_name
from rankprune.experiments.paper._illustration import METHODS as LINES
from rankprune.experiments.paper._illustration import points_file
from rankprune.experiments.paper._one_vs_rest import DATA_SETS, Cell
from rankprune.experiments.paper._recipes import TRUE

# Distinct to colour-blind readers too.
_POSITIVE, _NEGATIVE = "#d95f02", "#3182bd"
_COLOURS = (
    *("#222222", "#0072b2", "#d55e00", "#009e73", "#cc79a7"),
    *("#e69f00", "#56b4e9", "#7a5195", "#8c564b", "#999999"),
)
_DPI = 130
_AXIS = {
    "separability": "separability d",
    "dimension": "dimension",
    "added noise": "added rows, share of n",
    "examples": "training examples n",
}
_LINE_NAMES = {
    TRUE: "right labels",
    "noisy": "labels as they are",
    "rp_estimated": "Rank Pruning, rates estimated",
}


def _pyplot() -> Any:
    try:
        import matplotlib
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "Drawing the figures needs matplotlib, which is not installed. Install rankprune[plot]."
        ) from error
    from matplotlib.figure import Figure

    return matplotlib, Figure


def _new(width: float, height: float, rows: int = 1, columns: int = 1, **kwargs: Any) -> Any:
    _, figure_class = _pyplot()
    figure = figure_class(figsize=(width, height), layout="constrained", facecolor="white")
    return figure, figure.subplots(rows, columns, squeeze=False, **kwargs)


def _png(figure: Any) -> bytes:
    content = io.BytesIO()
    # Without date and version, the same results give the same file.
    figure.savefig(content, format="png", dpi=_DPI, metadata={"Software": None})
    return content.getvalue()


def draw_illustration(book: Book, folder: Path) -> bytes | None:
    """Return Figure 1: the noisy rows, their marginal, the kept rows, and three boundaries."""
    path = points_file(folder, book.seed)
    if not path.exists():
        return None
    with path.open(encoding="utf-8") as lines:
        rows = np.array([[float(v) for v in row.values()] for row in csv.DictReader(lines)])
    X, truth, labels, scores, pruned = rows[:, :2], *(rows[:, k] for k in range(2, 6))
    values = {
        (key.method, key.metric): record.value
        for key, record in book.records.items()
        if key.dataset == "gaussians, illustration"
    }
    figure, axes = _new(10.5, 9, 2, 2)
    every = np.ones(len(X), bool)
    _scatter(axes[0, 0], X, truth, labels, every)
    axes[0, 0].set_title("a   Given labels (colour) and right ones (sign)")
    axes[0, 0].legend(loc="upper left", fontsize=8)
    _marginal(axes[0, 1], X, labels, scores, values)
    _scatter(axes[1, 0], X, truth, labels, pruned == 0)
    axes[1, 0].set_title(f"c   What is kept: {int((pruned == 0).sum())} of {len(X)} rows")
    _scatter(axes[1, 1], X, truth, truth, every, alpha=0.25)
    for method, style in zip(LINES, ("-", "--", ":"), strict=True):
        a, b, c = (values[method, name] for name in ("slope_x", "slope_y", "intercept"))
        across = np.linspace(X[:, 0].min(), X[:, 0].max(), 2)
        axes[1, 1].plot(
            across,
            -(a * across + c) / b,
            style,
            color="black",
            linewidth=2,
            label=f"{_LINE_NAMES[method]}: {values[method, 'accuracy']:.2%}",
        )
    axes[1, 1].set_ylim(X[:, 1].min() - 0.5, X[:, 1].max() + 0.5)
    axes[1, 1].set_title("d   Boundaries, and their accuracy on new rows with right labels")
    axes[1, 1].legend(handles=axes[1, 1].lines, loc="upper right", fontsize=8)
    return _png(figure)


def _scatter(
    ax: Any, X: Any, truth: Any, labels: Any, shown: NDArray[np.bool_], alpha: float = 0.8
) -> None:
    for right, marker in ((1, "+"), (0, "_")):
        for given, colour in ((1, _POSITIVE), (0, _NEGATIVE)):
            chosen = shown & (truth == right) & (labels == given)
            ax.scatter(
                *X[chosen].T,
                marker=marker,
                c=colour,
                alpha=alpha,
                s=28,
                label=f"y = {right}, s = {given}: {int(chosen.sum())}",
            )
    ax.set(xlabel="$x_1$", ylabel="$x_2$")


def _marginal(ax: Any, X: Any, labels: Any, scores: Any, values: dict[Any, float]) -> None:
    along = X.sum(axis=1) / np.sqrt(2)
    bins = np.linspace(along.min(), along.max(), 30).tolist()
    ax.hist(
        [along[labels == 0], along[labels == 1]],
        bins,
        stacked=True,
        color=[_NEGATIVE, _POSITIVE],
        alpha=0.5,
        label=["s = 0", "s = 1"],
    )
    ax.set(xlabel="$x_p$, along the line through both means", ylabel="rows")
    twin = ax.twinx()
    twin.plot(along, scores, "k.", markersize=2, label="g(x), out of fold")
    for name, style in (("positive_threshold", "--"), ("negative_threshold", ":")):
        bound = values["rp_estimated", name]
        symbol = "LB, y = 1" if name[0] == "p" else "UB, y = 0"
        twin.axhline(bound, color="black", linestyle=style, label=f"{symbol}: {bound:.2f}")
    twin.set(ylim=(0, 1), ylabel="g(x) = P(s = 1 | x)")
    twin.legend(loc="center left", fontsize=8)
    ax.legend(loc="upper left", fontsize=8)
    ax.set_title(
        f"b   Estimated: ρ₁ {values['rp_estimated', 'rho1_hat']:.3f}, "
        f"ρ₀ {values['rp_estimated', 'rho0_hat']:.3f}"
    )


def draw_panels(book: Book, metric: str, method: str) -> bytes | None:
    """Return Figure 2 or 3: one line for each noise cell."""
    lines = {
        f"π₁ = {cell[0]:g}, ρ₁ = {cell[1]:g}": (metric, cell, method) for cell in _synthetic.CELLS
    }
    left_out = ("added noise",) if metric == _synthetic.THEORY else ()
    label = "F1" if metric == "f1" else "|theory - estimate|, ρ₁ and ρ₀ summed"
    return _draw_panels(book, lines, label, left_out)


def draw_comparison(book: Book) -> bytes | None:
    """Return Figure 4: one line for each method at (.5, .5)."""
    cell = _synthetic.COMPARED_AT
    lines = {method_name(method): ("f1", cell, method) for method in _synthetic.METHODS}
    return _draw_panels(book, lines, "F1")


def _draw_panels(
    book: Book,
    lines: dict[str, tuple[str, Cell, str]],
    label: str,
    left_out: tuple[str, ...] = (),
) -> bytes | None:
    panels = {name: values for name, values in _synthetic.PANELS.items() if name not in left_out}
    if not any(book.has(f"gaussians, {panel}") for panel in panels):
        return None
    figure, axes = _new(3.6 * len(panels), 4.4, 1, len(panels))
    for ax, (panel, values) in zip(axes[0], panels.items(), strict=True):
        for number, (title, (metric, cell, method)) in enumerate(lines.items()):
            points = [
                (
                    value,
                    book.figure(
                        f"gaussians, {panel}", "logreg", metric, f"{value:g}", cell, method
                    ),
                )
                for value in values
            ]
            there = [(x, y) for x, y in points if y is not None and np.isfinite(y)]
            if there:
                # Every other line is dashed, because many lines overlap.
                style, colour = ("-", "--")[number % 2], _COLOURS[number]
                ax.plot(*zip(*there, strict=True), style, marker="o", ms=3, c=colour, label=title)
        ax.set(xlabel=_AXIS[panel], ylabel=label if ax is axes[0, 0] else "")
        ax.grid(alpha=0.3)
        if label == "F1":
            # The same scale in all panels, so that small differences look small.
            ax.set_ylim(-0.03, 1.03)
        if panel in ("examples", "dimension"):
            ax.set_xscale("log")
            ax.set_xticks(values[::2], [f"{value:g}" for value in values[::2]])
            ax.minorticks_off()
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=min(len(names), 5), fontsize=9)
    return _png(figure)


def draw_grid(book: Book, dataset: str, cells: list[Cell]) -> bytes | None:
    """Return Figure 5: estimated rates and those expected by theory, by noise cell."""
    name = f"{dataset}, grid"
    if not book.has(name):
        return None
    matplotlib, _ = _pyplot()
    figure, axes = _new(16, 6.4, 1, 2)
    across, down = sorted({rho for _, rho in cells}), sorted({pi for pi, _ in cells}, reverse=True)
    for ax, metric, symbol in zip(axes[0], ("rho1_hat", "pi1_hat"), ("ρ₁", "π₁"), strict=True):
        shades = np.full((len(down), len(across)), np.nan)
        for cell in cells:
            found, theory = (
                book.figure(name, "logreg", metric, AVERAGE, cell, method)
                for method in ("rp_estimated", "theory")
            )
            row, column = down.index(cell[0]), across.index(cell[1])
            if found is None or theory is None:
                ax.text(column, row, "not\nrun", ha="center", va="center", fontsize=7)
                continue
            shades[row, column] = found - cell[1 if metric == "rho1_hat" else 0]
            ax.text(
                column,
                row,
                f"{found:.2f}\n{theory:.2f}",
                ha="center",
                va="center",
                fontsize=8,
                color="white" if abs(shades[row, column]) > 0.27 else "black",
            )
        colours = matplotlib.colormaps["PuOr_r"]
        image = ax.imshow(shades, cmap=colours, vmin=-0.4, vmax=0.4, aspect="auto")
        ax.set_xticks(range(len(across)), [f"{rho:g}" for rho in across])
        ax.set_yticks(range(len(down)), [f"{pi:g}" for pi in down])
        ax.set(xlabel="ρ₁", ylabel="π₁", title=f"{symbol}: estimated (above), by theory (below)")
        figure.colorbar(image, ax=ax, label=f"estimated - true {symbol}")
    return _png(figure)


def draw_averages(book: Book, dataset: str, folder: Path) -> bytes | None:
    """Return Figure B1: average images by group and digit, with the counts."""
    path = pixels_file(folder, dataset, book.seed)
    if not path.exists():
        return None
    with path.open(encoding="utf-8") as lines:
        pixels = {(row[0], row[1]): np.array(row[2:], float) for row in csv.reader(lines)}
    images = DATA_SETS[dataset].images
    figure, axes = _new(11, 5.2, len(GROUPS), len(images))
    side = int(np.sqrt(len(pixels[images[0], GROUPS[0]])))
    for ax_row, group in zip(axes, GROUPS, strict=True):
        counts = [
            int(book.figure(f"{dataset}, averages", "logreg", "count", one, CELL, group) or 0)
            for one in images
        ]
        for ax, image, count in zip(ax_row, images, counts, strict=True):
            if count:
                ax.imshow(255 - pixels[image, group].reshape(side, side), cmap="gray")
            ax.set_xticks([])
            ax.set_yticks([])
            ax.set_xlabel(f"{count:,}", fontsize=8)
            if group == GROUPS[0]:
                ax.set_title(image)
            for spine in ax.spines.values():
                spine.set_color(_POSITIVE if image == IMAGE else "#bbbbbb")
        first = group.replace(", ", ",\n")
        ax_row[0].set_ylabel(f"{first}:\n{sum(counts):,}", fontsize=8)
    return _png(figure)
