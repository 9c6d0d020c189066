"""The page and its requests: what people do, in process."""

import re
import sqlite3
from dataclasses import replace

import numpy as np
import pytest

from asgi import HOST, Client, call
from rankprune import check_table
from rankprune.review import next_batch, open_queue
from rankprune.run import _decision_log
from rankprune.run._decision_log import DecisionLog
from rankprune.run._directory import LOG_FILE
from rankprune.storage._hashes import file_sha256
from reviewed_run import uid


def test_a_link_gives_access_once_and_the_cookie_remains_valid(people):
    (ann,) = people("ann")
    again = call(ann.app, "GET", "/?token=token-of-ann", [("host", HOST)])
    assert again.status == 403
    assert "has been used" in again.text
    assert ann.get("/").status == 200


def test_the_cookie_cannot_be_read_or_sent_from_elsewhere(open_queue):
    from rankprune.review._app import make_app

    app = make_app(open_queue(), {"t": "ann"}, (HOST,), cookie="rankprune_8000")
    answer = call(app, "GET", "/?token=t", [("host", HOST)])
    cookie = answer.header("set-cookie")
    assert cookie.startswith("rankprune_8000=")
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "Path=/" in cookie
    assert 'http-equiv="refresh"' in answer.text


def test_nobody_gets_access_without_a_link(people):
    (ann,) = people("ann")
    answer = call(ann.app, "GET", "/", [("host", HOST)])
    assert answer.status == 401
    assert "Open the link" in answer.text


def test_every_answer_has_the_headers_that_keep_others_out(people):
    (ann,) = people("ann")
    for answer in (ann.get("/"), ann.get("/api/progress"), ann.get("/none"), ann.next()):
        policy = answer.header("content-security-policy")
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.header("x-content-type-options") == "nosniff"
        assert answer.header("x-frame-options") == "DENY"
        assert answer.header("referrer-policy") == "no-referrer"
        assert answer.header("cache-control") == "no-store"


def test_the_page_has_no_inline_script_and_shows_the_guideline(people):
    (ann,) = people("ann", guideline="Ask <b>twice</b>.\nThen decide.")
    page = ann.get("/").text
    assert page.count("<script") == 1
    assert '<script src="/static/review.js" defer></script>' in page
    assert "style=" not in page
    assert "onclick" not in page
    assert "Ask &lt;b&gt;twice&lt;/b&gt;.\nThen decide." in page
    assert "by ann" in page


def test_there_are_two_static_files(people):
    (ann,) = people("ann")
    assert ann.get("/static/review.js").header("content-type").startswith("text/javascript")
    assert ann.get("/static/review.css").header("content-type").startswith("text/css")
    assert ann.get("/static/page.html").status == 404
    assert ann.get("/favicon.ico").status == 204


def test_an_answer_is_on_disk_when_it_is_acknowledged(people, run):
    (ann,) = people("ann")
    (card,) = ann.next(count=1).json["cards"]
    answer = ann.decide(card["row"], "flip", note="wrong", seconds=3.5)
    assert answer.status == 200
    assert answer.json["progress"]["done"] == 1
    with DecisionLog(run / LOG_FILE) as other:
        (made,) = other.decisions("review")
    assert (made.row, made.answer, made.note) == (card["row"] - 1, "flip", "wrong")


def test_a_message_that_arrives_twice_counts_once(people, run):
    (ann,) = people("ann")
    (card,) = ann.next(count=1).json["cards"]
    name = uid()
    for _ in range(3):
        assert ann.decide(card["row"], "flip", name).status == 200
    with DecisionLog(run / LOG_FILE) as other:
        assert len(other.decisions("review")) == 1


def test_the_second_person_on_a_row_gets_409_with_the_first_choice(people):
    ann, ben = people("ann", "ben")
    (card,) = ann.next(count=1).json["cards"]
    ann.decide(card["row"], "flip")
    answer = ben.decide(card["row"], "keep", uid())
    assert answer.status == 409
    assert answer.json["first"] == {"reviewer": "ann", "answer": "flip"}


