"""The table given back: every cell as it was, but for suspects marked or left out, or labels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune._files import refuse_same_file, whole_file
from rankprune._label_check import LabelCheck
from rankprune._relabel import relabel_json, relabel_text
from rankprune._spooling import FORMATS
from rankprune.exceptions import TableError
from rankprune.table_model import open_checked
from rankprune.tables import Table, open_table, output_format

MARKS = ("rankprune_suspect", "rankprune_probability", "rankprune_rank")
_KEPT, _NEW = "rankprune_kept", "rankprune_new_label"


def export_table(
    run: LabelCheck,
    path: Any,
    table: Any = None,
    *,
    drop_suspects: bool = False,
    spreadsheet_safe: bool = False,
) -> tuple[int, int]:
    """Write the checked table to a new file, and return the rows kept and removed.

    Parameters
    ----------
    run : LabelCheck
    path : path
        CSV, TSV or Parquet by its ending.
    table : path or data frame, default=None
        The table that was checked; by default where it lay. A changed one is refused.
    drop_suspects : bool, default=False
        Leave suspects out; by default three columns are added that mark them.
    spreadsheet_safe : bool, default=False
        Keep spreadsheets from taking cells for formulas, by an apostrophe before them.
    """
    place = Path(path)
    output_format(place)
    scores = run.scores
    with open_checked(run, table) as opened:
        refuse_same_file(place, opened.path)
        suspect = np.zeros(opened.n_rows, dtype=bool)
        suspect[scores.rows] = scores.suspect
        if drop_suspects:
            removed = int(suspect.sum())
            beside: dict[str, Any] = {_KEPT: ~suspect}
            shown, where = [], _KEPT
        else:
            removed, where, shown = 0, "true", list(MARKS)
            beside = _marks(run, opened)
            beside["rankprune_suspect"] = suspect
        kept = opened.write(
            place,
            beside=beside,
            shown=shown,
            where=where,
            safe=spreadsheet_safe,
            n_expected=opened.n_rows - removed,
        )
    return kept, removed


@dataclass(frozen=True)
class Exported:
    """What was written.

    Attributes
    ----------
    kept, removed : int
        Rows.
    same_bytes : bool
        Whether nothing but labels differs from the input, to the byte; of JSON lines, to the line.
    """

    kept: int
    removed: int
    same_bytes: bool


def export_reviewed(
    run: LabelCheck,
    path: Any,
    rows: NDArray[np.intp],
    is_positive: NDArray[np.bool_],
    table: Any = None,
    *,
    drop_suspects: bool = False,
    spreadsheet_safe: bool = False,
) -> Exported:
    """Write the checked table with settled labels, and return what was written.

    From a text file to one of the same kind every other byte stays as it was; elsewhere every
    other cell does.

    Parameters
    ----------
    run, table, spreadsheet_safe
        As in `export_table`.
    path : path
        CSV, TSV or Parquet by its ending; also JSON lines where the table is such.
    rows : ndarray of int
        Positions of the rows whose labels people settled.
    is_positive : ndarray of bool
        Their labels.
    drop_suspects : bool, default=False
        Leave out the suspects that nobody has settled.
    """
    place = Path(path)
    with open_checked(run, table) as opened:
        refuse_same_file(place, opened.path)
        as_text = not drop_suspects and not spreadsheet_safe and _is_alike(opened, place)
        if not as_text:
            output_format(place)
        changed = _changed_labels(run, rows, is_positive)
        if as_text and _relabeled(run, opened, place, changed):
            return Exported(opened.n_rows, 0, same_bytes=True)
        output_format(place)
        keep = np.ones(opened.n_rows, dtype=bool)
        if drop_suspects:
            keep[run.scores.rows] = ~run.scores.suspect
            keep[rows] = True
        new = np.full(opened.n_rows, None, dtype=object)
        new[list(changed)] = list(changed.values())
        kept = opened.write(
            place,
            beside={_KEPT: keep, _NEW: new},
            shown=[],
            where=_KEPT,
            replaced={opened.position(run.settings["label"]): _NEW},
            safe=spreadsheet_safe,
            n_expected=int(keep.sum()),
        )
    return Exported(kept, opened.n_rows - kept, same_bytes=False)


def _changed_labels(
    run: LabelCheck, rows: NDArray[np.intp], is_positive: NDArray[np.bool_]
) -> dict[int, str]:
    """Return the new labels of those rows that had another."""
    given = dict(zip(run.scores.rows.tolist(), run.scores.is_positive.tolist(), strict=True))
    settled = zip(rows.tolist(), is_positive.tolist(), strict=True)
    return {row: run.positive if new else run.negative for row, new in settled if given[row] != new}


def _is_alike(table: Table, path: Path) -> bool:
    """Return whether a file of this name is of the same kind as the text that was read."""
    if table.path is None:
        return False
    kind = FORMATS.get(path.suffix.lower())
    if table.format == "csv":
        return kind == "csv" and table.delimiter == table.output_delimiter(path)
    return table.format == kind == "jsonl"


def _relabeled(run: LabelCheck, table: Table, path: Path, labels: dict[int, str]) -> bool:
    """Write a text file in which nothing but labels has changed; return whether that went well.

    It is read again: a file that is quoted in a way of its own may be read otherwise than it was
    here, and is not kept then.
    """
    label, encoding = run.settings["label"], run.settings["encoding"]
    column = table.position(label)
    others = [name for name in table.names if name != label]
    try:
        with whole_file(path) as part:
            if table.format == "jsonl":
                relabel_json(Path(str(table.path)), part, label, labels)
            else:
                relabel_text(
                    Path(str(table.path)),
                    part,
                    encoding=encoding,
                    delimiter=table.delimiter,
                    column=column,
                    n_columns=len(table.names),
                    labels=labels,
                )
            with open_table(part, encoding=encoding, delimiter=table.delimiter) as written:
                is_same = (
                    written.names == table.names
                    and written.n_rows == table.n_rows
                    and bool((written.row_hashes(others) == table.row_hashes(others)).all())
                    and _labels(written, column) == _expected(table, column, labels)
                )
            if not is_same:
                raise TableError("It is read otherwise.")
    except TableError:
        return False
    return True


def _labels(table: Table, column: int) -> list[Any]:
    (found,) = table.fetch([f"c{column}"])
    return np.ma.asarray(found).tolist()  # type: ignore[no-any-return]  # NumPy knows no better


def _expected(table: Table, column: int, labels: dict[int, str]) -> list[Any]:
    found = _labels(table, column)
    for row, label in labels.items():
        found[row] = label
    return found


def _marks(run: LabelCheck, table: Table) -> dict[str, Any]:
    """Return what is said of each row in columns of their own."""
    table.refuse_taken(MARKS)
    probability = np.full(table.n_rows, np.nan)
    rank = np.zeros(table.n_rows, dtype=np.int64)
    probability[run.scores.rows], rank[run.scores.rows] = run.scores.probability, run.scores.rank
    return {
        "rankprune_probability": probability,
        "rankprune_rank": np.ma.masked_equal(rank, 0),
    }
