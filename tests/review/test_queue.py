"""Who judges which row next: order, filters, leases, overlap, and how far the work is."""

import numpy as np
import pytest

from conftest import uid
from rankprune.review import FILE, Store
from rankprune.review._desk import Filter
from rankprune.review._store import Conflict


def rows_of(cards):
    return [card["row"] for card in cards]


def shown(desk, reviewer="ann", wanted=None, besides=(), count=3):
    return rows_of(desk.next_cards(reviewer, wanted or Filter(), list(besides), count))


def decide(desk, row, answer, reviewer="ann", **more):
    desk.decide(uid(), reviewer, row - 1, answer, **{"seconds": 2.0, "note": "", **more})


def test_the_most_suspicious_come_first(open_desk, check):
    desk = open_desk()
    assert shown(desk, count=5) == [row + 1 for row in check.suspect_rows()[:5]]


def test_rows_that_are_held_or_judged_do_not_come_again(open_desk):
    desk = open_desk()
    first, second, third = shown(desk)
    assert shown(desk, besides=[first - 1], count=2) == [second, third]
    decide(desk, first, "keep")
    assert shown(desk, count=2) == [second, third]


def test_a_card_has_the_row_and_what_the_model_thinks(open_desk, check):
    desk = open_desk()
    (card,) = desk.next_cards("ann", Filter(), [], 1)
    place = int(np.flatnonzero(check.scores.rank == 1)[0])
    assert card["row"] == check.scores.rows[place] + 1
    assert card["name"] == check.scores.ids[place]
    assert {card["label"], card["suggestion"]} == {"yes", "no"}
    assert card["other"] == card["suggestion"]
    assert "models that did not see the row" in card["reason"]
    assert [field["name"] for field in card["fields"]] == [
        "row id",
        "height",
        "weight",
        "color",
        "story",
    ]
    assert card["rank"] == 1
    assert card["mine"] is None


def test_two_people_get_different_rows_until_a_lease_ends(open_desk, monkeypatch):
    from rankprune.review import _desk

    desk = open_desk()
    first = shown(desk, "ann")
    assert not set(first) & set(shown(desk, "ben"))
    assert shown(desk, "ann") == first
    later = _desk.time.monotonic() + 601
    monkeypatch.setattr(_desk.time, "monotonic", lambda: later)
    assert shown(desk, "ben") == first


def test_a_row_that_two_judge_is_not_kept_for_one(open_desk):
    desk = open_desk(overlap=1.0)
    first = shown(desk, "ann")
    assert shown(desk, "ben") == first
    decide(desk, first[0], "flip", "ann")
    shown(desk, "ben")
    assert first[0] not in shown(desk, "cec", count=5)


def test_the_second_on_a_row_is_told_who_was_first(open_desk):
    desk = open_desk()
    row = shown(desk)[0]
    decide(desk, row, "flip")
    with pytest.raises(Conflict, match="ann answered flip"):
        decide(desk, row, "keep", "ben")


def test_part_of_the_rows_is_judged_by_two_who_do_not_see_each_other(open_desk):
    desk = open_desk(overlap=0.5)
    twice = [row + 1 for row in desk.queue if desk._needed(row) == 2]
    assert len(twice) == round(0.5 * len(desk.queue))
    for row in (one + 1 for one in desk.queue):
        decide(desk, row, "flip")
    assert shown(desk, "ann") == []
    assert shown(desk, "ben", count=20) == twice[:20]
    card = desk.card("ben", twice[0] - 1)
    assert card["said"] == []
    assert card["mine"] is None
    decide(desk, twice[0], "flip", "ben")
    decide(desk, twice[1], "keep", "ben")
    found = desk.progress("ann")
    assert found["agreement"][0]["n_rows"] == 2
    assert found["agreement"][0]["share"] == 0.5
    assert found["disagreements"] == 1


def test_a_disagreement_has_a_queue_and_is_settled(open_desk):
    desk = open_desk(overlap=1.0)
    row = shown(desk)[0]
    decide(desk, row, "flip", "ann", note="surely")
    decide(desk, row, "keep", "ben")
    wanted = Filter("disagreement")
    (card,) = desk.next_cards("cec", wanted, [], 5)
    assert card["disagreement"]
    assert card["said"] == [
        {"reviewer": "ann", "answer": "flip", "note": "surely"},
        {"reviewer": "ben", "answer": "keep", "note": ""},
    ]
    decide(desk, row, "flip", "cec")
    assert shown(desk, "cec", wanted) == []
    assert desk._outcomes[row - 1].status == "flip"
    # Who settled it may think again.
    decide(desk, row, "keep", "cec")
    assert desk._outcomes[row - 1].status == "keep"
    assert desk.summary()["keep"] == 1


