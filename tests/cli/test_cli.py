"""The command line as people use it: exit codes, output streams, and no lost files."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

from noisy_table import NAMES, noisy_rows, write_csv
from rankprune import LabelCheck

pytest.importorskip("duckdb")
pytest.importorskip("skops")

QUICK = ("--scorer", "model")


def process(*words, env=(), **options):
    """Start a command in a separate process."""
    return subprocess.Popen(
        [sys.executable, "-m", "rankprune", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", **dict(env)},
        **options,
    )


def listed(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_the_whole_path_from_a_table_to_predictions(command, people, tmp_path):
    code, out, err = command("check", people, "--label", "label", "--id", "row id", *QUICK)
    assert code == 0
    assert "of your labels are wrong" in out
    run = tmp_path / "people.csv.rankprune"
    assert f"Report: {run / 'report.html'}" in err
    assert listed(run) == ["report.html", "result.json", "scores.parquet"]

    code, out, err = command("report", run, "--top", 5, "--redact", "height")
    assert (code, out) == (0, f"{run / 'report.html'}\n")
    assert (run / "report.html").read_text().count("<li><details>") == 5

    model = tmp_path / "m.skops"
    code, out, err = command("train", run, "-o", model)
    assert (code, out) == (0, f"{model}\n")
    assert "rows." in err

    code, out, _ = command("predict", model, people)
    rows = list(csv.DictReader(io.StringIO(out)))
    assert (code, len(rows)) == (0, 300)
    assert set(rows[0]) == {"row", "probability", "label"}
    code, out, _ = command("predict", model, people, "--format", "jsonl")
    assert json.loads(out.splitlines()[0])["label"] in ("yes", "no")
    assert command("predict", model, people, "-o", tmp_path / "p.csv")[0] == 0

    code, out, err = command("export", run, "-o", tmp_path / "clean.csv", "--drop-suspects")
    assert code == 0
    assert "of 300 rows kept" in err

    code, out, _ = command("compare", people, "--label", "label", "--method", "rank-pruning")
    assert code == 0
    assert "rank-pruning" in out
    code, out, _ = command(
        "compare", people, "--label", "label", "--method", "elkan-noto", "--format", "csv"
    )
    assert out.splitlines()[0].startswith("method,")


def test_every_format_goes_to_standard_output_alone(command, people, tmp_path):
    run = tmp_path / "run"
    options = ("--label", "label", *QUICK, "-o", run, "--force", "-q")
    code, out, err = command("check", people, *options, "--format", "json")
    found = json.loads(out)
    assert (code, err) == (0, "")
    assert 0 < found["positive_noise_rate"] < 0.5
    code, out, err = command("check", people, *options, "--format", "jsonl")
    rows = [json.loads(line) for line in out.splitlines()]
    assert [row["rank"] for row in rows] == list(range(1, found["n_candidates"] + 1))
    assert sum(row["suspect"] for row in rows) == found["n_suspects"]
    assert all(row["suspect"] for row in rows[: found["n_suspects"]])
    code, out, err = command("check", people, *options, "--format", "csv")
    assert len(list(csv.DictReader(io.StringIO(out)))) == found["n_candidates"]
    assert "\x1b" not in out + err


def test_a_check_of_a_pipe_prints_the_answer_and_writes_nothing(people, tmp_path):
    before = listed(tmp_path)
    with people.open() as stdin:
        piped = process(
            *("check", "-", "--label", "label", "--format", "json", "-q", *QUICK),
            stdin=stdin,
            cwd=tmp_path,
        )
        out, err = piped.communicate(timeout=60)
    assert (piped.returncode, err) == (0, "")
    assert json.loads(out)["source"]["name"] == "stdin"
    assert listed(tmp_path) == before


def test_a_table_from_a_pipe_cannot_be_used_for_training(command, people, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(people.read_bytes())))
    run = tmp_path / "run"
    assert command("check", "-", "--label", "label", *QUICK, "-o", run)[0] == 0
    code, out, err = command("train", run, "-o", tmp_path / "m.skops")
    assert (code, out) == (2, "")
    assert "it was read from stdin" in err


def test_data_can_fail_a_build(command, people, tmp_path):
    options = ("--label", "label", *QUICK, "-o", tmp_path / "run", "--force")
    code, out, err = command("check", people, *options, "--fail-over", "0.05")
    assert code == 1
    assert "more than the 5.0% allowed" in err
    assert "of your labels are wrong" in out
    assert command("check", people, *options, "--fail-over", "0.5")[0] == 0


def test_cannot_tell_does_not_fail_a_build(command, tmp_path):
    rng = np.random.RandomState(0)
    truth = rng.randint(0, 2, 400)
    rows = [[repr(float(rng.normal(t, 1.2))), str(t)] for t in truth]
    path = write_csv(tmp_path / "t.csv", rows, ["a", "y"])
    code, out, err = command("check", path, "--label", "y", *QUICK, "--fail-over", "0.01")
    assert "of your labels may be wrong, most likely" in out
    assert (code, "--fail-over was not applied" in err) == (0, True)


def test_a_module_that_exits_is_not_a_success(command, people, tmp_path, monkeypatch):
    (tmp_path / "leaves.py").write_text("import sys\nsys.exit(1)\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    code, _, err = command("check", people, "--label", "label", "--model", "leaves:Model")
    assert (code, "Your module called sys.exit(1)" in err) == (2, True)


def test_a_custom_model_must_be_passed_again_for_training(command, people, tmp_path, monkeypatch):
    (tmp_path / "homemade.py").write_text(
        "from sklearn.naive_bayes import GaussianNB\nmodel = GaussianNB()\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert command("check", people, "--label", "label", "--model", "homemade:model", *QUICK)[0] == 0
    run = tmp_path / "people.csv.rankprune"
    code, _, err = command("train", run, "-o", tmp_path / "m.skops")
    assert (code, "--model" in err) == (2, True)
    words = ("train", run, "-o", tmp_path / "m.skops", "--model", "homemade:model")
    assert command(*words)[0] == 0


def test_the_demo_replaces_only_its_own_files(command, tmp_path):
    (tmp_path / "new.csv").write_text("mine")
    code, _, err = command("demo", "-o", tmp_path)
    assert (code, "holds other files" in err) == (2, True)
    assert (tmp_path / "new.csv").read_text() == "mine"
    # A table called like the demo's, and its run.
    (tmp_path / "new.csv").rename(tmp_path / "digits.csv")
    (tmp_path / "digits.csv.rankprune").mkdir()
    code, _, err = command("demo", "-o", tmp_path)
    assert (code, "holds other files" in err) == (2, True)
    assert (tmp_path / "digits.csv").read_text() == "mine"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes and /dev/null")
def test_the_demo_names_a_place_that_cannot_be_its_folder(command, tmp_path):
    (tmp_path / "t.csv").write_text("mine")
    for place in ("/dev/null", tmp_path / "t.csv"):
        code, _, err = command("demo", "-o", place)
        assert code == 2
        assert str(place) in err
        assert "Errno" not in err
        inside = f"{place}/demo"
        code, _, err = command("demo", "-o", inside)
        assert code == 2
        assert err.startswith(f"Error: {inside} cannot be written to: Not a directory. Choose")
    assert (tmp_path / "t.csv").read_text() == "mine"


GOOD = b"a,b,y\n" + b"".join(b"%d,%d,%d\n" % (i % 7, i % 5, i % 2) for i in range(40))


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (b"", (), "is empty"),
        (b"a,b,y\n", (), "has a header but no rows"),
        (GOOD, ("--label", "Y"), "Did you mean 'y'?"),
        (GOOD.replace(b"a,b,y", b"a,a,y"), (), "'a' more than once"),
        (GOOD + b"1,\xff,0\n", (), "--encoding latin-1"),
        (GOOD + b"1,2\n", (), "line 42 has 2"),
        (GOOD + b"1,\0,1\n", (), "NUL byte"),
        (GOOD + b"1,2,7\n", (), "fewer have '7' (1)"),
        (b"a,y\n1,1\n2,1\n", (), "two values; 'y' has one"),
        (GOOD + b"1,2,\n", (), "--drop-unlabeled"),
        (GOOD, ("--positive", "7"), "--positive must be '0' or '1', the values of column 'y'"),
        (GOOD, ("--model", "nope"), "model must be one of logistic, boosting"),
        (
            GOOD,
            ("--noise-estimator", "nope"),
            "--noise-estimator must be one of confident-counts, counts-and-table, curve",
        ),
        (GOOD, ("--folds", "30"), "needs at least 30 rows of each class"),
        (GOOD, ("--id", "zz"), "--id must be a column"),
        (GOOD, ("--encoding", "zz"), "encoding must be the name of a text encoding"),
        (GOOD, ("--probabilities", "a"), "must lie in [0, 1]"),
        (GOOD, ("--redact", "zz"), "--redact must be a column"),
        (GOOD, ("--text", "y"), "--text must name a feature"),
    ],
)
def test_a_mistake_is_one_line_with_the_fix_and_touches_nothing(
    command, tmp_path, content, options, message
):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    code, out, err = command("check", path, "--label", "y", *QUICK, "-q", *options)
    assert (code, out) == (2, "")
    assert err.startswith("Error: ")
    assert err.count("\n") == 1
    assert message in err
    assert listed(tmp_path) == ["t.csv"]


def test_broken_parquet_and_missing_files(command, tmp_path):
    (tmp_path / "t.parquet").write_bytes(b"PAR1 and no more")
    for name, message in (("t.parquet", "write it again"), ("none.csv", "does not exist")):
        code, out, err = command("check", tmp_path / name, "--label", "y")
        assert (code, out) == (2, "")
        assert message in err
    assert listed(tmp_path) == ["t.parquet"]


def test_wrong_usage_is_exit_2_with_the_usage(command, people):
    code, out, err = command("check", people)
    assert (code, out) == (2, "")
    assert "Missing option '--label'" in err
    assert command("nonsense")[0] == 2


def test_an_earlier_run_or_file_is_not_replaced_and_no_fit_begins(
    command, people, tmp_path, monkeypatch
):
    options = ("check", people, "--label", "label", *QUICK)
    assert command(*options)[0] == 0
    run = tmp_path / "people.csv.rankprune"
    assert command("train", run, "-o", tmp_path / "m.skops")[0] == 0
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    def never(*args, **kwargs):
        raise AssertionError("a fit began")

    monkeypatch.setattr("rankprune.check.check_table", never)
    monkeypatch.setattr("rankprune.model.train_model", never)
    for words in (
        options,
        ("train", run, "-o", tmp_path / "m.skops"),
        ("export", run, "-o", people),
        ("predict", tmp_path / "m.skops", people, "-o", people),
        ("report", run, "-o", people),
    ):
        code, _, err = command(*words)
        assert code == 2
        assert "--force" in err
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_the_input_is_never_the_output_even_when_forced(command, people, tmp_path):
    assert command("check", people, "--label", "label", *QUICK)[0] == 0
    run, link = tmp_path / "people.csv.rankprune", tmp_path / "link.csv"
    link.symlink_to(people)
    model = tmp_path / "m.skops"
    assert command("train", run, "-o", model)[0] == 0
    content = people.read_bytes()
    for words in (
        ("export", run, "-o", link, "--force"),
        ("predict", model, people, "-o", link, "--force"),
        ("train", run, "-o", link, "--force"),
        ("report", run, "-o", link, "--force"),
    ):
        code, _, err = command(*words)
        assert (code, "must not be the input" in err) == (2, True)
    assert people.read_bytes() == content


def test_an_unwritable_folder_is_reported_before_the_fit(command, people, tmp_path, monkeypatch):
    def never(*args, **kwargs):
        raise AssertionError("a fit began")

    monkeypatch.setattr("rankprune.check.check_table", never)
    (tmp_path / "file").write_text("x")
    code, _, err = command(
        "check", people, "--label", "label", "-o", tmp_path / "file" / "run", *QUICK
    )
    assert (code, "cannot be written to" in err) == (2, True)


def test_a_full_disk_is_one_line_and_leaves_no_run(people, tmp_path):
    """A limit on the size of files simulates a full disk."""
    script = textwrap.dedent(
        """
        import resource, sys
        resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
        sys.argv[0] = "rankprune"
        from rankprune.__main__ import main
        main()
        """
    )
    run = tmp_path / "run"
    ended = subprocess.run(
        [sys.executable, "-c", script, "check", str(people), "--label", "label", *QUICK]
        + ["-o", str(run), "-q"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "cannot be written" in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert not run.exists() or listed(run) == []


def test_decisions_stay_when_a_run_is_replaced_and_those_on_changed_rows_no_longer_count(
    command, people, tmp_path
):
    from rankprune.review._queue import Filter
    from rankprune.review._serve import open_queue

    run = tmp_path / "run"
    words = ("check", people, "--label", "label", *QUICK, "-o", run, "--force")
    _, _, err = command(*words)
    assert "were kept" not in err
    with open_queue(run, "review") as queue:
        rows = [queue.row(card["row"]) for card in queue.next_cards("ann", Filter(), (), 3)]
        for row in rows:
            queue.decide(f"{row:016x}", "ann", row, "flip", seconds=1, note="")
    lines = people.read_text().splitlines()
    cells = lines[rows[0] + 1].split(",")
    lines[rows[0] + 1] = ",".join(["99", *cells[1:]])
    people.write_text("\n".join(lines) + "\n")
    code, _, err = command(*words)
    assert code == 0
    assert "The decisions of reviewers were kept:\n2 labels were settled; 2 changed." in err
    assert "the row has changed since it was judged" in err
    (run / "review.sqlite").write_bytes(b"x" * 5000)
    code, _, err = command(*words)
    assert code == 0
    assert "warning: " in err
    assert "review.sqlite is not a decision log" in err


def test_a_closed_output_pipe_is_not_an_error(people, tmp_path):
    shell = (
        f"{sys.executable} -m rankprune check {people} --label label --scorer model --force "
        "--format csv -q | true; echo ${PIPESTATUS[0]}"
    )
    ended = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False)
    assert (ended.stdout, ended.stderr) == ("0\n", "")
    closed = shell.replace("| true; echo ${PIPESTATUS[0]}", ">&-")
    ended = subprocess.run(["bash", "-c", closed], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    LabelCheck.load(tmp_path / "people.csv.rankprune")


SLOW = """
import hashlib
import time
from sklearn.linear_model import LogisticRegression

