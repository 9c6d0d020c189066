"""The reproduction as Markdown: every figure beside the paper's, and how far they agree."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rankprune.experiments._mnist import FOUR_CELLS
from rankprune.experiments._table import Table
from rankprune.experiments.paper import _synthetic
from rankprune.experiments.paper._average_images import CELL, GROUPS, IMAGE
from rankprune.experiments.paper._book import (
    ADDED,
    AVERAGE,
    DATA_NAMES,
    NOT_RUN,
    PUBLISHED,
    Book,
    cell_name,
    mean_of,
    method_name,
    paper_figure,
    side_by_side,
)
from rankprune.experiments.paper._findings import findings_page
from rankprune.experiments.paper._network_pages import network_page
from rankprune.experiments.paper._network_tables import NETWORKS
from rankprune.experiments.paper._one_vs_rest import DATA_SETS, Cell
from rankprune.experiments.paper._plots import (
    draw_averages,
    draw_comparison,
    draw_grid,
    draw_illustration,
    draw_panels,
)
from rankprune.experiments.paper._rate_grid import GRID_METRICS, METHODS, THEORY, grid_cells
from rankprune.experiments.paper._recipes import TRUE
from rankprune.storage._atomic import write_whole

# Noise, folds and networks are random, so means that differ by at most this count as equal.
_NEAR = 0.02
METRIC_NAMES = {
    "f1": "F1",
    "error": "error",
    "auc_pr": "AUC-PR",
    "average_precision": "average precision",
}


def render(results: Path, docs: Path, *, small: bool = False, seed: int = 0) -> list[Path]:
    """Write every page and figure from the result files; return their paths."""
    book = Book.read(results, seed)
    data_sets = ["digits"] if small else ["mnist", "cifar"]
    grid = data_sets[0]
    pages = {
        "README.md": findings_page(book, data_sets),
        "table3.md": _logistic_page(book, data_sets),
        "tablec5.md": "# Tables C5 to C7: logistic regression, by class\n\n"
        + _class_part(book, data_sets[-1], "logreg"),
        "table4.md": "# Tables 4, C3, C4, C8 and C9: convolutional networks, by class\n\n"
        + "\n".join(
            _class_part(book, dataset, network)
            for dataset in data_sets
            for network in book.networks(dataset)
        ),
        "networks.md": network_page(book, grid),
        "figures.md": _figures_page(book, grid, grid_cells(small=small)),
    }
    pictures = {
        "fig1.png": draw_illustration(book, results),
        "fig2.png": draw_panels(book, "f1", "rp_estimated"),
        "fig3.png": draw_panels(book, _synthetic.THEORY, "rp_estimated"),
        "fig4.png": draw_comparison(book),
        "fig5.png": draw_grid(book, grid, grid_cells(small=small)),
        "figb.png": draw_averages(book, grid, results),
    }
    files = {name: text.encode() for name, text in pages.items()}
    files |= {name: content for name, content in pictures.items() if content is not None}
    for name, content in files.items():
        write_whole(docs / name, content)
    return [docs / name for name in files]


# ---- Table 3


def _logistic_page(book: Book, data_sets: list[str]) -> str:
    parts = [
        "# Tables 3, C1 and C2: logistic regression\n",
        "One class of images against the rest, learned from flipped labels and measured on true "
        "test labels; means of all ten classes. Folds are stratified by the true class and the "
        "same for every method. In brackets are the paper's figure and ours minus the paper's. "
        "Rows are noise cells: π₁, the share of positive labels that are wrong, and ρ₁, the share "
        "of positives labeled negative.\n",
        "L2 penalty with C = 1, except on the intercept; pixels in [0, 1]; each model fitted until "
        "the gradient of its mean loss is below 10⁻⁶. This is the minimum that scikit-learn's "
        "`LogisticRegression()` finds with any solver except liblinear.\n",
    ]
    for dataset in data_sets:
        cells = DATA_SETS[dataset].logreg_cells
        parts.append(f"## {DATA_NAMES[dataset]}\n")
        for metric in ("f1", "error", "auc_pr"):
            parts.append(str(_side_table(book, dataset, "logreg", metric, cells)))
        for metric in ("f1", "error", "auc_pr"):
            parts.append(str(_own_table(book, dataset, "logreg", metric, ADDED, cells)))
        everything = [*PUBLISHED, *ADDED]
        own = _own_table(book, dataset, "logreg", "average_precision", everything, cells)
        parts.append(str(own))
        parts.append(str(_agreement(book, dataset, "logreg", cells)))
        parts.append(_why(book, dataset, "logreg", cells))
    return "\n".join(parts)


def _side_table(
    book: Book, dataset: str, classifier: str, metric: str, cells: Sequence[Cell]
) -> Table:
    rows = []
    for cell in [*cells, None]:
        texts = ["mean" if cell is None else cell_name(cell)]
        for method in PUBLISHED:
            chosen = list(cells) if cell is None else [cell]
            ours, paper = (
                mean_of([look(dataset, classifier, metric, AVERAGE, one, method) for one in chosen])
                for look in (book.figure, paper_figure)
            )
            texts.append(side_by_side(ours, paper))
        rows.append(texts)
    return Table(
        f"{DATA_NAMES[dataset]}: {METRIC_NAMES[metric]}, the paper's methods",
        "Ours (the paper's, difference).",
        ("π₁ / ρ₁", *(method_name(method) for method in PUBLISHED)),
        rows,
    )


def _own_table(
    book: Book,
    dataset: str,
    classifier: str,
    metric: str,
    methods: Sequence[str],
    cells: Sequence[Cell],
) -> Table:
    rows = []
    for method in methods:
        values = [book.figure(dataset, classifier, metric, AVERAGE, cell, method) for cell in cells]
        rows.append(
            [method_name(method), *(side_by_side(v, None) for v in (*values, mean_of(values)))]
        )
    return Table(
        f"{DATA_NAMES[dataset]}: {METRIC_NAMES[metric]}, "
        + ("every method" if TRUE in methods else "beyond the paper"),
        "Columns are π₁ / ρ₁.",
        ("method", *map(cell_name, cells), "mean"),
        rows,
    )


def _agreement(book: Book, dataset: str, classifier: str, cells: Sequence[Cell]) -> Table:
    """Return how far our figures are from the paper's, by method."""
    rows = []
    for method in PUBLISHED:
        texts, verdict = [method_name(method)], NOT_RUN
        for metric in ("f1", "error", "auc_pr"):
            differences = _differences(book, dataset, classifier, metric, cells, method)
            if not differences:
                texts += [NOT_RUN, NOT_RUN]
                continue
            texts += [f"{np.mean(differences):+.3f}", f"{np.max(np.abs(differences)):.3f}"]
            if metric == "f1":
                verdict = _verdict(differences)
        rows.append([*texts, verdict])
    heads = [
        part for metric in ("F1", "error", "AUC-PR") for part in (f"{metric}, mean", "largest")
    ]
    return Table(
        f"{DATA_NAMES[dataset]}: how far from the paper",
        "Ours minus the paper's over the cells: the mean, and the largest in either direction. "
        f"Reproduced means an F1 that differs by {_NEAR:g} or less on average, either way.",
        ("method", *heads, "F1 is"),
        rows,
    )


