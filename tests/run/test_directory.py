"""A run directory is the old run or the new one, as a whole."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from noisy_table import noisy_csv
from rankprune import LabelCheck, check_table, write_report
from rankprune.exceptions import TableError
from rankprune.run import _directory
from rankprune.run._audit_record import AuditRecord
from rankprune.run._checked_table import open_checked
from rankprune.run._directory import (
    AUDIT,
    REPORT,
    RESULT,
    SCORES,
    check_place,
    finish_saving,
    open_run,
    replace_files,
)
from rankprune.storage._claims import locked
from rankprune.storage._hashes import file_sha256
from resealed import reseal

pytest.importorskip("duckdb")


@pytest.fixture(scope="session")
def checked(tmp_path_factory):
    path, _, _ = noisy_csv(tmp_path_factory.mktemp("run"), n=200)
    return check_table(path, "label", scorer=None)


@pytest.fixture
def run(checked, tmp_path):
    return checked.save(tmp_path / "run", report="<p>first</p>")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def stopped_before_files_take_their_places(monkeypatch, work):
    """Run something in a process that seems to be killed after the result was replaced."""

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(_directory, "_take_places", killed)
        with pytest.raises(KeyboardInterrupt):
            work()


def test_the_files_have_the_names_that_people_look_for(run):
    assert names(run) == [REPORT, RESULT, SCORES]
    result = json.loads((run / RESULT).read_bytes())
    assert sorted(result["files"]) == [REPORT, SCORES]


def test_a_killed_process_has_saved_the_whole_run_once_the_result_is_replaced(
    run, checked, monkeypatch
):
    old = (run / REPORT).read_text()
    stopped_before_files_take_their_places(
        monkeypatch, lambda: checked.save(run, force=True, report="<p>second</p>")
    )
    assert (run / REPORT).read_text() == old
    # Where nothing can be written, the files are read where they are.
    with monkeypatch.context() as patched:
        patched.setattr(_directory, "finish_saving", lambda _: None)
        assert open_run(run).read(REPORT) == b"<p>second</p>"
        assert LabelCheck.load(run).scores.rank.tolist() == checked.scores.rank.tolist()
    assert open_run(run).read(REPORT) == b"<p>second</p>"
    assert (run / REPORT).read_text() == "<p>second</p>"
    assert names(run) == [REPORT, RESULT, SCORES]


def test_a_run_saved_without_a_report_has_none(run, checked, monkeypatch):
    checked.save(run, force=True)
    assert names(run) == [RESULT, SCORES]
    checked.save(run, force=True, report="<p>third</p>")
    stopped_before_files_take_their_places(monkeypatch, lambda: checked.save(run, force=True))
    finish_saving(run)
    assert names(run) == [RESULT, SCORES]


def test_an_error_before_the_result_is_replaced_leaves_the_old_run(run, checked, monkeypatch):
    before = {path.name: path.read_bytes() for path in run.iterdir()}

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_directory, "write_whole", fail)
    with pytest.raises(OSError, match=r"result\.json cannot be written: the disk is full"):
        checked.save(run, force=True, report="<p>second</p>")
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before
    with pytest.raises(OSError, match="cannot be written"):
        checked.save(run.with_name("new"))
    assert not run.with_name("new").exists()


def test_what_killed_processes_of_any_release_left_does_not_stand_in_the_way(
    run, checked, tmp_path
):
    for folder in (run, tmp_path / "unfinished"):
        (folder / ".generation-0123456789abcdef").mkdir(parents=True)
        (folder / ".generation-0123456789abcdef" / SCORES).write_text("x")
        for name in (
            "tmp12ab_xyz",
            ".result.json.0123abcd.part",
            "tmp_.scores.parquet.0123abcd.part",
            ".rankprune-0123abcd.part",
        ):
            (folder / name).write_text("")
    LabelCheck.load(run)
    assert names(run) == [REPORT, RESULT, SCORES]
    with pytest.raises(TableError, match="does not exist"):
        LabelCheck.load(tmp_path / "unfinished")
    assert not (tmp_path / "unfinished").exists()


@pytest.mark.parametrize("others", [{}, {"notes.txt": "mine"}, {RESULT: '{"accuracy": 0.9}'}])
def test_files_of_other_programs_are_never_taken_for_what_a_killed_process_left(
    checked, tmp_path, others
):
    place = tmp_path / "place"
    # As Python names temporary files and folders.
    (place / "tmp12ab_xyz").mkdir(parents=True)
    (place / "tmp12ab_xyz" / "precious").write_text("text")
    (place / "tmp34cd_xyz").write_text("text")
    (place / "tmp56ef_xyz").symlink_to("elsewhere")
    (place / "tmp78gh_xyz").write_text("")
    for name, text in others.items():
        (place / name).write_text(text)
    before = names(place)
    for work in (
        lambda: LabelCheck.load(place),
        lambda: check_place(place, force=False),
        lambda: checked.save(place),
    ):
        with pytest.raises(TableError):
            work()
        assert names(place) == before
    assert (place / "tmp12ab_xyz" / "precious").read_text() == "text"
    assert (place / "tmp34cd_xyz").read_text() == "text"


def test_a_file_that_vanishes_while_a_folder_is_looked_at_is_no_probe(tmp_path):
    assert not _directory._is_old_probe(tmp_path / "tmp12ab_xyz")


def test_files_of_other_programs_stay_in_a_run(run, checked):
    (run / "tmp12ab_xyz").mkdir()
    (run / "tmp34cd_xyz").write_text("text")
    LabelCheck.load(run)
    checked.save(run, force=True)
    assert names(run) == [RESULT, SCORES, "tmp12ab_xyz", "tmp34cd_xyz"]


def test_files_that_do_not_belong_to_the_result_are_noticed(run):
    (run / REPORT).write_text("<p>another</p>")
    with pytest.raises(TableError, match=r"report\.html does not belong .*Write the report again"):
        LabelCheck.load(run)
    write_report(run)
    LabelCheck.load(run)
    (run / REPORT).unlink()
    LabelCheck.load(run)
    assert open_run(run).read(REPORT) is None
    (run / SCORES).unlink()
    with pytest.raises(TableError, match=r"scores\.parquet does not belong .*force=True"):
        LabelCheck.load(run)


def test_bytes_that_change_after_the_run_was_opened_are_noticed(run, tmp_path):
    opened, loaded = open_run(run), LabelCheck.load(run)
    (run / REPORT).write_text("<p>another</p>")
    with pytest.raises(TableError, match="does not belong"):
        opened.read(REPORT)
    (run / SCORES).write_bytes(b"x")
    with pytest.raises(TableError, match="does not belong"):
        loaded.save(tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
    (run / SCORES).unlink()
    with pytest.raises(TableError, match="does not belong"):
        loaded.suspect_rows()


def test_a_report_of_a_replaced_run_is_not_saved(run, checked):
    opened = open_run(run)
    checked.save(run, force=True)
    with pytest.raises(TableError, match=r"Another process has replaced the run.*Try again"):
        replace_files(run, opened, {REPORT: b"old"})
    assert names(run) == [RESULT, SCORES]


def test_a_run_that_is_replaced_while_it_is_opened_is_opened_again(run, checked, monkeypatch):
    real = _directory._refuse_foreign
    calls = []

    def replaced_meanwhile(found, repairs):
        calls.append(found)
        if len(calls) == 1:
            checked.save(run, force=True, report="<p>second</p>")
        real(found, repairs)

    monkeypatch.setattr(_directory, "_refuse_foreign", replaced_meanwhile)
    assert open_run(run).read(REPORT) == b"<p>second</p>"
    assert len(calls) == 2


def test_two_saves_at_once_are_one_after_the_other(run, checked, monkeypatch):
    monkeypatch.setattr(_directory, "PATIENCE", 0.05)
    with locked(run, 0):
        with pytest.raises(BlockingIOError, match="Another process is writing"):
            checked.save(run, force=True)
        # Nothing is swept while another process writes.
        (run / ".rankprune-0123abcd.part").write_text("")
        LabelCheck.load(run)
        assert ".rankprune-0123abcd.part" in names(run)
    LabelCheck.load(run)
    assert names(run) == [REPORT, RESULT, SCORES]


def test_a_run_that_appeared_meanwhile_is_not_replaced_without_force(
    run, checked, tmp_path, monkeypatch
):
    real = _directory._writing

    def meanwhile(folder):
        if not (folder / RESULT).exists():
            for path in run.iterdir():
                shutil.copy(path, folder)
        return real(folder)

    monkeypatch.setattr(_directory, "_writing", meanwhile)
    with pytest.raises(TableError, match="holds an earlier run"):
        checked.save(tmp_path / "new")
    assert (tmp_path / "new" / REPORT).read_text() == "<p>first</p>"


@pytest.mark.parametrize(
    "text", ["NaN", "[1]", '"text"', "{}", "null", '{"schema": NaN}', "9" * 5000]
)
def test_what_is_not_a_result_is_refused(run, text):
    (run / RESULT).write_text(text)
    with pytest.raises(TableError, match=r"result\.json is not a rankprune result"):
        LabelCheck.load(run)


def test_the_earlier_run_may_be_in_any_state(run, checked):
    for content in (b"no json", None):
        if content is None:
            (run / RESULT).unlink()
        else:
            (run / RESULT).write_bytes(content)
        checked.save(run, force=True)
        LabelCheck.load(run)


def test_copies_of_a_run_are_runs(run, checked, tmp_path):
    shutil.copytree(run, tmp_path / "copy")
    assert LabelCheck.load(tmp_path / "copy").to_dict() == checked.to_dict()
    assert Path(LabelCheck.load(tmp_path / "copy").scores.path).parent == tmp_path / "copy"


@pytest.mark.skipif(os.name != "posix", reason="pipes of other systems differ")
@pytest.mark.parametrize("name", [RESULT, SCORES, REPORT, AUDIT])
@pytest.mark.parametrize("make", ["mkfifo", "mkdir"])
def test_what_is_no_regular_file_is_never_replaced_in_a_run(checked, run, name, make):
    opened = open_run(run)
    (run / name).unlink(missing_ok=True)
    getattr(os, make)(run / name)
    with pytest.raises(FileExistsError, match=rf"{name} is a .*, which is never replaced"):
        check_place(run, force=True)
    with pytest.raises(FileExistsError, match="never replaced"):
        checked.save(run, force=True, report="<p>second</p>")
    with pytest.raises(FileExistsError, match="never replaced"):
        replace_files(run, opened, {REPORT: b"<p>second</p>"})
    assert not (run / name).is_file()
    assert names(run) == sorted({REPORT, RESULT, SCORES, name})


def test_text_that_cannot_be_stored_is_refused_before_anything_is_written(checked, tmp_path):
    odd = replace(checked, positive="half \ud800 of a pair")
    with pytest.raises(TableError, match=r"must be Unicode text.*half .ud800 of a pair"):
        odd.save(tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_result_with_text_that_cannot_be_shown_is_refused_by_name(run):
    result = json.loads((run / RESULT).read_bytes())
    for schema in (3, 2):
        changed = {**result, "schema": schema, "positive": "\ud800"}
        changed["scores_sha256"] = result["files"][SCORES]
        (run / RESULT).write_text(json.dumps(changed))
        with pytest.raises(TableError, match=r"result\.json (was changed|is incomplete)"):
            LabelCheck.load(run)


def test_files_may_move_to_their_places_while_or_after_a_run_is_opened(
    run, checked, monkeypatch, tmp_path
):
    finish, look = _directory.finish_saving, _directory._refuse_foreign

    def look_late(found, repairs):
        finish(run)
        look(found, repairs)

    for is_late in (False, True):
        stopped_before_files_take_their_places(
            monkeypatch, lambda: checked.save(run, force=True, report="<p>second</p>")
        )
        with monkeypatch.context() as patched:
            patched.setattr(_directory, "finish_saving", lambda _: None)
            patched.setattr(_directory, "_refuse_foreign", look_late if is_late else look)
            opened = open_run(run)
            again = LabelCheck.of(opened)
        finish(run)
        assert names(run) == [REPORT, RESULT, SCORES]
        assert opened.read(REPORT) == b"<p>second</p>"
        again.save(tmp_path / "copy", force=True)
        assert again.scores.rank.tolist() == checked.scores.rank.tolist()


def test_errors_name_the_place_of_a_file_that_still_waits_to_move_there(run, checked, monkeypatch):
    stopped_before_files_take_their_places(monkeypatch, lambda: checked.save(run, force=True))
    result = json.loads((run / RESULT).read_bytes())
    (stage,) = (path for path in run.iterdir() if path.is_dir())
    monkeypatch.setattr(_directory, "finish_saving", lambda _: None)
    opened = open_run(run)
    assert opened.paths[SCORES] == stage / SCORES
    assert LabelCheck.of(opened).n_suspects == checked.n_suspects
    with pytest.raises(TableError, match="is incomplete") as caught:
        LabelCheck.of(replace(opened, result={**result, "settings": {}, "source": None}))
    assert str(caught.value).startswith(f"{run / RESULT} is")
    (stage / SCORES).write_bytes(b"PAR1")
    hashes = {SCORES: file_sha256(stage / SCORES)}
    with pytest.raises(TableError, match="does not hold scores") as caught:
        LabelCheck.of(replace(opened, hashes=hashes)).suspect_rows()
    assert str(caught.value).startswith(f"{run / SCORES} does")
    with pytest.raises(TableError, match="does not belong") as caught:
        open_run(run)
    assert str(caught.value).startswith(f"{run / SCORES} does")
    (stage / AUDIT).write_bytes(b"{")
    hashes[AUDIT] = file_sha256(stage / AUDIT)
    audited = replace(opened, hashes=hashes, paths={**opened.paths, AUDIT: stage / AUDIT})
    with pytest.raises(TableError, match="is not an audit") as caught:
        AuditRecord.of(audited)
    assert str(caught.value).startswith(f"{run / AUDIT} is")


@pytest.mark.parametrize(
    "changes",
    [
        {"source": {"n_rows": 0}},
        {"source": {"n_rows": -5}},
        {"source": {"n_rows": 199}},
        {"tally": {"n_positive": 0, "n_negative": 0}},
        {"tally": {"n_negative_suspects": 201}},
        {"tally": {"n_positive_suspects": -1}},
    ],
    ids=str,
)
def test_numbers_of_rows_that_contradict_each_other_are_refused_by_name(run, changes):
    result = json.loads((run / RESULT).read_bytes())
    reseal(run, **{name: {**result[name], **change} for name, change in changes.items()})
    with pytest.raises(TableError, match=r"result\.json is incomplete. Check again"):
        LabelCheck.load(run)


@pytest.mark.parametrize(
    "place",
    [
        ("calibration", "high", 0),
        ("separability", "negative", "low", 3),
        ("noise_rates", "intervals", "positive_noise_rate", "high"),
    ],
    ids=str,
)
def test_intervals_without_their_estimates_are_refused_by_name(run, place):
    result = json.loads((run / RESULT).read_bytes())
    *outer, last = place
    inner = result
    for name in outer:
        inner = inner[name]
    inner[last] = 9.0 if "low" in place else -9.0
    reseal(run, **{place[0]: result[place[0]]})
    with pytest.raises(TableError, match=r"result\.json is incomplete. Check again"):
        LabelCheck.load(run)


def test_a_record_that_counts_other_rows_than_its_table_is_not_blamed_on_the_table(run):
    source = json.loads((run / RESULT).read_bytes())["source"]
    reseal(run, source={**source, "n_rows": 201})
    with (
        pytest.raises(
            TableError,
            match=r"The result of the check .* counts 201 rows in .*\.csv, which has 200\. Check",
        ),
        open_checked(LabelCheck.load(run)),
    ):
        pass