class Sleeps(LogisticRegression):
    def fit(self, X, y, sample_weight=None):
        print("fitting", flush=True)
        time.sleep(60)

class Computes(LogisticRegression):
    def fit(self, X, y, sample_weight=None):
        print("fitting", flush=True)
        hashlib.pbkdf2_hmac("sha256", b"a", b"b", 400_000_000)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of other systems differ")
@pytest.mark.parametrize(
    ("model", "number", "word"),
    [
        ("Sleeps", signal.SIGINT, "Interrupted."),
        ("Computes", signal.SIGINT, "Interrupted."),
        ("Sleeps", signal.SIGTERM, "Terminated."),
        ("Computes", signal.SIGTERM, "Terminated."),
        ("Sleeps", signal.SIGHUP, "Terminated."),
    ],
)
def test_a_signal_ends_a_fit_soon_and_leaves_nothing(people, tmp_path, model, number, word):
    (tmp_path / "slow.py").write_text(SLOW)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    started = process(
        *("check", people, "--label", "label", "--model", f"slow:{model}", *QUICK, "-q"),
        cwd=tmp_path,
        start_new_session=True,
        env={"TMPDIR": str(temporary)},
        # Tests may run under nohup, which lets commands ignore the end of the terminal.
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    )
    assert started.stdout.readline() == "fitting\n"
    time.sleep(0.5)  # until it is deep in the fit
    began = time.monotonic()
    os.killpg(started.pid, number)
    _, err = started.communicate(timeout=90)
    assert (started.returncode, time.monotonic() - began < 30) == (128 + number, True)
    assert err.strip() == word
    left = [name for name in listed(tmp_path) if "__pycache__" not in name]
    assert left == ["people.csv", "slow.py", "temporary"]


