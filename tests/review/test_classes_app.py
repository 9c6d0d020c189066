"""The page for more than two labels: what people see, choose and send, in process."""

import csv
import re

import pytest

from asgi import HOST, Client
from rankprune import load_check
from rankprune.review import open_queue
from rankprune.review._app import make_app
from rankprune.review._cards import Rows
from rankprune.review._choices import LabelKeys
from rankprune.review._queue import ReviewQueue, most_suspicious
from rankprune.run._checked_table import open_checked
from rankprune.run._decision_log import DecisionLog
from rankprune.run._directory import LOG_FILE
from rankprune.run._sentences import review_summary
from rankprune.run._settled import read_settled
from reviewed_classes import PETS, class_run, judging, table_check, uid, write_table

HOSTILE = ("<b>cat</b>", 'dog"onclick="x', "owl\u202e\n", "'; DROP TABLE decisions; --", "=ape")


@pytest.fixture
def ann(pet_people):
    (client,) = pet_people("ann")
    return client


def first_card(client, **body):
    (card,) = client.next(count=1, **body).json["cards"]
    return card


def decisions(run):
    with DecisionLog(run / LOG_FILE) as log:
        return log.decisions("review")


class TestKeys:
    def keys(self, names, first=()):
        return [(names[one.label], one.key) for one in LabelKeys(names).choices(first)]

    def test_given_and_suggested_come_first_then_the_others_in_their_order(self):
        names = tuple("abcdefghijkl")
        assert self.keys(names, (7, 2)) == list(zip("hcabdefgi", "123456789", strict=True))
        assert self.keys(names) == list(zip("abcdefghi", "123456789", strict=True))
        assert self.keys(names[:3], (2, 0)) == [("c", "1"), ("a", "2"), ("b", "3")]

    def test_a_digit_is_its_own_key(self):
        digits = tuple("0123456789")
        assert self.keys(digits) == [(digit, digit) for digit in digits]
        assert self.keys(digits, (7, 1))[:3] == [("7", "7"), ("1", "1"), ("0", "0")]
        assert self.keys(("1", "2", "cat", "dog"), (2, 1)) == [
            ("cat", "3"),
            ("2", "2"),
            ("1", "1"),
            ("dog", "4"),
        ]

    def test_given_and_suggested_have_a_button_even_without_a_key(self):
        names = (*map(str, range(13)),)
        assert self.keys(names, (12, 3))[:3] == [("12", None), ("3", "3"), ("0", "0")]
        assert len(self.keys(names, (12, 3))) == 11

    def test_labels_that_look_alike_are_told_apart(self):
        texts = LabelKeys(("a" * 300, "a" * 301, "b")).texts
        assert len(set(texts)) == 3
        assert texts[1].endswith("… (label 2)")


