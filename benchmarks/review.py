"""Stress test of the page: several reviewers at once, a locked log, and killed servers.

Every server runs in its own process and is reached over HTTP, as from a browser. A decision counts
as acknowledged when its response has arrived; afterwards it must be in the log exactly once.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import re
import secrets
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from rankprune import LabelCheck, check_table
from rankprune.review import settle_run
from rankprune.run._decision_log import DecisionLog
from rankprune.run._directory import LOG_FILE

# What a client meets when its server is killed.
GONE = (OSError, http.client.HTTPException, ValueError)


def make_run(folder: Path, n_rows: int) -> Path:
    """Write a table in which half of the rows are suspects, check it, and return the run."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, n_rows)
    score = np.clip(0.5 + (labels - 0.5) * rng.choice([0.8, -0.8], n_rows, p=[0.6, 0.4]), 0, 1)
    score = np.clip(score + 0.02 * rng.standard_normal(n_rows), 0, 1)
    lines = ["id,story,p,label"]
    lines += [
        f"r{i},{'words ' * 20}{i},{p:.4f},{label}"
        for i, (p, label) in enumerate(zip(score, labels, strict=True))
    ]
    path = folder / "table.csv"
    path.write_text("\n".join(lines) + "\n")
    check = check_table(path, "label", probabilities="p", noise_estimator="confident-counts")
    return check.save(folder / "run")


