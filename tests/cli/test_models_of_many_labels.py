"""``train``, ``predict`` and ``export`` of a label column with more than two values."""

import csv
import io
import json
import re
import shutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noisy_table import write_csv
from pet_table import COLUMNS, PETS, pet_csv, pet_rows
from rankprune import check_table, load_check
from rankprune.cli._output import rows_text
from rankprune.model import load_model, predict_table

pytest.importorskip("duckdb")
pytest.importorskip("skops")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pets")
    path, *_ = pet_csv(folder, n=400, apart=4.0)
    check = check_table(path, "kind", id="row id", scorer=None)
    assert check.n_suspects > 30
    return check.save(folder / "run")


@pytest.fixture(scope="module")
def new(tmp_path_factory):
    rows, *_ = pet_rows(n=20, seed=5)
    place = tmp_path_factory.mktemp("new") / "new.csv"
    return write_csv(place, [row[:4] for row in rows], COLUMNS[:4])


@pytest.fixture
def model(command, run, tmp_path):
    code, out, err = command("train", run, "-o", tmp_path / "m.skops")
    assert (code, out) == (0, f"{tmp_path / 'm.skops'}\n")
    assert "of 400 rows." in err
    return tmp_path / "m.skops"


def test_predictions_are_the_label_and_a_probability_for_each(command, model, new):
    code, out, _ = command("predict", model, new)
    rows = list(csv.DictReader(io.StringIO(out)))
    assert (code, len(rows)) == (0, 20)
    assert list(rows[0]) == ["row", "label", *(f"p_{name}" for name in PETS)]
    found = predict_table(load_model(model), new)
    for number, (row, probabilities) in enumerate(zip(rows, found.tolist(), strict=True)):
        assert row["row"] == str(number + 1)
        assert [float(row[f"p_{name}"]) for name in PETS] == probabilities
        assert row["label"] == PETS[int(np.argmax(probabilities))]


@pytest.mark.parametrize("form", ["json", "jsonl", "text"])
def test_predictions_come_in_every_form(command, model, new, form):
    code, out, _ = command("predict", model, new, "--format", form)
    assert code == 0
    if form == "text":
        assert out.splitlines()[0].split("\t")[:3] == ["row", "label", "p_cat"]
        return
    rows = json.loads(out) if form == "json" else [json.loads(line) for line in out.splitlines()]
    assert [row["row"] for row in rows] == list(range(1, 21))
    assert sum(rows[0][f"p_{name}"] for name in PETS) == pytest.approx(1)


def test_predictions_are_written_beside_the_table(command, model, new, tmp_path):
    code, out, _ = command("predict", model, new, "-o", tmp_path / "out.csv")
    assert (code, out) == (0, f"{tmp_path / 'out.csv'}\n")
    with (tmp_path / "out.csv").open(newline="") as file:
        names = next(csv.reader(file))
    assert names[4:] == ["rankprune_label", *(f"rankprune_p_{name}" for name in PETS)]


def test_exports_mark_suspects_or_leave_them_out(command, run, tmp_path):
    code, _, err = command("export", run, "-o", tmp_path / "a.csv")
    assert code == 0
    assert "marked in four new columns, one of them with suggested labels." in err
    code, _, err = command("export", run, "-o", tmp_path / "b.csv", "--drop-suspects")
    assert code == 0
    with (tmp_path / "a.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    suspects = [row for row in rows if row["rankprune_suspect"] == "true"]
    assert f"{400 - len(suspects)} of 400 rows kept, {len(suspects)} left out." in err
    assert all(row["rankprune_suggested_label"] in PETS for row in suspects)
    assert all(row["rankprune_suggested_label"] != row["kind"] for row in suspects)


@pytest.fixture
def reviewed(run, tmp_path):
    """A copy of the run in which somebody settled 20 rows, and the labels these now have."""
    from reviewed_classes import judging

    own = tmp_path / "own"
    shutil.copytree(run, own)
    rows = load_check(own).suspect_rows()[:20].tolist()
    settled = {row: PETS[row % 4] for row in rows}
    with judging(own) as judge:
        judge(*(("ann", row, f"={name}") for row, name in settled.items()), ("ann", 399, "unsure"))
    return own, settled


def test_reviewed_labels_are_trained_with(command, reviewed, new, tmp_path):
    run, settled = reviewed
    code, _, err = command("train", run, "-o", tmp_path / "m.skops", "--reviewed")
    assert code == 0, err
    assert "20 labels were settled" in err
    assert "1 row keeps its label: reviewers are unsure." in err
    check = load_check(run)
    n_wrong = sum(check.classes[check.given_codes[row]] != name for row, name in settled.items())
    n_kept = int(re.search(r"Trained on (\d+) of 400 rows", err).group(1))
    assert 400 - n_kept == pytest.approx(check.n_suspects - n_wrong, abs=3)
    assert command("predict", tmp_path / "m.skops", new)[0] == 0


def test_reviewed_labels_are_exported(command, reviewed, tmp_path):
    run, settled = reviewed
    code, _, err = command("export", run, "-o", tmp_path / "a.csv", "--reviewed")
    assert code == 0, err
    with (tmp_path / "a.csv").open(newline="") as file:
        found = [row["kind"] for row in csv.DictReader(file)]
    check = load_check(run)
    expected = [check.classes[code] for code in check.given_codes]
    for row, name in settled.items():
        expected[row] = name
    assert found == expected
    trail = (tmp_path / "a.csv.trail.jsonl").read_text().splitlines()
    assert {json.loads(line)["settled"] for line in trail} <= {*PETS, None}
    words = ("--reviewed", "--drop-suspects")
    code, _, err = command("export", run, "-o", tmp_path / "b.csv", *words)
    assert f"{check.n_suspects - 20} left out." in err


@given(st.lists(st.text(), min_size=1, max_size=4), st.sampled_from(["csv", "text"]))
@settings(max_examples=200, deadline=None)
def test_headers_that_hold_labels_can_be_read_again(labels, form):
    names = ["row", *(f"p_{label}" for label in labels)]
    text = "".join(rows_text(names, [range(len(names))], form))
    delimiter = "," if form == "csv" else "\t"
    header, cells = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    assert header == names
    assert cells == [str(number) for number in range(len(names))]
