"""Rows as reviewers see them: cells of the table, images, and the model's opinion.

In an audit a card is blind: it holds neither the label nor anything computed from it.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rankprune.review._choices import LabelKeys
from rankprune.review._telling import telling_columns
from rankprune.run._check_record import CheckRecord
from rankprune.run._class_scores import class_reason
from rankprune.run._class_sentences import is_of_many
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
# Characters of a label on a card.
_MAX_LABEL = 200


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
    run : LabelCheck or ClassCheck
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
        run: CheckRecord,
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
            # Of many labels, each has a column.
            hidden |= {(asked.probabilities or "").replace("*", name) for name in run.classes}
            # Columns that an earlier export added.
            hidden |= {name for name in table.names if name.startswith("rankprune_")}
            hidden |= set(telling_columns(table, run))
        shown = [i for i, name in enumerate(table.names) if name not in hidden]
        self.shown = shown[:_MAX_COLUMNS]
        self.n_more = len(shown) - len(self.shown)
        self.hidden = [name for name in table.names if name in hidden]
        self.keys = LabelKeys(run.classes)
        self.codes = run.given_codes
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

    def code(self, row: int) -> int:
        """Return the number of the given label."""
        return int(self.codes[self._place[row]])

    def label(self, row: int) -> str:
        """Return the given label."""
        return self.run.classes[self.code(row)]

    def doubt(self, row: int) -> float:
        """Return how sure the model is that the given label is wrong."""
        probability = float(self.run.scores.probability[self._place[row]])
        # Of two labels, it is the probability of the positive one.
        is_of_other = not is_of_many(self.run) and self.code(row) == 0
        return probability if is_of_other else 1 - probability

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
        return self._class_opinion(row) if is_of_many(self.run) else self._opinion(row)

    def _opinion(self, row: int) -> dict[str, Any]:
        scores, place = self.run.scores, self._place[row]
        code, probability = self.code(row), float(scores.probability[place])
        label, other = self.run.classes[code], self.run.classes[1 - code]
        is_suspect = bool(scores.suspect[place])
        sure = probability if code == 1 else 1 - probability
        return {
            "label": visible(label, _MAX_LABEL),
            "other": visible(other, _MAX_LABEL),
            "suggestion": visible(other if is_suspect else label, _MAX_LABEL),
            "reason": visible(reason_for(label, sure, self.run.out_of_fold)),
            "rank": int(scores.rank[place]),
        }

    def _class_opinion(self, row: int) -> dict[str, Any]:
        """Return the opinion with the likeliest other label, and the buttons in their order."""
        scores, place = self.run.scores, self._place[row]
        given, suggested = self.code(row), int(scores.suggested[place])
        own, other = (
            float(found[place]) for found in (scores.probability, scores.suggested_probability)
        )
        label, better = (self.keys.texts[code] for code in (given, suggested))
        return {
            "given": given,
            "suggested": suggested,
            "suggested_probability": other,
            "is_suggested": bool(scores.suspect[place]) or other >= own,
            "reason": class_reason(label, own, better, other, self.run.out_of_fold),
            "rank": int(scores.rank[place]),
            "choices": self.choices((given, suggested)),
        }

    def choices(self, first: Sequence[int] = ()) -> list[dict[str, Any]]:
        """Return the labels that have a button, with their keys; see `LabelKeys.choices`."""
        return [asdict(one) for one in self.keys.choices(first)]


def _is_path(text: str) -> bool:
    """Return whether a text names an image."""
    return Path(text[-20:]).suffix.lower() in IMAGES
