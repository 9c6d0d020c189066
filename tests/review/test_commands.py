"""The commands review and audit, and export, train and report with their results."""

import html
import json
import re

import pytest

from rankprune import LabelCheck
from rankprune.review import _serve, open_queue
from rankprune.run._decision_log import DecisionLog
from rankprune.run._directory import LOG_FILE
from rankprune.run._sentences import headline
from rankprune.run._words import points
from reviewed_run import uid


@pytest.fixture
def served(monkeypatch):
    """Stop the server at once; return what it would have served."""
    seen = []
    monkeypatch.setattr(_serve.Server, "run", lambda self: (seen.append(self), self.close()))
    return seen


@pytest.fixture
def table(folder):
    return folder / "people.csv"


def judge(run, table, answers, mode="review"):
    with open_queue(run, mode, table=table) as queue:
        for row in answers:
            queue.decide(uid(), "ann", row, answers[row], seconds=1.0, note="because")


def judge_drawn(run, table, how, n=None):
    """Judge the rows that were drawn last, or the first of them."""
    with DecisionLog(run / LOG_FILE) as log:
        rows = log.last_draw().rows[:n]
    answers = {}
    for place, (row, is_positive, _) in enumerate(rows):
        is_right = how == "as given" or place % 2 == 0
        answers[row] = "positive" if is_positive == is_right else "negative"
    judge(run, table, answers, "audit")


def text_of(page):
    page = re.sub(r"<(style|svg).*?</\1>", "", page, flags=re.S)
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page)))


def test_review_prints_a_link_and_a_summary(command, served, run, table):
    code, out, err = command("review", run, "--table", table, "--reviewer", "ann")
    assert code == 0
    assert out.startswith("http://127.0.0.1:")
    assert "?token=" in out
    assert "0 of " in err
    assert "rows judged." in err
    assert len(served) == 1


def test_a_review_by_several_people_ends_with_what_they_say_together(
    command, served, run, table, judged, folder
):
    judged(*((name, row, "keep") for name in ("ann", "ben", "cyd") for row in range(9)))
    judged(*((name, 9, answer) for name, answer in (("ann", "keep"), ("ben", "flip"))))
    _, _, err = command("review", run, "--table", table, "--reviewer", "ann")
    assert "ann and ben agree on 90.0% of 10 rows that both judged" in err
    assert "Share of correct answers, by the consensus" in err
    words = ("export", run, "--reviewed", "--table", table, "-o")
    _, _, err = command(*words, folder / "corrected.csv")
    assert "ann and ben agree on 90.0%" in err
    assert "1 row keeps its label: reviewers disagree." in err
    assert "1 disagreement is open" in err
    _, _, err = command(*words, folder / "quiet.csv", "-q")
    assert "agree" not in err


def test_the_consensus_of_three_settles_on_request(command, run, table, judged, folder):
    judged(*((name, row, "keep") for name in ("ann", "ben", "cyd") for row in range(40)))
    judged(("ann", 40, "flip"), ("ben", 40, "flip"), ("cyd", 40, "keep"))
    words = ("export", run, "--table", table, "-o")
    _, _, err = command(*words, folder / "plain.csv", "--reviewed")
    assert "1 row keeps its label: reviewers disagree." in err
    code, _, err = command(*words, folder / "settled.csv", "--reviewed", "--consensus")
    assert code == 0
    assert "41 labels were settled; 1 changed." in err
    assert "1 of them was settled by the consensus." in err
    assert "disagreement" not in err
    trail = (folder / "settled.csv.trail.jsonl").read_text().splitlines()
    assert sum(json.loads(line).get("consensus", False) for line in trail) == 3
    code, _, err = command(*words, folder / "no.csv", "--consensus")
    assert code == 2
    assert "--consensus only works with --reviewed." in err


