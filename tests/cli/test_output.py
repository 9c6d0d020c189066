"""The command to run next can be run as printed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rankprune.cli._output import next_command

pytestmark = pytest.mark.skipif(os.name != "posix", reason="shells of other systems differ")


@pytest.fixture
def program(tmp_path, monkeypatch):
    """An executable named rankprune, as if this process had been started from it."""
    path = tmp_path / "my env" / "bin" / "rankprune"
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(path)])
    return path


def test_a_program_that_the_shell_finds_is_called_by_its_name(program, monkeypatch):
    monkeypatch.setenv("PATH", str(program.parent))
    assert next_command("train", Path("a b"), "-o", "m.skops") == "rankprune train 'a b' -o m.skops"


def test_a_program_in_another_environment_is_called_by_its_path(program, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    assert next_command("train") == f"'{program}' train"


def test_a_module_is_called_as_a_module(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/lib/rankprune/__main__.py"])
    monkeypatch.setenv("PATH", "/nowhere")
    assert next_command("train") == f"{sys.executable} -m rankprune train"


def test_a_program_that_embeds_the_command_line_is_not_named(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/usr/bin/pytest"])
    assert next_command("train") == "rankprune train"


def test_a_path_that_begins_with_a_dash_is_not_a_flag(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/usr/bin/pytest"])
    assert next_command("train", Path("-run"), "-o", "m") == "rankprune train ./-run -o m"


def test_the_next_step_of_a_check_runs_as_printed(people, tmp_path):
    pytest.importorskip("duckdb")
    pytest.importorskip("skops")
    started = subprocess.run(
        [sys.executable, "-m", "rankprune", "check", people, "--label", "label", "--scorer"]
        + ["model", "-o", str(tmp_path / "my run")],
        capture_output=True,
        text=True,
        check=True,
    )
    (line,) = (one for one in started.stderr.splitlines() if one.startswith("Next:"))
    ended = subprocess.run(
        line.removeprefix("Next:"), shell=True, cwd=tmp_path, capture_output=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "model.skops").is_file()
