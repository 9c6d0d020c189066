"""The page in a real browser: the whole flow by keyboard and by mouse, alone and together."""

import sqlite3
import statistics

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
from rankprune import LabelCheck
from rankprune.run._decision_log import DecisionLog
from rankprune.run._directory import LOG_FILE

# Fixtures.
__all__ = ["browser", "open_page", "started"]

pytestmark = pytest.mark.browser


@pytest.fixture
def serve(started, folder, run):
    """Serve a page for the run; return the link of each person."""

    def start(command="review", *words, **options):
        return started(command, run, *words, "--table", folder / "people.csv", **options)

    return start


def heading(page):
    return page.inner_text("#heading")


def until(page, is_true):
    """Wait until something holds; the page's rules forbid programs that would wait inside it."""
    for _ in range(200):
        if is_true():
            return
        page.wait_for_timeout(100)
    raise AssertionError("it did not come about")


def decisions(run):
    with DecisionLog(run / LOG_FILE) as log:
        return log.decisions("review")


def test_the_whole_flow_by_keyboard(serve, open_page, run):
    page = open_page(serve()[0])
    first = heading(page)
    assert page.inner_text("#given") in ("yes", "no")
    press(page, "k")
    second = heading(page)
    assert second != first
    press(page, "f")
    press(page, "u")
    assert [one.answer for one in decisions(run)] == ["keep", "flip", "unsure"]
    assert "3 of " in page.inner_text("#progress")
    # Back to what was judged: the answer is shown, and can be changed.
    press(page, "ArrowLeft")
    press(page, "ArrowLeft")
    assert heading(page) == second
    assert page.locator("button.mine").inner_text().startswith("Flip")
    press(page, "k")
    assert [one.answer for one in decisions(run)][3:] == ["undo", "keep"]
    # A note is written before the answer, and letters in it are no answers.
    press(page, "ArrowRight")
    page.keyboard.press("n")
    page.keyboard.type("flip it, keep it")
    page.keyboard.press("Escape")
    press(page, "f")
    assert decisions(run)[-1].note == "flip it, keep it"
    assert decisions(run)[-1].seconds > 0
    press(page, "z")
    assert decisions(run)[-1].answer == "undo"
    page.keyboard.press("?")
    assert page.is_visible("#help")
    page.keyboard.press("f")
    page.keyboard.press("Escape")
    assert not page.is_visible("#help")
    assert decisions(run)[-1].answer == "undo"


def test_the_whole_flow_by_mouse(serve, open_page, run):
    page = open_page(serve()[0])
    for name in ("Keep", "Flip", "Unsure"):
        page.get_by_role("button", name=name).click()
        settle(page)
    assert [one.answer for one in decisions(run)] == ["keep", "flip", "unsure"]
    shown = heading(page)
    page.get_by_role("button", name="Back").click()
    settle(page)
    assert heading(page) != shown
    page.get_by_role("button", name="Skip").click()
    settle(page)
    assert heading(page) == shown
    page.get_by_role("button", name="Undo").click()
    settle(page)
    assert decisions(run)[-1].answer == "undo"
    page.get_by_role("button", name="Note").click()
    page.keyboard.type("by hand")
    page.get_by_role("button", name="Flip").click()
    settle(page)
    assert decisions(run)[-1].note == "by hand"
    page.get_by_role("button", name="Help").click()
    page.get_by_role("button", name="Close").click()


def test_keys_can_be_turned_off_and_stay_off(serve, open_page, run):
    page = open_page(serve()[0])
    page.keyboard.press("?")
    page.uncheck("#shortcuts")
    page.keyboard.press("Escape")
    page.keyboard.press("k")
    page.reload()
    page.wait_for_selector("#card:not([hidden])")
    page.keyboard.press("k")
    page.wait_for_timeout(200)
    assert decisions(run) == []
    page.get_by_role("button", name="Keep").click()
    settle(page)
    assert len(decisions(run)) == 1


def test_a_reload_in_the_middle_loses_nothing_and_repeats_nothing(serve, open_page, run):
    page = open_page(serve()[0])
    press(page, "k")
    press(page, "k")
    shown = heading(page)
    page.reload()
    page.wait_for_selector("#card:not([hidden])")
    assert heading(page) == shown
    assert "2 of " in page.inner_text("#progress")
    press(page, "f")
    assert len({one.row for one in decisions(run)}) == 3


def test_rows_that_were_skipped_come_round_again(serve, open_page, run):
    page = open_page(serve("review", "--top", "3")[0])
    first = heading(page)
    press(page, "ArrowRight")
    press(page, "k")
    press(page, "k")
    assert heading(page) == first
    press(page, "k")
    assert page.is_visible("#done")
    assert page.inner_text("#done").endswith(f"export {run} --reviewed -o corrected.csv")
    assert not page.is_visible("#card")
    press(page, "z")
    assert heading(page) == first


