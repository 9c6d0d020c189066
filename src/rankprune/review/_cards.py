"""Rows as reviewers see them: cells of the table, images, and the model's opinion.

In an audit a card is blind: it holds neither the label nor anything computed from it.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune.core._auc import TELLING_AUC, auc
from rankprune.run import LabelCheck
from rankprune.run._decisions import row_hash
from rankprune.run._scores import reason_for
from rankprune.run._visible import visible
from rankprune.table import Table

# Characters per cell and columns per row that a card shows.
_MAX_CELL, _MAX_COLUMNS = 20_000, 200
# Image formats by file extension; none of these can hold scripts.
IMAGES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
}
_MAX_IMAGE = 1 << 25
_HIDDEN = "(path hidden)"
# To find columns that reveal the label: rows to look at, the most values of a category, and the
# share of each label that must follow from it.
_MAX_LOOK, _FEW, _SURE = 5_000, 20, 0.98


@dataclass(frozen=True)
class Field:
    """A cell of a card: its column's position and name, its text, and whether it is an image."""

    column: int
    name: str
    text: str
    is_image: bool


class Rows:
    """The rows of the checked table, read when they are needed.

    Parameters
    ----------
    run : LabelCheck
    table : Table
        Must stay open while rows are shown.
    blind : bool
        Hide every column that reveals the label.
    hide : sequence of str
        More columns to hide.
    image_root : Path or None
        Folder of images; cells hold their paths below it.
    """

    def __init__(
        self,
        run: LabelCheck,
        table: Table,
        *,
        blind: bool,
        hide: Sequence[str] = (),
        image_root: Path | None = None,
    ) -> None:
        self.run = run
        self._table = table
        self._blind = blind
        self._root = None if image_root is None else image_root.resolve()
        self._lock = threading.Lock()
        self._kept: dict[int, list[str | None]] = {}
        asked = run.settings
        self._label = table.position(str(asked.label))
        for name in hide:
            table.column(name, "hide")
        hidden = {str(asked.label), *asked.redact, *hide}
        if blind:
            hidden |= {name for name in (asked.probabilities, asked.trusted) if name}
            # Columns that an earlier export added.
            hidden |= {name for name in table.names if name.startswith("rankprune_")}
            hidden |= set(_telling(table, run))
        shown = [i for i, name in enumerate(table.names) if name not in hidden]
        self.shown = shown[:_MAX_COLUMNS]
        self.n_more = len(shown) - len(self.shown)
        self.hidden = [name for name in table.names if name in hidden]
        self._place = {int(row): place for place, row in enumerate(run.scores.rows)}
        ids = None if asked.id in hidden else run.scores.ids
        self._ids = None if ids is None else [str(name) for name in ids]
        named = zip(self._ids or (), run.scores.rows.tolist(), strict=False)
        self._by_id: dict[str, int] = dict(reversed(list(named)))

    def read(self, rows: Sequence[int]) -> None:
        """Read rows that will be shown."""
        missing = sorted({row for row in rows if row not in self._kept})
        if not missing:
            return
        with self._lock:
            columns = list(range(len(self._table.names)))
            found = self._table.cells(np.asarray(missing, dtype=np.intp), columns)
        self._kept.update(zip(missing, found, strict=True))

    def place(self, row: int) -> int | None:
        """Return the position of a row among the labeled rows, or None if it has no label."""
        return self._place.get(row)

    def find(self, text: str) -> int | None:
        """Return the row with this name, or None."""
        return self._by_id.get(text)

    def name(self, row: int) -> str | None:
        """Return the name of a row, or None if it has none that may be shown."""
        if self._ids is None:
            return None
        name = self._ids[self._place[row]]
        return None if self._blind and _is_path(name) else visible(name, 200)

    def column_name(self, column: int) -> str:
        """Return the name of a column."""
        return self._table.names[column]

    def cell(self, row: int, column: int) -> str | None:
        """Return one cell, unchanged."""
        self.read([row])
        return self._kept[row][column]

    def hash(self, row: int) -> str:
        """Return a hash of the row's cells except the label."""
        self.read([row])
        return row_hash(self._kept[row], self._label)

    def label(self, row: int) -> str:
        """Return the given label."""
        positive = bool(self.run.scores.is_positive[self._place[row]])
        return self.run.positive if positive else self.run.negative

    def fields(self, row: int) -> list[Field]:
        """Return the cells that a card shows."""
        self.read([row])
        cells = self._kept[row]
        found = []
        for column in self.shown:
            text = cells[column]
            is_image = self.image(row, column) is not None
            # A path may reveal the label: images are often in a folder named after it.
            is_hidden = text is not None and self._blind and _is_path(text)
            shown = _HIDDEN if is_hidden else visible(text or "", _MAX_CELL)
            name = visible(self._table.names[column], 200)
            found.append(Field(column, name, shown, is_image))
        return found

    def image(self, row: int, column: int) -> Path | None:
        """Return the image that a cell names, if it is below the root after resolving links."""
        if self._root is None or column not in self.shown:
            return None
        text = self.cell(row, column)
        if not text or len(text) > 1000 or Path(text).suffix.lower() not in IMAGES:
            return None
        try:
            path = (self._root / text).resolve()
            is_file = path.is_file() and path.stat().st_size <= _MAX_IMAGE
        except (OSError, ValueError, RuntimeError):
            return None
        # The extension of the link's target counts.
        below = path.is_relative_to(self._root) and path.suffix.lower() in IMAGES
        return path if is_file and below else None

    def opinion(self, row: int) -> dict[str, Any]:
        """Return the model's opinion of a row."""
        scores, place = self.run.scores, self._place[row]
        is_positive, probability = bool(scores.is_positive[place]), float(scores.probability[place])
        label = self.label(row)
        other = self.run.negative if is_positive else self.run.positive
        is_suspect = bool(scores.suspect[place])
        sure = probability if is_positive else 1 - probability
        return {
            "label": visible(label, 200),
            "other": visible(other, 200),
            "suggestion": visible(other if is_suspect else label, 200),
            "reason": visible(reason_for(label, sure, self.run.out_of_fold)),
            "rank": int(scores.rank[place]),
        }


