"""Paths mean themselves: each name stands beside a decoy that a pattern would match."""

import json
import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from noisy_table import noisy_csv

pytest.importorskip("duckdb")
pytest.importorskip("skops")
pytestmark = pytest.mark.skipif(os.name != "posix", reason="other systems forbid such names")

QUICK = ("--scorer", "model")
FEW = ("--method", "rank-pruning")
# A name, and one that it matches as a pattern.
NAMES = [
    ("r[1]", "r1"),
    ("r*", "r-long"),
    ("r?", "rx"),
    ("[a-z]", "b"),
    ("r\\[1]", "r[1]"),
    ("~", "home"),
    ("~root", "root"),
    ("it's", "its"),
    ("a%20b", "a b"),
    ("-q", "q"),
    ("a;b", "a"),
    (" a ", "a"),
    ("a\nb", "a"),
    ("year=2020", "year"),
    ("{a,b}", "a"),
    ("**", "deep"),
]


def rows_of(path):
    return path.read_text().splitlines()


@pytest.fixture
def two_runs(command, tmp_path, monkeypatch):
    """A run in a folder of this name, and another run of another table in one of the other."""

    def make(name, decoy):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        for folder, seed in ((name, 0), (decoy, 1)):
            (tmp_path / folder).mkdir(exist_ok=True)
            noisy_csv(tmp_path / folder, n=120 if seed else 150, seed=seed)
            words = ("check", f"./{folder}/people.csv", "--label", "label", *QUICK, "-q")
            assert command(*words, "-o", f"./{folder}/run")[0] == 0
        return tmp_path / name, tmp_path / decoy

    return make


@pytest.mark.parametrize(("name", "decoy"), NAMES)
def test_a_run_reads_and_exports_its_own_rows(command, two_runs, name, decoy):
    mine, other = two_runs(name, decoy)
    before = sorted(path.name for path in other.rglob("*"))
    run = f"./{name}/run"
    words = ("export", run, "--drop-suspects", "-q", "-o", f"./{name}/kept.csv")
    code, _, err = command(*words)
    assert (code, err) == (0, "")
    from rankprune import LabelCheck

    check = LabelCheck.load(mine / "run")
    assert len(check.scores.rows) == 150
    given = rows_of(mine / "people.csv")
    dropped = set(check.suspect_rows().tolist())
    kept = [line for i, line in enumerate(given[1:]) if i not in dropped]
    assert rows_of(mine / "kept.csv") == [given[0], *kept]
    assert sorted(path.name for path in other.rglob("*")) == before


def test_a_model_is_trained_on_and_predicts_the_rows_of_its_own_path(command, two_runs):
    two_runs("r[1]", "r1")
    assert command("train", "r[1]/run", "-q", "-o", "r[1]/m.skops")[0] == 0
    code, out, _ = command("predict", "r[1]/m.skops", "r[1]/people.csv", "-q")
    assert (code, len(out.splitlines())) == (0, 151)


@pytest.mark.parametrize(("name", "decoy"), NAMES)
def test_every_other_command_reads_and_writes_its_own_paths(command, two_runs, name, decoy):
    pytest.importorskip("starlette")
    from rankprune.review._queue import Filter
    from rankprune.review._serve import open_queue

    mine, other = two_runs(name, decoy)
    run, table = f"./{name}/run", f"./{name}/people.csv"
    decoys = {path: path.read_bytes() for path in other.rglob("*") if path.is_file()}
    np.save(mine / "e.npy", np.random.default_rng(0).normal(size=(150, 2)))
    np.save(other / "e.npy", np.zeros((120, 2)))
    decoys[other / "e.npy"] = (other / "e.npy").read_bytes()
    for words in (
        ("train", run, "-o", f"./{name}/m.skops"),
        ("predict", f"./{name}/m.skops", table, "-o", f"./{name}/p.csv"),
        ("predict", f"./{name}/m.skops", table, "-o", f"./{name}/p.parquet"),
        ("report", run),
        ("report", run, "-o", f"./{name}/r.html"),
        ("audit", run, "--plan"),
        ("export", run, "--table", table, "-o", f"./{name}/o.parquet"),
        ("check", table, "--label", "label", *QUICK, "--embeddings", f"./{name}/e.npy", "--force"),
        ("compare", table, "--label", "label", *FEW, "-o", f"./{name}/c.csv", "--format", "csv"),
    ):
        code, _, err = command(*words, "-q")
        assert (code, err) == (0, ""), words
    assert len(rows_of(mine / "p.csv")) == 151
    assert json.loads((mine / "run" / "result.json").read_text())["source"]["n_rows"] == 150
    with open_queue(Path(run), "review") as queue:
        assert queue.next_cards("ann", Filter(), (), 1)
    made = {"m.skops", "p.csv", "p.parquet", "r.html", "o.parquet", "c.csv", "people.csv.rankprune"}
    assert made <= set(os.listdir(mine))
    assert {path: path.read_bytes() for path in other.rglob("*") if path.is_file()} == decoys


