"""What commands print: messages, tables, and the command to run next."""

from __future__ import annotations

import csv
import io
import json
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from shlex import quote
from typing import Any

import click


def say(message: str, quiet: bool = False) -> None:
    """Write a line to standard error."""
    if not quiet:
        click.echo(harmless(message), err=True)


def harmless(text: str) -> str:
    """Return text for people, in which no name or cell can control the terminal."""
    from rankprune.run._visible import visible

    return visible(text, len(text))


def next_command(*words: str | Path) -> str:
    """Return a command that can be run as printed, wherever the program is installed."""
    return " ".join([_program(), *(quote(_not_a_flag(word)) for word in words)])


def _program() -> str:
    """Return how this program was started: by its name where the shell finds it, else in full."""
    started = Path(sys.argv[0])
    if started.name == "__main__.py":
        return f"{quote(_found('python', sys.executable))} -m rankprune"
    return quote(_found("rankprune", str(started))) if started.stem == "rankprune" else "rankprune"


def _found(name: str, path: str) -> str:
    known = shutil.which(name)
    return name if known is not None and Path(known).absolute() == Path(path).absolute() else path


def _not_a_flag(word: str | Path) -> str:
    """Return a word of a command; a path that begins with a dash must not be read as a flag."""
    is_path = isinstance(word, Path)
    return f"./{word}" if is_path and str(word).startswith("-") else str(word)


def print_rows(names: Sequence[str], rows: Iterable[Sequence[Any]], form: str) -> None:
    """Print rows as CSV, as JSON lines, as one JSON list, or as text."""
    for part in rows_text(names, rows, form):
        click.echo(harmless(part) if form == "text" else part, nl=False)


def _safe(cell: Any) -> Any:
    """Return a cell of a CSV file, which a spreadsheet may open."""
    from rankprune.storage._spreadsheets import spreadsheet_safe

    return spreadsheet_safe(cell) if isinstance(cell, str) else cell


def rows_text(names: Sequence[str], rows: Iterable[Sequence[Any]], form: str) -> Iterator[str]:
    """Yield rows as CSV, as JSON lines, as one JSON list, or as text, in parts."""
    if form in ("csv", "text"):
        text = io.StringIO()
        # Text is for people: columns are separated by tabs.
        delimiter = "," if form == "csv" else "\t"
        new_writer = partial(csv.writer, text, lineterminator="\n", delimiter=delimiter)
        # Before Python 3.13, a carriage return alone is not quoted, and would begin a new row.
        writer, quoting = new_writer(), new_writer(quoting=csv.QUOTE_ALL)
        # Names of columns may hold labels.
        for row in chain([names], rows):
            has_return = any("\r" in cell for cell in row if isinstance(cell, str))
            cells = [_safe(cell) for cell in row] if form == "csv" else row
            (quoting if has_return else writer).writerow(cells)
            if text.tell() > 1 << 16:
                yield text.getvalue()
                text.seek(0)
                text.truncate()
        yield text.getvalue()
        return
    records = (dict(zip(names, row, strict=True)) for row in rows)
    if form == "json":
        yield json.dumps(list(records), ensure_ascii=False) + "\n"
        return
    for record in records:
        yield json.dumps(record, ensure_ascii=False) + "\n"
