"""Rows of a check of many labels whose right labels people gave for an audit."""

from __future__ import annotations

from dataclasses import dataclass

from rankprune.run._judged_rows import Method


@dataclass(frozen=True)
class JudgedClasses:
    """Rows whose right labels people gave, after they were drawn for an audit.

    Attributes
    ----------
    rows : tuple of int
        Positions in the table, counted from 0.
    labels : tuple of int or None
        The number of the right label of each row; None if the person was unsure.
    method : {"model", "design"}
        Whether the range comes from model and answers together, or from the answers alone.
    contradicts_model : bool
        Whether the answers contradict the range that the model gave. The range then comes from the
        answers alone.
    n_wrong : int
        How many of the judged labels are wrong.
    """

    rows: tuple[int, ...]
    labels: tuple[int | None, ...]
    method: Method
    contradicts_model: bool
    n_wrong: int

    @property
    def n_sure(self) -> int:
        """Return the number of rows with a clear answer."""
        return sum(answer is not None for answer in self.labels)
