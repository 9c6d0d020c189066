"""Figure B1: the average images of the rows that Rank Pruning keeps and prunes, by digit."""

from __future__ import annotations

import csv
import io
from functools import partial
from pathlib import Path

import numpy as np

from rankprune.core import prune_labels
from rankprune.experiments.paper._logistic_tables import LogisticRun
from rankprune.experiments.paper._one_vs_rest import DATA_SETS, Cell, load_images
from rankprune.experiments.paper._recipes import papers_rates
from rankprune.experiments.paper._records import Key, Record, Unit
from rankprune.storage._atomic import write_whole

IMAGE = "1"
CELL: Cell = (0.5, 0.5)
GROUPS = ("labeled 1, kept", "labeled 1, pruned", "labeled not 1, kept", "labeled not 1, pruned")


def pixels_file(folder: Path, dataset: str, seed: int) -> Path:
    """Return the path of the average images."""
    return folder / f"figb_{dataset}_seed{seed}_images.csv"


def average_units(dataset: str, folder: Path, seed: int) -> list[Unit]:
    """Return the only unit, which also writes the average images."""
    keys = [_key(dataset, image, group, seed) for image in _images(dataset) for group in GROUPS]
    return [Unit(f"{dataset}, average images", keys, partial(_measure, dataset, folder, seed))]


def _images(dataset: str) -> tuple[str, ...]:
    return DATA_SETS[dataset].images


def _key(dataset: str, image: str, group: str, seed: int) -> Key:
    return Key(f"{dataset}, averages", "logreg", "count", image, *CELL, group, seed)


def _measure(dataset: str, folder: Path, seed: int) -> list[Record]:
    run = LogisticRun(dataset, IMAGE, DATA_SETS[dataset].logreg_cells, seed)
    index = run.cells.index(CELL)
    labels = run.noisy.column(index)
    scores = run.kept_out_of_fold()[:, index].astype(np.float64)
    rates = papers_rates(labels, scores)
    pruned = prune_labels(labels, scores, rates).mask
    train = load_images(dataset, "train")
    chosen = (labels & ~pruned, labels & pruned, ~labels & ~pruned, ~labels & pruned)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    found = []
    for number, image in enumerate(_images(dataset)):
        for group, rows in zip(GROUPS, chosen, strict=True):
            pixels = train.pixels[rows & (train.digits == number)]
            found.append(
                Record(_key(dataset, image, group, seed), float(len(pixels)), len(labels), "figb")
            )
            mean = pixels.mean(axis=0) if len(pixels) else np.zeros(train.pixels.shape[1])
            writer.writerow([image, group, *(255 * mean).round().astype(int)])
    write_whole(pixels_file(folder, dataset, seed), text.getvalue().encode())
    return found