def test_a_review_ends_even_if_reviewers_cannot_be_compared(
    command, served, run, table, judged, monkeypatch
):
    from rankprune.run import _reviewers

    def fail(*_):
        raise ValueError("table must be there.")

    judged(("ann", 0, "keep"), ("ben", 0, "keep"))
    monkeypatch.setattr(_reviewers, "compare_reviewers", fail)
    code, _, err = command("review", run, "--table", table, "--reviewer", "ann")
    assert code == 0
    assert "warning: --table must be there." in err
    assert "Next: " in err


def test_review_takes_a_guideline_an_overlap_and_images(command, served, run, table, tmp_path):
    guideline = tmp_path / "how.txt"
    guideline.write_text("Look twice.")
    words = ("--guideline", guideline, "--overlap", "25%", "--image-root", tmp_path, "--top", "8")
    code, _, _ = command("review", run, "--table", table, *words, "-q")
    assert code == 0
    site = served[0]._app._app.state.site
    assert site.guideline == "Look twice."
    assert len(site.queue.order) == 8
    assert sum(site.queue._needed(row) == 2 for row in site.queue.order) == 2


def test_the_browser_is_opened_on_request(command, served, run, table, monkeypatch):
    import click

    opened = []
    monkeypatch.setattr(click, "launch", opened.append)
    _, out, _ = command("review", run, "--table", table, "--open", "--reviewer", "ann")
    assert opened == [out.strip()]


def test_a_clean_table_can_still_be_reviewed(command, served, tmp_path):
    from rankprune import check_table

    lines = ["size,kind", *(f"{i % 10},{'big' if i % 10 > 4 else 'small'}" for i in range(200))]
    path = tmp_path / "things.csv"
    path.write_text("\n".join(lines))
    run = check_table(path, "kind", pos_label="big", scorer=None).save(tmp_path / "run")
    code, _, err = command("review", run)
    assert code == 0
    assert "0 of 1 row judged." in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--overlap", "120%"), "must be a share such as 10% or 0.1, got '120%'"),
        (("--overlap", "some"), "must be a share"),
        (("--reviewer", " "), "--reviewer must be printable names"),
        (("--image-root", "none"), "--image-root must be a folder"),
        (("--guideline", "none.txt"), "must be a text file; none.txt does not exist. Check its"),
        (("--guideline", "/dev/zero"), "at most 100,000 characters, but /dev/zero has more."),
        (("--port", "99999"), "--port"),
    ],
)
def test_mistakes_are_one_line_and_serve_nothing(command, served, run, table, words, message):
    code, out, err = command("review", run, "--table", table, *words)
    assert code == 2
    assert out == ""
    assert message in err
    assert "Traceback" not in err
    assert served == []


def test_a_guideline_in_another_encoding_is_named(command, served, run, table, tmp_path):
    guideline = tmp_path / "how.txt"
    guideline.write_bytes("Zweimal prüfen".encode("latin-1"))
    code, _, err = command("review", run, "--table", table, "--guideline", guideline)
    assert code == 2
    assert f"--guideline must be UTF-8 text; byte 10 of {guideline} is not valid UTF-8" in err


def test_touching_the_table_does_not_end_a_review(command, run, table, monkeypatch):
    def touch(self):
        table.write_text(table.read_text() + "\n")
        self.close()

    monkeypatch.setattr(_serve.Server, "run", touch)
    code, _, err = command("review", run, "--table", table)
    assert code == 0
    assert "rows judged" in err


def test_a_changed_table_is_not_reviewed(command, served, run, table):
    table.write_text(table.read_text().replace("red", "rot", 1))
    code, _, err = command("review", run, "--table", table)
    assert code == 2
    assert "not the table that was checked" in err


def test_a_folder_that_is_not_a_run_is_not_reviewed(command, served, tmp_path):
    code, _, err = command("review", tmp_path)
    assert code == 2
    assert "RUN must be a run directory" in err


