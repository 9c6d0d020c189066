"""The scores of every row of a check of many labels, in memory or in a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankprune.run._scores import (
    SavedScores,
    connected,
    copy_of_columns_sql,
    opinion,
    read_columns,
    refuse_impossible_columns,
)
from rankprune.storage._json_records import from_plain
from rankprune.storage._sql import sql_text


@dataclass(frozen=True)
class ClassScores:
    """The scores of every labeled row, in the order of the table.

    Attributes
    ----------
    rows : ndarray of int
        Positions in the table, counted from 0.
    label, suggested : ndarray of int
        Numbers of the given label, and of the other one with the largest score.
    probability, suggested_probability : ndarray of float
        Their out-of-fold or given probabilities.
    chance : ndarray of float
        How likely the given label is wrong, by the estimated rates.
    suspect : ndarray of bool
        Whether the label is likely wrong.
    rank : ndarray of int
        Rank by suspicion, from 1 for the most suspicious row; suspects come first.
    weight : ndarray of float
        Correction weight for a fit to the kept rows; 0 for suspects.
    ids : ndarray of str or None
        Cells of the identifier column; None if no column was named.
    index : ndarray or None
        Labels of the rows in the index of a pandas data frame.
    """

    rows: NDArray[np.intp]
    label: NDArray[np.intp]
    suggested: NDArray[np.intp]
    probability: NDArray[np.float64]
    suggested_probability: NDArray[np.float64]
    chance: NDArray[np.float64]
    suspect: NDArray[np.bool_]
    rank: NDArray[np.int64]
    weight: NDArray[np.float64]
    ids: NDArray[np.object_] | None = None
    index: NDArray[np.object_] | None = None


# Columns of the file that only checks of many labels have, with the kind of their values.
_OWN = {
    "label": "iu",
    "suggested": "iu",
    "probability": "f",
    "suggested_probability": "f",
    "chance": "f",
}


@dataclass(frozen=True)
class SavedClassScores(SavedScores):
    """`ClassScores` in a file, which is read when they are first needed."""

    classes: tuple[str, ...] = ()
    _kind: ClassVar[Any] = ClassScores

    def _read(self, path: Path) -> ClassScores:
        own = ", ".join(
            f"{_number_sql(f'{name}_label', self.classes)} AS {name}"
            if name == "suggested"
            else f"{_number_sql('label', self.classes)} AS label"
            if name == "label"
            else name
            for name in _OWN
        )
        read = read_columns(path, own, "label", with_ids=self.with_ids)
        refuse_impossible_columns(read, self.n_rows, _OWN)
        return from_plain(ClassScores, read)


@dataclass(frozen=True)
class ClassTally:
    """Numbers of rows with each label, and of the suspects among them."""

    n_labels: tuple[int, ...]
    n_suspects_by_label: tuple[int, ...]

    @property
    def n_rows(self) -> int:
        """Return the number of all rows."""
        return sum(self.n_labels)

    @property
    def n_suspects(self) -> int:
        """Return the number of all suspects."""
        return sum(self.n_suspects_by_label)

    @classmethod
    def of(cls, scores: ClassScores, n_classes: int) -> ClassTally:
        """Return the counts for scores in memory."""
        rows, suspects = (
            np.bincount(labels, minlength=n_classes)
            for labels in (scores.label, scores.label[scores.suspect])
        )
        return cls(tuple(rows.tolist()), tuple(suspects.tolist()))


def class_reason(
    label: str, probability: float, suggested: str, likelier: float, out_of_fold: bool
) -> str:
    """Return why a row is on the list, given its label and the suggested one with their scores."""
    return (
        f"labeled {label}; {opinion(out_of_fold)} {100 * probability:.1f}%, and {suggested} "
        f"{100 * likelier:.1f}%"
    )


def write_class_scores(
    path: Path,
    scores: ClassScores,
    classes: tuple[str, ...],
    n_rows: int,
    *,
    out_of_fold: bool,
    n_listed: int,
) -> None:
    """Write one row for each row of the table; unlabeled rows have no score."""
    columns: dict[str, Any] = {
        name: getattr(scores, name)
        for name in (*_OWN, "suspect", "rank", "weight")
        if name not in ("label", "suggested")
    }
    columns |= {"row": scores.rows + 1, "given": scores.label, "likelier": scores.suggested}
    if scores.ids is not None:
        columns["id"] = scores.ids
    if scores.index is not None:
        columns["index"] = np.asarray([str(label) for label in scores.index], dtype=object)
    label, suggested = (_name_sql(name, classes) for name in ("given", "likelier"))
    reason = (
        f"'labeled ' || ({label}) || {sql_text(f'; {opinion(out_of_fold)} ')} || "
        f"printf('%.1f%%, and ', 100 * probability) || ({suggested}) || "
        "printf(' %.1f%%', 100 * suggested_probability)"
    )
    own = {
        "label": label,
        "suggested_label": suggested,
        "probability": "probability",
        "suggested_probability": "suggested_probability",
        "chance": "chance",
    }
    with connected() as connection:
        connection.register("scores", columns)
        connection.execute(
            copy_of_columns_sql(
                path,
                "scores",
                own,
                reason,
                n_listed=n_listed,
                with_ids=scores.ids is not None,
                with_index=scores.index is not None,
                n_missing=n_rows - len(scores.rows),
                n_rows=n_rows,
            )
        )


def _name_sql(code: str, classes: tuple[str, ...]) -> str:
    """Return SQL for the name of a label, given its number."""
    names = ", ".join(sql_text(name) for name in classes)
    return f"[{names}][{code} + 1]"


def _number_sql(name: str, classes: tuple[str, ...]) -> str:
    """Return SQL for the number of a label, given its name; NULL if there is no such label."""
    names = ", ".join(sql_text(one) for one in classes)
    return f"CASE WHEN {name} IS NOT NULL THEN nullif(list_position([{names}], {name}), 0) - 1 END"