def test_two_people_at_once(serve, open_page, run):
    links = serve(people=("ann", "ben"))
    ann, ben = (open_page(link) for link in links)
    assert heading(ann) != heading(ben)
    for _ in range(4):
        press(ann, "k")
        press(ben, "f")
    made = decisions(run)
    assert len({one.row for one in made}) == len(made) == 8
    assert {one.reviewer for one in made} == {"ann", "ben"}


def test_who_comes_second_is_told(serve, open_page, run):
    ann, ben = (open_page(link, quiet=False) for link in serve(people=("ann", "ben")))
    row = heading(ann).split()[0]
    ben.click("#choose summary")
    ben.fill("#name", row)
    ben.get_by_role("button", name="Find").click()
    settle(ben)
    assert heading(ben) == heading(ann)
    press(ann, "f")
    ben.get_by_role("button", name="Keep").click()
    settle(ben)
    assert "ann judged row" in ben.inner_text("#status")
    assert "answered flip" in ben.inner_text("#status")
    assert len(decisions(run)) == 1


def test_a_disagreement_is_settled_by_a_third(serve, open_page, run):
    links = serve("review", "--overlap", "100%", "--top", "2", people=("ann", "ben", "cec"))
    ann, ben = (open_page(link) for link in links[:2])
    press(ann, "f")
    press(ben, "f")
    press(ann, "f")
    press(ben, "k")
    cec = open_page(links[2], shows="#done")
    cec.click("#choose summary")
    cec.select_option("#show", "disagreement")
    cec.get_by_role("button", name="Show").click()
    settle(cec)
    assert "ann answered" in cec.inner_text("#said")
    assert "ben answered" in cec.inner_text("#said")
    assert "agree on" in cec.inner_text("#agreement")
    press(cec, "f")
    assert decisions(run)[-1].settles
    assert cec.is_visible("#done")


def test_rows_are_chosen_by_label_doubt_and_group(serve, open_page):
    page = open_page(serve()[0])
    page.click("#choose summary")
    page.select_option("#label", "positive")
    page.fill("#least", "50")
    page.select_option("#subgroup", label="color: red")
    page.get_by_role("button", name="Show").click()
    settle(page)
    assert page.inner_text("#given") == "yes"
    assert "red" in page.inner_text("#fields")
    page.fill("#most", "50")
    page.fill("#least", "51")
    page.get_by_role("button", name="Show").click()
    settle(page)
    assert page.inner_text("#done") == "No rows match. Choose others."


