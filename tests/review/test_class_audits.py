"""Blind audits of more than two labels on the page: batches, fixed samples, commands, results."""

import json
import shutil

import numpy as np
import pytest

from asgi import HOST, Client
from pet_table import PETS, pet_csv, pet_rows
from rankprune import check_table, load_check
from rankprune.exceptions import TableError
from rankprune.report import render_report
from rankprune.review import _audits, _serve, next_batch, open_queue, settle_run
from rankprune.review._app import make_app
from rankprune.run._audit_record import AuditRecord
from rankprune.run._decision_log import DecisionLog
from rankprune.run._directory import LOG_FILE
from rankprune.run._sentences import headline
from rankprune.run._settled import read_settled
from reviewed_classes import uid

TRUTH = pet_rows(400)[2]


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pets")
    path, _, _ = pet_csv(folder, n=400)
    check_table(path, "kind", id="row id", scorer=None).save(folder / "run")
    return folder


@pytest.fixture
def run(checked, tmp_path):
    """A run directory of one's own; its table stays where it was checked."""
    shutil.copytree(checked / "run", tmp_path / "run")
    return tmp_path / "run"


@pytest.fixture
def served(monkeypatch):
    """Stop the server at once."""
    monkeypatch.setattr(_serve.Server, "run", lambda self: self.close())


def judge(run, n=None, answer=None, reviewer="ann", **options):
    """Judge the rows that nobody has judged, by the truth."""
    with open_queue(run, "audit", **options) as queue:
        rows = [row for row in queue.order if row not in queue._outcomes][:n]
        for row in rows:
            said = answer or f"={PETS[TRUTH[row]]}"
            queue.decide(uid(), reviewer, row, said, seconds=1.0, note="")
    return rows


def rows_of(draw):
    return [row for row, *_ in draw.rows]


def names_of(rows):
    return [PETS[TRUTH[row]] for row in rows]


class TestBatches:
    def test_they_are_what_draw_audit_draws_and_settle_settles(self, run):
        check = load_check(run)
        first = next_batch(run, seed=0)
        sample = check.draw_audit(25, random_state=0)
        assert rows_of(first) == sample.rows.tolist()
        assert first.strata == tuple(sample.stratum.tolist())
        judge(run)
        second = next_batch(run, seed=0)
        assert second.batch == 2
        assert not set(rows_of(first)) & set(rows_of(second))
        judge(run, 10)
        found = settle_run(run)
        judged = rows_of(first) + rows_of(second)[:10]
        expected = check.settle(judged, names_of(judged))
        assert found.wrong_share_interval == expected.wrong_share_interval
        assert found.judged == expected.judged == load_check(run).judged
        assert found.error_rates == expected.error_rates
        record = AuditRecord.load(run)
        assert (record.n_judged, record.n_sure, record.n_unjudged) == (35, 35, 15)
        assert record.n_wrong == found.judged.n_wrong > 0
        assert record.after == found.wrong_share_interval

    def test_answers_that_change_count_as_they_are_now(self, run):
        before = load_check(run)
        next_batch(run, 6, seed=0)
        judge(run, answer="unsure")
        unsure = settle_run(run)
        assert unsure.wrong_share_interval == before.wrong_share_interval
        assert unsure.judged.n_sure == 0
        with open_queue(run, "audit") as queue:
            for row in queue.order:
                queue.decide(uid(), "ann", row, "=cat", seconds=1.0, note="")
        found = settle_run(run)
        assert set(found.judged.labels) == {0}
        with open_queue(run, "audit") as queue:
            while queue.undo(uid(), "ann") is not None:
                pass
        assert settle_run(run).judged is None

    def test_a_disagreement_is_no_clear_answer_until_it_is_settled(self, run):
        next_batch(run, 4, seed=0)
        for who, answer in (("ann", "=cat"), ("ben", "=dog")):
            with open_queue(run, "audit", overlap=1.0) as queue:
                for row in queue.order:
                    queue.decide(uid(), who, row, answer, seconds=1.0, note="")
        assert settle_run(run).judged.labels == (None,) * 4
        assert AuditRecord.load(run).n_disagreements == 4
        with open_queue(run, "audit", overlap=1.0) as queue:
            for row in queue.order:
                queue.decide(uid(), "cec", row, "=dog", seconds=1.0, note="")
        assert settle_run(run).judged.labels == (1,) * 4

    def test_rows_about_one_label(self, run):
        draw = next_batch(run, about="it's", seed=0)
        assert draw.about == "it's"
        check = load_check(run)
        given = check.given_codes[rows_of(draw)]
        assert np.mean(given == 2) > 0.5
        judge(run)
        with open_queue(run, "audit") as queue:
            shown = queue.batches.result()
        before, after = check.error_rates["it's"], load_check(run).error_rates["it's"]
        assert shown["share"] == "Share of the labels “it's” that are wrong"
        assert shown["before"] == {
            name: getattr(before, name) for name in ("estimate", "low", "high")
        }
        assert shown["after"]["high"] == after.high
        with pytest.raises(ValueError, match=r"about must be one of 'cat', 'dog', \"it's\", 'owl"):
            next_batch(run, about="fox", force=True)

    def test_settled_labels_hold_the_audited_rows(self, run):
        next_batch(run, 12, seed=0)
        rows = judge(run)
        check = settle_run(run)
        found = read_settled(run, check)
        assert found.rows.tolist() == sorted(rows)
        assert [PETS[code] for code in found.codes] == names_of(sorted(rows))
        assert found.n_judged == 12
        answers = {entry["row"] - 1: entry for entry in found.trail(check)}
        assert all(answers[row]["answer"] == f"={PETS[TRUTH[row]]}" for row in rows)
        assert all(entry["stands"] for entry in answers.values())


