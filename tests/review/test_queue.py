"""The review queue: order, filters, leases, overlap and progress."""

import numpy as np
import pytest

from rankprune.review._queue import Filter
from rankprune.run._decision_log import Conflict, DecisionLog
from rankprune.run._directory import LOG_FILE
from reviewed_run import uid


def rows_of(cards):
    return [card["row"] for card in cards]


def shown(queue, reviewer="ann", wanted=None, besides=(), count=3):
    return rows_of(queue.next_cards(reviewer, wanted or Filter(), list(besides), count))


def decide(queue, row, answer, reviewer="ann", **more):
    queue.decide(uid(), reviewer, row - 1, answer, **{"seconds": 2.0, "note": "", **more})


def test_the_most_suspicious_come_first(open_queue, check):
    queue = open_queue()
    assert shown(queue, count=5) == [row + 1 for row in check.suspect_rows()[:5]]


def test_rows_that_are_held_or_judged_do_not_come_again(open_queue):
    queue = open_queue()
    first, second, third = shown(queue)
    assert shown(queue, besides=[first - 1], count=2) == [second, third]
    decide(queue, first, "keep")
    assert shown(queue, count=2) == [second, third]


def test_a_card_has_the_row_and_what_the_model_thinks(open_queue, check):
    queue = open_queue()
    (card,) = queue.next_cards("ann", Filter(), [], 1)
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


def test_two_people_get_different_rows_until_a_lease_ends(open_queue, monkeypatch):
    from rankprune.review import _queue

    queue = open_queue()
    first = shown(queue, "ann")
    assert not set(first) & set(shown(queue, "ben"))
    assert shown(queue, "ann") == first
    later = _queue.time.monotonic() + 601
    monkeypatch.setattr(_queue.time, "monotonic", lambda: later)
    assert shown(queue, "ben") == first


def test_a_row_that_needs_two_answers_is_not_reserved_for_one_reviewer(open_queue):
    queue = open_queue(overlap=1.0)
    first = shown(queue, "ann")
    assert shown(queue, "ben") == first
    decide(queue, first[0], "flip", "ann")
    shown(queue, "ben")
    assert first[0] not in shown(queue, "cec", count=5)


def test_the_second_reviewer_of_a_row_sees_who_was_first(open_queue):
    queue = open_queue()
    row = shown(queue)[0]
    decide(queue, row, "flip")
    with pytest.raises(Conflict, match="ann answered flip"):
        decide(queue, row, "keep", "ben")


def test_some_rows_are_judged_independently_by_two_reviewers(open_queue):
    queue = open_queue(overlap=0.5)
    twice = [row + 1 for row in queue.order if queue._needed(row) == 2]
    assert len(twice) == round(0.5 * len(queue.order))
    for row in (one + 1 for one in queue.order):
        decide(queue, row, "flip")
    assert shown(queue, "ann") == []
    assert shown(queue, "ben", count=20) == twice[:20]
    card = queue.card("ben", twice[0] - 1)
    assert card["said"] == []
    assert card["mine"] is None
    decide(queue, twice[0], "flip", "ben")
    decide(queue, twice[1], "keep", "ben")
    found = queue.progress("ann")
    assert found["agreement"][0]["n_rows"] == 2
    assert found["agreement"][0]["share"] == 0.5
    assert found["disagreements"] == 1


def test_disagreements_have_a_queue_and_are_settled(open_queue):
    queue = open_queue(overlap=1.0)
    row = shown(queue)[0]
    decide(queue, row, "flip", "ann", note="surely")
    decide(queue, row, "keep", "ben")
    wanted = Filter("disagreement")
    (card,) = queue.next_cards("cec", wanted, [], 5)
    assert card["disagreement"]
    assert card["said"] == [
        {"reviewer": "ann", "answer": "flip", "note": "surely"},
        {"reviewer": "ben", "answer": "keep", "note": ""},
    ]
    decide(queue, row, "flip", "cec")
    assert shown(queue, "cec", wanted) == []
    assert queue._outcomes[row - 1].status == "flip"
    # The reviewer who settled it may change the answer.
    decide(queue, row, "keep", "cec")
    assert queue._outcomes[row - 1].status == "keep"
    assert queue.summary()["keep"] == 1


