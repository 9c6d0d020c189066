"""Cells that a spreadsheet would run as formulas, and how to keep it from that."""

from __future__ import annotations

import re

# Characters that spreadsheets may skip at the start of a cell: control characters and blanks of all
# kinds, marks of byte order and direction, and characters that are not shown.
_SKIPPED = (
    (0x1, 0x20),
    (0x7F, 0xA0),
    (0xAD, 0xAD),
    (0x34F, 0x34F),
    (0x61C, 0x61C),
    (0x115F, 0x1160),
    (0x1680, 0x1680),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x2000, 0x200F),
    (0x2028, 0x202F),
    (0x205F, 0x206F),
    (0x2800, 0x2800),
    (0x3000, 0x3000),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFFB),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
)
# Each also as a full-width and as a small character.
_STARTS = "=+-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b"


def _pattern(escape: str) -> str:
    """Return the pattern of a formula, with code points written as a dialect wants them."""
    skipped = "".join(f"{escape % first}-{escape % last}" for first, last in _SKIPPED)
    starts = "".join(escape % ord(start) for start in _STARTS)
    # A tab or a line break at the start is enough for some programs.
    return f"^(?:[{skipped}]*[{starts}]|[\\t\\r\\n])"


# For DuckDB, which uses RE2, and for Python.
FORMULA_RE2 = _pattern(r"\x{%04X}")
_FORMULA = re.compile(_pattern(r"\U%08x"))


def spreadsheet_safe(text: str) -> str:
    """Return a cell with an apostrophe before it if a spreadsheet would run it as a formula."""
    if not _FORMULA.match(text):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text