class TestFixedSample:
    def test_the_answers_alone_decide(self, run):
        check = load_check(run)
        draw = next_batch(run, 80, method="design", seed=0)
        sample = check.draw_audit(80, method="design", random_state=0)
        assert rows_of(draw) == sample.rows.tolist()
        assert next_batch(run, method="design", seed=5) == draw
        judge(run)
        found = settle_run(run)
        expected = check.settle(sample, names_of(sample.rows), method="design")
        assert found.wrong_share_interval == expected.wrong_share_interval
        record = AuditRecord.load(run)
        assert record.estimate.classes == PETS
        assert record.estimate.wrong_share == expected.wrong_share_interval
        assert record.before_after.n_rows == 80
        assert record.before_after.after <= record.before_after.before

    def test_a_sample_drawn_in_another_way_is_refused(self, run, monkeypatch):
        next_batch(run, 80, method="design", seed=0)
        judge(run, 3)
        whole = _audits.open_rows

        def other(check):
            rows = whole(check)
            strata = rows.divided().strata(30)
            monkeypatch.setattr(type(rows.divided()), "strata", lambda self, n: strata)
            return rows

        monkeypatch.setattr(_audits, "open_rows", other)
        with pytest.raises(TableError, match="drawn by another version of rankprune"):
            settle_run(run)