def test_export_reviewed_writes_labels_and_the_trail(command, run, table, tmp_path):
    judge(run, table, {0: "flip", 1: "keep", 2: "unsure"})
    out_file = tmp_path / "out.csv"
    code, out, err = command("export", run, "--table", table, "--reviewed", "-o", out_file)
    assert code == 0
    assert out == f"{out_file}\n"
    assert "2 labels were settled; 1 changed." in err
    assert "1 row keeps its label: reviewers are unsure." in err
    assert "300 of 300 rows kept, 0 left out." in err
    before, after = table.read_text().splitlines(), out_file.read_text().splitlines()
    assert [i for i in range(301) if before[i] != after[i]] == [1]
    lines = (tmp_path / "out.csv.trail.jsonl").read_text().splitlines()
    trail = [json.loads(line) for line in lines]
    assert [entry["answer"] for entry in trail] == ["flip", "keep", "unsure"]
    assert trail[0]["note"] == "because"
    code, _, err = command("export", run, "--table", table, "--reviewed", "-o", tmp_path / "b.csv")
    assert code == 0


def test_export_refuses_conflicting_options_and_missing_reviews(command, run, table, tmp_path):
    words = ("export", run, "--table", table, "-o", tmp_path / "out.csv")
    code, _, err = command(*words, "--reviewed")
    assert code == 2
    assert "no row has been reviewed yet" in err
    judge(run, table, {0: "flip"})
    assert command(*words, "--reviewed", "--flag")[0] == 2
    (tmp_path / "out.csv.trail.jsonl").write_text("mine")
    code, _, err = command(*words, "--reviewed")
    assert code == 2
    assert "out.csv.trail.jsonl already exists" in err
    assert not (tmp_path / "out.csv").exists()
    assert command(*words, "--reviewed", "--force")[0] == 0


def test_reviews_in_separate_files_are_merged(command, run, table, folder, tmp_path):
    import shutil

    other = tmp_path / "theirs"
    shutil.copytree(run, other)
    judge(run, table, {0: "flip"})
    judge(other, table, {1: "flip"})
    words = ("export", run, "--table", table, "--force", "-o", tmp_path / "out.csv")
    code, _, err = command(*words, "--merge", other)
    assert code == 0
    assert f"Decisions from {other}: 1 new, 0 already known." in err
    assert "2 labels were settled; 2 changed." in err
    code, _, err = command(*words, "--merge", other / LOG_FILE)
    assert f"Decisions from {other / LOG_FILE}: 0 new, 1 already known." in err
    assert command(*words, "--merge", tmp_path / "none")[0] == 2


def test_reviews_of_another_table_are_not_merged(command, run, table, folder, tmp_path):
    from rankprune import check_table

    judge(run, table, {0: "flip", 1: "flip"})
    other = folder / "other.csv"
    other.write_text(table.read_text().replace("text", "TEXT").replace("<script>", "x"))
    theirs = check_table(
        other, "label", scorer=None, noise_estimator="confident-counts", drop=["story"]
    ).save(tmp_path / "theirs")
    judge(theirs, other, {0: "keep", 1: "keep"})
    words = ("export", run, "--table", table, "--force", "-o", tmp_path / "out.csv")
    code, _, err = command(*words, "--merge", theirs)
    assert code == 0
    assert "2 left out because their rows differ in this table" in err
    assert "2 labels were settled; 2 changed." in err


def test_train_reviewed(command, run, table, tmp_path):
    judge(run, table, {0: "flip", 1: "keep"})
    code, _, err = command(
        "train", run, "--table", table, "--reviewed", "-o", tmp_path / "m.skops", "--jobs", "1"
    )
    assert code == 0
    assert "2 labels were settled; 1 changed." in err
    assert "of 300 rows." in err
    code, out, _ = command("predict", tmp_path / "m.skops", table)
    assert code == 0
    assert len(out.splitlines()) == 301