def test_internal_errors_are_exit_3_and_verbose_shows_where(command, people, monkeypatch):
    def fails(*args, **kwargs):
        raise RuntimeError("impossible\nand long")

    monkeypatch.setattr("rankprune.check.check_table", fails)
    code, out, err = command("check", people, "--label", "label")
    assert (code, out) == (3, "")
    assert "bug in rankprune" in err
    assert err.count("\n") == 1
    monkeypatch.setattr(sys, "argv", ["rankprune", "check", "-v"])
    code, _, err = command("check", people, "--label", "label", "-v")
    assert "Traceback" in err


def test_hidden_help_of_errors_is_shown_too(command, people, monkeypatch):
    def fails(*args, **kwargs):
        error = ValueError("no")
        error.add_note("Do this instead.")
        raise error

    monkeypatch.setattr("rankprune.check.check_table", fails)
    assert command("check", people, "--label", "label")[2] == "Error: no Do this instead.\n"


def test_notes_and_warnings_are_printed_with_the_answer(command, tmp_path):
    rows, _, _ = noisy_rows(300)
    rows = [[*row, str(i), "x"] for i, row in enumerate(rows)]
    path = write_csv(tmp_path / "t.csv", rows, [*NAMES, "number", "same"])
    _, out, err = command("check", path, "--label", "label", *QUICK)
    assert "note: Column 'row id' was left out" in err
    assert "note: Column 'same' was left out: every row has the same value" in err
    assert "note" not in out
    rows = [[repr(float(v)), str(i % 2)] for i, v in enumerate(np.random.RandomState(0).rand(99))]
    path = write_csv(tmp_path / "n.csv", rows, ["a", "y"])
    _, _, err = command("check", path, "--label", "y", *QUICK)
    assert "warning: The probabilities do not tell the labels apart" in err


