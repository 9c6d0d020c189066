"""Outputs that are devices, formulas in cells, and model files that are damaged or too large."""

import csv
import io
import os
import zipfile

import numpy as np
import pytest

from noisy_table import NAMES, noisy_rows, write_csv

duckdb = pytest.importorskip("duckdb")
pytest.importorskip("skops")

QUICK = ("--scorer", "model")


@pytest.fixture
def checked(command, people, tmp_path):
    assert command("check", people, "--label", "label", *QUICK, "-q")[0] == 0
    return tmp_path / "people.csv.rankprune"


@pytest.mark.skipif(os.name != "posix", reason="pipes of other systems differ")
@pytest.mark.parametrize(
    "words",
    [
        ("export", "{run}", "-o", "{pipe}.csv", "--force"),
        ("train", "{run}", "-o", "{pipe}.csv", "--force"),
        ("report", "{run}", "-o", "{pipe}.csv", "--force"),
        ("compare", "{table}", "--label", "label", "-o", "{pipe}.csv", "--force"),
    ],
)
def test_a_pipe_is_never_replaced(command, checked, people, tmp_path, words):
    os.mkfifo(tmp_path / "pipe.csv")
    places = {"run": checked, "pipe": tmp_path / "pipe", "table": people}
    code, _, err = command(*(word.format(**places) for word in words))
    assert code == 2
    assert "never replaced. Choose a regular file." in err
    assert (tmp_path / "pipe.csv").is_fifo()


def test_formulas_are_disarmed_wherever_a_spreadsheet_may_open_them(command, tmp_path):
    rows, *_ = noisy_rows(150)
    names = [*NAMES, "name"]
    rows = [[*row, f"\u200b=cmd|{i}"] for i, row in enumerate(rows)]
    path = write_csv(tmp_path / "t.csv", rows, names)
    words = ("check", path, "--label", "label", "--id", "name", *QUICK, "-q")
    code, out, _ = command(*words, "--format", "csv")
    assert code == 0
    assert "\u200b=cmd" in out
    assert ",\u200b=cmd" not in out
    run = tmp_path / "t.csv.rankprune"
    assert command("export", run, "-q", "--spreadsheet-safe", "-o", tmp_path / "o.csv")[0] == 0
    written = (tmp_path / "o.csv").read_text(encoding="utf-8")
    assert written.count("'\u200b=cmd") == 150
    code, out, _ = command(*words, "--force", "--format", "jsonl")
    assert '"\u200b=cmd' in out


def records(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_predictions_beside_a_table_are_disarmed_on_demand(command, tmp_path):
    rows, *_ = noisy_rows(150)
    label = NAMES.index("label")
    rows = [
        [*row[:label], "=yes" if row[label] == "yes" else "no", *row[label + 1 :], f"@sum{i}"]
        for i, row in enumerate(rows)
    ]
    path = write_csv(tmp_path / "t.csv", rows, [*NAMES, "name"])
    run, model = tmp_path / "t.csv.rankprune", tmp_path / "m.skops"
    words = ("--label", "label", "--positive", "=yes", "--drop", "name", *QUICK, "-q")
    assert command("check", path, *words)[0] == 0
    assert command("train", run, "-o", model, "-q")[0] == 0
    for options in ((), ("--spreadsheet-safe",)):
        output = tmp_path / f"p{len(options)}.csv"
        assert command("predict", model, path, "-q", "-o", output, *options)[0] == 0
        cells = records(output)
        mark = "'" * len(options)
        assert [row["name"] for row in cells] == [f"{mark}@sum{i}" for i in range(150)]
        assert {row["rankprune_label"] for row in cells} == {f"{mark}=yes", "no"}
        assert {row["label"] for row in cells} == {f"{mark}=yes", "no"}


def test_formulas_in_binary_columns_are_disarmed_in_text_files_only(command, tmp_path):
    path = tmp_path / "t.parquet"
    with duckdb.connect() as connection:
        connection.execute(
            "COPY (SELECT i % 2 AS label, CASE WHEN i % 10 < 2 THEN 0.9 - 0.8 * (i % 2) "
            "ELSE 0.1 + 0.8 * (i % 2) END AS p, CAST('=1+' || i AS BLOB) AS raw "
            f"FROM range(120) r(i)) TO '{path}' (FORMAT parquet)"
        )
    words = ("--label", "label", "--probabilities", "p", "-q")
    assert command("check", path, *words)[0] == 0
    for ending in ("csv", "parquet"):
        words = ("-q", "--spreadsheet-safe", "-o", tmp_path / f"o.{ending}")
        assert command("export", tmp_path / "t.parquet.rankprune", *words)[0] == 0
    assert [row["raw"] for row in records(tmp_path / "o.csv")] == [f"'=1+{i}" for i in range(120)]
    found = duckdb.sql(f"SELECT raw FROM '{tmp_path / 'o.parquet'}'").fetchall()
    assert found == [(f"=1+{i}".encode(),) for i in range(120)]


@pytest.mark.parametrize("cell", ["\r=cmd", "a\r=cmd", "a\n=cmd", 'a"\r,=cmd'])
def test_no_character_of_a_cell_begins_another_row_or_cell(cell):
    from rankprune.cli._output import rows_text

    text = "".join(rows_text(("id", "p"), [(cell, 0.5), ("b", None)], "csv"))
    *_, first, second = csv.reader(io.StringIO(text, newline=""))
    assert (first[0].removeprefix("'"), first[1], second) == (cell, "0.5", ["b", ""])


def test_a_model_file_that_would_unpack_to_gigabytes_is_refused_before(command, people, tmp_path):
    bomb = tmp_path / "bomb.skops"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", b" " * (1 << 27))
    code, _, err = command("predict", bomb, people)
    assert (code, "would unpack to 128 MiB" in err) == (2, True)


def rewritten(path, change):
    """Write a model again after a change to its content."""
    import skops.io

    content = skops.io.load(path, trusted=skops.io.get_untrusted_types(file=path))
    change(content)
    skops.io.dump(content, path)


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.pop("classifier"),
        lambda content: content.pop("numbers"),
        lambda content: content.update(classifier=None),
        lambda content: content.update(classifier="model"),
        lambda content: content.update(positive=7),
        lambda content: content.update(n_embedded=None),
        lambda content: content.update(numbers=[{"column": 3}]),
    ],
)
def test_a_damaged_model_is_refused_with_a_reason(command, checked, people, tmp_path, change):
    model = tmp_path / "m.skops"
    assert command("train", checked, "-q", "-o", model)[0] == 0
    rewritten(model, change)
    code, out, err = command("predict", model, people)
    assert (code, out) == (2, "")
    assert "is damaged" in err
    assert "Train the model again." in err


def test_a_model_that_predicts_no_numbers_is_refused(command, checked, people, tmp_path):
    model = tmp_path / "m.skops"
    assert command("train", checked, "-q", "-o", model)[0] == 0

    def spoil(content):
        content["classifier"].coef_[:] = np.nan

    rewritten(model, spoil)
    code, out, err = command("predict", model, people)
    assert (code, out) == (2, "")
    assert "values that are not probabilities" in err or "NaN" in err
