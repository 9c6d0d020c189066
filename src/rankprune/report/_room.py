"""Keep tables as short as the size of the page allows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from html import escape
from typing import TypeVar

Row = TypeVar("Row")

# Bytes of the tags around each text.
_MARKUP = 20


def bytes_of(*texts: str) -> int:
    """Return how many bytes of the page some texts take."""
    return sum(len(escape(text).encode()) + _MARKUP for text in texts)


def fitting(rows: Iterable[Row], n_bytes: int, size: Callable[[Row], int]) -> Iterator[Row]:
    """Yield the first rows, as many as fit into so many bytes.

    Examples
    --------
    >>> from rankprune.report._room import fitting
    >>> list(fitting(["a", "bb", "c"], 3, len))
    ['a', 'bb']
    """
    for row in rows:
        n_bytes -= size(row)
        if n_bytes < 0:
            return
        yield row
