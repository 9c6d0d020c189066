"""Stress test of the review page: servers killed during writes, and several reviewers at once.

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
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from rankprune import LabelCheck, check_table
from rankprune.run._decision_log import LOG_FILE, DecisionLog


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

    def __init__(self, run: Path, *reviewers: str) -> None:
        words = [word for name in reviewers for word in ("--reviewer", name)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "rankprune", "review", str(run), "-q", *words],
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

    def close(self) -> None:
        self._connection.close()

    def judge(self, limit: int = 1 << 30) -> None:
        """Judge rows until none are left or the server is gone."""
        try:
            while len(self.acknowledged) < limit:
                _, found = self.post("/api/next", {"count": 20})
                if not found["cards"]:
                    return
                for card in found["cards"][: limit - len(self.acknowledged)]:
                    self._decide(card["row"])
        except (OSError, http.client.HTTPException, ValueError):
            return

    def _decide(self, row: int) -> None:
        uid, began = secrets.token_hex(16), time.perf_counter()
        status, _ = self.post("/api/decide", {"uid": uid, "row": row, "answer": "flip"})
        self.seconds.append(time.perf_counter() - began)
        if status == 200:
            self.acknowledged[uid] = row - 1  # the log counts from 0
        else:
            self.refused += 1


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
    with DecisionLog(run / LOG_FILE) as log:
        if not log.is_whole():
            raise SystemExit("the log is damaged")
        kept = {one.uid: one.row for one in log.decisions("review")}
    lost = [uid for uid, row in client.acknowledged.items() if kept.get(uid) != row]
    if lost:
        raise SystemExit(f"{len(lost)} acknowledged decisions are lost")
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--decisions", type=int, default=1000)
    asked = parser.parse_args()
    seconds = crowd(asked.decisions)
    middle, late = np.percentile(seconds, [50, 95])
    print(
        f"{asked.decisions:,} decisions by 4 people at once: none lost, none twice; a decision "
        f"took {1000 * middle:.1f} ms at the median, {1000 * late:.1f} ms at the 95th percentile"
    )
    total = kills(asked.kills)
    print(
        f"{asked.kills} servers killed (SIGKILL) while writing: all {total:,} acknowledged "
        "decisions present, every log whole (PRAGMA integrity_check)"
    )


if __name__ == "__main__":
    main()
