"""A small table with four labels, some of them wrong, written to a file."""

import numpy as np

from noisy_table import write_csv
from rankprune import flip_labels

PETS = ("cat", "dog", "it's", "owl, barn")
COLUMNS = ["row id", "height", "weight", "color", "kind"]


def pet_rows(n=600, seed=0, noise=0.2, apart=8.0):
    """Return rows of cells, given labels and true ones; wrong labels name the next kind."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 4, n)
    transition = (1 - noise) * np.eye(4) + noise * np.roll(np.eye(4), 1, axis=0)
    labels = flip_labels(truth, transition=transition, random_state=seed)
    corners = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    x = np.round(rng.normal(apart * corners[truth], 1.0), 4)
    colors = np.asarray(["red", "green", "blue"])[rng.integers(0, 3, n)]
    rows = [
        [f"r{i:04d}", repr(float(a)), repr(float(b)), str(color), PETS[label]]
        for i, ((a, b), color, label) in enumerate(zip(x, colors, labels, strict=True))
    ]
    return rows, labels, truth


def pet_csv(folder, name="pets.csv", **options):
    """Write such a table and return its path with the numbers of the given and the true labels."""
    rows, labels, truth = pet_rows(**options)
    return write_csv(folder / name, rows, COLUMNS), labels, truth
