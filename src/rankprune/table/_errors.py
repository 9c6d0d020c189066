"""Readable errors about files that cannot be read."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rankprune.exceptions import TableError

# Maximum size of a record; the buffer must hold at least one record.
MAX_RECORD, _BUFFER = 1 << 25, 1 << 26
# Maximum number of characters of a name or record that an error message shows.
MAX_SHOWN_RECORD = 60


def refuse_repeated(names: Sequence[str], table: str) -> None:
    repeated = (
        sorted({name for name in names if names.count(name) > 1})
        if len(set(names)) < len(names)
        else []
    )
    if repeated:
        raise TableError(
            f"Column names must differ; {table} has {listed(repeated)} more than once. Rename "
            "one of them."
        )


def refuse_half_characters(names: Sequence[str], table: str) -> None:
    for name in names:
        if not is_unicode(name):
            raise half_character(f"the column name {name[:MAX_SHOWN_RECORD]!r} of {table}")


def is_unicode(text: str) -> bool:
    """Return whether files can hold a text; half of a pair of surrogates they cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def half_character(where: str) -> TableError:
    """Return an error about text that no file can hold, where that is."""
    return TableError(
        f"Column names and cells must be Unicode text, but {where} holds half of a pair of "
        "surrogates. Replace it."
    )


class Unreadable(TableError):
    """A file that DuckDB cannot read.

    Attributes
    ----------
    is_ragged : bool
        Whether some row has too many or too few cells.
    is_uneven : bool
        Whether the file mixes line endings.
    """

    is_ragged = False
    is_uneven = False


def readable(error: Exception, name: str, kind: str) -> Unreadable:
    """Return DuckDB's error about a file as a one-line error."""
    text = str(error)
    line = re.search(r"CSV Error on Line: (\d+)", text)
    if line is None:
        first = text.splitlines()[0].split(": ", 1)[-1]
        advice = {
            "parquet": "Check that the file is complete, or write it again.",
        }.get(kind, "Check the file.")
        unreadable = Unreadable(f"{name} cannot be read: {first[:300].rstrip(' .')}. {advice}")
        unreadable.is_uneven = "invalid state" in text
        return unreadable
    counted = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", text)
    if counted is not None:
        ragged = Unreadable(ragged_text(name, int(counted[1]), int(line[1]), int(counted[2])))
        ragged.is_ragged = True
        return ragged
    if "unterminated quote" in text:
        cause = "a quote is opened and never closed, or followed by more text"
    elif "Maximum line size" in text:
        cause = f"it is longer than {MAX_RECORD >> 20} MiB"
    else:
        cause = (
            text.splitlines()[2][:MAX_SHOWN_RECORD]
            if len(text.splitlines()) > 2
            else text[:MAX_SHOWN_RECORD]
        )
    return Unreadable(f"{name} cannot be read at line {line[1]}: {cause}. Fix that line.")


def ragged_text(name: str, expected: int, line: int, found: int) -> str:
    return (
        f"{name} must have {expected} cells in every row, as in its header; line {line} has "
        f"{found}. Fix that line. If the delimiter was guessed wrong, name it, such as "
        "delimiter=';'."
    )


def listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name[:MAX_SHOWN_RECORD]) for name in names[:8])
    return shown if len(names) <= 8 else f"{shown} and {len(names) - 8} more"
