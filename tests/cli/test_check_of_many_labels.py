"""``rankprune check`` of a label column with more than two values."""

import csv
import io
import json

import pytest

from pet_table import PETS, pet_csv
from rankprune import load_check

pytest.importorskip("duckdb")


@pytest.fixture(scope="module")
def pets(tmp_path_factory):
    return pet_csv(tmp_path_factory.mktemp("pets"), n=300)[0]


def check(command, pets, tmp_path, *words):
    return command(
        "check", pets, "--label", "kind", "--id", "row id", "--scorer", "model",
        "-o", tmp_path / "run", *words,
    )  # fmt: skip


def test_the_answer_is_printed_and_saved(command, pets, tmp_path):
    code, out, err = check(command, pets, tmp_path)
    assert code == 0
    assert "  labels that are wrong " in out
    assert "  labels “it's” that are wrong" in out
    assert "should be" in out
    assert f"Report: {tmp_path / 'run' / 'report.html'}" in err
    found = load_check(tmp_path / "run")
    assert str(found).splitlines()[0] == out.splitlines()[0]


def test_the_answer_as_json(command, pets, tmp_path):
    code, out, _ = check(command, pets, tmp_path, "--format", "json")
    result = json.loads(out)
    assert code == 0
    assert result["classes"] == list(PETS)
    assert list(result["error_rates"]) == list(PETS)
    assert result["wrong_share"] == result["noise_matrix"]["wrong_share"]


def test_rows_to_look_at_have_a_suggested_label(command, pets, tmp_path):
    code, out, _ = check(command, pets, tmp_path, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert code == 0
    assert {row["suggested_label"] for row in rows} <= set(PETS)
    assert all(row["label"] != row["suggested_label"] for row in rows)
    assert all(0 <= float(row["suggested_probability"]) <= 1 for row in rows)


def test_flags_for_two_labels_are_refused(command, pets, tmp_path):
    code, _, err = check(command, pets, tmp_path, "--positive", "cat")
    assert code == 2
    assert "--positive must be None for more than two labels; 'kind' has 4, got 'cat'" in err


def test_rare_labels_are_named_by_flag(command, tmp_path):
    path, *_ = pet_csv(tmp_path, n=200)
    path.write_text(path.read_text() + "r9,1,2,red,Cat\r\n")
    code, _, err = check(command, path, tmp_path)
    assert code == 2
    assert "'Cat' (1)" in err
    assert "--rare keep" in err
    assert check(command, path, tmp_path, "--rare", "keep")[0] == 0


def test_a_limit_on_wrong_labels(command, pets, tmp_path):
    code, _, err = check(command, pets, tmp_path, "--fail-over", "1%", "--fail-on", "upper")
    assert code == 1
    assert "more than the 1.0% allowed" in err
