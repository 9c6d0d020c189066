"""Result files: written in whole units, resumed after any interruption."""

import json

import pytest

from rankprune.experiments.paper._records import (
    COLUMNS,
    Key,
    Record,
    Results,
    Unit,
    note_run,
    refuse_other_size,
)

KEY = Key("mnist", "logreg", "f1", "1", 0.5, 0.25, "rp_estimated", 0)
OTHER = KEY._replace(metric="error")


def one(key, value):
    return Record(key, value, 60_000, "table:mnist_cifar_logreg_f1")


def test_written_figures_are_read_back(tmp_path):
    path = tmp_path / "deep" / "mnist.csv"
    results = Results(path)
    assert KEY not in results
    results.append([one(KEY, 0.875), one(OTHER, 1 / 3)])
    assert KEY in results
    again = Results(path)
    assert again.records[KEY] == one(KEY, 0.875)
    assert again.records[OTHER].value == pytest.approx(1 / 3, abs=1e-8)
    assert path.read_text().splitlines()[0] == ",".join(COLUMNS)


def test_a_torn_last_line_is_removed_and_measured_again(tmp_path):
    path = tmp_path / "mnist.csv"
    Results(path).append([one(KEY, 0.5), one(OTHER, 0.1)])
    whole = path.read_bytes()
    path.write_bytes(whole[:-7])
    results = Results(path)
    assert list(results.records) == [KEY]
    # Reading changes nothing: another process may still be writing the line.
    assert path.read_bytes() == whole[:-7]
    unit = Unit("digit 1", [KEY, OTHER], list)
    assert results.missing([unit]) == [unit]
    results.append([one(KEY, 0.5), one(OTHER, 0.1)])
    assert path.read_bytes() == whole
    assert Results(path).missing([unit]) == []


@pytest.mark.parametrize("n_bytes", [0, 5])
def test_a_torn_first_line_is_written_again(tmp_path, n_bytes):
    path = tmp_path / "mnist.csv"
    Results(path).append([one(KEY, 0.5)])
    whole = path.read_bytes()
    path.write_bytes(whole[:n_bytes])
    Results(path).append([one(KEY, 0.5)])
    assert path.read_bytes() == whole


def test_a_figure_is_written_once(tmp_path):
    path = tmp_path / "mnist.csv"
    Results(path).append([one(KEY, 0.5)])
    Results(path).append([one(KEY, 0.75), one(OTHER, 0.1)])
    assert Results(path).records == {KEY: one(KEY, 0.5), OTHER: one(OTHER, 0.1)}


def test_a_file_with_other_columns_is_refused_and_left_unchanged(tmp_path):
    path = tmp_path / "mnist.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(
        ValueError, match=r"mnist\.csv must have the columns .*'a,b'.*results directory"
    ):
        Results(path)
    assert path.read_text() == "a,b\n1,2\n"


def test_the_manifest_lists_every_run(tmp_path):
    note_run(tmp_path, ["a.csv"], command="rankprune paper fig1", small=False)
    note_run(tmp_path, ["b.csv"], command="rankprune paper fig2", small=False)
    first, second = json.loads((tmp_path / "manifest.json").read_text())["runs"]
    assert first["command"] == "rankprune paper fig1"
    assert second["files"] == ["b.csv"]
    assert "numpy" in second["versions"]


def test_small_and_full_runs_are_not_mixed(tmp_path):
    refuse_other_size(tmp_path, small=True)
    note_run(tmp_path, ["a.csv"], command="rankprune paper fig2", small=False)
    refuse_other_size(tmp_path, small=False)
    with pytest.raises(
        ValueError, match=r"results must not mix small and full runs; .* has figures of full runs"
    ):
        refuse_other_size(tmp_path, small=True)
