"""Kill every command at random moments, and look at what the next one sees.

Half of the moments are spread over the time that the command takes, the other half over the changes
that it makes to files. After each kill, a reader must see the state before the command or the one
after it, every decision that a review server acknowledged must be in the log, and the next start of
the same command must succeed and leave no unfinished file.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import signal
import statistics
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import closing, suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from rankprune.cli import start_process
from rankprune.run._directory import LOG_FILE
from review import GONE, Client, lost

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "faults"))
import driver

TITLES = {
    "check": "check --force",
    "new": "check, the first",
    "reviewed": "export --reviewed",
    "predict": "predict -o",
    "estimate": "audit --estimate",
    "settle": "audit, a batch",
    "deal": "audit, next batch",
    "draw": "audit, drawing rows",
    "review": "review, over HTTP",
}
# What commands write; here, earlier files have these names.
OUTPUTS = ("out.parquet", "out.csv", "out.csv.trail.jsonl", "p.csv")
MODEL, LOG = "m.skops", f"run/{LOG_FILE}"
# Names that only unfinished and temporary files have.
UNFINISHED = (".rankprune-", ".generation-", "rankprune-", "tmp")
# Rows of the table, and how many of them somebody judges while a server runs.
N_ROWS, N_JUDGED = 120, 30


@dataclass(frozen=True)
class Moment:
    """A moment so many seconds after a process has changed files so many times."""

    seconds: float
    n_changes: int = 0


NEVER = Moment(float("inf"))


@dataclass
class Usual:
    """How long a command takes and how often it changes files, by its latest complete runs."""

    seconds: deque[float] = field(default_factory=lambda: deque(maxlen=9))
    changes: deque[int] = field(default_factory=lambda: deque(maxlen=9))

    def moment(self, rng: random.Random) -> Moment:
        """Return a random moment during the command."""
        if rng.random() < 0.5:
            return Moment(rng.random() * statistics.median(self.seconds))
        n_changes = max(1, round(statistics.median(self.changes)))
        return Moment(rng.random() * 0.003, rng.randint(1, n_changes))


@dataclass(frozen=True)
class Killed:
    """What became of a command that was killed.

    Attributes
    ----------
    name : str
    state : str
        What a reader sees: the old state, the new one, or a new table without its new trail.
    n_acknowledged : int
        Decisions that the server acknowledged before it was killed.
    left : list of str
        Unfinished files when the command was killed.
    debris : list of str
        Those after the next start.
    wrong : list of str
        What should not have happened.
    """

    name: str
    state: str
    n_acknowledged: int
    left: list[str]
    debris: list[str]
    wrong: list[str]


class Stage:
    """A folder in which commands run and are killed, one after the other."""

    def __init__(self, base: Path) -> None:
        self.base, self.work, self.copy = base, base / "work", base / "copy"
        self.temporary = base / "temporary"
        self.temporary.mkdir()
        tempfile.tempdir = os.environ["TMPDIR"] = str(self.temporary)
        driver.prepare(base)
        for name in OUTPUTS:
            (base / "old" / name).write_text("earlier\n")
        self.commands = driver.commands(base, self.work)
        self.commands["review"] = driver.command(
            "review", self.work / "run", "-q", "--reviewer", "ben"
        )
        self.usual = {name: Usual() for name in self.commands}
        self.new: dict[str, dict[str, Any]] = {}
        self.reset()
        self.old = self.seen(self.work)

    def reset(self) -> None:
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(self.base / "old", self.work)

    def seen(self, folder: Path) -> dict[str, Any]:
        """Return what a reader sees in a folder; unfinished files are counted apart."""
        found = driver.look(folder, self.base / "found.json")
        return {name: value for name, value in found.items() if "/.rankprune-" not in f"/{name}"}

    def run(self, name: str, moment: Moment, rows: list[int]) -> tuple[int, str, dict[str, int]]:
        """Run a command until it ends or is killed; return its exit code, output and decisions."""
        acknowledged: dict[str, int] = {}
        said = self.base / "said"
        said.write_bytes(b"")
        process = started(self.commands[name], said)
        client = threading.Thread(target=judge, args=(process, said, rows, acknowledged))
        if name == "review":
            client.start()
        seconds, n_changes = kill(process, moment, self.work)
        if name == "review":
            client.join()
        if moment == NEVER:
            self.usual[name].seconds.append(seconds)
            self.usual[name].changes.append(n_changes)
        _, status = os.waitpid(process, 0)
        return os.waitstatus_to_exitcode(status), said.read_text(), acknowledged

    def attempt(self, name: str, rng: random.Random) -> Killed:
        """Kill a command, look at what a reader sees, and start it again."""
        rows = rng.sample(range(1, N_ROWS + 1), 2 * N_JUDGED)
        if name not in self.new:
            self.reset()
            code, said, _ = self.run(name, NEVER, rows[:N_JUDGED])
            assert code == 0, said
            self.new[name] = self.seen(self.work)
        code = 0
        while code == 0:  # it has ended before the moment came
            self.reset()
            moment = self.usual[name].moment(rng)
            code, said, acknowledged = self.run(name, moment, rows[:N_JUDGED])
        wrong = [] if code == -signal.SIGKILL else [f"exit {code}: {said}"]
        left = self.unfinished()
        # The look at a run may remove what was left there, and the next start must do so alone.
        shutil.rmtree(self.copy, ignore_errors=True)
        shutil.copytree(self.work, self.copy)
        try:
            state = self.state(name, self.seen(self.copy), acknowledged)
        except AssertionError as error:
            state = f"unreadable: {error}"
        if state not in ("old", "new", "between"):
            wrong.append(state)
            state = "wrong"
        code, said, later = self.run(name, NEVER, rows[N_JUDGED:])
        if code or (name == "review" and not later):
            wrong.append(f"the next start: exit {code}: {said}")
        debris = self.unfinished()
        try:
            wrong += self.wrong_at_last(name, {**acknowledged, **later})
        except AssertionError as error:
            wrong.append(f"after the next start: {error}")
        return Killed(name, state, len(acknowledged), left, debris, wrong)

    def unfinished(self) -> list[str]:
        """Return the names of unfinished and temporary files."""
        found = [*self.work.rglob("*"), *self.temporary.iterdir()]
        return [path.name for path in found if path.name.startswith(UNFINISHED)]

    def state(self, name: str, found: dict[str, Any], acknowledged: dict[str, int]) -> str:
        """Return whether a reader sees the old state, the new one, or what else."""
        old, new = self.old, self.new[name]
        if name == "review":
            return state_of_review(found, old, acknowledged)
        if name == "train" and found == new:
            # Two files of the same model differ in their times.
            before, after = (folder / MODEL for folder in (self.base / "old", self.copy))
            return "old" if before.read_bytes() == after.read_bytes() else "new"
        for state, expected in (("old", old), ("new", new)):
            if found == expected:
                return state
        differing = [path for path in found.keys() | old.keys() if found.get(path) != old.get(path)]
        # The trail follows the table.
        if name == "reviewed" and {path: new.get(path) for path in differing} == {
            "out.csv": found.get("out.csv")
        }:
            return "between"
        return f"neither old nor new: {', '.join(sorted(differing))}"

    def wrong_at_last(self, name: str, acknowledged: dict[str, int]) -> Iterator[str]:
        """Return what is wrong after the next start, which must have done what it should."""
        found, new = self.seen(self.work), self.new[name]
        if name == "review":
            if missing := lost(self.work / "run", acknowledged):
                yield f"{len(missing)} acknowledged decisions are lost"
            found, new = ({**files, LOG: None} for files in (found, new))
        if found != new:
            yield "the next start did not do all of its work"


def state_of_review(
    found: dict[str, Any], old: dict[str, Any], acknowledged: dict[str, int]
) -> str:
    """Return whether a log holds new decisions, or what is wrong with them."""
    if {**found, LOG: None} != {**old, LOG: None}:
        return "a review changed other files than the log"
    before, after = set(old[LOG][0]), set(found[LOG][0])
    if before - after or acknowledged.keys() - after:
        return f"lost decisions: {len(before - after) + len(acknowledged.keys() - after)}"
    # The last one may be saved without having been acknowledged.
    if len(after - before - acknowledged.keys()) > 1:
        return "there are decisions that nobody made"
    return "new" if after - before else "old"


def started(command: Callable[[], Any], said: Path) -> int:
    """Start a command in a process in which everything is imported already; return its number."""
    process = os.fork()
    if process:
        return process
    code = 99
    try:
        handle = os.open(said, os.O_WRONLY | os.O_APPEND)
        os.dup2(handle, 1)
        os.dup2(handle, 2)
        start_process()
        code = command()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def kill(process: int, moment: Moment, folder: Path) -> tuple[float, int]:
    """Kill a process at a moment, unless it ends earlier; return its seconds and its changes."""
    began, n_changes = time.perf_counter(), 0
    before, since = files(folder), began if moment.n_changes == 0 else float("inf")
    while not has_ended(process):
        now = time.perf_counter()
        if now - since >= moment.seconds:
            os.kill(process, signal.SIGKILL)
            break
        after = files(folder)
        if after != before:
            before, n_changes = after, n_changes + 1
            if n_changes == moment.n_changes:
                since = now
        time.sleep(0.0002)
    return time.perf_counter() - began, n_changes


def has_ended(process: int) -> bool:
    """Return whether a process has ended; it can still be waited for."""
    return os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def files(folder: Path) -> dict[str, int]:
    """Return the files below a folder with the times of their changes."""
    found = {}
    # They may vanish at any time.
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                found[entry.path] = 0
                found |= files(Path(entry.path))
            else:
                found[entry.path] = entry.stat().st_mtime_ns
    return found


def judge(process: int, said: Path, rows: list[int], acknowledged: dict[str, int]) -> None:
    """Judge rows on a review page as soon as it is there, then end its server."""
    link = None
    while link is None:
        if has_ended(process):
            return
        time.sleep(0.001)
        link = re.search(r"http://\S+(?=\n)", said.read_text())
    with suppress(*GONE):
        client = Client(link[0], acknowledged)
        with closing(client):
            for row in rows:
                client.decide(row)
    # It has not been waited for, so the number is still its own.
    os.kill(process, signal.SIGINT)


def table(killed: list[Killed], names: list[str]) -> list[str]:
    """Return lines that show what became of the commands that were killed."""
    head = ("kills", "old", "new", "between", "left files", "violations", "debris")
    lines = [f"{'command':20}" + "".join(f"{word:>12}" for word in head)]
    for name in (*names, "all"):
        part = [one for one in killed if name in (one.name, "all")]
        states = Counter(one.state for one in part)
        counts = [len(part), states["old"], states["new"], states["between"]]
        for what in ("left", "wrong", "debris"):
            counts.append(sum(bool(getattr(one, what)) for one in part))
        lines.append(f"{title(name):20}" + "".join(f"{count:>12,}" for count in counts))
    return lines


def title(name: str) -> str:
    return TITLES.get(name, name)


_STAGE: list[Stage] = []


def prepare(folder: str) -> None:
    """Make a folder for a process that kills commands."""
    _STAGE[:] = [Stage(Path(tempfile.mkdtemp(dir=folder)))]


def attempt(name: str, seed: str) -> Killed:
    """Kill a command in the folder of this process."""
    return _STAGE[0].attempt(name, random.Random(seed))


def finish(killed: list[Killed], names: list[str]) -> None:
    """Print what became of the commands that were killed, and exit if a kill did harm."""
    print(*table(killed, names), sep="\n", flush=True)
    n_wrong = sum(bool(one.wrong or one.debris) for one in killed)
    if n_wrong:
        raise SystemExit(f"{n_wrong:,} of {len(killed):,} kills did harm")
    n_acknowledged = sum(one.n_acknowledged for one in killed)
    print(
        f"{len(killed):,} commands killed (SIGKILL): every file was the old or the new one, whole; "
        f"all {n_acknowledged:,} acknowledged decisions present; no debris after the next start",
        flush=True,
    )


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="commands that run at the same time")
    asked = parser.parse_args(words)
    names = list(driver.commands(Path(), Path()))
    killed: list[Killed] = []
    began = time.monotonic()
    with (
        tempfile.TemporaryDirectory() as folder,
        ProcessPoolExecutor(
            asked.jobs, get_context("fork"), initializer=prepare, initargs=(folder,)
        ) as pool,
    ):
        attempts = [
            pool.submit(attempt, names[i % len(names)], f"{asked.seed}-{i}")
            for i in range(asked.kills)
        ]
        for done in as_completed(attempts):
            one = done.result()
            killed.append(one)
            for what in (*one.wrong, *([f"debris: {one.debris}"] if one.debris else [])):
                print(f"{title(one.name)}: {what}", file=sys.stderr)
            if len(killed) % 50 == 0:
                seconds = time.monotonic() - began
                print(f"{len(killed):,} kills in {seconds:.0f} s", file=sys.stderr, flush=True)
    finish(killed, names)


if __name__ == "__main__":
    main()
