"""Debian's browser for tests of pages, and the commands that serve them."""

import os
import re
import shutil
import signal
import subprocess
import sys

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


@pytest.fixture
def started():
    """Start commands that serve a page, as people do; return the link of each person."""
    processes = []

    def start(command, run, *words, people=("ann",), env=()):
        named = [word for name in people for word in ("--reviewer", name)]
        process = subprocess.Popen(
            [sys.executable, "-m", "rankprune", command, str(run), *named, *map(str, words), "-q"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", **dict(env)},
        )
        processes.append(process)
        return [re.search(r"http://\S+", process.stdout.readline())[0] for _ in people]

    yield start
    for process in processes:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
        assert process.returncode == 0


@pytest.fixture
def open_page(browser):
    """Open links, each in a browser of its own; nothing may be said to the console."""
    contexts, said = [], []

    def opened(link, *, width=1400, scheme="light", quiet=True, shows="#card"):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        if quiet:
            page.on("console", lambda message: said.append(message.text))
            page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(link)
        page.wait_for_selector(f"{shows}:not([hidden])")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert said == []


def settle(page):
    """Wait until nothing is on its way."""
    page.wait_for_selector("#back:not([disabled])")


def press(page, key):
    page.keyboard.press(key)
    settle(page)


def overflow(page):
    """Return by how much a page is wider than its window."""
    return page.evaluate("document.documentElement.scrollWidth - window.innerWidth")


def assert_accessible(page):
    """Hold a page to the rules of axe."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    found = axe.Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
