"""Audits in batches: which rows are dealt, what their answers change, and the end on the page."""

import json
import threading
from dataclasses import replace

import numpy as np
import pytest

from noisy_table import noisy_csv, noisy_rows
from rankprune import LabelCheck, audit, check_table
from rankprune.exceptions import TableError
from rankprune.report import render_report
from rankprune.review import next_batch, open_queue, settle_run
from rankprune.run._audit_record import AuditRecord
from rankprune.run._decision_log import DecisionLog, Draw
from rankprune.run._directory import LOG_FILE
from reviewed_run import uid

ALL = {"audit.json", "result.json", "review.sqlite", "scores.parquet"}
BEFORE = {"unjudged.json", "unjudged.parquet"}


@pytest.fixture(scope="module")
def truth():
    """The correct labels of the table of `run`."""
    return noisy_rows(300)[2]


@pytest.fixture
def check(checked):
    """The check before any row was judged, whose files nothing replaces."""
    return LabelCheck.load(checked / "people.csv.rankprune")


@pytest.fixture
def deal(run, folder):
    """Return a function that returns the rows to judge now."""

    def dealt(*words, **options):
        return next_batch(run, *words, **{"table": folder / "people.csv", "seed": 0, **options})

    return dealt


@pytest.fixture
def settle(run, folder):
    def settled(**options):
        return settle_run(run, **{"table": folder / "people.csv", **options})

    return settled


@pytest.fixture
def judge(run, folder, truth):
    """Return a function that judges rows that nobody has judged, by the truth."""

    def judged(n=None, answer=None, reviewer="ann", **options):
        with open_queue(run, "audit", table=folder / "people.csv", **options) as queue:
            rows = [row for row in queue.order if row not in queue._outcomes][:n]
            for row in rows:
                said = answer or ("positive" if truth[row] else "negative")
                queue.decide(uid(), reviewer, row, said, seconds=1.0, note="")
        return rows

    return judged


def record_of(check):
    """Return the record of a check without the cells of rows that are new on its list."""
    plain = check.to_dict()
    for row in plain["candidates"]:
        del row["cells"]
    return plain


def rows_of(draw):
    return [row for row, _, _ in draw.rows]


def names(run):
    return {path.name for path in run.iterdir() if not path.name.endswith(("-wal", "-shm"))}


def labels_of(check, truth, rows):
    return [check.positive if truth[row] else check.negative for row in rows]


