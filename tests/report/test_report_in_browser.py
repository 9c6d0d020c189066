"""The report in a real browser: nothing overflows, nothing is loaded, and it is accessible."""

import pytest

from answered_tables import answered, write
from chromium import assert_accessible, browser, overflow  # noqa: F401 (a fixture)
from many_classes import class_check
from noisy_table import NAMES, noisy_rows, write_csv
from rankprune import check_answers, check_table
from rankprune.report import write_report

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module", params=["table", "answers", "many labels"])
def report(tmp_path_factory, request):
    """The report of a hostile table, of answers of people with long names, or of many labels."""
    folder = tmp_path_factory.mktemp("report")
    makers = {"table": checked_table, "answers": checked_answers, "many labels": checked_labels}
    return write_report(makers[request.param](folder), folder / "report.html")


def checked_answers(folder):
    """Return the check of answers of people with long names, one of whom looks at nothing."""
    lines, rows, _ = answered()
    lines = [[f"{row} {'x' * 200}", f"{who} {'w' * 200}", said] for row, who, said, _ in lines]
    lines += [[f"{row[0]} {'x' * 200}", "eve", "yes"] for row in rows]
    rows = [[f"{row[0]} {'x' * 200}", *row[1:]] for row in rows]
    return check_answers(
        write(folder / "answers.csv", ["item", "worker", "answer"], lines),
        "answer",
        row="item",
        annotator="worker",
        features=write(folder / "items.csv", ["item", "width", "height"], rows),
        labeled=folder / "labeled.csv",
        scorer=None,
    )


def checked_labels(folder):
    """Return the check of labels with long names in several scripts, more than plots show."""
    names = [f"{'a_long_name_' * 20}{k}" for k in range(28)]
    return class_check(1500, [*names, "<b>", "שלום", "狗", " "])


def checked_table(folder):
    """Return the check of a table with long words, long names and cells of many lines."""
    rows, _, _ = noisy_rows(400)
    rows = [
        [*row, "w" * 300, "several\nlines of text\n" * 5, str(int(i % 4 == 0))]
        for i, row in enumerate(rows)
    ]
    rows[0][5] = "another"
    names = [*NAMES, "a name of a column without any end " * 4, "text", "settled"]
    path = write_csv(folder / f"{'long-name-' * 15}.csv", rows, names)
    return check_table(path, "label", id="row id", trusted="settled", scorer=None)


@pytest.fixture(params=[(400, "light"), (400, "dark"), (1400, "light"), (1400, "dark")])
def page(browser, report, request):  # noqa: F811 (the fixture)
    width, scheme = request.param
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True
    )
    opened = context.new_page()
    opened.said, opened.asked = [], []
    opened.on("console", lambda message: opened.said.append(message.text))
    opened.on("pageerror", lambda error: opened.said.append(str(error)))
    opened.on("request", lambda request: opened.asked.append(request.url))
    opened.goto(report.as_uri())
    yield opened
    context.close()


def open_everything(page):
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")


def test_nothing_overflows_even_with_everything_open(page):
    assert overflow(page) <= 0
    open_everything(page)
    assert overflow(page) <= 0


def test_nothing_is_logged_to_the_console_and_nothing_is_loaded(page, report):
    open_everything(page)
    assert page.said == []
    assert page.asked == [report.as_uri()]


def test_there_are_no_accessibility_violations(page):
    open_everything(page)
    assert_accessible(page)


def test_plots_fill_their_container_and_have_the_colour_of_the_page(page):
    widths = page.evaluate(
        "[...document.querySelectorAll('figure svg')].map(s => s.getBoundingClientRect().width)"
    )
    assert len(widths) == page.locator("figcaption").count() >= 2
    assert min(widths) > 250
    colours = page.evaluate(
        "['body', 'figure svg'].map(s => getComputedStyle(document.querySelector(s)).color)"
    )
    assert colours[0] == colours[1]
