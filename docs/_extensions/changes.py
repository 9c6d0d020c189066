"""Unreleased changes, collected from their fragments for the changelog page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

KINDS = {"feature": "New", "change": "Changed", "fix": "Fixed", "doc": "Documentation"}


def unreleased(folder: Path) -> str:
    """Return one list for each kind of change, or an empty string if there are no fragments."""
    parts = []
    for kind, title in KINDS.items():
        fragments = sorted(folder.glob(f"*.{kind}.md"))
        if fragments:
            lines = [" ".join(path.read_text(encoding="utf-8").split()) for path in fragments]
            parts += [f"### {title}", "\n".join(f"- {line}" for line in lines)]
    return "\n\n".join(["## Not released yet", *parts]) + "\n" if parts else ""


def collect(app: Any) -> None:
    """Write the file that the changelog page includes."""
    path = Path(app.srcdir) / "generated" / "changes.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text(unreleased(Path(app.srcdir).parent / "changelog.d"), encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Collect the fragments before Sphinx reads the pages."""
    app.connect("builder-inited", collect)
    return {"parallel_read_safe": True}
