"""The parts of a check's record, each a frozen dataclass."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankprune.core import ConfidentCounts, NoiseRates


@dataclass(frozen=True)
class Source:
    """Where the rows came from.

    Attributes
    ----------
    name : str
        What to call it: a file's name, ``stdin``, ``data frame`` or ``arrays``.
    path : str or None
        Of the file.
    sha256 : str or None
        Of the file's bytes.
    n_rows, n_columns : int
    """

    name: str
    path: str | None
    sha256: str | None
    n_rows: int
    n_columns: int


@dataclass(frozen=True)
class Histogram:
    """Rows by their probability, in bins of equal width from 0 to 1, for each given label."""

    positive: NDArray[np.float64]
    negative: NDArray[np.float64]


@dataclass(frozen=True)
class Confident:
    """The paper's four confident sets and the thresholds that bound them."""

    positive_threshold: float
    negative_threshold: float
    counts: ConfidentCounts

    @classmethod
    def of(cls, rates: NoiseRates) -> Confident:
        """Return what the paper's estimator found on the way to its rates."""
        assert rates.counts is not None  # this estimator has them
        return cls(
            float(rates.positive_threshold or 0.0),
            float(rates.negative_threshold or 0.0),
            rates.counts,
        )


@dataclass(frozen=True)
class Duplicates:
    """Rows that another row repeats in every feature.

    Attributes
    ----------
    n_rows : int
    n_straddling : int
        Those with a copy in another fold, which a model may know by heart.
    n_contradicting : int
        Those with a copy that carries the other label: one of the two is wrong, or the features
        do not decide the label.
    """

    n_rows: int
    n_straddling: int
    n_contradicting: int


@dataclass(frozen=True)
class Subgroup:
    """Suspects among the rows that share a value.

    Attributes
    ----------
    column, value : str
    n_rows, n_suspects : int
    stands_out : bool
        Whether its share of suspects differs from that of all rows by more than chance.
    """

    column: str
    value: str
    n_rows: int
    n_suspects: int
    stands_out: bool


@dataclass(frozen=True)
class SuspectRow:
    """A row whose label is likely wrong.

    Attributes
    ----------
    rank : int
        1 for the most suspicious row.
    row : int
        Its position in the table, counted from 0.
    index : str or None
        Its label in the index of a pandas data frame.
    id : str or None
        Its cell in the column of identifiers.
    label : str
        As given.
    probability : float
        Of the positive label, by models that did not see the row.
    reason : str
    cells : tuple of str or None
        Some of its cells, truncated if long.
    """

    rank: int
    row: int
    index: str | None
    id: str | None
    label: str
    probability: float
    reason: str
    cells: tuple[str | None, ...] = ()

    @property
    def number(self) -> int:
        """Return the number of the row as files and pages show it, counted from 1."""
        return self.row + 1


@dataclass(frozen=True)
class BeforeAfter:
    """Errors on trusted labels of a plain fit and of Rank Pruning, each out of fold.

    Attributes
    ----------
    n_rows : int
        Trusted rows that were judged.
    before, after : float
        Share of them that each model gets wrong.
    low, high : float
        95 % interval of the difference after - before.
    """

    n_rows: int
    before: float
    after: float
    low: float
    high: float
