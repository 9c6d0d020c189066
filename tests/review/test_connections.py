"""Connections that send half a request, stay open or are too many, and servers that are stopped."""

import asyncio
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
from contextlib import ExitStack, closing, contextmanager

import pytest

from rankprune.review import _connections
from rankprune.run._directory import LOG_FILE

HALF_HEADER = b"GET / HTTP/1.1\r\nHost: "
CHANGED = """
from rankprune.review import _connections
_connections.REQUEST_SECONDS = {seconds}
_connections.MAX_CONNECTIONS = {count}
from rankprune.__main__ import main
main()
"""


class Started:
    """A server in its own process, and raw connections to it."""

    def __init__(self, folder, run, bench, seconds, count):
        self.process = subprocess.Popen(
            [sys.executable, "-c", CHANGED.format(seconds=seconds, count=count)]
            + ["review", str(run), "--reviewer", "ann", "-q"]
            + ["--table", str(folder / "people.csv")],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        link = self.process.stdout.readline().strip()
        self.client = bench.Client(link)
        host, port = self.client._host.split(":")
        self.place = host, int(port)

    def connect(self, *parts):
        opened = socket.create_connection(self.place, timeout=30)
        for part in parts:
            opened.sendall(part)
        return closing(opened)

    def half_body(self):
        return (
            b"POST /api/decide HTTP/1.1\r\nHost: %s\r\nOrigin: http://%s\r\nCookie: %s\r\n"
            b"X-CSRF-Token: %s\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n"
            b'{"uid":'
            % (
                self.client._host.encode(),
                self.client._host.encode(),
                self.client._cookie.encode(),
                self.client._csrf.encode(),
            )
        )

    def get(self, path=b"/"):
        host, cookie = self.client._host.encode(), self.client._cookie.encode()
        return b"GET %s HTTP/1.1\r\nHost: %s\r\nCookie: %s\r\n\r\n" % (path, host, cookie)

    def stop(self, number):
        self.process.send_signal(number)
        _, said = self.process.communicate(timeout=30)
        return self.process.returncode, said


@pytest.fixture
def start(folder, run, bench):
    with ExitStack() as stack:

        def started(seconds=600.0, count=50):
            return stack.enter_context(_ended(Started(folder, run, bench, seconds, count)))

        yield started


@contextmanager
def _ended(server):
    """End a server that a failed test left."""
    yield server
    server.client.close()
    with server.process as process:
        if process.poll() is None:
            process.kill()


def rest(opened):
    """Return what arrives until the server closes a connection."""
    received = b""
    try:
        while part := opened.recv(1 << 16):
            received += part
    except ConnectionResetError:
        pass
    return received


def test_half_a_request_is_not_waited_for_for_ever(start):
    server = start(seconds=0.5)
    after_one = server.get() + HALF_HEADER
    for parts in ((), (HALF_HEADER,), (server.half_body(),), (after_one,)):
        with server.connect(*parts) as opened:
            answers = rest(opened)
        assert answers.count(b"HTTP/1.1 200") == (parts == (after_one,))
    # Sending a byte now and then does not help.
    with server.connect(HALF_HEADER) as opened:
        opened.settimeout(0.1)
        is_open = True
        while is_open:
            try:
                opened.sendall(b"x")
                is_open = opened.recv(1) != b""
            except TimeoutError:
                pass
            except OSError:
                is_open = False
    # Whole requests are still answered, and nothing was reported.
    with server.connect(server.get()) as opened:
        assert opened.recv(100).startswith(b"HTTP/1.1 200")
    assert server.stop(signal.SIGINT) == (0, "")


def test_a_body_that_is_refused_unread_ends_too(start):
    server = start(seconds=0.5)
    large = server.half_body().replace(b"100", b"99999") + b"x" * 20_000
    with server.connect(large) as opened:
        assert rest(opened).startswith(b"HTTP/1.1 413")
    with server.connect(server.half_body().replace(b"Cookie", b"Nothing")) as opened:
        assert rest(opened).startswith(b"HTTP/1.1 401")
    assert server.stop(signal.SIGINT) == (0, "")


def test_the_number_of_connections_is_limited(start):
    server = start(count=8)
    with ExitStack() as stack:
        for _ in range(8):
            stack.enter_context(server.connect(HALF_HEADER))
        with server.connect(server.get()) as opened:
            assert rest(opened) == b""
    with server.connect(server.get()) as opened:
        assert opened.recv(100).startswith(b"HTTP/1.1 200")
    assert server.stop(signal.SIGINT) == (0, "")


@pytest.mark.parametrize(("number", "codes"), [(signal.SIGINT, {0}), (signal.SIGTERM, {-15, 143})])
def test_a_signal_ends_a_server_with_open_connections_quietly(start, run, number, codes):
    """After three seconds the process would end by itself, with another code and a message."""
    server = start()
    _, found = server.client.post("/api/next", {"count": 1})
    whole = b'{"uid": "0123456789abcdef", "answer": "flip", "row": %d}' % found["cards"][0]["row"]
    whole = server.half_body().replace(b"100", b"%d" % len(whole)).replace(b'{"uid":', whole)
    with closing(sqlite3.connect(run / LOG_FILE, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        parts = ((), (HALF_HEADER,), (server.half_body(),), (server.get(),), (whole,))
        with ExitStack() as stack:
            opened = [stack.enter_context(server.connect(*sent)) for sent in parts]
            # Somebody who asks for much and reads nothing.
            greedy = stack.enter_context(server.connect())
            greedy.setblocking(False)
            try:
                while True:
                    greedy.send(server.get(b"/static/review.js"))
            except BlockingIOError:
                pass
            assert opened[3].recv(100).startswith(b"HTTP/1.1 200")
            code, said = server.stop(number)
            waited = rest(opened[-1])
    assert code in codes
    assert said in ("", "Terminated.\n")
    # Whoever waited for the log was told to send the answer again.
    assert waited.startswith(b"HTTP/1.1 503")


def test_a_second_interrupt_is_quiet_too(start):
    server = start()
    with server.connect(server.half_body()), server.connect(HALF_HEADER):
        server.process.send_signal(signal.SIGINT)
        code, said = server.stop(signal.SIGINT)
    assert code in (0, 130)
    assert said in ("", "Interrupted.\n")


@contextmanager
def served(app):
    """Serve an application in a thread of this process; yield its address and what it called."""
    called = []
    listening = socket.create_server(("127.0.0.1", 0))
    server = _connections.QuietServer(app, lambda: called.append("stop waiting"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield listening.getsockname(), called
    finally:
        server.should_exit = True
        thread.join()


async def echo(_, receive, send):
    """Answer with the body, once it is complete."""
    body, message = b"", {"more_body": True}
    while message.get("more_body", False):
        message = await receive()
        body += message.get("body", b"")
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


def receive_until(opened, end):
    received = b""
    while not received.endswith(end):
        part = opened.recv(1 << 16)
        assert part, received
        received += part


POST = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n"


def test_a_request_in_parts_is_answered_and_half_of_one_is_not(monkeypatch):
    monkeypatch.setattr(_connections, "REQUEST_SECONDS", 0.3)
    with served(echo) as (place, _), closing(socket.create_connection(place, 30)) as opened:
        for part in (POST[:10], POST[10:], b"ab", b"cd"):
            opened.sendall(part)
        receive_until(opened, b"abcd\r\n0\r\n\r\n")
        opened.sendall(POST + b"ab")
        assert rest(opened) == b""


def test_connections_end_with_the_server(monkeypatch):
    monkeypatch.setattr(_connections, "MAX_CONNECTIONS", 3)
    with ExitStack() as stack:
        with served(echo) as (place, called):
            idle, half, whole, refused = (
                stack.enter_context(closing(socket.create_connection(place, 30))) for _ in range(4)
            )
            assert rest(refused) == b""
            half.sendall(POST + b"ab")
            whole.sendall(POST + b"abcd")
            receive_until(whole, b"abcd\r\n0\r\n\r\n")
            assert called == []
        assert called == ["stop waiting"]
        assert [rest(one) for one in (idle, half, whole)] == [b"", b"", b""]


def test_a_request_that_is_being_answered_when_the_server_ends_gets_its_answer():
    begun, may_end = threading.Event(), threading.Event()

    async def slow(scope, receive, send):
        begun.set()
        await asyncio.get_running_loop().run_in_executor(None, may_end.wait)
        await echo(scope, receive, send)

    server = _connections.QuietServer(slow, may_end.set)
    listening = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    with closing(socket.create_connection(listening.getsockname(), 30)) as opened:
        opened.sendall(POST + b"abcd")
        begun.wait()
        server.should_exit = True
        assert b"abcd" in rest(opened)
    thread.join()
