"""Run commands again and again, and let another step of them fail each time.

Steps are calls that open, write, sync, rename, create or remove files below a folder, and calls of
SQLite. Each attempt runs in a forked process, so that it may be killed; so does the look at what it
left. Prints one line of JSON for each command: the number of steps, how the attempts ended, and
those after which something is wrong.

Usage: python driver.py FOLDER PACE COMMAND ..., where PACE is "all" for every kind of fault at
every step, or "some" for one kind at each step in turn.
"""

import errno
import itertools
import json
import os
import resource
import shutil
import signal
import sqlite3
import sys
import tempfile
from collections import Counter
from pathlib import Path

# All that the commands import, once and for all attempts.
import duckdb  # noqa: F401
import skops.io  # noqa: F401

import rankprune.check._assemble
import rankprune.export
import rankprune.model._train
import rankprune.report._page
import rankprune.report._plots
import rankprune.review._serve
from rankprune.cli import cli, exit_code
from rankprune.storage import _claims

WRITES = ("os.rename", "os.mkdir", "fsync", "write", "sqlite")
EVENTS = ("open", "os.rename", "os.mkdir", "os.remove", "os.rmdir")
# The step fails, it and all later ones fail, and the process is killed.
MODES = ("once", "on", "kill")
# No file may be larger than this: also what compiled code writes fails then.
SIZES = (0, 1, 100, 2000, 4096, 8192, 40_000)
# Rows of the table that people judge.
JUDGED = 6


class Steps:
    """Count the steps of an attempt, and let some of them fail."""

    def __init__(self, folder, mode, step):
        self.folder, self.mode, self.step, self.n = str(folder), mode, step, 0

    def __call__(self, event, path, *, writes=True):
        if isinstance(path, bytes | str | os.PathLike) and not os.fsdecode(path).startswith(
            self.folder
        ):
            return
        self.n += 1
        hit = self.n == self.step or (self.mode == "on" and self.n > self.step > 0 and writes)
        if not hit:
            return
        if self.mode == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if event in ("os.remove", "os.rmdir"):
            # Files can be removed from a full disk.
            return
        if event == "sqlite":
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode, error.sqlite_errorname = sqlite3.SQLITE_FULL, "SQLITE_FULL"
            raise error
        raise OSError(errno.ENOSPC if writes else errno.EIO, "fault", path)


def watch(steps):
    """Report every step from now on."""

    def hook(event, args):
        if event == "open":
            path, mode, flags = args
            if isinstance(path, int):
                return
            writes = bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
            steps(event, path, writes=writes or (mode or "r") not in ("r", "rb"))
        elif event in EVENTS:
            steps(event, args[0], writes=event in WRITES)

    sys.addaudithook(hook)
    fsync, write = os.fsync, Path.write_bytes

    def counted_fsync(handle):
        steps("fsync", os.readlink(f"/proc/self/fd/{handle}"))
        fsync(handle)

    def counted_write(path, content):
        steps("write", path)
        return write(path, content)

    class Connection(sqlite3.Connection):
        def execute(self, *args):
            steps("sqlite", steps.folder)
            return super().execute(*args)

        def executemany(self, *args):
            steps("sqlite", steps.folder)
            return super().executemany(*args)

        def executescript(self, *args):
            steps("sqlite", steps.folder)
            return super().executescript(*args)

    connect = sqlite3.connect
    os.fsync, Path.write_bytes = counted_fsync, counted_write
    sqlite3.connect = lambda *args, **how: connect(*args, **{"factory": Connection, **how})


def command(*words):
    """Return a function that runs a command."""
    return lambda: exit_code(
        lambda: cli.main(
            [str(word) for word in words], prog_name="rankprune", standalone_mode=False
        )
    )


def judge(run, mode="review", n=1):
    """Let somebody judge rows that nobody has judged."""
    from rankprune.review._queue import Filter
    from rankprune.review._serve import open_queue

    answer = "flip" if mode == "review" else "positive"
    with open_queue(run, mode) as queue:
        for card in queue.next_cards("ann", Filter(), (), n):
            row = queue.row(card["row"])
            uid = f"{mode}-{row:08d}"
            queue.decide(uid, "ann", row, answer, seconds=1, note="")
    return 0


