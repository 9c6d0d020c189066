"""Find the values of a JSON object by position, so that each keeps the very text it has there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

_DECODER = json.JSONDecoder()
# The brace or comma before a member, its key, and the colon.
_KEY = re.compile(r'[ \t\r\n]*+[{,][ \t\r\n]*+("[^"\\]*+(?:\\.[^"\\]*+)*+")[ \t\r\n]*+:[ \t\r\n]*+')
_END = re.compile(r"[ \t\r\n]*+(?:\{[ \t\r\n]*+)?\}[ \t\r\n]*+")


def json_members(line: str) -> Iterator[tuple[str, int, int]]:
    """Yield the key of each member of an object, as it is written, and the span of its value.

    A line that is not a JSON object raises ValueError.
    """
    end = 0
    while member := _KEY.match(line, end):
        if line[member.start() : member.start(1)].strip() != ("," if end else "{"):
            break
        start = member.end()
        _, end = _DECODER.raw_decode(line, start)
        yield member[1], start, end
    if not _END.fullmatch(line, end):
        raise ValueError(f"not a JSON object at character {end}")


def write_as_text(source: Path, target: Path) -> None:
    """Copy JSON lines with each number, list and object as a string of the text it has there.

    DuckDB would round numbers and write lists and objects anew. Lines that are not objects are
    copied as they are.
    """
    with (
        source.open(encoding="utf-8", newline="\n") as lines,
        target.open("w", encoding="utf-8", newline="") as copy,
    ):
        copy.writelines(map(_as_text, lines))


def _as_text(line: str) -> str:
    parts, done = [], 0
    try:
        for _, start, end in json_members(line):
            if line[start] not in '"n':
                parts += [line[done:start], json.dumps(line[start:end], ensure_ascii=False)]
                done = end
    except (ValueError, RecursionError):
        return line
    return "".join([*parts, line[done:]])