def test_the_two_who_disagree_settle_nothing_but_may_change_their_minds(open_desk):
    desk = open_desk(overlap=1.0)
    row = shown(desk)[0]
    decide(desk, row, "flip", "ann")
    decide(desk, row, "keep", "ben")
    decide(desk, row, "flip", "ann")
    assert desk._outcomes[row - 1].status == "disagreement"
    decide(desk, row, "keep", "ann")
    assert desk._outcomes[row - 1].status == "keep"
    assert desk.progress("ann")["agreement"][0]["share"] == 0.0


def test_who_is_to_judge_does_not_see_that_another_was_unsure(open_desk):
    desk = open_desk(overlap=1.0)
    row = shown(desk)[0]
    decide(desk, row, "unsure", "ann", note="looks like flip to me")
    assert desk.card("ben", row - 1)["said"] == []
    decide(desk, row, "unsure", "ben")
    assert desk.card("cec", row - 1)["said"][0]["note"] == "looks like flip to me"


def test_rows_found_by_name_are_in_the_queues_too(open_desk, check):
    desk = open_desk()
    row = int(np.flatnonzero(~check.scores.suspect)[0])
    decide(desk, row + 1, "unsure")
    assert shown(desk, "ben", Filter("unsure")) == [row + 1]
    assert row + 1 not in shown(desk, "ben", count=500)


def test_rows_that_changed_since_are_judged_anew(open_desk, folder, run, check):
    from rankprune import check_table

    first, second = (int(row) for row in check.suspect_rows()[:2])
    desk = open_desk()
    decide(desk, first + 1, "flip")
    decide(desk, second + 1, "flip")
    path = folder / "changed.csv"
    lines = (folder / "people.csv").read_text().splitlines()
    lines[first + 1] = lines[first + 1].replace("text", "TEXT").replace("<script>", "other")
    path.write_text("\n".join(lines) + "\n")
    again = check_table(
        path, "label", id="row id", scorer=None, drop=["story"], noise_estimator="confident-counts"
    )
    again.save(run, force=True)
    desk = open_desk(table=path)
    assert desk.progress("ann")["done"] == 1
    assert shown(desk, count=1) == [first + 1]
    decide(desk, first + 1, "keep", "ben")
    assert desk._outcomes[first].status == "keep"


def test_a_group_without_a_value_can_be_chosen(open_desk):
    desk = open_desk()
    row = desk.queue[0]
    desk.rows._kept[row][3] = None
    assert shown(desk, wanted=Filter(column=3, value="")) == [row + 1]


def test_rows_that_somebody_is_unsure_of_have_a_queue(open_desk):
    desk = open_desk()
    first, second, _ = shown(desk)
    decide(desk, first, "unsure", note="blurred")
    assert shown(desk, "ben", count=1) != [first]
    (card,) = desk.next_cards("ben", Filter("unsure"), [], 5)
    assert card["said"][0]["note"] == "blurred"
    decide(desk, first, "flip", "ben")
    assert shown(desk, "ben", Filter("unsure")) == []
    assert shown(desk, "ben", Filter("decided")) == [first]
    assert second not in shown(desk, "ben", Filter("decided"))


def test_filters_choose_label_doubt_and_group(open_desk, check):
    desk = open_desk()
    scores = check.scores
    for label in (True, False):
        found = shown(desk, wanted=Filter(positive=label), count=500)
        assert found
        assert all(scores.is_positive[row - 1] == label for row in found)
    doubt = np.where(scores.is_positive, 1 - scores.probability, scores.probability)
    found = shown(desk, wanted=Filter(least=0.8, most=0.9), count=500)
    assert found
    assert all(0.8 <= doubt[row - 1] <= 0.9 for row in found)
    found = shown(desk, wanted=Filter(column=3, value="red"), count=500)
    assert found
    assert all(desk.rows.cell(row - 1, 3) == "red" for row in found)
    assert shown(desk, wanted=Filter(column=3, value="no such color")) == []


def test_undo_takes_back_ones_own_last_answer_alone(open_desk):
    desk = open_desk()
    first, second, third = shown(desk)
    decide(desk, first, "keep")
    decide(desk, second, "flip")
    decide(desk, third, "flip", "ben")
    name = uid()
    assert desk.undo(name, "ann") == second - 1
    # Sent again, because the answer got lost.
    assert desk.undo(name, "ann") == second - 1
    assert desk.undo(uid(), "ann") == first - 1
    assert desk.undo(uid(), "ann") is None
    assert desk.progress("ann")["done"] == 1
    assert shown(desk, count=2) == [first, second]


