import sys

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from noisy_table import NAMES, noisy_csv, noisy_rows, write_csv
from rankprune import check_table
from rankprune.exceptions import TableError
from rankprune.export import export_table
from rankprune.model import load_model, predict_table, train_model, train_plain
from rankprune.table import open_table

pytest.importorskip("duckdb")
pytest.importorskip("skops")


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """A table with its check, and clean rows for evaluation."""
    folder = tmp_path_factory.mktemp("people")
    path, _, _ = noisy_csv(folder, n=600, noise=(0.4, 0.05))
    rows, _, truth = noisy_rows(400, seed=9)
    new = write_csv(folder / "new.csv", [row[:4] for row in rows], NAMES[:4])
    return path, check_table(path, "label", id="row id", scorer=None), new, truth


class Homemade(GaussianNB):
    """A classifier that skops does not trust."""


def test_the_trained_model_is_better_than_the_plain_one(people):
    path, check, new, truth = people
    robust = predict_table(train_model(check), new) > 0.5
    plain = predict_table(train_plain(path, "label", pos_label="yes"), new) > 0.5
    assert (robust == truth).mean() > (plain == truth).mean()
    assert (robust == truth).mean() > 0.96


@pytest.mark.parametrize("model", ["logistic", "boosting"])
def test_a_saved_model_predicts_the_same(people, tmp_path, model):
    _, check, new, _ = people
    trained = train_model(check, estimator=model)
    loaded = load_model(trained.save(tmp_path / "m.skops"))
    np.testing.assert_array_equal(predict_table(loaded, new), predict_table(trained, new))
    assert (loaded.label, loaded.positive, loaded.negative) == ("label", "yes", "no")
    assert loaded.noise_rates["positive_noise_rate"] == check.noise_rates.positive_noise_rate


def test_words_are_part_of_the_model(tmp_path):
    rows, _, _ = noisy_rows(200)
    words = {"yes": "fine", "no": "poor"}
    rows = [[f"{words[row[4]]} day {i}", row[4]] for i, row in enumerate(rows)]
    path = write_csv(tmp_path / "t.csv", rows, ["said", "label"])
    check = check_table(path, "label", text=["said"], scorer=None)
    loaded = load_model(train_model(check).save(tmp_path / "m.skops"))
    new = write_csv(tmp_path / "new.csv", [["fine"], ["poor"]], ["said"])
    high, low = predict_table(loaded, new)
    assert high > 0.5 > low


def test_types_that_are_not_known_are_refused_and_listed(people, tmp_path):
    _, check, new, _ = people
    place = train_model(check, estimator=Homemade()).save(tmp_path / "m.skops")
    with pytest.raises(TableError, match=r"not known to be harmless: .*Homemade") as error:
        load_model(place)
    name = f"{Homemade.__module__}.Homemade"
    assert str(error.value).endswith(f"pass trusted=['{name}'].")
    assert len(predict_table(load_model(place, trusted=[name]), new)) == 400


def test_files_that_are_not_models_are_refused(tmp_path):
    with pytest.raises(TableError, match=r"path must be a model file"):
        load_model(tmp_path / "nope.skops")
    (tmp_path / "bad.skops").write_bytes(b"no archive")
    with pytest.raises(TableError, match=r"is not a rankprune model"):
        load_model(tmp_path / "bad.skops")
    import skops.io

    skops.io.dump({"schema": 99}, tmp_path / "other.skops")
    with pytest.raises(TableError, match=r"is not a model that this version can read"):
        load_model(tmp_path / "other.skops")


def test_no_pickle_is_ever_loaded(people, tmp_path, monkeypatch):
    import pickle

    _, check, new, _ = people
    place = train_model(check).save(tmp_path / "m.skops")

    def refuse(*args, **kwargs):
        raise AssertionError("a pickle was loaded")

    monkeypatch.setattr(pickle, "load", refuse)
    monkeypatch.setattr(pickle, "loads", refuse)
    predict_table(load_model(place), new)


def test_a_changed_table_is_refused(tmp_path):
    path, _, _ = noisy_csv(tmp_path, n=200)
    check = check_table(path, "label", scorer=None)
    path.write_text(path.read_text().replace("red", "rot", 1))
    with pytest.raises(TableError, match=r"has changed since it was checked. Check it again"):
        train_model(check)
    with pytest.raises(TableError, match=r"has changed since it was checked"):
        export_table(check, tmp_path / "out.csv")
    path.unlink()
    with pytest.raises(TableError, match=r"no longer at .*table='new/path.csv'"):
        train_model(check)