class TestReview:
    def test_a_card_shows_the_given_label_the_suggested_one_and_its_probability(
        self, ann, pets_check
    ):
        card = first_card(ann)
        (row,) = (one for one in pets_check.candidates if one.number == card["row"])
        assert PETS[card["given"]] == row.label
        assert PETS[card["suggested"]] == row.suggested
        assert card["suggested_probability"] == row.suggested_probability
        assert card["reason"] == row.reason
        assert card["is_suggested"]
        order = [card["given"], card["suggested"]]
        order += [code for code in range(4) if code not in order]
        assert card["choices"] == [
            {"label": code, "key": str(place)} for place, code in enumerate(order, start=1)
        ]

    def test_the_page_lists_every_label_as_text(self, ann):
        page = ann.get("/").text
        assert 'data-labels="many"' in page
        for code, name in enumerate(PETS):
            assert f'id="label-{code}" aria-selected="false">{name}</li>' in page
            assert f'<option value="{code}">{name}</option>' in page
        assert page.count("<script") == 1
        assert "style=" not in page

    def test_an_answer_is_saved_under_the_name_of_its_label(self, ann, pets, pets_check):
        card = first_card(ann)
        answer = ann.decide(card["row"], card["suggested"], note="why", seconds=2.5)
        assert answer.status == 200
        (made,) = decisions(pets)
        assert made.answer == f"={PETS[card['suggested']]}"
        assert made.label == PETS[card["given"]]
        place = pets_check.scores.rows.tolist().index(card["row"] - 1)
        assert made.score == pytest.approx(pets_check.scores.probability[place])
        assert (made.note, made.seconds) == ("why", 2.5)
        assert ann.get(f"/api/card/{card['row']}").json["mine"] == {
            "answer": card["suggested"],
            "note": "why",
        }
        assert read_settled(pets, pets_check).n_changed == 1

    def test_progress_tells_how_many_labels_changed(self, ann):
        for place in range(6):
            card = first_card(ann)
            ann.decide(card["row"], card["given" if place % 3 else "suggested"], uid())
        found = ann.get("/api/progress").json
        assert found["recent"] == {"n": 6, "flips": 2, "running_out": False}
        assert (found["done"], found["unsure"]) == (6, 0)

    @pytest.mark.parametrize("answer", [-1, 4, 10**20, "cat", "=cat", "keep", None, True, 1.0, []])
    def test_an_unknown_label_is_refused(self, ann, pets, answer):
        card = first_card(ann)
        refused = ann.decide(card["row"], answer)
        assert refused.status == 422
        expected = "answer must be the number of a label, from 0 to 3 or unsure."
        assert refused.json["error"] == expected
        assert decisions(pets) == []

    def test_unsure_and_undo(self, ann, pets):
        card = first_card(ann)
        ann.decide(card["row"], "unsure", uid())
        ann.decide(card["row"], card["given"], uid())
        back = ann.post("/api/undo", {"uid": uid()}).json["card"]
        assert (back["row"], back["mine"]) == (card["row"], None)
        assert [one.answer for one in decisions(pets)] == [
            *("unsure", "undo", f"={PETS[card['given']]}", "undo")
        ]

    def test_the_second_person_on_a_row_is_told_the_label_of_the_first(self, pet_people):
        ann, ben = pet_people("ann", "ben")
        card = first_card(ann)
        ann.decide(card["row"], 2)
        refused = ben.decide(card["row"], 1, uid())
        assert refused.status == 409
        assert refused.json["error"] == "Already judged: ann answered “owl”."
        assert refused.json["first"] == {"reviewer": "ann", "answer": "“owl”"}

    def test_a_disagreement_is_shown_to_a_third_person_who_settles_it(self, pet_people, pets):
        ann, ben, cec = pet_people("ann", "ben", "cec", overlap=1.0)
        card = first_card(ann)
        ann.decide(card["row"], 0, uid())
        assert ben.get(f"/api/card/{card['row']}").json["said"] == []
        ben.decide(card["row"], 3, uid())
        disputed = first_card(cec, show="disagreement")
        assert disputed["row"] == card["row"]
        told = [(one["reviewer"], one["answer"]) for one in disputed["said"]]
        assert told == [("ann", "“cat”"), ("ben", "“yak”")]
        agreement = cec.get("/api/progress").json["agreement"]
        assert [one["reviewers"] for one in agreement] == [["ann", "ben"]]
        cec.decide(card["row"], 3, uid())
        assert decisions(pets)[-1].settles
        found = read_settled(pets, load_check(pets))
        assert [PETS[code] for code in found.codes] == ["yak"]

    def test_rows_are_filtered_by_any_given_label_and_by_doubt(self, ann, pets_check):
        for label in range(4):
            cards = ann.next(count=20, label=label).json["cards"]
            assert {card["given"] for card in cards} <= {label}
        for wrong in (4, -1, "cat", True, 1.5):
            refused = ann.next(count=1, label=wrong)
            assert refused.status == 422
            assert "label must be the number of a label, from 0 to 3." in refused.text
        doubt = dict(
            zip(pets_check.scores.rows.tolist(), 1 - pets_check.scores.probability, strict=True)
        )
        cards = ann.next(count=20, least=0.9).json["cards"]
        assert cards
        assert all(doubt[card["row"] - 1] >= 0.9 for card in cards)

    def test_any_row_can_be_judged_and_nothing_is_suggested_against_a_sure_model(
        self, ann, pets_check
    ):
        place = int(pets_check.scores.rank.argmax())
        row = int(pets_check.scores.rows[place]) + 1
        card = ann.get(f"/api/card/{row}").json
        assert not card["is_suggested"]
        assert card["suggested"] != card["given"]
        assert ann.decide(row, card["given"]).status == 200

    def test_the_summary_speaks_of_kept_and_relabeled_rows(self, pets, pets_check):
        with open_queue(pets, "review") as queue:
            for place, row in enumerate(queue.order[:5]):
                code = pets_check.given_codes[pets_check.scores.rows.tolist().index(row)]
                answer = "unsure" if place == 4 else f"={PETS[(code + (place < 2)) % 4]}"
                queue.decide(uid(), "ann", row, answer, seconds=1.0, note="")
            done = queue.summary()
            n_rows = len(queue.order)
        expected = f"5 of {n_rows} rows judged: 2 kept, 2 relabeled, 1 unsure."
        assert review_summary(done) == expected

    def test_answers_from_when_there_were_two_labels_are_shown_as_labels(self, pets, pet_people):
        with judging(pets) as judge:
            judge(("ann", 0, "keep"), shown="owl")
            judge(("ann", 1, "flip"), shown="owl")
        (ann,) = pet_people("ann")
        assert ann.get("/api/card/1").json["mine"]["answer"] == 2
        assert ann.get("/api/card/2").json["mine"]["answer"] is None


