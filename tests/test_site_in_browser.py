"""The built site in a real browser: nothing overflows or is loaded, and search works offline.

`make test-all` builds it first.
"""

from pathlib import Path

import pytest

from chromium import assert_accessible, browser, overflow  # noqa: F401 (a fixture)

pytestmark = pytest.mark.browser

SITE = Path(__file__).parents[1] / "docs" / "_build" / "html"
TYPICAL = [
    "index.html",
    "choosing.html",
    "how_it_works.html",
    "gallery/index.html",
    "gallery/plot_flipped_digits.html",
    "generated/rankprune.RankPruningClassifier.html",
    "reproduction/table3.html",
]


NARROW_AND_WIDE = [(400, "light"), (1400, "dark")]


@pytest.fixture(params=[*NARROW_AND_WIDE, (400, "dark"), (1400, "light")])
def page(browser, request):  # noqa: F811 (the fixture)
    assert (SITE / "index.html").exists(), "the site is not built: make docs"
    width, scheme = request.param
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True
    )
    opened = context.new_page()
    opened.said, opened.asked = [], []
    opened.on("pageerror", lambda error: opened.said.append(str(error)))
    opened.on("request", lambda request: opened.asked.append(request.url))
    yield opened
    context.close()


@pytest.mark.parametrize("page", NARROW_AND_WIDE, indirect=True)  # colours take no place
def test_no_page_overflows_misses_a_picture_or_loads_anything_from_elsewhere(page):
    places = [path for path in sorted(SITE.rglob("*.html")) if "_static" not in path.parts]
    assert len(places) > 100
    for place in places:
        page.goto(place.as_uri())
        assert overflow(page) <= 0, place
        broken = page.evaluate(
            "[...document.images].filter(one => one.loading !== 'lazy' && !one.naturalWidth)"
            ".map(one => one.src)"
        )
        assert broken == [], place
    assert page.said == []
    assert not [url for url in page.asked if not url.startswith(("file:", "data:"))]


@pytest.mark.parametrize("name", TYPICAL)
def test_wide_tables_and_code_scroll_by_themselves(page, name):
    page.goto((SITE / name).as_uri())
    cut = page.evaluate(
        """[...document.querySelectorAll('.bd-article table, .bd-article pre')].filter(part => {
            const box = part.closest('.pst-scrollable-table-container') || part;
            const hidden = part.scrollWidth > box.clientWidth + 1;
            return hidden && !['auto', 'scroll'].includes(getComputedStyle(box).overflowX);
        }).map(part => part.textContent.slice(0, 60))"""
    )
    assert cut == []


def test_search_works_without_a_server(page):
    page.goto((SITE / "search.html").as_uri() + "?q=suspects")
    page.wait_for_selector("#search-results li a", timeout=10_000)
    assert page.locator("#search-results li a").count() >= 3


@pytest.mark.parametrize("name", ["index.html", "how_it_works.html"])
def test_everybody_can_read_it(page, name):
    page.goto((SITE / name).as_uri())
    assert_accessible(page)
