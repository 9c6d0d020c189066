"""A table of answers and a table of the rows that they are about, with known truth."""

import csv

import numpy as np


def write(path, names, lines):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows(lines)
    return path


def answered(n=240, skills=(0.9, 0.8, 0.8, 0.65), seed=0, per_row=3):
    """Return lines of answers, lines of rows, and the true labels."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    x = np.round(rng.normal(2.0 * truth[:, None], 1.0, (n, 2)), 4)
    rows = [[f"i{i:03d}", float(a), float(b)] for i, (a, b) in enumerate(x)]
    people = ("ann", "bob", "cyd", "dan")[: len(skills)]
    names = np.array(["no", "yes"])
    lines = []
    for i in range(n):
        for who in sorted(rng.choice(len(skills), per_row, replace=False)):
            said = truth[i] if rng.random() < skills[who] else 1 - truth[i]
            lines.append([f"i{i:03d}", people[who], str(names[said]), round(rng.uniform(2, 9), 1)])
    return lines, rows, names[truth]


def write_answered(folder, **options):
    """Write both tables and return their paths with the true labels."""
    lines, rows, truth = answered(**options)
    answers = write(folder / "answers.csv", ["item", "worker", "answer", "took"], lines)
    return answers, write(folder / "items.csv", ["item", "width", "height"], rows), truth
