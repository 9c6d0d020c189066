"""Debian's browser for tests of pages."""

import shutil

import pytest

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


@pytest.fixture(scope="module")
def browser():
    """A browser for the tests of one file."""
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=list(FLAGS)
        )
        yield started
        started.close()


def overflow(page):
    """Return by how much a page is wider than its window."""
    return page.evaluate("document.documentElement.scrollWidth - window.innerWidth")


def assert_accessible(page):
    """Hold a page to the rules of axe."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    found = axe.Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