def table_text():
    """Return a table with given probabilities, of which some contradict the labels."""
    lines = ["size,colour,p,label"]
    for i in range(120):
        positive = i % 2 == 1
        wrong = i % 10 == 3
        p = (0.9 if positive != wrong else 0.1) + (i % 7) / 100
        lines.append(
            f"{i % 13 + 5 * positive},{'red' if i % 3 else 'blue'},{p:.2f},{int(positive)}"
        )
    return "\n".join(lines) + "\n"


def prepare(base):
    """Write a table, and a run that was reviewed and audited."""
    # Plots and intervals take time, and touch no file.
    rankprune.report._plots._svg = lambda name, *_: f"<svg id={name!r}/>"
    rankprune.check._assemble._N_RESAMPLES = 10
    (base / "t.csv").write_text(table_text())
    words = ("--label", "label", "--probabilities", "p", "-q")
    run, dealt = base / "old" / "run", base / "old" / "dealt" / "run"
    steps = [
        command("check", base / "t.csv", *words, "-o", run),
        lambda: judge(run, "review", JUDGED),
        lambda: draw(run),
        lambda: judge(run, "audit", 20),
        command("train", run, "-o", base / "old" / "m.skops", "-q"),
        command("check", base / "t.csv", *words, "-o", dealt),
        lambda: deal(dealt, 25),
        lambda: judge(dealt, "audit", 25),
    ]
    for step in steps:
        assert forked(step)[0] == 0, step


def draw(run, n=20, force=False):
    from rankprune.review import next_batch

    next_batch(run, n, method="design", seed=0, force=force)
    return 0


def deal(run, n):
    from rankprune.review import next_batch

    next_batch(run, n, seed=0)
    return 0


def commands(base, work):
    """Return the commands by name."""
    table, run, dealt = base / "t.csv", work / "run", work / "dealt" / "run"
    words = ("--label", "label", "--probabilities", "p", "-q")
    return {
        "check": command("check", table, *words, "-o", run, "--force", "--top", "3"),
        "new": command("check", table, *words, "-o", work / "new" / "run", "--force"),
        "report": command("report", run, "--top", "2", "-q"),
        "export": command("export", run, "-o", work / "out.parquet", "--force", "-q"),
        "reviewed": command("export", run, "--reviewed", "-o", work / "out.csv", "--force", "-q"),
        "train": command("train", run, "-o", work / "m.skops", "--force", "-q"),
        "predict": command(
            "predict", work / "m.skops", table, "-o", work / "p.csv", "--force", "-q"
        ),
        "estimate": command("audit", run, "--estimate", "-q"),
        "settle": command("audit", dealt, "--estimate", "-q"),
        "deal": lambda: exit_code(lambda: deal(dealt, 10)),
        "draw": lambda: exit_code(lambda: draw(run, 30, force=True)),
        "review": lambda: exit_code(lambda: judge(run, "review")),
    }


def forked(work, steps=None, size=None):
    """Run something in a forked process; return how it ended, what it said, and its steps."""
    (reads, writes), (hears, says) = os.pipe(), os.pipe()
    process = os.fork()
    if not process:
        code = 99
        try:
            os.dup2(says, 1)
            os.dup2(says, 2)
            if steps is not None:
                watch(steps)
            if size is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
            code = work()
            sys.stdout.flush()
        except BaseException:
            import traceback

            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os.write(writes, json.dumps(0 if steps is None else steps.n).encode())
            os._exit(code)
    os.close(writes)
    os.close(says)
    with os.fdopen(hears, errors="replace") as pipe:
        said = pipe.read()
    _, status = os.waitpid(process, 0)
    text = os.read(reads, 100)
    os.close(reads)
    return os.waitstatus_to_exitcode(status), said, int(text or 0)


def snapshot(work):
    """Return what the files of a folder hold, by name."""
    found = {}
    for path in sorted(work.rglob("*")):
        name = str(path.relative_to(work))
        if name.endswith(("-wal", "-shm")) or path.is_dir():
            continue
        if path.suffix == ".sqlite":
            found[name] = decisions(path)
        elif path.suffix == ".skops":
            from rankprune.model import load_model

            found[name] = load_model(path).positive
        else:
            found[name] = path.read_bytes().hex()
    return found


