"""``rankprune check`` with one answer per line, and what the other commands do with the run."""

import io
import json
import sys

import pytest

from answered_tables import answered, write, write_answered

pytest.importorskip("duckdb")
pytest.importorskip("jinja2")
pytest.importorskip("skops")
pytest.importorskip("starlette")

ASKED = ("--row", "item", "--annotator", "worker", "--label", "answer", "--scorer", "model")


@pytest.fixture
def tables(tmp_path):
    answers, items, _ = write_answered(tmp_path)
    return answers, items


def test_from_answers_to_a_report_a_review_and_a_model(command, tables, tmp_path):
    from rankprune.review import open_queue

    answers, items = tables
    code, out, err = command("check", answers, *ASKED, "--features", items, "--seconds", "took")
    assert code == 0
    assert "The labels are the consensus of 720 answers by 4 annotators about 240 rows" in out
    labeled, run = tmp_path / "items.labeled.csv", tmp_path / "answers.csv.rankprune"
    assert f"Rows:   {labeled}" in err
    assert labeled.read_text().startswith("item,width,height,answer\n")
    page = (run / "report.html").read_text()
    for part in ("12. The annotators", "Repeated answers", "Rows to ask again", "dan"):
        assert part in page
    record = json.loads((run / "result.json").read_text())["repeated_answers"]
    assert record["by_consensus"]["wrong_share"]["high"] > 0
    assert len(record["annotators"]) == 4

    code, out, _ = command("export", run, "-o", tmp_path / "marked.csv")
    assert code == 0
    assert command("train", run, "-o", tmp_path / "model.skops")[0] == 0
    with open_queue(run, "review") as queue:
        assert queue.order
    code, out, _ = command("report", run)
    assert code == 0
    assert (run / "report.html").read_text() == page


def test_nothing_is_replaced_without_force(command, tables, tmp_path):
    answers, items = tables
    words = ("check", answers, *ASKED, "--features", items)
    assert command(*words, "-q")[0] == 0
    before = (tmp_path / "items.labeled.csv").read_bytes()
    code, _, err = command(*words, "-o", tmp_path / "other")
    assert code == 2
    assert "items.labeled.csv" in err
    assert (tmp_path / "items.labeled.csv").read_bytes() == before
    other = tmp_path / "mine.parquet"
    assert command(*words, "-o", tmp_path / "other", "--labeled", other, "-q")[0] == 0
    assert other.is_file()
    assert command(*words, "--force", "-q")[0] == 0


def test_annotators_who_need_a_second_look_are_named(command, tables, tmp_path):
    answers, items = tables
    lines, _, _ = answered()
    lines += [[f"i{i:03d}", "<b>eve</b>", "yes", 1] for i in range(240)]
    write(answers, ["item", "worker", "answer", "took"], lines)
    code, out, _ = command("check", answers, *ASKED, "--features", items)
    assert code == 0
    assert "1 annotator needs a second look: <b>eve</b>." in out
    page = (tmp_path / "answers.csv.rankprune" / "report.html").read_text()
    assert "<b>eve</b>" not in page
    assert "one label (100% of 240 answers are &#39;yes&#39;" in page


def test_annotators_and_rows_can_be_redacted(command, tables, tmp_path):
    answers, items = tables
    words = ("--features", items, "--redact", "worker", "--redact", "item")
    assert command("check", answers, *ASKED, *words)[0] == 0
    page = (tmp_path / "answers.csv.rankprune" / "report.html").read_text()
    assert "annotator 1" in page
    assert "The rows have no names here" in page
    for name in ("ann<", "bob<", "i003<"):
        assert name not in page


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--row", "item"), "--row needs --annotator and --features too"),
        (("--annotator", "worker", "--features", "items.csv"), "--annotator needs --row too"),
        (("--labeled", "x.csv"), "--labeled only works with --row, --annotator, --features"),
        (("--seconds", "took"), "--seconds only works with"),
        (
            ("--row", "item", "--annotator", "worker", "--features", "items.csv", "--id", "item"),
            "--id does not work with --row",
        ),
        (
            ("--row", "item", "--annotator", "worker", "--features", "items.csv")
            + ("--trusted", "ok"),
            "--trusted does not work with --row",
        ),
        (
            ("--row", "item", "--annotator", "worker", "--features", "items.csv")
            + ("--drop-unlabeled",),
            "--drop-unlabeled does not work with --row",
        ),
        (
            ("--row", "nr", "--annotator", "worker", "--features", "items.csv"),
            "--row must be a column of the table; answers.csv has no column 'nr'",
        ),
        (
            ("--row", "item", "--annotator", "who", "--features", "items.csv"),
            "--annotator must be a column of the table; answers.csv has no column 'who'",
        ),
        (
            ("--row", "item", "--annotator", "worker", "--features", "none.csv"),
            "none.csv",
        ),
        (
            ("--row", "item", "--annotator", "worker", "--features", "items.csv")
            + ("--labeled", "items.csv"),
            "items.csv",
        ),
        (
            ("--row", "item", "--annotator", "worker", "--features", "items.csv")
            + ("--labeled", "items.jsonl"),
            "must end in .csv, .tsv or .parquet",
        ),
    ],
)
def test_options_that_do_not_fit_are_explained(command, tables, monkeypatch, words, message):
    monkeypatch.chdir(tables[0].parent)
    code, _, err = command("check", "answers.csv", "--label", "answer", *words)
    assert code == 2
    assert message in err


def test_more_than_two_answers_are_the_error_of_every_check(command, tables):
    answers, items = tables
    lines = [[*line[:2], ("a", "b", "c")[i % 3], 1] for i, line in enumerate(answered()[0])]
    write(answers, ["item", "worker", "answer", "took"], lines)
    code, _, err = command("check", answers, *ASKED, "--features", items)
    assert code == 2
    assert "--label must have two values; 'answer' has 3" in err


@pytest.mark.parametrize(
    ("features", "labeled"),
    [
        ("items.csv.gz", "items.labeled.csv"),
        ("items.parquet", "items.labeled.parquet"),
        ("items.jsonl", "items.labeled.csv"),
        ("data/items.tsv", "data/items.labeled.tsv"),
        ("items", "items.labeled.csv"),
    ],
)
def test_labeled_rows_lie_beside_the_features(features, labeled):
    from pathlib import Path

    from rankprune.cli._answers import labeled_path

    asked = dict.fromkeys(("labeled", "seconds", "id_", "trusted", "drop_unlabeled"))
    asked |= {"row": "item", "annotator": "worker", "features": features}
    assert labeled_path(asked) == Path(labeled)


def test_answers_may_come_from_standard_input(command, tables, tmp_path, monkeypatch):
    answers, items = tables
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(answers.read_bytes())))
    words = ("--features", items, "-o", tmp_path / "run", "--format", "json")
    code, out, _ = command("check", "-", *ASKED, *words)
    assert code == 0
    assert json.loads(out)["repeated_answers"]["name"] == "stdin"
    assert (tmp_path / "items.labeled.csv").is_file()
