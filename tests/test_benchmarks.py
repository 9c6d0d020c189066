"""Benchmarks are only run by hand, but the names that they import must exist.

The one that kills commands must notice what it is there to notice, and simulated audits must give
the answers that people get.
"""

import ast
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from many_classes import class_check, class_labels
from rankprune import check_labels

FOLDER = Path(__file__).parents[1] / "benchmarks"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.name)
def test_names_imported_from_the_package_exist(path):
    if path.stem == "spark":
        pytest.importorskip("pyspark")
    imports = [
        node
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rankprune")
    ]
    assert imports
    for node in imports:
        module = importlib.import_module(node.module)
        for alias in node.names:
            if not hasattr(module, alias.name):
                importlib.import_module(f"{node.module}.{alias.name}")


# Damages files on purpose, in a separate process: it replaces parts of the package, and forks.
DAMAGED = """
import json, os, random, sys
from pathlib import Path
import kills
from rankprune.run import _directory

kills.main(["--kills", "2", "--seed", "1", "--jobs", "1"])
stage = kills.Stage(Path(sys.argv[1]))
found = {name: stage.attempt(name, random.Random(0)) for name in ("report", "review")}


def write_half(path, content):
    path.write_bytes(content[:20])
    os.kill(os.getpid(), 9)


def leave_part():
    marker = stage.base / "marker"
    (stage.work / ".rankprune-other.part").touch()
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), 9)
    return report()


def lose_decisions():
    (stage.work / "run" / "review.sqlite").unlink()
    os.kill(os.getpid(), 9)


stage.usual["report"].moment = lambda rng: kills.NEVER
report, stage.commands["report"] = stage.commands["report"], leave_part
found["debris"] = stage.attempt("report", random.Random(0))
stage.commands["report"] = lose_decisions
found["lost"] = stage.attempt("report", random.Random(0))
stage.commands["report"], _directory.write_whole = report, write_half
found["half"] = stage.attempt("report", random.Random(0))

old = {"x": 1, kills.LOG: [["a"], None]}
logs = (["a"], ["a", "b"], ["a", "c"], ["a", "b", "c"], ["a", "b", "c", "d"], ["b"])
seen = [kills.state_of_review({**old, kills.LOG: [log, None]}, old, {"b": 7}) for log in logs]
seen.append(kills.state_of_review({**old, "x": 2}, old, {}))
seen.append(kills.state_of_review(old, old, {}))
print(json.dumps([{name: vars(one) for name, one in found.items()}, seen]))
kills.finish(list(found.values()), ["report", "review"])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_kills_do_no_harm_and_half_a_file_lost_decisions_and_debris_are_noticed(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", DAMAGED, str(tmp_path)],
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": os.pathsep.join([str(FOLDER), *sys.path]),
        },
    )
    # The damage is reported at the end.
    assert done.stderr.splitlines()[-1:] == ["3 of 5 kills did harm"], done.stderr
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[13].split()[:2] == ["all", "2"]
    assert lines[13].split()[-2:] == ["0", "0"]
    assert lines[14].startswith("2 commands killed (SIGKILL): every file was the old or the")
    found, seen = json.loads(lines[15])
    for name in ("report", "review"):
        assert found[name]["wrong"] == found[name]["debris"] == []
        assert found[name]["state"] in ("old", "new")
    assert found["debris"]["debris"] == [".rankprune-other.part"]
    assert found["debris"]["wrong"] == []
    assert found["lost"]["state"] == found["half"]["state"] == "wrong"
    assert found["lost"]["wrong"][0] == "neither old nor new: run/review.sqlite"
    assert "result.json is not a rankprune result" in found["half"]["wrong"][0]
    assert seen == [
        "lost decisions: 1",
        "new",
        "lost decisions: 1",
        "new",
        "there are decisions that nobody made",
        "lost decisions: 1",
        "a review changed other files than the log",
        "old",
    ]
    assert [line.split()[0] for line in lines[16:]] == ["command", "report", "review,", "all"]
    assert lines[-1].split()[1] == "5"
    assert lines[-1].split()[-2:] == ["2", "1"]


@pytest.mark.parametrize("share", [0.1, 1.0], ids=["as believed", "against the model"])
def test_simulated_audits_answer_as_checks_that_were_settled(share, monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    judged_rows = importlib.import_module("judged_rows")
    random = np.random.default_rng(0)
    truth = np.arange(600) % 3 == 0
    scores = np.clip(np.where(truth, 0.7, 0.2) + 0.2 * random.standard_normal(600), 0, 1)
    labels = truth ^ (random.random(600) < 0.1)
    truth = truth if share < 1 else ~labels
    rates = judged_rows.rates_of(labels, scores)
    table = judged_rows.Population("a table", "a kind", truth, labels, scores, rates)

    check = check_labels(None, labels, probabilities=scores)
    sample = check.draw_audit(50, random_state=0)
    settled = check.settle(sample, truth[sample.rows])
    judged = np.bincount(sample.stratum, minlength=len(sample.sizes))
    is_wrong = (labels != truth)[sample.rows]
    wrong = np.bincount(sample.stratum[is_wrong], minlength=len(sample.sizes))
    found = judged_rows.Auditor(table).result_of(judged, wrong)

    assert settled.judged.contradicts_model == (share == 1) == bool(found[-1])
    ranges = [getattr(settled.noise_rates.intervals, name) for name in judged_rows.QUANTITIES]
    assert found[:-2].tolist() == [end for one in ranges for end in (one.low, one.high)]
    assert found[-2] == settled.noise_rates.wrong_share


@pytest.mark.parametrize("share", [0.1, 1.0], ids=["as believed", "against the model"])
def test_simulated_audits_of_many_labels_answer_as_checks_that_were_settled(share, monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    judged_classes = importlib.import_module("judged_classes")
    check = class_check(600)
    labels, truth, probabilities = class_labels(600)
    codes, right = (np.searchsorted(check.classes, names.astype(str)) for names in (labels, truth))
    right = right if share < 1 else (codes + 1) % 3
    problem = judged_classes.ClassProblem("a", "a", "a", "a", codes, right, probabilities)
    auditor = judged_classes.Auditor(judged_classes.Population(problem, check.estimated_matrix))

    sample = check.draw_audit(50, random_state=0)
    settled = check.settle(sample, [check.classes[code] for code in right[sample.rows]])
    found = auditor.result_of(sample.rows)

    assert settled.judged.contradicts_model == (share == 1) == bool(found[judged_classes.AGAINST])
    total = settled.wrong_share_interval
    assert found[:3].tolist() == [total.low, total.high, total.estimate]
    error = np.abs(settled.noise_matrix.joint - problem.joint).sum()
    assert found[judged_classes.JOINT] == pytest.approx(error)
