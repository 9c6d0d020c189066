"""Finite data on which the noise is exactly class-conditional, so that theorems hold exactly.

Each cell is a value of x: its score, how many true positives and true negatives it holds, and
(by construction) exactly the shares rho1 and rho0 of these carry the other label.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from rankprune import NoiseRates

UNIT = 20  # rates are multiples of 1/UNIT, class counts in a cell multiples of UNIT


@dataclass(frozen=True)
class ExactData:
    cell: np.ndarray
    true_labels: np.ndarray
    labels: np.ndarray
    rho1: Fraction
    rho0: Fraction

    @property
    def n_cells(self) -> int:
        return int(self.cell.max()) + 1

    def rates(self) -> NoiseRates:
        """The true rates, by counting."""
        y, s = self.true_labels == 1, self.labels == 1
        return NoiseRates.from_noise_rates(
            float((y & ~s).sum() / y.sum()), float((~y & s).sum() / (~y).sum()), float(s.mean())
        )

    def posterior(self) -> np.ndarray:
        """P(y=1 | x) of every row: the share of true positives in its cell."""
        total = np.maximum(np.bincount(self.cell), 1)
        return (np.bincount(self.cell, weights=self.true_labels) / total)[self.cell]


def exact_data(cells: list[tuple[int, int]], rho1: int, rho0: int) -> ExactData:
    """Build rows from (positives, negatives) a cell in multiples of UNIT; rates in 1/UNIT."""
    columns: list[list[int]] = []
    for index, (n_positive, n_negative) in enumerate(cells):
        for truth, count, rate in ((1, n_positive, rho1), (0, n_negative, rho0)):
            flipped = count * rate
            kept = count * UNIT - flipped
            columns += [[index, truth, 1 - truth]] * flipped + [[index, truth, truth]] * kept
    rows = np.array(columns)
    return ExactData(rows[:, 0], rows[:, 1], rows[:, 2], Fraction(rho1, UNIT), Fraction(rho0, UNIT))


@st.composite
def separated(draw: st.DrawFn) -> ExactData:
    """Cells of one class each: P and N do not overlap."""
    rho1 = draw(st.integers(0, UNIT - 1))
    rho0 = draw(st.integers(0, UNIT - 1 - rho1))
    positives = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    negatives = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    cells = [(n, 0) for n in positives] + [(0, n) for n in negatives]
    return exact_data(cells, rho1, rho0)


@st.composite
def overlapping(draw: st.DrawFn) -> ExactData:
    """Cells that may hold both classes, softly."""
    rho1 = draw(st.integers(0, UNIT - 1))
    rho0 = draw(st.integers(0, UNIT - 1 - rho1))
    cells = draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=5))
    return exact_data([*cells, (1, 0), (0, 1)], rho1, rho0)


def scores(n_cells: int) -> st.SearchStrategy[list[float]]:
    """A score for every cell, ties included."""
    grid = st.integers(0, 64).map(lambda k: k / 64)
    return st.lists(grid | st.floats(0, 1), min_size=n_cells, max_size=n_cells)
