"""Turn links to files outside docs/ into downloads, so that they also work on the site."""

from __future__ import annotations

import re
from typing import Any

LINK = re.compile(r"\[([^\]]+)\]\((\.\./(?:results|benchmarks)/[^)#]+)\)")


def offer(_app: Any, _name: str, text: list[str]) -> None:
    """Rewrite the links of one page before it is parsed."""
    text[0] = LINK.sub(r"{download}`\1 <\2>`", text[0])


def setup(app: Any) -> dict[str, bool]:
    """Rewrite the links of every page."""
    app.connect("source-read", offer)
    return {"parallel_read_safe": True}