class TestHostileLabels:
    @pytest.fixture
    def ann(self, tmp_path):
        run = class_run(tmp_path, HOSTILE, 100)
        with open_queue(run, "review") as queue:
            app = make_app(queue, {"t": "ann"}, (HOST,))
            client = Client(app, "t")
            client.run = run
            yield client

    def test_labels_are_text_and_never_markup(self, ann):
        page = ann.get("/").text
        assert "<b>cat" not in page
        assert "&lt;b&gt;cat&lt;/b&gt;</li>" in page
        assert not re.search(r'<[^>]*"onclick=', page)
        assert "owl⟨U+202E⟩" in page
        assert "\u202e" not in page

    def test_they_are_saved_as_they_are(self, ann):
        check = load_check(ann.run)
        with (ann.run.parent / "pets.csv").open(newline="") as file:
            assert {row[-1] for row in csv.reader(file)} == {*HOSTILE, "animal"}
        for code, name in enumerate(check.classes):
            card = first_card(ann)
            assert "\u202e" not in str(card)
            assert ann.decide(card["row"], code, uid()).status == 200
            assert decisions(ann.run)[-1].answer == f"={name}"
        found = read_settled(ann.run, check)
        assert sorted(found.codes.tolist()) == list(range(5))


def test_a_thousand_labels_are_listed_and_chosen(tmp_path):
    names = tuple(f"label {number:04d}" for number in range(1000))
    write_table(tmp_path, names, 2000)
    check = table_check(tmp_path, names, 2000)
    with open_checked(check) as table, DecisionLog(tmp_path / LOG_FILE) as log:
        rows = Rows(check, table, blind=False)
        queue = ReviewQueue(rows, log, "review", most_suspicious(rows, 50))
        client = Client(make_app(queue, {"t": "ann"}, (HOST,)), "t")
        page = client.get("/").text
        assert page.count('role="option"') == 1000
        card = first_card(client)
        assert len(card["choices"]) == 9
        assert client.decide(card["row"], 999).status == 200
        assert client.decide(card["row"], 1000, uid()).status == 422
        assert [one.answer for one in log.decisions("review")] == ["=label 0999"]
