"""Scores that separate the classes: how far the default answer is from the paper's, seed by seed.

The paper's confident counts are exact there (Theorem 2), so the default must not be worse.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from importlib.resources import files
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed

from rankprune.core._inputs import Inputs
from rankprune.core.counting._sketch import sketch_of
from rankprune.core.estimators._confident_counts import confident_counts
from rankprune.core.estimators._learned import ARTEFACT, learned
from rankprune.experiments._cache import cached, file_name
from rankprune.experiments._table import Table

Bools = NDArray[np.bool_]
Reals = NDArray[np.float64]
Rates = tuple[float, float]

N_SEEDS = 1000
SIZES = (500, 2000, 10_000)
# (rho1, rho0).
RATES: tuple[Rates, ...] = ((0.2, 0.1), (0.05, 0.02), (0.4, 0.3), (0.3, 0.0))
_PREVALENCE = 0.3
# The mean difference may be as large as this, or as this share of the paper's standard deviation.
_ALLOWED, _ALLOWED_SHARE = 0.002, 0.25


def _symmetric(truth: Bools, _: Rates, random: np.random.Generator) -> Reals:
    low = random.beta(2, 20, len(truth))
    return np.where(truth, 1 - low, low)


def _skewed(truth: Bools, _: Rates, random: np.random.Generator) -> Reals:
    return np.where(truth, 0.6, 0.3) + 0.6 * random.beta(2, 20, len(truth))


def _touching(truth: Bools, _: Rates, random: np.random.Generator) -> Reals:
    return 0.1 + 0.4 * (truth + random.random(len(truth)))


def _narrow(truth: Bools, _: Rates, random: np.random.Generator) -> Reals:
    return 0.1 + 0.8 * truth + random.uniform(-0.05, 0.05, len(truth))


def _calibrated(truth: Bools, rates: Rates, random: np.random.Generator) -> Reals:
    expected = rates[1] + (1 - sum(rates)) * truth
    return np.clip(expected + random.normal(0, 0.02, len(truth)), 0, 1)


# By what the two clumps look like.
SHAPES: dict[str, Callable[[Bools, Rates, np.random.Generator], Reals]] = {
    "beta, far apart": _symmetric,
    "beta, skewed": _skewed,
    "uniform, touching": _touching,
    "uniform, narrow": _narrow,
    "at the noise rates": _calibrated,
}


def separable_table(n_jobs: int) -> Table:
    """Return the table of mean differences from the paper's estimate."""
    cells = list(product(SHAPES, RATES, SIZES))
    network = zlib.crc32((files("rankprune.core.estimators") / ARTEFACT).read_bytes())
    found = Parallel(n_jobs=n_jobs)(delayed(_estimates)(network, *cell) for cell in cells)
    estimates = dict(zip(cells, found, strict=True))
    rows = [
        [shape, "({:g}, {:g})".format(*rates)]
        + [_cell(rates, *estimates[shape, rates, n_rows]) for n_rows in SIZES]
        for shape, rates in product(SHAPES, RATES)
    ]
    return Table(
        "Scores that separate the classes",
        f"Mean of (learned - paper's estimate) over {N_SEEDS:,} seeds / what is allowed: "
        f"{_ALLOWED:g}, or a quarter of the standard deviation of the paper's estimate. Of rho1 "
        f"and rho0, the one closer to its limit; {_PREVALENCE:.0%} true positives; beyond the "
        "limit in bold. In brackets the mean error of the paper's estimate itself.",
        ("clumps", "(rho1, rho0)", *(f"{n_rows:,} rows" for n_rows in SIZES)),
        rows,
    )


def _estimates(network: int, shape: str, rates: Rates, n_rows: int) -> tuple[Reals, Reals]:
    """Return rho1 and rho0 of every seed: learned, and by the paper's estimator."""

    def compute() -> dict[str, NDArray[Any]]:
        pairs = [_estimate(shape, rates, n_rows, seed) for seed in range(N_SEEDS)]
        by_default, paper = (np.array(column) for column in zip(*pairs, strict=True))
        return {"learned": by_default, "paper": paper}

    # Another network has another name.
    name = f"separable-{network:08x}-{file_name(shape)}-{file_name(str(rates))}-{n_rows}-{N_SEEDS}"
    kept = cached(name, compute)
    return kept["learned"], kept["paper"]


def _estimate(shape: str, rates: Rates, n_rows: int, seed: int) -> tuple[Rates, Rates]:
    random = np.random.default_rng([seed, n_rows])
    truth = random.random(n_rows) < _PREVALENCE
    labels = np.where(random.random(n_rows) < np.where(truth, *rates), ~truth, truth)
    scores = SHAPES[shape](truth, rates, random)
    by_default = learned(sketch_of(Inputs(labels, scores, None)))
    paper = confident_counts(labels.view(np.int8), scores)
    return (
        (by_default.positive_noise_rate, by_default.negative_noise_rate),
        (paper.positive_noise_rate, paper.negative_noise_rate),
    )


def _cell(rates: Rates, found: Reals, paper: Reals) -> str:
    difference = (found - paper).mean(axis=0)
    allowed = np.maximum(_ALLOWED, _ALLOWED_SHARE * paper.std(axis=0, ddof=1))
    worse = int(np.argmax(np.abs(difference) / allowed))
    text = f"{difference[worse]:+.4f}/{allowed[worse]:.4f}"
    shown = text if abs(difference[worse]) <= allowed[worse] else f"**{text}**"
    return f"{shown} ({paper[:, worse].mean() - rates[worse]:+.3f})"