class TestPage:
    @pytest.fixture
    def ann(self, run):
        next_batch(run, 6, seed=0)
        with open_queue(run, "audit", report=render_report) as queue:
            client = Client(make_app(queue, {"t": "ann"}, (HOST,)), "t")
            client.queue = queue
            yield client

    def test_a_card_is_blind_and_offers_labels_in_their_order(self, ann):
        (card,) = ann.next(count=1).json["cards"]
        assert set(card) == {
            *("row", "name", "fields", "more", "mine", "disagreement", "said", "choices")
        }
        assert card["choices"] == [{"label": code, "key": str(code + 1)} for code in range(4)]
        assert "kind" not in [field["name"] for field in card["fields"]]
        page = ann.get("/").text
        assert 'data-labels="many"' in page
        assert '<li role="option" id="label-2" aria-selected="false">it&#39;s</li>' in page
        assert 'id="given"' not in page
        assert '<select id="label"' not in page
        assert ann.next(count=1, label=1).status == 422
        # Neither label nor score is stored.
        assert ann.decide(card["row"], 2).status == 200
        (made,) = ann.queue.log.decisions("audit", ann.queue.draws[0].id)
        assert (made.answer, made.label, made.score) == ("=it's", None, None)
        assert ann.decide(card["row"], 4, uid()).status == 422

    def test_a_batch_ends_with_the_result_and_the_next_is_dealt(self, ann, run):
        assert ann.post("/api/result", {}).json == {"batch": 1, "missing": 6}
        for card in ann.next(count=20).json["cards"]:
            row = ann.queue.row(card["row"])
            ann.decide(card["row"], int(TRUTH[row]), uid())
        shown = ann.post("/api/result", {}).json
        check = load_check(run)
        assert shown["headline"] == headline(check)
        assert shown["after"]["high"] == check.wrong_share_interval.high
        assert shown["next"]["n"] == 6
        assert "recent" not in ann.get("/api/progress").json
        assert (run / "report.html").is_file()
        ann.post("/api/more", {"after": 1})
        assert ann.get("/api/progress").json["batch"] == 2
        assert len(ann.next(count=20).json["cards"]) == 6


class TestCommands:
    def test_a_batch_is_drawn_judged_and_estimated(self, command, served, run):
        words = ("audit", run, "--seed", "0")
        code, _, err = command(*words, "--reviewer", "ann")
        assert code == 0
        assert "Batch 1: 25 rows were drawn on" in err
        assert "Hidden from reviewers: 'kind'." in err
        judge(run)
        code, out, err = command(*words, "--estimate")
        assert code == 0
        assert out.startswith(headline(load_check(run)))
        assert "of the labels “cat”" in out or "labels “cat” that are wrong" in out
        assert f"Report: {run / 'report.html'}" in err
        found = json.loads(command(*words, "--estimate", "--format", "json", "-q")[1])
        assert found["wrong_share_high"] == load_check(run).wrong_share_interval.high
        assert found["judged"]["labels"] == [int(TRUTH[row]) for row in found["judged"]["rows"]]

    def test_a_fixed_sample_is_reported(self, command, served, run):
        command("audit", run, "--method", "design", "--n", "60", "--seed", "0")
        judge(run)
        code, out, _ = command("audit", run, "--estimate", "-q")
        assert code == 0
        assert out.startswith("A blind audit of 60 rows finds ")
        assert "A blind audit of 60 rows" in (run / "report.html").read_text()

    def test_the_plan_of_the_next_rows(self, command, run):
        code, out, _ = command("audit", run, "--plan", "--about", "dog")
        assert code == 0
        assert "among those that say “dog”" in out
        assert "with model and answers" in out
        code, _, err = command("audit", run, "--plan", "--about", "fox")
        assert code == 2
        assert "--about must be one of 'cat', 'dog'" in err

    def test_the_summary_of_a_review_counts_kept_and_relabeled_rows(self, command, served, run):
        check = load_check(run)
        with open_queue(run, "review") as queue:
            for row in queue.order[:4]:
                queue.decide(uid(), "ann", row, f"={PETS[TRUTH[row]]}", seconds=1.0, note="")
            rows = queue.order[:4]
        n_kept = int((check.given_codes[rows] == TRUTH[rows]).sum())
        _, _, err = command("review", run, "--reviewer", "ann")
        told = [f"{n_kept} kept"] * bool(n_kept) + [f"{4 - n_kept} relabeled"] * (n_kept < 4)
        assert f"judged: {', '.join(told)}." in err
        with DecisionLog(run / LOG_FILE) as log:
            assert len(log.decisions("review")) == 4