def test_reviewers_who_disagree_cannot_settle_but_may_change_their_answers(open_queue):
    queue = open_queue(overlap=1.0)
    row = shown(queue)[0]
    decide(queue, row, "flip", "ann")
    decide(queue, row, "keep", "ben")
    decide(queue, row, "flip", "ann")
    assert queue._outcomes[row - 1].status == "disagreement"
    decide(queue, row, "keep", "ann")
    assert queue._outcomes[row - 1].status == "keep"
    assert queue.progress("ann")["agreement"][0]["share"] == 0.0


def test_a_reviewer_does_not_see_that_another_was_unsure(open_queue):
    queue = open_queue(overlap=1.0)
    row = shown(queue)[0]
    decide(queue, row, "unsure", "ann", note="looks like flip to me")
    assert queue.card("ben", row - 1)["said"] == []
    decide(queue, row, "unsure", "ben")
    assert queue.card("cec", row - 1)["said"][0]["note"] == "looks like flip to me"


def test_rows_found_by_name_are_in_the_queues_too(open_queue, check):
    queue = open_queue()
    row = int(np.flatnonzero(~check.scores.suspect)[0])
    decide(queue, row + 1, "unsure")
    assert shown(queue, "ben", Filter("unsure")) == [row + 1]
    assert row + 1 not in shown(queue, "ben", count=500)


def test_rows_that_have_changed_are_judged_again(open_queue, folder, run, check):
    from rankprune import check_table

    first, second = (int(row) for row in check.suspect_rows()[:2])
    queue = open_queue()
    decide(queue, first + 1, "flip")
    decide(queue, second + 1, "flip")
    path = folder / "changed.csv"
    lines = (folder / "people.csv").read_text().splitlines()
    lines[first + 1] = lines[first + 1].replace("text", "TEXT").replace("<script>", "other")
    path.write_text("\n".join(lines) + "\n")
    again = check_table(
        path, "label", id="row id", scorer=None, drop=["story"], noise_estimator="confident-counts"
    )
    again.save(run, force=True)
    queue = open_queue(table=path)
    assert queue.progress("ann")["done"] == 1
    assert shown(queue, count=1) == [first + 1]
    decide(queue, first + 1, "keep", "ben")
    assert queue._outcomes[first].status == "keep"


def test_a_group_without_a_value_can_be_chosen(open_queue):
    queue = open_queue()
    row = queue.order[0]
    queue.rows._kept[row][3] = None
    assert shown(queue, wanted=Filter(column=3, value="")) == [row + 1]


def test_rows_with_an_unsure_answer_have_a_queue(open_queue):
    queue = open_queue()
    first, second, _ = shown(queue)
    decide(queue, first, "unsure", note="blurred")
    assert shown(queue, "ben", count=1) != [first]
    (card,) = queue.next_cards("ben", Filter("unsure"), [], 5)
    assert card["said"][0]["note"] == "blurred"
    decide(queue, first, "flip", "ben")
    assert shown(queue, "ben", Filter("unsure")) == []
    assert shown(queue, "ben", Filter("decided")) == [first]
    assert second not in shown(queue, "ben", Filter("decided"))


def test_filters_choose_label_doubt_and_group(open_queue, check):
    queue = open_queue()
    scores = check.scores
    for label in (True, False):
        found = shown(queue, wanted=Filter(label=label), count=500)
        assert found
        assert all(scores.is_positive[row - 1] == label for row in found)
    doubt = np.where(scores.is_positive, 1 - scores.probability, scores.probability)
    found = shown(queue, wanted=Filter(least=0.8, most=0.9), count=500)
    assert found
    assert all(0.8 <= doubt[row - 1] <= 0.9 for row in found)
    found = shown(queue, wanted=Filter(column=3, value="red"), count=500)
    assert found
    assert all(queue.rows.cell(row - 1, 3) == "red" for row in found)
    assert shown(queue, wanted=Filter(column=3, value="no such color")) == []


def test_undo_removes_only_the_reviewers_own_last_answer(open_queue):
    queue = open_queue()
    first, second, third = shown(queue)
    decide(queue, first, "keep")
    decide(queue, second, "flip")
    decide(queue, third, "flip", "ben")
    name = uid()
    assert queue.undo(name, "ann") == second - 1
    # Sent again, because the response got lost.
    assert queue.undo(name, "ann") == second - 1
    assert queue.undo(uid(), "ann") == first - 1
    assert queue.undo(uid(), "ann") is None
    assert queue.progress("ann")["done"] == 1
    assert shown(queue, count=2) == [first, second]


