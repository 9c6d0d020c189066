"""The loops over scores of many classes to use: those in NumPy, or the compiled ones."""

from __future__ import annotations

from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from rankprune.core._inputs import BoolArray, FloatArray
from rankprune.core.classes import _class_loops
from rankprune.core.classes._class_loops import Codes, Counts, Grid, Reals, Rule, Sums, Tables
from rankprune.core.counting._kernel import compiled_if_worth_it


class ClassKernel(Protocol):
    """The loops over a block of scores; see `_class_loops` for what each does."""

    BLOCK_CELLS: int

    def add_sums(
        self, sums: Sums, best_two: Reals | None, codes: Codes, scores: FloatArray
    ) -> bool: ...

    def add_counts(
        self, tables: Tables, rule: Rule, best_two: Reals | None, codes: Codes, scores: FloatArray
    ) -> None: ...

    def take_ratios(self, ratios: Reals, codes: Codes, scores: FloatArray) -> bool: ...

    def count_ratios(self, counts: Counts, grid: Grid, codes: Codes, ratios: Reals) -> None: ...

    def rows_inside(self, grid: Grid, codes: Codes, ratios: Reals) -> NDArray[np.intp]: ...

    def mark_below(self, mask: BoolArray, limits: Reals, codes: Codes, ratios: Reals) -> None: ...


def class_kernel_for(n_scores: int) -> ClassKernel:
    """Return the loops to use for this many scores."""
    compiled = compiled_if_worth_it("rankprune.core.classes._compiled_class_loops", n_scores)
    return cast(ClassKernel, _class_loops if compiled is None else compiled)