def test_a_locked_log_keeps_the_answer_and_tries_again(serve, open_page, run):
    page = open_page(serve()[0], quiet=False)
    other = sqlite3.connect(run / LOG_FILE, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    shown = heading(page)
    leave = "window.dispatchEvent(new Event('beforeunload', { cancelable: true }))"
    assert page.evaluate(leave)
    page.keyboard.press("f")
    until(page, lambda: page.inner_text("#status") == "Saving …")
    until(page, lambda: "kept" in page.inner_text("#status"))
    assert "review.sqlite is locked: another program" in page.inner_text("#status")
    assert heading(page) == shown
    # Whoever closes the page now is asked first.
    assert not page.evaluate(leave)
    other.execute("ROLLBACK")
    other.close()
    until(page, lambda: heading(page) != shown)
    assert page.evaluate(leave)
    assert [one.answer for one in decisions(run)] == ["flip"]


def test_the_next_card_shows_within_a_tenth_of_a_second(serve, open_page):
    page = open_page(serve()[0])
    waits = page.evaluate(
        """async () => {
            const waits = [];
            for (let turn = 0; turn < 20; turn += 1) {
                const before = document.querySelector("#heading").textContent;
                const began = performance.now();
                document.body.dispatchEvent(
                    new KeyboardEvent("keydown", { key: "k", bubbles: true })
                );
                while (document.querySelector("#heading").textContent === before) {
                    await new Promise((done) => requestAnimationFrame(done));
                }
                waits.push(performance.now() - began);
                while (document.querySelector("#back").disabled) {
                    await new Promise((done) => setTimeout(done, 5));
                }
            }
            return waits;
        }"""
    )
    assert statistics.median(waits) < 100


def test_nothing_in_a_blind_audit_tells_label_or_score(serve, open_page, run, check):
    page = open_page(serve("audit", "--n", "40", "--seed", "0")[0])
    seen, asked = [], []
    page.on("response", lambda answer: seen.append(answer.text()))
    page.on("request", lambda one: asked.append(one.url))
    for _ in range(12):
        assert page.locator("#given").count() == 0
        shown = page.content()
        for word in ("suspect", "probability", "Suggested", "models that did not see"):
            assert word not in shown
        assert "label" not in [
            part.lower() for part in page.locator("#fields dt").all_inner_texts()
        ]
        press(page, "1")
    press(page, "0")
    press(page, "u")
    press(page, "z")
    assert len(seen) > 12
    for text in seen:
        for word in ('"label"', "suspect", "probability", '"rank"', '"reason"', '"score"'):
            assert word not in text
    with DecisionLog(run / LOG_FILE) as log:
        made = log.decisions("audit", log.last_draw().id)
    assert [one.answer for one in made] == ["positive"] * 12 + ["negative", "unsure", "undo"]
    assert not any("/api/result" in url for url in asked)


def judge_batch(page, n):
    """Judge a batch by keyboard until its result is there."""
    for number in range(n):
        assert f"{number} of {n} judged" in page.inner_text("#progress")
        press(page, "1" if number % 2 else "0")
    page.wait_for_selector("#result:not([hidden])")


def test_an_audit_goes_by_batches_by_keyboard(serve, open_page, run, check):
    page = open_page(serve("audit", "--n", "6", "--seed", "0")[0])
    judge_batch(page, 6)
    assert page.inner_text("#result-heading") == "The result after 6 judged rows"
    assert not page.is_visible("#card")
    assert not page.is_visible("#note")
    headline = page.inner_text("#headline")
    assert headline.startswith("Between")
    before, after, planned = page.locator("#ranges p").all_inner_texts()
    total, settled = (one.wrong_share_interval for one in (check, LabelCheck.load(run)))
    ends = [f"{100 * end:.1f}%" for end in (total.low, total.high)]
    assert before.startswith(f"Before any row was judged {ends[0]} to {ends[1]}, most likely")
    ends = [f"{100 * end:.1f}%" for end in (settled.low, settled.high)]
    assert after.startswith(f"After 6 judged rows {ends[0]} to {ends[1]}, most likely")
    assert "about ±" in planned
    # The bars are as long as the numbers say.
    boxes = [page.locator(f".{name}").first.bounding_box() for name in ("track", "after .bar")]
    end = max(total.high, settled.high)
    width = (settled.high - settled.low) / end * (boxes[0]["width"] - 2)
    assert boxes[1]["width"] == pytest.approx(width, abs=1.5)
    assert "the range would shrink to about ±" in page.inner_text("#deal")
    # An answer can still be changed, and the result follows.
    press(page, "z")
    assert page.is_visible("#card")
    assert not page.is_visible("#result")
    press(page, "u")
    page.wait_for_selector("#result:not([hidden])")
    assert "1 row has no clear answer" in page.inner_text("#judged")
    press(page, "Enter")
    assert heading(page).endswith("(No. 7)")
    assert page.inner_text("#progress").startswith("Batch 2: 0 of 6 judged")
    judge_batch(page, 6)
    assert page.inner_text("#result-heading") == "The result after 12 judged rows"
    # The result is there after a reload too, and the button is as good as the key.
    page.reload()
    page.wait_for_selector("#result:not([hidden])")
    page.click("#deal")
    settle(page)
    assert heading(page).endswith("(No. 13)")
    with DecisionLog(run / LOG_FILE) as log:
        assert [draw.batch for draw in log.last_draws()] == [1, 2, 3]


def test_the_result_appears_for_everybody_when_the_batch_is_complete(serve, open_page):
    ann, ben = (open_page(link) for link in serve("audit", "--n", "8", people=("ann", "ben")))
    while not ann.is_visible("#done"):
        press(ann, "1")
    assert "Other reviewers are looking at" in ann.inner_text("#done")
    while ben.is_visible("#card"):
        press(ben, "0")
    for page in (ann, ben):
        page.wait_for_selector("#result:not([hidden])")
    assert ann.inner_text("#ranges") == ben.inner_text("#ranges")
    for page in (ben, ann):
        press(page, "Enter")
        page.wait_for_selector("#card:not([hidden])")
        assert "Batch 2: 0 of 8 judged" in page.inner_text("#progress")
    assert heading(ann) != heading(ben)


@pytest.mark.parametrize(
    ("width", "scheme"), [(400, "light"), (400, "dark"), (1400, "light"), (1400, "dark")]
)
def test_everybody_can_read_the_result_at_any_width(serve, open_page, width, scheme):
    page = open_page(serve("audit", "--n", "4")[0], width=width, scheme=scheme)
    judge_batch(page, 4)
    assert overflow(page) <= 0
    assert_accessible(page)


@pytest.mark.parametrize("command", ["review", "audit"])
@pytest.mark.parametrize(
    ("width", "scheme"), [(400, "light"), (400, "dark"), (1400, "light"), (1400, "dark")]
)
def test_everybody_can_use_it_at_any_width(serve, open_page, command, width, scheme):
    words = ("--n", "20") if command == "audit" else ("--overlap", "100%")
    page = open_page(serve(command, *words)[0], width=width, scheme=scheme)
    assert overflow(page) <= 0
    page.click("#choose summary")
    assert overflow(page) <= 0
    assert_accessible(page)
    press(page, "u")
    page.keyboard.press("?")
    assert_accessible(page)


def test_a_used_link_says_so_and_is_accessible(serve, browser):
    (link,) = serve()
    context = browser.new_context()
    page = context.new_page()
    page.goto(link)
    other = browser.new_context()
    late = other.new_page()
    late.goto(link)
    assert "has been used" in late.inner_text("body")
    assert_accessible(late)
    context.close()
    other.close()
