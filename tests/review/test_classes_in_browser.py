"""The page for more than two labels in a real browser: keys, the box for names, mouse, undo."""

import pytest

from chromium import (
    assert_accessible,
    browser,
    open_page,
    overflow,
    press,
    settle,
    started,
)
from pet_table import PETS as KINDS
from pet_table import pet_csv
from rankprune import check_table, load_check
from rankprune.run._decision_log import DecisionLog
from rankprune.run._directory import LOG_FILE
from reviewed_classes import PETS, class_run

# Fixtures.
__all__ = ["browser", "open_page", "started"]

pytestmark = pytest.mark.browser


@pytest.fixture
def page(started, open_page, pets):
    """The page of a review of four kinds of pets."""
    return open_page(started("review", pets)[0])


def answers(run, mode="review"):
    with DecisionLog(run / LOG_FILE) as log:
        draws = [draw.id for draw in log.last_draws()] if mode == "audit" else [None]
        return [one.answer for one in log.decisions(mode, *draws)]


def offered(page):
    """Return the labels on the buttons, in order."""
    return page.locator("#choices .label").all_inner_texts()


def listed(page):
    """Return the labels in the open list."""
    return page.locator("#labels li").all_inner_texts()


def test_number_keys_keep_take_the_suggestion_and_choose_others(page, pets):
    for key in "1234":
        labels, given = offered(page), page.inner_text("#given")
        assert labels[:2] == [given, page.inner_text("#suggestion")]
        assert labels[2:] == [name for name in PETS if name not in labels[:2]]
        press(page, key)
        assert answers(pets)[-1] == f"={labels[int(key) - 1]}"
    press(page, "u")
    assert answers(pets)[-1] == "unsure"
    press(page, "5")
    assert len(answers(pets)) == 5
    press(page, "z")
    assert answers(pets)[-1] == "undo"
    assert "3 of the last 4 answers changed the label" in page.inner_text("#progress")
    # Back to what was judged: the answer is shown, and can be changed.
    press(page, "ArrowLeft")
    mine = page.locator("button.mine .label").inner_text()
    assert answers(pets)[3] == f"={mine}"
    press(page, "1")
    assert answers(pets)[-2:] == ["undo", f"={offered_given(pets)}"]


def offered_given(run):
    """Return the label that was shown with the last answer."""
    with DecisionLog(run / LOG_FILE) as log:
        return log.decisions("review")[-1].label


def test_any_label_is_typed(page, pets):
    page.keyboard.press("/")
    assert listed(page) == list(PETS)
    # Enter takes none before anything was typed.
    page.keyboard.press("Enter")
    page.keyboard.type("o")
    assert listed(page) == ["owl", "dog"]
    page.keyboard.press("Enter")
    settle(page)
    assert answers(pets) == ["=owl"]
    assert page.evaluate("document.activeElement === document.body")
    assert page.input_value("#typed") == ""
    # A letter opens the box too.
    page.keyboard.type("y")
    assert listed(page) == ["yak"]
    page.keyboard.press("Escape")
    assert not page.is_visible("#labels")
    page.keyboard.type("/o")
    page.keyboard.press("ArrowDown")
    assert page.locator("#labels [aria-selected=true]").inner_text() == "dog"
    page.keyboard.press("ArrowDown")
    assert page.locator("#labels [aria-selected=true]").inner_text() == "owl"
    page.keyboard.press("ArrowUp")
    active = page.get_attribute("#typed", "aria-activedescendant")
    assert page.inner_text(f"#{active}") == "dog"
    page.keyboard.press("Enter")
    settle(page)
    assert answers(pets) == ["=owl", "=dog"]
    page.keyboard.type("/unicorn")
    assert not page.is_visible("#labels")
    page.keyboard.press("Enter")
    assert page.inner_text("#status") == "No label matches “unicorn”."
    # Commands are letters in the box, and digits too.
    page.keyboard.type("1z")
    assert page.input_value("#typed") == "unicorn1z"
    page.keyboard.press("Escape")
    assert answers(pets) == ["=owl", "=dog"]


def test_any_label_is_clicked(page, pets):
    page.get_by_role("button", name="Keep").click()
    settle(page)
    third = offered(page)[2]
    page.get_by_role("button", name=third).click()
    settle(page)
    assert answers(pets)[1] == f"={third}"
    page.click("#typed")
    page.locator("#labels li", has_text="yak").click()
    settle(page)
    assert answers(pets)[2] == "=yak"
    page.get_by_role("button", name="Undo").click()
    settle(page)
    assert answers(pets)[3] == "undo"
    page.click("#typed")
    assert page.is_visible("#labels")
    page.click("#heading")
    assert not page.is_visible("#labels")


def test_rows_are_chosen_by_any_given_label(page):
    page.click("#choose summary")
    page.select_option("#label", label="owl")
    page.get_by_role("button", name="Show").click()
    settle(page)
    for _ in range(3):
        assert page.inner_text("#given") == "owl"
        press(page, "ArrowRight")


def test_letters_open_no_box_if_a_label_begins_with_another_key(started, open_page, tmp_path):
    run = class_run(tmp_path, ("cat", "time zone", "owl"), 90)
    page = open_page(started("review", run)[0])
    page.keyboard.press("c")
    assert not page.is_visible("#labels")
    assert page.locator("#letters").is_hidden()
    page.keyboard.type("/zone")
    assert listed(page) == ["time zone"]
    page.keyboard.press("Enter")
    settle(page)
    assert answers(run) == ["=time zone"]