def test_a_locked_log_is_503_and_the_same_message_goes_through_later(
    people, open_queue, run, monkeypatch
):
    queue = open_queue()
    monkeypatch.setattr(_decision_log, "PATIENCE", 0.05)
    (ann,) = people("ann", queue=queue)
    (card,) = ann.next(count=1).json["cards"]
    other = sqlite3.connect(run / LOG_FILE, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    name = uid()
    answer = ann.decide(card["row"], "flip", name)
    assert answer.status == 503
    assert answer.header("retry-after") == "1"
    assert "review.sqlite is locked: another program is writing to it" in answer.json["error"]
    other.execute("ROLLBACK")
    other.close()
    assert ann.decide(card["row"], "flip", name).status == 200


def test_the_uid_of_an_answer_cannot_be_reused(people):
    (ann,) = people("ann")
    first, second = ann.next(count=2).json["cards"]
    name = uid()
    assert ann.decide(first["row"], "flip", name).status == 200
    assert ann.decide(second["row"], "flip", name).status == 422


def test_undo_gives_the_card_back(people):
    (ann,) = people("ann")
    (card,) = ann.next(count=1).json["cards"]
    assert ann.post("/api/undo", {"uid": uid()}).status == 404
    ann.decide(card["row"], "flip")
    answer = ann.post("/api/undo", {"uid": uid()})
    assert answer.json["card"]["row"] == card["row"]
    assert answer.json["card"]["mine"] is None
    assert answer.json["progress"]["done"] == 0


def test_reviewers_see_their_own_earlier_answer(people):
    (ann,) = people("ann")
    (card,) = ann.next(count=1).json["cards"]
    ann.decide(card["row"], "flip", note="hm")
    assert ann.get(f"/api/card/{card['row']}").json["mine"] == {"answer": "flip", "note": "hm"}


def test_rows_are_found_by_name(people):
    (ann,) = people("ann")
    assert ann.get("/api/find?name=r0010").json == {"row": 11}
    assert ann.get("/api/find?name=12").json == {"row": 12}
    assert ann.get("/api/find?name=none").status == 404
    assert ann.get("/api/find").status == 404


def test_progress_can_be_requested(people):
    (ann,) = people("ann")
    assert ann.get("/api/progress").json["done"] == 0


def test_filters_are_passed_on(people, check):
    (ann,) = people("ann")
    found = ann.next(label="positive", least=0.1, most=1, count=20).json["cards"]
    assert found
    assert {card["label"] for card in found} == {"yes"}
    found = ann.next(column=3, value="red", count=20).json["cards"]
    assert {card["fields"][3]["text"] for card in found} == {"red"}
    page = ann.get("/").text
    assert 'data-column="3" data-value="red"' in page


def test_images_are_sent_with_their_type(people, open_queue, tmp_path):
    from test_cards import PIXEL

    queue = open_queue(image_root=tmp_path)
    (tmp_path / "a.png").write_bytes(PIXEL)
    row = queue.order[0]
    queue.rows._kept[row][4] = "a.png"
    (ann,) = people("ann", queue=queue)
    answer = ann.get(f"/image/{row + 1}/4")
    assert (answer.status, answer.body) == (200, PIXEL)
    assert answer.header("content-type") == "image/png"
    assert ann.get(f"/image/{row + 1}/3").status == 404


def test_the_path_of_an_image_that_cannot_be_read_is_not_shown(
    people, open_queue, tmp_path, monkeypatch
):
    queue = open_queue(image_root=tmp_path)
    (tmp_path / "positive.png").write_bytes(b"")
    row = queue.order[0]
    queue.rows._kept[row][4] = "positive.png"
    (ann,) = people("ann", queue=queue)

    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(type(tmp_path), "read_bytes", refuse)
    answer = ann.get(f"/image/{row + 1}/4")
    assert answer.status == 404
    assert answer.json == {"error": "There is no such image."}


class TestAudit:
    def test_the_page_asks_which_is_right(self, people, drawn):
        (ann,) = people("ann", mode="audit")
        page = ann.get("/").text
        assert "Which value of" in page
        assert 'data-answer="positive"' in page
        assert 'data-answer="keep"' not in page
        assert "data-column" not in page

    def transcript(self, ann):
        """Return every response of an audit, without the secret of the page."""
        said = [ann.get("/").text.replace(ann.csrf, "")]
        while cards := (answer := ann.next(count=20)).json["cards"]:
            said.append(answer.text)
            for card in cards:
                said.append(ann.get(f"/api/card/{card['row']}").text)
                said.append(ann.decide(card["row"], "positive", f"{card['row']:08x}").text)
            said.append(ann.get("/api/progress").text)
        said.append(ann.post("/api/undo", {"uid": "f" * 8}).text)
        # As long as a row is missing, the result says so and nothing else.
        said.append(ann.post("/api/result", {}).text)
        said.append(ann.get("/api/progress").text)
        # Only the durations differ between two transcripts.
        return [re.sub(r'"minutes_left":[^,]*,', "", text) for text in said]

    @pytest.mark.parametrize("method", ["design", "model"])
    def test_no_response_carries_label_or_score(
        self, people, drawn, check, run, folder, tmp_path, method
    ):
        """With all labels inverted, every response is the same, byte for byte."""
        turned = {"yes": "no", "no": "yes"}
        lines = (folder / "people.csv").read_text().splitlines()
        lines[1:] = [
            f"{line[: line.rindex(',')]},{turned[line[line.rindex(',') + 1 :]]}"
            for line in lines[1:]
        ]
        if method == "model":
            drawn = next_batch(run, 60, table=folder / "people.csv", seed=0, force=True)
        other = tmp_path / "turned" / "people.csv"
        other.parent.mkdir()
        other.write_text("\n".join(lines) + "\n")
        found = check_table(
            other,
            "label",
            id="row id",
            scorer=None,
            drop=["story"],
            noise_estimator="confident-counts",
        )
        assert not np.allclose(found.scores.probability, check.scores.probability, atol=0.01)
        twin = found.save(tmp_path / "turned" / "run")
        with DecisionLog(twin / LOG_FILE) as log:
            log.keep_draw(replace(drawn, id=None, scores=file_sha256(twin / "scores.parquet")))
        with open_queue(twin, "audit") as queue:
            turned_round = self.transcript(people("ann", queue=queue)[0])
        as_it_is = self.transcript(people("ann", mode="audit")[0])
        assert len(as_it_is) > 120
        assert as_it_is == turned_round

    def test_rows_outside_the_sample_do_not_exist(self, people, drawn):
        (ann,) = people("ann", mode="audit")
        inside = {row for row, _, _ in drawn.rows}
        outside = next(row for row in range(300) if row not in inside)
        assert ann.get("/api/card/61").status == 404
        assert ann.get(f"/api/find?name=r{outside:04d}").status == 404
        assert ann.decide(61, "positive").status == 404

    @pytest.mark.parametrize(
        "wanted",
        [
            {"label": "positive"},
            {"least": 0.5},
            {"most": 0.5},
            {"column": 5, "value": "yes"},
            {"column": 3, "value": "red"},
        ],
    )
    def test_filters_that_would_reveal_labels_are_refused(self, people, drawn, wanted):
        (ann,) = people("ann", mode="audit")
        assert ann.next(**wanted).status == 422

    def test_answers_are_about_the_right_label(self, people, drawn):
        (ann,) = people("ann", mode="audit")
        row = ann.next(count=1).json["cards"][0]["row"]
        assert ann.decide(row, "keep").status == 422
        assert ann.decide(row, "negative", uid()).status == 200


def test_a_client_needs_only_the_link(people):
    ann, ben = people("ann", "ben")
    assert isinstance(ann, Client)
    assert ann.cookie != ben.cookie
    assert ann.csrf != ben.csrf


def test_a_body_that_is_cut_off_is_refused(people):
    (ann,) = people("ann")
    answer = ann.post("/api/decide", [])
    assert answer.status == 400
    assert answer.json["error"] == "The connection ended before the body."
