"""The result tables of the paper, as it prints them."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files

Key = tuple[str, str, str, str, float, float, str]


@cache
def published() -> dict[Key, float]:
    """Return every figure by (dataset, classifier, metric, image, pi1, rho1, method).

    Methods are ``true`` (fitted to right labels), ``rp_estimated`` and ``rp_given`` (Rank Pruning
    with estimated and with given rates), ``nat13``, ``elk08`` and ``liu16``, all with rates given.
    """
    path = files("rankprune.experiments") / "published.csv"
    with path.open(encoding="utf-8") as lines:
        return {
            (
                row["dataset"],
                row["classifier"],
                row["metric"],
                row["image"],
                float(row["pi1"]),
                float(row["rho1"]),
                row["method"],
            ): float(row["value"])
            for row in csv.DictReader(lines)
        }