def test_progress_shows_pace_and_recent_flips(open_queue):
    queue = open_queue()
    total = len(queue.order)
    assert queue.progress("ann")["minutes_left"] is None
    for row in queue.order[:5]:
        decide(queue, row + 1, "flip", seconds=12.0)
    found = queue.progress("ann")
    assert (found["done"], found["left"], found["total"]) == (5, total - 5, total)
    assert found["minutes_left"] == pytest.approx((total - 5) * 12 / 60, abs=0.05)
    assert found["recent"] == {"n": 5, "flips": 5, "running_out": False}


def test_it_is_reported_when_suspects_run_out(open_queue):
    queue = open_queue()
    assert len(queue.order) >= 26
    decide(queue, queue.order[0] + 1, "flip")
    for row in queue.order[1:26]:
        decide(queue, row + 1, "keep")
    assert queue.progress("ann")["recent"] == {"n": 25, "flips": 0, "running_out": True}


def test_writes_by_another_process_are_seen(open_queue, run):
    queue, other = open_queue(), open_queue()
    row = shown(queue)[0]
    decide(other, row, "flip", "ben")
    assert shown(queue, count=1) != [row]
    assert queue.progress("ann")["done"] == 1


def test_a_decision_records_what_was_shown(open_queue, run, check):
    queue = open_queue()
    row = shown(queue)[0]
    decide(queue, row, "flip", note="why")
    with DecisionLog(run / LOG_FILE) as log:
        (made,) = log.decisions("review")
    place = int(np.flatnonzero(check.scores.rows == row - 1)[0])
    assert made.row == row - 1
    assert made.label == ("yes" if check.scores.is_positive[place] else "no")
    assert made.score == pytest.approx(check.scores.probability[place])
    assert (made.note, made.seconds, made.mode, made.draw) == ("why", 2.0, "review", None)
    assert made.row_hash == queue.rows.hash(row - 1)


def test_any_labeled_row_can_be_looked_up_and_judged(open_queue, check):
    queue = open_queue()
    row = int(np.flatnonzero(~check.scores.suspect)[0])
    assert queue.row(row + 1) == row
    assert queue.row(10**6) is None
    assert queue.find(f"r{row:04d}") == queue.find(str(row + 1)) == row
    card = queue.card("ann", row)
    assert card["suggestion"] == card["label"]
    decide(queue, row + 1, "flip")
    assert queue.summary()["flip"] == 1


class TestAudit:
    def test_rows_come_in_the_order_of_the_draw_and_no_others(self, open_queue, drawn):
        queue = open_queue("audit")
        # By their place in the sample: the number of a row may tell its label.
        assert shown(queue, count=20) == list(range(1, 21))
        assert [queue.row(number) for number in range(1, 61)] == [row for row, _, _ in drawn.rows]
        assert queue.row(0) is queue.row(61) is None
        inside = {row for row, _, _ in drawn.rows}
        outside = next(row for row in range(300) if row not in inside)
        assert queue.find(f"r{outside:04d}") is None
        assert queue.find(f"r{queue.order[4]:04d}") == queue.find("5") == queue.order[4]

    def test_a_card_is_blind(self, open_queue, drawn):
        queue = open_queue("audit")
        (card,) = queue.next_cards("ann", Filter(), [], 1)
        assert set(card) == {"row", "name", "fields", "more", "mine", "disagreement", "said"}
        assert "label" not in [field["name"] for field in card["fields"]]

    def test_progress_does_not_reveal_how_many_labels_are_wrong(self, open_queue, drawn):
        queue = open_queue("audit")
        for row in queue.order[:6]:
            queue.decide(uid(), "ann", row, "positive", seconds=2.0, note="")
        found = queue.progress("ann")
        assert "recent" not in found
        assert found["done"] == 6

    def test_neither_label_nor_score_is_kept_with_an_answer(self, open_queue, drawn, run):
        queue = open_queue("audit")
        queue.decide(uid(), "ann", queue.order[0], "negative", seconds=2.0, note="")
        with DecisionLog(run / LOG_FILE) as log:
            (made,) = log.decisions("audit", drawn.id)
        assert (made.label, made.score, made.answer) == (None, None, "negative")

    def test_without_a_sample_there_is_no_audit(self, open_queue):
        with pytest.raises(
            ValueError, match=r"No sample has been drawn for this run. Start a blind audit"
        ):
            open_queue("audit")
