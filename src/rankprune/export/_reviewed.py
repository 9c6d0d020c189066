"""Export the table with settled labels and every other cell unchanged."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune.exceptions import TableError
from rankprune.export._marked import _NEW, KEPT_NAMES
from rankprune.run._check_record import CheckRecord
from rankprune.run._checked_table import open_checked
from rankprune.run._judged_labels import judged_codes
from rankprune.run._pruned import pruned_rows, trusted_rows
from rankprune.run._settled import Settled
from rankprune.storage._atomic import refuse_same_file, whole_file
from rankprune.table import Table, open_table
from rankprune.table._relabel import relabel_json, relabel_text
from rankprune.table._source import FORMATS
from rankprune.table._write import output_delimiter, output_format, write_table


@dataclass(frozen=True)
class Exported:
    """The result of an export.

    Attributes
    ----------
    kept, removed : int
        Numbers of rows kept and removed.
    same_bytes : bool
        Whether every byte (in JSON lines, every line) without a changed label equals the input.
    """

    kept: int
    removed: int
    same_bytes: bool


def export_reviewed(
    run: CheckRecord,
    path: Any,
    rows: NDArray[np.intp],
    codes: NDArray[Any],
    table: Any = None,
    *,
    drop_suspects: bool = False,
    prune: bool = False,
    spreadsheet_safe: bool = False,
) -> Exported:
    """Write the checked table with settled labels, and return the result of the export.

    If input and output are text files of the same kind, every other byte stays the same; otherwise
    every other cell does.

    Parameters
    ----------
    run, table, spreadsheet_safe
        As in `export_table`.
    path : path
        Output file; its extension selects CSV, TSV or Parquet, or JSON lines if the input is JSON
        lines.
    rows : ndarray of int
        Positions in the table of the settled rows. Rows that people judged for an audit are
        settled too, with the label of the audit unless another one is passed.
    codes : ndarray of int or bool
        Settled labels of these rows, as their places in ``run.classes``.
    drop_suspects : bool, default=False
        Leave out the suspects that are not settled.
    prune : bool, default=False
        As in `export_table`.
    """
    place = Path(path)
    rows, codes = _with_judged(run, rows, codes)
    with open_checked(run, table) as opened:
        refuse_same_file(place, opened.path)
        as_text = not drop_suspects and not spreadsheet_safe and _is_alike(opened, place)
        if not as_text:
            output_format(place)
        changed = _changed_labels(run, rows, codes)
        if as_text and _relabeled(run, opened, place, changed):
            return Exported(opened.n_rows, 0, same_bytes=True)
        output_format(place)
        keep = np.ones(opened.n_rows, dtype=bool)
        if drop_suspects:
            trusted = trusted_rows(run, opened)
            keep[run.scores.rows] = ~pruned_rows(run, prune=prune, trusted=trusted)[0]
            keep[rows] = True
        new = np.full(opened.n_rows, None, dtype=object)
        new[list(changed)] = list(changed.values())
        kept = write_table(
            opened,
            place,
            beside={KEPT_NAMES: keep, _NEW: new},
            shown=[],
            where=KEPT_NAMES,
            replaced={opened.position(str(run.settings.label)): _NEW},
            safe=spreadsheet_safe,
            n_expected=int(keep.sum()),
        )
    return Exported(kept, opened.n_rows - kept, same_bytes=False)


def _with_judged(
    run: CheckRecord, rows: NDArray[np.intp], codes: NDArray[Any]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return settled rows together with those that people judged for an audit."""
    judged, right = judged_codes(run)
    is_new = ~np.isin(judged, rows)
    return np.append(rows, judged[is_new]), np.append(codes.astype(np.intp), right[is_new])


def trail_path(path: Path) -> Path:
    """Return the path of the audit trail of an exported table."""
    return path.with_name(f"{path.name}.trail.jsonl")


def trail_lines(run: CheckRecord, settled: Settled) -> bytes:
    """Return who changed which label and why, as one JSON object per line."""
    lines = (json.dumps(entry, ensure_ascii=False) + "\n" for entry in settled.trail(run))
    return "".join(lines).encode()


def _changed_labels(
    run: CheckRecord, rows: NDArray[np.intp], codes: NDArray[np.intp]
) -> dict[int, str]:
    """Return the settled labels that differ from the given ones, by row position."""
    given = dict(zip(run.scores.rows.tolist(), run.given_codes.tolist(), strict=True))
    settled = zip(rows.tolist(), codes.tolist(), strict=True)
    return {row: run.classes[new] for row, new in settled if given[row] != new}


def _is_alike(table: Table, path: Path) -> bool:
    """Return whether the output is a text file of the same kind as the input."""
    if table.path is None:
        return False
    kind = FORMATS.get(path.suffix.lower())
    if table.format == "csv":
        return kind == "csv" and table.delimiter == output_delimiter(table, path)
    return table.format == kind == "jsonl"


def _relabeled(run: CheckRecord, table: Table, path: Path, labels: dict[int, str]) -> bool:
    """Write a text file in which only labels have changed, and return whether that succeeded.

    The file is read back and discarded if its cells differ, for example because of unusual quoting.
    """
    label, encoding = str(run.settings.label), run.settings.encoding
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
                raise TableError("The new file does not match the original.")
    except TableError:
        return False
    return True


def _labels(table: Table, column: int) -> list[Any]:
    (found,) = table.fetch([f"c{column}"])
    return np.ma.asarray(found).tolist()  # type: ignore[no-any-return]  # tolist returns Any


def _expected(table: Table, column: int, labels: dict[int, str]) -> list[Any]:
    found = _labels(table, column)
    for row, label in labels.items():
        found[row] = label
    return found