def test_long_lists_of_notes_are_truncated(command, tmp_path):
    rows, _, _ = noisy_rows(100)
    rows = [[*row, *["x"] * 30] for row in rows]
    path = write_csv(tmp_path / "t.csv", rows, [*NAMES, *(f"s{i}" for i in range(30))])
    _, _, err = command("check", path, "--label", "label", *QUICK)
    assert "more notes are in the report" in err


def test_wide_tables_and_long_cells_go_through(command, tmp_path):
    rows, _, _ = noisy_rows(60)
    wide = [[*row, *[str((i * k) % 11) for k in range(3000)]] for i, row in enumerate(rows)]
    path = write_csv(tmp_path / "wide.csv", wide, [*NAMES, *(f"w{k}" for k in range(3000))])
    assert command("check", path, "--label", "label", *QUICK)[0] == 0
    assert (tmp_path / "wide.csv.rankprune" / "report.html").stat().st_size < 2_000_000
    long = [[*row, "x" * 1_000_000 if i == 7 else "y"] for i, row in enumerate(rows)]
    path = write_csv(tmp_path / "long.csv", long, [*NAMES, "text"])
    assert command("check", path, "--label", "label", *QUICK)[0] == 0
    assert (tmp_path / "long.csv.rankprune" / "report.html").stat().st_size < 2_000_000