class Server:
    """A review server in its own process."""

    def __init__(self, run: Path, *reviewers: str, command: str = "review") -> None:
        words = [word for name in reviewers for word in ("--reviewer", name)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "rankprune", command, str(run), "-q", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        assert self.process.stdout is not None
        lines = [self.process.stdout.readline() for _ in reviewers]
        self.links = [re.search(r"http://\S+", line)[0] for line in lines]  # type: ignore[index]

    def end(self, number: signal.Signals) -> int:
        with self.process as process:
            process.send_signal(number)
            return process.wait(timeout=20)


@dataclass
class Client:
    """A reviewer who judges rows as fast as the server allows."""

    link: str
    acknowledged: dict[str, int] = field(default_factory=dict)
    refused: int = 0
    seconds: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        parts = urlsplit(self.link)
        self._host = parts.netloc
        self._connection = http.client.HTTPConnection(self._host, timeout=30)
        self._connection.connect()
        # As browsers do; otherwise header and body wait for each other.
        self._connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        answer, _ = self._ask("GET", f"/?{parts.query}", {})
        self._cookie = answer.getheader("set-cookie", "").split(";")[0]
        _, page = self._ask("GET", "/", {"Cookie": self._cookie})
        self._csrf = re.search(r'csrf-token" content="([^"]+)"', page.decode())[1]  # type: ignore[index]

    def _ask(self, method: str, path: str, headers: dict[str, str], body: Any = None) -> Any:
        self._connection.request(method, path, body, headers)
        answer = self._connection.getresponse()
        return answer, answer.read()

    def post(self, path: str, body: Any) -> tuple[int, Any]:
        headers = {
            "Cookie": self._cookie,
            "Origin": f"http://{self._host}",
            "X-CSRF-Token": self._csrf,
            "Content-Type": "application/json",
        }
        answer, content = self._ask("POST", path, headers, json.dumps(body))
        return answer.status, json.loads(content)

    def get(self, path: str) -> int:
        answer, _ = self._ask("GET", path, {"Cookie": self._cookie})
        return int(answer.status)

    def again(self) -> Client:
        """Return the same person on another connection."""
        other = object.__new__(Client)
        other.__dict__ |= {**self.__dict__, "acknowledged": {}, "seconds": []}
        other._connection = http.client.HTTPConnection(self._host, timeout=30)
        return other

    def close(self) -> None:
        self._connection.close()

    def judge_batches(self) -> None:
        """Judge batch after batch of an audit until no rows are left or the server is gone."""
        try:
            while True:
                self.judge(answer="positive")
                status, found = self.post("/api/result", {})
                if status != 200:
                    return
                if found["missing"]:
                    time.sleep(0.01)
                elif found["next"] is None:
                    return
                else:
                    self.post("/api/more", {"after": found["batch"]})
        except GONE:
            return

    def judge(self, limit: int = 1 << 30, answer: str = "flip") -> None:
        """Judge rows until none are left or the server is gone."""
        try:
            while len(self.acknowledged) < limit:
                _, found = self.post("/api/next", {"count": 20})
                if not found["cards"]:
                    return
                for card in found["cards"][: limit - len(self.acknowledged)]:
                    self.decide(card["row"], answer)
        except GONE:
            return

    def decide(self, row: int, answer: str = "flip") -> None:
        """Judge one row."""
        uid, began = secrets.token_hex(16), time.perf_counter()
        status, _ = self.post("/api/decide", {"uid": uid, "row": row, "answer": answer})
        self.seconds.append(time.perf_counter() - began)
        if status == 200:
            self.acknowledged[uid] = row - 1  # the log counts from 0
        else:
            self.refused += 1


def lost(run: Path, acknowledged: dict[str, int]) -> list[str]:
    """Return the acknowledged decisions that are not in the log of a run."""
    # Opening it runs PRAGMA integrity_check.
    with DecisionLog(run / LOG_FILE) as log:
        kept = {one.uid: one.row for one in log.decisions("review")}
    return [uid for uid, row in acknowledged.items() if kept.get(uid) != row]


def kill_once(run: Path, rng: random.Random) -> int:
    """Kill a server during a review; return the number of decisions acknowledged by then."""
    server = Server(run, "ann")
    client = Client(server.links[0])
    thread = threading.Thread(target=client.judge)
    thread.start()
    while not client.acknowledged:
        time.sleep(0.001)
    time.sleep(rng.random() * 0.2)
    server.end(signal.SIGKILL)
    thread.join()
    client.close()
    if missing := lost(run, client.acknowledged):
        raise SystemExit(f"{len(missing)} acknowledged decisions are lost")
    return len(client.acknowledged)


def kills(n_kills: int) -> int:
    """Kill servers during writes; return the total number of acknowledged decisions."""
    rng, total = random.Random(0), 0
    with tempfile.TemporaryDirectory() as folder:
        run = make_run(Path(folder), 20_000)
        fresh = Path(folder) / "fresh"
        shutil.copytree(run, fresh)
        for number in range(n_kills):
            total += kill_once(run, rng)
            if number % 10 == 9:
                # Start again from the full table, so that rows do not run out.
                shutil.rmtree(run)
                shutil.copytree(fresh, run)
    return total


def batch_kills(n_kills: int, n_clients: int = 2) -> tuple[int, int]:
    """Kill servers of an audit by several people; return the numbers of answers and batches.

    The kills fall on writes of answers, on results that are being saved, and on new batches.
    """
    rng, acknowledged = random.Random(0), dict[str, int]()
    with tempfile.TemporaryDirectory() as folder:
        run = make_run(Path(folder), 4_000)
        for _ in range(n_kills):
            server = Server(run, *(f"person {i}" for i in range(n_clients)), command="audit")
            clients = [Client(link) for link in server.links]
            threads = [threading.Thread(target=client.judge_batches) for client in clients]
            for thread in threads:
                thread.start()
            while not any(client.acknowledged for client in clients):
                time.sleep(0.001)
            time.sleep(rng.random() * 3)
            server.end(signal.SIGKILL)
            for thread in threads:
                thread.join()
            for client in clients:
                client.close()
                acknowledged |= client.acknowledged
            # What a reader sees is whole.
            _ = LabelCheck.load(run).scores.rows
        with DecisionLog(run / LOG_FILE) as log:
            draws = log.last_draws()
            made = log.decisions("audit", *(draw.id for draw in draws))
        dealt = [row for draw in draws for row, *_ in draw.rows]
        kept = {one.uid: one.row for one in made}
        if any(kept.get(uid) != dealt[place] for uid, place in acknowledged.items()):
            raise SystemExit("acknowledged answers are lost")
        rows = [one.row for one in made]
        if len(set(rows)) != len(rows) or len(set(dealt)) != len(dealt):
            raise SystemExit("a row was dealt or judged twice")
        judged = settle_run(run).judged
        if judged is None or sorted(judged.rows) != sorted(rows):
            raise SystemExit("the answers that count are not those in the log")
        return len(acknowledged), len(draws)


def crowd(n_decisions: int, n_clients: int = 4) -> list[float]:
    """Let several reviewers judge at once; return the seconds that each decision took."""
    with tempfile.TemporaryDirectory() as folder:
        run = make_run(Path(folder), 6 * n_decisions)
        assert LabelCheck.load(run).n_suspects >= n_decisions
        server = Server(run, *(f"person {i}" for i in range(n_clients)))
        clients = [Client(link) for link in server.links]
        threads = [
            threading.Thread(target=client.judge, args=(n_decisions // n_clients,))
            for client in clients
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for client in clients:
            client.close()
        if server.end(signal.SIGINT) != 0:
            raise SystemExit("the server did not exit with 0")
        with DecisionLog(run / LOG_FILE) as log:
            made = log.decisions("review")
        acknowledged = {uid for client in clients for uid in client.acknowledged}
        rows = [one.row for one in made]
        if {one.uid for one in made} != acknowledged or len(made) != n_decisions:
            raise SystemExit(f"{len(acknowledged)} acknowledged, {len(made)} kept")
        if len(set(rows)) != len(rows):
            raise SystemExit("a row was judged twice")
        if any(client.refused for client in clients):
            raise SystemExit("a row reserved for a reviewer was refused")
        return [seconds for client in clients for seconds in client.seconds]


# Holds the log's lock for so many seconds at a time, until it is ended.
LOCKER = """
import sqlite3, sys, time
log = sqlite3.connect(sys.argv[1], timeout=60, isolation_level=None)
print("ready", flush=True)
while True:
    for how in ("IMMEDIATE", "EXCLUSIVE"):
        log.execute(f"BEGIN {how}")
        print("locked", flush=True)
        time.sleep(float(sys.argv[2]))
        log.execute("ROLLBACK")
        time.sleep(float(sys.argv[3]))
"""


@dataclass(frozen=True)
class Contended:
    """What happened while another process locked the log again and again.

    Attributes
    ----------
    n_sent, n_first : int
        Answers that were sent, and those that were the first for their row.
    n_locks, n_refused : int
        How often the log was locked, and how often an answer was refused for it and sent again.
    writes, reads : list of float
        Seconds that each answer took until it was saved or found too late, and each reading.
    """

    n_sent: int
    n_first: int
    n_locks: int
    n_refused: int
    writes: list[float]
    reads: list[float]


def contend(n_rows: int, seconds: float, pause: float = 0.5, n_clients: int = 4) -> Contended:
    """Let several reviewers judge the same rows while another process locks the log."""
    with tempfile.TemporaryDirectory() as folder:
        run = make_run(Path(folder), max(600, 6 * n_rows))
        rows = (LabelCheck.load(run).suspect_rows()[:n_rows] + 1).tolist()
        server = Server(run, *(f"person {i}" for i in range(n_clients)))
        clients = [Client(link) for link in server.links]
        locker = subprocess.Popen(
            [sys.executable, "-c", LOCKER, str(run / LOG_FILE), str(seconds), str(pause)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert locker.stdout is not None
        locker.stdout.readline()
        is_over = threading.Event()
        answers: list[tuple[str, int, int, int]] = []
        writes: list[float] = []
        reads: list[float] = []
        read_statuses: set[int] = set()

        def judge(client: Client, order: list[int]) -> None:
            for row in order:
                uid, began, refused = secrets.token_hex(16), time.perf_counter(), 0
                while True:
                    body = {"uid": uid, "row": row, "answer": "flip"}
                    status, _ = client.post("/api/decide", body)
                    if status != 503:
                        break
                    refused += 1
                writes.append(time.perf_counter() - began)
                answers.append((uid, row, status, refused))

        def read(client: Client) -> None:
            turn = 0
            while not is_over.wait(0.02):
                turn += 1
                began = time.perf_counter()
                if turn % 3 == 0:
                    status, _ = client.post("/api/next", {"count": 5})
                else:
                    status = client.get(("", "/api/progress", f"/api/card/{rows[0]}")[turn % 3])
                reads.append(time.perf_counter() - began)
                read_statuses.add(status)

        rng = random.Random(0)
        writing = [
            threading.Thread(target=judge, args=(client, rng.sample(rows, len(rows))))
            for client in clients
        ]
        readers = [client.again() for client in clients]
        reading = [threading.Thread(target=read, args=(client,)) for client in readers]
        for thread in (*writing, *reading):
            thread.start()
        for thread in writing:
            thread.join()
        is_over.set()
        for thread in reading:
            thread.join()
        locker.terminate()
        n_locks = len(locker.communicate()[0].split())
        for client in (*clients, *readers):
            client.close()
        if server.end(signal.SIGINT) != 0:
            raise SystemExit("the server did not exit with 0")
        with DecisionLog(run / LOG_FILE) as log:
            kept = sorted((one.uid, one.row + 1) for one in log.decisions("review"))
        if read_statuses != {200}:
            raise SystemExit(f"readings have the statuses {read_statuses}")
        if len(answers) != n_clients * n_rows or {a[2] for a in answers} - {200, 409}:
            raise SystemExit("an answer was neither saved nor too late")
        if kept != sorted((uid, row) for uid, row, status, _ in answers if status == 200):
            raise SystemExit("what was acknowledged is not what is in the log")
        if sorted(row for _, row in kept) != sorted(rows):
            raise SystemExit("a row was not judged exactly once")
        return Contended(
            len(answers), len(kept), n_locks, sum(a[3] for a in answers), writes, reads
        )


def wait_to_write(seconds: float = 12.0, n_clients: int = 4) -> list[float]:
    """Send answers while the log stays locked; return how long each took to be refused."""
    with tempfile.TemporaryDirectory() as folder:
        run = make_run(Path(folder), 600)
        rows = (LabelCheck.load(run).suspect_rows()[:n_clients] + 1).tolist()
        server = Server(run, *(f"person {i}" for i in range(n_clients)))
        clients = [Client(link) for link in server.links]
        found: list[float] = []
        statuses: set[int] = set()

        def send(client: Client, row: int) -> None:
            until = time.perf_counter() + seconds
            while time.perf_counter() < until:
                began = time.perf_counter()
                body = {"uid": secrets.token_hex(16), "row": row, "answer": "flip"}
                statuses.add(client.post("/api/decide", body)[0])
                found.append(time.perf_counter() - began)

        with closing(sqlite3.connect(run / LOG_FILE, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            threads = [
                threading.Thread(target=send, args=pair) for pair in zip(clients, rows, strict=True)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        for client in clients:
            client.close()
        server.end(signal.SIGINT)
        if statuses != {503}:
            raise SystemExit(f"answers to a locked log have the statuses {statuses}")
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--batch-kills", type=int, default=50)
    parser.add_argument("--decisions", type=int, default=1000)
    parser.add_argument("--contended", type=int, default=500, help="rows that all four judge")
    asked = parser.parse_args()
    seconds = crowd(asked.decisions)
    middle, late = np.percentile(seconds, [50, 95])
    print(
        f"{asked.decisions:,} decisions by 4 people at once: none lost, none twice; a decision "
        f"took {1000 * middle:.1f} ms at the median, {1000 * late:.1f} ms at the 95th percentile"
    )
    found = contend(asked.contended, 3.0)
    late_read, late_write = np.percentile(found.reads, 99), max(found.writes)
    print(
        f"{found.n_sent:,} answers by 4 people on the same {found.n_first:,} rows while another "
        f"process locked the log {found.n_locks} times for 3 s: none lost, none twice; "
        f"{len(found.reads):,} readings took {1000 * np.median(found.reads):.1f} ms at the median, "
        f"{1000 * late_read:.1f} ms at the 99th percentile, {1000 * max(found.reads):.0f} ms at "
        f"most; an answer took {late_write:.1f} s at most, {found.n_refused} had to be sent again"
    )
    if late_read >= 0.1:
        raise SystemExit("readings took 100 ms or longer at the 99th percentile")
    refused = wait_to_write()
    print(
        f"{len(refused)} answers of 4 people to a log that stayed locked: each was refused after "
        f"{min(refused):.1f} to {max(refused):.1f} s"
    )
    total = kills(asked.kills)
    print(
        f"{asked.kills} servers killed (SIGKILL) while writing: all {total:,} acknowledged "
        "decisions present, every log whole (PRAGMA integrity_check)"
    )
    n_answers, n_batches = batch_kills(asked.batch_kills)
    print(
        f"{asked.batch_kills} servers of an audit by 2 people killed (SIGKILL): all {n_answers:,} "
        f"acknowledged answers of {n_batches:,} batches present and counted once, every run whole"
    )


if __name__ == "__main__":
    main()
