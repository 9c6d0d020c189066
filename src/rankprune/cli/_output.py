"""What commands print."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import click


def say(message: str, quiet: bool = False) -> None:
    """Write a line to standard error."""
    if not quiet:
        click.echo(message, err=True)


def print_rows(names: Sequence[str], rows: Iterable[Sequence[Any]], form: str) -> None:
    """Print rows as CSV, as JSON lines, as one JSON list, or as text."""
    for part in rows_text(names, rows, form):
        click.echo(part, nl=False)


def rows_text(names: Sequence[str], rows: Iterable[Sequence[Any]], form: str) -> Iterator[str]:
    """Yield rows as CSV, as JSON lines, as one JSON list, or as text, in parts."""
    if form in ("csv", "text"):
        text = io.StringIO()
        # Text is what people read: columns apart by tabs.
        writer = csv.writer(text, lineterminator="\n", delimiter="," if form == "csv" else "\t")
        writer.writerow(names)
        for row in rows:
            writer.writerow(row)
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
