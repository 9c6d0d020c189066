"""Progress is shown from events; log lines only on request."""

import logging
import sys

import pytest

pytest.importorskip("duckdb")

from rankprune.cli import _progress
from rankprune.learners._progress import log_progress, log_stage

QUICK = ("--scorer", "model")


def work():
    log_stage("reading t.csv")
    logging.getLogger("rankprune").debug("pruned 0 of 699 rows: NoiseRates(...)")
    log_progress("scored %d of %d folds", "scoring rows", 1, 3)


def test_lines_show_stages_and_counts_but_no_log_lines(capsys, monkeypatch):
    monkeypatch.setattr(_progress, "_PATIENCE", 0.0)
    with _progress.progress(quiet=False, verbose=False):
        work()
    assert capsys.readouterr().err == "reading t.csv\nscoring rows: 1 of 3\n"


def test_short_work_shows_nothing(capsys):
    with _progress.progress(quiet=False, verbose=False):
        work()
    assert capsys.readouterr().err == ""


def test_verbose_shows_every_log_line_and_quiet_none(capsys):
    with _progress.progress(quiet=False, verbose=True):
        work()
    assert capsys.readouterr().err.splitlines() == [
        "reading t.csv",
        "pruned 0 of 699 rows: NoiseRates(...)",
        "scored 1 of 3 folds",
    ]
    with _progress.progress(quiet=True, verbose=True):
        work()
    assert capsys.readouterr().err == ""


def test_on_a_terminal_progress_is_a_bar(capsys, monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    log = logging.getLogger("rankprune")
    level, handlers = log.level, list(log.handlers)
    with _progress.progress(quiet=False, verbose=False):
        work()
        (handler,) = set(log.handlers) - set(handlers)
        (task,) = handler._progress.tasks
        assert (task.description, task.completed, task.total) == ("scoring rows", 1, 3)
    assert (log.level, log.handlers) == (level, handlers)
    assert "pruned 0 of 699" not in capsys.readouterr().err


def test_a_check_shows_its_steps_if_asked(command, people, tmp_path):
    words = ("check", people, "--label", "label", *QUICK, "-v", "-o")
    _, _, err = command(*words, tmp_path / "run")
    assert "reading" in err
    assert "scored 3 of 3 folds" in err
    assert "\x1b" not in err
    _, _, err = command(*words, tmp_path / "b", "--no-progress")
    assert "scored" not in err
