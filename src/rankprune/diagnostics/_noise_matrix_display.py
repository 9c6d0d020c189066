"""The heat map of a noise matrix: which labels should be which others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune.core import NoiseMatrix
from rankprune.core._label_values import short_name
from rankprune.diagnostics._display import BLUE, GRAY, Display

# Of more classes, the numbers in the cells could not be read.
_MOST_WRITTEN = 20
_MOST_LETTERS = 14
# Names along the lower edge are written upwards if so many letters side by side may touch.
_MOST_ABREAST = 44
# So pale that text of any colour can be read on it.
_PALEST, _DARKEST = 0.1, 0.6
# Where no cell has this share, two decimals are needed to tell cells apart.
_ONE_PERCENT = 0.01


class NoiseMatrixDisplay(Display):
    """Which labels should be which others, and how many of all labels that is.

    Rows are given labels, columns true ones. The diagonal, which holds the right labels, is gray.

    Parameters
    ----------
    matrix : NoiseMatrix
    max_classes : int, default=20
        Of more classes than this, only those that are most often confused are shown. Numbers are
        written into the cells of up to 20 classes.
    display_labels : sequence of str, default=None
        A name for each class of the matrix; by default its label value. Long names are shortened.

    Examples
    --------
    >>> from rankprune import NoiseMatrix
    >>> from rankprune.diagnostics import NoiseMatrixDisplay
    >>> matrix = NoiseMatrix(
    ...     [[0.3, 0.0, 0.0], [0.1, 0.3, 0.0], [0.0, 0.0, 0.3]], classes=["cat", "dog", "owl"]
    ... )
    >>> display = NoiseMatrixDisplay.from_matrix(matrix)
    >>> display.ax_.get_ylabel(), [text.get_text() for text in display.ax_.texts]
    ('given label', ['10.0'])
    """

    def __init__(
        self,
        matrix: NoiseMatrix,
        *,
        max_classes: int = 20,
        display_labels: Sequence[str] | None = None,
    ) -> None:
        if not isinstance(matrix, NoiseMatrix):
            raise TypeError(
                f"matrix must be a NoiseMatrix, got {type(matrix).__name__}. Pass what "
                "estimate_noise_rates returns for more than two classes; NoiseRateDisplay shows "
                "the rates of two."
            )
        if not isinstance(max_classes, int | np.integer) or max_classes < 2:
            raise ValueError(
                f"max_classes must be a whole number of at least 2, got {max_classes!r}. Pass the "
                "number of classes to show."
            )
        values = matrix.classes.tolist() if display_labels is None else list(display_labels)
        if len(values) != len(matrix):
            raise ValueError(
                f"display_labels must have one name for each of the {len(matrix)} classes, got "
                f"{len(values)}. Pass them in the order of matrix.classes."
            )
        self.matrix = matrix
        self.max_classes = int(max_classes)
        self.display_labels = [short_name(value, _MOST_LETTERS) for value in values]

    @classmethod
    def from_matrix(
        cls,
        matrix: NoiseMatrix,
        *,
        max_classes: int = 20,
        display_labels: Sequence[str] | None = None,
        ax: Any = None,
    ) -> NoiseMatrixDisplay:
        """Return the display of a matrix, after drawing it."""
        display = cls(matrix, max_classes=max_classes, display_labels=display_labels)
        return display.plot(ax=ax)

    @property
    def shown(self) -> NDArray[np.intp]:
        """Return the numbers of the classes that are shown, in their order."""
        n, most = len(self.matrix), self.max_classes
        if n <= most:
            return np.arange(n)
        # So many pairs hold more classes than may be shown.
        first = np.argsort(-self._wrong(), axis=None, kind="stable")[: most * most]
        pairs = np.column_stack(np.unravel_index(first, (n, n)))
        return np.array(sorted(list(dict.fromkeys(pairs.ravel().tolist()))[:most]))

    def plot(self, ax: Any = None) -> NoiseMatrixDisplay:
        """Draw the heat map; the darker a cell, the more labels."""
        ax = self._draw_on(ax)
        from matplotlib.collections import PatchCollection
        from matplotlib.colors import to_rgba
        from matplotlib.patches import Rectangle

        shown = self.shown
        n = len(shown)
        wrong = self._wrong()[np.ix_(shown, shown)]
        most = float(wrong.max())
        cells = [(row, column) for row, column in np.argwhere(wrong > 0).tolist()]
        colors = [
            to_rgba(BLUE, _PALEST + (_DARKEST - _PALEST) * wrong[cell] / most) for cell in cells
        ]
        cells += [(k, k) for k in range(n)]
        colors += [to_rgba(GRAY, 0.25)] * n
        # Gaps between cells show them apart where neighbours have the same colour.
        squares = [Rectangle((column - 0.48, row - 0.48), 0.96, 0.96) for row, column in cells]
        ax.add_collection(PatchCollection(squares, facecolors=colors, edgecolors="none"))
        if n <= _MOST_WRITTEN:
            self._write(ax, wrong)
        names = [self.display_labels[k] for k in shown.tolist()]
        is_wide = n * max(map(len, names)) > _MOST_ABREAST
        ax.set(xlim=(-0.5, n - 0.5), ylim=(n - 0.5, -0.5), xlabel="true label")
        ax.set(ylabel="given label", title=self._title(n, most))
        # Names are no formulas, whatever characters they have.
        ax.set_xticks(range(n), names, parse_math=False, rotation=90 if is_wide else 0)
        ax.set_yticks(range(n), names, parse_math=False)
        ax.tick_params(length=0, labelsize=9 if n <= _MOST_WRITTEN else max(5, 180 / n))
        ax.spines[:].set_visible(False)
        return self

    def _write(self, ax: Any, wrong: NDArray[np.float64]) -> None:
        size = min(9.0, 115 / len(wrong))
        digits = 1 if wrong.max() >= _ONE_PERCENT else 2
        # 0.0 would say that there are none.
        for row, column in np.argwhere(wrong >= 0.005 / 10**digits).tolist():
            share = f"{100 * wrong[row, column]:.{digits}f}"
            ax.text(column, row, share, ha="center", va="center", fontsize=size)

    def _title(self, n: int, most: float) -> str:
        title = "Wrong labels, in % of all labels"
        if n < len(self.matrix):
            title += f"; {n} of {len(self.matrix)} labels"
        if n > _MOST_WRITTEN:
            title += f"; darkest: {100 * most:.2g}"
        return title if self.matrix.reliable else f"{title} (not reliable)"

    def _wrong(self) -> NDArray[np.float64]:
        """Return the joint without the right labels."""
        return np.where(np.eye(len(self.matrix), dtype=bool), 0.0, self.matrix.joint)