class TestNextBatch:
    def test_a_batch_is_judged_before_the_next_one_is_drawn(self, deal, judge):
        first = deal()
        assert (first.batch, first.method, len(first.rows)) == (1, "model", 25)
        judge(24)
        assert deal() == deal(seed=7) == first
        judge(1)
        second = deal()
        assert (second.batch, len(second.rows)) == (2, 25)
        assert not set(rows_of(first)) & set(rows_of(second))

    def test_it_is_what_draw_audit_draws(self, deal, judge, check, truth):
        first = deal()
        assert rows_of(first) == check.draw_audit(25, random_state=0).rows.tolist()
        judge()
        settled = check.settle(rows_of(first), labels_of(check, truth, rows_of(first)))
        assert rows_of(deal()) == settled.draw_audit(25, random_state=0).rows.tolist()

    def test_rows_that_nobody_was_sure_of_are_not_drawn_again(self, deal, judge):
        first = deal(60)
        judge(answer="unsure")
        assert not set(rows_of(first)) & set(rows_of(deal(60)))

    def test_rows_whose_answers_were_taken_back_are_not_drawn_again(self, deal, judge, run, folder):
        first = deal()
        judge()
        second = deal()
        with open_queue(run, "audit", table=folder / "people.csv") as queue:
            queue.undo(uid(), "ann")
            assert queue.progress("ann")["left"] == 26
        assert deal() == second
        judge()
        judge()
        assert not set(rows_of(first)) & set(rows_of(deal()))

    def test_the_last_batch_has_the_rows_that_are_left(self, deal, judge):
        for size in (130, 130, 40):
            assert len(deal(130).rows) == size
            judge()
        with pytest.raises(TableError, match=r"no row is left to judge.*force=True"):
            deal()

    def test_it_may_be_about_one_label(self, deal, check):
        draw = deal(60, about="yes")
        assert draw.about == "yes"
        assert sum(is_positive for _, is_positive, _ in draw.rows) > 40
        with pytest.raises(ValueError, match="about must be 'yes' or 'no', got 'maybe'"):
            deal(about="maybe", force=True)

    @pytest.mark.parametrize(("method", "other"), [("model", "design"), ("design", "model")])
    def test_batches_and_a_fixed_sample_do_not_mix(self, deal, judge, settle, method, other):
        deal(40, method=method)
        judge()
        with pytest.raises(TableError, match=rf'method must be "{method}".*force=True'):
            deal(method=other)
        again = deal(30, method=other, force=True)
        assert (again.batch, again.method, len(again.rows)) == (1, other, 30)
        assert settle().judged is None

    def test_a_fixed_sample_has_200_rows_unless_another_size_is_asked_for(self, deal):
        assert len(deal(method="design").rows) == 200
        assert len(deal(method="design").rows) == 200
        with pytest.raises(TableError, match="n must be 200"):
            deal(100, method="design")

    def test_a_method_that_does_not_exist_is_refused(self, deal):
        with pytest.raises(ValueError, match="method must be one of model, design"):
            deal(method="mine")

    def test_a_changed_table_is_refused(self, deal, settle, folder):
        deal()
        with (folder / "people.csv").open("a") as file:
            file.write("300,1,2,red,more,yes\n")
        for work in (deal, settle):
            with pytest.raises(TableError, match=r"is not the table that was checked, people.csv"):
                work()

    def test_a_changed_run_is_refused(self, deal, settle, judge, run, folder):
        deal()
        judge()
        other = check_table(folder / "people.csv", "label", id="row id", scorer=None, cv=4)
        other.save(run, force=True)
        for work in (deal, settle, judge):
            with pytest.raises(TableError, match="The sample belongs to an earlier check"):
                work()
        assert deal(force=True).batch == 1

    def test_the_same_check_goes_on_where_it_was(self, deal, settle, judge, run, folder, checked):
        first = deal()
        judge()
        wanted = settle()
        original = LabelCheck.load(checked / "people.csv.rankprune")
        original.save(run, force=True)
        assert names(run) == {"result.json", "scores.parquet", "review.sqlite"}
        assert deal().batch == 2
        assert not set(rows_of(first)) & set(rows_of(deal()))
        assert settle().wrong_share_interval == wanted.wrong_share_interval

    def test_people_who_ask_at_once_get_the_same_rows(self, deal):
        found = []
        threads = [
            threading.Thread(target=lambda seed=seed: found.append(deal(seed=seed)))
            for seed in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 4
        assert len({(draw.id, draw.batch, tuple(draw.rows)) for draw in found}) == 1


class TestSettle:
    def test_the_run_becomes_what_settle_returns(self, deal, judge, settle, run, check, truth):
        rows = rows_of(deal())
        judge()
        found = settle()
        wanted = check.settle(rows, labels_of(check, truth, rows))
        for one in (found, LabelCheck.load(run)):
            assert record_of(one) == record_of(wanted)
            assert one.scores_key == check.scores_key
            assert one.scores.rank.tolist() == wanted.scores.rank.tolist()
        assert names(run) == ALL | BEFORE

    def test_it_says_what_came_of_the_answers(self, deal, judge, settle, run, check, truth):
        first = deal()
        judge(20)
        judge(2, answer="unsure")
        found = settle()
        record = AuditRecord.load(run)
        assert (record.method, record.n_batches, record.estimate) == ("model", 1, None)
        assert (record.n_judged, record.n_sure, record.n_unjudged) == (22, 20, 3)
        given = dict(zip(check.scores.rows.tolist(), check.scores.is_positive, strict=True))
        assert record.n_wrong == sum(given[row] != truth[row] for row in rows_of(first)[:20])
        assert record.before == check.wrong_share_interval
        assert record.after == found.wrong_share_interval
        assert record.reviewers == ("ann",)
        assert not record.is_finished
        judge()
        deal()
        judge()
        settle()
        record = AuditRecord.load(run)
        assert (record.n_batches, record.n_judged, record.n_sure) == (2, 50, 48)
        assert record.before == check.wrong_share_interval
        assert record.is_finished

    def test_answers_that_were_taken_back_no_longer_count(
        self, deal, judge, settle, run, folder, check, truth
    ):
        rows = rows_of(deal())
        judge()
        settle()
        with open_queue(run, "audit", table=folder / "people.csv") as queue:
            queue.undo(uid(), "ann")
        wanted = check.settle(rows[:24], labels_of(check, truth, rows[:24]))
        assert record_of(settle()) == record_of(wanted)
        with open_queue(run, "audit", table=folder / "people.csv") as queue:
            for _ in rows[:24]:
                queue.undo(uid(), "ann")
        settle()
        assert names(run) == ALL
        assert LabelCheck.load(run).to_dict() == check.to_dict()
        assert LabelCheck.load(run).scores_key == check.scores_key

    def test_a_changed_answer_counts_as_it_is_now(
        self, deal, judge, settle, run, folder, check, truth
    ):
        rows = rows_of(deal())
        judge()
        settle()
        turned = ~np.asarray(truth, dtype=bool)
        with open_queue(run, "audit", table=folder / "people.csv") as queue:
            for row in rows:
                answer = "positive" if turned[row] else "negative"
                queue.decide(uid(), "ann", row, answer, seconds=1.0, note="")
        wanted = check.settle(rows, labels_of(check, turned, rows))
        assert record_of(settle()) == record_of(wanted)

    def test_an_answer_that_arrives_twice_counts_once(
        self, deal, settle, run, folder, check, truth
    ):
        rows = rows_of(deal())[:3]
        with open_queue(run, "audit", table=folder / "people.csv") as queue:
            for row, name in zip(rows, ("a" * 8, "b" * 8, "c" * 8), strict=True):
                for _ in range(2):
                    answer = "positive" if truth[row] else "negative"
                    queue.decide(name, "ann", row, answer, seconds=1.0, note="")
        wanted = check.settle(rows, labels_of(check, truth, rows))
        assert record_of(settle()) == record_of(settle()) == record_of(wanted)

    def test_a_disagreement_counts_as_unsure(self, deal, judge, settle, run, folder, truth):
        deal()
        judge(overlap=1.0)
        with open_queue(run, "audit", table=folder / "people.csv", overlap=1.0) as queue:
            row = queue.order[0]
            other = "negative" if truth[row] else "positive"
            queue.decide(uid(), "ben", row, other, seconds=1.0, note="")
        assert settle().judged.is_positive[0] is None
        record = AuditRecord.load(run)
        assert (record.n_judged, record.n_sure, record.n_disagreements) == (25, 24, 1)
        assert record.reviewers == ("ann", "ben")

    def test_new_candidates_have_their_cells_if_the_table_is_at_hand(self, tmp_path, monkeypatch):
        monkeypatch.setattr("rankprune.check._shown_rows.MAX_SHOWN", 5)
        path, _, truth = noisy_csv(tmp_path, n=200)
        run = check_table(path, "label", scorer=None).save(tmp_path / "run")
        next_batch(run, seed=0)
        with open_queue(run, "audit") as queue:
            for row in queue.order:
                answer = "positive" if truth[row] else "negative"
                queue.decide(uid(), "ann", row, answer, seconds=1.0, note="")
        found = settle_run(run)
        assert len(found.candidates) > 5
        assert all(len(row.cells) == len(found.columns) for row in found.candidates)
        path.rename(tmp_path / "moved.csv")
        found = settle_run(run)
        assert sum(not row.cells for row in found.candidates) > 0
        assert settle_run(run, tmp_path / "moved.csv").candidates[-1].cells

    def test_the_report_is_replaced_with_the_result_or_removed(self, deal, judge, settle, run):
        (run / "report.html").write_text("old")
        deal()
        judge()
        settle(report=render_report)
        assert "25 rows judged" in (run / "report.html").read_text()
        settle()
        assert not (run / "report.html").exists()

    def test_a_fixed_sample_settles_the_run_when_all_of_it_is_judged(
        self, deal, judge, settle, run, check, truth
    ):
        draw = deal(80, method="design")
        judge(79)
        assert settle().judged is None
        assert AuditRecord.load(run).n_unjudged == 1
        judge()
        found = settle()
        record = AuditRecord.load(run)
        wanted = check.settle(
            draw.sample(), labels_of(check, truth, rows_of(draw)), method="design"
        )
        assert record_of(found) == record_of(wanted)
        for end in ("estimate", "low", "high"):
            assert getattr(record.estimate.wrong_share, end) == pytest.approx(
                getattr(found.wrong_share_interval, end)
            )
        assert (record.method, record.n_judged, record.n_sure) == ("design", 80, 80)
        assert record.before_after is not None
        # The models before and after are those of the check as it was.
        assert settle().to_dict() == found.to_dict()
        assert AuditRecord.load(run) == record

    def test_a_sample_of_the_first_release_that_has_trusted_rows_leaves_the_result(self, tmp_path):
        path, _, truth = noisy_csv(tmp_path, n=200)
        lines = path.read_text().splitlines()
        lines = [f"{line},{int(i % 3 == 0)}" for i, line in enumerate(lines)]
        lines[0] = lines[0][:-1] + "sure"
        path.write_text("\n".join(lines) + "\n")
        check = check_table(path, "label", trusted="sure", scorer=None)
        run = check.save(tmp_path / "run")
        scores = check.scores
        sample = audit.draw(scores.is_positive, scores.suspect, 20, random_state=0)
        rows = zip(
            sample.rows.tolist(), sample.is_positive.tolist(), sample.suspect.tolist(), strict=True
        )
        key = LabelCheck.load(run).scores_key
        with DecisionLog(run / LOG_FILE) as log:
            log.keep_draw(Draw(None, key, sample.sizes, "yes", "no", tuple(rows), "2026-01-01"))
        with open_queue(run, "audit") as queue:
            for row in queue.order:
                answer = "positive" if truth[row] else "negative"
                queue.decide(uid(), "ann", row, answer, seconds=1.0, note="")
        assert settle_run(run).judged is None
        assert AuditRecord.load(run).estimate.n_drawn == 20

    def test_a_run_without_the_check_as_it_was_is_refused(self, deal, judge, settle, run):
        deal()
        judge()
        settle()
        (run / "unjudged.json").unlink()
        with pytest.raises(TableError, match=r"unjudged.json does not belong to the result"):
            settle()
        (run / "unjudged.parquet").write_bytes(b"x")
        with pytest.raises(TableError, match=r"unjudged.parquet does not belong"):
            LabelCheck.load(run)


class TestPage:
    @pytest.fixture
    def everybody(self, deal, people, run, folder):
        def come_in(*names, n=10, method="model", about=None, **options):
            deal(n, method=method, about=about)
            return people(*names, mode="audit", **options)

        return come_in

    def judge(self, client, truth, queue_rows, n=20):
        """Judge the next rows; return how many."""
        cards = client.next(count=n).json["cards"]
        for card in cards:
            row = queue_rows()[card["row"] - 1]
            answer = "positive" if truth[row] else "negative"
            assert client.decide(card["row"], answer, uid()).status == 200
        return len(cards)

    @pytest.fixture
    def dealt(self, run):
        """Return a function that returns the rows of all batches."""

        def rows():
            with DecisionLog(run / LOG_FILE) as log:
                return [row for draw in log.last_draws() for row in rows_of(draw)]

        return rows

    def test_the_result_appears_when_every_row_is_judged(self, everybody, truth, dealt, run, check):
        (ann,) = everybody("ann", report=render_report)
        assert self.judge(ann, truth, dealt, 9) == 9
        assert ann.post("/api/result", {}).json == {"batch": 1, "missing": 1}
        assert LabelCheck.load(run).judged is None
        self.judge(ann, truth, dealt)
        found = ann.post("/api/result", {}).json
        settled = LabelCheck.load(run)
        assert (found["batch"], found["missing"], found["rows"]) == (1, 0, 10)
        assert found["headline"].endswith("(10 rows judged).")
        assert found["share"] == "Share of all labels that are wrong"
        for name, one in (("before", check), ("after", settled)):
            total = one.wrong_share_interval
            ends = {"estimate": total.estimate, "low": total.low, "high": total.high}
            assert found[name] == ends
        width = settled.planned_audit((10,))[10]["model"]
        assert found["next"] == {
            "n": 10,
            "width": width,
            "words": f"about ±{50 * width:.1f} points",
        }
        assert "10 rows judged" in (run / "report.html").read_text()

    def test_the_next_batch_goes_on_with_the_numbers(self, everybody, truth, dealt, run):
        (ann,) = everybody("ann")
        self.judge(ann, truth, dealt)
        assert ann.next().json["cards"] == []
        progress = ann.post("/api/more", {"after": 1}).json["progress"]
        assert (progress["batch"], progress["total"], progress["done"]) == (2, 10, 0)
        cards = ann.next(count=20).json["cards"]
        assert [card["row"] for card in cards] == list(range(11, 21))
        self.judge(ann, truth, dealt)
        assert ann.post("/api/result", {}).json["rows"] == 20
        assert AuditRecord.load(run).n_batches == 2

    def test_everybody_gets_the_result_and_the_same_next_batch(
        self, everybody, truth, dealt, run, monkeypatch
    ):
        from rankprune.review import _batches

        saved = []
        save = _batches.save_audited
        monkeypatch.setattr(
            _batches, "save_audited", lambda *a, **b: saved.append(1) or save(*a, **b)
        )
        ann, ben = everybody("ann", "ben")
        self.judge(ann, truth, dealt, 6)
        assert ben.post("/api/result", {}).json["missing"] == 4
        self.judge(ben, truth, dealt)
        self.judge(ann, truth, dealt)
        assert ann.post("/api/result", {}).json == ben.post("/api/result", {}).json
        assert len(saved) == 1
        for person in (ann, ben, ann):
            assert person.post("/api/more", {"after": 1}).json["progress"]["batch"] == 2
        assert len(dealt()) == 20
        assert AuditRecord.load(run).reviewers == ("ann", "ben")

    def test_with_an_overlap_it_waits_for_the_second_answers(self, everybody, truth, dealt):
        ann, ben = everybody("ann", "ben", overlap=1.0)
        self.judge(ann, truth, dealt)
        assert ann.get("/api/progress").json["left"] == 0
        assert ann.post("/api/result", {}).json == {"batch": 1, "missing": 10}
        self.judge(ben, truth, dealt)
        assert ann.post("/api/result", {}).json["missing"] == 0

    def test_after_an_answer_was_taken_back_the_result_is_another(self, everybody, truth, dealt):
        (ann,) = everybody("ann")
        self.judge(ann, truth, dealt)
        before = ann.post("/api/result", {}).json
        undone = ann.post("/api/undo", {"uid": "f" * 8}).json["card"]["row"]
        assert ann.post("/api/result", {}).json == {"batch": 1, "missing": 1}
        assert ann.decide(undone, "unsure", "e" * 8).status == 200
        after = ann.post("/api/result", {}).json
        assert "1 row has no clear answer" in after["answers"]
        assert after["after"] != before["after"]

    def test_a_fixed_sample_ends_without_an_offer(self, everybody, truth, dealt):
        (ann,) = everybody("ann", n=20, method="design")
        self.judge(ann, truth, dealt)
        found = ann.post("/api/result", {}).json
        assert (found["rows"], found["next"]) == (20, None)
        assert ann.post("/api/more", {"after": 1}).json["progress"]["batch"] == 1

    def test_the_result_may_be_about_one_label(self, everybody, truth, dealt, run):
        (ann,) = everybody("ann", n=20, about="no")
        self.judge(ann, truth, dealt)
        found = ann.post("/api/result", {}).json
        assert found["share"] == "Share of the labels “no” that are wrong"
        rate = LabelCheck.load(run).intervals.negative_label_error_rate
        assert found["after"]["high"] == rate.high
        ann.post("/api/more", {"after": 1})
        with DecisionLog(run / LOG_FILE) as log:
            assert [draw.about for draw in log.last_draws()] == ["no", "no"]

    def test_nothing_is_promised_where_the_answers_contradict_the_model(
        self, everybody, truth, dealt
    ):
        (ann,) = everybody("ann", n=20)
        self.judge(ann, ~np.asarray(truth, dtype=bool), dealt)
        found = ann.post("/api/result", {}).json
        assert "The answers contradict the model" in found["headline"]
        assert found["next"] == {"n": 20, "width": None, "words": None}

    def test_a_batch_that_another_process_drew_is_dealt_here_too(
        self, everybody, truth, dealt, deal, run
    ):
        (ann,) = everybody("ann")
        self.judge(ann, truth, dealt)
        assert deal(10).batch == 2
        assert ann.post("/api/result", {}).json == {"batch": 2, "missing": 10}
        assert [card["row"] for card in ann.next(count=20).json["cards"]] == list(range(11, 21))

    def test_an_audit_that_was_begun_anew_is_noticed(self, everybody, truth, dealt, deal):
        (ann,) = everybody("ann")
        self.judge(ann, truth, dealt)
        deal(10, force=True)
        answer = ann.post("/api/result", {})
        assert answer.status == 503
        assert "Another audit of this run was begun meanwhile" in answer.json["error"]

    def test_the_offer_ends_with_the_rows(self, everybody, truth, dealt):
        (ann,) = everybody("ann", n=150)
        for number in range(2):
            while self.judge(ann, truth, dealt):
                pass
            assert (ann.post("/api/result", {}).json["next"] is None) == (number == 1)
            ann.post("/api/more", {"after": 1})

    def test_a_review_has_no_batches(self, people):
        (ann,) = people("ann")
        for path, body in (("/api/result", {}), ("/api/more", {"after": 1})):
            assert ann.post(path, body).status == 404

    def test_only_our_own_page_may_ask(self, everybody):
        (ann,) = everybody("ann")
        for path in ("/api/result", "/api/more"):
            assert ann.post(path, {"after": 1}, origin="http://evil.example").status == 403
            assert ann.get(path).status == 405
        assert ann.post("/api/more", {"after": "one"}).status == 422


def test_an_audit_of_the_first_release_is_read(run, deal, judge, settle):
    deal(20, method="design")
    judge()
    settle()
    record = AuditRecord.load(run)
    plain = json.loads(record.to_bytes())
    first = {
        name: plain[name]
        for name in (
            *("estimate", "n_unjudged", "n_disagreements", "reviewers", "before_after"),
            *("notes", "scores_sha256"),
        )
    }
    from resealed import reseal

    (run / "audit.json").write_text(json.dumps({"schema": 1, **first}))
    reseal(run)
    again = AuditRecord.load(run)
    assert again == replace(record, before=None, after=None, n_wrong=0)
