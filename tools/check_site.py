"""Check a built site: all its links and images work, and it loads nothing from other sites.

python tools/check_site.py docs/_build/html
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Resources that a browser loads by itself; links that people follow may lead anywhere.
LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}


class Page(HTMLParser):
    """The anchors, links and loaded resources of one page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Collect anchors, links and loaded resources."""
        found = {name: value or "" for name, value in attributes}
        self.names.update(found[name] for name in ("id", "name") if name in found)
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag in LOADED and LOADED[tag] in found:
            self.loaded.append(found[LOADED[tag]])


def pages_of(site: Path) -> list[Path]:
    """Return the pages, without the templates among the static files of the theme."""
    return [path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]


def problems(site: Path) -> Iterator[str]:
    """Yield one line for each problem of the pages."""
    pages = {path.resolve(): Page(path) for path in pages_of(site)}
    if not pages:
        yield f"{site}: no pages"
    for path, page in pages.items():
        name = path.relative_to(site.resolve())
        for target in page.loaded:
            if urlsplit(target).scheme in ("http", "https") or target.startswith("//"):
                yield f"{name}: loads {target}"
        for target in page.links + page.loaded:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            place = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if place.is_dir():
                place /= "index.html"
            if not place.exists():
                yield f"{name}: {target} does not exist"
            elif (
                parts.fragment
                and place in pages
                and unquote(parts.fragment) not in pages[place].names
            ):
                yield f"{name}: {target} has no such anchor"


def styles_from_elsewhere(site: Path) -> Iterator[str]:
    """Yield one line for each resource that a style sheet loads from another site."""
    for path in sorted(site.rglob("*.css")):
        text = path.read_text(encoding="utf-8")
        for target in re.findall(r"(?:url\(|@import)\s*['\"]?((?:https?:)?//[^'\")\s]+)", text):
            yield f"{path.relative_to(site)}: loads {target}"


def main() -> None:
    """Print all problems, and exit with 1 if there are any."""
    site = Path(sys.argv[1])
    found = [*problems(site), *styles_from_elsewhere(site)]
    for line in found:
        print(line)
    print(f"{len(pages_of(site))} pages, {len(found)} wrong links or resources")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
