"""Whatever step of a command fails, its files are the old ones or the new ones as a whole."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("duckdb")
pytest.importorskip("starlette")
pytest.importorskip("skops")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads the open files of a process")

COMMANDS = [["check", "new", "report"], ["export", "reviewed", "train", "predict"], ["estimate"]]
COMMANDS += [["draw", "review"], ["settle", "deal"]]


@pytest.mark.parametrize("names", COMMANDS, ids=" ".join)
def test_a_fault_at_every_step_leaves_the_old_or_the_new_files(names, tmp_path):
    pace = os.environ.get("RANKPRUNE_FAULTS", "some")
    ended = subprocess.run(
        [sys.executable, Path(__file__).with_name("driver.py"), tmp_path, pace, *names],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert ended.returncode == 0, ended.stderr
    found = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [one["command"] for one in found] == names
    for one in found:
        assert one["wrong"] == []
        assert one["steps"] > 10
        kinds = {end.split()[0] for end in one["ended"]}
        assert kinds == {"once", "on", "kill", "size"}
        assert any(end in one["ended"] for end in ("once 2", "on 2"))
        assert "kill -9" in one["ended"]
