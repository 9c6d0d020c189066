"""How commands end: exit codes, and errors that name the mistake and the fix."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("duckdb")

QUICK = ("--scorer", "model")


@pytest.mark.skipif(os.name != "posix", reason="shells of other systems differ")
@pytest.mark.parametrize(
    ("asked", "words", "answer"),
    [
        ("bash_source", "", "complete -o nosort -F"),
        ("bash_complete", "rankprune com", "plain,compare"),
        ("bash_complete", "rankprune check --drop-un", "plain,--drop-unlabeled"),
    ],
)
def test_shells_can_complete_commands_and_options(asked, words, answer):
    count = str(len(words.split()) - 1)
    ended = subprocess.run(
        [sys.executable, "-c", "from rankprune.__main__ import main; main()"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "_RANKPRUNE_COMPLETE": asked, "COMP_WORDS": words, "COMP_CWORD": count},
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert answer in ended.stdout


@pytest.mark.parametrize(
    ("left", "shown"), [("sys.exit(0)", "sys.exit(0)"), ("sys.exit()", "sys.exit()")]
)
def test_a_module_that_exits_is_an_error(command, people, tmp_path, monkeypatch, left, shown):
    (tmp_path / "leaves.py").write_text(f"import sys\n{left}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    code, _, err = command("check", people, "--label", "label", "--model", "leaves:Model")
    assert (code, f"Your module called {shown}" in err) == (2, True)


def test_a_mistyped_label_is_reported_before_an_earlier_run(command, people):
    assert command("check", people, "--label", "label", *QUICK)[0] == 0
    code, _, err = command("check", people, "--label", "lable", *QUICK)
    assert code == 2
    assert "--label must be a column" in err
    assert "Did you mean 'label'?" in err


def test_errors_of_the_library_are_shown_in_flags(command, people, monkeypatch):
    def fails(*args, **kwargs):
        raise ValueError("groups must be a column; 'cv' is not one. Or pass drop_unlabeled=True.")

    monkeypatch.setattr("rankprune.check.check_table", fails)
    code, _, err = command("check", people, "--label", "label")
    assert code == 2
    assert err == ("Error: --group must be a column; 'cv' is not one. Or pass --drop-unlabeled.\n")


def test_a_very_long_message_is_shown_in_part_and_at_once(capsys):
    from rankprune.cli import exit_code

    def fail():
        raise ValueError(f"The name {'x' * 1_000_000} must be shorter. Pass pos_label='yes'.")

    assert exit_code(fail) == 2
    err = capsys.readouterr().err
    assert len(err) < 3000
    assert err.startswith("Error: The name xxx")
    assert err.endswith("xxx must be shorter. Pass --positive yes.\n")