def decisions(path):
    from rankprune.run._decision_log import DecisionLog

    # Opening it checks that it is whole.
    with DecisionLog(path) as log:
        drawn = log.last_draw()
        known = [one.uid for one in log.decisions("review")]
        return [known, drawn is None or len(drawn.rows)]


def look(work, place):
    """Open the runs, as the next command would, and write what the folder holds then."""

    def seen():
        from rankprune import LabelCheck
        from rankprune.exceptions import TableError

        for run in (work / "run", work / "new" / "run", work / "dealt" / "run"):
            if run.exists():
                try:
                    LabelCheck.load(run).suspect_rows()
                except TableError as error:
                    # A first check that was killed leaves an empty folder at most.
                    if run.exists() and any(run.iterdir()):
                        raise AssertionError(f"{run} is neither old nor new") from error
        place.write_text(json.dumps(snapshot(work)))
        return 0

    code, said, _ = forked(seen)
    assert code == 0, said
    return json.loads(place.read_text())


def settled(name, found, old, new):
    """Return whether a folder holds the old files or the new ones, each set as a whole."""
    parts = {key: value for key, value in found.items() if "/.rankprune-" not in f"/{key}"}
    if name == "reviewed":
        # The trail follows the table; a process killed in between has written only the table.
        return all(parts.get(key) in (old.get(key), new.get(key)) for key in parts | old)
    return parts in (old, new)


def attempt(name, base, work, mode, step, states, again):
    """Let a step fail; return how the command ended, and what is wrong afterwards."""
    old, new = states
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(base / "old", work)
    steps = Steps(work, mode, step) if mode != "size" else None
    made = commands(base, work)
    ended, said, _ = forked(made[name], steps, step if mode == "size" else None)
    wrong = []
    if ended not in ((-signal.SIGKILL,) if mode == "kill" else (0, 2)):
        wrong.append(f"exit {ended}: {said}")
    if mode != "kill" and (left := [p.name for p in work.rglob(".rankprune-*")]):
        wrong.append(f"left behind: {left}")
    found = look(work, base / "found.json")
    if not settled(name, found, old, new):
        wrong.append("neither old nor new: " + ", ".join(sorted(found.keys() ^ new.keys())))
    if ended == 0 and not settled(name, found, new, new):
        wrong.append("neither an error nor new")
    if ended == 2 and str(base) not in said:
        wrong.append(f"no file is named: {said}")
    if not again:
        return ended, wrong
    # The next start finishes the work and leaves nothing else.
    code, said, _ = forked(made[name])
    left = snapshot_names(work) - new.keys()
    _claims.sweep_temporary()
    temporary = [p.name for p in Path(tempfile.gettempdir()).glob("rankprune-*")]
    if code or left or temporary:
        wrong.append(f"next start: exit {code}, left {sorted(left)} {temporary}: {said}")
    return ended, wrong


def snapshot_names(work):
    found = {str(path.relative_to(work)) for path in work.rglob("*") if not path.is_dir()}
    return {name for name in found if not name.endswith(("-wal", "-shm"))}


def places(n_steps, pace):
    """Return the kinds and places of the faults to try."""
    steps = range(1, n_steps + 1)
    if pace == "all":
        return [*itertools.product(MODES, steps), *(("size", size) for size in SIZES)]
    return [(MODES[step % len(MODES)], step) for step in steps] + [("size", SIZES[n_steps % 7])]


def try_command(name, base, work, pace):
    """Let the steps of a command fail; return what was found."""
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(base / "old", work)
    old = look(work, base / "found.json")
    code, said, n_steps = forked(commands(base, work)[name], Steps(work, "none", 0))
    assert code == 0, said
    new = look(work, base / "found.json")
    wrong, ends = [], Counter()
    for i, (mode, step) in enumerate(places(n_steps, pace)):
        again = pace == "all" or i % 5 == 0
        ended, found = attempt(name, base, work, mode, step, (old, new), again)
        ends[f"{mode} {ended}"] += 1
        wrong += [f"{mode} at {step}: {one}" for one in found]
    return {"command": name, "steps": n_steps, "ended": ends, "wrong": wrong}


def main(base, pace, *names):
    base = Path(base).resolve()
    (base / "tmp").mkdir(parents=True, exist_ok=True)
    tempfile.tempdir = str(base / "tmp")
    prepare(base)
    for name in names or commands(base, base):
        found = try_command(name, base, base / "work", pace)
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