def test_progress_tells_pace_and_recent_flips(open_desk):
    desk = open_desk()
    total = len(desk.queue)
    assert desk.progress("ann")["minutes_left"] is None
    for row in desk.queue[:5]:
        decide(desk, row + 1, "flip", seconds=12.0)
    found = desk.progress("ann")
    assert (found["done"], found["left"], found["total"]) == (5, total - 5, total)
    assert found["minutes_left"] == pytest.approx((total - 5) * 12 / 60, abs=0.05)
    assert found["recent"] == {"n": 5, "flips": 5, "running_out": False}


def test_it_is_said_when_suspects_run_out(open_desk):
    desk = open_desk()
    assert len(desk.queue) >= 26
    decide(desk, desk.queue[0] + 1, "flip")
    for row in desk.queue[1:26]:
        decide(desk, row + 1, "keep")
    assert desk.progress("ann")["recent"] == {"n": 25, "flips": 0, "running_out": True}


def test_writes_of_another_process_are_seen(open_desk, run):
    desk, other = open_desk(), open_desk()
    row = shown(desk)[0]
    decide(other, row, "flip", "ben")
    assert shown(desk, count=1) != [row]
    assert desk.progress("ann")["done"] == 1


def test_what_is_decided_says_what_was_shown(open_desk, run, check):
    desk = open_desk()
    row = shown(desk)[0]
    decide(desk, row, "flip", note="why")
    with Store(run / FILE) as store:
        (made,) = store.decisions("review")
    place = int(np.flatnonzero(check.scores.rows == row - 1)[0])
    assert made.row == row - 1
    assert made.label == ("yes" if check.scores.is_positive[place] else "no")
    assert made.score == pytest.approx(check.scores.probability[place])
    assert (made.note, made.seconds, made.mode, made.draw) == ("why", 2.0, "review", None)
    assert made.row_hash == desk.rows.hash(row - 1)


def test_any_labeled_row_can_be_looked_up_and_judged(open_desk, check):
    desk = open_desk()
    row = int(np.flatnonzero(~check.scores.suspect)[0])
    assert desk.row(row + 1) == row
    assert desk.row(10**6) is None
    assert desk.find(f"r{row:04d}") == desk.find(str(row + 1)) == row
    card = desk.card("ann", row)
    assert card["suggestion"] == card["label"]
    decide(desk, row + 1, "flip")
    assert desk.summary()["flip"] == 1


class TestAudit:
    def test_rows_come_in_the_order_of_the_draw_and_no_others(self, open_desk, drawn):
        desk = open_desk("audit")
        # By their place in the sample: the number of a row may tell its label.
        assert shown(desk, count=20) == list(range(1, 21))
        assert [desk.row(number) for number in range(1, 61)] == [row for row, _, _ in drawn.rows]
        assert desk.row(0) is desk.row(61) is None
        inside = {row for row, _, _ in drawn.rows}
        outside = next(row for row in range(300) if row not in inside)
        assert desk.find(f"r{outside:04d}") is None
        assert desk.find(f"r{desk.queue[4]:04d}") == desk.find("5") == desk.queue[4]

    def test_a_card_is_blind(self, open_desk, drawn):
        desk = open_desk("audit")
        (card,) = desk.next_cards("ann", Filter(), [], 1)
        assert set(card) == {"row", "name", "fields", "more", "mine", "disagreement", "said"}
        assert "label" not in [field["name"] for field in card["fields"]]

    def test_progress_does_not_tell_how_many_are_wrong(self, open_desk, drawn):
        desk = open_desk("audit")
        for row in desk.queue[:6]:
            desk.decide(uid(), "ann", row, "positive", seconds=2.0, note="")
        found = desk.progress("ann")
        assert "recent" not in found
        assert found["done"] == 6

    def test_neither_label_nor_score_is_kept_with_an_answer(self, open_desk, drawn, run):
        desk = open_desk("audit")
        desk.decide(uid(), "ann", desk.queue[0], "negative", seconds=2.0, note="")
        with Store(run / FILE) as store:
            (made,) = store.decisions("audit", drawn.id)
        assert (made.label, made.score, made.answer) == (None, None, "negative")

    def test_without_a_sample_there_is_no_audit(self, open_desk):
        with pytest.raises(ValueError, match=r"No sample was drawn.*rankprune audit RUN --n 200"):
            open_desk("audit")
