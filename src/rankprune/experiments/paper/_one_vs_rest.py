"""One class of images against the rest, with labels flipped as in the paper."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from rankprune.core import NoiseRates
from rankprune.experiments._images import CIFAR_CLASSES, Images, load_cifar10, load_mnist
from rankprune.experiments._mnist import CELLS, FOUR_CELLS, noisy_labels

Cell = tuple[float, float]

# Part of the name of every cached score. Increase it with any change to methods, fits or networks
# that changes a figure.
VERSION = 2


@dataclass(frozen=True)
class DataSet:
    """A data set of the tables: the names of its images, and the noise cells per classifier."""

    images: tuple[str, ...]
    logreg_cells: tuple[Cell, ...]
    cnn_cells: tuple[Cell, ...] = FOUR_CELLS

    def cells_of(self, classifier: str) -> tuple[Cell, ...]:
        """Return the noise cells of a classifier."""
        return self.logreg_cells if classifier == "logreg" else self.cnn_cells


_DIGITS = tuple(map(str, range(10)))

# The last one, with 8 x 8 pixels, ships with scikit-learn; tests and quick runs use it.
DATA_SETS = {
    "mnist": DataSet(_DIGITS, CELLS),
    "cifar": DataSet(CIFAR_CLASSES, FOUR_CELLS),
    "digits": DataSet(_DIGITS, FOUR_CELLS),
}


def cache_name(*parts: object, seed: int) -> str:
    """Return the name under which scores are cached."""
    return "-".join(map(str, [*parts, f"seed{seed}", f"v{VERSION}"]))


@cache
def load_images(dataset: str, part: str) -> Images:
    """Return the "train" or the "test" images of a data set."""
    if dataset == "mnist":
        return load_mnist("train" if part == "train" else "t10k")
    if dataset == "cifar":
        return load_cifar10(part)
    pixels, digits = load_digits(return_X_y=True)
    parts = train_test_split(
        (pixels / 16).astype(np.float32),
        digits.astype(np.uint8),
        test_size=0.3,
        stratify=digits,
        random_state=0,
    )
    return Images(*(parts[::2] if part == "train" else parts[1::2]))


@dataclass(frozen=True)
class NoisyClass:
    """One class against the rest: the true labels, and one column of given labels per cell."""

    is_class: NDArray[np.bool_]
    labels: NDArray[np.bool_]

    def column(self, index: int) -> NDArray[np.bool_]:
        """Return the given labels at one cell."""
        return np.ascontiguousarray(self.labels[:, index])

    def true_rates(self, index: int) -> NoiseRates:
        """Return the true noise rates at one cell."""
        return NoiseRates.from_true_labels(self.is_class, self.column(index))


def noisy_class(dataset: str, image: str, cells: tuple[Cell, ...], seed: int) -> NoisyClass:
    """Return the training labels of one class against the rest, flipped."""
    number = DATA_SETS[dataset].images.index(image)
    is_class = load_images(dataset, "train").digits == number
    return NoisyClass(is_class, noisy_labels(is_class, number, cells, seed))
