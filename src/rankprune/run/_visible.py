"""Make text safe to display: show invisible characters by code, truncate long text."""

from __future__ import annotations

import unicodedata

from rankprune.core._label_values import short_name


def visible(text: object, limit: int = 500) -> str:
    """Return text with invisible characters shown as ``⟨U+200B⟩``, truncated to ``limit``."""
    value = str(text)
    shown = value if len(value) <= limit else value[:limit] + "…"
    return "".join(
        f"⟨U+{ord(character):04X}⟩"
        if unicodedata.category(character) in ("Cc", "Cf", "Co", "Cn", "Cs")
        and character not in "\n\t"
        else character
        for character in shown
    )


def visible_label(name: str, most: int = 80) -> str:
    """Return the name of a label as visible text, even if it is long or consists of spaces."""
    return visible(short_name(name, most)) or "(empty)"