def test_bare_rankprune_is_help_and_on_a_terminal_the_demo(command, monkeypatch):
    code, out, _ = command()
    assert (code, "Start with: rankprune check" in out) == (0, True)

    def ran(*args, **kwargs):
        raise ValueError("the demo ran")

    monkeypatch.setattr("rankprune.demo.run_demo", ran)
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    assert "the demo ran" in command()[2]


def test_help_loads_nothing_heavy():
    script = (
        "import sys; from rankprune.cli import cli; "
        "cli.main(['check', '--help'], standalone_mode=False); "
        "heavy = {'numpy', 'sklearn', 'duckdb', 'rich', 'jinja2', 'matplotlib', 'skops'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert ended.stdout.endswith("[]\n")


def overlapping(tmp_path, n=400, noise=0.0):
    """Write a table of slightly overlapping classes, with correct labels or a few wrong ones."""
    rows, _, _ = noisy_rows(n, noise=(noise, noise))
    return write_csv(tmp_path / "clean.csv", rows)


@pytest.mark.parametrize("scorer", ["model", "with-trees", "committee"])
def test_clean_labels_have_no_suspects_with_any_scorer(command, tmp_path, scorer):
    path, run = overlapping(tmp_path, noise=0.0025), tmp_path / "run"
    options = ("--label", "label", "--scorer", scorer, "-o", run, "--fail-over", "0")
    code, out, err = command("check", path, *options)
    assert code == 0
    assert "look clean" in out
    found = LabelCheck.load(run)
    assert (found.n_suspects, found.wrong_share) == (0, 0.0)
    assert not np.ma.filled(found.scores.suspect, False).any()
    assert "--fail-over was not applied: the labels look clean" in err
    code, out, err = command("train", run, "-o", tmp_path / "m.skops")
    assert code == 0
    assert "400" in err


@pytest.mark.parametrize("share", ["nan", "inf", "-0.1", "1.5", "120%", "many"])
def test_an_allowed_share_is_a_share(command, people, share):
    code, _, err = command("check", people, "--label", "label", "--fail-over", share)
    assert (code, "must be a share such as 10% or 0.1" in err) == (2, True)


def test_an_allowed_share_may_be_written_in_percent(command, people, tmp_path):
    options = ("--label", "label", *QUICK, "-o", tmp_path / "run", "--force")
    assert command("check", people, *options, "--fail-over", "5%")[0] == 1
    assert command("check", people, *options, "--fail-over", "50 %")[0] == 0


def test_a_label_that_is_called_none_goes_through_to_predictions(command, tmp_path):
    rows, _, _ = noisy_rows(300)
    names = {"yes": "fraud", "no": "none"}
    rows = [[*row[:4], names[row[4]]] for row in rows]
    path, run = write_csv(tmp_path / "t.csv", rows), tmp_path / "run"
    code, _, err = command("check", path, "--label", "label", *QUICK)
    assert (code, "--negative none" in err) == (2, True)
    told = ("--label", "label", "--negative", "none", *QUICK, "-o", run)
    assert command("check", path, *told)[0] == 0
    assert LabelCheck.load(run).positive == "fraud"
    assert "--negative none" in (run / "report.html").read_text()
    assert command("train", run, "-o", tmp_path / "m.skops")[0] == 0
    code, out, _ = command("predict", tmp_path / "m.skops", path, "--format", "text")
    assert code == 0
    assert {line.split("\t")[2] for line in out.splitlines()[1:]} == {"fraud", "none"}
    assert command("export", run, "-o", tmp_path / "out.csv", "--flag")[0] == 0


def test_embeddings_are_found_from_any_folder_and_verified(command, people, tmp_path, monkeypatch):
    vectors = np.random.RandomState(0).normal(size=(300, 2))
    np.save(tmp_path / "v.npy", vectors)
    monkeypatch.chdir(tmp_path)
    run = tmp_path / "run"
    told = ("--label", "label", *QUICK, "--embeddings", "v.npy", "-o", run)
    assert command("check", people, *told)[0] == 0
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert command("train", run, "-o", tmp_path / "m.skops")[0] == 0
    np.save(tmp_path / "v.npy", vectors[::-1])
    code, _, err = command("train", run, "-o", tmp_path / "n.skops")
    assert (code, "their numbers have changed since" in err) == (2, True)
    assert not (tmp_path / "n.skops").exists()


def test_no_output_replaces_an_input_or_a_file_of_a_run(command, people, tmp_path):
    run, model = tmp_path / "run", tmp_path / "m.skops"
    np.save(tmp_path / "v.npy", np.zeros((300, 1)))
    told = ("--label", "label", *QUICK, "--embeddings", tmp_path / "v.npy", "-o", run)
    assert command("check", people, *told)[0] == 0
    assert command("train", run, "-o", model)[0] == 0
    (run / "review.sqlite").write_text("decisions")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for name in ("result.json", "scores.parquet", "review.sqlite", "audit.json"):
        for words in (
            ("train", run, "-o", run / name),
            ("report", run, "-o", run / name),
            ("export", run, "-o", run / name, "--flag"),
            ("compare", people, "--label", "label", "-o", run / name),
        ):
            code, _, err = command(*words, "--force")
            assert (code, "belongs to a run directory" in err) == (2, True)
    for words in (
        ("train", run, "-o", tmp_path / "v.npy"),
        ("predict", model, people, "--embeddings", tmp_path / "v.npy", "-o", model),
        ("compare", people, "--label", "label", "-o", people),
    ):
        code, _, err = command(*words, "--force")
        assert (code, "must not be the input" in err) == (2, True)
    table = people.rename(run / "report.html")
    code, _, err = command("check", table, "--label", "label", *QUICK, "-o", run, "--force")
    assert (code, "must not be the input" in err) == (2, True)
    table.rename(people)
    after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    del before[run / "report.html"]
    assert after == before


def test_a_folder_with_an_unrelated_page_is_left_alone(command, people, tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "report.html").write_text("mine")
    code, _, err = command("check", people, "--label", "label", *QUICK, "-o", mine, "--force")
    assert (code, "files that do not belong to a run" in err) == (2, True)
    assert (mine / "report.html").read_text() == "mine"


def test_the_path_of_a_model_is_checked_before_the_fit(command, people, tmp_path, monkeypatch):
    assert command("check", people, "--label", "label", *QUICK, "-o", tmp_path / "run")[0] == 0

    def never(*args, **kwargs):
        raise AssertionError("a fit began")

    monkeypatch.setattr("rankprune.model.train_model", never)
    (tmp_path / "file").write_text("x")
    code, _, err = command("train", tmp_path / "run", "-o", tmp_path / "file" / "m.skops")
    assert (code, "cannot be written to" in err) == (2, True)


def test_a_table_of_leaks_is_one_warning_and_a_small_report(command, tmp_path):
    rows, labels, _ = noisy_rows(60)
    leaks = labels[:, None] + 0.1 * np.random.RandomState(0).rand(60, 300).round(3)
    rows = [[*row, *map(repr, map(float, leak))] for row, leak in zip(rows, leaks, strict=True)]
    path = write_csv(tmp_path / "t.csv", rows, [*NAMES, *(f"leak{i}" for i in range(300))])
    code, _, err = command("check", path, "--label", "label", *QUICK, "-o", tmp_path / "run")
    assert code == 0
    assert err.count("Columns that almost determine the label by themselves: 'leak0'") == 1
    assert "and 290 more" in err
    assert (tmp_path / "run" / "report.html").stat().st_size < 2_000_000


def test_a_comparison_can_be_saved_to_a_file(command, people, tmp_path):
    words = ("compare", people, "--label", "label", "--method", "elkan-noto")
    code, out, err = command(*words, "-o", tmp_path / "c.csv", "--format", "csv")
    assert (code, out) == (0, f"{tmp_path / 'c.csv'}\n")
    assert "--truth" in err
    assert (tmp_path / "c.csv").read_text().startswith("method,")
    code, _, err = command(*words, "-o", tmp_path / "c.csv", "--format", "csv")
    assert (code, "--force" in err) == (2, True)


def test_the_json_output_has_the_path_of_the_report(command, people, tmp_path):
    run = tmp_path / "run"
    assert command("check", people, "--label", "label", *QUICK, "-o", run)[0] == 0
    code, out, err = command("report", run, "--format", "json", "-q", "--no-progress")
    assert (code, json.loads(out), err) == (0, {"report": str(run / "report.html")}, "")


@pytest.mark.skipif(os.name != "posix", reason="shells of other systems differ")
def test_a_table_may_come_from_another_process(people, tmp_path):
    script = (
        '"$0" -m rankprune check <(cat "$1") --label label --scorer model --format json -o "$2"'
    )
    ended = subprocess.run(
        ["bash", "-c", script, sys.executable, str(people), str(tmp_path / "run")],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert (ended.returncode, json.loads(ended.stdout)["n_rows"]) == (0, 300)


@pytest.mark.skipif(os.name != "posix", reason="signals of other systems differ")
def test_an_interrupt_during_loading_shows_no_traceback(monkeypatch):
    import builtins

    import rankprune.__main__ as entry

    real = builtins.__import__

    def interrupted(name, *args, **kwargs):
        if name == "rankprune.cli":
            raise KeyboardInterrupt
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", interrupted)
    with pytest.raises(SystemExit) as left:
        entry.main()
    assert left.value.code == 130
