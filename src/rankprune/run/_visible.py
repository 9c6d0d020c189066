"""Texts as people see them: invisible characters by name, long texts cut."""

from __future__ import annotations

import unicodedata


def visible(text: object, limit: int = 500) -> str:
    """Return a text with invisible characters shown by name, cut if it is long."""
    value = str(text)
    shown = value if len(value) <= limit else value[:limit] + "…"
    return "".join(
        f"⟨U+{ord(character):04X}⟩"
        if unicodedata.category(character) in ("Cc", "Cf", "Co", "Cn", "Cs")
        and character not in "\n\t"
        else character
        for character in shown
    )