def test_a_changed_frame_is_refused(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(noisy_rows(200)[0], columns=NAMES)
    check = check_table(frame, "label", scorer=None)
    assert export_table(check, tmp_path / "out.csv", frame) == (200, 0)
    with pytest.raises(TableError, match=r"not the table that was checked"):
        export_table(check, tmp_path / "other.csv", frame.iloc[::-1])


def test_a_custom_model_is_never_imported_because_a_file_names_it(people):
    from dataclasses import replace

    _, check, _, _ = people
    named = replace(check, settings=replace(check.settings, estimator="os:getcwd"))
    with pytest.raises(TableError, match=r"your own model, 'os:getcwd'.*as estimator"):
        train_model(named)


def test_predictions_do_not_repeat_names(people, tmp_path):
    _, check, new, _ = people
    model = train_model(check)
    predict_table(model, new, tmp_path / "out.csv")
    with pytest.raises(TableError, match=r"already has a column 'rankprune_probability'"):
        predict_table(model, tmp_path / "out.csv", tmp_path / "twice.csv")


def test_a_table_that_was_moved_can_be_named(tmp_path):
    path, _, _ = noisy_csv(tmp_path, n=200)
    check = check_table(path, "label", scorer=None)
    moved = path.rename(tmp_path / "moved.csv")
    assert train_model(check, moved).positive == "yes"
    assert export_table(check, tmp_path / "out.csv", moved) == (200, 0)


def test_a_table_read_from_a_pipe_cannot_be_used_for_training(people, tmp_path):
    from dataclasses import replace

    _, check, _, _ = people
    piped = replace(check, source=replace(check.source, name="stdin", path=None))
    with pytest.raises(TableError, match=r"it was read from stdin.*Pass the same table"):
        train_model(piped)
    with pytest.raises(TableError, match=r"it was read from stdin.*as table"):
        export_table(piped, tmp_path / "out.csv")


def test_predictions_need_the_embeddings_of_the_model(tmp_path):
    rows, _, _ = noisy_rows(200)
    path = write_csv(tmp_path / "t.csv", [[row[3], row[4]] for row in rows], ["color", "label"])
    vectors = np.asarray([[float(row[1]), float(row[2])] for row in rows])
    np.save(tmp_path / "v.npy", vectors)
    check = check_table(path, "label", embeddings=str(tmp_path / "v.npy"), scorer=None)
    model = train_model(check)
    new = write_csv(tmp_path / "new.csv", [["red"]], ["color"])
    assert len(predict_table(model, new, embeddings=np.asarray([[3.0, 3.0]]))) == 1
    with pytest.raises(TableError, match=r"must have the 2 columns .*got 0"):
        predict_table(model, new)


def test_predictions_can_be_written_beside_the_table(people, tmp_path):
    _, check, new, _ = people
    found = predict_table(train_model(check), new, tmp_path / "out.csv")
    with open_table(tmp_path / "out.csv") as table:
        assert table.names[-2:] == ("rankprune_probability", "rankprune_label")
        cells = table.cells(np.arange(3), [4, 5])
    assert [float(p) for p, _ in cells] == found[:3].tolist()
    assert {label for _, label in cells} <= {"yes", "no"}


def test_exports_keep_every_cell_and_the_order(people, tmp_path):
    path, check, _, _ = people
    kept, removed = export_table(check, tmp_path / "clean.csv", drop_suspects=True)
    assert (kept + removed, removed) == (600, check.n_suspects)
    lines = path.read_text().splitlines()
    suspects = set(check.suspect_rows().tolist())
    expected = [lines[0], *(line for i, line in enumerate(lines[1:]) if i not in suspects)]
    assert (tmp_path / "clean.csv").read_text().splitlines() == expected
    assert export_table(check, tmp_path / "marked.parquet") == (600, 0)
    with open_table(tmp_path / "marked.parquet") as table:
        assert table.names == (
            *NAMES,
            "rankprune_suspect",
            "rankprune_probability",
            "rankprune_rank",
        )
        first = int(check.suspect_rows()[0])
        (cells,) = table.cells(np.asarray([first]), range(8))
    assert (cells[5], cells[7]) == ("true", "1")


def test_exports_do_not_overwrite_the_input_or_its_columns(people, tmp_path):
    path, check, _, _ = people
    link = tmp_path / "link.csv"
    link.symlink_to(path)
    for output in (path, link):
        with pytest.raises(ValueError, match="must not be the input"):
            export_table(check, output)
    marked = tmp_path / "marked.csv"
    export_table(check, marked)
    again = check_table(marked, "label", drop=["rankprune_probability"], scorer=None)
    with pytest.raises(TableError, match=r"already has a column 'rankprune_suspect'"):
        export_table(again, tmp_path / "twice.csv")


def test_formula_cells_are_made_safe_on_demand(tmp_path):
    rows, _, _ = noisy_rows(200)
    rows[0][3] = "=cmd|' /C calc'!A0"
    path = write_csv(tmp_path / "t.csv", rows)
    check = check_table(path, "label", scorer=None)
    export_table(check, tmp_path / "raw.csv")
    export_table(check, tmp_path / "safe.csv", spreadsheet_safe=True)
    assert ",=cmd" in (tmp_path / "raw.csv").read_text()
    assert ",'=cmd" in (tmp_path / "safe.csv").read_text()
    assert ",-" in (tmp_path / "safe.csv").read_text()  # negative numbers stay numbers


def test_without_skops_the_extra_is_named(people, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "skops", None)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(ImportError, match=r"rankprune\[cli\]"):
        load_model(tmp_path / "m.skops")