def _why(book: Book, dataset: str, classifier: str, cells: Sequence[Cell]) -> str:
    """Return a paragraph on how far models of true labels differ from the paper's."""
    f1, area = (
        _differences(book, dataset, classifier, metric, cells, TRUE) for metric in ("f1", "auc_pr")
    )
    if not f1 or not area:
        return ""
    cause = (
        "the paper's were fitted by liblinear to pixels from 0 to 255, almost without a penalty, "
        "and stopped before their minimum ([the effect](README.md))"
        if classifier == "logreg"
        else "ours are smaller networks trained for fewer epochs"
    )
    return (
        f"Models fitted to true labels, without any of the methods, already differ by {f1[0]:+.3f} "
        f"in F1 and {area[0]:+.3f} in AUC-PR: {cause}. Liu16 differs because of "
        "[its formula](README.md).\n"
    )


def _differences(
    book: Book, dataset: str, classifier: str, metric: str, cells: Sequence[Cell], method: str
) -> list[float]:
    pairs = [book.beside(dataset, classifier, metric, AVERAGE, cell, method) for cell in cells]
    return [ours - paper for ours, paper in pairs if ours is not None and paper is not None]


def _verdict(differences: Sequence[float]) -> str:
    if np.mean(np.abs(differences)) <= _NEAR:
        return "reproduced"
    return "higher here" if np.mean(differences) > 0 else "lower here"