@pytest.mark.parametrize(("name", "decoy"), NAMES)
def test_an_output_is_written_where_it_was_asked_for(command, tmp_path, monkeypatch, name, decoy):
    table, *_ = noisy_csv(tmp_path, n=120)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    assert command("check", table, "--label", "label", *QUICK, "-q", "-o", "run")[0] == 0
    (tmp_path / f"{decoy}.parquet").write_text("decoy")
    for ending in ("csv", "parquet"):
        output = tmp_path / f"{name}.{ending}"
        code, _, err = command("export", "run", "-q", f"--output={name}.{ending}")
        assert (code, err) == (0, "")
        assert output.stat().st_size > 1000
    assert (tmp_path / f"{decoy}.parquet").read_text() == "decoy"
    assert list((tmp_path / "home").iterdir()) == []


def test_a_temporary_folder_may_have_any_name(command, tmp_path, monkeypatch):
    import tempfile

    table, *_ = noisy_csv(tmp_path, n=120)
    for name in ("t[1]", "job=12", "a*b"):
        (tmp_path / name).mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / name))
        code, _, err = command("check", table, "--label", "label", *QUICK, "-q", "--force")
        assert (code, err) == (0, "")


def test_scores_that_change_after_the_run_was_opened_are_not_read(command, tmp_path):
    from rankprune import LabelCheck
    from rankprune.exceptions import TableError

    table, *_ = noisy_csv(tmp_path, n=120)
    other, *_ = noisy_csv(tmp_path, "other.csv", n=150, seed=1)
    for path in (table, other):
        assert command("check", path, "--label", "label", *QUICK, "-q")[0] == 0
    check = LabelCheck.load(tmp_path / "people.csv.rankprune")
    shutil.copyfile(
        tmp_path / "other.csv.rankprune" / "scores.parquet",
        tmp_path / "people.csv.rankprune" / "scores.parquet",
    )
    with pytest.raises(TableError, match="does not belong to the result"):
        _ = check.scores.rows


BAD = os.fsdecode(b"bad\xff")


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS refuses such names itself")
@pytest.mark.parametrize(
    "words",
    [
        ("check", "{bad}.csv", "--label", "label"),
        ("check", "people.csv", "--label", "label", "-o", "{bad}"),
        ("check", "people.csv", "--label", "label", "--embeddings", "{bad}.npy"),
        ("compare", "{bad}.csv", "--label", "label"),
        ("compare", "people.csv", "--label", "label", "-o", "{bad}.csv"),
        ("report", "{bad}"),
        ("report", "run", "-o", "{bad}.html"),
        ("export", "{bad}", "-o", "out.csv"),
        ("export", "run", "-o", "{bad}.csv"),
        ("export", "run", "-o", "{bad}.parquet"),
        ("export", "run", "-o", "out.csv", "--table", "{bad}.csv"),
        ("export", "run", "-o", "out.csv", "--merge", "{bad}"),
        ("train", "run", "-o", "{bad}.skops"),
        ("train", "run", "-o", "m.skops", "--table", "{bad}.csv"),
        ("train", "run", "-o", "m.skops", "--embeddings", "{bad}.npy"),
        ("predict", "{bad}.skops", "people.csv"),
        ("predict", "m.skops", "{bad}.csv"),
        ("predict", "m.skops", "people.csv", "-o", "{bad}.csv"),
        ("review", "{bad}"),
        ("audit", "{bad}"),
        ("demo", "-o", "{bad}"),
    ],
)
def test_a_name_that_is_not_utf_8_is_refused_by_name(command, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    for name in ("people.csv", f"{BAD}.csv", f"{BAD}.npy", f"{BAD}.skops", "m.skops"):
        (tmp_path / name).write_text("a,label\n1,no\n2,yes\n")
    (tmp_path / BAD).mkdir()
    before = sorted(os.listdir(tmp_path))
    code, out, err = command(*(word.format(bad=BAD) for word in words))
    assert (code, out) == (2, "")
    assert "must be valid UTF-8" in err
    assert f"{tmp_path}/bad\\xff" in err
    assert "Rename it." in err
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS refuses such names itself")
def test_the_library_refuses_such_names_too(tmp_path):
    from rankprune import check_table
    from rankprune.storage._sql import sql_source, sql_target
    from rankprune.table._embeddings import read_embeddings

    place = tmp_path / BAD / "t.csv"
    place.parent.mkdir()
    noisy_csv(place.parent, "t.csv", n=120)
    for call in (
        lambda: check_table(place, "label"),
        lambda: read_embeddings(place, 120),
        lambda: sql_source(place),
        lambda: sql_target(place),
    ):
        with pytest.raises(ValueError, match=r"valid UTF-8.*bad\\xff/t\.csv\. Rename it"):
            call()


def test_standard_input_is_read_from_any_folder(command, tmp_path, monkeypatch):
    (tmp_path / BAD).mkdir()
    monkeypatch.chdir(tmp_path / BAD)
    monkeypatch.setattr(sys, "stdin", None)
    code, _, err = command("check", "-", "--label", "label", "-o", tmp_path / "run")
    assert (code, "Standard input is closed" in err) == (2, True)
