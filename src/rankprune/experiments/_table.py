"""A table of results in Markdown, the output of every evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """A title, one sentence on how to read it, and rows of text."""

    title: str
    note: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def __str__(self) -> str:
        lines = [f"### {self.title}", "", *([self.note, ""] if self.note else [])]
        lines.append(f"| {' | '.join(self.header)} |")
        lines.append(f"|{'---|' * len(self.header)}")
        lines += [f"| {' | '.join(row)} |" for row in self.rows]
        return "\n".join(lines) + "\n"