def test_digits_are_their_own_keys(started, open_page, tmp_path):
    run = class_run(tmp_path, tuple("0123456789"), 300)
    page = open_page(started("review", run)[0])
    for key in "0739":
        press(page, key)
    assert answers(run) == ["=0", "=7", "=3", "=9"]


def test_hundreds_of_labels_are_typed_quickly(started, open_page, tmp_path):
    names = tuple(f"Kind é{number:03d} <i>of</i> animal" for number in range(200))
    run = class_run(tmp_path, names, 600)
    page = open_page(started("review", run)[0])
    assert len(offered(page)) == 9
    page.keyboard.type("/KIND E1")
    assert len(listed(page)) == 100
    page.keyboard.type("99")
    assert listed(page) == ["Kind é199 <i>of</i> animal"]
    page.keyboard.press("Enter")
    settle(page)
    assert answers(run) == [f"={names[199]}"]
    # A label without a button is shown on the way back.
    press(page, "ArrowLeft")
    assert page.locator("button.mine .label").inner_text() == names[199]
    page.click("#typed")
    assert page.evaluate(
        "document.activeElement === document.getElementById('typed') && "
        "document.querySelectorAll('#labels li').length"
    ) == len(names)


def test_a_disagreement_is_settled_by_a_third(started, open_page, pets):
    links = started("review", pets, "--overlap", "100%", "--top", "1", people=("ann", "ben", "cec"))
    ann, ben = (open_page(link) for link in links[:2])
    press(ann, "1")
    press(ben, "2")
    cec = open_page(links[2], shows="#done")
    cec.click("#choose summary")
    cec.select_option("#show", "disagreement")
    cec.get_by_role("button", name="Show").click()
    settle(cec)
    kept, taken = offered(cec)[:2]
    assert f"ann answered “{kept}”" in cec.inner_text("#said")
    assert f"ben answered “{taken}”" in cec.inner_text("#said")
    press(cec, "2")
    assert answers(pets) == [f"={kept}", f"={taken}", f"={taken}"]


@pytest.mark.parametrize(
    ("width", "scheme"), [(400, "light"), (400, "dark"), (1400, "light"), (1400, "dark")]
)
def test_everybody_can_use_it_at_any_width(started, open_page, tmp_path, width, scheme):
    names = ("<b>cat</b>", 'dog"onclick="x', "owl\u202e\n", "x" * 300, "كلب", "=ape", "a", "b", "c")
    run = class_run(tmp_path, names, 270)
    page = open_page(started("review", run, "--overlap", "100%")[0], width=width, scheme=scheme)
    assert overflow(page) <= 0
    assert_accessible(page)
    page.keyboard.press("/")
    page.keyboard.type("a")
    assert overflow(page) <= 0
    assert_accessible(page)
    page.keyboard.press("Enter")
    settle(page)
    assert page.locator("b").count() == 0
    page.keyboard.press("?")
    assert_accessible(page)
    assert load_check(run).classes[6] == "a"


@pytest.fixture
def blind(tmp_path):
    """A run of a table of pets, of which a blind audit draws rows."""
    path, _, _ = pet_csv(tmp_path, n=300)
    return check_table(path, "kind", id="row id", scorer=None).save(tmp_path / "run")


def test_nothing_in_a_blind_audit_tells_label_or_score(started, open_page, blind):
    page = open_page(started("audit", blind, "--n", "8", "--seed", "0")[0])
    seen = []
    page.on("response", lambda answer: seen.append(answer.text()))
    assert offered(page) == list(KINDS)
    for key in "1234":
        shown = page.content()
        for word in ("suspect", "probability", "Suggested", "Keep", "models that did not see"):
            assert word not in shown
        assert page.locator("#given, .given, .suggested").count() == 0
        assert "kind" not in page.locator("#fields dt").all_inner_texts()
        press(page, key)
    page.keyboard.type("/barn")
    page.keyboard.press("Enter")
    settle(page)
    press(page, "u")
    assert answers(blind, "audit") == [*(f"={name}" for name in KINDS), "=owl, barn", "unsure"]
    page.click("#typed")
    page.locator("#labels li", has_text="it's").click()
    settle(page)
    assert len(seen) >= 7
    for text in seen:
        for word in ("suspect", "probability", '"given"', '"rank"', '"reason"', '"score"'):
            assert word not in text
    press(page, "1")
    page.wait_for_selector("#result:not([hidden])")
    assert page.inner_text("#result-heading") == "The result after 8 judged rows"
    assert "1 row has no clear answer" in page.inner_text("#judged")
    assert_accessible(page)
    # An answer can still be changed, and the next batch follows.
    press(page, "z")
    assert page.is_visible("#card")
    press(page, "2")
    page.wait_for_selector("#result:not([hidden])")
    press(page, "Enter")
    assert page.inner_text("#progress").startswith("Batch 2: 0 of 8 judged")


@pytest.mark.parametrize(("width", "scheme"), [(400, "dark"), (1400, "light")])
def test_everybody_can_audit_at_any_width(started, open_page, blind, width, scheme):
    link = started("audit", blind, "--n", "4")[0]
    page = open_page(link, width=width, scheme=scheme)
    assert overflow(page) <= 0
    assert_accessible(page)
    for _ in range(4):
        press(page, "1")
    page.wait_for_selector("#result:not([hidden])")
    assert overflow(page) <= 0
    assert_accessible(page)
