"""The parts of a check's record, each a frozen dataclass."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankprune.core import ConfidentCounts, NoiseRates


@dataclass(frozen=True)
class Source:
    """The source of the rows.

    Attributes
    ----------
    name : str
        Name used in messages: a file name, ``stdin``, ``data frame`` or ``arrays``.
    path : str or None
        Absolute path of the file.
    sha256 : str or None
        SHA-256 hash of the bytes of the input, or of the names and cells of a data frame; None for
        arrays.
    n_rows, n_columns : int
        Numbers of rows and columns.
    """

    name: str
    path: str | None
    sha256: str | None
    n_rows: int
    n_columns: int


@dataclass(frozen=True)
class Histogram:
    """Numbers of rows with each given label, in bins of equal width of the probability."""

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
        """Return the thresholds and counts behind rates from the paper's estimator."""
        assert rates.counts is not None  # always set by this estimator
        return cls(
            float(rates.positive_threshold or 0.0),
            float(rates.negative_threshold or 0.0),
            rates.counts,
        )


@dataclass(frozen=True)
class Duplicates:
    """Numbers of rows that are equal to another row in every feature.

    Attributes
    ----------
    n_rows : int
        Number of rows with an exact copy.
    n_straddling : int
        Number of rows whose copies fall into different folds; a model may have memorised them.
    n_contradicting : int
        Number of rows whose copies have different labels: one label is wrong, or the features do
        not determine the label.
    """

    n_rows: int
    n_straddling: int
    n_contradicting: int


@dataclass(frozen=True)
class Subgroup:
    """Suspects among the rows that share a value of a column.

    Attributes
    ----------
    column, value : str
    n_rows, n_suspects : int
        Numbers of rows and of suspects with this value.
    stands_out : bool
        Whether their share of suspects differs from that of all rows by more than chance.
    """

    column: str
    value: str
    n_rows: int
    n_suspects: int
    stands_out: bool


@dataclass(frozen=True)
class CandidateRow:
    """A row on the list to look at, most suspicious first.

    Attributes
    ----------
    rank : int
        Rank by suspicion, 1 for the most suspicious row.
    row : int
        Position in the table, counted from 0.
    index : str or None
        Label in the index of a pandas data frame.
    id : str or None
        Cell in the identifier column.
    label : str
        Given label.
    probability : float
        Out-of-fold or given probability of the positive label, or, among more than two labels, of
        the given one.
    reason : str
        Why the row is on the list.
    cells : tuple of str or None
        Some of its cells, truncated if long.
    is_suspect : bool
        Whether it is a suspect, a row that is pruned because its label is likely wrong.
    suggested : str or None
        Among more than two labels, the most likely other one.
    suggested_probability : float or None
        Its probability.
    """

    rank: int
    row: int
    index: str | None
    id: str | None
    label: str
    probability: float
    reason: str
    cells: tuple[str | None, ...] = ()
    is_suspect: bool = True
    suggested: str | None = None
    suggested_probability: float | None = None

    @property
    def number(self) -> int:
        """Return the row number shown in files and on pages, counted from 1."""
        return self.row + 1


@dataclass(frozen=True)
class Stability:
    """The suspects of a second scoring of the same rows, with other folds and seeds.

    Attributes
    ----------
    n_suspects : int
        Number of suspects of the check.
    n_stay : int
        Number of these that are suspects again.
    n_new : int
        Number of rows that are suspects only in the second scoring.
    level : {"clean", "noise found", "cannot tell"}
        Level of the verdict of the second scoring.
    """

    n_suspects: int
    n_stay: int
    n_new: int
    level: str


@dataclass(frozen=True)
class BeforeAfter:
    """Out-of-fold errors of a plain fit and of Rank Pruning, on rows with known labels.

    Attributes
    ----------
    n_rows : int
        Number of trusted or audited rows.
    before, after : float
        Share of these rows that each model misclassifies.
    low, high : float
        95 % confidence interval for the difference ``after - before``.
    """

    n_rows: int
    before: float
    after: float
    low: float
    high: float
