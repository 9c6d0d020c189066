"""What earlier releases stored can still be opened, reviewed, exported and replaced."""

import json
import shutil
from pathlib import Path

import pytest
import sklearn

from rankprune import LabelCheck
from rankprune.exceptions import TableError

pytest.importorskip("duckdb")
pytest.importorskip("starlette")

RELEASES = sorted((Path(__file__).parents[1] / "releases").iterdir())


@pytest.fixture(params=RELEASES, ids=lambda path: path.name)
def release(request, tmp_path):
    shutil.copytree(request.param, tmp_path / "release")
    return tmp_path / "release"


def test_its_run_can_be_read(release):
    check = LabelCheck.load(release / "run")
    assert (check.n_rows, check.n_suspects, check.source.name) == (120, 12, "t.csv")
    assert len(check.suspect_rows()) == 12
    total = check.wrong_share_interval
    assert total.low <= check.wrong_share <= total.high
    assert "12 rows to look at, most suspicious first." in str(check)


def test_its_result_has_the_range_at_the_top_once_it_is_written_again(command, release):
    code, _, err = command("report", release / "run")
    assert code == 0, err
    result = json.loads((release / "run" / "result.json").read_bytes())
    total = LabelCheck.load(release / "run").wrong_share_interval
    assert (result["wrong_share_low"], result["wrong_share_high"]) == (total.low, total.high)


def test_every_command_takes_its_run(command, release):
    run, table = release / "run", ("--table", release / "t.csv")
    for words in (
        ("export", run, "-o", release / "marked.csv", *table),
        ("export", run, "-o", release / "fixed.csv", "--reviewed", *table),
        ("audit", run, "--plan"),
        ("audit", run, "--estimate", *table),
        ("report", run),
        ("train", run, "-o", release / "new.skops", *table),
    ):
        code, _, err = command(*words)
        assert code == 0, err
    assert (release / "fixed.csv.trail.jsonl").read_text().count('"stands": true') == 6
    result = json.loads((run / "result.json").read_bytes())
    kept = ["unjudged.json", "unjudged.parquet"]
    assert sorted(result["files"]) == ["audit.json", "report.html", "scores.parquet", *kept]
    assert "A blind audit of 20 rows" in (run / "report.html").read_text()


def test_its_run_can_be_replaced_and_the_decisions_stay(command, release):
    words = ("--label", "label", "--probabilities", "p", "-o", release / "run", "--force")
    code, _, err = command("check", release / "t.csv", *words)
    assert code == 0, err
    code, _, err = command("export", release / "run", "-o", release / "o.csv", "--reviewed")
    assert code == 0, err
    assert len((release / "o.csv.trail.jsonl").read_text().splitlines()) == 6


def test_scores_of_another_run_are_noticed(release):
    (release / "run" / "scores.parquet").write_bytes(b"x")
    with pytest.raises(TableError, match="does not belong"):
        LabelCheck.load(release / "run")


def test_its_model_can_be_used(command, release):
    versions = json.loads((release / "versions.json").read_text())
    if versions["scikit-learn"].split(".")[:2] != sklearn.__version__.split(".")[:2]:
        pytest.skip("models are for the scikit-learn that trained them")
    code, out, err = command("predict", release / "model.skops", release / "t.csv")
    assert code == 0, err
    assert len(out.splitlines()) == 121
