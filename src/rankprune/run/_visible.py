"""Texts as people are to see them: hidden signs by name, cut where they are long."""

from __future__ import annotations

import unicodedata


def visible(text: object, limit: int = 500) -> str:
    """Return a text whose hidden signs are shown by name, cut where it is long."""
    value = str(text)
    shown = value if len(value) <= limit else value[:limit] + "…"
    return "".join(
        f"⟨U+{ord(sign):04X}⟩"
        if unicodedata.category(sign) in ("Cc", "Cf", "Co", "Cn", "Cs") and sign not in "\n\t"
        else sign
        for sign in shown
    )