class TestAudit:
    def test_drawing_judging_and_estimating(self, command, served, run, table):
        code, out, err = command(
            *("audit", run, "--table", table, "--method", "design", "--n", "40"),
            *("--seed", "0", "--reviewer", "ann"),
        )
        assert code == 0
        assert "40 rows were drawn on" in err
        assert "the size of this sample is fixed" in err
        assert "Hidden from reviewers: 'label'." in err
        assert "0 of 40 rows judged." in err
        assert out.startswith("http://")
        judge_drawn(run, table, "as given")
        code, out, err = command("audit", run, "--table", table, "--estimate")
        assert code == 0
        assert out.startswith("A blind audit of 40 rows finds 0.0% of your labels wrong")
        assert "before" in out
        assert "after" in out
        assert "0 of 40 judged labels are wrong. The ranges come from the answers alone" in out
        assert "wrong labels missed" in out
        assert "audited rows, weighted to represent all rows, the plain model is wrong about" in out
        assert f"Report: {run / 'report.html'}" in err
        assert "A blind audit of 40 rows" in (run / "report.html").read_text()
        code, out, _ = command(
            "audit", run, "--table", table, "--estimate", "--format", "json", "-q"
        )
        found = json.loads(out)
        assert found["estimate"]["wrong_share"]["estimate"] == found["wrong_share"] == 0
        assert found["estimate"]["n_drawn"] == 40
        assert found["before_after"]["n_rows"] == 40
        # The report keeps the audit when it is rendered again.
        assert command("report", run)[0] == 0
        assert "A blind audit of 40 rows" in (run / "report.html").read_text()

    def test_a_batch_ends_with_the_range_before_and_after(self, command, served, run, table):
        words = ("audit", run, "--table", table, "--seed", "0")
        code, _, err = command(*words)
        assert code == 0
        assert "Batch 1: 25 rows were drawn on" in err
        assert "0 of 25 rows judged." in err
        assert "Next: " in err
        judge_drawn(run, table, "every second one wrong")
        before = LabelCheck.load(run)
        code, out, err = command(*words, "--estimate")
        assert code == 0
        after = LabelCheck.load(run)
        assert after.judged.n_sure == 25
        assert out.startswith(headline(after))
        assert "(25 rows judged)." in out
        total = before.wrong_share_interval
        assert f"{total.low:.1%} to {total.high:.1%}  {after.wrong_share_interval}" in out
        half = after.planned_audit((25,))[25]["model"] / 2
        assert f"Judge 25 rows to narrow this to about ±{points(half)}: " in err
        page = text_of((run / "report.html").read_text())
        assert headline(after) in page
        assert "25 judged by people" in page
        assert f"{total.low:.1%} to {total.high:.1%}" in page
        found = json.loads(command(*words, "--estimate", "--format", "json", "-q")[1])
        assert (found["wrong_share_low"], found["wrong_share_high"]) == (
            after.wrong_share_interval.low,
            after.wrong_share_interval.high,
        )
        code, _, err = command(*words)
        assert "Batch 2: 25 rows were drawn on" in err

    def test_a_batch_that_is_judged_in_part_counts(self, command, served, run, table):
        words = ("audit", run, "--table", table, "--seed", "0")
        command(*words)
        judge_drawn(run, table, "as given", 10)
        code, out, err = command(*words)
        assert code == 0
        assert "10 of 25 rows judged." in err
        assert out.splitlines()[1:3] == [
            "The blind audit is not finished: 15 of its 25 rows are still to be judged.",
            headline(LabelCheck.load(run)),
        ]
        assert "Next: " in err

    def test_rows_about_one_label(self, command, served, run, table):
        words = ("audit", run, "--table", table, "--about")
        code, _, err = command(*words, "yes")
        assert "25 rows were drawn on" in err
        assert "about labels “yes”." in err
        assert "--about yes" in err
        code, _, err = command(*words, "maybe", "--force")
        assert (code, "--about must be 'yes' or 'no', got 'maybe'" in err) == (2, True)

    def test_another_size_needs_force(self, command, served, run, table):
        words = ("audit", run, "--table", table, "--seed", "0", "--method", "design")
        assert command(*words, "--n", "30")[0] == 0
        code, _, err = command(*words, "--n", "50")
        assert code == 2
        assert "--n must be 30" in err
        code, _, err = command(*words)
        assert code == 0
        assert "30 rows were drawn" in err
        assert command(*words, "--n", "50", "--force")[0] == 0

    def test_a_folder_that_is_not_a_run_is_left_alone(self, command, served, tmp_path):
        for folder in (tmp_path, tmp_path / "none"):
            code, _, err = command("audit", folder)
            assert code == 2
            assert "RUN must be a run directory" in err
        assert list(tmp_path.iterdir()) == []

    def test_nothing_is_drawn_if_nothing_can_be_judged(self, command, served, run, table):
        table.unlink()
        code, _, err = command("audit", run, "--table", table, "--n", "30")
        assert code == 2
        assert "does not exist" in err
        assert not (run / LOG_FILE).exists()

    def test_more_rows_than_there_are_cannot_be_drawn(self, command, served, run, table):
        code, _, err = command("audit", run, "--table", table, "--n", "301")
        assert code == 2
        assert "--n must be at most the number of rows that nobody has judged, 300" in err

    def test_the_plan_shows_the_precision_of_each_size(self, command, run):
        code, out, _ = command("audit", run, "--plan")
        assert code == 0
        assert "rows to judge                       25        50       100       200" in out
        assert "with model and answers" in out
        assert "with answers alone" in out
        assert not (run / LOG_FILE).exists()
        widths = json.loads(command("audit", run, "--plan", "--format", "json")[1])
        assert list(widths) == ["25", "50", "100", "200"]
        words = ("audit", run, "--plan", "--format", "json", "--n", "30", "--about", "yes")
        assert list(json.loads(command(*words)[1])) == ["25", "30", "50", "100", "200"]
        assert "among those that say “yes”" in command(*words[:3], *words[-2:])[1]
        code, _, err = command("audit", run, "--plan", "--n", "301")
        assert (code, "--n must be at most the number of rows that nobody" in err) == (2, True)

    def test_a_table_of_few_rows_has_a_plan_too(self, command, tmp_path):
        from rankprune import check_table

        lines = ["size,kind", *(f"{i % 10},{'big' if i % 10 > 4 else 'small'}" for i in range(20))]
        path = tmp_path / "things.csv"
        path.write_text("\n".join(lines))
        few = check_table(path, "kind", pos_label="big", scorer=None).save(tmp_path / "run")
        assert list(json.loads(command("audit", few, "--plan", "--format", "json")[1])) == ["20"]

    def test_larger_samples_are_more_precise(self, command, run):
        widths = json.loads(command("audit", run, "--plan", "--format", "json")[1])
        for method in ("model", "design"):
            assert widths["50"][method] > widths["200"][method] > 0

    def test_plan_and_estimate_exclude_each_other(self, command, run):
        code, _, err = command("audit", run, "--plan", "--estimate")
        assert code == 2
        assert "cannot be combined" in err

    def test_estimating_before_drawing_names_the_next_step(self, command, run):
        code, _, err = command("audit", run, "--estimate")
        assert code == 2
        assert "No sample has been drawn for this run" in err


def test_repeating_a_check_keeps_the_decisions(command, run, table):
    judge(run, table, {0: "flip"})
    words = ("check", table, "--label", "label", "--id", "row id", "-o", run, "--scorer", "model")
    assert command(*words)[0] == 2
    assert command(*words, "--force", "--drop", "story", "-q")[0] == 0
    with DecisionLog(run / LOG_FILE) as log:
        assert len(log.decisions("review")) == 1
    assert LabelCheck.load(run).n_rows == 300
