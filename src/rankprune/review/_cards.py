"""Rows as people judge them: cells of the checked table, images, and what the model thinks.

A card of an audit is blind: it holds neither the label nor anything that was computed from it.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rankprune._column_plan import copies_of_label
from rankprune._label_check import LabelCheck, reason_for
from rankprune._table_rows import read_labels
from rankprune._visible import visible
from rankprune.tables import Table

# Signs of a cell and columns of a row that a card shows.
_MAX_CELL, _MAX_COLUMNS = 20_000, 200
# Images by the ending of their names; none of these can hold a program.
IMAGES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
}
_MAX_IMAGE = 1 << 25


@dataclass(frozen=True)
class Field:
    """A cell of a card: its column's position and name, its text, and whether it is an image."""

    column: int
    name: str
    text: str
    is_image: bool


class Rows:
    """The rows of the checked table, read once for those that will be shown.

    Parameters
    ----------
    run : LabelCheck
    table : Table
        Open for as long as rows are shown.
    blind : bool
        Hide every column that tells the label.
    image_root : Path or None
        Where images lie that cells name by their path.
    """

    def __init__(
        self, run: LabelCheck, table: Table, *, blind: bool, image_root: Path | None = None
    ) -> None:
        self.run = run
        self._table = table
        self._blind = blind
        self._root = None if image_root is None else image_root.resolve()
        self._lock = threading.Lock()
        self._kept: dict[int, list[str | None]] = {}
        asked = run.settings
        self._label = table.position(asked["label"])
        hidden = {asked["label"], *asked.get("redact", ())}
        if blind:
            hidden |= {asked[name] for name in ("probabilities", "trusted") if asked.get(name)}
            label = read_labels(table, asked["label"], run.positive, drop_unlabeled=True)
            hidden |= set(copies_of_label(table, label.sql))
        shown = [i for i, name in enumerate(table.names) if name not in hidden]
        self.shown = shown[:_MAX_COLUMNS]
        self.n_more = len(shown) - len(self.shown)
        self.hidden = [name for name in table.names if name in hidden]
        self._place = {int(row): place for place, row in enumerate(run.scores.rows)}
        ids = None if asked.get("id") in hidden else run.scores.ids
        self._ids = None if ids is None else [str(name) for name in ids]
        named = zip(self._ids or (), run.scores.rows.tolist(), strict=False)
        self._by_id: dict[str, int] = dict(reversed(list(named)))

    def read(self, rows: Sequence[int]) -> None:
        """Read rows that will be shown."""
        missing = [row for row in rows if row not in self._kept]
        if not missing:
            return
        with self._lock:
            columns = list(range(len(self._table.names)))
            found = self._table.cells(np.asarray(missing, dtype=np.intp), columns)
        self._kept.update(zip(missing, found, strict=True))

    def place(self, row: int) -> int | None:
        """Return the place of a row among those with a label, None where it has none."""
        return self._place.get(row)

    def find(self, text: str) -> int | None:
        """Return the row of this name or, where rows have none, of this number."""
        if text in self._by_id:
            return int(self._by_id[text])
        row = int(text) - 1 if text.isascii() and text.isdigit() and len(text) < 16 else -1
        return row if row in self._place else None

    def name(self, row: int) -> str:
        """Return what the row is called."""
        return str(row + 1) if self._ids is None else self._ids[self._place[row]]

    def column_name(self, column: int) -> str:
        """Return what a column is called."""
        return self._table.names[column]

    def cell(self, row: int, column: int) -> str | None:
        """Return one cell as it stands."""
        self.read([row])
        return self._kept[row][column]

    def hash(self, row: int) -> str:
        """Return what the row's cells but the label are known by."""
        self.read([row])
        return row_hash(self._kept[row], self._label)

    def label(self, row: int) -> str:
        """Return the label that was given."""
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
            # A path may tell the label: images often lie in a folder that is named by it.
            shown = "" if text is None or (is_image and self._blind) else visible(text, _MAX_CELL)
            name = visible(self._table.names[column], 200)
            found.append(Field(column, name, shown, is_image))
        return found

    def image(self, row: int, column: int) -> Path | None:
        """Return the image that a cell names, if it lies below the root, links resolved."""
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
        # The ending counts of what the link leads to.
        below = path.is_relative_to(self._root) and path.suffix.lower() in IMAGES
        return path if is_file and below else None

    def opinion(self, row: int) -> dict[str, Any]:
        """Return what the model thinks of a row, for those who may see it."""
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


def row_hash(cells: Sequence[str | None], label: int) -> str:
    """Return what a row's cells but the label are known by."""
    rest = [cell for column, cell in enumerate(cells) if column != label]
    return hashlib.sha256(json.dumps(rest).encode()).hexdigest()[:32]