# ---- Tables by class: 4, C3 to C9


def _class_part(book: Book, dataset: str, classifier: str) -> str:
    what = "logistic regression" if classifier == "logreg" else "convolutional network"
    parts = [f"## {DATA_NAMES[dataset]}, {what}\n"]
    if classifier != "logreg":
        network = NETWORKS[dataset]
        epochs = classifier.removeprefix("cnn").removeprefix("-") or network["max_epochs"]
        channels = " and ".join(map(str, network["channels"]))
        precision = "convolutions in bfloat16" if network.get("half_precision") else "float32"
        parts.append(
            f"Blocks of a convolution (5 x 5, then 3 x 3; {channels} channels), max pooling of "
            "2 x 2, batch normalisation and a rectifier; dropout .25, 64 hidden units, dropout .5, "
            "one output. Weighted cross-entropy, AdamW with a one-cycle learning rate up to .004, "
            f"batches of {network.get('batch_size', 256)}, {epochs} epochs, {precision}; "
            "10 % of the rows are held out, and the epoch with the lowest weighted loss on them is "
            "kept. The paper's networks are larger and were trained for up to 50 epochs on MNIST "
            "and 150 on CIFAR-10, stopping after 10 without improvement; `--epochs 50` does the "
            "same. [Networks that expect noise](networks.md) have a page of their own.\n"
        )
    parts.append("Ours (the paper's, difference).\n")
    for metric in ("f1", "error", "auc_pr"):
        for cell in FOUR_CELLS:
            parts.append(str(_class_table(book, dataset, classifier, metric, cell)))
    parts.append(str(_agreement(book, dataset, classifier, FOUR_CELLS)))
    parts.append(_why(book, dataset, classifier, FOUR_CELLS))
    return "\n".join(parts)


def _class_table(book: Book, dataset: str, classifier: str, metric: str, cell: Cell) -> Table:
    methods = PUBLISHED if classifier == "logreg" else [*PUBLISHED, "noisy"]
    rows = []
    for image in (*DATA_SETS[dataset].images, AVERAGE):
        texts = [image]
        for method in methods:
            ours, paper = book.beside(dataset, classifier, metric, image, cell, method)
            fine = metric == "error" and dataset == "mnist"  # as the paper prints them
            texts.append(side_by_side(ours, paper, digits=4 if fine else 3))
        rows.append(texts)
    return Table(
        f"{DATA_NAMES[dataset]}: {METRIC_NAMES[metric]} at π₁ / ρ₁ = {cell_name(cell)}",
        "",
        ("image", *(method_name(method) for method in methods)),
        rows,
    )


# ---- Figures


def _figures_page(book: Book, grid: str, cells: list[Cell]) -> str:
    n_trials = {int(record.value) for key, record in book.records.items() if key.metric == "trials"}
    trials = " or ".join(map(str, sorted(n_trials))) or "0"
    return "\n".join(
        [
            "# Figures 1 to 5 and B1\n",
            "## Figure 1: the algorithm, step by step\n",
            "![Rank Pruning on two Gaussian classes](fig1.png)\n",
            str(_illustration_table(book)),
            "The paper does not say how its rows were drawn. Ours come from two Gaussians of equal "
            "size, as far apart as its accuracy on true labels requires.\n",
            "## Figure 2: Rank Pruning on Gaussians, five noise levels\n",
            f"Mean F1 of {trials} trials, rates estimated, on 5,000 new rows with true labels.\n",
            "![F1 against separability, dimension, added noise and examples](fig2.png)\n",
            "## Figure 3: theory against estimate\n",
            "The sum of the absolute differences of ρ₁ and ρ₀ between Lemma 3 and the estimate. "
            "There is no panel for added rows, which the lemma does not cover.\n",
            "![Differences between theory and estimate](fig3.png)\n",
            "## Figure 4: all methods at π₁ = ρ₁ = .5\n",
            "![F1 of all methods](fig4.png)\n",
            str(_added_noise_table(book)),
            f"## Figure 5: estimated noise rates on {DATA_NAMES[grid]}\n",
            "![Estimated rates by noise cell](fig5.png)\n",
            str(_grid_table(book, grid, cells)),
            "## Figure B1: what is kept and what is pruned\n",
            f"“{IMAGE}” or not at π₁ = ρ₁ = .5, logistic regression, rates estimated; the "
            "number of images is below each. The paper's caption does not name its rows; these "
            "four groups are our interpretation.\n",
            "![Average images](figb.png)\n",
            str(_average_table(book, grid)),
        ]
    )


