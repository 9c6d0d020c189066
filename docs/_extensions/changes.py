"""The changes that are not released yet, gathered from their fragments for the changelog page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

KINDS = {"feature": "New", "change": "Changed", "fix": "Mended", "doc": "Documentation"}


def gather(app: Any) -> None:
    """Write one list of each kind."""
    fragments = Path(app.srcdir).parent / "changelog.d"
    parts = []
    for kind, title in KINDS.items():
        found = sorted(fragments.glob(f"*.{kind}.md"))
        if found:
            lines = [" ".join(path.read_text(encoding="utf-8").split()) for path in found]
            parts += [f"## {title}", *(f"- {line}" for line in lines)]
    place = Path(app.srcdir) / "generated" / "changes.md"
    place.parent.mkdir(exist_ok=True)
    place.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Gather them before pages are read."""
    app.connect("builder-inited", gather)
    return {"parallel_read_safe": True}
