"""The page on networks that expect noise: what each method does under each kind of noise."""

from __future__ import annotations

from rankprune.experiments._mnist import FOUR_CELLS
from rankprune.experiments._table import Table
from rankprune.experiments.paper._book import (
    DATA_NAMES,
    Book,
    cell_name,
    mean_of,
    method_name,
    side_by_side,
)
from rankprune.experiments.paper._network_methods import DIFFICULTY, NETWORK_METHODS, TRUSTED_SHARE
from rankprune.experiments.paper._network_noise import (
    ADDED_CELL,
    CHOOSING,
    DIFFICULT_CELL,
    IMAGES,
    N_TRIALS,
    SHARES,
    TEN_CELL,
)
from rankprune.experiments.paper._one_vs_rest import DATA_SETS
from rankprune.experiments.paper._recipes import TRUE

_EVERY = (*CHOOSING, *NETWORK_METHODS)

_INTRODUCTION = f"""# Networks that expect noise

The paper names networks that change how they learn instead of choosing rows: by bootstrapping and
reconstruction (Reed et al. 2014) and by a model of the noise (Xiao et al. 2015). Corrected losses
(Patrini et al. 2017) are the form of Nat13 for networks. `rankprune paper networks` measures them
beside Rank Pruning; all are in `rankprune.torch`. The paper has no figures of them.

The method of Xiao et al. is given the right label of one row in {round(1 / TRUSTED_SHARE)}, as it
is in its source; no other method is. Co-training takes negative labels for unlabeled rows, and the
left and right half of an image for its views. "True rates given" means the true noise rates.
Estimated rates are those of the paper's estimator, from out-of-fold probabilities; with ten classes
they are read off at anchor rows.
"""


def network_page(book: Book, dataset: str) -> str:
    """Return the page as Markdown."""
    name = DATA_NAMES[dataset]
    digits = ", ".join(_images(book, dataset)) or "not run"
    return "\n".join(
        [
            _INTRODUCTION,
            f"## Class-conditional flips: {name}, one class against the rest\n",
            f"Means of the classes {digits}. The networks, folds and flips are those of "
            "[Table 4](table4.md), with single precision where the loss is not a plain "
            "cross-entropy.\n",
            *(str(_flips_table(book, dataset, metric)) for metric in ("f1", "error")),
            f"## Flips that follow difficulty: {name}, one class against the rest\n",
            f"As many flips as at π₁ / ρ₁ = {cell_name(DIFFICULT_CELL)}, but hard rows are flipped "
            "more often: the chance grows with the square root of the probability that logistic "
            "regression, fitted to true labels of other rows, gives to the other class.\n",
            str(_difficulty_table(book, dataset)),
            "## Rows from elsewhere: the panel of Figure 4\n",
            f"Two Gaussians at π₁ / ρ₁ = {cell_name(ADDED_CELL)}, with rows of random labels added "
            "from a uniform distribution. Small networks of one layer; mean F1 of "
            f"{N_TRIALS} trials on new rows.\n",
            str(_added_table(book)),
            f"## Ten classes: {name}, each digit becomes one other\n",
            f"{TEN_CELL[1]:.0%} of the labels of each digit are those of one other digit. Two "
            "layers of 500 and 300 units, 20 epochs; the epoch with the lowest loss on held-out "
            "noisy labels is kept. Accuracy on true test labels.\n",
            str(_ten_table(book, dataset)),
        ]
    )


def _images(book: Book, source: str) -> list[str]:
    """Return the classes for which every method was measured: means then compare like with like."""
    measured = {(key.image, key.method) for key in book.records if key.dataset == source}
    return [
        image
        for image in DATA_SETS[source.split(",")[0]].images
        if all((image, method) in measured for method in NETWORK_METHODS)
    ]


def _flips_table(book: Book, dataset: str, metric: str) -> Table:
    images = _images(book, dataset) or list(IMAGES)
    rows = []
    for method in _EVERY:
        values = [
            mean_of([book.figure(dataset, "cnn", metric, image, cell, method) for image in images])
            for cell in FOUR_CELLS
        ]
        rows.append([title(method), *(_shown(one, metric) for one in (*values, mean_of(values)))])
    name = {"f1": "F1", "error": "error"}[metric]
    return Table(
        f"{DATA_NAMES[dataset]}: {name}, networks under class-conditional flips",
        "Columns are π₁ / ρ₁.",
        ("method", *map(cell_name, FOUR_CELLS), "mean"),
        rows,
    )


def _difficulty_table(book: Book, dataset: str) -> Table:
    source = f"{dataset}, {DIFFICULTY}"
    images = _images(book, source) or list(IMAGES)
    rows = []
    for method in _EVERY:
        texts = [title(method)]
        for metric in ("f1", "error"):
            values = [
                book.figure(source, "cnn", metric, image, DIFFICULT_CELL, method)
                for image in images
            ]
            texts += [_shown(one, metric) for one in (*values, mean_of(values))]
        rows.append(texts)
    heads = [f"{metric}, {image}" for metric in ("F1", "error") for image in (*images, "mean")]
    return Table(
        f"{DATA_NAMES[dataset]}: networks under flips that follow difficulty",
        "",
        ("method", *heads),
        rows,
    )


def _added_table(book: Book) -> Table:
    source = ("gaussians, added noise", "net", "f1")
    rows = []
    for method in _EVERY:
        values = [book.figure(*source, f"{share:g}", ADDED_CELL, method) for share in SHARES]
        rows.append([title(method), *(_shown(value, "f1") for value in values)])
    return Table(
        "F1 of networks with rows from elsewhere",
        "Columns are added rows as a share of n: at 1, half of all rows are noise.",
        ("method", *(f"{share:g}" for share in SHARES)),
        rows,
    )


def _ten_table(book: Book, dataset: str) -> Table:
    of_many = [name for name, method in NETWORK_METHODS.items() if not method.is_for_two]
    methods = (TRUE, "noisy", *of_many)
    values = [
        book.figure(f"{dataset}, ten classes", "net", "accuracy", "all", TEN_CELL, method)
        for method in methods
    ]
    return Table(
        f"{DATA_NAMES[dataset]}: accuracy, ten classes at {TEN_CELL[1]:.0%} flips",
        "",
        ("method", "accuracy"),
        [[title(method), _shown(one, "f1")] for method, one in zip(methods, values, strict=True)],
    )


def title(method: str) -> str:
    """Return the name of a method as shown in the tables."""
    return NETWORK_METHODS[method].title if method in NETWORK_METHODS else method_name(method)


def _shown(value: float | None, metric: str) -> str:
    return side_by_side(value, None, digits=4 if metric == "error" else 3)
