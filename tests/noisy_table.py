"""A small table with known wrong labels, written to a file in many ways."""

import csv
import gzip
import json

import numpy as np

from rankprune import flip_labels

NAMES = ["row id", "height", "weight", "color", "label"]


def noisy_rows(n=300, seed=0, noise=(0.2, 0.1)):
    """Return rows of cells, given labels and true ones; two features tell the truth apart."""
    rng = np.random.RandomState(seed)
    truth = rng.randint(0, 2, n)
    labels = flip_labels(
        truth, positive_noise_rate=noise[0], negative_noise_rate=noise[1], random_state=seed
    )
    x = np.round(rng.normal(3.0 * truth[:, None], 1.0, (n, 2)), 4)
    colors = np.asarray(["red", "green", "blue"])[rng.randint(0, 3, n)]
    names = np.asarray(["no", "yes"])
    rows = [
        [f"r{i:04d}", repr(float(a)), repr(float(b)), str(color), str(names[label])]
        for i, ((a, b), color, label) in enumerate(zip(x, colors, labels, strict=True))
    ]
    return rows, labels, truth


def write_csv(path, rows, names=NAMES, *, delimiter=",", encoding="utf-8", packed=False):
    opener = gzip.open if packed else open
    with opener(path, "wt", encoding=encoding, newline="") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(names)
        writer.writerows(rows)
    return path


def write_json_lines(path, rows, names=NAMES):
    with path.open("w") as file:
        for row in rows:
            file.write(json.dumps(dict(zip(names, row, strict=True))) + "\n")
    return path


def noisy_csv(folder, name="people.csv", **options):
    """Write such a table and return its path with the given and the true labels."""
    rows, labels, truth = noisy_rows(**options)
    return write_csv(folder / name, rows), labels, truth
