"""The page while the log is locked or its disk fails: readers go on, answers are kept."""

import asyncio
import json
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from rankprune.run import _decision_log
from rankprune.run._decision_log import DecisionLog
from rankprune.run._directory import LOG_FILE
from reviewed_run import uid


@contextmanager
def locked(run):
    """Lock the log as another process does."""
    other = sqlite3.connect(run / LOG_FILE, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    try:
        yield
    finally:
        other.close()


def test_readers_are_answered_while_more_writes_wait_than_there_are_threads(
    people, run, monkeypatch
):
    """Starlette has 40 threads; here 60 writes wait in one event loop, and then somebody reads."""
    monkeypatch.setattr(_decision_log, "PATIENCE", 600.0)
    (ann,) = people("ann", top=60)
    cards = [card for _ in range(4) for card in ann.next(count=20).json["cards"]]
    rows = sorted({card["row"] for card in cards})[:20]
    app = ann.app

    async def ask(method, path, body=None):
        headers = {
            "host": "127.0.0.1:8000",
            "cookie": ann.cookie,
            "origin": "http://127.0.0.1:8000",
            "x-csrf-token": ann.csrf,
            "content-type": "application/json",
        }
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        }
        sent, answers = [json.dumps(body).encode()], []

        async def receive():
            return {"type": "http.request", "body": sent.pop(), "more_body": False}

        async def send(message):
            answers.append(message)

        await app(scope, receive, send)
        return answers[0]["status"]

    async def crowd():
        with locked(run):
            writes = [
                asyncio.create_task(
                    ask("POST", "/api/decide", {"uid": uid(), "row": row, "answer": "flip"})
                )
                for row in rows
                for _ in range(3)
            ]
            reads = [
                ("GET", "/api/progress"),
                ("GET", f"/api/card/{rows[0]}"),
                ("POST", "/api/next", {}),
                ("GET", "/"),
            ]
            for read in reads:
                assert await ask(*read) == 200
            assert not any(write.done() for write in writes)
        return await asyncio.gather(*writes)

    assert asyncio.run(crowd()) == [200] * 60
    with DecisionLog(run / LOG_FILE) as log:
        made = log.decisions("review")
    assert sorted({one.row + 1 for one in made}) == rows
    assert len({one.uid for one in made}) == len(made)


def test_several_locks_lose_and_duplicate_nothing(people, run, monkeypatch):
    """Four people answer the same rows, and send again what was refused, as the page does."""
    monkeypatch.setattr(_decision_log, "PATIENCE", 0.05)
    crowd = people("ann", "ben", "cec", "dan")
    rows = [card["row"] for card in crowd[0].next(count=10).json["cards"]]
    answered = {}
    is_locked, was_refused, is_over = (threading.Event() for _ in range(3))

    def judge(client):
        is_locked.wait()
        first = {}
        for row in rows:
            name = uid()
            while (answer := client.decide(row, "flip", name)).status == 503:
                was_refused.set()
            assert answer.status in (200, 409)
            first[name] = (row, answer.status == 200)
        return first

    def lock():
        with locked(run):
            is_locked.set()
            was_refused.wait()
        while not is_over.wait(0.02):
            with locked(run):
                is_over.wait(0.2)

    with ThreadPoolExecutor(5) as pool:
        locking = pool.submit(lock)
        for one in [pool.submit(judge, client) for client in crowd]:
            answered |= one.result()
        is_over.set()
        locking.result()
    accepted = {name: row for name, (row, is_first) in answered.items() if is_first}
    with DecisionLog(run / LOG_FILE) as log:
        made = log.decisions("review")
    assert {one.uid: one.row + 1 for one in made} == accepted
    assert sorted(accepted.values()) == sorted(rows)


def test_a_reader_does_not_wait_for_another_who_reads_for_long(open_queue):
    queue = open_queue()
    other = open_queue()
    other.decide(uid(), "ben", other.order[0], "flip", seconds=1.0, note="")
    with queue._reading:
        assert queue.progress("ann")["done"] == 0
    assert queue.progress("ann")["done"] == 1


def test_a_repeated_undo_is_known_even_if_the_log_cannot_be_read(open_queue, monkeypatch):
    queue = open_queue()
    row = queue.order[0]
    queue.decide(uid(), "ann", row, "flip", seconds=1.0, note="")
    name = uid()
    with queue._reading:
        # The undo is on disk, and not yet known here.
        assert queue.undo(name, "ann") == row
        assert queue.undo(name, "ann") == row
    assert queue.undo(name, "ann") == row
    assert queue.undo(uid(), "ann") is None
    assert [one.answer for one in queue.log.decisions("review")] == ["flip", "undo"]


@pytest.mark.parametrize("path", ["/api/decide", "/api/undo"])
def test_the_page_reports_a_full_disk_and_the_answer_can_be_sent_again(
    people, open_queue, monkeypatch, path
):
    queue = open_queue()
    (ann,) = people("ann", queue=queue)
    (card,) = ann.next(count=1).json["cards"]
    body = {"uid": "0123456789abcdef", "row": card["row"], "answer": "flip"}
    if path == "/api/undo":
        assert ann.decide(card["row"], "flip").status == 200
        body = {"uid": "0123456789abcdef"}

    def full(*_):
        raise OSError(f"{queue.log.path} cannot be written to: the disk is full.")

    with monkeypatch.context() as patch:
        patch.setattr(queue.log, "_run", full)
        answer = ann.post(path, body)
    assert answer.status == 503
    assert answer.header("retry-after") == "1"
    assert "review.sqlite cannot be written to: the disk is full" in answer.json["error"]
    assert ann.post(path, body).status == 200


def test_the_page_shows_what_was_read_before_while_the_disk_fails(people, open_queue, monkeypatch):
    queue = open_queue()
    (ann,) = people("ann", queue=queue)
    (card,) = ann.next(count=1).json["cards"]
    assert ann.decide(card["row"], "flip").status == 200

    def fail(*_):
        raise OSError("the disk reports an error")

    monkeypatch.setattr(queue.log, "news", fail)
    assert ann.get("/api/progress").json["done"] == 1
    assert ann.get(f"/api/card/{card['row']}").json["mine"] == {"answer": "flip", "note": ""}
    assert ann.next(count=1).status == 200


def test_the_page_reports_a_log_that_is_damaged_while_it_is_used(people, open_queue):
    queue = open_queue()
    (ann,) = people("ann", queue=queue)
    (card,) = ann.next(count=1).json["cards"]
    queue.log._writer.execute("ALTER TABLE decisions RENAME TO gone")
    for answer in (ann.decide(card["row"], "flip"), ann.get("/api/progress"), ann.next()):
        assert answer.status == 503
        assert "review.sqlite is not a decision log, or it is damaged" in answer.json["error"]


def test_an_answer_that_was_undone_elsewhere_is_reported(people, open_queue):
    queue, other = open_queue(), open_queue()
    (ann,) = people("ann", queue=queue)
    (card,) = ann.next(count=1).json["cards"]
    assert ann.decide(card["row"], "flip").status == 200
    assert other.undo(uid(), "ann") == card["row"] - 1
    # The page's own server has not read that yet.
    with queue._reading:
        answer = ann.post("/api/undo", {"uid": uid()})
    assert (answer.status, answer.json["error"]) == (409, "That answer was already undone.")
