"""The result tables of the paper, as printed."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files

Key = tuple[str, str, str, str, float, float, str]


def key_of(row: dict[str, str]) -> Key:
    """Return the key of the figure in a row: what it measures."""
    return (
        row["dataset"],
        row["classifier"],
        row["metric"],
        row["image"],
        float(row["pi1"]),
        float(row["rho1"]),
        row["method"],
    )


@cache
def published() -> dict[Key, float]:
    """Return every figure by (dataset, classifier, metric, image, pi1, rho1, method).

    Methods are ``true`` (fitted to true labels), ``rp_estimated`` and ``rp_given`` (Rank Pruning
    with estimated and with given rates), ``nat13``, ``elk08`` and ``liu16``, all with given rates.
    """
    return {key_of(row): float(row["value"]) for row in _rows()}


@cache
def table_names() -> dict[tuple[str, str, str], str]:
    """Return the table of each (dataset, classifier, metric), preferring tables by image."""
    rows = sorted(_rows(), key=lambda row: row["image"] != "avg")
    return {key_of(row)[:3]: row["table"] for row in rows}


@cache
def _rows() -> list[dict[str, str]]:
    path = files("rankprune.experiments") / "published.csv"
    with path.open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines))