def _telling(table: Table, run: LabelCheck) -> list[str]:
    """Return the columns that reveal the label, or almost do."""
    scores = run.scores
    places = np.unique(np.linspace(0, len(scores.rows) - 1, _MAX_LOOK).astype(np.intp))
    cells = table.cells(scores.rows[places], list(range(len(table.names))))
    is_positive = scores.is_positive[places]
    if is_positive.all() or not is_positive.any():
        return []
    columns = zip(table.names, zip(*cells, strict=True), strict=True)
    return [name for name, column in columns if _tells(column, is_positive)]


def _tells(column: Sequence[str | None], is_positive: NDArray[np.bool_]) -> bool:
    """Return whether a column's values, or their order, reveal the label."""
    values, codes = np.unique([str(cell) for cell in column], return_inverse=True)
    if len(values) <= _FEW:
        counts = np.array(
            [
                np.bincount(codes[part], minlength=len(values))
                for part in (is_positive, ~is_positive)
            ]
        )
        right = counts.argmax(axis=0)[None, :] == np.array([[0], [1]])
        shares = (counts * right).sum(axis=1) / counts.sum(axis=1)
        return bool(shares.min() >= _SURE)
    try:
        numbers = np.array([float(cell) for cell in column])  # type: ignore[arg-type]  # errors are caught
    except (TypeError, ValueError):
        return False
    if not np.isfinite(numbers).all():
        return False
    area = auc(is_positive, numbers, None)
    return max(area, 1 - area) >= TELLING_AUC


def _is_path(text: str) -> bool:
    """Return whether a text names an image."""
    return Path(text[-20:]).suffix.lower() in IMAGES