def _illustration_table(book: Book) -> Table:
    paper = {
        "accuracy": {"rp_estimated": 0.9416, TRUE: 0.9416, "noisy": 0.7883},
        "rho1_hat": {"rp_estimated": 0.4237},
        "rho0_hat": {"rp_estimated": 0.1144},
    }
    found = {
        (key.metric, key.method): record.value
        for key, record in book.records.items()
        if key.dataset == "gaussians, illustration"
    }
    rows = [
        [metric.replace("_hat", ", estimated"), method_name(method)]
        + [side_by_side(found.get((metric, method)), value, digits=4)]
        for metric, values in paper.items()
        for method, value in values.items()
    ]
    note = "True rates: ρ₁ = .4, ρ₀ = .1. Ours (the paper's, difference)."
    return Table("Figure 1 in numbers", note, ("", "learned from", "figure"), rows)


def _added_noise_table(book: Book) -> Table:
    values = _synthetic.PANELS["added noise"]
    rows = [
        [method_name(method)]
        + [
            side_by_side(
                book.figure(
                    "gaussians, added noise",
                    "logreg",
                    "f1",
                    f"{value:g}",
                    _synthetic.COMPARED_AT,
                    method,
                ),
                None,
            )
            for value in values
        ]
        for method in _synthetic.METHODS
    ]
    return Table(
        "F1 with rows added from a third distribution",
        "Columns are added rows as a share of n: at 1, half of all rows are noise.",
        ("method", *(f"{value:g}" for value in values)),
        rows,
    )


def _grid_table(book: Book, dataset: str, cells: list[Cell]) -> Table:
    """Return the mean absolute differences that the paper quotes."""
    name = f"{dataset}, grid"
    paper = {
        ("rp_estimated", "rho1_hat"): 0.105,
        ("rp_estimated", "pi1_hat"): 0.062,
        (THEORY, "rho1_hat"): 0.0028,
        (THEORY, "pi1_hat"): 0.0058,
    }
    rows = []
    for method in (*METHODS, THEORY):
        texts = [
            "estimate - theory" if method == THEORY else f"{method_name(method)}: estimate - true"
        ]
        for metric, truth in zip(GRID_METRICS, (1, 0), strict=True):
            pairs = []
            for cell in cells:
                found = book.figure(
                    name,
                    "logreg",
                    metric,
                    AVERAGE,
                    cell,
                    "rp_estimated" if method == THEORY else method,
                )
                other = (
                    book.figure(name, "logreg", metric, AVERAGE, cell, THEORY)
                    if method == THEORY
                    else cell[truth]
                )
                pairs.append(None if found is None or other is None else abs(found - other))
            texts.append(side_by_side(mean_of(pairs), paper.get((method, metric)), digits=4))
        rows.append(texts)
    return Table(
        "Mean absolute differences over the grid",
        "Differences of the means of all ten digits. Ours (the paper's, difference).",
        ("", "ρ₁", "π₁"),
        rows,
    )


def _average_table(book: Book, dataset: str) -> Table:
    rows = []
    for group in GROUPS:
        counts = [
            book.figure(f"{dataset}, averages", "logreg", "count", image, CELL, group)
            for image in DATA_SETS[dataset].images
        ]
        total = None if None in counts else sum(count for count in counts if count is not None)
        ones = counts[DATA_SETS[dataset].images.index(IMAGE)]
        rows.append(
            [
                group,
                NOT_RUN if ones is None else f"{ones:,.0f}",
                NOT_RUN if total is None or ones is None else f"{total - ones:,.0f}",
                NOT_RUN if total is None else f"{total:,.0f}",
            ]
        )
    return Table(
        "Number of images in each group",
        "",
        ("group", f"true {IMAGE}", "others", "all"),
        rows,
    )
